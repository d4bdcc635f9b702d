/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape and dtype rules that many ops share. A rule is an `int rule(mt_call *)` that calls
   mt_out_prepare for every output; the catalog names it without the prefix. Helpers for writing
   rules follow. */
#ifndef MT_OPS_META_H
#define MT_OPS_META_H

#include "core/dispatch.h"
#include "core/shape.h"

/* --- rules --- */

int mt_meta_pointwise(mt_call *call); /* ops with a pointwise spec */
int mt_meta_reduce(mt_call *call);    /* ops with a reduce spec */
/* Output 0 like argument 0: dtype, shape, and its memory order when that is dense. For ops that
   only exist in place it checks what writing needs. */
int mt_meta_same_as(mt_call *call);
/* The same, contiguous whatever the order of argument 0, and never on memory that an argument
   shares. */
int mt_meta_same_as_contiguous(mt_call *call);
/* Every output like argument 0, contiguous, no shared memory. */
int mt_meta_all_same_as(mt_call *call);
/* A bool of the shape of argument 0; a 0-d output with argument 0's dtype; a 0-d int64. */
int mt_meta_bool_same_as(mt_call *call);
int mt_meta_scalar_like(mt_call *call);
int mt_meta_scalar_int64(mt_call *call);

/* --- helpers --- */

/* NotImplementedError for ops that read the elements of a tensor to know what to do. */
static inline int mt_need_host_data(const mt_tensor *t, const char *op)
{
    if (t && t->device.type == MT_DEVICE_CUDA)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Could not run 'aten::%s' with arguments from the 'CUDA' backend.",
                            op);
    if (t && t->device.type != MT_DEVICE_CPU)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED,
                            "%s(): the result depends on the elements, which a tensor on this "
                            "device does not offer",
                            op);
    return 0;
}

/* RuntimeError "Expected all tensors to be on the same device, but found at least two devices,
   ..." */
int mt_meta_device_error(mt_device a, mt_device b);
/* All tensor arguments on one device (0-d CPU tensors may join others): gives it. CPU when there is
   no tensor. */
int mt_meta_common_device(mt_device *out, const mt_call *call);
/* RuntimeError "expected scalar type Float but found Double" when the dtypes differ. */
int mt_meta_same_dtype(const mt_tensor *a, const mt_tensor *b);

/* A given output k must have just this dtype. */
int mt_meta_exact_out(const mt_call *call, int k, mt_dtype dtype);

/* Composites that take only some dtypes: the common dtype of the tensors must be in the bit set. */
int mt_meta_require_dtypes(const mt_call *call, unsigned allowed);
/* Kernels know the dtypes that have loops; of the others only those in the bit set pass. */
int mt_meta_refuse_shells(const mt_call *call, unsigned allowed);
/* The error for a dtype without a loop, in PyTorch's words for the op. */
int mt_meta_refuse_dtype(const mt_op *op, mt_dtype d) MT_COLD;

/* Strides of the result of operands that broadcast to (ndim, size), by PyTorch's rule: the memory
   order of the first operand that has one. False: contiguous (stride is untouched). */
bool mt_meta_output_strides(int64_t *stride, const mt_tensor *const *operand, int n, int ndim, const int64_t *size);

#endif
