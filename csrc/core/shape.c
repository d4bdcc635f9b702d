/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic on sizes and strides: element counts, memory orders, broadcasting, dimension
   arguments. Every product that a caller's numbers can make overflow is checked here, so the rest
   of the code multiplies freely. Reshaping is in reshape.c, overlap of tensors in overlap.c. */
#include "core/shape.h"

#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"

static MT_COLD int size_error(int ndim, const int64_t *size, const char *format)
{
    mt_shape_text text;

    return mt_error_set(MT_ERR_RUNTIME, format, mt_shape_format(&text, size, ndim));
}

int mt_shape_numel(int64_t *out, int ndim, const int64_t *size, size_t itemsize)
{
    int64_t numel = 1, extent = 1, bytes;
    bool overflow = false;

    for (int i = 0; i < ndim; i++) {
        if (MT_UNLIKELY(size[i] < 0)) {
            mt_shape_text text;

            return mt_error_set(MT_ERR_RUNTIME, "Trying to create tensor with negative dimension %lld: %s",
                                (long long)size[i], mt_shape_format(&text, size, ndim));
        }
        if (size[i] == 0)
            numel = 0;
        else
            overflow |= mt_mul_overflow(extent, size[i], &extent);
    }
    if (MT_UNLIKELY(overflow || mt_mul_overflow(extent, (int64_t)itemsize, &bytes))) {
        if (numel != 0)
            return size_error(ndim, size, "Storage size calculation overflowed with sizes=%s");
        if (overflow)
            return mt_error_set(MT_ERR_RUNTIME, "Stride calculation overflowed");
    }
    *out = numel == 0 ? 0 : extent;
    return 0;
}

void mt_shape_contiguous_strides(int64_t *stride, int ndim, const int64_t *size)
{
    int64_t step = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = step;
        if (mt_mul_overflow(step, size[i] > 1 ? size[i] : 1, &step))
            step = INT64_MAX; /* such sizes are refused by whoever counts elements or bytes */
    }
}

/* Positive: `outer` has to change places with `inner`; negative: it must not; 0: no operand
   knows. */
static int compare_dims(int inner, int outer, const int64_t *size, int n_operands, const int64_t *const *stride)
{
    for (int k = 0; k < n_operands; k++) {
        int64_t a, b;

        if (!stride[k])
            continue;
        a = stride[k][inner];
        b = stride[k][outer];
        if (a == 0 || b == 0)
            continue;
        if (a != b)
            return a < b ? -1 : 1;
        if (size[inner] > size[outer])
            return 1;
    }
    return 0;
}

/* An insertion sort that steps over dims for which no operand has a preference. */
void mt_shape_order(uint8_t *order, int ndim, const int64_t *size, int n_operands, const int64_t *const *stride)
{
    for (int i = 0; i < ndim; i++)
        order[i] = (uint8_t)(ndim - 1 - i);
    for (int i = 1; i < ndim; i++) {
        int moving = i;

        for (int j = i - 1; j >= 0; j--) {
            int c = compare_dims(order[j], order[moving], size, n_operands, stride);

            if (c < 0)
                break;
            if (c > 0) {
                uint8_t swap = order[j];

                order[j] = order[moving];
                order[moving] = swap;
                moving = j;
            }
        }
    }
}

void mt_shape_ordered_strides(int64_t *stride, int ndim, const int64_t *size, const uint8_t *order)
{
    int64_t step = 1;

    for (int i = 0; i < ndim; i++) {
        stride[order[i]] = step;
        if (mt_mul_overflow(step, size[order[i]], &step)) /* an empty dim gives what lies outside of it stride 0 */
            step = INT64_MAX;
    }
}

void mt_shape_strides_like(int64_t *stride, const mt_tensor *like)
{
    const int64_t *strides = like->stride;
    uint8_t order[UINT8_MAX + 1]; /* whatever ndim says */

    if (like->flags & MT_FLAG_DENSE) {
        memcpy(stride, like->stride, like->ndim * sizeof(stride[0]));
        return;
    }
    mt_shape_order(order, like->ndim, like->size, 1, &strides);
    mt_shape_ordered_strides(stride, like->ndim, like->size, order);
}

