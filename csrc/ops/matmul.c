/* SPDX-License-Identifier: BSD-3-Clause */
/* Composites over mm, mv, dot and bmm: matmul, linear, inner, bilinear, kron, tensordot and products of several matrices.
   A batch of matrices times one matrix is folded into one product where that needs no copy (or where
   a copy is cheaper than the expanded gradient), else both sides become one batch. einsum is in matmul_einsum.c. */
#include <string.h>

#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/formula.h"
#include "core/shape.h"
#include "ops.h"

static const mt_scalar one = {MT_CAT_INT, 0, {1}};

/* --- matmul --- */

/* Can all dims but the last be read as one, without a copy? */
static bool rows_are_regular(const mt_tensor *t)
{
    for (int i = 0; i + 2 < t->ndim; i++)
        if (t->stride[i] != t->stride[i + 1] * t->size[i + 1])
            return false;
    return true;
}

/* `large` has three dims or more, `small` one or two. */
static bool should_fold(const mt_tensor *large, const mt_tensor *small, bool small_is_first)
{
    if (small->flags & MT_FLAG_REQUIRES_GRAD)
        return true;
    if (small_is_first && small->ndim == 2)
        return false;
    return large->numel == 0 || rows_are_regular(large);
}

/* large [..., k] @ small [k, n] or [k]. */
static int matmul_folded(mt_tensor **out, mt_tensor *large, mt_tensor *small)
{
    mt_tensor *rows = NULL, *product = NULL;
    int64_t size[MT_MAX_DIM];
    int ndim = large->ndim - 1, rc = -1;

    memcpy(size, large->size, (size_t)ndim * sizeof(size[0]));
    MT_TRY(mt_reshape(
        &rows, large,
        (mt_ints){(const int64_t[]){large->numel == 0 ? mt_ints_product((mt_ints){size, ndim}) : -1, large->size[ndim]},
                  2}));
    if (small->ndim == 1) {
        MT_TRY(mt_mv(&product, rows, small));
    } else {
        MT_TRY(mt_mm(&product, rows, small));
        size[ndim++] = small->size[1];
    }
    MT_TRY(mt_unsafe_view(out, product, (mt_ints){size, ndim}));
    rc = 0;
fail:
    mt_tensor_clear(&rows);
    mt_tensor_clear(&product);
    return rc;
}

/* small [m, k] or [k] @ large [..., k, n], turned into large^T @ small^T and back. */
static int matmul_folded_right(mt_tensor **out, mt_tensor *small, mt_tensor *large)
{
    mt_tensor *large_t = NULL, *small_t = NULL, *product = NULL, *turned = NULL;
    int rc = -1;

    MT_TRY(mt_transpose(&large_t, large, -1, -2));
    if (small->ndim == 1) {
        MT_TRY(matmul_folded(out, large_t, small));
    } else {
        MT_TRY(mt_t(&small_t, small));
        MT_TRY(matmul_folded(&product, large_t, small_t));
        MT_TRY(mt_transpose(&turned, product, -1, -2));
        MT_TRY(mt_contiguous(out, turned, MT_FORMAT_CONTIGUOUS));
    }
    rc = 0;
fail:
    mt_tensor_clear(&large_t);
    mt_tensor_clear(&small_t);
    mt_tensor_clear(&product);
    mt_tensor_clear(&turned);
    return rc;
}

/* t as [batch, rows, cols], its batch dims expanded. */
static int as_batch(mt_tensor **out, mt_tensor *t, const mt_shape *batch, int64_t n_batch)
{
    mt_tensor *wide = NULL;
    int64_t size[MT_MAX_DIM];
    int64_t rows = t->size[t->ndim - 2], cols = t->size[t->ndim - 1];
    int rc = -1;

    memcpy(size, batch->size, (size_t)batch->ndim * sizeof(size[0]));
    size[batch->ndim] = rows;
    size[batch->ndim + 1] = cols;
    MT_TRY(mt_expand(&wide, t, (mt_ints){size, batch->ndim + 2}, false));
    MT_TRY(mt_reshape(out, wide, (mt_ints){(const int64_t[]){n_batch, rows, cols}, 3}));
    rc = 0;
fail:
    mt_tensor_clear(&wide);
    return rc;
}

