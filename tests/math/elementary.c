/* SPDX-License-Identifier: BSD-3-Clause */
/* Error of the elementary functions, in units in the last place of the exact result. float32
   functions go over every STEP-th bit pattern (all values for STEP 1) against the double functions
   of the C library, float64 functions over random arguments of many sizes against long double.
   Arguments that a fast form calls rare are left out for it; the full forms answer for every
   argument, infinities and NaN included. Usage: elementary STEP [function]. */
#include <stdio.h>
#include <stdlib.h>

#include "math/elementary.h"

#define COUNT 65536

typedef void loop32(float *out, const float *in, int n);
typedef void loop64(double *out, const double *in, int n);

static int failures;

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

/* Sign of zero and NaN count; beyond the greatest number infinity and that number are neighbours.
   */
static double error32(float got, double exact)
{
    float want = (float)exact;
    int e;

    if (isnan(want))
        return isnan(got) ? 0 : 1e9;
    if (isnan(got))
        return 1e9;
    if (got == want)
        return want == 0 && signbit(want) != signbit(got) ? 1e9 : 0;
    if (isinf(exact))
        return 1e9;
    if (isinf(got))
        return fabs(exact) > 0x1.fffffcp127 ? 1 : 1e9;
    frexp(exact, &e);
    return fabs((double)got - exact) / ldexp(1.0, (e < -125 ? -125 : e) - 24);
}

static double error64(double got, long double exact)
{
    double want = (double)exact;
    int e;

    if (isnan(want))
        return isnan(got) ? 0 : 1e9;
    if (isnan(got))
        return 1e9;
    if (got == want)
        return want == 0 && signbit(want) != signbit(got) ? 1e9 : 0;
    if (isinf(want) || isinf(got))
        return fabsl(exact) > 0x1.ffffffffffffep1023L && (isinf(got) || fabs(got) > 0x1.ffffffffffffep1023) ? 1 : 1e9;
    frexpl(exact, &e);
    return (double)(fabsl((long double)got - exact) / ldexpl(1.0L, (e < -1021 ? -1021 : e) - 53));
}

static void report(const char *name, double worst, double at, double bound)
{
    printf("%-18s %7.3f of %.1f at %a\n", name, worst, bound, at);
    failures += !(worst <= bound);
}

static void check32(const char *name, loop32 *loop, double (*exact)(double), bool (*is_rare)(float), double bound,
                    uint64_t step)
{
    static float in[COUNT], out[COUNT];
    double worst = 0, at = 0;

    for (uint64_t u = 0; u < (UINT64_C(1) << 32); u += COUNT * step) {
        for (uint64_t i = 0; i < COUNT; i++)
            in[i] = mt_from_bits_f32((uint32_t)(u + i * step));
        if (u == 0) {
            const float special[] = {-0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, -NAN, 3.4028235e38f};

            memcpy(in + 1, special, sizeof special);
        }
        loop(out, in, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double error = is_rare(in[i]) ? 0 : error32(out[i], exact((double)in[i]));

            if (error > worst) {
                worst = error;
                at = in[i];
            }
        }
    }
    report(name, worst, at, bound);
}

/* Bit patterns at random, moderate numbers, small ones; near 1 for logarithms. */
static double sample(int round, uint64_t bits)
{
    double unit = (double)(int64_t)bits * 0x1p-63;

    switch (round % 5) {
    case 0:
        return mt_from_bits_f64(bits);
    case 1:
        return unit * 4;
    case 2:
        return unit * 700;
    case 3:
        return ldexp(unit, -(int)(random_bits() % 60));
    default:
        return 1 + unit * 0.5;
    }
}

static void check64(const char *name, loop64 *loop, long double (*exact)(long double), bool (*is_rare)(double),
                    double bound, int rounds)
{
    static double in[COUNT], out[COUNT];
    const double special[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 5e-324, 1e308, -1e308, 709.9, -745.2};
    double worst = 0, at = 0;

    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = sample(round, random_bits());
        if (round == 0)
            memcpy(in, special, sizeof special);
        loop(out, in, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double error = is_rare(in[i]) ? 0 : error64(out[i], exact((long double)in[i]));

            if (error > worst) {
                worst = error;
                at = in[i];
            }
        }
    }
    report(name, worst, at, bound);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static long double sigmoidl(long double x)
{
    return 1.0L / (1.0L + expl(-x));
}

