/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeating: repeat writes through a view that has a dim for the copies beside every dim; repeat_interleave expands a new
   dim, or selects by an index that is counted out on the processor. */
#include "base/checked.h"
#include "core/shape.h"
#include "ops.h"

/* --- repeat --- */

/* The result seen as copies next to each dim, and self expanded to it. */
typedef struct repeat_plan {
    int ndim; /* of the paired shape */
    int64_t size[2 * MT_MAX_DIM], to[2 * MT_MAX_DIM], from[2 * MT_MAX_DIM];
} repeat_plan;

static void add_dim(repeat_plan *p, int64_t size, int64_t to, int64_t from)
{
    if (size == 1)
        return;
    p->size[p->ndim] = size;
    p->to[p->ndim] = to;
    p->from[p->ndim++] = from;
}

static int copy_repeated(mt_tensor *out, mt_tensor *self, mt_ints repeats)
{
    mt_tensor *target = NULL, *source = NULL;
    int pad = repeats.n - self->ndim, rc = -1;
    repeat_plan p = {.ndim = 0};

    for (int i = 0; i < repeats.n; i++) {
        int64_t own = i < pad ? 1 : self->size[i - pad], stride = i < pad ? 0 : self->stride[i - pad];

        add_dim(&p, repeats.data[i], own * out->stride[i], 0);
        add_dim(&p, own, out->stride[i], stride);
    }
    MT_TRY(mt_tensor_new_view(&target, out, p.ndim, p.size, p.to, out->offset));
    MT_TRY(mt_tensor_new_view(&source, self, p.ndim, p.size, p.from, self->offset));
    MT_TRY(mt_impl_copy_inplace(target, source, false));
    rc = 0;
fail:
    mt_tensor_clear(&target);
    mt_tensor_clear(&source);
    return rc;
}

