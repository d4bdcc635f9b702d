/* SPDX-License-Identifier: BSD-3-Clause */
/* Class "fold": one accumulator per output. State: an array of the monoid's wide type. Included by
   loop_reduce.tmpl.h with OP and a dtype in scope. */

#define FOLD_OP OP
#define FOLD_STEM OP
#include "cpu/reduce_kernel.tmpl.h"
#undef FOLD_OP
#undef FOLD_STEM

#define WIDE_TYPE MT_FORMULA(MT_JOIN(MT_JOIN(MT_REDUCE_MONOID_, OP), _wide), S)
#define OF_MONOID(part) MT_FORMULA(MT_JOIN(MT_JOIN(MT_REDUCE_MONOID_, OP), part), S)
#define SYMBOL(part) MT_JOIN(MT_LOOP_SYMBOL(OP, XS), part)
#define FINISH MT_FORMULA(MT_JOIN(OP, _finish), S)

#if MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_TOTAL && (IS_INT || IS_BOOL)
#define RESULT int64_t
#define PUT(value) (value)
#elif MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_INDEX
#define RESULT int64_t
#define PUT(value) (value)
#elif MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_BYTE
#define RESULT uint8_t
#define PUT(value) (value)
#elif MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_REAL && IS_COMPLEX
#define RESULT REAL
#define PUT(value) (value)
#else
#define RESULT X
#define PUT(value) STORE_ONE(value)
#endif

static void SYMBOL(_init)(char *state, int64_t n_out, const void *params)
{
    WIDE_TYPE *s = (WIDE_TYPE *)(void *)state;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        s[k] = OF_MONOID(_widen)(OF_MONOID(_start)());
}

static void SYMBOL(_merge)(char *state, const char *other, int64_t n_out, const void *params)
{
    WIDE_TYPE *s = (WIDE_TYPE *)(void *)state;
    const WIDE_TYPE *o = (const WIDE_TYPE *)(const void *)other;

    (void)params;
    for (int64_t k = 0; k < n_out; k++)
        s[k] = OF_MONOID(_merge)(s[k], o[k]);
}

static void SYMBOL(_finish)(char *const *out, const int64_t *out_stride, const char *state, int64_t n_out,
                            int64_t count, const void *params)
{
    const WIDE_TYPE *s = (const WIDE_TYPE *)(const void *)state;

    for (int64_t k = 0; k < n_out; k++)
        *(RESULT *)(void *)(out[0] + k * out_stride[0]) = PUT(FINISH(s[k], count, params));
}

static const mt_reduce_loops MT_LOOP_SYMBOL(OP, XS) = {SYMBOL(_init), SYMBOL(_step), SYMBOL(_merge), SYMBOL(_finish),
                                                       sizeof(WIDE_TYPE)};

#undef WIDE_TYPE
#undef OF_MONOID
#undef SYMBOL
#undef FINISH
#undef RESULT
#undef PUT
