/* SPDX-License-Identifier: BSD-3-Clause */
/* Short spellings for the graph programs: every call that must succeed goes through OK. */
#ifndef MT_TESTS_AUTOGRAD_GRAPH_H
#define MT_TESTS_AUTOGRAD_GRAPH_H

#include <math.h>

#include "autograd/autograd.h"
#include "check.h"
#include "ops.h"

#define OK(call) check_at((call) == 0, #call, __FILE__, __LINE__)

static inline mt_tensor *plain(int ndim, const int64_t *size)
{
    mt_tensor *t = make(MT_DTYPE_f64, ndim, size);

    for (int64_t i = 0; i < t->numel; i++)
        set_number(t, i, (double)(i + 1));
    return t;
}

static inline mt_tensor *leaf(int ndim, const int64_t *size)
{
    mt_tensor *t = plain(ndim, size);

    OK(mt_autograd_set_requires_grad(t, true));
    return t;
}

static inline mt_tensor *add(mt_tensor *a, mt_tensor *b)
{
    mt_tensor *r;

    OK(mt_add(&r, a, b, mt_scalar_from_int(1)));
    return r;
}

static inline mt_tensor *mul(mt_tensor *a, mt_tensor *b)
{
    mt_tensor *r;

    OK(mt_mul(&r, a, b));
    return r;
}

static inline mt_tensor *exponential(mt_tensor *a)
{
    mt_tensor *r;

    OK(mt_exp(&r, a));
    return r;
}

static inline mt_tensor *clone(mt_tensor *a)
{
    mt_tensor *r;

    OK(mt_clone(&r, a, MT_FORMAT_PRESERVE));
    return r;
}

/* Elements [from, from + n) of a vector. */
static inline mt_tensor *part(mt_tensor *a, int64_t from, int64_t n)
{
    mt_tensor *r;
    int64_t offset = a->offset + from * a->stride[0];

    OK(mt_as_strided(&r, a, (mt_ints){&n, 1}, (mt_ints){a->stride, 1}, &offset));
    return r;
}

static inline mt_tensor *total(mt_tensor *a)
{
    mt_tensor *kept, *r;
    int64_t dims[] = {0, 1, 2, 3};

    OK(mt_sum_dim_IntList(&kept, a, (mt_ints){dims, a->ndim}, true, MT_DTYPE_NONE));
    OK(mt_view(&r, kept, (mt_ints){NULL, 0}));
    mt_tensor_unref(kept);
    return r;
}

static inline int backward(mt_tensor *t, unsigned flags)
{
    mt_endpoint e = {t, NULL, 0};

    return mt_engine_run(NULL, &e, NULL, 1, NULL, -1, flags | MT_RUN_ACCUMULATE);
}

static inline int gradient(mt_tensor **out, mt_tensor *of, mt_tensor *with_respect_to, unsigned flags)
{
    mt_endpoint e = {of, NULL, 0}, i = {with_respect_to, NULL, 0};

    return mt_engine_run(out, &e, NULL, 1, &i, 1, flags);
}

static inline double grad_at(const mt_tensor *t, int64_t i)
{
    return mt_autograd_grad(t) ? number_at(mt_autograd_grad(t), i) : -1e9;
}

#define DROP(...) drop_all((mt_tensor *[]){__VA_ARGS__, NULL})
static inline void drop_all(mt_tensor **list)
{
    for (; *list; list++)
        mt_tensor_unref(*list);
}

#endif
