/* SPDX-License-Identifier: BSD-3-Clause */
/* Joining and rearranging: the meta rules of cat, stack, padding, roll and flip, and the composites of the family. Padding
   by reflection and the like is in pad.c. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/frame.h"
#include "core/shape.h"
#include "ops.h"
#include "ops/create.h"
#include "ops/meta.h"

static int no_tensors(const char *op)
{
    return mt_error_set(MT_ERR_RUNTIME, "%s expects a non-empty TensorList", op);
}

/* --- cat --- */

/* Tensors of shape (0,) join anything: they are passed over. */
static bool is_skipped(const mt_tensor *t)
{
    return t->ndim == 1 && t->size[0] == 0;
}

static int common_dtype(mt_dtype *out, mt_tensors tensors)
{
    mt_promotion p = MT_PROMOTION_INIT;
    bool same = true;

    for (int i = 1; i < tensors.n; i++)
        same &= tensors.data[i]->dtype == tensors.data[0]->dtype;
    *out = (mt_dtype)tensors.data[0]->dtype;
    if (same)
        return 0;
    for (int i = 0; i < tensors.n; i++)
        mt_promotion_add(&p, (mt_dtype)tensors.data[i]->dtype, tensors.data[i]->ndim,
                         mt_tensor_is_wrapped_number(tensors.data[i]));
    return mt_promotion_result(out, &p);
}

/* The memory format that all of them have, else CONTIGUOUS. */
static int common_format(mt_tensors tensors)
{
    int format = -1;

    for (int i = 0; i < tensors.n; i++) {
        int f = tensors.data[i]->ndim < 4 ? MT_FORMAT_CONTIGUOUS : mt_suggest_format(tensors.data[i]);

        if (f == MT_FORMAT_CONTIGUOUS || (format >= 0 && f != format))
            return MT_FORMAT_CONTIGUOUS;
        format = f;
    }
    return format;
}

static int one_device(mt_tensors tensors)
{
    char a[24], b[24];

    for (int i = 1; i < tensors.n; i++)
        if (!mt_device_equal(tensors.data[i]->device, tensors.data[0]->device))
            return mt_error_set(MT_ERR_RUNTIME, "Tensor on device %s is not on the expected device %s!",
                                mt_device_format(b, tensors.data[i]->device),
                                mt_device_format(a, tensors.data[0]->device));
    return 0;
}

static int join_shape(mt_shape *shape, mt_tensors tensors, int64_t *dim)
{
    const mt_tensor *first = NULL;
    int position = 0;

    for (int i = 0; i < tensors.n && !first; i++)
        if (!is_skipped(tensors.data[i])) {
            first = tensors.data[i];
            position = i;
        }
    if (!first) {
        first = tensors.data[0];
        position = 0;
    }
    if (mt_dim_wrap(dim, first->ndim) < 0)
        return -1;
    shape->ndim = first->ndim;
    memcpy(shape->size, first->size, first->ndim * sizeof(shape->size[0]));
    for (int i = position + 1; i < tensors.n; i++) {
        const mt_tensor *t = tensors.data[i];

        if (is_skipped(t))
            continue;
        if (t->ndim != first->ndim)
            return mt_error_set(MT_ERR_RUNTIME, "Tensors must have same number of dimensions: got %d and %d",
                                first->ndim, t->ndim);
        for (int d = 0; d < t->ndim; d++)
            if (d != *dim && t->size[d] != first->size[d])
                return mt_error_set(
                    MT_ERR_RUNTIME,
                    "Sizes of tensors must match except in dimension %lld. Expected size %lld but got size "
                    "%lld for tensor number %d in the list.",
                    (long long)*dim, (long long)first->size[d], (long long)t->size[d], i);
        if (mt_add_overflow(shape->size[*dim], t->size[*dim], &shape->size[*dim]))
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    }
    return 0;
}

