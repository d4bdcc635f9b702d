/* SPDX-License-Identifier: BSD-3-Clause */
/* Views that depend on how the memory lies: other sizes over the same elements (view, reshape, flatten, unflatten), the
   same bytes as another dtype, complex numbers as pairs. The strides come from mt_shape_view_strides. reshape and what
   is built on it run the ops view, clone and _unsafe_view, so that the graph is PyTorch's. Neighbours: view.c. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/frame.h"
#include "core/op.h"
#include "core/shape.h"
#include "ops.h"

static MT_COLD int too_many_dims(int ndim)
{
    return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM, ndim);
}

/* --- view --- */

/* The common case: a row-major tensor and sizes that multiply to its number of elements. */
static inline bool plan_rows(int64_t *size, int64_t *stride, const mt_tensor *self, mt_ints wanted)
{
    int64_t known = 1;

    if (!mt_tensor_is_contiguous(self) || !self->ndim || self->stride[self->ndim - 1] != 1)
        return false;
    for (int i = wanted.n - 1; i >= 0; i--) {
        size[i] = wanted.data[i];
        stride[i] = known;
        if (size[i] <= 0 || mt_mul_overflow(known, size[i], &known))
            return false;
    }
    return known == self->numel;
}

/* Sizes with -1 filled in, and strides; the error is that of view. */
static int plan_view(int64_t *size, int64_t *stride, const mt_tensor *self, mt_ints wanted)
{
    if (wanted.n > MT_MAX_DIM)
        return too_many_dims(wanted.n);
    if (MT_LIKELY(plan_rows(size, stride, self, wanted)))
        return 0;
    if (mt_shape_infer(size, wanted.data, wanted.n, self->numel) < 0)
        return -1;
    if (!mt_shape_view_strides(stride, self, wanted.n, size))
        return mt_error_set(MT_ERR_RUNTIME,
                            "view size is not compatible with input tensor's size and stride (at least one dimension "
                            "spans across two contiguous subspaces). Use .reshape(...) instead.");
    return 0;
}

int mt_view_view(mt_tensor **out, mt_tensor *self, mt_ints size)
{
    int64_t new_size[MT_MAX_DIM], stride[MT_MAX_DIM];

    *out = NULL;
    if (plan_view(new_size, stride, self, size) < 0)
        return -1;
    return mt_tensor_new_view(out, self, size.n, new_size, stride, self->offset);
}

/* Of strides that fit, which reshape has found. */
int mt_view_reshape_alias(mt_tensor **out, mt_tensor *self, mt_ints size, mt_ints stride)
{
    return mt_tensor_new_view(out, self, size.n, size.data, stride.data, self->offset);
}

