/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta rules of the ops that address a dim or the flattened tensor through an index: what is checked before a kernel runs,
   with PyTorch's classes and words. Bounds of the indices are the kernels' affair. */
#include <string.h>

#include "base/strbuf.h"
#include "core/frame.h"
#include "ops.h"
#include "ops/create.h"
#include "ops/meta.h"

static const char *legacy(const mt_tensor *t)
{
    return mt_dtype_table[t->dtype].legacy;
}

static bool is_index_dtype(const mt_tensor *index)
{
    return index->dtype == MT_DTYPE_i64 || index->dtype == MT_DTYPE_i32;
}

static int64_t size_or_one(const mt_tensor *t, int64_t dim)
{
    return t->ndim ? t->size[dim] : 1;
}

/* A given out shares no memory with what the kernel reads while it writes. */
static int apart_from(const mt_call *call, const mt_tensor *t)
{
    const mt_tensor *out = call->out[0];

    if (!out || !t || mt_overlap_between(out, t) == MT_OVERLAP_NO || mt_overlap_between(out, t) == MT_OVERLAP_TOO_HARD)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                        "single memory location. Please clone() the tensor before performing the operation.");
}

static int same_device(const mt_call *call)
{
    mt_device device;

    return mt_meta_common_device(&device, call);
}

/* Output 0 as self, contiguous. */
static int like_self(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);

    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, true);
}

/* --- index_select --- */

int mt_meta_index_select(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]);
    int64_t size[MT_MAX_DIM], dim = mt_arg_int(&call->arg[1]);

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (index->ndim > 1)
        return mt_error_set(MT_ERR_INDEX, "index_select(): Index is supposed to be a vector");
    if (self->ndim == 0 && index->numel != 1)
        return mt_error_set(MT_ERR_RUNTIME, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                            (long long)index->numel);
    if (!is_index_dtype(index))
        return mt_error_set(MT_ERR_RUNTIME, "index_select(): Expected dtype int32 or int64 for index");
    if (call->out[0] && call->out[0]->dtype != self->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "index_select(): self and result must have the same scalar type");
    if (self->ndim > 1 && self->size[dim] == 0 && index->numel > 0)
        return mt_error_set(MT_ERR_RUNTIME, "index_select(): self indexing axis dim should be positive");
    memcpy(size, self->size, self->ndim * sizeof(size[0]));
    if (self->ndim > 0)
        size[dim] = index->numel;
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, size, NULL, self->device, false);
}

/* --- index_add, index_copy, index_fill --- */

/* Shapes without dim, where both have one. */
static bool same_slices(const mt_tensor *a, const mt_tensor *b, int64_t dim)
{
    bool has_dim = a->ndim != 0 && b->ndim != 0;

    if (a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->size[i] != b->size[i] && !(has_dim && i == dim))
            return false;
    return true;
}

static MT_COLD int wrong_source_shape(const mt_tensor *self, const mt_tensor *source)
{
    mt_shape_text a, b;

    return mt_error_set(MT_ERR_RUNTIME,
                        "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                        "self.shape = %s source.shape = %s",
                        mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, source->size, source->ndim));
}

/* dim is wrapped already */
static int check_slices(const char *op, const mt_tensor *self, int64_t dim, const mt_tensor *index,
                        const mt_tensor *source)
{
    mt_shape_text text;

    if (index->ndim > 1)
        return mt_error_set(MT_ERR_INDEX,
                            "%s(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s", op,
                            index->ndim, legacy(index), mt_shape_format(&text, index->size, index->ndim));
    if (!is_index_dtype(index))
        return mt_error_set(MT_ERR_RUNTIME, "%s(): Expected dtype int32/int64 for index but got: %s", op,
                            legacy(index));
    if (self->dtype != source->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "%s(): self (%s) and source (%s) must have the same scalar type", op,
                            legacy(self), legacy(source));
    if (dim != 0 && dim >= source->ndim)
        return mt_error_set(MT_ERR_RUNTIME, "%s(): Indexing dim %lld is out of bounds of the source tensor with dim %d",
                            op, (long long)dim, source->ndim);
    if (index->numel != size_or_one(source, dim))
        return mt_error_set(MT_ERR_RUNTIME,
                            "%s(): Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %lld",
                            op, (long long)index->numel, (long long)size_or_one(source, dim), (long long)dim);
    return same_slices(self, source, dim) ? 0 : wrong_source_shape(self, source);
}

