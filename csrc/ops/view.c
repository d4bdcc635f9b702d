/* SPDX-License-Identifier: BSD-3-Clause */
/* Views that change geometry only: every function computes sizes, strides and offset and hands them to
   mt_tensor_new_view. Nothing is recorded here and no memory is touched. Views that need the shape of the memory
   (view, reshape) and other dtypes are in reshape.c, lists of views in split.c. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/op.h"
#include "core/shape.h"
#include "ops.h"

/* --- orders of dims --- */

int mt_view_transpose(mt_tensor **out, mt_tensor *self, int64_t dim0, int64_t dim1)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (mt_dim_wrap(&dim0, n) < 0 || mt_dim_wrap(&dim1, n) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        size[i] = self->size[i];
        stride[i] = self->stride[i];
    }
    if (n > 0) {
        size[dim0] = self->size[dim1];
        size[dim1] = self->size[dim0];
        stride[dim0] = self->stride[dim1];
        stride[dim1] = self->stride[dim0];
    }
    return mt_tensor_new_view(out, self, n, size, stride, self->offset);
}

int mt_view_t(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (self->ndim > 2)
        return mt_error_set(MT_ERR_RUNTIME, "t() expects a tensor with <= 2 dimensions, but self is %dD", self->ndim);
    return mt_view_transpose(out, self, 0, self->ndim < 2 ? 0 : 1);
}

int mt_view_permute(mt_tensor **out, mt_tensor *self, mt_ints dims)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    bool seen[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (dims.n != n)
        return mt_error_set(MT_ERR_RUNTIME,
                            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                            "of the desired ordering of dimensions i.e. input.dim() = %d is not equal to len(dims) = "
                            "%d",
                            n, dims.n);
    memset(seen, 0, (size_t)n);
    for (int i = 0; i < n; i++) {
        int64_t d = dims.data[i];

        if (mt_dim_wrap(&d, n) < 0)
            return -1;
        if (seen[d])
            return mt_error_set(MT_ERR_RUNTIME, "permute(): duplicate dims are not allowed.");
        seen[d] = true;
        size[i] = self->size[d];
        stride[i] = self->stride[d];
    }
    return mt_tensor_new_view(out, self, n, size, stride, self->offset);
}

/* --- dims of size 1 --- */

/* Drops the dims of the mask that have size 1. */
static int squeeze_mask(mt_tensor **out, mt_tensor *self, uint64_t mask)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = 0;

    for (int i = 0; i < self->ndim; i++) {
        if (self->size[i] == 1 && (i >= 64 || (mask >> i & 1)))
            continue;
        size[n] = self->size[i];
        stride[n++] = self->stride[i];
    }
    return mt_tensor_new_view(out, self, n, size, stride, self->offset);
}

int mt_view_squeeze(mt_tensor **out, mt_tensor *self)
{
    return squeeze_mask(out, self, ~UINT64_C(0));
}

int mt_view_squeeze_dim(mt_tensor **out, mt_tensor *self, int64_t dim)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = 0;

    *out = NULL;
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    for (int i = 0; i < self->ndim; i++) {
        if (i == dim && self->size[i] == 1)
            continue;
        size[n] = self->size[i];
        stride[n++] = self->stride[i];
    }
    return mt_tensor_new_view(out, self, n, size, stride, self->offset);
}

int mt_view_squeeze_dims(mt_tensor **out, mt_tensor *self, mt_ints dim)
{
    uint64_t mask;

    *out = NULL;
    if (mt_dims_mask(&mask, dim.data, dim.n, self->ndim, false) < 0)
        return -1;
    return squeeze_mask(out, self, mask);
}

