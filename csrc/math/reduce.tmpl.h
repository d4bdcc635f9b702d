/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions as formulas. A reduction that keeps one number is a map of the element, a monoid that
   joins two partial results, and a finish. A monoid has two types: the lane, which many short
   partial results use side by side, and the wide, which survives a whole reduction. Which op uses
   which monoid is listed in reduce.h. Numbers handed to a reduction are doubles, whatever the
   dtype. */
#ifndef T
#include "math/dtype/f32.h"
#endif

/* --- monoids: <name>_lane, <name>_wide, start, join, widen, merge --- */

typedef LANE FN(add_lane);
typedef WIDE FN(add_wide);
typedef T FN(greatest_lane);
typedef T FN(greatest_wide);
typedef T FN(least_lane);
typedef T FN(least_wide);

#if IS_COMPLEX

MT_HD LANE FN(add_start)(void)
{
    return FN(make)(0, 0);
}

MT_HD LANE FN(add_join)(LANE a, LANE b)
{
    return FN(plus)(a, b);
}

MT_HD WIDE FN(add_widen)(LANE a)
{
    return FN(widen)(a);
}

MT_HD WIDE FN(add_merge)(WIDE a, WIDE b)
{
    return mt_z_make(a.re + b.re, a.im + b.im);
}

typedef WIDE FN(mul_lane);
typedef WIDE FN(mul_wide);

MT_HD WIDE FN(mul_start)(void)
{
    return mt_z_make(1.0, 0.0);
}

MT_HD WIDE FN(mul_join)(WIDE a, WIDE b)
{
    return mt_z_make(MT_ROUNDED(a.re * b.re) - MT_ROUNDED(a.im * b.im),
                     MT_ROUNDED(a.re * b.im) + MT_ROUNDED(a.im * b.re));
}

MT_HD WIDE FN(mul_widen)(WIDE a)
{
    return a;
}

MT_HD WIDE FN(mul_merge)(WIDE a, WIDE b)
{
    return FN(mul_join)(a, b);
}

#else

MT_HD LANE FN(add_start)(void)
{
    return 0;
}

/* Integers wrap; a lane is only 32 bits wide where a block cannot overflow it. */
MT_HD LANE FN(add_join)(LANE a, LANE b)
{
#if IS_FLOAT
    return a + b;
#else
    return (LANE)((uint64_t)a + (uint64_t)b);
#endif
}

MT_HD WIDE FN(add_widen)(LANE a)
{
    return (WIDE)a;
}

MT_HD WIDE FN(add_merge)(WIDE a, WIDE b)
{
#if IS_FLOAT
    return a + b;
#else
    return (WIDE)((uint64_t)a + (uint64_t)b);
#endif
}

#if IS_FLOAT
typedef LANE FN(mul_lane);
#else
typedef int64_t FN(mul_lane);
#endif
typedef WIDE FN(mul_wide);

MT_HD FN(mul_lane) FN(mul_start)(void)
{
    return 1;
}

MT_HD FN(mul_lane) FN(mul_join)(FN(mul_lane) a, FN(mul_lane) b)
{
#if IS_FLOAT
    return a * b;
#else
    return (int64_t)((uint64_t)a * (uint64_t)b);
#endif
}

MT_HD WIDE FN(mul_widen)(FN(mul_lane) a)
{
    return (WIDE)a;
}

MT_HD WIDE FN(mul_merge)(WIDE a, WIDE b)
{
#if IS_FLOAT
    return a * b;
#else
    return (WIDE)((uint64_t)a * (uint64_t)b);
#endif
}

/* Order: NaN wins. Empty reductions never finish, so the start only has to lose. */
MT_HD T FN(greatest_start)(void)
{
#if IS_FLOAT
    return -(T)MT_INF;
#elif IS_SIGNED
    return (T)((U)1 << (BITS - 1));
#else
    return 0;
#endif
}

MT_HD T FN(least_start)(void)
{
#if IS_FLOAT
    return (T)MT_INF;
#elif IS_SIGNED
    return (T)(((U)1 << (BITS - 1)) - 1);
#elif IS_BOOL
    return 1;
#else
    return (T) ~(T)0;
#endif
}

MT_HD T FN(greatest_join)(T a, T b)
{
    T r = a > b ? a : b;

    return ISNAN(a) ? a : r;
}

MT_HD T FN(least_join)(T a, T b)
{
    T r = a < b ? a : b;

    return ISNAN(a) ? a : r;
}

MT_HD T FN(greatest_widen)(T a)
{
    return a;
}

MT_HD T FN(least_widen)(T a)
{
    return a;
}

MT_HD T FN(greatest_merge)(T a, T b)
{
    return FN(greatest_join)(a, b);
}

