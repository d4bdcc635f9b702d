/* SPDX-License-Identifier: BSD-3-Clause */
/* The iterator over several tensors of one (broadcast) shape: dims of size 1 dropped, ordered by
   the strides of the outputs, neighbours merged where every operand allows it. Used by everything
   that is not a plain contiguous loop. It lives on the stack of its caller and owns nothing. */
#ifndef MT_CORE_ITER_H
#define MT_CORE_ITER_H

#include "core/tensor.h"

#define MT_ITER_MAX_OPERANDS 8

/* The one-dimensional loop: data[k] advances by stride[k] bytes, n times. Outputs come first. */
typedef void mt_loop_fn(char *const *data, const int64_t *stride, int64_t n, const void *params);

typedef struct mt_iter {
    int n_operands, n_outputs, ndim;
    int64_t numel;
    char *data[MT_ITER_MAX_OPERANDS];
    uint8_t dtype[MT_ITER_MAX_OPERANDS];
    int64_t size[MT_MAX_DIM];                         /* innermost first */
    int64_t stride[MT_ITER_MAX_OPERANDS][MT_MAX_DIM]; /* bytes, innermost first */
} mt_iter;

/* Operands are broadcast to the shape (ndim, size), which the outputs have exactly. */
int mt_iter_build(mt_iter *it, mt_tensor *const *operand, int n_operands, int n_outputs, int ndim, const int64_t *size);
/* Takes raw geometry instead of tensors: strides in bytes, outermost first, all with `ndim`
   dims. */
void mt_iter_init(mt_iter *it, int n_operands, int n_outputs, int ndim, const int64_t *size);
void mt_iter_set_operand(mt_iter *it, int k, void *data, mt_dtype dtype, const int64_t *stride_bytes);
void mt_iter_finish(mt_iter *it); /* order and merge; call once after setting all operands */

/* Runs the loop over everything, in parallel when worth it. With loop_dtype the loop gets every
   operand contiguous and in that dtype, block by block: what is not so goes through buffers (inputs
   cast on load, outputs on store). With NULL it gets the dtypes and strides as they are, 0 for a
   broadcast operand. */
void mt_iter_run(const mt_iter *it, mt_loop_fn *loop, const void *params, const uint8_t *loop_dtype,
                 double ns_per_element);
/* The same on another device, installed by its backend and called with the lock held. `host` has a
   bit for each operand whose data is a single element in host memory (numbers and 0-d CPU tensors);
   params_bytes is the size of params. */
typedef int mt_iter_runner(const mt_iter *it, mt_device device, mt_loop_fn *loop, const void *params,
                           size_t params_bytes, const uint8_t *loop_dtype, uint32_t host);
extern mt_iter_runner *mt_iter_runners[MT_DEVICE_TYPE_COUNT]; /* the CPU's stays NULL */
/* Serial and in memory order of the first operand; for random number kernels. */
void mt_iter_run_serial(const mt_iter *it, mt_loop_fn *loop, const void *params);

#endif
