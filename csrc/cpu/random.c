/* SPDX-License-Identifier: BSD-3-Clause */
/* Random number kernels. The same numbers as PyTorch's CPU generator from the same seed: one stream, drawn serially in
   memory order of the output. Simple distributions draw doubles or integers into a small buffer that is cast to the
   dtype of the output; uniform and normal of contiguous float tensors have vector forms. */
#include <math.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "core/shape.h"
#include "core/op.h"
#include "cpu/random_kernels.h"
#include "kernels.h"

#define CHUNK 256

/* --- any distribution: one number at a time --- */

typedef struct source {
    mt_generator *g;
    double a, b;
    uint64_t range;
    int64_t base;
    bool wide; /* 64-bit draws */
} source;

typedef double draw_double(const source *s);
typedef int64_t draw_int(const source *s);

typedef struct fill {
    source source;
    draw_double *real;
    draw_int *integer;
    mt_dtype dtype;
} fill;

static void fill_run(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const fill *f = params;
    int64_t size = (int64_t)sizeof(double);
    union {
        double d[CHUNK];
        int64_t i[CHUNK];
    } buffer;

    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;

        if (f->real) {
            for (int64_t k = 0; k < m; k++)
                buffer.d[k] = f->real(&f->source);
            mt_cast_table[MT_DTYPE_f64][f->dtype](data[0] + at * stride[0], stride[0], (char *)buffer.d, size, m);
        } else {
            for (int64_t k = 0; k < m; k++)
                buffer.i[k] = f->integer(&f->source);
            mt_cast_table[MT_DTYPE_i64][f->dtype](data[0] + at * stride[0], stride[0], (char *)buffer.i, size, m);
        }
    }
}

static mt_generator *generator_or_default(mt_generator *g)
{
    return g ? g : mt_generator_default();
}

static int fill_tensor(mt_tensor *self, const fill *f)
{
    mt_iter it;
    int rc = -1;

    MT_REQUIRE(f->source.g, MT_ERR_RUNTIME, "the default generator could not be made");
    MT_TRY(mt_assert_no_internal_overlap(self));
    if (self->numel > 0) {
        MT_TRY(mt_iter_build(&it, &self, 1, 1, self->ndim, self->size));
        mt_iter_run_serial(&it, fill_run, f);
    }
    rc = 0;
fail:
    return rc;
}

static int fill_real(mt_tensor *self, mt_generator *g, draw_double *draw, double a, double b)
{
    fill f = {{generator_or_default(g), a, b, 0, 0, false}, draw, NULL, (mt_dtype)self->dtype};

    return fill_tensor(self, &f);
}

/* The parts of a complex tensor as a real one with a last dimension of 2. */
static int view_parts(mt_tensor **out, mt_tensor *self)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int n = self->ndim;

    if (n + 1 > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "too many dimensions for random complex numbers");
    for (int i = 0; i < n; i++) {
        size[i] = self->size[i];
        stride[i] = 2 * self->stride[i];
    }
    size[n] = 2;
    stride[n] = 1;
    return mt_tensor_new_view_dtype(out, self, mt_dtype_to_real((mt_dtype)self->dtype), n + 1, size, stride,
                                    2 * self->offset);
}

/* A distribution that both parts of complex numbers are drawn from. */
static int fill_parts(int (*draw)(mt_tensor *, double, double, mt_generator *), mt_tensor *self, double a, double b,
                      mt_generator *generator)
{
    mt_tensor *parts = NULL;
    int rc = -1;

    MT_TRY(view_parts(&parts, self));
    MT_TRY(draw(parts, a, b, generator));
    rc = 0;
fail:
    mt_tensor_clear(&parts);
    return rc;
}

static MT_COLD int not_implemented(const char *name, const mt_tensor *t)
{
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", name,
                        mt_dtype_table[t->dtype].legacy);
}

static bool check_float(const mt_tensor *self, const char *name)
{
    return mt_dtype_is_float((mt_dtype)self->dtype) || not_implemented(name, self) == 0;
}

/* --- uniform --- */

static double draw_uniform_half(const source *s)
{
    float x = fmaf(mt_generator_f32(s->g), (float)s->b - (float)s->a, (float)s->a);

    return x;
}