MT_HD T FN(least_merge)(T a, T b)
{
    return FN(least_join)(a, b);
}

MT_HD T FN(amax_map)(T a, const double *params)
{
    (void)params;
    return a;
}

MT_HD T FN(amin_map)(T a, const double *params)
{
    (void)params;
    return a;
}

MT_HD T FN(amax_finish)(T a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return a;
}

MT_HD T FN(amin_finish)(T a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return a;
}

/* Does a displace b, which came earlier? */
MT_HD bool FN(beats_max)(T a, T b)
{
    return (a > b) | (ISNAN(a) & !ISNAN(b));
}

MT_HD bool FN(beats_min)(T a, T b)
{
    return (a < b) | (ISNAN(a) & !ISNAN(b));
}

#endif

/* Truth values and counts, in lanes as wide as the element so that loops stay in step. */
#if IS_COMPLEX || BITS == 64
typedef uint64_t FN(flag);
#elif BITS == 32
typedef uint32_t FN(flag);
#elif BITS == 16
typedef uint16_t FN(flag);
#else
typedef uint8_t FN(flag);
#endif
typedef FN(flag) FN(either_lane);
typedef uint8_t FN(either_wide);
typedef FN(flag) FN(both_lane);
typedef uint8_t FN(both_wide);

MT_HD FN(flag) FN(either_start)(void)
{
    return 0;
}

MT_HD FN(flag) FN(both_start)(void)
{
    return 1;
}

MT_HD FN(flag) FN(either_join)(FN(flag) a, FN(flag) b)
{
    return a | b;
}

MT_HD FN(flag) FN(both_join)(FN(flag) a, FN(flag) b)
{
    return a & b;
}

MT_HD uint8_t FN(either_widen)(FN(flag) a)
{
    return (uint8_t)a;
}

MT_HD uint8_t FN(both_widen)(FN(flag) a)
{
    return (uint8_t)a;
}

MT_HD uint8_t FN(either_merge)(uint8_t a, uint8_t b)
{
    return a | b;
}

MT_HD uint8_t FN(both_merge)(uint8_t a, uint8_t b)
{
    return a & b;
}

#if BITS == 64
typedef int64_t FN(count_lane);
#else
typedef int32_t FN(count_lane);
#endif
typedef int64_t FN(count_wide);

MT_HD FN(count_lane) FN(count_start)(void)
{
    return 0;
}

MT_HD FN(count_lane) FN(count_join)(FN(count_lane) a, FN(count_lane) b)
{
    return a + b;
}

MT_HD int64_t FN(count_widen)(FN(count_lane) a)
{
    return a;
}

MT_HD int64_t FN(count_merge)(int64_t a, int64_t b)
{
    return a + b;
}

/* --- maps and finishes of the sums --- */

MT_HD bool FN(is_true)(T a)
{
#if IS_COMPLEX
    return !FN(is_zero)(a);
#else
    return a != 0;
#endif
}

MT_HD LANE FN(sum_map)(T a, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return a;
#else
    return (LANE)a;
#endif
}

MT_HD LANE FN(nansum_map)(T a, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return ISNAN(a) ? FN(make)(0, 0) : a;
#else
    return ISNAN(a) ? (LANE)0 : (LANE)a;
#endif
}

MT_HD FN(mul_lane) FN(prod_map)(T a, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return FN(widen)(a);
#else
    return (FN(mul_lane))a;
#endif
}

/* Back to the element type, for floats and complex; integers keep 64 bits. */
#if IS_COMPLEX || IS_FLOAT
typedef T FN(total);
#else
typedef int64_t FN(total);
#endif

MT_HD FN(total) FN(sum_finish)(WIDE a, int64_t count, const double *params)
{
    (void)count, (void)params;
#if IS_COMPLEX
    return FN(narrow)(a);
#else
    return (FN(total))a;
#endif
}

MT_HD FN(total) FN(nansum_finish)(WIDE a, int64_t count, const double *params)
{
    return FN(sum_finish)(a, count, params);
}

MT_HD FN(total) FN(prod_finish)(WIDE a, int64_t count, const double *params)
{
    return FN(sum_finish)(a, count, params);
}

#if IS_COMPLEX || IS_FLOAT

MT_HD LANE FN(mean_map)(T a, const double *params)
{
    (void)params;
    return a;
}

MT_HD T FN(mean_finish)(WIDE a, int64_t count, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return FN(narrow)(mt_z_make(a.re / (double)count, a.im / (double)count));
#else
    return (T)(a / (double)count);
#endif
}

#endif

MT_HD FN(flag) FN(any_map)(T a, const double *params)
{
    (void)params;
    return FN(is_true)(a);
}

