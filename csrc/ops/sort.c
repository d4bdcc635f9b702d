/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape rules of sorting, and what is built on it: unique, searchsorted, bincount. */
#include "base/alloc.h"
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* Results in the memory order of self when they have its shape. */
static int prepare_pair(mt_call *call, mt_tensor *self, const int64_t *size)
{
    int64_t stride[MT_MAX_DIM];
    const int64_t *order = NULL;

    if (size == self->size) {
        mt_shape_strides_like(stride, self);
        order = stride;
    }
    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        return mt_error_set(MT_ERR_RUNTIME, "%s does not support complex dtypes on CPU", call->op->name);
    if (mt_meta_exact_out(call, 0, (mt_dtype)self->dtype) < 0 || mt_meta_exact_out(call, 1, MT_DTYPE_i64) < 0 ||
        mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, size, order, self->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 1, MT_DTYPE_i64, self->ndim, size, order, self->device, false);
}

int mt_meta_sort(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t dim = call->arg[1].v.i;

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    return prepare_pair(call, self, self->size);
}

int mt_meta_sort_stable(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t dim = call->arg[2].v.i;

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    return prepare_pair(call, self, self->size);
}

int mt_meta_topk(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t k = call->arg[1].v.i, dim = call->arg[2].v.i, size[MT_MAX_DIM];

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (self->dtype == MT_DTYPE_b8)
        return mt_error_set(MT_ERR_RUNTIME, "topk does not support bool dtypes on CPU");
    if (k < 0 || k > (self->ndim ? self->size[dim] : 1))
        return mt_error_set(MT_ERR_RUNTIME, "selected index k out of range");
    for (int i = 0; i < self->ndim; i++)
        size[i] = i == dim ? k : self->size[i];
    return prepare_pair(call, self, size);
}

/* --- unique --- */

/* The results of unique from a sorted list: `order` are the original positions, starts[i] tells whether sorted element i
   begins a new group. */
typedef struct groups {
    mt_tensor *inverse, *counts; /* int64 */
    int64_t n_groups;
} groups;

static int make_groups(groups *g, const int64_t *order, const bool *starts, int64_t n, mt_device device)
{
    int64_t *inverse, *counts, at = -1;

    g->n_groups = 0;
    for (int64_t i = 0; i < n; i++)
        g->n_groups += starts[i];
    if (mt_tensor_new(&g->inverse, MT_DTYPE_i64, 1, &n, device) < 0 ||
        mt_tensor_new_zeroed(&g->counts, MT_DTYPE_i64, 1, &g->n_groups, device) < 0)
        return -1;
    inverse = (int64_t *)mt_tensor_mutable_data(g->inverse);
    counts = (int64_t *)mt_tensor_mutable_data(g->counts);
    for (int64_t i = 0; i < n; i++) {
        at += starts[i];
        inverse[order ? order[i] : i] = at;
        counts[at]++;
    }
    return 0;
}

static int empty_long(mt_tensor **out, mt_device device)
{
    int64_t zero = 0;

    return mt_tensor_new(out, MT_DTYPE_i64, 1, &zero, device);
}

static int finish_unique(mt_tensor **inverse, mt_tensor **counts, groups *g, bool return_inverse, bool return_counts,
                         mt_tensor *shaped_like)
{
    mt_tensor *t = NULL;

    if (!return_inverse) {
        if (empty_long(&t, g->inverse->device) < 0)
            return -1;
        mt_tensor_unref(g->inverse);
        g->inverse = t;
    } else if (shaped_like) {
        if (mt_reshape(&t, g->inverse, (mt_ints){shaped_like->size, shaped_like->ndim}) < 0)
            return -1;
        mt_tensor_unref(g->inverse);
        g->inverse = t;
    }
    t = NULL;
    if (!return_counts) {
        if (empty_long(&t, g->counts->device) < 0)
            return -1;
        mt_tensor_unref(g->counts);
        g->counts = t;
    }
    *inverse = mt_tensor_move(&g->inverse);
    *counts = mt_tensor_move(&g->counts);
    return 0;
}

