/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "norm": the fold depends on the number p. State: a double. Included by loop_reduce.tmpl.h
   with OP and a dtype in scope. */

#define FOLD_OP norm_zero
#define FOLD_STEM norm_zero
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP norm_one
#define FOLD_STEM norm_one
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP norm_two
#define FOLD_STEM norm_two
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP norm_inf
#define FOLD_STEM norm_inf
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP norm_ninf
#define FOLD_STEM norm_ninf
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM
#define FOLD_OP norm_any
#define FOLD_STEM norm_any
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM

#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define STEP_OF(fold) MT_JOIN(MT_LOOP_SYMBOL(fold, XS), _step)

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    double *s = (double *)(void *)state, p = ((const double *)params)[0];
    double start = p == -(double)MT_INF ? (double)MT_INF : 0.0;

    for (int64_t k = 0; k < n_out; k++)
        s[k] = start;
}

static void SYMBOL(_step)(char *state, const char *in, int64_t n_out, int64_t out_stride, int64_t n_in,
                          int64_t in_stride, int64_t first, const void *params)
{
    double p = ((const double *)params)[0];

    if (p == 2.0)
        STEP_OF(norm_two)(state, in, n_out, out_stride, n_in, in_stride, first, params);
    else if (p == 1.0)
        STEP_OF(norm_one)(state, in, n_out, out_stride, n_in, in_stride, first, params);
    else if (p == 0.0)
        STEP_OF(norm_zero)(state, in, n_out, out_stride, n_in, in_stride, first, params);
    else if (p == (double)MT_INF)
        STEP_OF(norm_inf)(state, in, n_out, out_stride, n_in, in_stride, first, params);
    else if (p == -(double)MT_INF)
        STEP_OF(norm_ninf)(state, in, n_out, out_stride, n_in, in_stride, first, params);
    else
        STEP_OF(norm_any)(state, in, n_out, out_stride, n_in, in_stride, first, params);
}

static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    double *s = (double *)(void *)state, p = ((const double *)params)[0];
    const double *o = (const double *)(const void *)other;

    for (int64_t k = 0; k < n_out; k++)
        s[k] = p == (double)MT_INF    ? FN(real_max_merge)(s[k], o[k])
               : p == -(double)MT_INF ? FN(real_min_merge)(s[k], o[k])
                                      : s[k] + o[k];
}

static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const double *s = (const double *)(const void *)state;

    for (int64_t k = 0; k < n_out; k++) {
        REAL value = FN(norm_finish)(s[k], count, params);

#if IS_COMPLEX
        *(REAL *)(void *)(out[0] + k * out_stride[0]) = value;
#else
        *(X *)(void *)(out[0] + k * out_stride[0]) = STORE_ONE(value);
#endif
    }
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(double)};

#undef SYMBOL
#undef STEP_OF