/* Checks of a given out that must come before it is resized. */
static int check_out(const mt_call *call, mt_tensors tensors, mt_dtype dtype)
{
    const mt_tensor *out = call->out[0];

    if (!out)
        return 0;
    if (!mt_dtype_can_cast(dtype, (mt_dtype)out->dtype))
        return mt_error_set(MT_ERR_TYPE, "torch.cat(): input types can't be cast to the desired output type %s",
                            mt_dtype_table[out->dtype].legacy);
    for (int i = 0; i < tensors.n; i++) {
        mt_overlap overlap = mt_overlap_between(out, tensors.data[i]);

        if (overlap == MT_OVERLAP_FULL || overlap == MT_OVERLAP_YES)
            return mt_error_set(MT_ERR_RUNTIME,
                                "unsupported operation: some elements of the input tensor and the written-to tensor "
                                "refer to a single memory location. Please clone() the tensor before performing the "
                                "operation.");
    }
    return 0;
}

/* The kernel converts on the way, so that a given out keeps its dtype. */
static mt_dtype kernel_dtype(const mt_call *call, mt_dtype dtype)
{
    return call->out[0] ? (mt_dtype)call->out[0]->dtype : dtype;
}

/* Nothing to check, nothing to promote: nearly always. */
static bool alike(mt_tensors tensors)
{
    const mt_tensor *first = tensors.data[0];
    bool same = first->ndim > 0;

    for (int i = 1; i < tensors.n; i++) {
        const mt_tensor *t = tensors.data[i];

        same &= t->ndim == first->ndim && t->dtype == first->dtype && mt_device_equal(t->device, first->device);
    }
    return same;
}

static int check_kinds(mt_dtype *dtype, mt_tensors tensors)
{
    for (int i = 0; i < tensors.n; i++)
        if (tensors.data[i]->ndim == 0)
            return mt_error_set(MT_ERR_RUNTIME, "zero-dimensional tensor (at position %d) cannot be concatenated", i);
    return common_dtype(dtype, tensors) < 0 ? -1 : one_device(tensors);
}

int mt_meta_cat(mt_call *call)
{
    mt_tensors tensors = mt_arg_tensors(&call->arg[0]);
    int64_t dim = mt_arg_int(&call->arg[1]), stride[MT_MAX_DIM];
    mt_shape shape;
    mt_dtype dtype;
    int format;

    if (tensors.n <= 0)
        return mt_error_set(MT_ERR_VALUE, "torch.cat(): expected a non-empty list of Tensors");
    dtype = (mt_dtype)tensors.data[0]->dtype;
    if (!alike(tensors) && check_kinds(&dtype, tensors) < 0)
        return -1;
    if (check_out(call, tensors, dtype) < 0 || join_shape(&shape, tensors, &dim) < 0)
        return -1;
    format = shape.ndim < 4 ? MT_FORMAT_CONTIGUOUS : common_format(tensors);
    if (format != MT_FORMAT_CONTIGUOUS && mt_shape_channels_last_strides(stride, shape.ndim, shape.size) < 0)
        return -1;
    return mt_out_prepare(call, 0, kernel_dtype(call, dtype), shape.ndim, shape.size,
                          format == MT_FORMAT_CONTIGUOUS ? NULL : stride, tensors.data[0]->device, true);
}