int mt_meta_index_add(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]);
    mt_tensor *source = mt_arg_tensor(&call->arg[3]);
    int64_t dim = mt_arg_int(&call->arg[1]);

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0 ||
        check_slices("index_add_", self, dim, index, source) < 0)
        return -1;
    return apart_from(call, index) < 0 || apart_from(call, source) < 0 ? -1 : like_self(call);
}

/* A vector along dim, seen in the shape of the slices. */
int mt_impl_index_along(mt_tensor **out, mt_tensor *index, int64_t dim, mt_ints sizes)
{
    int64_t shape[MT_MAX_DIM];
    mt_tensor *line = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_dim_wrap(&dim, sizes.n));
    for (int i = 0; i < sizes.n; i++)
        shape[i] = i == dim ? index->numel : 1;
    MT_TRY(mt_reshape(&line, index, (mt_ints){shape, sizes.n}));
    MT_TRY(mt_expand(out, line, sizes, false));
    rc = 0;
fail:
    mt_tensor_clear(&line);
    return rc;
}

int mt_impl_index_reduce(mt_tensor **out, mt_tensor *self, int64_t dim, mt_tensor *index, mt_tensor *source,
                         const char *reduce, bool include_self)
{
    static bool warned;
    mt_tensor *places = NULL;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_warn_once(&warned, MT_WARN_USER, "index_reduce() is in beta and the API may change at any time."));
    MT_REQUIRE(strcmp(reduce, "prod") == 0 || strcmp(reduce, "mean") == 0 || strcmp(reduce, "amax") == 0 ||
                   strcmp(reduce, "amin") == 0,
               MT_ERR_RUNTIME, "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got %s.",
               reduce);
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(check_slices("index_reduce_", self, dim, index, source));
    MT_TRY(mt_impl_index_along(&places, index, dim, (mt_ints){source->size, source->ndim}));
    if (mt_scatter_reduce(out, self, dim, places, source, reduce, include_self) < 0) {
        if (strstr(mt_error_message(), "is out of bounds for dimension"))
            mt_error_set(MT_ERR_INDEX, "index out of range in self");
        goto fail;
    }
    rc = 0;
fail:
    mt_tensor_clear(&places);
    return rc;
}

static void slice_text(mt_strbuf *text, const mt_tensor *t, int64_t dim)
{
    bool first = true;

    for (int i = 0; i < t->ndim; i++) {
        if (i == dim)
            continue;
        mt_strbuf_printf(text, first ? "%lld" : " %lld", (long long)t->size[i]);
        first = false;
    }
}

static MT_COLD int wrong_copy_slices(const mt_tensor *self, const mt_tensor *source, int64_t dim)
{
    mt_strbuf a = MT_STRBUF_INIT, b = MT_STRBUF_INIT;

    slice_text(&a, self, dim);
    slice_text(&b, source, dim);
    if (mt_strbuf_finish(&a) == 0 && mt_strbuf_finish(&b) == 0)
        mt_error_set(
            MT_ERR_RUNTIME,
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: %s "
            "at dimension %lld and source slice shape: %s at dimension 0.",
            a.data ? a.data : "", (long long)dim, b.data ? b.data : "");
    mt_strbuf_clear(&a);
    mt_strbuf_clear(&b);
    return -1;
}