/* Shares the storage but is no view of self: for results that nobody else can see. */
int mt_impl_unsafe_view(mt_tensor **out, mt_tensor *self, mt_ints size)
{
    int64_t new_size[MT_MAX_DIM], stride[MT_MAX_DIM];

    *out = NULL;
    if (plan_view(new_size, stride, self, size) < 0 || mt_tensor_new_alias(out, self, false) < 0)
        return -1;
    if (mt_tensor_set_geometry(*out, size.n, new_size, stride, self->offset) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

/* --- reshape --- */

int mt_impl_reshape(mt_tensor **out, mt_tensor *self, mt_ints shape)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_tensor *copy = NULL;
    int rc = -1;

    *out = NULL;
    if (shape.n > MT_MAX_DIM)
        return too_many_dims(shape.n);
    MT_TRY(mt_shape_infer(size, shape.data, shape.n, self->numel));
    if (mt_shape_view_strides(stride, self, shape.n, size))
        return mt_tensor_is_contiguous(self)
                   ? mt_view(out, self, (mt_ints){size, shape.n})
                   : mt_reshape_alias(out, self, (mt_ints){size, shape.n}, (mt_ints){stride, shape.n});
    MT_TRY(mt_clone(&copy, self, MT_FORMAT_CONTIGUOUS));
    MT_TRY(mt_unsafe_view(out, copy, (mt_ints){size, shape.n}));
    rc = 0;
fail:
    mt_tensor_clear(&copy);
    return rc;
}

int mt_impl_flatten(mt_tensor **out, mt_tensor *self, int64_t start_dim, int64_t end_dim)
{
    int64_t size[MT_MAX_DIM], product = 1;
    int n = 0;

    *out = NULL;
    if (mt_dim_wrap(&start_dim, self->ndim) < 0 || mt_dim_wrap(&end_dim, self->ndim) < 0)
        return -1;
    if (start_dim > end_dim)
        return mt_error_set(MT_ERR_RUNTIME, "flatten() has invalid args: start_dim cannot come after end_dim");
    if (self->ndim == 0)
        return mt_impl_reshape(out, self, (mt_ints){(const int64_t[]){1}, 1});
    if (start_dim == end_dim) {
        *out = mt_tensor_ref(self);
        return 0;
    }
    for (int i = 0; i < self->ndim; i++) {
        if (i < start_dim || i > end_dim) {
            size[n++] = self->size[i];
            continue;
        }
        product *= self->size[i];
        if (i == end_dim)
            size[n++] = product;
    }
    return mt_impl_reshape(out, self, (mt_ints){size, n});
}

static MT_COLD int unexpected_unflatten(void)
{
    char text[400];

    strncpy(text, mt_error_message(), sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    return mt_error_set(MT_ERR_RUNTIME, "unflatten got an unexpected error:\n%s", text);
}

int mt_impl_unflatten(mt_tensor **out, mt_tensor *self, int64_t dim, mt_ints sizes)
{
    int64_t size[MT_MAX_DIM];
    mt_shape_text text;
    int holes = 0, n = 0;

    *out = NULL;
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (sizes.n <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "unflatten: sizes must be non-empty");
    if (self->ndim == 0) {
        mt_error_set(MT_ERR_RUNTIME, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
        return unexpected_unflatten();
    }
    if (self->ndim - 1 + sizes.n > MT_MAX_DIM)
        return too_many_dims(self->ndim - 1 + sizes.n);
    for (int i = 0; i < sizes.n; i++)
        holes += sizes.data[i] == -1;
    memcpy(size, self->size, (size_t)dim * sizeof(size[0]));
    n = (int)dim;
    if (mt_shape_infer(size + n, sizes.data, sizes.n, self->size[dim]) < 0) {
        if (holes > 1 || (holes == 1 && self->size[dim] == 0) || strncmp(mt_error_message(), "invalid", 7) == 0)
            return unexpected_unflatten();
        return mt_error_set(MT_ERR_RUNTIME,
                            "unflatten: Provided sizes %s don't multiply up to the size of dim %lld (%lld) in the "
                            "input tensor",
                            mt_shape_format(&text, sizes.data, sizes.n), (long long)dim, (long long)self->size[dim]);
    }
    n += sizes.n;
    memcpy(size + n, self->size + dim + 1, (size_t)(self->ndim - dim - 1) * sizeof(size[0]));
    n += self->ndim - (int)dim - 1;
    return mt_view(out, self, (mt_ints){size, n});
}

/* --- other dtypes --- */

/* Shares storage and version, and is no view, as PyTorch has it. */
static int alias_as(mt_tensor **out, mt_tensor *self, mt_dtype dtype, const int64_t *size, const int64_t *stride,
                    int64_t offset)
{
    if (mt_tensor_new_alias(out, self, true) < 0)
        return -1;
    (*out)->dtype = (uint8_t)dtype;
    if (mt_tensor_set_geometry(*out, self->ndim, size, stride, offset) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

static int smaller_items(int64_t *size, int64_t *stride, int64_t *offset, const mt_tensor *self, mt_dtype dtype,
                         int64_t ratio)
{
    int n = self->ndim;

    if (self->stride[n - 1] != 1)
        return mt_error_set(
            MT_ERR_RUNTIME, "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld",
            mt_dtype_table[self->dtype].legacy, mt_dtype_table[dtype].legacy, (long long)self->stride[n - 1]);
    for (int i = 0; i < n - 1; i++)
        stride[i] *= ratio;
    size[n - 1] *= ratio;
    *offset *= ratio;
    return 0;
}

static int larger_items(int64_t *size, int64_t *stride, int64_t *offset, const mt_tensor *self, mt_dtype dtype,
                        int64_t ratio)
{
    const char *from = mt_dtype_table[self->dtype].legacy, *to = mt_dtype_table[dtype].legacy;
    int n = self->ndim;

    if (self->size[n - 1] % ratio != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "self.size(-1) must be divisible by %lld to view %s as %s (different element sizes), but "
                            "got %lld",
                            (long long)ratio, from, to, (long long)self->size[n - 1]);
    if (self->offset % ratio != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "self.storage_offset() must be divisible by %lld to view %s as %s (different element "
                            "sizes), but got %lld",
                            (long long)ratio, from, to, (long long)self->offset);
    if (self->stride[n - 1] != 1)
        return mt_error_set(MT_ERR_RUNTIME,
                            "self.stride(-1) must be 1 to view %s as %s (different element sizes), but got %lld", from,
                            to, (long long)self->stride[n - 1]);
    for (int i = 0; i < n - 1; i++) {
        if (self->stride[i] % ratio != 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "self.stride(%d) must be divisible by %lld to view %s as %s (different element "
                                "sizes), but got %lld",
                                i, (long long)ratio, from, to, (long long)self->stride[i]);
        stride[i] /= ratio;
    }
    size[n - 1] /= ratio;
    *offset /= ratio;
    return 0;
}

int mt_view_view_dtype(mt_tensor **out, mt_tensor *self, mt_dtype dtype)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM], offset = self->offset;
    int64_t have = (int64_t)mt_tensor_itemsize(self), want = (int64_t)mt_dtype_size(dtype);

    *out = NULL;
    if (dtype == (mt_dtype)self->dtype)
        return mt_tensor_new_alias(out, self, true);
    if (self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG))
        return mt_error_set(MT_ERR_RUNTIME,
                            "torch.Tensor.view is not supported for %s view tensors when converting to a different "
                            "dtype.",
                            self->flags & MT_FLAG_CONJ ? "conjugate" : "negative");
    memcpy(size, self->size, self->ndim * sizeof(size[0]));
    memcpy(stride, self->stride, self->ndim * sizeof(stride[0]));
    if (have != want && self->ndim == 0)
        return mt_error_set(MT_ERR_RUNTIME, "self.dim() cannot be 0 to view %s as %s (different element sizes)",
                            mt_dtype_table[self->dtype].legacy, mt_dtype_table[dtype].legacy);
    if (have > want && smaller_items(size, stride, &offset, self, dtype, have / want) < 0)
        return -1;
    if (have < want && larger_items(size, stride, &offset, self, dtype, want / have) < 0)
        return -1;
    return alias_as(out, self, dtype, size, stride, offset);
}

/* --- complex numbers and pairs --- */

int mt_view_view_as_real(mt_tensor **out, mt_tensor *self)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (!mt_dtype_is_complex((mt_dtype)self->dtype))
        return mt_error_set(MT_ERR_RUNTIME, "view_as_real is only supported for complex tensors");
    if (self->flags & MT_FLAG_CONJ)
        return mt_error_set(MT_ERR_RUNTIME,
                            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
                            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that the "
                            "resulting tensor will NOT alias the original.");
    if (n + 1 > MT_MAX_DIM)
        return too_many_dims(n + 1);
    for (int i = 0; i < n; i++) {
        size[i] = self->size[i];
        stride[i] = 2 * self->stride[i];
    }
    size[n] = 2;
    stride[n] = 1;
    return mt_tensor_new_view_dtype(out, self, mt_dtype_to_real((mt_dtype)self->dtype), n + 1, size, stride,
                                    2 * self->offset);
}

int mt_view_view_as_complex(mt_tensor **out, mt_tensor *self)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    *out = NULL;
    if (self->dtype != MT_DTYPE_f16 && self->dtype != MT_DTYPE_f32 && self->dtype != MT_DTYPE_f64)
        return mt_error_set(MT_ERR_RUNTIME,
                            "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                            "scalar type: %s",
                            mt_dtype_table[self->dtype].legacy);
    if (n == 0)
        return mt_error_set(MT_ERR_RUNTIME, "Input tensor must have one or more dimensions");
    if (self->size[n - 1] != 2)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor must have a last dimension of size 2");
    if (self->stride[n - 1] != 1)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor must have a last dimension with stride 1");
    for (int i = 0; i < n - 1; i++) {
        if (self->stride[i] % 2 != 0)
            return mt_error_set(MT_ERR_RUNTIME, "Tensor must have a stride divisible by 2 for all but last dimension");
        size[i] = self->size[i];
        stride[i] = self->stride[i] / 2;
    }
    if (self->offset % 2 != 0)
        return mt_error_set(MT_ERR_RUNTIME, "Tensor must have a storage_offset divisible by 2");
    return mt_tensor_new_view_dtype(out, self, mt_dtype_to_complex((mt_dtype)self->dtype), n - 1, size, stride,
                                    self->offset / 2);
}

