/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction kernel with loops of this file against plain loops: random shapes, orders and dims,
   split and unsplit, positions for argmax, dtypes of results and outputs, and the same bits for
   every number of threads. */
#include "check.h"

#include <math.h>

#include "base/parallel.h"
#include "ops/meta.h"

/* --- loops --- */

static void sum_init(char *state, int64_t n, const void *params)
{
    (void)params;
    memset(state, 0, (size_t)n * sizeof(double));
}

#define SUM_STEP(name, type)                                                                                          \
    static void name(char *state, const char *in, int64_t n_out, int64_t os, int64_t n_in, int64_t is, int64_t first, \
                     const void *params)                                                                              \
    {                                                                                                                 \
        (void)first, (void)params;                                                                                    \
        for (int64_t o = 0; o < n_out; o++)                                                                           \
            for (int64_t i = 0; i < n_in; i++)                                                                        \
                ((double *)(void *)state)[o] += (double)*(const type *)(const void *)(in + o * os + i * is);          \
    }
SUM_STEP(sum_step_f32, float)
SUM_STEP(sum_step_f64, double)
SUM_STEP(sum_step_i32, int32_t)

static void sum_merge(char *state, const char *other, int64_t n, const void *params)
{
    (void)params;
    for (int64_t o = 0; o < n; o++)
        ((double *)(void *)state)[o] += ((const double *)(const void *)other)[o];
}

#define SUM_FINISH(name, type)                                                                        \
    static void name(char *const *out, const int64_t *s, const char *state, int64_t n, int64_t count, \
                     const void *params)                                                              \
    {                                                                                                 \
        (void)count, (void)params;                                                                    \
        for (int64_t o = 0; o < n; o++)                                                               \
            *(type *)(void *)(out[0] + o * s[0]) = (type)((const double *)(const void *)state)[o];    \
    }
SUM_FINISH(sum_finish_f32, float)
SUM_FINISH(sum_finish_f64, double)
SUM_FINISH(sum_finish_i64, int64_t)

static const mt_reduce_loops sum_f32 = {sum_init, sum_step_f32, sum_merge, sum_finish_f32, 8};
static const mt_reduce_loops sum_f64 = {sum_init, sum_step_f64, sum_merge, sum_finish_f64, 8};
static const mt_reduce_loops sum_i32 = {sum_init, sum_step_i32, sum_merge, sum_finish_i64, 8};

typedef struct best {
    double value;
    int64_t index;
} best;

static void max_init(char *state, int64_t n, const void *params)
{
    (void)params;
    for (int64_t o = 0; o < n; o++)
        ((best *)(void *)state)[o] = (best){-INFINITY, 0};
}

static void max_step(char *state, const char *in, int64_t n_out, int64_t os, int64_t n_in, int64_t is, int64_t first,
                     const void *params)
{
    (void)params;
    for (int64_t o = 0; o < n_out; o++) {
        best *b = (best *)(void *)state + o;

        for (int64_t i = 0; i < n_in; i++) {
            double v = (double)*(const float *)(const void *)(in + o * os + i * is);

            if (v > b->value)
                *b = (best){v, first + i};
        }
    }
}

static void max_merge(char *state, const char *other, int64_t n, const void *params)
{
    (void)params;
    for (int64_t o = 0; o < n; o++)
        if (((const best *)(const void *)other)[o].value > ((best *)(void *)state)[o].value)
            ((best *)(void *)state)[o] = ((const best *)(const void *)other)[o];
}

static void max_finish(char *const *out, const int64_t *s, const char *state, int64_t n, int64_t count,
                       const void *params)
{
    (void)count, (void)params;
    for (int64_t o = 0; o < n; o++) {
        *(float *)(void *)(out[0] + o * s[0]) = (float)((const best *)(const void *)state)[o].value;
        *(int64_t *)(void *)(out[1] + o * s[1]) = ((const best *)(const void *)state)[o].index;
    }
}

static const mt_reduce_loops max_f32 = {max_init, max_step, max_merge, max_finish, 16};
static const mt_reduce_row rows[] = {
    {[MT_DTYPE_f32] = &sum_f32, [MT_DTYPE_f64] = &sum_f64, [MT_DTYPE_i32] = &sum_i32},
    {[MT_DTYPE_f32] = &max_f32},
};

/* --- ops --- */

