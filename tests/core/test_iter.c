/* SPDX-License-Identifier: BSD-3-Clause */
/* The iterator against plain nested loops: random shapes, permutations, broadcasts, negative
   strides, casts, and the same answers for every number of threads. */
#include "check.h"

#include "base/parallel.h"
#include "core/iter.h"

static uint32_t state = 7;

static int pick(int n)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 10) % (uint32_t)n);
}

/* out = 1000 * a + b, for doubles */
static void combine(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    double factor = *(const double *)params;

    for (int64_t i = 0; i < n; i++)
        *(double *)(data[0] + i * stride[0]) =
            factor * *(const double *)(data[1] + i * stride[1]) + *(const double *)(data[2] + i * stride[2]);
}

/* A tensor with random memory order over a random shape that broadcasts to (ndim, size). */
static mt_tensor *random_operand(mt_dtype dtype, int ndim, const int64_t *size, bool may_broadcast)
{
    int64_t own[6], stride[6], step = 1;
    int order[6], lead = may_broadcast ? pick(ndim + 1) : 0, n = ndim - lead;
    mt_tensor *t;

    for (int i = 0; i < n; i++) {
        own[i] = may_broadcast && pick(4) == 0 ? 1 : size[lead + i];
        order[i] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        int j = pick(i + 1), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
    for (int i = n - 1; i >= 0; i--) {
        stride[order[i]] = step;
        step *= own[order[i]] + pick(2);
    }
    if (mt_tensor_new_strided(&t, dtype, n, own, stride, MT_CPU) < 0)
        exit(2);
    for (int64_t i = 0; i < (int64_t)(t->storage->nbytes / mt_tensor_itemsize(t)); i++)
        set_number(t, i, (double)(i % 97));
    return t;
}

static double broadcast_at(const mt_tensor *t, int ndim, const int64_t *index)
{
    int64_t flat = 0;

    for (int i = 0; i < t->ndim; i++)
        flat = flat * t->size[i] + (t->size[i] == 1 ? 0 : index[ndim - t->ndim + i]);
    return number_at(t, flat);
}

static void test_random(void)
{
    static const mt_dtype dtypes[] = {MT_DTYPE_f64, MT_DTYPE_f64, MT_DTYPE_f32,
                                      MT_DTYPE_i16, MT_DTYPE_c64, MT_DTYPE_i64};
    const uint8_t loop_dtype[3] = {MT_DTYPE_f64, MT_DTYPE_f64, MT_DTYPE_f64};
    double factor = 1000;

    for (int round = 0; round < 1500; round++) {
        int ndim = pick(6);
        int64_t size[6], index[6];
        mt_tensor *t[3];
        mt_iter it;
        bool same = true;

        for (int i = 0; i < ndim; i++)
            size[i] = pick(12) == 0 ? 0 : 1 + pick(round % 50 == 0 ? 40 : 6);
        if (round % 100 == 99 && ndim > 1) { /* tall: tiny last dim, long one before it */
            size[ndim - 1] = 3;
            size[ndim - 2] = 2000 + pick(100);
            for (int i = 0; i < ndim - 2; i++)
                size[i] = 2;
        }
        if (round % 30 == 7 && ndim > 0) { /* rows that are long enough to be taken one by one */
            size[ndim - 1] = 250 + pick(1200);
            for (int i = 0; i < ndim - 1; i++)
                size[i] = i + 3 < ndim ? 1 : 1 + pick(3);
        }
        if (round % 25 == 3 && ndim > 1) { /* planes for tiles */
            size[ndim - 1] = 10 + pick(150);
            size[ndim - 2] = 10 + pick(50);
            for (int i = 0; i < ndim - 2; i++)
                size[i] = i + 3 < ndim ? 1 : 1 + pick(3);
        }
        for (int k = 0; k < 3; k++)
            t[k] = random_operand(dtypes[round % 3 == 0 ? 0 : pick(6)], ndim, size, k > 0);
        mt_set_num_threads(1 + pick(4));
        CHECK(mt_iter_build(&it, t, 3, 1, ndim, size) == 0);
        CHECK(it.ndim >= 1 && it.ndim <= (ndim ? ndim : 1));
        mt_iter_run(&it, combine, &factor, loop_dtype, 50.0);
        for (int64_t flat = 0; flat < t[0]->numel && same; flat++) {
            int64_t rest = flat;
            double expected;

            for (int d = ndim - 1; d >= 0; d--) {
                index[d] = rest % size[d];
                rest /= size[d];
            }
            expected = 1000 * broadcast_at(t[1], ndim, index) + broadcast_at(t[2], ndim, index);
            if (t[0]->dtype == MT_DTYPE_i16)
                expected = (double)(int16_t)(int32_t)expected;
            same = number_at(t[0], flat) == expected;
        }
        CHECK(same);
        for (int k = 0; k < 3; k++)
            mt_tensor_unref(t[k]);
    }
}

static void count_calls(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    int64_t *log = *(int64_t *const *)params;

    (void)data;
    log[0]++;
    log[1] = n;
    log[2] = stride[0];
}

static void test_merging(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 3, SIZES(4, 5, 6)), *v = view(t, 3, SIZES(6, 4, 5), SIZES(1, 30, 6), 0);
    mt_tensor *w = view(t, 3, SIZES(4, 1, 6), SIZES(30, 6, 1), 0), *pair[2] = {t, w};
    int64_t log[3] = {0}, *p = log;
    mt_iter it;

    /* any permutation of dense memory is one row */
    CHECK(mt_iter_build(&it, &v, 1, 1, 3, v->size) == 0);
    CHECK(it.ndim == 1 && it.size[0] == 120 && it.stride[0][0] == 4);
    mt_iter_run_serial(&it, count_calls, &p);
    CHECK(log[0] == 1 && log[1] == 120 && log[2] == 4);
    CHECK(mt_iter_build(&it, pair, 2, 1, 3, t->size) == 0); /* w is broadcast along dim 1 */
    CHECK(it.ndim == 3 && it.size[0] == 6 && it.stride[1][1] == 0);
    mt_iter_init(&it, 1, 1, 2, SIZES(4, 8)); /* raw geometry, rows from the last to the first */
    mt_iter_set_operand(&it, 0, mt_tensor_mutable_data(t) + 3 * 32, MT_DTYPE_f32, SIZES(-32, 4));
    mt_iter_finish(&it);
    CHECK(it.ndim == 2 && it.size[0] == 8 && it.stride[0][1] == -32);
    mt_tensor_unref(w);
    mt_tensor_unref(v);
    mt_tensor_unref(t);
}