#define LOOPS(fname)                                               \
    static void fname##_loop32(float *out, const float *in, int n) \
    {                                                              \
        for (int i = 0; i < n; i++)                                \
            out[i] = mt_##fname##_f32(in[i]);                      \
    }
#define LOOPS_BOTH(fname)                                            \
    LOOPS(fname)                                                     \
    static void fname##_loop64(double *out, const double *in, int n) \
    {                                                                \
        for (int i = 0; i < n; i++)                                  \
            out[i] = mt_##fname##_f64(in[i]);                        \
    }
LOOPS_BOTH(exp)
LOOPS_BOTH(exp_fast)
LOOPS_BOTH(exp_down)
LOOPS_BOTH(exp_plain)
LOOPS_BOTH(exp2)
LOOPS_BOTH(expm1)
LOOPS_BOTH(log)
LOOPS_BOTH(log_fast)
LOOPS_BOTH(log2)
LOOPS_BOTH(log2_fast)
LOOPS_BOTH(log10)
LOOPS_BOTH(log10_fast)
LOOPS_BOTH(log1p)
LOOPS_BOTH(log1p_fast)
LOOPS_BOTH(tanh)
LOOPS_BOTH(tanh_fast)
LOOPS_BOTH(sigmoid)
LOOPS_BOTH(sigmoid_fast)
LOOPS_BOTH(sigmoid_quick)
LOOPS_BOTH(erf)
LOOPS_BOTH(sin_fast)
LOOPS_BOTH(cos_fast)
LOOPS_BOTH(tan_fast)
LOOPS(asin)
LOOPS(acos)
LOOPS(atan)
LOOPS(sinh_fast)
LOOPS(cosh_fast)
LOOPS(asinh_fast)
LOOPS(acosh_fast)
LOOPS(atanh_fast)

/* Where the forms that are not exact everywhere may be asked. */
static bool never32(float x)
{
    return x != x && false;
}

static bool never64(double x)
{
    return x != x && false;
}

static bool above_zero32(float x)
{
    return x > 0 || x < -87.0f;
}

static bool above_zero64(double x)
{
    return x > 0 || x < -708.0;
}

static bool below_normal32(float x)
{
    return x < -86.0f;
}

static bool below_normal64(double x)
{
    return x < -707.0;
}

/* Without a fused multiply-add some bounds are wider. */
#define TWO_ROUNDINGS (MT_HAVE_FMA ? 0.0 : 1.0)