int mt_view_unsqueeze(mt_tensor **out, mt_tensor *self, int64_t dim)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (mt_dim_wrap(&dim, n + 1) < 0)
        return -1;
    if (n + 1 > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            n + 1);
    for (int i = 0; i < n; i++) {
        size[i + (i >= dim)] = self->size[i];
        stride[i + (i >= dim)] = self->stride[i];
    }
    size[dim] = 1;
    stride[dim] = dim < n ? self->size[dim] * self->stride[dim] : 1;
    return mt_tensor_new_view(out, self, n + 1, size, stride, self->offset);
}

/* --- expand --- */

static MT_COLD int cannot_expand(const mt_tensor *self, mt_ints size, int dim, int64_t have)
{
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME,
                        "The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
                        "dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                        (long long)size.data[dim], (long long)have, dim, mt_shape_format(&a, size.data, size.n),
                        mt_shape_format(&b, self->size, self->ndim));
}

static MT_COLD int too_few_sizes(const mt_tensor *self, mt_ints size)
{
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME,
                        "expand(torch.%sTensor{%s}, size=%s): the number of sizes provided (%d) must be greater or "
                        "equal to the number of dimensions in the tensor (%d)",
                        mt_dtype_table[self->dtype].legacy, mt_shape_format(&a, self->size, self->ndim),
                        mt_shape_format(&b, size.data, size.n), size.n, self->ndim);
}

static int check_expanded_numel(int ndim, const int64_t *size)
{
    int64_t numel = 1;
    bool overflow = false, empty = false;

    for (int i = 0; i < ndim; i++) {
        if (size[i] == 0)
            empty = true;
        else
            overflow |= size[i] < 0 || mt_mul_overflow(numel, size[i], &numel);
    }
    if (overflow && !empty)
        return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    for (int i = 0; i < ndim && overflow; i++)
        if (size[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    return 0;
}

int mt_view_expand(mt_tensor **out, mt_tensor *self, mt_ints size, bool implicit)
{
    int64_t new_size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = size.n, lead = n - self->ndim;

    (void)implicit;
    *out = NULL;
    if (lead < 0)
        return too_few_sizes(self, size);
    if (n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM, n);
    for (int i = n - 1; i >= 0; i--) {
        int64_t want = size.data[i], have = i >= lead ? self->size[i - lead] : 1;

        if (want == -1) {
            if (i < lead)
                return mt_error_set(MT_ERR_RUNTIME,
                                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                                    "dimension %d",
                                    i);
            want = have;
        }
        if (i >= lead)
            stride[i] = self->stride[i - lead];
        else
            stride[i] = self->ndim ? new_size[i + 1] * stride[i + 1] : 0;
        if (want != have) {
            if (have != 1)
                return cannot_expand(self, size, i, have);
            stride[i] = 0;
        }
        new_size[i] = want;
    }
    if (check_expanded_numel(n, new_size) < 0)
        return -1;
    return mt_tensor_new_view(out, self, n, new_size, stride, self->offset);
}

/* --- parts of a dim --- */

int mt_view_select(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t index)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (n == 0)
        return mt_error_set(MT_ERR_INDEX, "select() cannot be applied to a 0-dim tensor.");
    if (mt_dim_wrap(&dim, n) < 0)
        return -1;
    if (MT_UNLIKELY(index < -self->size[dim] || index >= self->size[dim])) {
        mt_shape_text text;

        return mt_error_set(MT_ERR_INDEX, "select(): index %lld out of range for tensor of size %s at dimension %lld",
                            (long long)index, mt_shape_format(&text, self->size, n), (long long)dim);
    }
    if (index < 0)
        index += self->size[dim];
    for (int i = 0; i < n - 1; i++) {
        size[i] = self->size[i + (i >= dim)];
        stride[i] = self->stride[i + (i >= dim)];
    }
    return mt_tensor_new_view(out, self, n - 1, size, stride, self->offset + index * self->stride[dim]);
}

/* The same geometry but for one dim. */
static int replace_dim(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t dim_size, int64_t dim_stride,
                       int64_t offset)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];

    for (int i = 0; i < self->ndim; i++) {
        size[i] = self->size[i];
        stride[i] = self->stride[i];
    }
    size[dim] = dim_size;
    stride[dim] = dim_stride;
    return mt_tensor_new_view(out, self, self->ndim, size, stride, offset);
}