MT_HD FN(flag) FN(all_map)(T a, const double *params)
{
    (void)params;
    return FN(is_true)(a);
}

MT_HD uint8_t FN(any_finish)(uint8_t a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return a;
}

MT_HD uint8_t FN(all_finish)(uint8_t a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return a;
}

MT_HD FN(count_lane) FN(count_nonzero_map)(T a, const double *params)
{
    (void)params;
    return FN(is_true)(a);
}

MT_HD int64_t FN(count_nonzero_finish)(int64_t a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return a;
}

/* --- norms: real lanes, double across blocks --- */

#if IS_COMPLEX || IS_FLOAT

typedef REAL FN(real_add_lane);
typedef double FN(real_add_wide);
typedef double FN(double_add_lane);
typedef double FN(double_add_wide);
typedef REAL FN(real_max_lane);
typedef double FN(real_max_wide);
typedef REAL FN(real_min_lane);
typedef double FN(real_min_wide);

MT_HD REAL FN(real_add_start)(void)
{
    return 0;
}

MT_HD REAL FN(real_add_join)(REAL a, REAL b)
{
    return a + b;
}

MT_HD double FN(real_add_widen)(REAL a)
{
    return (double)a;
}

MT_HD double FN(real_add_merge)(double a, double b)
{
    return a + b;
}

MT_HD double FN(double_add_start)(void)
{
    return 0;
}

MT_HD double FN(double_add_join)(double a, double b)
{
    return a + b;
}

MT_HD double FN(double_add_widen)(double a)
{
    return a;
}

MT_HD double FN(double_add_merge)(double a, double b)
{
    return a + b;
}

MT_HD REAL FN(real_max_start)(void)
{
    return 0; /* absolute values only */
}

MT_HD REAL FN(real_min_start)(void)
{
    return (REAL)MT_INF;
}

MT_HD REAL FN(real_max_join)(REAL a, REAL b)
{
    REAL r = a > b ? a : b;

    return a != a ? a : r;
}

MT_HD REAL FN(real_min_join)(REAL a, REAL b)
{
    REAL r = a < b ? a : b;

    return a != a ? a : r;
}

MT_HD double FN(real_max_widen)(REAL a)
{
    return (double)a;
}

MT_HD double FN(real_min_widen)(REAL a)
{
    return (double)a;
}

MT_HD double FN(real_max_merge)(double a, double b)
{
    double r = a > b ? a : b;

    return a != a ? a : r;
}

MT_HD double FN(real_min_merge)(double a, double b)
{
    double r = a < b ? a : b;

    return a != a ? a : r;
}

MT_HD REAL FN(magnitude)(T a)
{
    return FN(abs)(a);
}

MT_HD REAL FN(norm_zero_map)(T a, const double *params)
{
    (void)params;
    return (REAL)FN(is_true)(a);
}

MT_HD REAL FN(norm_one_map)(T a, const double *params)
{
    (void)params;
    return FN(magnitude)(a);
}

MT_HD REAL FN(norm_two_map)(T a, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return a.re * a.re + a.im * a.im;
#else
    return a * a;
#endif
}

/* The same for squares that float cannot hold. */
MT_HD double FN(norm_two_map_wide)(T a, const double *params)
{
    (void)params;
#if IS_COMPLEX
    return (double)a.re * (double)a.re + (double)a.im * (double)a.im;
#else
    return (double)a * (double)a;
#endif
}

MT_HD REAL FN(norm_inf_map)(T a, const double *params)
{
    (void)params;
    return FN(magnitude)(a);
}

MT_HD REAL FN(norm_ninf_map)(T a, const double *params)
{
    (void)params;
    return FN(magnitude)(a);
}

MT_HD double FN(norm_any_map)(T a, const double *params)
{
    return pow((double)FN(magnitude)(a), params[0]);
}

MT_HD REAL FN(norm_finish)(double a, int64_t count, const double *params)
{
    double p = params[0];

    (void)count;
    if (p == 2.0)
        return (REAL)sqrt(a);
    if (p == 0.0 || p == 1.0 || fabs(p) == (double)MT_INF)
        return (REAL)a;
    return (REAL)pow(a, 1.0 / p);
}

MT_HD REAL FN(sum_of_squares_map)(T a, const double *params)
{
    return FN(norm_two_map)(a, params);
}

MT_HD double FN(sum_of_squares_map_wide)(T a, const double *params)
{
    return FN(norm_two_map_wide)(a, params);
}

MT_HD REAL FN(sum_of_squares_finish)(double a, int64_t count, const double *params)
{
    (void)count, (void)params;
    return (REAL)a;
}

#endif
