/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels native_group_norm and its backward. A group of a sample is one contiguous row of D channels with HxW
   elements each; groups are independent, so they are split over threads. The gradients of weight and bias come from
   sums per sample and channel that are added up afterwards. */
#include <math.h>

#include "base/parallel.h"
#include "core/op.h"
#include "cpu/norm.h"
#include "kernels.h"

typedef struct group_job {
    const mt_norm_loops *loops;
    const char *x, *g;
    char *y;
    const double *w, *b;        /* per channel */
    double *mean, *rstd;        /* per sample and group */
    double *dot;                /* per sample and channel: sums of g and of g * (x - mean) */
    int64_t group, d, hw, size; /* groups, channels of a group, elements of a channel, bytes of an element */
    double eps;
} group_job;

static void forward_groups(void *ctx, int64_t begin, int64_t end)
{
    const group_job *j = ctx;

    for (int64_t k = begin; k < end; k++) {
        int64_t first = k % j->group * j->d, n = j->d * j->hw;
        const char *x = j->x + k * n * j->size;
        double total = 0, spread[2] = {0, 0}, m, shift;

        j->loops->sum(&total, x, n);
        m = n ? total / (double)n : 0.0;
        if (j->size == (int64_t)sizeof(float))
            m = (double)(float)m;
        j->loops->spread(spread, x, n, m);
        shift = spread[0] / (double)n;
        j->mean[k] = n ? m + shift : 0.0;
        spread[1] = spread[1] / (double)n - shift * shift;
        j->rstd[k] = 1.0 / sqrt((spread[1] < 0 ? 0.0 : spread[1]) + j->eps);
        for (int64_t c = 0; c < j->d; c++) {
            double p[3] = {j->mean[k], j->rstd[k] * j->w[first + c], j->b[first + c]};
            int64_t at = (k * j->d + c) * j->hw * j->size;

            j->loops->affine(j->y + at, j->x + at, j->hw, p);
        }
    }
}

int mt_cpu_native_group_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input, mt_tensor *weight,
                             mt_tensor *bias, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[2] = {NULL, NULL}, *owner = NULL;
    group_job j = {
        .loops = MT_ISA_PICK(mt_norm_loops_of)(dtype), .group = group, .d = C / group, .hw = HxW, .eps = eps};
    double *scratch;
    int rc = -1;

    j.size = (int64_t)mt_dtype_size(dtype);
    MT_TRY(mt_norm_dense(&t[0], input, dtype, false));
    MT_TRY(mt_norm_target(&t[1], out0, dtype, false));
    MT_TRY(mt_norm_scratch(&owner, &scratch, 2 * C + 2 * N * group));
    mt_norm_load(scratch, weight, C, 1.0);
    mt_norm_load(scratch + C, bias, C, 0.0);
    j.w = scratch, j.b = scratch + C, j.mean = scratch + 2 * C, j.rstd = j.mean + N * group;
    j.x = mt_tensor_const_data(t[0]);
    j.y = mt_tensor_mutable_data(t[1]);
    mt_norm_pin(t, 2, true);
    mt_parallel_for(N * group, 40.0 + (double)j.d * (10.0 + 0.15 * (double)HxW), 1, forward_groups, &j);
    mt_norm_pin(t, 2, false);
    mt_cast_table[MT_DTYPE_f64][out1->dtype](mt_tensor_mutable_data(out1), (int64_t)mt_tensor_itemsize(out1),
                                             (const char *)j.mean, sizeof(double), N * group);
    mt_cast_table[MT_DTYPE_f64][out2->dtype](mt_tensor_mutable_data(out2), (int64_t)mt_tensor_itemsize(out2),
                                             (const char *)j.rstd, sizeof(double), N * group);
    rc = mt_norm_finish(out0, t[1]);
fail:
    mt_tensor_clear(&t[0]);
    mt_tensor_clear(&t[1]);
    mt_tensor_clear(&owner);
    return rc;
}

/* --- backward --- */

static void backward_groups(void *ctx, int64_t begin, int64_t end)
{
    const group_job *j = ctx;

    for (int64_t k = begin; k < end; k++) {
        int64_t first = k % j->group * j->d, n = j->d * j->hw;
        double sum = 0, dot = 0, r = j->rstd[k];

        for (int64_t c = 0; c < j->d; c++) {
            int64_t at = (k * j->d + c) * j->hw * j->size;
            double *s = j->dot + 2 * (k * j->d + c);

            j->loops->dot(s, j->g + at, j->x + at, j->hw, j->mean[k]);
            sum += s[0] * j->w[first + c];
            dot += s[1] * j->w[first + c];
        }
        for (int64_t c = 0; j->y && c < j->d; c++) {
            int64_t at = (k * j->d + c) * j->hw * j->size;
            double p[4] = {j->mean[k], r * j->w[first + c], -dot * r * r * r / (double)n, -sum * r / (double)n};

            j->loops->combine(j->y + at, j->g + at, j->x + at, j->hw, p);
        }
    }
}

/* dw and db, each of C doubles. */
static void add_samples(const group_job *j, double *dw, double *db, int64_t n_samples, int64_t channels)
{
    for (int64_t n = 0; n < n_samples; n++)
        for (int64_t c = 0; c < channels; c++) {
            const double *s = j->dot + 2 * (n * channels + c);

            dw[c] += s[1] * j->rstd[n * j->group + c / j->d];
            db[c] += s[0];
        }
}

int mt_cpu_native_group_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_tensor *mean, mt_tensor *rstd, mt_tensor *weight, int64_t N,
                                      int64_t C, int64_t HxW, int64_t group, mt_ints output_mask)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[3] = {NULL, NULL, NULL}, *owner = NULL, *flat[2] = {NULL, NULL};
    group_job j = {.loops = MT_ISA_PICK(mt_norm_loops_of)(dtype), .group = group, .d = C / group, .hw = HxW};
    double *scratch;
    int rc = -1;

    (void)output_mask;
    j.size = (int64_t)mt_dtype_size(dtype);
    MT_TRY(mt_norm_dense(&t[0], input, dtype, false));
    MT_TRY(mt_norm_dense(&t[1], grad_out, dtype, false));
    MT_TRY(mt_norm_target(&t[2], out0, dtype, false));
    MT_TRY(mt_norm_dense(&flat[0], mean, MT_DTYPE_f64, false));
    MT_TRY(mt_norm_dense(&flat[1], rstd, MT_DTYPE_f64, false));
    MT_TRY(mt_norm_scratch(&owner, &scratch, 3 * C + 2 * N * C));
    mt_norm_load(scratch, weight, C, 1.0);
    j.w = scratch, j.dot = scratch + 3 * C;
    j.mean = (double *)mt_tensor_mutable_data(flat[0]), j.rstd = (double *)mt_tensor_mutable_data(flat[1]);
    j.x = mt_tensor_const_data(t[0]), j.g = mt_tensor_const_data(t[1]);
    j.y = t[2] ? mt_tensor_mutable_data(t[2]) : NULL;
    mt_norm_pin(t, 3, true);
    mt_parallel_for(N * group, 40.0 + (double)j.d * (20.0 + 0.25 * (double)HxW), 1, backward_groups, &j);
    mt_norm_pin(t, 3, false);
    add_samples(&j, scratch + C, scratch + 2 * C, N, C);
    mt_norm_store(out1, scratch + C, C);
    mt_norm_store(out2, scratch + 2 * C, C);
    rc = mt_norm_finish(out0, t[2]);
fail:
    for (int i = 0; i < 3; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&flat[0]);
    mt_tensor_clear(&flat[1]);
    mt_tensor_clear(&owner);
    return rc;
}