/* starts[i]: element i differs from element i - 1. NaN differs from NaN. */
static int find_starts(bool **out, mt_tensor *flat)
{
    mt_tensor *left = NULL, *right = NULL, *differ = NULL;
    int64_t n = flat->numel;
    bool *starts = NULL;
    int rc = -1;

    MT_TRY(mt_malloc((void **)&starts, (size_t)n + 1));
    if (n > 0)
        starts[0] = true;
    if (n > 1) {
        MT_TRY(mt_narrow(&left, flat, 0, 0, n - 1));
        MT_TRY(mt_narrow(&right, flat, 0, 1, n - 1));
        MT_TRY(mt_ne(&differ, left, right));
        for (int64_t i = 1; i < n; i++)
            starts[i] = mt_tensor_const_data(differ)[i - 1] != 0;
    }
    *out = starts;
    starts = NULL;
    rc = 0;
fail:
    mt_free(starts);
    mt_tensor_clear(&left);
    mt_tensor_clear(&right);
    mt_tensor_clear(&differ);
    return rc;
}

/* Positions of the first element of each group, as an index tensor. */
static int first_positions(mt_tensor **out, const bool *starts, int64_t n, int64_t n_groups, mt_device device)
{
    int64_t *p, at = 0;

    if (mt_tensor_new(out, MT_DTYPE_i64, 1, &n_groups, device) < 0)
        return -1;
    p = (int64_t *)mt_tensor_mutable_data(*out);
    for (int64_t i = 0; i < n; i++)
        if (starts[i])
            p[at++] = i;
    return 0;
}

static int unique_flat(mt_tensor **values, mt_tensor **inverse, mt_tensor **counts, mt_tensor *self, bool sort,
                       bool return_inverse, bool return_counts)
{
    int64_t minus_one = -1;
    mt_tensor *flat = NULL, *sorted = NULL, *order = NULL, *first = NULL;
    groups g = {NULL, NULL, 0};
    bool *starts = NULL, grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_need_host_data(self, "unique"));
    MT_REQUIRE(!mt_dtype_is_complex((mt_dtype)self->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"unique\" not implemented for '%s'", mt_dtype_table[self->dtype].legacy);
    MT_TRY(mt_reshape(&flat, self, (mt_ints){&minus_one, 1}));
    if (sort)
        MT_TRY(mt_sort(&sorted, &order, flat, 0, false));
    else
        MT_TRY(mt_contiguous(&sorted, flat, MT_FORMAT_CONTIGUOUS));
    MT_TRY(find_starts(&starts, sorted));
    MT_TRY(make_groups(&g, order ? (const int64_t *)mt_tensor_const_data(order) : NULL, starts, sorted->numel,
                       self->device));
    MT_TRY(first_positions(&first, starts, sorted->numel, g.n_groups, self->device));
    MT_TRY(mt_index_select(values, sorted, 0, first));
    if (finish_unique(inverse, counts, &g, return_inverse, return_counts, self) < 0) {
        mt_tensor_clear(values);
        goto fail;
    }
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_free(starts);
    mt_tensor_clear(&flat);
    mt_tensor_clear(&sorted);
    mt_tensor_clear(&order);
    mt_tensor_clear(&first);
    mt_tensor_clear(&g.inverse);
    mt_tensor_clear(&g.counts);
    return rc;
}

int mt_impl_unique2(mt_tensor **values, mt_tensor **inverse, mt_tensor **counts, mt_tensor *self, bool sorted,
                    bool return_inverse, bool return_counts)
{
    (void)sorted; /* the reference sorts on the CPU in any case where inverse or counts are asked for */
    return unique_flat(values, inverse, counts, self, true, return_inverse, return_counts);
}

/* --- unique along a dimension: rows are compared as a whole --- */

