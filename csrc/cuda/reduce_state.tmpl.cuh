/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of one output by class of reduction (math/reduce.h): start, add an element, merge two states, finish. The
   formulas are those of the CPU; accumulation is in the wide type throughout. Included by loop_reduce.tmpl.cuh. */

#if MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_FOLD

typedef OF_MONOID(_wide) STATE;

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    (void)params;
    return OF_MONOID(_widen)(OF_MONOID(_start)());
}

static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    (void)index;
#if MT_JOIN(MT_REDUCE_RISKY_, OP)
    *s = OF_MONOID(_merge)(*s, OF_OP(_map_wide)(value, params));
#else
    *s = OF_MONOID(_merge)(*s, OF_MONOID(_widen)(OF_OP(_map)(value, params)));
#endif
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    (void)params;
    *s = OF_MONOID(_merge)(*s, *other);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    (void)more;
#if (MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_TOTAL && (IS_INT || IS_BOOL)) || \
    MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_INDEX
    *(int64_t *)out = OF_OP(_finish)(*s, count, params);
#elif MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_BYTE
    *(uint8_t *)out = OF_OP(_finish)(*s, count, params);
#elif MT_JOIN(MT_REDUCE_OUT_, OP) == MT_REDUCE_REAL && IS_COMPLEX
    *(REAL *)out = OF_OP(_finish)(*s, count, params);
#else
    *(X *)out = STORE(OF_OP(_finish)(*s, count, params));
#endif
}

#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_PICK

typedef struct STATE {
    T value;
    int64_t index; /* -1: nothing yet */
} STATE;

#define BEATS MT_FORMULA(MT_JOIN(MT_REDUCE_BEATS_, OP), S)

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    STATE s;

    (void)params;
    s.value = 0;
    s.index = -1;
    return s;
}

/* Of equal values the first one wins, in whatever order they come. */
static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    (void)params;
    if (s->index < 0 || BEATS(value, s->value) || (index < s->index && !BEATS(s->value, value))) {
        s->value = value;
        s->index = index;
    }
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    if (other->index >= 0)
        SYMBOL(_add)(s, other->value, other->index, params);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    (void)count, (void)params;
#if MT_JOIN(MT_REDUCE_VALUE_, OP)
    *(X *)out = STORE(s->value);
    *(int64_t *)more = s->index;
#else
    (void)more;
    *(int64_t *)out = s->index;
#endif
}

#undef BEATS

#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_MOMENT

/* Count, mean and sum of squared deviations; a complex number is two reals with one common sum. */
typedef struct STATE {
    double n, m2, mean[1 + IS_COMPLEX];
} STATE;

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    STATE s = {};

    (void)params;
    return s;
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    double total = s->n + other->n;

    (void)params;
    if (other->n == 0)
        return;
    if (s->n == 0) {
        *s = *other;
        return;
    }
    s->m2 += other->m2;
    for (int part = 0; part < 1 + IS_COMPLEX; part++) {
        double delta = other->mean[part] - s->mean[part];

        s->mean[part] += delta * (other->n / total);
        s->m2 += delta * delta * (s->n * (other->n / total));
    }
    s->n = total;
}

static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    STATE one = {};

    (void)index;
    one.n = 1;
#if IS_COMPLEX
    one.mean[0] = (double)value.re;
    one.mean[1] = (double)value.im;
#else
    one.mean[0] = (double)value;
#endif
    SYMBOL(_merge)(s, &one, params);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    double divisor = (double)count - params[0], value = s->m2 / (divisor > 0 ? divisor : 0);

#if MT_JOIN(MT_REDUCE_ROOT_, OP)
    value = sqrt(value);
#endif
#if IS_COMPLEX
    *(REAL *)out = (REAL)value;
#else
    *(X *)out = STORE((REAL)value);
#endif
#if MT_JOIN(MT_REDUCE_MEAN_, OP) && IS_COMPLEX
    *(X *)more =
        FN(make)((REAL)(count > 0 ? s->mean[0] : (double)MT_NAN), (REAL)(count > 0 ? s->mean[1] : (double)MT_NAN));
#elif MT_JOIN(MT_REDUCE_MEAN_, OP)
    *(X *)more = STORE((REAL)(count > 0 ? s->mean[0] : (double)MT_NAN));
#else
    (void)more;
#endif
}

#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_NORM

typedef double STATE;

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    return params[0] == -(double)MT_INF ? (double)MT_INF : 0.0;
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    *s = params[0] == (double)MT_INF    ? FN(real_max_merge)(*s, *other)
         : params[0] == -(double)MT_INF ? FN(real_min_merge)(*s, *other)
                                        : *s + *other;
}

static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    double p = params[0], one;

    (void)index;
    if (p == 2.0)
        one = FN(norm_two_map_wide)(value, params);
    else if (p == 0.0)
        one = (double)FN(norm_zero_map)(value, params);
    else if (p == 1.0 || fabs(p) == (double)MT_INF)
        one = (double)FN(norm_one_map)(value, params);
    else
        one = FN(norm_any_map)(value, params);
    SYMBOL(_merge)(s, &one, params);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    REAL value = FN(norm_finish)(*s, count, params);

    (void)more;
#if IS_COMPLEX
    *(REAL *)out = value;
#else
    *(X *)out = STORE(value);
#endif
}

#elif MT_JOIN(MT_REDUCE_CLASS_, OP) == MT_REDUCE_LOGSUM

/* The greatest element, and the sum of exponentials below it; an infinite or NaN one stands alone. */
typedef struct STATE {
    T top;
    double sum;
} STATE;

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    STATE s = {-(T)MT_INF, 0.0};

    (void)params;
    return s;
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    T top = FN(greatest_join)(s->top, other->top);

    (void)params;
    if (LIBM(fabs)(top) < (T)MT_INF) {
        s->sum = (s->sum != 0 ? s->sum * exp((double)s->top - (double)top) : 0.0) +
                 (other->sum != 0 ? other->sum * exp((double)other->top - (double)top) : 0.0);
    }
    s->top = top;
}

static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    STATE one = {value, 1.0};

    (void)index;
    SYMBOL(_merge)(s, &one, params);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    bool counts = LIBM(fabs)(s->top) < (T)MT_INF;

    (void)more, (void)count, (void)params;
    *(X *)out = STORE(counts ? (T)((double)s->top + log(s->sum)) : s->top);
}

#else /* MT_REDUCE_RANGE */

typedef struct STATE {
    T low, high;
} STATE;

static __device__ __forceinline__ STATE SYMBOL(_start)(const double *params)
{
    STATE s = {FN(least_start)(), FN(greatest_start)()};

    (void)params;
    return s;
}

static __device__ __forceinline__ void SYMBOL(_merge)(STATE *s, const STATE *other, const double *params)
{
    (void)params;
    s->low = FN(least_join)(s->low, other->low);
    s->high = FN(greatest_join)(s->high, other->high);
}

static __device__ __forceinline__ void SYMBOL(_add)(STATE *s, T value, int64_t index, const double *params)
{
    STATE one = {value, value};

    (void)index;
    SYMBOL(_merge)(s, &one, params);
}

static __device__ __forceinline__ void SYMBOL(_finish)(char *out, char *more, const STATE *s, int64_t count,
                                                       const double *params)
{
    (void)count, (void)params;
    *(X *)out = STORE(s->low);
    *(X *)more = STORE(s->high);
}

#endif