int main(int argc, char **argv)
{
    uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : 4099;
    const char *only = argc > 2 ? argv[2] : NULL;
    int rounds = step < 100 ? 200 : 20;

#define CHECK32(fname, exact, rare, bound)  \
    if (!only || strcmp(only, #fname) == 0) \
    check32(#fname " f32", fname##_loop32, exact, rare, (bound), step)
#define CHECK64(fname, exact, rare, bound)  \
    if (!only || strcmp(only, #fname) == 0) \
    check64(#fname " f64", fname##_loop64, exact, rare, (bound), rounds)

    CHECK32(exp, exp, never32, 1.0);
    CHECK32(exp_fast, exp, mt_exp_is_rare_f32, 1.0);
    CHECK32(exp_down, exp, above_zero32, 1.0);
    CHECK32(exp_plain, exp, below_normal32, 1.0);
    CHECK32(exp2, exp2, never32, 1.0 + 0.2 * TWO_ROUNDINGS);
    CHECK32(expm1, expm1, never32, 1.1);
    CHECK32(log, log, never32, 1.0);
    CHECK32(log_fast, log, mt_log_is_rare_f32, 1.0);
    CHECK32(log2, log2, never32, 1.0 + 0.2 * TWO_ROUNDINGS);
    CHECK32(log2_fast, log2, mt_log2_is_rare_f32, 1.0 + 0.2 * TWO_ROUNDINGS);
    CHECK32(log10, log10, never32, 1.0 + 0.1 * TWO_ROUNDINGS);
    CHECK32(log10_fast, log10, mt_log10_is_rare_f32, 1.0 + 0.1 * TWO_ROUNDINGS);
    CHECK32(log1p, log1p, never32, 1.0);
    CHECK32(log1p_fast, log1p, mt_log1p_is_rare_f32, 1.0);
    CHECK32(tanh, tanh, never32, 1.5);
    CHECK32(tanh_fast, tanh, mt_tanh_is_rare_f32, 1.5);
    CHECK32(sigmoid, sigmoid, never32, 1.5);
    CHECK32(sigmoid_fast, sigmoid, mt_sigmoid_is_rare_f32, 1.5);
    CHECK32(sigmoid_quick, sigmoid, below_normal32, 3.0);
    CHECK32(erf, erf, never32, 1.5);
    CHECK32(sin_fast, sin, mt_sin_is_rare_f32, 1.0);
    CHECK32(cos_fast, cos, mt_cos_is_rare_f32, 1.0);
    CHECK32(tan_fast, tan, mt_tan_is_rare_f32, 2.5);
    CHECK32(asin, asin, never32, 2.5);
    CHECK32(acos, acos, never32, 2.5);
    CHECK32(atan, atan, never32, 2.5);
    CHECK32(sinh_fast, sinh, mt_sinh_is_rare_f32, 2.5);
    CHECK32(cosh_fast, cosh, mt_cosh_is_rare_f32, 2.5);
    CHECK32(asinh_fast, asinh, mt_asinh_is_rare_f32, 2.5);
    CHECK32(acosh_fast, acosh, mt_acosh_is_rare_f32, 2.5);
    CHECK32(atanh_fast, atanh, mt_atanh_is_rare_f32, 2.5);

    CHECK64(exp, expl, never64, 1.0);
    CHECK64(exp_fast, expl, mt_exp_is_rare_f64, 1.0);
    CHECK64(exp_down, expl, above_zero64, 1.0);
    CHECK64(exp_plain, expl, below_normal64, 1.0);
    CHECK64(exp2, exp2l, never64, 1.0 + 0.2 * TWO_ROUNDINGS);
    CHECK64(expm1, expm1l, never64, 1.2);
    CHECK64(log, logl, never64, 1.0);
    CHECK64(log_fast, logl, mt_log_is_rare_f64, 1.0);
    CHECK64(log2, log2l, never64, 1.1 + 0.2 * TWO_ROUNDINGS);
    CHECK64(log2_fast, log2l, mt_log2_is_rare_f64, 1.1 + 0.2 * TWO_ROUNDINGS);
    CHECK64(log10, log10l, never64, 1.3 + 0.2 * TWO_ROUNDINGS);
    CHECK64(log10_fast, log10l, mt_log10_is_rare_f64, 1.3 + 0.2 * TWO_ROUNDINGS);
    CHECK64(log1p, log1pl, never64, 1.0);
    CHECK64(log1p_fast, log1pl, mt_log1p_is_rare_f64, 1.0);
    CHECK64(tanh, tanhl, never64, 1.5 + 0.1 * TWO_ROUNDINGS);
    CHECK64(tanh_fast, tanhl, mt_tanh_is_rare_f64, 1.5 + 0.1 * TWO_ROUNDINGS);
    CHECK64(sigmoid, sigmoidl, never64, 1.5);
    CHECK64(sigmoid_fast, sigmoidl, mt_sigmoid_is_rare_f64, 1.5);
    CHECK64(sigmoid_quick, sigmoidl, below_normal64, 3.0);
    CHECK64(erf, erfl, never64, 1.5);
    CHECK64(sin_fast, sinl, mt_sin_is_rare_f64, 1.0);
    CHECK64(cos_fast, cosl, mt_cos_is_rare_f64, 1.0);
    CHECK64(tan_fast, tanl, mt_tan_is_rare_f64, 2.5);
    return failures != 0;
}
