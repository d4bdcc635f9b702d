/* SPDX-License-Identifier: BSD-3-Clause */
/* What the C test programs of this folder share: CHECK, expected errors, and small tensors. Each
   program has a main that runs its cases and ends with check_done(). */
#ifndef MT_TESTS_CORE_CHECK_H
#define MT_TESTS_CORE_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "cpu/isa.h"

static int check_failures;

static inline void check_at(bool ok, const char *text, const char *file, int line)
{
    if (ok)
        return;
    check_failures++;
    fprintf(stderr, "%s:%d: failed: %s (last error: %s)\n", file, line, text, mt_error_message());
}
#define CHECK(cond) check_at((cond), #cond, __FILE__, __LINE__)
#define CHECK_ERROR(call, kind, part) check_error_at((call), (kind), (part), #call, __FILE__, __LINE__)

static inline void check_error_at(int rc, mt_error_kind kind, const char *part, const char *text, const char *file,
                                  int line)
{
    check_at(rc == -1 && mt_error_get() == kind && strstr(mt_error_message(), part), text, file, line);
    mt_error_clear();
}

static inline int check_done(void)
{
    mt_alloc_stats stats;

    mt_alloc_get_stats(&stats);
    if (stats.live_blocks != 0) {
        fprintf(stderr, "%llu blocks leaked\n", (unsigned long long)stats.live_blocks);
        check_failures++;
    }
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures != 0;
}

/* --- tensors --- */

#define SIZES(...)    \
    (const int64_t[]) \
    {                 \
        __VA_ARGS__   \
    }

static inline mt_tensor *make(mt_dtype dtype, int ndim, const int64_t *size)
{
    mt_tensor *t;

    if (mt_tensor_new(&t, dtype, ndim, size, MT_CPU) < 0) {
        fprintf(stderr, "make: %s\n", mt_error_message());
        exit(2);
    }
    return t;
}

static inline void set_number(mt_tensor *t, int64_t i, double value)
{
    mt_scalar_store(mt_tensor_mutable_data(t) + i * (int64_t)mt_tensor_itemsize(t), (mt_dtype)t->dtype,
                    mt_scalar_from_double(value));
}

/* 0, 1, 2, ... in memory order */
static inline mt_tensor *make_range(mt_dtype dtype, int ndim, const int64_t *size)
{
    mt_tensor *t = make(dtype, ndim, size);

    for (int64_t i = 0; i < t->numel; i++)
        set_number(t, i, (double)i);
    return t;
}

/* Element at a logical (row-major) position. */
static inline double number_at(const mt_tensor *t, int64_t flat)
{
    int64_t at = 0;

    for (int d = t->ndim - 1; d >= 0; d--) {
        at += flat % t->size[d] * t->stride[d];
        flat /= t->size[d];
    }
    return mt_scalar_to_double(
        mt_scalar_load(mt_tensor_const_data(t) + at * (int64_t)mt_tensor_itemsize(t), (mt_dtype)t->dtype));
}

static inline mt_tensor *view(mt_tensor *t, int ndim, const int64_t *size, const int64_t *stride, int64_t offset)
{
    mt_tensor *v;

    if (mt_tensor_new_view(&v, t, ndim, size, stride, offset) < 0)
        exit(2);
    return v;
}

static inline mt_tensor *transposed(mt_tensor *t)
{
    return view(t, 2, SIZES(t->size[1], t->size[0]), SIZES(t->stride[1], t->stride[0]), t->offset);
}

/* The casts of the baseline, without the loops of the generated catalog. */
extern mt_cast_fn *const mt_casts_v2[MT_DTYPE_LOOPS][MT_DTYPE_LOOPS];
static inline void use_casts(void)
{
    mt_cpu_use_casts(mt_casts_v2);
}

#endif