static double draw_uniform(const source *s)
{
    return s->wide ? fma(mt_generator_f64(s->g), s->b - s->a, s->a)
                   : (double)fmaf(mt_generator_f32(s->g), (float)s->b - (float)s->a, (float)s->a);
}

static void uniform_contiguous(mt_tensor *self, mt_generator *g, double from, double to)
{
    uint32_t words[2 * CHUNK];
    char *data = mt_tensor_mutable_data(self);

    for (int64_t at = 0; at < self->numel; at += CHUNK) {
        int64_t m = self->numel - at < CHUNK ? self->numel - at : CHUNK;

        if (self->dtype == MT_DTYPE_f32) {
            mt_generator_fill_u32(g, words, m);
            MT_ISA_PICK(mt_random_uniform_f32)((float *)data + at, words, m, (float)from, (float)to);
        } else {
            mt_generator_fill_u32(g, words, 2 * m);
            MT_ISA_PICK(mt_random_uniform_f64)((double *)data + at, words, m, from, to);
        }
    }
}

/* Rounding to a narrow type may reach `to`, which is outside of the interval. */
static void clamp_narrow(mt_tensor *self, double from, double to)
{
    uint16_t *p = (uint16_t *)mt_tensor_mutable_data(self), edge, low;

    mt_scalar_store(&edge, (mt_dtype)self->dtype, mt_scalar_from_double(to));
    mt_scalar_store(&low, (mt_dtype)self->dtype, mt_scalar_from_double(from));
    for (int64_t i = 0; i < self->numel; i++)
        p[i] = p[i] == edge ? low : p[i];
}

static int check_bound(const char *what, double value, mt_dtype dtype)
{
    if (isfinite(value) && mt_scalar_check(dtype, mt_scalar_from_double(value)) == 0)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "uniform_: %s is out of bounds for %s", what, mt_dtype_table[dtype].legacy);
}

int mt_cpu_uniform(mt_tensor *self, double from, double to, mt_generator *generator)
{
    mt_generator *g = generator_or_default(generator);
    fill f = {{g, from, to, 0, 0, self->dtype == MT_DTYPE_f64}, draw_uniform, NULL, (mt_dtype)self->dtype};
    int rc = -1;

    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        return fill_parts(mt_cpu_uniform, self, from, to, generator);
    MT_REQUIRE(g, MT_ERR_RUNTIME, "the default generator could not be made");
    if (!check_float(self, "check_uniform_bounds"))
        goto fail;
    MT_REQUIRE(from <= to, MT_ERR_RUNTIME, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
               from, to);
    MT_TRY(check_bound("from", from, (mt_dtype)self->dtype));
    MT_TRY(check_bound("to", to, (mt_dtype)self->dtype));
    MT_TRY(check_bound("to - from", to - from, (mt_dtype)self->dtype));
    MT_TRY(mt_assert_no_internal_overlap(self));
    if (mt_tensor_is_contiguous(self) && (self->dtype == MT_DTYPE_f32 || self->dtype == MT_DTYPE_f64)) {
        uniform_contiguous(self, g, from, to);
        return 0;
    }
    if (mt_dtype_size((mt_dtype)self->dtype) == 2)
        f.real = draw_uniform_half;
    MT_TRY(fill_tensor(self, &f));
    if (mt_dtype_size((mt_dtype)self->dtype) == 2 && mt_tensor_is_contiguous(self))
        clamp_narrow(self, from, to);
    rc = 0;
fail:
    return rc;
}

/* --- normal --- */

static double draw_normal(const source *s)
{
    return mt_generator_normal(s->g) * s->b + s->a;
}

static void normal_block_f64(double *d, double mean, double std)
{
    for (int j = 0; j < 8; j++) {
        double u1 = 1.0 - d[j], u2 = d[j + 8];
        double r = sqrt(-2.0 * log(u1)), theta = 2.0 * 3.14159265358979323846 * u2;

        d[j] = r * cos(theta) * std + mean;
        d[j + 8] = r * sin(theta) * std + mean;
    }
}

typedef struct normal_job {
    void *data;
    double mean, std;
    bool wide;
} normal_job;

