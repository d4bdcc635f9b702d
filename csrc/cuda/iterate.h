/* SPDX-License-Identifier: BSD-3-Clause */
/* Pointwise work on the device: an iterator of the core and a loop of the tables. */
#ifndef MT_CUDA_ITERATE_H
#define MT_CUDA_ITERATE_H

#include "core/iter.h"
#include "cuda/geometry.h"
#include "cuda/runtime.h"

/* The mt_iter_runner of CUDA. Operands of another dtype than the loop's go through temporaries. */
int mt_cuda_run_iter(const mt_iter *it, mt_device device, mt_loop_fn *loop, const void *params, size_t params_bytes,
                     const uint8_t *loop_dtype, uint32_t host);

/* Elements of operand 1 to operand 0, each contiguous or not, with conversion; `parts` as for mt_tensor_assign_hook. The
   iterator has two operands. */
int mt_cuda_run_cast(const mt_iter *it, mt_device device, unsigned parts);

/* Dims with their reciprocals, n of at most MT_CUDA_MAX_DIM, innermost first. */
void mt_cuda_dims_set(mt_cuda_dims *dims, int n, const int64_t *size, int64_t numel);
/* Blocks of MT_CUDA_BLOCK threads for n pieces of work; threads take several when there are many. */
unsigned mt_cuda_blocks(int64_t n, int device);

/* The loops of cast.cu (by dtype of the result; params of the args: source dtype, parts) and fill.cu. */
extern mt_loop_fn *mt_cuda_cast_loops[MT_DTYPE_COUNT], *mt_cuda_fill_loops[MT_DTYPE_COUNT];

#endif