int mt_meta_index_copy(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]);
    mt_tensor *source = mt_arg_tensor(&call->arg[3]);
    int64_t dim = mt_arg_int(&call->arg[1]);

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (index->ndim > 1)
        return mt_error_set(MT_ERR_INDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)", index->ndim);
    if (source->ndim == 0 && index->numel != 1)
        return mt_error_set(MT_ERR_INDEX,
                            "index_copy_(): When source is scalar, index should have one element (got %lld)",
                            (long long)index->numel);
    if (source->ndim != self->ndim && source->ndim != 0 && self->ndim != 0)
        return mt_error_set(
            MT_ERR_INDEX,
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
            "Source dimensionality (%d), destination dimensionality (%d)",
            source->ndim, self->ndim);
    if (index->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME, "index_copy_(): Expected a long tensor for index, but got %s",
                            legacy(index));
    if (self->dtype != source->dtype)
        return mt_error_set(MT_ERR_RUNTIME,
                            "index_copy_(): self and source expected to have the same dtype, but got (self) %s and "
                            "(source) %s",
                            legacy(self), legacy(source));
    if ((self->ndim > 0 && source->ndim > 0 && !same_slices(self, source, dim)) ||
        (self->ndim == 0 && source->ndim > 1) || (source->ndim == 0 && self->ndim > 1))
        return wrong_copy_slices(self, source, dim);
    if (source->ndim > 0 && index->numel != source->size[self->ndim ? dim : 0])
        return mt_error_set(MT_ERR_INDEX,
                            "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
                            (long long)index->numel, (long long)source->size[self->ndim ? dim : 0]);
    return apart_from(call, index) < 0 || apart_from(call, source) < 0 ? -1 : like_self(call);
}

/* In place on expanded memory is allowed, with a warning: every element of that memory gets the value. */
static int warn_expanded(const mt_tensor *self, const char *op, const char *also)
{
    if (MT_LIKELY(mt_overlap_internal(self) != MT_OVERLAP_YES))
        return 0;
    return mt_warn(MT_WARN_USER,
                   "Use of %s on expanded tensors is deprecated. Please clone() the tensor before performing this "
                   "operation. This also applies to advanced indexing e.g. tensor[%s",
                   op, also);
}

int mt_meta_index_fill(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]), *value;
    int64_t dim = mt_arg_int(&call->arg[1]);
    bool complex;

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (index->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_INDEX, "index_fill_(): Expected dtype int64 for index.");
    if (call->arg[3].kind == MT_ARG_TENSOR) {
        value = mt_arg_tensor(&call->arg[3]);
        if (value->ndim != 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
                                "dimension(s).",
                                value->ndim);
        complex = mt_dtype_is_complex((mt_dtype)value->dtype);
    } else {
        complex = mt_arg_scalar(&call->arg[3]).category == MT_CAT_COMPLEX;
    }
    if (complex && !mt_dtype_is_complex((mt_dtype)self->dtype))
        return mt_error_set(MT_ERR_RUNTIME,
                            "index_fill_(): Converting complex Scalar to non-complex type is not supported");
    if (index->ndim > 1)
        return mt_error_set(MT_ERR_RUNTIME, "Index has to be a vector/scalar");
    if (apart_from(call, index) < 0)
        return -1;
    if (call->variant == MT_VARIANT_INPLACE && mt_overlap_internal(self) == MT_OVERLAP_YES &&
        !(self->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)))
        return warn_expanded(self, "index_fill_", "mask] = scalar");
    return mt_meta_same_as(call);
}

/* --- gather and scatter --- */

int mt_meta_gather(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]);
    int64_t dim = mt_arg_int(&call->arg[1]);
    mt_shape_text a, b;

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (!is_index_dtype(index))
        return mt_error_set(MT_ERR_RUNTIME, "gather(): Expected dtype int32/int64 for index");
    if (mt_meta_exact_out(call, 0, (mt_dtype)self->dtype) < 0)
        return -1;
    if (index->numel > 0) {
        if ((self->ndim ? self->ndim : 1) != (index->ndim ? index->ndim : 1))
            return mt_error_set(MT_ERR_RUNTIME, "Index tensor must have the same number of dimensions as input tensor");
        for (int i = 0; i < self->ndim && i < index->ndim; i++)
            if (i != dim && index->size[i] > self->size[i])
                return mt_error_set(
                    MT_ERR_RUNTIME,
                    "Size does not match at dimension %d expected index %s to be no larger than self %s "
                    "apart from dimension %lld",
                    i, mt_shape_format(&a, index->size, index->ndim), mt_shape_format(&b, self->size, self->ndim),
                    (long long)dim);
    }
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, index->ndim, index->size, NULL, self->device, false);
}