int mt_impl_cat_backward(mt_tensor_list *out, mt_tensor *grad, mt_ints shapes, int64_t dim)
{
    int count = 0, at = 0;
    int64_t start = 0;

    *out = (mt_tensor_list){NULL, 0};
    for (int i = 0; i < shapes.n; i += 1 + (int)shapes.data[i])
        count++;
    MT_TRY(mt_tensor_list_new(out, count));
    MT_TRY(mt_dim_wrap(&dim, grad->ndim));
    for (int k = 0; k < count; k++) {
        int n = (int)shapes.data[at];
        const int64_t *size = shapes.data + at + 1;

        at += 1 + n;
        if (n == 1 && size[0] == 0) {
            MT_TRY(mt_new_zeros(&out->data[k], grad, (mt_ints){size, 1}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL));
            continue;
        }
        MT_TRY(mt_narrow(&out->data[k], grad, dim, start, size[dim]));
        start += size[dim];
    }
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

/* --- stack --- */

static MT_COLD int unequal_sizes(const mt_tensor *a, const mt_tensor *b, int position)
{
    mt_shape_text x, y;

    return mt_error_set(MT_ERR_RUNTIME,
                        "stack expects each tensor to be equal size, but got %s at entry 0 and %s at "
                        "entry %d",
                        mt_shape_format(&x, a->size, a->ndim), mt_shape_format(&y, b->size, b->ndim), position);
}

/* Strides of a stack whose inputs are channels last: those of the cat along the same dim, with the dim split. */
static int stack_strides(int64_t *stride, const mt_tensor *first, int64_t dim, int64_t count)
{
    int64_t size[MT_MAX_DIM], joined[MT_MAX_DIM];
    int n = first->ndim;

    memcpy(size, first->size, (size_t)n * sizeof(size[0]));
    size[dim] *= count;
    if (mt_shape_channels_last_strides(joined, n, size) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        stride[i + (i >= dim)] = joined[i];
    stride[dim] = joined[dim] * first->size[dim];
    return 0;
}

int mt_meta_stack(mt_call *call)
{
    mt_tensors tensors = mt_arg_tensors(&call->arg[0]);
    int64_t dim = mt_arg_int(&call->arg[1]), size[MT_MAX_DIM + 1], stride[MT_MAX_DIM + 1];
    const mt_tensor *first;
    mt_dtype dtype;
    bool ordered = false;

    if (tensors.n <= 0)
        return no_tensors("stack");
    first = tensors.data[0];
    if (mt_dim_wrap(&dim, first->ndim + 1) < 0)
        return -1;
    for (int i = 1; i < tensors.n; i++)
        if (!mt_shape_equal(first->ndim, first->size, tensors.data[i]->ndim, tensors.data[i]->size))
            return unequal_sizes(first, tensors.data[i], i);
    if (common_dtype(&dtype, tensors) < 0 || one_device(tensors) < 0 || check_out(call, tensors, dtype) < 0)
        return -1;
    for (int i = 0; i < first->ndim; i++)
        size[i + (i >= dim)] = first->size[i];
    size[dim] = tensors.n;
    if (first->ndim >= 4 && dim < first->ndim && common_format(tensors) != MT_FORMAT_CONTIGUOUS) {
        if (stack_strides(stride, first, dim, tensors.n) < 0)
            return -1;
        ordered = true;
    }
    return mt_out_prepare(call, 0, kernel_dtype(call, dtype), first->ndim + 1, size, ordered ? stride : NULL,
                          first->device, true);
}

/* --- stacks by name --- */

/* At least `ndim` dims (1 to 3), as atleast_nd does it. */
static int at_least(mt_tensor **out, mt_tensor *t, int ndim)
{
    return ndim == 1 ? mt_atleast_1d(out, t) : ndim == 2 ? mt_atleast_2d(out, t) : mt_atleast_3d(out, t);
}

/* dim < 0: 0 for vectors, else 1 */
static int join_named(mt_tensor **out, mt_tensors tensors, const char *op, int ndim, int64_t dim)
{
    mt_tensor_list list = {NULL, 0};
    int rc = -1;

    *out = NULL;
    if (tensors.n <= 0)
        return no_tensors(op);
    MT_TRY(mt_tensor_list_new(&list, tensors.n));
    for (int i = 0; i < tensors.n; i++)
        MT_TRY(at_least(&list.data[i], tensors.data[i], ndim));
    if (dim < 0)
        dim = list.data[0]->ndim == 1 ? 0 : 1;
    MT_TRY(mt_cat(out, (mt_tensors){list.data, list.n}, dim));
    rc = 0;
fail:
    mt_tensor_list_clear(&list);
    return rc;
}

int mt_impl_hstack(mt_tensor **out, mt_tensors tensors)
{
    return join_named(out, tensors, "hstack", 1, -1);
}

int mt_impl_vstack(mt_tensor **out, mt_tensors tensors)
{
    return join_named(out, tensors, "vstack", 2, 0);
}

int mt_impl_dstack(mt_tensor **out, mt_tensors tensors)
{
    return join_named(out, tensors, "dstack", 3, 2);
}

int mt_impl_column_stack(mt_tensor **out, mt_tensors tensors)
{
    mt_tensor_list list = {NULL, 0};
    int rc = -1;

    *out = NULL;
    if (tensors.n <= 0)
        return no_tensors("column_stack");
    MT_TRY(mt_tensor_list_new(&list, tensors.n));
    for (int i = 0; i < tensors.n; i++) {
        mt_tensor *t = tensors.data[i];

        if (t->ndim <= 1)
            MT_TRY(mt_reshape(&list.data[i], t, (mt_ints){(const int64_t[]){t->numel, 1}, 2}));
        else
            list.data[i] = mt_tensor_ref(t);
    }
    MT_TRY(mt_impl_hstack(out, (mt_tensors){list.data, list.n}));
    rc = 0;
fail:
    mt_tensor_list_clear(&list);
    return rc;
}

/* Every block becomes a band of rows with zeros on both sides. */
int mt_impl_block_diag(mt_tensor **out, mt_tensors tensors)
{
    mt_tensor_list bands = {NULL, 0};
    mt_tensor *block = NULL;
    int64_t width = 0, left = 0;
    int rc = -1;

    *out = NULL;
    for (int i = 0; i < tensors.n; i++) {
        const mt_tensor *t = tensors.data[i];

        MT_REQUIRE(t->ndim <= 2, MT_ERR_RUNTIME,
                   "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input %d has %d dimensions", i,
                   t->ndim);
        width += t->ndim == 0 ? 1 : t->size[t->ndim - 1];
    }
    if (tensors.n <= 0)
        return mt_zeros(out, (mt_ints){(const int64_t[]){1, 0}, 2}, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL);
    MT_TRY(mt_tensor_list_new(&bands, tensors.n));
    for (int i = 0; i < tensors.n; i++) {
        MT_TRY(mt_atleast_2d(&block, tensors.data[i]));
        MT_TRY(mt_constant_pad_nd(&bands.data[i], block,
                                  (mt_ints){(const int64_t[]){left, width - left - block->size[1]}, 2},
                                  mt_scalar_from_int(0)));
        left += block->size[1];
        mt_tensor_clear(&block);
    }
    MT_TRY(mt_cat(out, (mt_tensors){bands.data, bands.n}, 0));
    rc = 0;
fail:
    mt_tensor_clear(&block);
    mt_tensor_list_clear(&bands);
    return rc;
}

int mt_impl_block_diag_backward(mt_tensor_list *out, mt_tensor *grad, mt_ints shapes)
{
    mt_tensor *rows = NULL, *block = NULL;
    int64_t top = 0, left = 0;
    int count = 0, at = 0;

    *out = (mt_tensor_list){NULL, 0};
    for (int i = 0; i < shapes.n; i += 1 + (int)shapes.data[i])
        count++;
    MT_TRY(mt_tensor_list_new(out, count));
    for (int k = 0; k < count; k++) {
        int n = (int)shapes.data[at];
        const int64_t *size = shapes.data + at + 1;
        int64_t height = n == 2 ? size[0] : 1, width = n == 0 ? 1 : size[n - 1];

        MT_TRY(mt_narrow(&rows, grad, 0, top, height));
        MT_TRY(mt_narrow(&block, rows, 1, left, width));
        MT_TRY(mt_reshape(&out->data[k], block, (mt_ints){size, n}));
        mt_tensor_clear(&rows);
        mt_tensor_clear(&block);
        top += height;
        left += width;
        at += 1 + n;
    }
    return 0;
fail:
    mt_tensor_clear(&rows);
    mt_tensor_clear(&block);
    mt_tensor_list_clear(out);
    return -1;
}

/* --- roll and flip --- */

int mt_meta_roll(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    mt_ints shifts = mt_arg_ints(&call->arg[1]), dims = mt_arg_ints(&call->arg[2]);
    int format = dims.n > 0 ? mt_suggest_format(self) : MT_FORMAT_CONTIGUOUS;
    int64_t stride[MT_MAX_DIM];

    if (shifts.n <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "`shifts` required");
    if ((dims.n <= 0 && shifts.n != 1) || (dims.n > 0 && dims.n != shifts.n))
        return mt_error_set(MT_ERR_RUNTIME, "shifts and dimensions must align. shifts: %d, dims:%d", shifts.n,
                            dims.n > 0 ? dims.n : 0);
    for (int i = 0; i < dims.n; i++) {
        int64_t d = dims.data[i];

        if (self->ndim == 0)
            return mt_error_set(MT_ERR_INDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)d);
        if (mt_dim_wrap(&d, self->ndim) < 0)
            return -1;
    }
    if (format != MT_FORMAT_CONTIGUOUS && mt_shape_channels_last_strides(stride, self->ndim, self->size) < 0)
        return -1;
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size,
                          format == MT_FORMAT_CONTIGUOUS ? NULL : stride, self->device, false);
}