/* -1, 0, 1: the order of two rows of a contiguous matrix, compared through their columns' ranks. */
static int compare_rows(const int64_t *ranks, int64_t columns, int64_t a, int64_t b)
{
    for (int64_t c = 0; c < columns; c++) {
        int64_t x = ranks[a * columns + c], y = ranks[b * columns + c];

        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static void merge_rows(int64_t *to, const int64_t *a, int64_t n_a, const int64_t *b, int64_t n_b, const int64_t *ranks,
                       int64_t columns)
{
    while (n_a && n_b) {
        if (compare_rows(ranks, columns, *b, *a) < 0) {
            *to++ = *b++;
            n_b--;
        } else {
            *to++ = *a++;
            n_a--;
        }
    }
    while (n_a--)
        *to++ = *a++;
    while (n_b--)
        *to++ = *b++;
}

static void sort_rows(int64_t *order, int64_t *scratch, int64_t n, const int64_t *ranks, int64_t columns)
{
    int64_t *from = order, *to = scratch;

    for (int64_t width = 1; width < n; width *= 2) {
        int64_t *t = from;

        for (int64_t i = 0; i < n; i += 2 * width) {
            int64_t left = n - i < width ? n - i : width, right = n - i - left < width ? n - i - left : width;

            merge_rows(to + i, from + i, left, from + i + left, right, ranks, columns);
        }
        from = to;
        to = t;
    }
    for (int64_t i = 0; from != order && i < n; i++)
        order[i] = from[i];
}

/* dim first, the rest flattened; and the rank of each element among all distinct values. */
static int rows_of(mt_tensor **rows, mt_tensor **ranks, mt_tensor *self, int64_t dim)
{
    mt_tensor *moved = NULL, *values = NULL, *counts = NULL;
    int64_t n = self->ndim ? self->size[dim] : 1, shape[2] = {n, n ? self->numel / n : 0};
    int rc = -1;

    MT_TRY(mt_transpose(&moved, self, 0, dim));
    MT_TRY(mt_reshape(rows, moved, (mt_ints){shape, 2}));
    MT_TRY(unique_flat(&values, ranks, &counts, *rows, true, true, false));
    rc = 0;
fail:
    mt_tensor_clear(&moved);
    mt_tensor_clear(&values);
    mt_tensor_clear(&counts);
    return rc;
}

static int unique_rows(mt_tensor **values, mt_tensor **inverse, mt_tensor **counts, mt_tensor *self, int64_t dim,
                       bool sort, bool return_inverse, bool return_counts)
{
    mt_tensor *rows = NULL, *ranks = NULL, *first = NULL;
    groups g = {NULL, NULL, 0};
    int64_t *order = NULL, *scratch = NULL, n, columns;
    bool *starts = NULL, grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_need_host_data(self, "unique_dim"));
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(rows_of(&rows, &ranks, self, dim));
    n = rows->size[0];
    columns = rows->size[1];
    MT_TRY(mt_malloc((void **)&order, (size_t)(n + 1) * 8));
    MT_TRY(mt_malloc((void **)&scratch, (size_t)(n + 1) * 8));
    MT_TRY(mt_malloc((void **)&starts, (size_t)n + 1));
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    if (sort)
        sort_rows(order, scratch, n, (const int64_t *)mt_tensor_const_data(ranks), columns);
    for (int64_t i = 0; i < n; i++)
        starts[i] =
            i == 0 || compare_rows((const int64_t *)mt_tensor_const_data(ranks), columns, order[i - 1], order[i]) != 0;
    MT_TRY(make_groups(&g, order, starts, n, self->device));
    MT_TRY(first_positions(&first, starts, n, g.n_groups, self->device));
    for (int64_t i = 0; i < g.n_groups; i++) { /* from sorted to original positions */
        int64_t *p = (int64_t *)mt_tensor_mutable_data(first) + i;

        *p = order[*p];
    }
    MT_TRY(mt_index_select(values, self, dim, first));
    if (finish_unique(inverse, counts, &g, return_inverse, return_counts, NULL) < 0) {
        mt_tensor_clear(values);
        goto fail;
    }
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_free(order);
    mt_free(scratch);
    mt_free(starts);
    mt_tensor_clear(&rows);
    mt_tensor_clear(&ranks);
    mt_tensor_clear(&first);
    mt_tensor_clear(&g.inverse);
    mt_tensor_clear(&g.counts);
    return rc;
}

int mt_impl_unique_dim(mt_tensor **values, mt_tensor **inverse, mt_tensor **counts, mt_tensor *self, int64_t dim,
                       bool sorted, bool return_inverse, bool return_counts)
{
    (void)sorted;
    return unique_rows(values, inverse, counts, self, dim, true, return_inverse, return_counts);
}

int mt_impl_unique_consecutive(mt_tensor **values, mt_tensor **inverse, mt_tensor **counts, mt_tensor *self,
                               bool return_inverse, bool return_counts, const int64_t *dim)
{
    if (!dim)
        return unique_flat(values, inverse, counts, self, false, return_inverse, return_counts);
    return unique_rows(values, inverse, counts, self, *dim, false, return_inverse, return_counts);
}
