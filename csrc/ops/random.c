/* SPDX-License-Identifier: BSD-3-Clause */
/* Composites of the random family: factories made of empty and an in-place fill, dropout, multinomial. */
#include <math.h>

#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/create.h"
#include "ops/meta.h"

/* An uninitialised tensor with the keywords of a factory. */
static int make(mt_tensor **out, mt_ints size, mt_dtype dtype, mt_dtype missing, int layout, mt_device device,
                const bool *pin_memory)
{
    mt_device where;

    if (mt_factory_device(&where, device, MT_CPU, layout, pin_memory) < 0)
        return -1;
    return mt_tensor_new(out, dtype == MT_DTYPE_NONE ? missing : dtype, size.n, size.data, where);
}

int mt_impl_rand(mt_tensor **out, mt_ints size, mt_generator *generator, mt_dtype dtype, int layout, mt_device device,
                 const bool *pin_memory)
{
    if (make(out, size, dtype, mt_default_dtype(), layout, device, pin_memory) < 0)
        return -1;
    if (mt_uniform_inplace(*out, 0.0, 1.0, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randn(mt_tensor **out, mt_ints size, mt_generator *generator, mt_dtype dtype, int layout, mt_device device,
                  const bool *pin_memory)
{
    if (make(out, size, dtype, mt_default_dtype(), layout, device, pin_memory) < 0)
        return -1;
    if (mt_normal_inplace(*out, 0.0, 1.0, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randint_low(mt_tensor **out, int64_t low, int64_t high, mt_ints size, mt_generator *generator,
                        mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    if (make(out, size, dtype, MT_DTYPE_i64, layout, device, pin_memory) < 0)
        return -1;
    if (mt_random_inplace_from(*out, low, &high, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randint(mt_tensor **out, int64_t high, mt_ints size, mt_generator *generator, mt_dtype dtype, int layout,
                    mt_device device, const bool *pin_memory)
{
    return mt_impl_randint_low(out, 0, high, size, generator, dtype, layout, device, pin_memory);
}

int mt_impl_randperm(mt_tensor **out, int64_t n, mt_generator *generator, mt_dtype dtype, int layout, mt_device device,
                     const bool *pin_memory)
{
    mt_dtype d = dtype == MT_DTYPE_NONE ? MT_DTYPE_i64 : dtype;
    mt_tensor *indices = NULL;
    int rc = -1;

    MT_REQUIRE(n >= 0, MT_ERR_RUNTIME, "n must be non-negative, got %lld", (long long)n);
    MT_REQUIRE(!mt_dtype_is_complex(d) && d != MT_DTYPE_b8 && !mt_dtype_is_shell(d), MT_ERR_NOT_IMPLEMENTED,
               "\"randperm\" not implemented for '%s'", mt_dtype_table[d].legacy);
    MT_REQUIRE(!(d == MT_DTYPE_f16 && n > 2049) && !(d == MT_DTYPE_bf16 && n > 257) &&
                   !(d == MT_DTYPE_f32 && n > (1 << 24) + 1) && !(d == MT_DTYPE_u8 && n > 256) &&
                   !(d == MT_DTYPE_i8 && n > 128) && !(d == MT_DTYPE_i16 && n > 32768) &&
                   !(d == MT_DTYPE_i32 && n > (int64_t)INT32_MAX + 1),
               MT_ERR_RUNTIME, "n is too large for result tensor type: '%s'", mt_dtype_table[d].legacy);
    MT_TRY(make(&indices, (mt_ints){&n, 1}, MT_DTYPE_i64, MT_DTYPE_i64, layout, device, pin_memory));
    if (indices->device.type != MT_DEVICE_META)
        MT_TRY(mt_randperm_fill_inplace(indices, generator));
    if (d == MT_DTYPE_i64) {
        *out = mt_tensor_move(&indices);
    } else {
        MT_TRY(mt_tensor_new(out, d, 1, &n, indices->device));
        if (mt_copy_inplace(*out, indices, false) < 0) {
            mt_tensor_clear(out);
            goto fail;
        }
    }
    rc = 0;
fail:
    mt_tensor_clear(&indices);
    return rc;
}

/* --- like another tensor --- */

int mt_impl_rand_like(mt_tensor **out, mt_tensor *self, mt_generator *generator, mt_dtype dtype, int layout,
                      mt_device device, const bool *pin_memory, int memory_format)
{
    if (mt_impl_empty_like(out, self, dtype, layout, device, pin_memory, memory_format) < 0)
        return -1;
    if (mt_uniform_inplace(*out, 0.0, 1.0, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randn_like(mt_tensor **out, mt_tensor *self, mt_generator *generator, mt_dtype dtype, int layout,
                       mt_device device, const bool *pin_memory, int memory_format)
{
    if (mt_impl_empty_like(out, self, dtype, layout, device, pin_memory, memory_format) < 0)
        return -1;
    if (mt_normal_inplace(*out, 0.0, 1.0, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randint_like_low(mt_tensor **out, mt_tensor *self, int64_t low, int64_t high, mt_generator *generator,
                             mt_dtype dtype, int layout, mt_device device, const bool *pin_memory, int memory_format)
{
    if (mt_impl_empty_like(out, self, dtype, layout, device, pin_memory, memory_format) < 0)
        return -1;
    if (mt_random_inplace_from(*out, low, &high, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_randint_like(mt_tensor **out, mt_tensor *self, int64_t high, mt_generator *generator, mt_dtype dtype,
                         int layout, mt_device device, const bool *pin_memory, int memory_format)
{
    return mt_impl_randint_like_low(out, self, 0, high, generator, dtype, layout, device, pin_memory, memory_format);
}

/* --- bernoulli and normal --- */

int mt_impl_bernoulli(mt_tensor **out, mt_tensor *self, mt_generator *generator)
{
    if (mt_tensor_new(out, (mt_dtype)self->dtype, self->ndim, self->size, self->device) < 0)
        return -1;
    if (mt_bernoulli_inplace_Tensor(*out, self, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_impl_bernoulli_p(mt_tensor **out, mt_tensor *self, double p, mt_generator *generator)
{
    if (mt_tensor_new(out, (mt_dtype)self->dtype, self->ndim, self->size, self->device) < 0)
        return -1;
    if (mt_bernoulli_inplace_float(*out, p, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

static int check_std(mt_tensor *std)
{
    mt_tensor *least = NULL;
    mt_scalar s;
    int rc = -1;

    if (mt_dtype_is_complex((mt_dtype)std->dtype))
        return mt_error_set(MT_ERR_RUNTIME, "normal expects standard deviation to be non-complex");
    if (std->numel == 0 || std->device.type == MT_DEVICE_META)
        return 0;
    MT_TRY(mt_min(&least, std));
    MT_TRY(mt_tensor_item(&s, least));
    MT_REQUIRE(!(mt_scalar_to_double(s) < 0.0), MT_ERR_RUNTIME, "normal expects all elements of std >= 0.0");
    rc = 0;
fail:
    mt_tensor_clear(&least);
    return rc;
}

static int scale(mt_tensor *t, double by)
{
    mt_tensor *number = NULL;
    int rc = mt_tensor_from_scalar(&number, mt_scalar_from_double(by));

    if (rc == 0)
        rc = mt_mul_inplace(t, number);
    mt_tensor_clear(&number);
    return rc;
}

static int shift(mt_tensor *t, double by)
{
    mt_tensor *number = NULL;
    int rc = mt_tensor_from_scalar(&number, mt_scalar_from_double(by));

    if (rc == 0)
        rc = mt_add_inplace(t, number, mt_scalar_from_int(1));
    mt_tensor_clear(&number);
    return rc;
}

/* A standard normal of the common shape, times std, plus mean; each may be a tensor or a number. */
static int normal_of(mt_tensor **out, mt_tensor *mean, double mean_number, mt_tensor *std, double std_number,
                     mt_generator *generator)
{
    mt_shape shape = {0, {0}};
    mt_tensor *sample = NULL;
    mt_dtype dtype = (mt_dtype)(mean ? mean->dtype : std->dtype);
    int rc = -1;

    if (mean)
        MT_TRY(mt_shape_broadcast(&shape, mean->ndim, mean->size));
    if (std)
        MT_TRY(mt_shape_broadcast(&shape, std->ndim, std->size));
    MT_TRY(mt_tensor_new(&sample, dtype, shape.ndim, shape.size, mean ? mean->device : std->device));
    MT_TRY(mt_normal_inplace(sample, 0.0, 1.0, generator));
    if (std)
        MT_TRY(mt_mul_inplace(sample, std));
    else
        MT_TRY(scale(sample, std_number));
    if (mean)
        MT_TRY(mt_add_inplace(sample, mean, mt_scalar_from_int(1)));
    else
        MT_TRY(shift(sample, mean_number));
    *out = mt_tensor_move(&sample);
    rc = 0;
fail:
    mt_tensor_clear(&sample);
    return rc;
}

int mt_impl_normal_tensor_float(mt_tensor **out, mt_tensor *mean, double std, mt_generator *generator)
{
    if (!(std >= 0.0))
        return mt_error_set(MT_ERR_RUNTIME, "normal expects std >= 0.0, but found std %g", std);
    return normal_of(out, mean, 0.0, NULL, std, generator);
}

int mt_impl_normal_float_tensor(mt_tensor **out, double mean, mt_tensor *std, mt_generator *generator)
{
    return check_std(std) < 0 ? -1 : normal_of(out, NULL, mean, std, 0.0, generator);
}

int mt_impl_normal_tensor_tensor(mt_tensor **out, mt_tensor *mean, mt_tensor *std, mt_generator *generator)
{
    return check_std(std) < 0 ? -1 : normal_of(out, mean, 0.0, std, 0.0, generator);
}

int mt_impl_normal_float_float(mt_tensor **out, double mean, double std, mt_ints size, mt_generator *generator,
                               mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    if (make(out, size, dtype, mt_default_dtype(), layout, device, pin_memory) < 0)
        return -1;
    if (mt_normal_inplace(*out, mean, std, generator) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

/* --- dropout --- */

static int check_p(double p)
{
    if (!(p >= 0 && p <= 1))
        return mt_error_set(MT_ERR_RUNTIME, "dropout probability has to be between 0 and 1, but got %g", p);
    return 0;
}

/* Noise of 0 and 1 / (1 - p), drawn in the shape of `like`. Not recorded. */
static int make_noise(mt_tensor **out, mt_tensor *like, int ndim, const int64_t *size, double p)
{
    mt_tensor *noise = NULL, *keep = NULL;
    bool grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    if (size)
        MT_TRY(mt_tensor_new(&noise, (mt_dtype)like->dtype, ndim, size, like->device));
    else
        MT_TRY(mt_tensor_new_like(&noise, like, (mt_dtype)like->dtype));
    MT_TRY(mt_bernoulli_inplace_float(noise, 1 - p, NULL));
    MT_TRY(mt_tensor_from_scalar(&keep, mt_scalar_from_double(1 - p)));
    MT_TRY(mt_div_Tensor_inplace(noise, keep));
    *out = mt_tensor_move(&noise);
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_tensor_clear(&noise);
    mt_tensor_clear(&keep);
    return rc;
}

/* Multiplies by zero, as the reference does for p = 1. */
static int times_zero(mt_tensor **out, mt_tensor *input)
{
    mt_tensor *zero = NULL;
    int rc = mt_tensor_new_zeroed(&zero, (mt_dtype)input->dtype, 0, NULL, input->device);

    if (rc == 0)
        rc = mt_mul(out, input, zero);
    mt_tensor_clear(&zero);
    return rc;
}

int mt_impl_dropout(mt_tensor **out, mt_tensor *input, double p, bool train)
{
    mt_tensor *noise = NULL;
    int rc = -1;

    MT_TRY(check_p(p));
    if (p == 0 || !train || input->numel == 0) {
        *out = mt_tensor_ref(input);
        return 0;
    }
    if (p == 1)
        return times_zero(out, input);
    MT_TRY(make_noise(&noise, input, 0, NULL, p));
    MT_TRY(mt_mul(out, input, noise));
    rc = 0;
fail:
    mt_tensor_clear(&noise);
    return rc;
}

static int channel_shape(int64_t *size, const mt_tensor *input)
{
    MT_REQUIRE(input->ndim >= 2, MT_ERR_RUNTIME, "Feature dropout requires at least 2 dimensions in the input");
    for (int i = 0; i < input->ndim; i++)
        size[i] = i < 2 ? input->size[i] : 1;
    return 0;
fail:
    return -1;
}

/* Noise for all elements, or for channels. */
static int noise_for(mt_tensor **out, mt_tensor *input, double p, bool channels)
{
    int64_t size[MT_MAX_DIM];

    if (channels && channel_shape(size, input) < 0)
        return -1;
    return make_noise(out, input, input->ndim, channels ? size : NULL, p);
}

static int drop_in_place(mt_tensor *self, double p, bool train, bool channels)
{
    mt_tensor *noise = NULL;
    int rc = -1;

    MT_TRY(check_p(p));
    if (p == 0 || !train || self->numel == 0)
        return 0;
    if (p == 1)
        MT_TRY(mt_tensor_new_zeroed(&noise, (mt_dtype)self->dtype, 0, NULL, self->device));
    else
        MT_TRY(noise_for(&noise, self, p, channels));
    MT_TRY(mt_mul_inplace(self, noise));
    rc = 0;
fail:
    mt_tensor_clear(&noise);
    return rc;
}

int mt_impl_dropout_inplace(mt_tensor *self, double p, bool train)
{
    return drop_in_place(self, p, train, false);
}

int mt_impl_feature_dropout_inplace(mt_tensor *self, double p, bool train)
{
    return drop_in_place(self, p, train, true);
}

int mt_impl_channel_like(mt_tensor **out, mt_tensor *input)
{
    int64_t size[MT_MAX_DIM];

    if (channel_shape(size, input) < 0)
        return -1;
    return mt_tensor_new(out, (mt_dtype)input->dtype, input->ndim, size, input->device);
}

int mt_impl_feature_dropout(mt_tensor **out, mt_tensor *input, double p, bool train)
{
    mt_tensor *noise = NULL;
    int rc = -1;

    MT_TRY(check_p(p));
    if (p == 0 || !train || input->numel == 0) {
        *out = mt_tensor_ref(input);
        return 0;
    }
    if (p == 1)
        return times_zero(out, input);
    MT_TRY(noise_for(&noise, input, p, true));
    MT_TRY(mt_mul(out, input, noise));
    rc = 0;
fail:
    mt_tensor_clear(&noise);
    return rc;
}

static int alpha_in_place(mt_tensor *self, double p, bool train, bool channels)
{
    mt_tensor *like = NULL, *keep = NULL, *scale = NULL, *shift = NULL;
    int rc = -1;

    MT_TRY(check_p(p));
    if (p == 0 || !train || self->numel == 0)
        return 0;
    if (p == 1)
        return drop_in_place(self, p, train, channels);
    if (channels)
        MT_TRY(mt_impl_channel_like(&like, self));
    else
        MT_TRY(mt_detach(&like, self));
    MT_TRY(mt_bernoulli_p(&keep, like, 1 - p, NULL));
    MT_TRY(mt_alpha_scale(&scale, keep, p));
    MT_TRY(mt_alpha_shift(&shift, keep, p));
    MT_TRY(mt_mul_inplace(self, scale));
    MT_TRY(mt_add_inplace(self, shift, mt_scalar_from_int(1)));
    rc = 0;
fail:
    mt_tensor_clear(&like);
    mt_tensor_clear(&keep);
    mt_tensor_clear(&scale);
    mt_tensor_clear(&shift);
    return rc;
}

int mt_impl_alpha_dropout_inplace(mt_tensor *self, double p, bool train)
{
    return alpha_in_place(self, p, train, false);
}

int mt_impl_feature_alpha_dropout_inplace(mt_tensor *self, double p, bool train)
{
    return alpha_in_place(self, p, train, true);
}

/* --- multinomial --- */

static int check_multinomial(mt_tensor *self, int64_t num_samples, bool replacement)
{
    int64_t n = self->ndim ? self->size[self->ndim - 1] : 0;
    int rc = -1;

    MT_REQUIRE(self->ndim == 1 || self->ndim == 2, MT_ERR_RUNTIME, "prob_dist must be 1 or 2 dim");
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)self->dtype), MT_ERR_RUNTIME,
               "multinomial only supports floating-point dtypes for input, got: %s",
               mt_dtype_table[self->dtype].legacy);
    MT_REQUIRE(num_samples > 0, MT_ERR_RUNTIME, "cannot sample n_sample <= 0 samples");
    MT_REQUIRE(replacement || num_samples <= n, MT_ERR_RUNTIME,
               "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    MT_REQUIRE(n > 0 || (self->ndim == 2 && self->size[0] == 0), MT_ERR_RUNTIME,
               "invalid multinomial distribution (sum of probabilities <= 0)");
    MT_REQUIRE(n <= (int64_t)1 << 24, MT_ERR_RUNTIME, "number of categories cannot exceed 2^24");
    rc = 0;
fail:
    return rc;
}

/* No negative number, NaN or infinity, and no row of zeros. */
static int check_probabilities(mt_tensor *self)
{
    mt_tensor *sums = NULL, *least = NULL, *lowest = NULL;
    int64_t last = -1;
    mt_scalar s;
    int rc = -1;

    if (self->numel == 0)
        return 0;
    MT_TRY(mt_sum_dim_IntList(&sums, self, (mt_ints){&last, 1}, false, MT_DTYPE_NONE));
    MT_TRY(mt_min(&least, self));
    MT_TRY(mt_tensor_item(&s, least));
    MT_REQUIRE(mt_scalar_to_double(s) >= 0, MT_ERR_RUNTIME,
               "probability tensor contains either `inf`, `nan` or element < 0");
    mt_tensor_clear(&least);
    MT_TRY(mt_max(&least, sums));
    MT_TRY(mt_tensor_item(&s, least));
    MT_REQUIRE(isfinite(mt_scalar_to_double(s)), MT_ERR_RUNTIME,
               "probability tensor contains either `inf`, `nan` or element < 0");
    MT_TRY(mt_min(&lowest, sums));
    MT_TRY(mt_tensor_item(&s, lowest));
    MT_REQUIRE(mt_scalar_to_double(s) > 0, MT_ERR_RUNTIME,
               "invalid multinomial distribution (sum of probabilities <= 0)");
    rc = 0;
fail:
    mt_tensor_clear(&sums);
    mt_tensor_clear(&least);
    mt_tensor_clear(&lowest);
    return rc;
}

/* Exponential races: the largest of p / q, q exponential, are a sample without replacement. */
static int sample_without(mt_tensor **out, mt_tensor *self, int64_t num_samples, mt_generator *generator)
{
    mt_tensor *q = NULL, *race = NULL, *values = NULL;
    int64_t last = -1;
    int rc = -1;

    MT_TRY(mt_tensor_new_like(&q, self, (mt_dtype)self->dtype));
    MT_TRY(mt_exponential_inplace(q, 1.0, generator));
    MT_TRY(mt_div_Tensor(&race, self, q));
    if (num_samples == 1)
        MT_TRY(mt_argmax(out, race, &last, true));
    else
        MT_TRY(mt_topk(&values, out, race, num_samples, -1, true, true));
    rc = 0;
fail:
    mt_tensor_clear(&q);
    mt_tensor_clear(&race);
    mt_tensor_clear(&values);
    return rc;
}

static int sample_with(mt_tensor **out, mt_tensor *self, int64_t num_samples, mt_generator *generator)
{
    int64_t rows = self->ndim == 2 ? self->size[0] : 1, n = self->size[self->ndim - 1];
    int64_t shape[] = {rows, n}, result[] = {rows, num_samples};
    mt_tensor *probs = NULL, *indices = NULL;
    mt_dtype d = self->dtype == MT_DTYPE_f64 ? MT_DTYPE_f64 : MT_DTYPE_f32;
    int rc = -1;

    MT_TRY(mt_tensor_new(&probs, d, self->ndim, self->size, self->device));
    MT_TRY(mt_copy_inplace(probs, self, false));
    MT_TRY(mt_tensor_set_geometry(probs, 2, shape, (int64_t[]){n, 1}, 0));
    MT_TRY(mt_tensor_new(&indices, MT_DTYPE_i64, 2, result, self->device));
    MT_TRY(mt_multinomial_search_inplace(indices, probs, generator));
    if (self->ndim == 1)
        MT_TRY(mt_tensor_set_geometry(indices, 1, &num_samples, (int64_t[]){1}, 0));
    *out = mt_tensor_move(&indices);
    rc = 0;
fail:
    mt_tensor_clear(&probs);
    mt_tensor_clear(&indices);
    return rc;
}

int mt_impl_multinomial(mt_tensor **out, mt_tensor *self, int64_t num_samples, bool replacement,
                        mt_generator *generator)
{
    bool grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_need_host_data(self, "multinomial"));
    MT_TRY(check_multinomial(self, num_samples, replacement));
    MT_TRY(check_probabilities(self));
    if (!replacement || num_samples == 1)
        MT_TRY(sample_without(out, self, num_samples, generator));
    else
        MT_TRY(sample_with(out, self, num_samples, generator));
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    return rc;
}

/* --- poisson --- */

/* Small rates: how many uniform numbers can be multiplied before the product falls to exp(-rate). */
static double poisson_by_products(double rate, mt_generator *g)
{
    double bound = exp(-rate), product = mt_generator_f64(g), count = 0;

    for (; product > bound; count++)
        product *= mt_generator_f64(g);
    return count;
}

/* Large rates: Hoermann's transformed rejection with squeeze (PTRS, 1993); the constants are his. */
static double poisson_by_rejection(double rate, mt_generator *g)
{
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2.0);

    for (;;) {
        double u = mt_generator_f64(g) - 0.5, v = mt_generator_f64(g), us = 0.5 - fabs(u);
        double k = floor((2.0 * a / us + b) * u + rate + 0.43);

        if (us >= 0.07 && v <= squeeze)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= k * log(rate) - rate - lgamma(k + 1))
            return k;
    }
}

int mt_impl_poisson(mt_tensor **out, mt_tensor *self, mt_generator *generator)
{
    mt_generator *g = generator ? generator : mt_generator_default();
    mt_tensor *rates = NULL, *result = NULL;
    double *data;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(mt_dtype_is_float((mt_dtype)self->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"poisson_cpu\" not implemented for '%s'", mt_dtype_table[self->dtype].legacy);
    MT_TRY(mt_tensor_new_like(&result, self, (mt_dtype)self->dtype));
    if (self->device.type != MT_DEVICE_META && self->numel > 0) {
        MT_TRY(mt_tensor_new(&rates, MT_DTYPE_f64, self->ndim, self->size, MT_CPU));
        MT_TRY(mt_tensor_assign(rates, self));
        data = (double *)(void *)mt_tensor_mutable_data(rates);
        for (int64_t i = 0; i < self->numel; i++)
            MT_REQUIRE(data[i] >= 0, MT_ERR_RUNTIME, "invalid Poisson rate, expected rate to be non-negative");
        for (int64_t i = 0; i < self->numel; i++)
            if (data[i] > 0 && !isinf(data[i]))
                data[i] = data[i] < 10 ? poisson_by_products(data[i], g) : poisson_by_rejection(data[i], g);
        MT_TRY(mt_tensor_assign(result, rates));
    }
    *out = mt_tensor_move(&result);
    rc = 0;
fail:
    mt_tensor_clear(&rates);
    mt_tensor_clear(&result);
    return rc;
}