int mt_impl_roll_backward(mt_tensor **out, mt_tensor *grad, mt_ints shifts, mt_ints dims)
{
    int64_t back[MT_MAX_DIM];

    *out = NULL;
    if (shifts.n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "roll: more than %d shifts", MT_MAX_DIM);
    for (int i = 0; i < shifts.n; i++)
        back[i] = (int64_t)(0 - (uint64_t)shifts.data[i]);
    return mt_roll(out, grad, (mt_ints){back, shifts.n}, dims);
}

int mt_meta_flip(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    mt_ints dims = mt_arg_ints(&call->arg[1]);
    int64_t stride[MT_MAX_DIM];
    uint64_t mask;

    if (mt_dims_mask(&mask, dims.data, dims.n, self->ndim, false) < 0)
        return -1;
    mt_shape_strides_like(stride, self);
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size,
                          mt_tensor_has_plain_strides(self) ? NULL : stride, self->device, false);
}

int mt_impl_rot90(mt_tensor **out, mt_tensor *self, int64_t k, mt_ints dims)
{
    int64_t a, b;

    *out = NULL;
    if (dims.n != 2)
        return mt_error_set(MT_ERR_RUNTIME, "expected total rotation dims == 2, but got dims = %d", dims.n);
    if (self->ndim < 2)
        return mt_error_set(MT_ERR_RUNTIME, "expected total dims >= 2, but got total dims = %d", self->ndim);
    a = dims.data[0];
    b = dims.data[1];
    if (mt_dim_wrap(&a, self->ndim) < 0 || mt_dim_wrap(&b, self->ndim) < 0)
        return -1;
    if (a == b)
        return mt_error_set(MT_ERR_RUNTIME,
                            "expected rotation dims to be different, but got dim0 = %lld and dim1 = %lld",
                            (long long)dims.data[0], (long long)dims.data[1]);
    k = (k % 4 + 4) % 4;
    if (k == 0)
        return mt_clone(out, self, MT_FORMAT_CONTIGUOUS);
    if (k == 2)
        return mt_flip(out, self, dims);
    if (mt_flip(out, self, (mt_ints){k == 1 ? &b : &a, 1}) < 0)
        return -1;
    if (mt_transpose_inplace(*out, a, b) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

/* --- diag_embed --- */

int mt_impl_diag_embed(mt_tensor **out, mt_tensor *self, int64_t offset, int64_t dim1, int64_t dim2)
{
    int64_t size[MT_MAX_DIM + 1], a = dim1, b = dim2, length;
    mt_tensor *diagonal = NULL;
    int rc = -1, from = 0;

    *out = NULL;
    MT_TRY(mt_dim_wrap(&a, self->ndim + 1));
    MT_TRY(mt_dim_wrap(&b, self->ndim + 1));
    MT_REQUIRE(a != b, MT_ERR_RUNTIME, "diagonal dimensions cannot be identical %lld, %lld", (long long)dim1,
               (long long)dim2);
    MT_REQUIRE(offset > INT64_MIN &&
                   !mt_add_overflow(offset < 0 ? -offset : offset, self->size[self->ndim - 1], &length),
               MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    for (int i = 0; i <= self->ndim; i++)
        size[i] = i == a || i == b ? length : self->size[from++];
    MT_TRY(mt_tensor_new_zeroed(out, (mt_dtype)self->dtype, self->ndim + 1, size, self->device));
    MT_TRY(mt_view_diagonal(&diagonal, *out, offset, dim1, dim2));
    MT_TRY(mt_impl_copy_inplace(diagonal, self, false));
    rc = 0;
fail:
    mt_tensor_clear(&diagonal);
    if (rc < 0)
        mt_tensor_clear(out);
    return rc;
}