static const mt_arg_spec args[] = {
    {.name = "self", .kind = MT_ARG_TENSOR},
    {.name = "dim", .kind = MT_ARG_INTS},
    {.name = "keepdim", .kind = MT_ARG_BOOL},
    {.name = "dtype", .kind = MT_ARG_DTYPE},
};
enum { ALL = (1 << MT_DTYPE_f32) | (1 << MT_DTYPE_f64) | (1 << MT_DTYPE_i32) };
static const mt_reduce_spec sum_spec = {0, MT_REDUCE_SUM, 1, 2, 3, 0, {0}, ALL, true, false};
static const mt_op sum = {.name = "sum",
                          .args = args,
                          .n_args = 4,
                          .n_outs = 1,
                          .meta = mt_meta_reduce,
                          .reduce = &sum_spec,
                          .kernel = {[MT_KEY_CPU] = mt_reduce_kernel}};
static const mt_reduce_spec mean_spec = {0, MT_REDUCE_FLOAT, 1, 2, 3, 0, {0}, ALL, true, false};
static const mt_op mean = {.name = "mean",
                           .args = args,
                           .n_args = 4,
                           .n_outs = 1,
                           .meta = mt_meta_reduce,
                           .reduce = &mean_spec,
                           .kernel = {[MT_KEY_CPU] = mt_reduce_kernel}};
static const mt_reduce_spec max_spec = {1, MT_REDUCE_SAME, 1, 2, -1, 0, {0}, 1 << MT_DTYPE_f32, false, true};
static const mt_op max = {.name = "max",
                          .args = args,
                          .n_args = 3,
                          .n_outs = 2,
                          .meta = mt_meta_reduce,
                          .reduce = &max_spec,
                          .kernel = {[MT_KEY_CPU] = mt_reduce_kernel}};

static int reduce(mt_tensor **result, const mt_op *op, mt_tensor *self, const int64_t *dims, int n_dims, bool keepdim,
                  mt_dtype dtype, mt_tensor *out)
{
    mt_call call;
    int rc;

    mt_call_init(&call, op, out ? MT_VARIANT_OUT : MT_VARIANT_FUNCTION);
    call.arg[0] = (mt_value){MT_ARG_TENSOR, {.tensor = self}};
    call.arg[1] = (mt_value){n_dims < 0 ? MT_ARG_NONE : MT_ARG_INTS, {.ints = {dims, n_dims}}};
    call.arg[2] = (mt_value){MT_ARG_BOOL, {.b = keepdim}};
    call.arg[3] = (mt_value){dtype == MT_DTYPE_NONE ? MT_ARG_NONE : MT_ARG_DTYPE, {.i = dtype}};
    if (out)
        call.out[0] = mt_tensor_ref(out);
    rc = mt_dispatch(&call);
    for (int k = 0; k < op->n_outs; k++)
        result[k] = rc == 0 ? mt_tensor_move(&call.out[k]) : NULL;
    mt_call_clear(&call);
    return rc;
}

/* --- random cases --- */

static uint32_t seed = 3;

static int pick(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 10) % (uint32_t)n);
}