int mt_view_slice(mt_tensor **out, mt_tensor *self, int64_t dim, const int64_t *start, const int64_t *end, int64_t step)
{
    int64_t first = start ? *start : 0, last = end ? *end : INT64_MAX, n, stride;

    *out = NULL;
    if (self->ndim == 0)
        return mt_error_set(MT_ERR_INDEX, "slice() cannot be applied to a 0-dim tensor.");
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (step <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "slice step must be positive");
    n = self->size[dim];
    first += first < 0 ? n : 0;
    last += last < 0 ? n : 0;
    first = first < 0 ? 0 : first > n ? n : first;
    last = last < first ? first : last > n ? n : last;
    if (mt_mul_overflow(self->stride[dim], step, &stride))
        return mt_error_set(MT_ERR_RUNTIME, "Stride calculation overflowed");
    return replace_dim(out, self, dim, last == first ? 0 : (last - first - 1) / step + 1, stride,
                       self->offset + first * self->stride[dim]);
}

/* narrow and its variants share the checks; *start is wrapped. */
static int check_narrow(const mt_tensor *self, int64_t *dim, int64_t *start, int64_t length)
{
    int64_t n;

    if (self->ndim == 0)
        return mt_error_set(MT_ERR_RUNTIME, "narrow() cannot be applied to a 0-dim tensor.");
    if (length < 0)
        return mt_error_set(MT_ERR_RUNTIME, "narrow(): length must be non-negative.");
    if (mt_dim_wrap(dim, self->ndim) < 0)
        return -1;
    n = self->size[*dim];
    if (*start < -n || *start > n)
        return mt_error_set(MT_ERR_INDEX, "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                            (long long)-n, (long long)n, (long long)*start);
    if (*start < 0)
        *start += n;
    if (length > n - *start)
        return mt_error_set(MT_ERR_RUNTIME, "start (%lld) + length (%lld) exceeds dimension size (%lld).",
                            (long long)*start, (long long)length, (long long)n);
    return 0;
}

int mt_impl_narrow(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t start, int64_t length)
{
    int64_t end;

    *out = NULL;
    if (check_narrow(self, &dim, &start, length) < 0)
        return -1;
    end = start + length;
    return mt_slice(out, self, dim, &start, &end, 1);
}

int mt_impl_narrow_tensor(mt_tensor **out, mt_tensor *self, int64_t dim, mt_tensor *start, int64_t length)
{
    mt_scalar s;

    *out = NULL;
    if (start->ndim != 0 || !mt_dtype_is_integral((mt_dtype)start->dtype, false))
        return mt_error_set(MT_ERR_RUNTIME, "start must be an 0-dim integral Tensor.");
    if (mt_tensor_item(&s, start) < 0)
        return -1;
    return mt_impl_narrow(out, self, dim, mt_scalar_to_int(s), length);
}

int mt_view_unfold(mt_tensor **out, mt_tensor *self, int64_t dimension, int64_t size, int64_t step)
{
    int64_t sizes[MT_MAX_DIM + 1], strides[MT_MAX_DIM + 1], have, unit;
    int n = self->ndim;

    *out = NULL;
    if (mt_dim_wrap(&dimension, n) < 0)
        return -1;
    have = n ? self->size[dimension] : 1;
    unit = n ? self->stride[dimension] : 1;
    if (size < 0)
        return mt_error_set(MT_ERR_RUNTIME, "size is %lld but must be >= 0", (long long)size);
    if (size > have)
        return mt_error_set(MT_ERR_RUNTIME, "maximum size for tensor at dimension %lld is %lld but size is %lld",
                            (long long)dimension, (long long)have, (long long)size);
    if (step <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "step is %lld but must be > 0", (long long)step);
    for (int i = 0; i < n; i++) {
        sizes[i] = self->size[i];
        strides[i] = self->stride[i];
    }
    sizes[n] = size;
    strides[n] = unit;
    if (n > 0) {
        sizes[dimension] = (have - size) / step + 1;
        if (mt_mul_overflow(step, unit, &strides[dimension]))
            return mt_error_set(MT_ERR_RUNTIME, "Stride calculation overflowed");
    }
    if (n + 1 > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            n + 1);
    return mt_tensor_new_view(out, self, n + 1, sizes, strides, self->offset);
}

int mt_view_diagonal(mt_tensor **out, mt_tensor *self, int64_t offset, int64_t dim1, int64_t dim2)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM], length, at = self->offset, a = dim1, b = dim2;
    int n = 0;

    *out = NULL;
    if (mt_dim_wrap(&a, self->ndim) < 0 || mt_dim_wrap(&b, self->ndim) < 0)
        return -1;
    if (a == b)
        return mt_error_set(MT_ERR_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1,
                            (long long)dim2);
    if (offset >= 0)
        length = self->size[b] - offset < self->size[a] ? self->size[b] - offset : self->size[a];
    else
        length = self->size[a] + offset < self->size[b] ? self->size[a] + offset : self->size[b];
    if (length <= 0)
        length = 0;
    else
        at += offset >= 0 ? offset * self->stride[b] : -offset * self->stride[a];
    for (int i = 0; i < self->ndim; i++) {
        if (i == a || i == b)
            continue;
        size[n] = self->size[i];
        stride[n++] = self->stride[i];
    }
    size[n] = length;
    stride[n++] = self->stride[a] + self->stride[b];
    return mt_tensor_new_view(out, self, n, size, stride, at);
}

