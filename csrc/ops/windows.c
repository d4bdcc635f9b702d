/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows for spectra: symmetric ones, or periodic ones, which are symmetric ones of one point more without the last
   point. The points are computed here one by one, in single precision where the result has it, and then put where the
   result belongs. */
#include <math.h>

#include "ops.h"
#include "ops/create.h"

typedef struct shape {
    double a, b; /* what the window is made with */
    bool narrow; /* round every step to single precision */
} shape;
typedef double point_fn(const shape *s, int64_t i, int64_t n);

typedef struct options {
    mt_dtype dtype;
    int layout;
    mt_device device;
    const bool *pin_memory;
} options;

static const double pi = 3.14159265358979323846;

static double rounded(const shape *s, double x)
{
    return s->narrow ? (double)(float)x : x;
}

/* cos(factor * i) */
static double wave(const shape *s, int64_t i, double factor)
{
    return rounded(s, cos(rounded(s, (double)i * rounded(s, factor))));
}

static double hamming_point(const shape *s, int64_t i, int64_t n)
{
    double w = wave(s, i, 2.0 * pi / (double)(n - 1));

    return rounded(s, rounded(s, w * rounded(s, -s->b)) + rounded(s, s->a));
}

static double blackman_point(const shape *s, int64_t i, int64_t n)
{
    double step = pi / (double)(n - 1);
    double w = rounded(s, wave(s, i, 4 * step) * rounded(s, 0.08));

    w = rounded(s, w - rounded(s, wave(s, i, 2 * step) * 0.5));
    return rounded(s, w + rounded(s, 0.42));
}

static double bartlett_point(const shape *s, int64_t i, int64_t n)
{
    double w = rounded(s, (double)i * rounded(s, 2.0 / (double)(n - 1)));

    return i <= (n - 1) / 2 ? w : rounded(s, 2.0 - w);
}

/* exp(-x) I0(x), x >= 0: the power series, or for large x the asymptotic one */
static double scaled_bessel(double x)
{
    double sum = 1, term = 1, q = x * x / 4;

    if (x > 30) {
        for (int k = 1; k < 12; k++) {
            term *= (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
            sum += term;
        }
        return sum / sqrt(2 * pi * x);
    }
    for (int k = 1; term > 1e-18 * sum; k++) {
        term *= q / ((double)k * k);
        sum += term;
    }
    return sum * exp(-x);
}

static double kaiser_point(const shape *s, int64_t i, int64_t n)
{
    double x = 2.0 * (double)i / (double)(n - 1) - 1.0, beta = fabs(s->a), y = 1.0 - x * x;
    double reduced = beta * sqrt(y > 0 ? y : 0);

    return scaled_bessel(reduced) / scaled_bessel(beta) * exp(reduced - beta);
}

static int window(mt_tensor **out, const char *name, int64_t length, bool periodic, point_fn *point, shape s, options o)
{
    mt_tensor *points = NULL, *result = NULL;
    int64_t n = periodic ? length + 1 : length;
    double *data;
    int rc = -1;

    *out = NULL;
    if (o.dtype == MT_DTYPE_NONE)
        o.dtype = mt_default_dtype();
    MT_REQUIRE(mt_dtype_is_float(o.dtype), MT_ERR_RUNTIME, "%s expects floating point dtypes, got: %s", name,
               mt_dtype_table[o.dtype].name);
    MT_REQUIRE(length >= 0, MT_ERR_RUNTIME, "%s requires non-negative window_length, got window_length=%lld", name,
               (long long)length);
    MT_TRY(mt_factory_device(&o.device, o.device, MT_CPU, o.layout, o.pin_memory));
    MT_TRY(mt_tensor_new(&result, o.dtype, 1, &length, o.device));
    if (o.device.type != MT_DEVICE_META && length > 0) {
        MT_TRY(mt_tensor_new(&points, MT_DTYPE_f64, 1, &length, MT_CPU));
        data = (double *)(void *)mt_tensor_mutable_data(points);
        s.narrow = o.dtype != MT_DTYPE_f64;
        for (int64_t i = 0; i < length; i++)
            data[i] = length == 1 ? 1.0 : point(&s, i, n);
        MT_TRY(mt_tensor_assign(result, points));
    }
    *out = mt_tensor_move(&result);
    rc = 0;
fail:
    mt_tensor_clear(&points);
    mt_tensor_clear(&result);
    return rc;
}

#define OPTIONS mt_dtype dtype, int layout, mt_device device, const bool *pin_memory
#define GIVEN ((options){dtype, layout, device, pin_memory})

int mt_impl_hamming_window_beta(mt_tensor **out, int64_t window_length, bool periodic, double alpha, double beta,
                                OPTIONS)
{
    return window(out, "hamming_window", window_length, periodic, hamming_point, (shape){alpha, beta, false}, GIVEN);
}

int mt_impl_hamming_window_alpha(mt_tensor **out, int64_t window_length, bool periodic, double alpha, OPTIONS)
{
    return window(out, "hamming_window", window_length, periodic, hamming_point, (shape){alpha, 0.46, false}, GIVEN);
}

int mt_impl_hamming_window_periodic(mt_tensor **out, int64_t window_length, bool periodic, OPTIONS)
{
    return window(out, "hamming_window", window_length, periodic, hamming_point, (shape){0.54, 0.46, false}, GIVEN);
}

int mt_impl_hamming_window(mt_tensor **out, int64_t window_length, OPTIONS)
{
    return mt_impl_hamming_window_periodic(out, window_length, true, dtype, layout, device, pin_memory);
}

int mt_impl_hann_window_periodic(mt_tensor **out, int64_t window_length, bool periodic, OPTIONS)
{
    return window(out, "hann_window", window_length, periodic, hamming_point, (shape){0.5, 0.5, false}, GIVEN);
}

int mt_impl_hann_window(mt_tensor **out, int64_t window_length, OPTIONS)
{
    return mt_impl_hann_window_periodic(out, window_length, true, dtype, layout, device, pin_memory);
}

int mt_impl_blackman_window_periodic(mt_tensor **out, int64_t window_length, bool periodic, OPTIONS)
{
    return window(out, "blackman_window", window_length, periodic, blackman_point, (shape){0, 0, false}, GIVEN);
}

int mt_impl_blackman_window(mt_tensor **out, int64_t window_length, OPTIONS)
{
    return mt_impl_blackman_window_periodic(out, window_length, true, dtype, layout, device, pin_memory);
}

int mt_impl_bartlett_window_periodic(mt_tensor **out, int64_t window_length, bool periodic, OPTIONS)
{
    return window(out, "bartlett_window", window_length, periodic, bartlett_point, (shape){0, 0, false}, GIVEN);
}

int mt_impl_bartlett_window(mt_tensor **out, int64_t window_length, OPTIONS)
{
    return mt_impl_bartlett_window_periodic(out, window_length, true, dtype, layout, device, pin_memory);
}

int mt_impl_kaiser_window_beta(mt_tensor **out, int64_t window_length, bool periodic, double beta, OPTIONS)
{
    return window(out, "kaiser_window", window_length, periodic, kaiser_point, (shape){beta, 0, false}, GIVEN);
}

int mt_impl_kaiser_window_periodic(mt_tensor **out, int64_t window_length, bool periodic, OPTIONS)
{
    return mt_impl_kaiser_window_beta(out, window_length, periodic, 12.0, dtype, layout, device, pin_memory);
}

int mt_impl_kaiser_window(mt_tensor **out, int64_t window_length, OPTIONS)
{
    return mt_impl_kaiser_window_beta(out, window_length, true, 12.0, dtype, layout, device, pin_memory);
}