static int matmul_batched(mt_tensor **out, mt_tensor *a, mt_tensor *b)
{
    mt_tensor *row = NULL, *column = NULL, *left = NULL, *right = NULL, *product = NULL, *flat = NULL;
    mt_shape batch = {.ndim = 0};
    int64_t n_batch;
    bool a_is_vector = a->ndim == 1, b_is_vector = b->ndim == 1;
    int rc = -1;

    if (!a_is_vector)
        MT_TRY(mt_shape_broadcast(&batch, a->ndim - 2, a->size));
    if (!b_is_vector)
        MT_TRY(mt_shape_broadcast(&batch, b->ndim - 2, b->size));
    MT_REQUIRE(batch.ndim + 2 <= MT_MAX_DIM, MT_ERR_RUNTIME, "matmul(): too many dimensions");
    MT_TRY(mt_shape_numel(&n_batch, batch.ndim, batch.size, 1));
    if (a_is_vector) {
        MT_TRY(mt_unsqueeze(&row, a, 0));
        a = row;
    }
    if (b_is_vector) {
        MT_TRY(mt_unsqueeze(&column, b, 1));
        b = column;
    }
    MT_TRY(as_batch(&left, a, &batch, n_batch));
    MT_TRY(as_batch(&right, b, &batch, n_batch));
    MT_TRY(mt_bmm(&product, left, right));
    if (b_is_vector)
        MT_TRY(mt_squeeze_dim(&flat, product, -1));
    if (!a_is_vector)
        batch.size[batch.ndim++] = a->size[a->ndim - 2];
    if (!b_is_vector)
        batch.size[batch.ndim++] = b->size[b->ndim - 1];
    MT_TRY(mt_unsafe_view(out, flat ? flat : product, (mt_ints){batch.size, batch.ndim}));
    rc = 0;
fail:
    mt_tensor_clear(&row);
    mt_tensor_clear(&column);
    mt_tensor_clear(&left);
    mt_tensor_clear(&right);
    mt_tensor_clear(&product);
    mt_tensor_clear(&flat);
    return rc;
}

static int vector_by_matrix(mt_tensor **out, mt_tensor *vec, mt_tensor *mat)
{
    mt_tensor *row = NULL, *product = NULL;
    int rc = -1;

    MT_TRY(mt_unsqueeze(&row, vec, 0));
    MT_TRY(mt_mm(&product, row, mat));
    MT_TRY(mt_squeeze_dim_inplace(product, 0)); /* in place: the result is no view */
    *out = mt_tensor_move(&product);
    rc = 0;
fail:
    mt_tensor_clear(&row);
    mt_tensor_clear(&product);
    return rc;
}