static void normal_blocks(void *ctx, int64_t begin, int64_t end)
{
    const normal_job *job = ctx;

    if (!job->wide) {
        MT_ISA_PICK(mt_random_normal_f32)
        ((float *)job->data + 16 * begin, end - begin, (float)job->mean, (float)job->std);
        return;
    }
    for (int64_t b = begin; b < end; b++)
        normal_block_f64((double *)job->data + 16 * b, job->mean, job->std);
}

/* Blocks of 16 from uniforms; a last partial block is redrawn as the final 16 positions. */
static void normal_contiguous(mt_tensor *self, mt_generator *g, double mean, double std)
{
    int64_t n = self->numel, full = n / 16;
    bool wide = self->dtype == MT_DTYPE_f64;
    size_t size = mt_tensor_itemsize(self);
    char *data = mt_tensor_mutable_data(self);
    normal_job job = {data, mean, std, wide};

    uniform_contiguous(self, g, 0.0, 1.0);
    mt_parallel_for(full, wide ? 600.0 : 16.0, 1, normal_blocks, &job);
    if (n % 16) {
        uint32_t words[32];
        char *last = data + (size_t)(n - 16) * size;
        normal_job tail = {last, mean, std, wide};

        mt_generator_fill_u32(g, words, wide ? 32 : 16);
        if (wide)
            MT_ISA_PICK(mt_random_uniform_f64)((double *)last, words, 16, 0.0, 1.0);
        else
            MT_ISA_PICK(mt_random_uniform_f32)((float *)last, words, 16, 0.0f, 1.0f);
        normal_blocks(&tail, 0, 1);
    }
}

/* Half types: each block of 16 is made in float and cast. */
static void normal_narrow(mt_tensor *self, mt_generator *g, double mean, double std)
{
    int64_t n = self->numel;
    char *data = mt_tensor_mutable_data(self);
    uint32_t words[16];
    float block[16];

    for (int64_t at = 0; at < n; at += 16) {
        int64_t start = at + 16 <= n ? at : n - 16;

        mt_generator_fill_u32(g, words, 16);
        MT_ISA_PICK(mt_random_uniform_f32)(block, words, 16, 0.0f, 1.0f);
        MT_ISA_PICK(mt_random_normal_f32)(block, 1, (float)mean, (float)std);
        mt_cast_table[MT_DTYPE_f32][self->dtype](data + 2 * start, 2, (char *)block, 4, 16);
    }
}

int mt_cpu_normal(mt_tensor *self, double mean, double std, mt_generator *generator)
{
    mt_generator *g = generator_or_default(generator);
    int rc = -1;

    MT_REQUIRE(g, MT_ERR_RUNTIME, "the default generator could not be made");
    MT_REQUIRE(std >= 0.0, MT_ERR_RUNTIME, "normal expects std >= 0.0, but found std %g", std);
    if (mt_dtype_is_complex((mt_dtype)self->dtype)) /* each part has half of the variance */
        return fill_parts(mt_cpu_normal, self, mean, std / sqrt(2.0), generator);
    if (!check_float(self, "normal_kernel_cpu"))
        goto fail;
    MT_TRY(mt_assert_no_internal_overlap(self));
    if (self->numel < 16 || !mt_tensor_is_contiguous(self))
        return fill_real(self, g, draw_normal, mean, std);
    if (mt_dtype_size((mt_dtype)self->dtype) == 2)
        normal_narrow(self, g, mean, std);
    else
        normal_contiguous(self, g, mean, std);
    rc = 0;
fail:
    return rc;
}

/* --- integers --- */

static int64_t draw_range(const source *s)
{
    uint64_t v = s->wide ? mt_generator_u64(s->g) : mt_generator_u32(s->g);

    return (int64_t)((uint64_t)s->base + v % s->range);
}

static int64_t draw_raw(const source *s)
{
    return (int64_t)mt_generator_u64(s->g);
}

static int digits_of(mt_dtype d)
{
    return d == MT_DTYPE_f64 ? 53 : d == MT_DTYPE_f32 ? 24 : d == MT_DTYPE_f16 ? 11 : 8;
}