/* Part 0 or 1 of the pairs. A conjugate view is undone first; its imaginary part then carries the negative bit. */
static int part_of(mt_tensor **out, mt_tensor *self, int part)
{
    bool is_conj = (self->flags & MT_FLAG_CONJ) != 0;
    mt_tensor *plain = NULL, *pairs = NULL, *negative = NULL;
    int rc = -1;

    if (is_conj)
        MT_TRY(mt_conj(&plain, self));
    MT_TRY(mt_view_as_real(&pairs, is_conj ? plain : self));
    if (is_conj && part == 1)
        MT_TRY(mt_neg_view(&negative, pairs));
    MT_TRY(mt_select(out, negative ? negative : pairs, -1, part));
    rc = 0;
fail:
    mt_tensor_clear(&plain);
    mt_tensor_clear(&pairs);
    mt_tensor_clear(&negative);
    return rc;
}

int mt_impl_real(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        return part_of(out, self, 0);
    *out = mt_tensor_ref(self);
    return 0;
}

int mt_impl_imag(mt_tensor **out, mt_tensor *self)
{
    *out = NULL;
    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        return part_of(out, self, 1);
    return mt_error_set(MT_ERR_RUNTIME, "imag is not implemented for tensors with non-complex dtypes.");
}

/* --- names for matrices --- */

