/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of views: pieces of one dim. split, split_with_sizes and unbind make the views themselves; chunk, tensor_split
   and the h, v and d forms reduce to them or to slices, as the graph shows. The unsafe forms give tensors that share
   memory but neither version nor base. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/op.h"
#include "core/shape.h"
#include "ops.h"

/* A piece: length n from `start` along dim. */
static int new_piece(mt_tensor **out, mt_tensor *self, int64_t dim, int64_t start, int64_t n, bool is_view)
{
    int64_t size[MT_MAX_DIM], offset = self->offset + start * self->stride[dim];

    for (int i = 0; i < self->ndim; i++)
        size[i] = self->size[i];
    size[dim] = n;
    if (is_view)
        return mt_tensor_new_view(out, self, self->ndim, size, self->stride, offset);
    if (mt_tensor_new_alias(out, self, false) < 0)
        return -1;
    return mt_tensor_set_geometry(*out, self->ndim, size, self->stride, offset);
}

/* --- equal pieces --- */

static int split(mt_tensor_list *out, mt_tensor *self, int64_t split_size, int64_t dim, bool is_view)
{
    int64_t n, count;

    *out = (mt_tensor_list){NULL, 0};
    MT_REQUIRE(self->ndim > 0, MT_ERR_RUNTIME, "split expects at least a 1-dimensional tensor");
    MT_REQUIRE(split_size >= 0, MT_ERR_RUNTIME, "split expects split_size be non-negative, but got split_size=%lld",
               (long long)split_size);
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    n = self->size[dim];
    MT_REQUIRE(split_size > 0 || n == 0, MT_ERR_RUNTIME,
               "split_size can only be 0 if dimension size is 0, but got dimension size of %lld", (long long)n);
    count = n == 0 ? 1 : (n - 1) / split_size + 1;
    MT_REQUIRE(count <= INT32_MAX, MT_ERR_RUNTIME, "split into %lld tensors", (long long)count);
    MT_TRY(mt_tensor_list_new(out, (int)count));
    for (int64_t i = 0; i < count; i++) {
        int64_t start = i * split_size, left = n - start;

        MT_TRY(new_piece(&out->data[i], self, dim, start, left < split_size ? left : split_size, is_view));
    }
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

int mt_view_split(mt_tensor_list *out, mt_tensor *self, int64_t split_size, int64_t dim)
{
    return split(out, self, split_size, dim, true);
}

int mt_impl_unsafe_split(mt_tensor_list *out, mt_tensor *self, int64_t split_size, int64_t dim)
{
    return split(out, self, split_size, dim, false);
}

/* --- pieces of given sizes --- */

static int split_with_sizes(mt_tensor_list *out, mt_tensor *self, mt_ints sizes, int64_t dim, bool is_view)
{
    int64_t total = 0, start = 0;
    mt_shape_text text;

    *out = (mt_tensor_list){NULL, 0};
    MT_REQUIRE(self->ndim > 0, MT_ERR_RUNTIME, "split expects at least a 1-dimensional tensor");
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    for (int i = 0; i < sizes.n; i++) {
        MT_REQUIRE(sizes.data[i] >= 0, MT_ERR_RUNTIME,
                   "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                   mt_shape_format(&text, sizes.data, sizes.n));
        total = total > self->size[dim] || sizes.data[i] > self->size[dim] ? INT64_MAX : total + sizes.data[i];
    }
    MT_REQUIRE(
        total == self->size[dim], MT_ERR_RUNTIME,
        "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), but "
        "got split_sizes=%s",
        (long long)self->size[dim], (long long)dim, mt_shape_format(&text, sizes.data, sizes.n));
    MT_TRY(mt_tensor_list_new(out, sizes.n));
    for (int i = 0; i < sizes.n; i++) {
        MT_TRY(new_piece(&out->data[i], self, dim, start, sizes.data[i], is_view));
        start += sizes.data[i];
    }
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

int mt_view_split_with_sizes(mt_tensor_list *out, mt_tensor *self, mt_ints split_sizes, int64_t dim)
{
    return split_with_sizes(out, self, split_sizes, dim, true);
}

int mt_impl_unsafe_split_with_sizes(mt_tensor_list *out, mt_tensor *self, mt_ints split_sizes, int64_t dim)
{
    return split_with_sizes(out, self, split_sizes, dim, false);
}

/* --- chunk --- */

/* Size of a chunk; *empty: the dim has no elements, so there are as many empty chunks as asked for. */
static int chunk_size(int64_t *out, bool *empty, const mt_tensor *self, int64_t chunks, int64_t dim)
{
    if (self->ndim == 0)
        return mt_error_set(MT_ERR_RUNTIME, "chunk expects at least a 1-dimensional tensor");
    if (chunks <= 0)
        return mt_error_set(MT_ERR_RUNTIME, "chunk expects `chunks` to be greater than 0, got: %lld",
                            (long long)chunks);
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    *empty = self->size[dim] == 0;
    *out = *empty ? 0 : (self->size[dim] - 1) / chunks + 1;
    return 0;
}

static int empty_chunks(mt_tensor_list *out, mt_tensor *self, int64_t chunks, int64_t dim, bool is_view)
{
    void *zeros = NULL;
    int rc = -1;

    MT_REQUIRE(chunks <= INT32_MAX, MT_ERR_RUNTIME, "split into %lld tensors", (long long)chunks);
    MT_TRY(mt_calloc(&zeros, (size_t)chunks, sizeof(int64_t)));
    if (is_view)
        rc = mt_split_with_sizes(out, self, (mt_ints){zeros, (int)chunks}, dim);
    else
        rc = mt_unsafe_split_with_sizes(out, self, (mt_ints){zeros, (int)chunks}, dim);
fail:
    mt_free(zeros);
    return rc;
}

int mt_impl_chunk(mt_tensor_list *out, mt_tensor *self, int64_t chunks, int64_t dim)
{
    int64_t size;
    bool empty;

    *out = (mt_tensor_list){NULL, 0};
    if (chunk_size(&size, &empty, self, chunks, dim) < 0)
        return -1;
    return empty ? empty_chunks(out, self, chunks, dim, true) : mt_split_Tensor(out, self, size, dim);
}

int mt_impl_unsafe_chunk(mt_tensor_list *out, mt_tensor *self, int64_t chunks, int64_t dim)
{
    int64_t size;
    bool empty;

    *out = (mt_tensor_list){NULL, 0};
    if (chunk_size(&size, &empty, self, chunks, dim) < 0)
        return -1;
    return empty ? empty_chunks(out, self, chunks, dim, false) : mt_unsafe_split(out, self, size, dim);
}

/* --- unbind --- */

int mt_view_unbind(mt_tensor_list *out, mt_tensor *self, int64_t dim)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = 0;

    *out = (mt_tensor_list){NULL, 0};
    MT_REQUIRE(self->ndim > 0, MT_ERR_INDEX, "Dimension specified as %lld but tensor has no dimensions",
               (long long)dim);
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_REQUIRE(self->size[dim] <= INT32_MAX, MT_ERR_RUNTIME, "unbind into %lld tensors", (long long)self->size[dim]);
    for (int i = 0; i < self->ndim; i++) {
        if (i == dim)
            continue;
        size[n] = self->size[i];
        stride[n++] = self->stride[i];
    }
    MT_TRY(mt_tensor_list_new(out, (int)self->size[dim]));
    for (int i = 0; i < out->n; i++)
        MT_TRY(mt_tensor_new_view(&out->data[i], self, n, size, stride, self->offset + i * self->stride[dim]));
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

/* --- tensor_split --- */

static int check_tensor_split(const mt_tensor *self, int64_t *dim)
{
    if (self->ndim == 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
    return mt_dim_wrap(dim, self->ndim);
}

int mt_impl_tensor_split(mt_tensor_list *out, mt_tensor *self, int64_t sections, int64_t dim)
{
    int64_t n, start = 0;

    *out = (mt_tensor_list){NULL, 0};
    MT_TRY(check_tensor_split(self, &dim));
    MT_REQUIRE(sections > 0, MT_ERR_RUNTIME, "number of sections must be larger than 0, got %lld", (long long)sections);
    MT_REQUIRE(sections <= INT32_MAX, MT_ERR_RUNTIME, "split into %lld tensors", (long long)sections);
    n = self->size[dim];
    MT_TRY(mt_tensor_list_new(out, (int)sections));
    for (int64_t i = 0; i < sections; i++) {
        int64_t end = start + n / sections + (i < n % sections);

        MT_TRY(mt_slice(&out->data[i], self, dim, &start, &end, 1));
        start = end;
    }
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

int mt_impl_tensor_split_indices(mt_tensor_list *out, mt_tensor *self, mt_ints indices, int64_t dim)
{
    int64_t start = 0;

    *out = (mt_tensor_list){NULL, 0};
    MT_TRY(check_tensor_split(self, &dim));
    MT_TRY(mt_tensor_list_new(out, indices.n + 1));
    for (int i = 0; i < indices.n; i++) {
        MT_TRY(mt_slice(&out->data[i], self, dim, &start, &indices.data[i], 1));
        start = indices.data[i];
    }
    MT_TRY(mt_slice(&out->data[indices.n], self, dim, &start, &self->size[dim], 1));
    return 0;
fail:
    mt_tensor_list_clear(out);
    return -1;
}

static int split_at_tensor(mt_tensor_list *out, mt_tensor *self, mt_tensor *indices, int64_t dim)
{
    const int64_t *data = (const int64_t *)(const void *)mt_tensor_const_data(indices);
    void *values = NULL;
    int rc = -1;

    MT_TRY(mt_malloc(&values, (size_t)indices->numel * sizeof(int64_t) + 1));
    for (int64_t i = 0; i < indices->numel; i++)
        ((int64_t *)values)[i] = data[i * indices->stride[0]];
    rc = mt_impl_tensor_split_indices(out, self, (mt_ints){values, (int)indices->numel}, dim);
fail:
    mt_free(values);
    return rc;
}

int mt_impl_tensor_split_tensor(mt_tensor_list *out, mt_tensor *self, mt_tensor *tensor_indices_or_sections,
                                int64_t dim)
{
    mt_tensor *t = tensor_indices_or_sections;
    mt_scalar sections;
    char device[24];

    *out = (mt_tensor_list){NULL, 0};
    if (self->ndim == 0)
        return check_tensor_split(self, &dim);
    if (t->device.type != MT_DEVICE_CPU)
        return mt_error_set(MT_ERR_RUNTIME,
                            "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on %s",
                            mt_device_format(device, t->device));
    if (t->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME,
                            "tensor_split expected tensor_indices_or_sections to have dtype of long, but got %s",
                            mt_dtype_table[t->dtype].legacy);
    if (t->ndim > 1)
        return mt_error_set(MT_ERR_RUNTIME,
                            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                            "one-dimensional tensor, but got a tensor with %d dims",
                            t->ndim);
    if (t->ndim == 1)
        return split_at_tensor(out, self, t, dim);
    if (mt_tensor_item(&sections, t) < 0)
        return -1;
    return mt_impl_tensor_split(out, self, mt_scalar_to_int(sections), dim);
}

/* --- hsplit, vsplit, dsplit --- */

/* The dim that the h (0), v (1) and d (2) forms split; 1-D tensors are split along dim 0 by hsplit. */
static int split_dim(int64_t *out, const mt_tensor *self, int form)
{
    static const char names[3] = {'h', 'v', 'd'};
    int least = form + 1;

    if (self->ndim < least)
        return mt_error_set(MT_ERR_RUNTIME,
                            "torch.%csplit requires a tensor with at least %d dimension, but got a tensor with %d "
                            "dimensions!",
                            names[form], least, self->ndim);
    *out = form == 0 ? (self->ndim > 1) : form == 1 ? 0 : 2;
    return 0;
}

static int split_evenly(mt_tensor_list *out, mt_tensor *self, int64_t sections, int form)
{
    static const char names[3] = {'h', 'v', 'd'};
    int64_t dim = 0;

    *out = (mt_tensor_list){NULL, 0};
    if (split_dim(&dim, self, form) < 0)
        return -1;
    if (sections == 0 || self->size[dim] % sections != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "torch.%csplit attempted to split along dimension %lld, but the size of the dimension %lld "
                            "is not divisible by the split_size %lld!",
                            names[form], (long long)dim, (long long)self->size[dim], (long long)sections);
    return mt_impl_tensor_split(out, self, sections, dim);
}

static int split_at(mt_tensor_list *out, mt_tensor *self, mt_ints indices, int form)
{
    int64_t dim = 0;

    *out = (mt_tensor_list){NULL, 0};
    return split_dim(&dim, self, form) < 0 ? -1 : mt_impl_tensor_split_indices(out, self, indices, dim);
}

int mt_impl_hsplit(mt_tensor_list *out, mt_tensor *self, int64_t sections)
{
    return split_evenly(out, self, sections, 0);
}

int mt_impl_vsplit(mt_tensor_list *out, mt_tensor *self, int64_t sections)
{
    return split_evenly(out, self, sections, 1);
}

int mt_impl_dsplit(mt_tensor_list *out, mt_tensor *self, int64_t sections)
{
    return split_evenly(out, self, sections, 2);
}

int mt_impl_hsplit_array(mt_tensor_list *out, mt_tensor *self, mt_ints indices)
{
    return split_at(out, self, indices, 0);
}

int mt_impl_vsplit_array(mt_tensor_list *out, mt_tensor *self, mt_ints indices)
{
    return split_at(out, self, indices, 1);
}

int mt_impl_dsplit_array(mt_tensor_list *out, mt_tensor *self, mt_ints indices)
{
    return split_at(out, self, indices, 2);
}