static int64_t round_to(mt_dtype d, int64_t value)
{
    char item[16];
    mt_scalar s;

    mt_scalar_store(item, d, mt_scalar_from_int(value));
    s = mt_scalar_load(item, d);
    return mt_scalar_to_int(s);
}

static int log2_floor(int64_t value)
{
    uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    return 63 - __builtin_clzll(u | 1);
}

/* The largest integers of a float dtype are spaced wider than 1: the bounds move inside. */
static void adjust_bounds(mt_dtype d, int64_t *from, int64_t *to)
{
    int64_t last = *to - 1, rounded;

    rounded = round_to(d, last);
    if (rounded >= *to && last != 0) {
        int n = log2_floor(last);

        *to = rounded - ((int64_t)1 << (n - digits_of(d) + 1 > 0 ? n - digits_of(d) + 1 : 0));
    }
    rounded = round_to(d, *from);
    if (rounded < *from && *from != 0) {
        int n = log2_floor(*from);

        *from = rounded + ((int64_t)1 << (n - digits_of(d) + 1 > 0 ? n - digits_of(d) + 1 : 0));
    }
}

static bool in_range(mt_dtype d, int64_t value)
{
    switch (d) {
    case MT_DTYPE_b8:
        return value >= 0 && value <= 1;
    case MT_DTYPE_u8:
        return value >= 0 && value <= 255;
    case MT_DTYPE_u16:
    case MT_DTYPE_u32:
        return value >= 0 && value <= (int64_t)(UINT64_MAX >> (64 - 8 * mt_dtype_size(d)));
    case MT_DTYPE_u64:
        return value >= 0;
    case MT_DTYPE_i8:
        return value >= -128 && value <= 127;
    case MT_DTYPE_i16:
        return value >= INT16_MIN && value <= INT16_MAX;
    case MT_DTYPE_i32:
        return value >= INT32_MIN && value <= INT32_MAX;
    case MT_DTYPE_f16:
        return value >= -65504 && value <= 65504;
    default:
        return true;
    }
}

int mt_cpu_random_from(mt_tensor *self, int64_t from, const int64_t *to_given, mt_generator *generator)
{
    mt_dtype d = (mt_dtype)self->dtype;
    fill f = {{generator_or_default(generator), 0, 0, 0, from, false}, NULL, draw_range, d};
    int64_t to;
    int rc = -1;

    MT_REQUIRE(f.source.g, MT_ERR_RUNTIME, "the default generator could not be made");
    MT_REQUIRE(!to_given || from < *to_given, MT_ERR_RUNTIME,
               "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", (long long)from,
               (long long)*to_given);
    MT_REQUIRE(!mt_dtype_is_complex(d), MT_ERR_RUNTIME,
               "check_random_bounds handles only integral, floating-point and boolean types");
    if (!to_given && d == MT_DTYPE_i64 && from == INT64_MIN) {
        f.integer = draw_raw;
        return fill_tensor(self, &f);
    }
    if (to_given) {
        to = *to_given;
        if (mt_dtype_is_float(d)) {
            adjust_bounds(d, &from, &to);
            MT_REQUIRE(from < to, MT_ERR_RUNTIME,
                       "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                       "from=%lld >= to=%lld",
                       (long long)from, (long long)to);
        }
        MT_REQUIRE(in_range(d, from), MT_ERR_RUNTIME, "from is out of bounds for %s", mt_dtype_name(d));
        MT_REQUIRE(in_range(d, to - 1), MT_ERR_RUNTIME, "to - 1 is out of bounds for %s", mt_dtype_name(d));
        f.source.range = (uint64_t)to - (uint64_t)from;
    } else {
        static const int64_t top[MT_DTYPE_COUNT] = {[MT_DTYPE_b8] = 1,           [MT_DTYPE_u8] = 255,
                                                    [MT_DTYPE_i8] = 127,         [MT_DTYPE_i16] = INT16_MAX,
                                                    [MT_DTYPE_i32] = INT32_MAX,  [MT_DTYPE_i64] = INT64_MAX,
                                                    [MT_DTYPE_f16] = 1 << 11,    [MT_DTYPE_bf16] = 1 << 8,
                                                    [MT_DTYPE_f32] = 1 << 24,    [MT_DTYPE_f64] = (int64_t)1 << 53,
                                                    [MT_DTYPE_u16] = UINT16_MAX, [MT_DTYPE_u32] = UINT32_MAX,
                                                    [MT_DTYPE_u64] = INT64_MAX};

        MT_REQUIRE(in_range(d, from), MT_ERR_RUNTIME, "from is out of bounds for %s", mt_dtype_name(d));
        f.source.range = (uint64_t)top[d] - (uint64_t)from + 1;
    }
    f.source.base = from;
    f.source.wide = f.source.range >= (uint64_t)1 << 28;
    MT_TRY(fill_tensor(self, &f));
    rc = 0;
fail:
    return rc;
}

