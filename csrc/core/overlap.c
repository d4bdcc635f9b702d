/* SPDX-License-Identifier: BSD-3-Clause */
/* Do tensors share addresses? The answers are PyTorch's: exact where sizes and strides are simple,
   "too hard" otherwise, and what is too hard passes the checks. */
#include "core/shape.h"

mt_overlap mt_overlap_internal(const mt_tensor *t)
{
    if (t->flags & MT_FLAG_DENSE)
        return MT_OVERLAP_NO;
    for (int i = 0; i < t->ndim; i++)
        if (t->size[i] > 1 && t->stride[i] == 0)
            return MT_OVERLAP_YES;
    return MT_OVERLAP_TOO_HARD;
}

static bool same_strides(const mt_tensor *a, const mt_tensor *b)
{
    return mt_shape_equal(a->ndim, a->stride, b->ndim, b->stride);
}

mt_overlap mt_overlap_between(const mt_tensor *a, const mt_tensor *b)
{
    int64_t a_begin, a_end, b_begin, b_end;

    if (a == b)
        return MT_OVERLAP_FULL;
    if (a->numel == 0 || b->numel == 0 || a->storage != b->storage || !a->storage->data)
        return MT_OVERLAP_NO;
    if (!(a->flags & b->flags & MT_FLAG_DENSE))
        return MT_OVERLAP_TOO_HARD;
    a_begin = a->offset * (int64_t)mt_tensor_itemsize(a);
    a_end = a_begin + a->numel * (int64_t)mt_tensor_itemsize(a);
    b_begin = b->offset * (int64_t)mt_tensor_itemsize(b);
    b_end = b_begin + b->numel * (int64_t)mt_tensor_itemsize(b);
    if (a_begin == b_begin && a_end == b_end)
        return same_strides(a, b) ? MT_OVERLAP_FULL : MT_OVERLAP_YES;
    return a_begin < b_end && b_begin < a_end ? MT_OVERLAP_YES : MT_OVERLAP_NO;
}

int mt_assert_no_internal_overlap(const mt_tensor *t)
{
    if (MT_LIKELY(mt_overlap_internal(t) != MT_OVERLAP_YES))
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "unsupported operation: more than one element of the written-to tensor refers to a "
                        "single memory location. Please clone() the tensor before performing the operation.");
}

static int shares_memory(void)
{
    return mt_error_set(MT_ERR_RUNTIME,
                        "unsupported operation: some elements of the input tensor and the written-to tensor "
                        "refer to a single memory location. Please clone() the tensor before performing the "
                        "operation.");
}

int mt_assert_no_partial_overlap(const mt_tensor *out, const mt_tensor *in)
{
    return MT_LIKELY(mt_overlap_between(out, in) != MT_OVERLAP_YES) ? 0 : shares_memory();
}

int mt_assert_no_overlap(const mt_tensor *out, const mt_tensor *in)
{
    mt_overlap between = mt_overlap_between(out, in);

    return between != MT_OVERLAP_YES && between != MT_OVERLAP_FULL ? 0 : shares_memory();
}