int mt_impl_movedim(mt_tensor **out, mt_tensor *self, mt_ints source, mt_ints destination)
{
    int64_t order[MT_MAX_DIM], from[MT_MAX_DIM], to[MT_MAX_DIM];
    bool taken_from[MT_MAX_DIM] = {false}, taken_to[MT_MAX_DIM] = {false};
    mt_shape_text a, b;
    int n = self->ndim, next = 0;

    *out = NULL;
    if (source.n != destination.n)
        return mt_error_set(MT_ERR_RUNTIME,
                            "movedim: Invalid source or destination dims: source (%s dims) should contain the same "
                            "number of dims as destination (%s dims)",
                            mt_shape_format(&a, source.data, source.n),
                            mt_shape_format(&b, destination.data, destination.n));
    for (int i = 0; i < source.n; i++) {
        int64_t s = source.data[i], d = destination.data[i];

        if (mt_dim_wrap(&s, n) < 0 || mt_dim_wrap(&d, n) < 0)
            return -1;
        if (taken_from[s])
            return mt_error_set(MT_ERR_RUNTIME, "movedim: repeated dim in `source` (%s)",
                                mt_shape_format(&a, source.data, source.n));
        if (taken_to[d])
            return mt_error_set(MT_ERR_RUNTIME, "movedim: repeated dim in `destination` (%s)",
                                mt_shape_format(&a, destination.data, destination.n));
        taken_from[s] = taken_to[d] = true;
        from[i] = s;
        to[i] = d;
    }
    if (n == 0)
        return mt_alias(out, self);
    for (int i = 0; i < source.n; i++)
        order[to[i]] = from[i];
    for (int i = 0; i < n; i++) {
        if (taken_to[i])
            continue;
        while (taken_from[next])
            next++;
        order[i] = next++;
    }
    return mt_permute(out, self, (mt_ints){order, n});
}

int mt_impl_movedim_int(mt_tensor **out, mt_tensor *self, int64_t source, int64_t destination)
{
    return mt_impl_movedim(out, self, (mt_ints){&source, 1}, (mt_ints){&destination, 1});
}