int mt_cpu_random_to(mt_tensor *self, int64_t to, mt_generator *generator)
{
    return mt_cpu_random_from(self, 0, &to, generator);
}

/* Without bounds: all non-negative integers that the dtype holds exactly. */
int mt_cpu_random(mt_tensor *self, mt_generator *generator)
{
    mt_dtype d = (mt_dtype)self->dtype;
    fill f = {{generator_or_default(generator), 0, 0, 0, 0, false}, NULL, draw_range, d};
    int rc = -1;

    MT_REQUIRE(f.source.g, MT_ERR_RUNTIME, "the default generator could not be made");
    MT_REQUIRE(!mt_dtype_is_complex(d), MT_ERR_NOT_IMPLEMENTED, "\"random_kernel_cpu\" not implemented for '%s'",
               mt_dtype_table[d].legacy);
    switch (d) {
    case MT_DTYPE_b8:
        f.source.range = 2;
        break;
    case MT_DTYPE_i64:
        f.source.range = (uint64_t)1 << 63;
        break;
    case MT_DTYPE_f32:
    case MT_DTYPE_f64:
    case MT_DTYPE_f16:
    case MT_DTYPE_bf16:
        f.source.range = ((uint64_t)1 << digits_of(d)) + 1;
        break;
    default:
        f.source.range = (uint64_t)1 << (8 * mt_dtype_size(d) - (d == MT_DTYPE_u8 ? 0 : 1));
        break;
    }
    f.source.wide = d == MT_DTYPE_i64 || d == MT_DTYPE_f64;
    MT_TRY(fill_tensor(self, &f));
    rc = 0;
fail:
    return rc;
}

/* --- others --- */

static int64_t draw_bernoulli(const source *s)
{
    return mt_generator_f64(s->g) < s->a;
}

static double draw_exponential(const source *s)
{
    return -1.0 / s->a * log1p(-mt_generator_f64(s->g));
}

static double draw_geometric(const source *s)
{
    return ceil(log(mt_generator_f64(s->g)) / log1p(-s->a));
}

static double draw_cauchy(const source *s)
{
    return s->a + s->b * tan(3.14159265358979323846 * (mt_generator_f64(s->g) - 0.5));
}

static double draw_log_normal(const source *s)
{
    return exp(mt_generator_normal(s->g) * s->b + s->a);
}