int mt_impl_matmul(mt_tensor **out, mt_tensor *self, mt_tensor *other)
{
    int m = self->ndim, n = other->ndim;

    *out = NULL;
    if (m == 2 && n == 2)
        return mt_mm(out, self, other);
    if (m == 0 || n == 0)
        return mt_error_set(MT_ERR_RUNTIME, "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                            m, n);
    if (m == 1 && n == 1)
        return mt_dot(out, self, other);
    if (m == 2 && n == 1)
        return mt_mv(out, self, other);
    if (m == 1 && n == 2)
        return vector_by_matrix(out, self, other);
    if (n <= 2 && should_fold(self, other, false))
        return matmul_folded(out, self, other);
    if (m <= 2 && should_fold(other, self, true))
        return matmul_folded_right(out, self, other);
    return matmul_batched(out, self, other);
}

/* --- linear --- */

/* Rows as one matrix, so that the bias is added by the product. */
static int linear_flat(mt_tensor **out, mt_tensor *input, mt_tensor *weight_t, mt_tensor *bias)
{
    mt_tensor *rows = NULL, *sum = NULL;
    int64_t size[MT_MAX_DIM];
    int last = input->ndim - 1, rc = -1;

    memcpy(size, input->size, (size_t)input->ndim * sizeof(size[0]));
    MT_TRY(mt_view(&rows, input, (mt_ints){(const int64_t[]){mt_ints_product((mt_ints){size, last}), size[last]}, 2}));
    MT_TRY(mt_addmm(&sum, bias, rows, weight_t, one, one));
    size[last] = sum->size[1];
    MT_TRY(mt_view(out, sum, (mt_ints){size, input->ndim}));
    rc = 0;
fail:
    mt_tensor_clear(&rows);
    mt_tensor_clear(&sum);
    return rc;
}

int mt_impl_linear(mt_tensor **out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias)
{
    mt_tensor *weight_t = NULL, *product = NULL;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(input->ndim > 0 && weight->ndim > 0, MT_ERR_RUNTIME,
               "both arguments to linear need to be at least 1D, but they are %dD and %dD", input->ndim, weight->ndim);
    MT_TRY(mt_t(&weight_t, weight));
    if (!bias)
        rc = mt_matmul(out, input, weight_t);
    else if (input->ndim == 2)
        rc = mt_addmm(out, bias, input, weight_t, one, one);
    else if (mt_tensor_is_contiguous(input))
        rc = linear_flat(out, input, weight_t, bias);
    else {
        MT_TRY(mt_matmul(&product, input, weight_t));
        rc = mt_add(out, product, bias, one);
    }
fail:
    mt_tensor_clear(&weight_t);
    mt_tensor_clear(&product);
    return rc;
}

int mt_impl_bilinear(mt_tensor **out, mt_tensor *input1, mt_tensor *input2, mt_tensor *weight, mt_tensor *bias)
{
    mt_tensor *first = NULL, *mixed = NULL, *second = NULL, *result = NULL, *turned = NULL;
    mt_shape_text a, b;
    int n = input1->ndim, rc = -1;

    *out = NULL;
    MT_REQUIRE(n == input2->ndim, MT_ERR_RUNTIME, "bilinear(): input dimensions do not match: got %d and %d", n,
               input2->ndim);
    MT_REQUIRE(n > 0 && mt_shape_equal(n - 1, input1->size, n - 1, input2->size), MT_ERR_RUNTIME,
               "bilinear(): input batch dimensions do not match: got %s and %s", mt_shape_format(&a, input1->size, n),
               mt_shape_format(&b, input2->size, n));
    MT_REQUIRE(weight->ndim == 3 && input1->size[n - 1] == weight->size[1], MT_ERR_RUNTIME,
               "bilinear(): input1 size does not match weight size: got %lld but expected %lld",
               (long long)input1->size[n - 1], (long long)(weight->ndim == 3 ? weight->size[1] : -1));
    MT_REQUIRE(input2->size[n - 1] == weight->size[2], MT_ERR_RUNTIME,
               "bilinear(): input2 size does not match weight size: got %lld but expected %lld",
               (long long)input2->size[n - 1], (long long)weight->size[2]);
    MT_REQUIRE(!bias || (bias->ndim == 1 && bias->size[0] == weight->size[0]), MT_ERR_RUNTIME,
               "bilinear(): bias size does not match weight size: got %lld but expected %lld",
               (long long)(bias && bias->ndim == 1 ? bias->size[0] : -1), (long long)weight->size[0]);
    /* [.., 1, 1, i] @ [o, i, j] is [.., o, 1, j]; times [.., 1, j, 1] is [.., o, 1, 1] */
    MT_TRY(mt_unsqueeze(&turned, input1, -2));
    MT_TRY(mt_unsqueeze(&first, turned, -2));
    mt_tensor_clear(&turned);
    MT_TRY(mt_matmul(&mixed, first, weight));
    MT_TRY(mt_unsqueeze(&turned, input2, -1));
    MT_TRY(mt_unsqueeze(&second, turned, -3));
    mt_tensor_clear(&turned);
    MT_TRY(mt_matmul(&turned, mixed, second));
    MT_TRY(mt_flatten(&result, turned, -3, -1));
    if (bias)
        MT_TRY(mt_add(out, result, bias, one));
    else
        *out = mt_tensor_move(&result);
    rc = 0;
fail:
    mt_tensor_clear(&first);
    mt_tensor_clear(&mixed);
    mt_tensor_clear(&second);
    mt_tensor_clear(&result);
    mt_tensor_clear(&turned);
    return rc;
}

/* --- contractions --- */

/* Dims of t that are not contracted, then the contracted ones (or the other way round). */
static int tensordot_side(mt_tensor **out, int64_t *free_size, int *n_free, mt_tensor *t, const int64_t *dims, int n,
                          bool contracted_first)
{
    int64_t order[MT_MAX_DIM], depth = 1, rest = 1;
    bool used[MT_MAX_DIM] = {false};
    mt_tensor *turned = NULL;
    int at = 0, rc = -1;

    *n_free = 0;
    for (int i = 0; i < n; i++) {
        used[dims[i]] = true;
        depth *= t->size[dims[i]];
    }
    for (int i = 0; contracted_first && i < n; i++)
        order[at++] = dims[i];
    for (int i = 0; i < t->ndim; i++)
        if (!used[i]) {
            order[at++] = i;
            free_size[(*n_free)++] = t->size[i];
            rest *= t->size[i];
        }
    for (int i = 0; !contracted_first && i < n; i++)
        order[at++] = dims[i];
    MT_TRY(mt_permute(&turned, t, (mt_ints){order, at}));
    MT_TRY(
        mt_reshape(out, turned,
                   (mt_ints){(const int64_t[]){contracted_first ? depth : rest, contracted_first ? rest : depth}, 2}));
    rc = 0;
fail:
    mt_tensor_clear(&turned);
    return rc;
}

static int wrap_dims(int64_t *out, mt_ints dims, const mt_tensor *t)
{
    bool used[MT_MAX_DIM] = {false};

    for (int i = 0; i < dims.n; i++) {
        out[i] = dims.data[i];
        if (mt_dim_wrap(&out[i], t->ndim) < 0)
            return -1;
        if (t->ndim == 0 || used[out[i]])
            return mt_error_set(MT_ERR_RUNTIME, "dim %lld appears multiple times in the list of dims",
                                (long long)out[i]);
        used[out[i]] = true;
    }
    return 0;
}

static int dot_of_matrices(mt_tensor **out, mt_tensor *row, mt_tensor *column)
{
    mt_tensor *a = NULL, *b = NULL;
    int64_t all = -1;
    int rc = -1;

    MT_TRY(mt_reshape(&a, row, (mt_ints){&all, 1}));
    MT_TRY(mt_reshape(&b, column, (mt_ints){&all, 1}));
    MT_TRY(mt_dot(out, a, b));
    rc = 0;
fail:
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    return rc;
}

int mt_impl_tensordot(mt_tensor **out, mt_tensor *self, mt_tensor *other, mt_ints dims_self, mt_ints dims_other)
{
    int64_t a[MT_MAX_DIM], b[MT_MAX_DIM], size[2 * MT_MAX_DIM];
    mt_tensor *left = NULL, *right = NULL, *product = NULL, *narrowed[2] = {NULL, NULL};
    int n_left, n_right, rc = -1;

    *out = NULL;
    MT_REQUIRE(dims_self.n == dims_other.n, MT_ERR_RUNTIME, "both dimension lists should have same length");
    MT_REQUIRE(self->dtype == other->dtype, MT_ERR_RUNTIME, "both inputs should have same dtype");
    MT_REQUIRE(dims_self.n <= MT_MAX_DIM, MT_ERR_RUNTIME, "tensordot(): too many dimensions");
    MT_TRY(wrap_dims(a, dims_self, self));
    MT_TRY(wrap_dims(b, dims_other, other));
    for (int i = 0; i < dims_self.n; i++) {
        int64_t s = self->size[a[i]], t = other->size[b[i]];
        mt_tensor **side = s == 1 ? &narrowed[1] : &narrowed[0], *from = s == 1 ? other : self, *sum = NULL;
        int64_t dim = s == 1 ? b[i] : a[i];

        MT_REQUIRE(s == t || s == 1 || t == 1, MT_ERR_RUNTIME,
                   "contracted dimensions need to match, but first has size %lld in dim %lld and second has size %lld "
                   "in dim %lld",
                   (long long)s, (long long)dims_self.data[i], (long long)t, (long long)dims_other.data[i]);
        if (s == t)
            continue;
        /* what is broadcast can be summed before */
        MT_TRY(mt_sum_dim_IntList(&sum, *side ? *side : from, (mt_ints){&dim, 1}, true, MT_DTYPE_NONE));
        mt_tensor_unref(*side);
        *side = sum;
    }
    MT_TRY(tensordot_side(&left, size, &n_left, narrowed[0] ? narrowed[0] : self, a, dims_self.n, false));
    MT_TRY(tensordot_side(&right, size + n_left, &n_right, narrowed[1] ? narrowed[1] : other, b, dims_other.n, true));
    MT_REQUIRE(n_left + n_right <= MT_MAX_DIM, MT_ERR_RUNTIME, "tensordot(): too many dimensions");
    MT_TRY(n_left + n_right ? mt_mm(&product, left, right) : dot_of_matrices(&product, left, right));
    MT_TRY(mt_reshape(out, product, (mt_ints){size, n_left + n_right}));
    rc = 0;
fail:
    for (int i = 0; i < 2; i++)
        mt_tensor_clear(&narrowed[i]);
    mt_tensor_clear(&left);
    mt_tensor_clear(&right);
    mt_tensor_clear(&product);
    return rc;
}

int mt_impl_inner(mt_tensor **out, mt_tensor *self, mt_tensor *other)
{
    mt_shape_text a, b;

    *out = NULL;
    if (self->ndim == 0 || other->ndim == 0)
        return mt_mul(out, self, other);
    if (self->size[self->ndim - 1] != other->size[other->ndim - 1])
        return mt_error_set(MT_ERR_RUNTIME,
                            "inner() the last dimension must match on both input tensors but got shapes %s and %s",
                            mt_shape_format(&a, self->size, self->ndim), mt_shape_format(&b, other->size, other->ndim));
    return mt_tensordot(out, self, other, (mt_ints){(const int64_t[]){-1}, 1}, (mt_ints){(const int64_t[]){-1}, 1});
}

/* [a0, 1, a1, 1, ...] * [1, b0, 1, b1, ...], every pair of dims merged. */
int mt_impl_kron(mt_tensor **out, mt_tensor *self, mt_tensor *other)
{
    int64_t a[MT_MAX_DIM], b[MT_MAX_DIM], size[MT_MAX_DIM];
    mt_tensor *left = NULL, *right = NULL, *product = NULL;
    int n = self->ndim > other->ndim ? self->ndim : other->ndim, rc = -1;

    *out = NULL;
    MT_REQUIRE(2 * n <= MT_MAX_DIM, MT_ERR_RUNTIME, "kron(): too many dimensions");
    for (int i = 0; i < n; i++) {
        int at_a = i - (n - self->ndim), at_b = i - (n - other->ndim);

        a[2 * i] = at_a >= 0 ? self->size[at_a] : 1;
        a[2 * i + 1] = 1;
        b[2 * i] = 1;
        b[2 * i + 1] = at_b >= 0 ? other->size[at_b] : 1;
        size[i] = a[2 * i] * b[2 * i + 1];
    }
    MT_TRY(mt_reshape(&left, self, (mt_ints){a, 2 * n}));
    MT_TRY(mt_reshape(&right, other, (mt_ints){b, 2 * n}));
    MT_TRY(mt_mul(&product, left, right));
    MT_TRY(mt_unsafe_view(out, product, (mt_ints){size, n}));
    rc = 0;
fail:
    mt_tensor_clear(&left);
    mt_tensor_clear(&right);
    mt_tensor_clear(&product);
    return rc;
}