static MT_COLD int index_too_large(const mt_tensor *self, const mt_tensor *index, const mt_tensor *src, int64_t dim)
{
    mt_shape_text a, b, c;

    if (!src)
        return mt_error_set(MT_ERR_RUNTIME, "Expected index %s to be no larger than self %s apart from dimension %lld",
                            mt_shape_format(&a, index->size, index->ndim), mt_shape_format(&b, self->size, self->ndim),
                            (long long)dim);
    return mt_error_set(MT_ERR_RUNTIME,
                        "Expected index %s to be no larger than self %s apart from dimension %lld and to be no larger "
                        "size than src %s",
                        mt_shape_format(&a, index->size, index->ndim), mt_shape_format(&b, self->size, self->ndim),
                        (long long)dim, mt_shape_format(&c, src->size, src->ndim));
}

static int check_scatter_shapes(const mt_tensor *self, const mt_tensor *index, const mt_tensor *src, int64_t dim)
{
    int ndim = index->ndim ? index->ndim : 1;

    if (index->numel == 0)
        return 0;
    if ((self->ndim ? self->ndim : 1) != ndim)
        return mt_error_set(MT_ERR_RUNTIME, "Index tensor must have the same number of dimensions as self tensor");
    if (src && (src->ndim ? src->ndim : 1) != ndim)
        return mt_error_set(MT_ERR_RUNTIME, "Index tensor must have the same number of dimensions as src tensor");
    for (int i = 0; i < ndim; i++) {
        int64_t n = size_or_one(index, i);

        if ((i != dim && n > size_or_one(self, i)) || (src && n > size_or_one(src, i)))
            return index_too_large(self, index, src, dim);
    }
    return 0;
}

/* (self, dim, index, src or value, ...) */
int mt_meta_scatter(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[2]), *src = NULL;
    int64_t dim = mt_arg_int(&call->arg[1]);

    if (same_device(call) < 0 || mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (!is_index_dtype(index))
        return mt_error_set(MT_ERR_RUNTIME, "scatter(): Expected dtype int32/int64 for index");
    if (call->arg[3].kind == MT_ARG_TENSOR) {
        src = mt_arg_tensor(&call->arg[3]);
        if (src->dtype != self->dtype)
            return mt_error_set(MT_ERR_RUNTIME, "scatter(): Expected self.dtype to be equal to src.dtype");
    }
    if (check_scatter_shapes(self, index, src, dim) < 0 || apart_from(call, index) < 0 || apart_from(call, src) < 0)
        return -1;
    return like_self(call);
}

int mt_meta_scatter_src_reduce(mt_call *call)
{
    static bool warned;

    if (mt_warn_once(
            &warned, MT_WARN_USER,
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options.") < 0)
        return -1;
    return mt_meta_scatter(call);
}

/* --- take and put --- */

int mt_meta_take(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[1]), *out = call->out[0];

    if (same_device(call) < 0)
        return -1;
    if (index->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME, "take(): Expected a long tensor for index, but got %s", legacy(index));
    if (out && out->dtype != self->dtype)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "take(): self and out expected to have the same dtype, but got self.dtype = %s and out.dtype "
            "= %s",
            legacy(self), legacy(out));
    if (self->numel == 0 && index->numel > 0)
        return mt_error_set(MT_ERR_INDEX, "take(): tried to take from an empty tensor");
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, index->ndim, index->size, NULL, self->device, false);
}

int mt_meta_put(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *index = mt_arg_tensor(&call->arg[1]);
    mt_tensor *source = mt_arg_tensor(&call->arg[2]);

    if (same_device(call) < 0)
        return -1;
    if (index->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME, "put_(): Expected a long tensor for index, but got %s", legacy(index));
    if (self->dtype != source->dtype)
        return mt_error_set(MT_ERR_RUNTIME,
                            "put_(): self and source expected to have the same dtype, but got self.dtype = %s and "
                            "source.dtype = %s",
                            legacy(self), legacy(source));
    if (index->numel != source->numel)
        return mt_error_set(MT_ERR_INDEX,
                            "put_(): Expected source and index to have the same number of elements, but got "
                            "source.numel() = %lld, index.numel() = %lld",
                            (long long)source->numel, (long long)index->numel);
    if (self->numel == 0 && index->numel > 0)
        return mt_error_set(MT_ERR_INDEX, "put_(): Tried to put elements into an empty tensor");
    if (apart_from(call, index) < 0 || apart_from(call, source) < 0)
        return -1;
    return mt_meta_same_as(call);
}