/* A transposed operand in ragged tiles, beside a contiguous output and a broadcast row. */
static void test_tiles(void)
{
    const uint8_t loop_dtype[3] = {MT_DTYPE_f64, MT_DTYPE_f64, MT_DTYPE_f64};
    const int64_t sizes[][3] = {{1, 16, 16}, {2, 37, 131}, {3, 50, 17}, {1, 200, 64}};
    double factor = 1000;

    for (size_t s = 0; s < MT_COUNTOF(sizes); s++) {
        int64_t planes = sizes[s][0], rows = sizes[s][1], columns = sizes[s][2];
        mt_tensor *base = make_range(MT_DTYPE_f64, 3, SIZES(planes, columns, rows));
        mt_tensor *t[3] = {
            make(MT_DTYPE_f64, 3, sizes[s]),
            view(base, 3, sizes[s], SIZES(rows * columns, 1, rows), 0),
            make_range(MT_DTYPE_f64, 1, SIZES(columns)),
        };
        mt_iter it;
        bool same = true;

        mt_set_num_threads(1 + (int)s);
        CHECK(mt_iter_build(&it, t, 3, 1, 3, sizes[s]) == 0);
        mt_iter_run(&it, combine, &factor, loop_dtype, 100.0);
        for (int64_t i = 0; i < t[0]->numel; i++)
            same &= number_at(t[0], i) == 1000 * number_at(t[1], i) + (double)(i % columns);
        CHECK(same);
        for (int k = 0; k < 3; k++)
            mt_tensor_unref(t[k]);
        mt_tensor_unref(base);
    }
}

int main(void)
{
    use_casts();
    test_random();
    test_tiles();
    test_merging();
    return check_done();
}