int mt_shape_channels_last_strides(int64_t *stride, int ndim, const int64_t *size)
{
    int64_t step = 1;

    if (ndim != 4 && ndim != 5)
        return mt_error_set(MT_ERR_RUNTIME, "required rank %d tensor to use channels_last%s format", ndim > 4 ? 5 : 4,
                            ndim > 4 ? "_3d" : "");
    stride[1] = 1;
    step = size[1];
    for (int i = ndim - 1; i > 1; i--) {
        stride[i] = step;
        step *= size[i];
    }
    stride[0] = step;
    return 0;
}

bool mt_shape_equal(int ndim, const int64_t *a, int ndim_b, const int64_t *b)
{
    if (ndim != ndim_b)
        return false;
    for (int i = 0; i < ndim; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* --- broadcasting --- */

int mt_shape_broadcast(mt_shape *inout, int ndim, const int64_t *size)
{
    int grow = ndim - inout->ndim;

    if (grow > 0) {
        memmove(inout->size + grow, inout->size, (size_t)inout->ndim * sizeof(size[0]));
        memcpy(inout->size, size, (size_t)grow * sizeof(size[0]));
        inout->ndim = ndim;
    } else {
        grow = 0;
    }
    for (int i = 1; i <= ndim - grow; i++) {
        int64_t *a = &inout->size[inout->ndim - i], b = size[ndim - i];

        if (*a == b || b == 1)
            continue;
        if (*a != 1)
            return mt_error_set(MT_ERR_RUNTIME,
                                "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                                "non-singleton dimension %d",
                                (long long)*a, (long long)b, inout->ndim - i);
        *a = b;
    }
    return 0;
}

bool mt_shape_is_broadcastable(int ndim, const int64_t *size, int target_ndim, const int64_t *target)
{
    if (ndim > target_ndim)
        return false;
    for (int i = 1; i <= ndim; i++)
        if (size[ndim - i] != 1 && size[ndim - i] != target[target_ndim - i])
            return false;
    return true;
}

/* --- dimension arguments --- */

int mt_dim_wrap(int64_t *inout, int ndim)
{
    int64_t range = ndim > 0 ? ndim : 1;

    if (MT_UNLIKELY(*inout < -range || *inout >= range))
        return mt_error_set(MT_ERR_INDEX,
                            "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                            (long long)-range, (long long)(range - 1), (long long)*inout);
    if (*inout < 0)
        *inout += range;
    return 0;
}

int mt_dims_mask(uint64_t *out, const int64_t *dims, int n, int ndim, bool empty_means_all)
{
    uint64_t mask = 0;

    if (ndim > 64)
        return mt_error_set(MT_ERR_RUNTIME, "only tensors with up to 64 dims are supported");
    if (n < 0 || (n == 0 && empty_means_all)) {
        *out = ndim >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << ndim) - 1;
        return 0;
    }
    for (int i = 0; i < n; i++) {
        int64_t d = dims[i];

        if (mt_dim_wrap(&d, ndim) < 0)
            return -1;
        if (mask >> d & 1)
            return mt_error_set(MT_ERR_RUNTIME, "dim %lld appears multiple times in the list of dims", (long long)d);
        mask |= UINT64_C(1) << d;
    }
    *out = ndim == 0 ? 0 : mask;
    return 0;
}

/* --- extents --- */

int mt_shape_storage_bytes(size_t *out, int ndim, const int64_t *size, const int64_t *stride, int64_t offset,
                           size_t itemsize)
{
    int64_t last = 0, step, bytes;

    *out = 0;
    for (int i = 0; i < ndim; i++)
        if (size[i] == 0)
            return 0;
    for (int i = 0; i < ndim; i++) {
        if (stride[i] < 0 || mt_mul_overflow(size[i] - 1, stride[i], &step) || mt_add_overflow(last, step, &last))
            goto overflow;
    }
    if (mt_add_overflow(last, offset, &last) || mt_add_overflow(last, 1, &last) ||
        mt_mul_overflow(last, (int64_t)itemsize, &bytes) || bytes < 0)
        goto overflow;
    *out = (size_t)bytes;
    return 0;
overflow:;
    mt_shape_text sizes, strides;

    return mt_error_set(MT_ERR_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                        mt_shape_format(&sizes, size, ndim), mt_shape_format(&strides, stride, ndim));
}