int mt_cpu_bernoulli_p(mt_tensor *self, double p, mt_generator *generator)
{
    fill f = {{generator_or_default(generator), p, 0, 0, 0, false}, NULL, draw_bernoulli, (mt_dtype)self->dtype};

    if (!(p >= 0 && p <= 1))
        return mt_error_set(MT_ERR_RUNTIME, "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
    if (mt_dtype_is_complex(f.dtype))
        return not_implemented("bernoulli_scalar_cpu_", self);
    return fill_tensor(self, &f);
}

/* p by element: float draws for float and half probabilities, double draws for double. */
typedef struct bernoulli_tensor {
    mt_generator *g;
    mt_dtype p_dtype, out_dtype;
    bool bad;
} bernoulli_tensor;

/* All probabilities are looked at before anything is drawn or written. */
static void bernoulli_check(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    bernoulli_tensor *b = *(bernoulli_tensor *const *)params;

    for (int64_t i = 0; i < n && !b->bad; i++) {
        mt_scalar p = mt_scalar_load(data[1] + i * stride[1], b->p_dtype);

        b->bad = !(p.v.d >= 0 && p.v.d <= 1);
    }
}

static void bernoulli_run(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    bernoulli_tensor *b = *(bernoulli_tensor *const *)params;

    for (int64_t i = 0; i < n; i++) {
        mt_scalar p = mt_scalar_load(data[1] + i * stride[1], b->p_dtype);
        bool yes = b->p_dtype == MT_DTYPE_f64 ? mt_generator_f64(b->g) < p.v.d : mt_generator_f32(b->g) < (float)p.v.d;
        mt_scalar_store(data[0] + i * stride[0], b->out_dtype, mt_scalar_from_int(yes));
    }
}

int mt_cpu_bernoulli_tensor(mt_tensor *self, mt_tensor *p, mt_generator *generator)
{
    bernoulli_tensor b = {generator_or_default(generator), (mt_dtype)p->dtype, (mt_dtype)self->dtype, false};
    bernoulli_tensor *pointer = &b;
    mt_tensor *operand[] = {self, p};
    mt_iter it;
    int rc = -1;

    MT_REQUIRE(b.g, MT_ERR_RUNTIME, "the default generator could not be made");
    if (mt_dtype_is_complex((mt_dtype)self->dtype))
        return not_implemented("bernoulli_tensor_cpu_self_", self);
    if (!mt_dtype_is_float((mt_dtype)p->dtype))
        return not_implemented("bernoulli_tensor_cpu_p_", p);
    MT_REQUIRE(mt_shape_is_broadcastable(p->ndim, p->size, self->ndim, self->size), MT_ERR_RUNTIME,
               "bernoulli_(): the probabilities do not broadcast to the shape of self");
    MT_TRY(mt_assert_no_internal_overlap(self));
    if (self->numel > 0) {
        MT_TRY(mt_iter_build(&it, operand, 2, 1, self->ndim, self->size));
        mt_iter_run_serial(&it, bernoulli_check, &pointer);
        MT_TRY(mt_iter_build(&it, operand, 2, 1, self->ndim, self->size));
        if (!b.bad)
            mt_iter_run_serial(&it, bernoulli_run, &pointer);
    }
    MT_REQUIRE(!b.bad, MT_ERR_RUNTIME, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
    rc = 0;
fail:
    return rc;
}

int mt_cpu_exponential(mt_tensor *self, double lambd, mt_generator *generator)
{
    if (!(lambd > 0.0))
        return mt_error_set(MT_ERR_RUNTIME, "exponential_ expects lambda > 0.0, but found lambda=%g", lambd);
    if (!mt_dtype_is_float((mt_dtype)self->dtype))
        return mt_error_set(MT_ERR_RUNTIME,
                            "Exponential distribution is a continuous probability distribution. dtype must be a "
                            "floating point but you specified %s",
                            mt_dtype_table[self->dtype].legacy);
    return fill_real(self, generator, draw_exponential, lambd, 0);
}

int mt_cpu_geometric(mt_tensor *self, double p, mt_generator *generator)
{
    if (!(p > 0 && p < 1))
        return mt_error_set(MT_ERR_RUNTIME, "geometric_ expects p to be in (0, 1), but got p=%g", p);
    if (self->dtype == MT_DTYPE_b8 || mt_dtype_is_complex((mt_dtype)self->dtype))
        return not_implemented("geometric_cpu", self);
    return fill_real(self, generator, draw_geometric, p, 0);
}

int mt_cpu_cauchy(mt_tensor *self, double median, double sigma, mt_generator *generator)
{
    if (!(sigma > 0.0))
        return mt_error_set(MT_ERR_RUNTIME, "cauchy_ expects sigma > 0.0, but found sigma=%g", sigma);
    if (!mt_dtype_is_float((mt_dtype)self->dtype))
        return mt_error_set(MT_ERR_RUNTIME,
                            "Cauchy distribution is a continuous probability distribution. dtype must be a floating "
                            "point but you specified %s",
                            mt_dtype_element((mt_dtype)self->dtype));
    return fill_real(self, generator, draw_cauchy, median, sigma);
}

int mt_cpu_log_normal(mt_tensor *self, double mean, double std, mt_generator *generator)
{
    if (!(std > 0.0))
        return mt_error_set(MT_ERR_RUNTIME, "log_normal_ expects std > 0.0, but found std=%g", std);
    if (!check_float(self, "log_normal_cpu"))
        return -1;
    return fill_real(self, generator, draw_log_normal, mean, std);
}

/* --- permutations --- */

/* Fisher-Yates on 64-bit indices; every dtype gets the same permutation. out is contiguous. */
int mt_cpu_randperm_fill(mt_tensor *out, mt_generator *generator)
{
    mt_generator *g = generator_or_default(generator);
    int64_t n = out->numel, *a = (int64_t *)mt_tensor_mutable_data(out);

    if (!g)
        return mt_error_set(MT_ERR_RUNTIME, "the default generator could not be made");
    if (n < (int64_t)(UINT32_MAX / 20)) {
        for (int64_t i = 0; i < n; i++)
            a[i] = i;
        for (int64_t i = 0; i < n - 1; i++) {
            int64_t z = (int64_t)(mt_generator_u32(g) % (uint32_t)(n - i)), t = a[i];

            a[i] = a[i + z];
            a[i + z] = t;
        }
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t z = (int64_t)(mt_generator_u64(g) % (uint64_t)(i + 1));

        a[i] = i;
        a[i] = a[z];
        a[z] = i;
    }
    return 0;
}

/* --- multinomial with replacement --- */

/* The running sum in the type of the probabilities, normalised, the last one forced to 1. */
static bool cumulate_f32(float *sum_of, const float *p, int64_t n)
{
    float sum = 0;

    for (int64_t j = 0; j < n; j++) {
        if (!(p[j] >= 0) || isinf(p[j]))
            return false;
        sum += p[j];
        sum_of[j] = sum;
    }
    for (int64_t j = 0; sum > 0 && j < n; j++)
        sum_of[j] /= sum;
    if (n > 0)
        sum_of[n - 1] = 1;
    return sum > 0;
}

static bool cumulate_f64(double *sum_of, const double *p, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++) {
        if (!(p[j] >= 0) || isinf(p[j]))
            return false;
        sum += p[j];
        sum_of[j] = sum;
    }
    for (int64_t j = 0; sum > 0 && j < n; j++)
        sum_of[j] /= sum;
    if (n > 0)
        sum_of[n - 1] = 1;
    return sum > 0;
}

static int64_t search(const void *sums, bool wide, int64_t n, double x)
{
    int64_t left = 0, right = n;

    while (right > left) {
        int64_t middle = left + (right - left) / 2;
        double at = wide ? ((const double *)sums)[middle] : (double)((const float *)sums)[middle];

        if (at < x)
            left = middle + 1;
        else
            right = middle;
    }
    return left < n ? left : n - 1;
}

/* self: int64 (rows, samples), contiguous. probs: float32 or float64 (rows, categories), contiguous. */
int mt_cpu_multinomial_search(mt_tensor *self, mt_tensor *probs, mt_generator *generator)
{
    mt_generator *g = generator_or_default(generator);
    bool wide = probs->dtype == MT_DTYPE_f64;
    int64_t rows = probs->size[0], n = probs->size[1], samples = self->size[1];
    int64_t *out = (int64_t *)mt_tensor_mutable_data(self);
    const char *p = mt_tensor_const_data(probs);
    void *sums = NULL;
    int rc = -1;

    MT_REQUIRE(g, MT_ERR_RUNTIME, "the default generator could not be made");
    MT_TRY(mt_malloc(&sums, (size_t)n * sizeof(double)));
    for (int64_t i = 0; i < rows; i++) {
        bool good =
            wide ? cumulate_f64(sums, (const double *)p + i * n, n) : cumulate_f32(sums, (const float *)p + i * n, n);

        MT_REQUIRE(good, MT_ERR_RUNTIME, "invalid multinomial distribution (sum of probabilities <= 0)");
        for (int64_t k = 0; k < samples; k++)
            out[i * samples + k] = search(sums, wide, n, mt_generator_f64(g));
    }
    rc = 0;
fail:
    mt_free(sums);
    return rc;
}