/* --- any geometry --- */

int mt_view_as_strided(mt_tensor **out, mt_tensor *self, mt_ints size, mt_ints stride, const int64_t *storage_offset)
{
    int64_t offset = storage_offset ? *storage_offset : self->offset;
    mt_shape_text a, b;

    *out = NULL;
    if (size.n != stride.n)
        return mt_error_set(MT_ERR_RUNTIME, "mismatch in length of strides and shape");
    if (size.n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            size.n);
    for (int i = 0; i < stride.n; i++)
        if (stride.data[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "as_strided: Negative strides are not supported at the moment, got strides: %s",
                                mt_shape_format(&a, stride.data, stride.n));
    for (int i = 0; i < size.n; i++)
        if (size.data[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "Storage size calculation overflowed with sizes=%s and strides=%s",
                                mt_shape_format(&a, size.data, size.n), mt_shape_format(&b, stride.data, stride.n));
    if (mt_storage_check_bounds(self->storage, (mt_dtype)self->dtype, size.n, size.data, stride.data, offset) < 0 ||
        check_expanded_numel(size.n, size.data) < 0)
        return -1;
    return mt_tensor_new_view(out, self, size.n, size.data, stride.data, offset);
}

/* --- the same geometry --- */

int mt_view_alias(mt_tensor **out, mt_tensor *self)
{
    return mt_tensor_new_view(out, self, self->ndim, self->size, self->stride, self->offset);
}

int mt_view_detach(mt_tensor **out, mt_tensor *self)
{
    return mt_tensor_new_alias(out, self, true);
}

/* Views of complex tensors with a lazy bit; conj of a real tensor is the tensor itself. */
int mt_view_conj(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (!mt_dtype_is_complex((mt_dtype)self->dtype)) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    if (mt_view_alias(out, self) < 0)
        return -1;
    (*out)->flags ^= MT_FLAG_CONJ;
    return 0;
}

int mt_view_neg_view(mt_tensor **out, mt_tensor *self)
{
    if (mt_view_alias(out, self) < 0)
        return -1;
    (*out)->flags ^= MT_FLAG_NEG;
    return 0;
}