int mt_impl_repeat(mt_tensor **out, mt_tensor *self, mt_ints repeats)
{
    int64_t size[MT_MAX_DIM];
    int pad = repeats.n - self->ndim;

    *out = NULL;
    if (pad < 0)
        return mt_error_set(MT_ERR_RUNTIME, "Number of dimensions of repeat dims can not be smaller than number of "
                                            "dimensions of tensor");
    if (repeats.n > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
                            repeats.n);
    for (int i = 0; i < repeats.n; i++)
        if (mt_mul_overflow(i < pad ? 1 : self->size[i - pad], repeats.data[i], &size[i]))
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    if (mt_tensor_new(out, (mt_dtype)self->dtype, repeats.n, size, self->device) < 0)
        return -1;
    if ((*out)->numel > 0 && copy_repeated(*out, self, repeats) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

/* The sum over all copies. */
int mt_impl_repeat_backward(mt_tensor **out, mt_tensor *grad, mt_ints repeats, mt_ints input_shape)
{
    int64_t size[2 * MT_MAX_DIM], copies[MT_MAX_DIM];
    mt_tensor *paired = NULL, *sum = NULL;
    int pad = repeats.n - input_shape.n, n = 0, k = 0, rc = -1;

    *out = NULL;
    for (int i = 0; i < repeats.n; i++)
        if (repeats.data[i] == 0)
            return mt_new_zeros(out, grad, input_shape, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL);
    for (int i = 0; i < repeats.n; i++) {
        if (repeats.data[i] != 1 || i < pad) {
            copies[k++] = n;
            size[n++] = repeats.data[i];
        }
        if (i >= pad)
            size[n++] = input_shape.data[i - pad];
    }
    if (k == 0) {
        *out = mt_tensor_ref(grad);
        return 0;
    }
    MT_REQUIRE(n <= MT_MAX_DIM, MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d", MT_MAX_DIM,
               n);
    MT_TRY(mt_reshape(&paired, grad, (mt_ints){size, n}));
    MT_TRY(mt_sum_dim_IntList(out, paired, (mt_ints){copies, k}, false, MT_DTYPE_NONE));
    rc = 0;
fail:
    mt_tensor_clear(&paired);
    mt_tensor_clear(&sum);
    return rc;
}

int mt_impl_tile(mt_tensor **out, mt_tensor *self, mt_ints dims)
{
    int64_t repeats[MT_MAX_DIM];
    int pad = self->ndim - dims.n;

    if (pad <= 0)
        return mt_repeat(out, self, dims);
    for (int i = 0; i < self->ndim; i++)
        repeats[i] = i < pad ? 1 : dims.data[i - pad];
    return mt_repeat(out, self, (mt_ints){repeats, self->ndim});
}

/* --- repeat_interleave --- */

/* dim NULL: the flattened tensor, along dim 0. */
static int flat_or_dim(mt_tensor **out, int64_t *wrapped, mt_tensor *self, const int64_t *dim)
{
    *out = NULL;
    *wrapped = dim ? *dim : 0;
    if (!dim)
        return mt_flatten(out, self, 0, -1);
    if (mt_dim_wrap(wrapped, self->ndim) < 0)
        return -1;
    *out = mt_tensor_ref(self);
    return 0;
}

int mt_impl_repeat_interleave_int(mt_tensor **out, mt_tensor *self, int64_t repeats, const int64_t *dim,
                                  const int64_t *output_size)
{
    mt_tensor *input = NULL, *column = NULL, *wide = NULL, *copy = NULL;
    int64_t size[MT_MAX_DIM + 1], at, total;
    int rc = -1;

    *out = NULL;
    MT_TRY(flat_or_dim(&input, &at, self, dim));
    MT_REQUIRE(repeats >= 0, MT_ERR_RUNTIME, "Repeats must be non-negative");
    MT_REQUIRE(input->ndim > 0, MT_ERR_INDEX, "Dimension specified as %lld but tensor has no dimensions",
               (long long)at);
    MT_REQUIRE(!mt_mul_overflow(repeats, input->size[at], &total), MT_ERR_RUNTIME,
               "numel: integer multiplication overflow");
    MT_REQUIRE(!output_size || *output_size == total, MT_ERR_RUNTIME,
               "repeat_interleave: Invalid output_size, expected %lld but got %lld", (long long)total,
               output_size ? (long long)*output_size : 0);
    MT_REQUIRE(input->ndim < MT_MAX_DIM, MT_ERR_RUNTIME, "tensors with more than %d dims are not supported, got %d",
               MT_MAX_DIM, input->ndim + 1);
    MT_TRY(mt_unsqueeze(&column, input, at + 1));
    for (int i = 0; i < column->ndim; i++)
        size[i] = i == at + 1 ? repeats : column->size[i];
    MT_TRY(mt_expand(&wide, column, (mt_ints){size, column->ndim}, false));
    MT_TRY(mt_clone(&copy, wide, MT_FORMAT_CONTIGUOUS));
    MT_TRY(mt_flatten(out, copy, at, at + 1));
    rc = 0;
fail:
    mt_tensor_clear(&input);
    mt_tensor_clear(&column);
    mt_tensor_clear(&wide);
    mt_tensor_clear(&copy);
    return rc;
}

static int64_t repeat_at(const mt_tensor *t, int64_t i)
{
    const char *data = mt_tensor_const_data(t);

    if (t->dtype == MT_DTYPE_i32)
        return ((const int32_t *)(const void *)data)[i * t->stride[0]];
    return ((const int64_t *)(const void *)data)[i * t->stride[0]];
}

static void write_index(mt_tensor *out, int64_t at, int64_t value)
{
    char *data = mt_tensor_mutable_data(out);

    if (out->dtype == MT_DTYPE_i32)
        ((int32_t *)(void *)data)[at] = (int32_t)value;
    else
        ((int64_t *)(void *)data)[at] = value;
}

/* Index i, repeated as often as element i says. */
static int count_out(mt_tensor **out, mt_tensor *repeats, const int64_t *output_size)
{
    int64_t total = 0, at = 0;

    for (int64_t i = 0; i < repeats->numel; i++) {
        int64_t n = repeat_at(repeats, i);

        if (n < 0)
            return mt_error_set(MT_ERR_RUNTIME, "repeats can not be negative");
        if (mt_add_overflow(total, n, &total))
            return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    }
    if (output_size && *output_size != total)
        return mt_error_set(MT_ERR_RUNTIME, "allocated size does not match required size");
    if (mt_tensor_new(out, (mt_dtype)repeats->dtype, 1, &total, MT_CPU) < 0)
        return -1;
    for (int64_t i = 0; i < repeats->numel; i++) {
        int64_t n = repeat_at(repeats, i);

        for (int64_t k = 0; k < n; k++)
            write_index(*out, at++, i);
    }
    return 0;
}

int mt_impl_repeat_interleave(mt_tensor **out, mt_tensor *repeats, const int64_t *output_size)
{
    mt_tensor *host = NULL, *index = NULL;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(repeats->ndim == 1, MT_ERR_RUNTIME, "repeat_interleave only accept 1D vector as repeat");
    MT_REQUIRE(repeats->dtype == MT_DTYPE_i64 || repeats->dtype == MT_DTYPE_i32, MT_ERR_NOT_IMPLEMENTED,
               "\"repeat_interleave_cpu\" not implemented for '%s'", mt_dtype_table[repeats->dtype].legacy);
    MT_TRY(mt_to_device(&host, repeats, MT_CPU, (mt_dtype)repeats->dtype, false, false, -1));
    MT_TRY(mt_tensor_check_bounds(host));
    MT_TRY(count_out(&index, host, output_size));
    MT_TRY(mt_to_device(out, index, repeats->device, (mt_dtype)repeats->dtype, false, false, -1));
    rc = 0;
fail:
    mt_tensor_clear(&host);
    mt_tensor_clear(&index);
    return rc;
}

int mt_impl_repeat_interleave_tensor(mt_tensor **out, mt_tensor *self, mt_tensor *repeats, const int64_t *dim,
                                     const int64_t *output_size)
{
    mt_tensor *input = NULL, *vector = NULL, *index = NULL;
    int64_t at;
    int rc = -1;

    *out = NULL;
    MT_TRY(flat_or_dim(&input, &at, self, dim));
    MT_REQUIRE(input->ndim > 0, MT_ERR_INDEX, "Dimension specified as %lld but tensor has no dimensions",
               (long long)at);
    MT_REQUIRE(repeats->ndim <= 1, MT_ERR_RUNTIME, "repeats must be 0-dim or 1-dim tensor");
    if (repeats->ndim == 0 || repeats->size[0] == 1) {
        MT_TRY(mt_reshape(&index, repeats, (mt_ints){(const int64_t[]){1}, 1}));
        MT_TRY(mt_expand(&vector, index, (mt_ints){&input->size[at], 1}, false));
        mt_tensor_clear(&index);
    } else {
        MT_REQUIRE(
            repeats->size[0] == input->size[at], MT_ERR_RUNTIME,
            "repeats must have the same size as input along dim, but got repeats.size(0) = %lld and input.size(%lld) "
            "= %lld",
            (long long)repeats->size[0], (long long)at, (long long)input->size[at]);
        vector = mt_tensor_ref(repeats);
    }
    MT_TRY(mt_repeat_interleave_Tensor(&index, vector, output_size));
    MT_TRY(mt_index_select(out, input, at, index));
    rc = 0;
fail:
    mt_tensor_clear(&input);
    mt_tensor_clear(&vector);
    mt_tensor_clear(&index);
    return rc;
}