static mt_tensor *random_tensor(int ndim, const int64_t *size)
{
    int64_t stride[5], step = 1;
    int order[5];
    mt_tensor *t;

    for (int i = 0; i < ndim; i++)
        order[i] = i;
    for (int i = ndim - 1; i > 0; i--) {
        int j = pick(i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = ndim - 1; i >= 0; i--) {
        stride[order[i]] = size[order[i]] > 1 && pick(10) == 0 ? 0 : step;
        step *= size[order[i]] + (pick(4) == 0);
    }
    if (mt_tensor_new_strided(&t, MT_DTYPE_f32, ndim, size, stride, MT_CPU) < 0)
        exit(2);
    for (int64_t i = 0; i < (int64_t)(t->storage->nbytes / 4); i++)
        set_number(t, i, (double)(pick(2001) - 1000));
    return t;
}

/* Sum, maximum and its position for every output, the slow way; positions count reduced elements in
   logical order. */
static bool agrees(const mt_tensor *t, uint64_t mask, const mt_tensor *total, mt_tensor *const *best_of)
{
    static double sums[200000], highs[200000];
    static int64_t at[200000];
    int64_t n_out = total->numel;

    for (int64_t i = 0; i < n_out; i++) {
        sums[i] = 0;
        highs[i] = -INFINITY;
    }
    for (int64_t flat = 0; flat < t->numel; flat++) {
        int64_t rest = flat, o = 0, position = 0, os = 1, ps = 1;
        double v = number_at(t, flat);

        for (int d = t->ndim - 1; d >= 0; d--) {
            int64_t i = rest % t->size[d];

            rest /= t->size[d];
            if (mask >> d & 1) {
                position += i * ps;
                ps *= t->size[d];
            } else {
                o += i * os;
                os *= t->size[d];
            }
        }
        sums[o] += v;
        if (v > highs[o]) {
            highs[o] = v;
            at[o] = position;
        }
    }
    for (int64_t i = 0; i < n_out; i++) {
        if (number_at(total, i) != (total->dtype == MT_DTYPE_f32 ? (double)(float)sums[i] : sums[i]))
            return false;
        if (best_of && t->numel && (number_at(best_of[0], i) != highs[i] || number_at(best_of[1], i) != (double)at[i]))
            return false;
    }
    return true;
}

static void test_random(void)
{
    for (int round = 0; round < 300; round++) {
        int ndim = pick(5), n_dims = 0;
        int64_t size[5], dims[5];
        uint64_t mask = 0;
        mt_tensor *t, *total, *pair[2] = {NULL, NULL};
        bool keepdim = pick(2);

        for (int i = 0; i < ndim; i++) {
            size[i] = 1 + pick(round % 10 == 0 ? 20 : 5);
            if (round % 4 == 0 && i == pick(ndim))
                size[i] = 1 + pick(round % 8 ? 1500 : 200);
        }
        for (int64_t numel = 1, i = 0; i < ndim; i++) { /* the slow way must stay bearable */
            if (numel * size[i] > 60000)
                size[i] = 1;
            numel *= size[i];
        }
        for (int i = 0; i < ndim; i++)
            if (pick(2)) {
                dims[n_dims++] = pick(2) ? i : i - ndim;
                mask |= UINT64_C(1) << i;
            }
        if (n_dims == 0)
            mask = ~UINT64_C(0);
        t = random_tensor(ndim, size);
        mt_set_num_threads(1 + pick(4));
        CHECK(reduce(&total, &sum, t, dims, n_dims, keepdim, MT_DTYPE_NONE, NULL) == 0);
        CHECK(total->ndim == (keepdim ? ndim : n_dims == 0 ? 0 : ndim - n_dims));
        CHECK(reduce(pair, &max, t, dims, n_dims, keepdim, MT_DTYPE_NONE, NULL) == 0);
        CHECK(agrees(t, mask, total, pair));
        mt_tensor_unref(total);
        mt_tensor_unref(pair[0]);
        mt_tensor_unref(pair[1]);
        mt_tensor_unref(t);
    }
}

/* Sizes that are split into blocks: rows, columns, everything, and inner dims that do not merge. */
static void test_split(void)
{
    static const int64_t shapes[][3] = {{1, 1, 200000}, {3, 1, 70000}, {70000, 1, 3},
                                        {3, 40000, 2},  {2, 3, 40000}, {40, 1, 4000}};
    static const int64_t dims[][2] = {{0, 1}, {1, 2}, {0, 2}, {2, 2}, {0, 0}, {1, 1}};
    double first_bits = 0;

    for (size_t s = 0; s < MT_COUNTOF(shapes); s++)
        for (size_t d = 0; d < MT_COUNTOF(dims); d++) {
            int n = dims[d][0] == dims[d][1] ? 1 : 2;
            uint64_t mask = UINT64_C(1) << dims[d][0] | UINT64_C(1) << dims[d][n - 1];
            mt_tensor *t = make(MT_DTYPE_f32, 3, shapes[s]), *total, *pair[2];

            if (t->numel / (shapes[s][dims[d][0]] * (n == 2 ? shapes[s][dims[d][1]] : 1)) > 200000) {
                mt_tensor_unref(t);
                continue;
            }
            for (int64_t i = 0; i < t->numel; i++)
                set_number(t, i, (double)((i * 7919) % 1009));
            mt_set_num_threads((int)(1 + d % 3));
            CHECK(reduce(&total, &sum, t, dims[d], n, false, MT_DTYPE_f64, NULL) == 0 && total->dtype == MT_DTYPE_f64);
            CHECK(reduce(pair, &max, t, dims[d], n, false, MT_DTYPE_NONE, NULL) == 0);
            CHECK(agrees(t, mask, total, pair));
            mt_tensor_unref(total);
            mt_tensor_unref(pair[0]);
            mt_tensor_unref(pair[1]);
            mt_tensor_unref(t);
        }
    /* sums that are inexact, the same for every number of threads */
    for (int threads = 1; threads <= 4; threads++) {
        mt_tensor *t = make(MT_DTYPE_f64, 1, SIZES(700000)), *total;

        for (int64_t i = 0; i < t->numel; i++)
            set_number(t, i, 1.0 / (double)(i + 1));
        mt_set_num_threads(threads);
        CHECK(reduce(&total, &sum, t, NULL, -1, false, MT_DTYPE_NONE, NULL) == 0);
        if (threads == 1)
            first_bits = number_at(total, 0);
        CHECK(number_at(total, 0) == first_bits);
        mt_tensor_unref(total);
        mt_tensor_unref(t);
    }
}

static void test_dtypes(void)
{
    mt_tensor *t = make_range(MT_DTYPE_i32, 2, SIZES(2, 3)), *f = make_range(MT_DTYPE_f32, 2, SIZES(2, 3)), *r[2], *out;
    mt_tensor *b = make_range(MT_DTYPE_b8, 1, SIZES(4));

    CHECK(reduce(r, &sum, t, SIZES(1), 1, false, MT_DTYPE_NONE, NULL) == 0 && r[0]->dtype == MT_DTYPE_i64 &&
          number_at(r[0], 1) == 12);
    mt_tensor_unref(r[0]);
    CHECK(reduce(r, &sum, f, SIZES(1), 1, true, MT_DTYPE_i32, NULL) == 0 && r[0]->dtype == MT_DTYPE_i32 &&
          r[0]->ndim == 2 && number_at(r[0], 1) == 12);
    mt_tensor_unref(r[0]);
    out = make(MT_DTYPE_f64, 1, SIZES(2));
    CHECK(reduce(r, &sum, t, SIZES(1), 1, false, MT_DTYPE_NONE, out) == 0 && r[0] == out && number_at(out, 0) == 3);
    mt_tensor_unref(r[0]);
    mt_tensor_unref(out);
    CHECK_ERROR(reduce(r, &mean, t, NULL, -1, false, MT_DTYPE_NONE, NULL), MT_ERR_RUNTIME,
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                "or complex dtype. Got: Int");
    CHECK_ERROR(reduce(r, &mean, f, NULL, -1, false, MT_DTYPE_i64, NULL), MT_ERR_RUNTIME, "Optional dtype must be");
    CHECK_ERROR(reduce(r, &sum, b, NULL, -1, false, MT_DTYPE_NONE, NULL), MT_ERR_NOT_IMPLEMENTED,
                "\"sum_cpu\" not implemented for 'Bool'");
    out = make(MT_DTYPE_f64, 0, NULL);
    CHECK_ERROR(reduce(r, &max, f, NULL, -1, false, MT_DTYPE_NONE, out), MT_ERR_RUNTIME,
                "Expected out tensor to have dtype float, but got double instead");
    mt_tensor_unref(out);
    CHECK_ERROR(reduce(r, &sum, f, SIZES(5), 1, false, MT_DTYPE_NONE, NULL), MT_ERR_INDEX,
                "Dimension out of range (expected to be in range of [-2, 1], but got 5)");
    CHECK_ERROR(reduce(r, &sum, f, SIZES(0, -2), 2, false, MT_DTYPE_NONE, NULL), MT_ERR_RUNTIME,
                "appears multiple times");
    mt_tensor_unref(t);
    mt_tensor_unref(f);
    mt_tensor_unref(b);
}

static void test_empty(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 2, SIZES(0, 3)), *r[2];

    CHECK(reduce(r, &sum, t, SIZES(0), 1, false, MT_DTYPE_NONE, NULL) == 0 && r[0]->numel == 3 &&
          number_at(r[0], 2) == 0);
    mt_tensor_unref(r[0]);
    CHECK(reduce(r, &max, t, SIZES(1), 1, false, MT_DTYPE_NONE, NULL) == 0 && r[1]->numel == 0);
    mt_tensor_unref(r[0]);
    mt_tensor_unref(r[1]);
    CHECK_ERROR(reduce(r, &max, t, SIZES(0), 1, false, MT_DTYPE_NONE, NULL), MT_ERR_INDEX,
                "max(): Expected reduction dim 0 to have non-zero size.");
    CHECK_ERROR(reduce(r, &max, t, NULL, -1, false, MT_DTYPE_NONE, NULL), MT_ERR_RUNTIME,
                "max(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                "reduction dim with the 'dim' argument.");
    mt_tensor_unref(t);
}

int main(void)
{
    use_casts();
    mt_reduce_tables[MT_DEVICE_CPU] = rows;
    test_random();
    test_split();
    test_dtypes();
    test_empty();
    return check_done();
}
