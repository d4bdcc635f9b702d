/* SPDX-License-Identifier: BSD-3-Clause */
/* Relatives of views that own their memory: lists of copies, and results in which what a view would show comes from another
   tensor (the scatter forms of select, slice, diagonal and as_strided). */
#include "base/strbuf.h"
#include "core/shape.h"
#include "ops.h"

/* --- lists of copies --- */

/* Every element of *list is replaced by a contiguous copy; the list is cleared on failure. */
static int copy_all(mt_tensor_list *list)
{
    mt_tensor *copy = NULL;

    for (int i = 0; i < list->n; i++) {
        MT_TRY(mt_clone(&copy, list->data[i], MT_FORMAT_CONTIGUOUS));
        mt_tensor_unref(list->data[i]);
        list->data[i] = mt_tensor_move(&copy);
    }
    return 0;
fail:
    mt_tensor_list_clear(list);
    return -1;
}

int mt_impl_split_copy(mt_tensor_list *out, mt_tensor *self, int64_t split_size, int64_t dim)
{
    return mt_split_Tensor(out, self, split_size, dim) < 0 ? -1 : copy_all(out);
}

int mt_impl_split_with_sizes_copy(mt_tensor_list *out, mt_tensor *self, mt_ints split_sizes, int64_t dim)
{
    return mt_split_with_sizes(out, self, split_sizes, dim) < 0 ? -1 : copy_all(out);
}

int mt_impl_unbind_copy(mt_tensor_list *out, mt_tensor *self, int64_t dim)
{
    return mt_unbind(out, self, dim) < 0 ? -1 : copy_all(out);
}

/* --- scatter forms --- */

/* A copy with the strides of self where its elements do not overlap, gaps included. */
static int clone_strides(mt_tensor **out, mt_tensor *self)
{
    if (mt_overlap_internal(self) == MT_OVERLAP_YES || (self->flags & MT_FLAG_CONTIGUOUS))
        return mt_impl_clone(out, self, MT_FORMAT_PRESERVE);
    if (mt_tensor_new_strided(out, (mt_dtype)self->dtype, self->ndim, self->size, self->stride, self->device) < 0)
        return -1;
    if (mt_impl_copy_inplace(*out, self, false) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

/* *part, a view of *whole, takes the elements of src; *whole becomes the result. */
static int embed(mt_tensor **out, mt_tensor **whole, mt_tensor **part, mt_tensor *src)
{
    mt_shape_text a, b;

    if (!mt_shape_equal(src->ndim, src->size, (*part)->ndim, (*part)->size))
        return mt_error_set(
            MT_ERR_RUNTIME, "expected src to have a size equal to the slice of self. src size = %s, slice size = %s",
            mt_shape_format(&a, src->size, src->ndim), mt_shape_format(&b, (*part)->size, (*part)->ndim));
    if (mt_impl_copy_inplace(*part, src, false) < 0)
        return -1;
    mt_tensor_clear(part);
    *out = mt_tensor_move(whole);
    return 0;
}

int mt_impl_select_scatter(mt_tensor **out, mt_tensor *self, mt_tensor *src, int64_t dim, int64_t index)
{
    mt_tensor *whole = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(clone_strides(&whole, self));
    MT_TRY(mt_view_select(&part, whole, dim, index));
    rc = embed(out, &whole, &part, src);
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_slice_scatter(mt_tensor **out, mt_tensor *self, mt_tensor *src, int64_t dim, const int64_t *start,
                          const int64_t *end, int64_t step)
{
    mt_tensor *whole = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(clone_strides(&whole, self));
    MT_TRY(mt_view_slice(&part, whole, dim, start, end, step));
    rc = embed(out, &whole, &part, src);
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_diagonal_scatter(mt_tensor **out, mt_tensor *self, mt_tensor *src, int64_t offset, int64_t dim1,
                             int64_t dim2)
{
    mt_tensor *whole = NULL, *part = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(clone_strides(&whole, self));
    MT_TRY(mt_view_diagonal(&part, whole, offset, dim1, dim2));
    rc = embed(out, &whole, &part, src);
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    return rc;
}

int mt_impl_as_strided_scatter(mt_tensor **out, mt_tensor *self, mt_tensor *src, mt_ints size, mt_ints stride,
                               const int64_t *storage_offset)
{
    mt_tensor *whole = NULL, *part = NULL;
    int64_t offset = storage_offset ? *storage_offset - self->offset : 0;
    int rc = -1;

    *out = NULL;
    MT_TRY(clone_strides(&whole, self));
    MT_TRY(mt_view_as_strided(&part, whole, size, stride, &offset));
    rc = embed(out, &whole, &part, src);
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    return rc;
}

/* --- what a tensor is like --- */

int mt_impl_debug_has_internal_overlap(int64_t *out, mt_tensor *self)
{
    static const int64_t answers[] = {
        [MT_OVERLAP_NO] = 0, [MT_OVERLAP_YES] = 1, [MT_OVERLAP_TOO_HARD] = 2, [MT_OVERLAP_FULL] = 1};

    *out = answers[mt_overlap_internal(self)];
    return 0;
}

int mt_impl_shape_as_tensor(mt_tensor **out, mt_tensor *self)
{
    int64_t n = self->ndim;

    *out = NULL;
    if (mt_tensor_new(out, MT_DTYPE_i64, 1, &n, MT_CPU) < 0)
        return -1;
    for (int i = 0; i < self->ndim; i++)
        ((int64_t *)(void *)mt_tensor_mutable_data(*out))[i] = self->size[i];
    return 0;
}

/* --- at least so many dims --- */

static int each_at_least(mt_tensor_list *out, mt_tensors tensors, int (*one)(mt_tensor **, mt_tensor *))
{
    MT_TRY(mt_tensor_list_new(out, tensors.n));
    for (int i = 0; i < tensors.n; i++)
        MT_TRY(one(&out->data[i], tensors.data[i]));
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

int mt_impl_atleast_1d_list(mt_tensor_list *out, mt_tensors tensors)
{
    return each_at_least(out, tensors, mt_atleast_1d);
}

int mt_impl_atleast_2d_list(mt_tensor_list *out, mt_tensors tensors)
{
    return each_at_least(out, tensors, mt_atleast_2d);
}

int mt_impl_atleast_3d_list(mt_tensor_list *out, mt_tensors tensors)
{
    return each_at_least(out, tensors, mt_atleast_3d);
}
