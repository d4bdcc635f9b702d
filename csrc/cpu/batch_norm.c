/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels native_batch_norm and its backward. Memory is walked as it lies: a contiguous input channel by channel,
   in parallel over channels; one in channels last order (or with one element per channel) as rows of channels, in
   parallel over blocks of rows. The number of blocks depends on the shape alone, and so do all sums. */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "cpu/norm.h"
#include "kernels.h"

typedef struct batch_job {
    const mt_norm_loops *loops;
    const char *x, *g;
    char *y;
    int64_t n, c, hw, size; /* samples, channels, elements of a channel, bytes of an element */
    int64_t rows, block, n_blocks;
    bool columns;
    bool dots, apply;   /* sums of dot, not of spread; writes y */
    double *k;          /* numbers of affine and combine: arrays of c */
    double *sum;        /* two arrays of c: spread or dot */
    double *part;       /* of each block, the same two */
    const double *mean; /* of spread and dot */
} batch_job;

static void prepare(batch_job *j, const mt_tensor *input)
{
    int64_t c = input->size[1];

    j->n = input->size[0], j->c = c;
    j->hw = input->numel / (j->n * c);
    j->columns = (input->flags & (input->ndim == 5 ? MT_FLAG_CHANNELS_LAST_3D : MT_FLAG_CHANNELS_LAST)) != 0 &&
                 !(input->flags & MT_FLAG_CONTIGUOUS);
    j->rows = j->n * j->hw;
    j->block = (j->rows + 63) / 64 > 64 ? (j->rows + 63) / 64 : 64;
    j->n_blocks = (j->rows + j->block - 1) / j->block;
    j->size = (int64_t)mt_dtype_size(mt_norm_dtype(input));
}

/* Is the memory rows of channels? */
static bool by_columns(const batch_job *j)
{
    return j->columns || j->hw == 1;
}

/* --- sums --- */

static void sum_channels(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *j = ctx;

    for (int64_t c = begin; c < end; c++) {
        double s[2] = {0, 0};

        for (int64_t n = 0; n < j->n; n++) {
            int64_t at = (n * j->c + c) * j->hw * j->size;

            if (j->dots)
                j->loops->dot(s, j->g + at, j->x + at, j->hw, j->mean[c]);
            else if (j->mean)
                j->loops->spread(s, j->x + at, j->hw, j->mean[c]);
            else
                j->loops->sum(s, j->x + at, j->hw);
        }
        j->sum[c] = s[0];
        j->sum[j->c + c] = s[1];
    }
}

static void sum_blocks(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *j = ctx;

    for (int64_t k = begin; k < end; k++) {
        int64_t first = k * j->block, rows = j->rows - first < j->block ? j->rows - first : j->block;
        int64_t at = first * j->c * j->size;
        double *part = j->part + 2 * k * j->c;

        for (int64_t i = 0; i < 2 * j->c; i++)
            part[i] = 0;
        if (j->dots)
            j->loops->dots(part, j->g + at, j->x + at, rows, j->c, j->mean);
        else if (j->mean)
            j->loops->spreads(part, j->x + at, rows, j->c, j->mean);
        else
            j->loops->sums(part, j->x + at, rows, j->c);
    }
}

static void run_sums(batch_job *j)
{
    double cost = (j->dots ? 0.2 : 0.1) * (double)j->rows;

    if (!by_columns(j)) {
        mt_parallel_for(j->c, 20.0 + 5.0 * (double)j->n + cost, 1, sum_channels, j);
        return;
    }
    mt_parallel_for(j->n_blocks, cost * (double)j->c / (double)j->n_blocks, 1, sum_blocks, j);
    for (int64_t i = 0; i < 2 * j->c; i++)
        j->sum[i] = 0;
    for (int64_t k = 0; k < j->n_blocks; k++)
        for (int64_t i = 0; i < 2 * j->c; i++)
            j->sum[i] += j->part[2 * k * j->c + i];
}

/* --- results --- */

static void write_rows(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *j = ctx;

    for (int64_t r = begin; r < end; r++) {
        int64_t c = r % j->c, at = r * j->hw * j->size;
        double p[4];

        for (int q = 0; q < (j->g ? 4 : 3); q++)
            p[q] = j->k[q * j->c + c];
        if (j->g)
            j->loops->combine(j->y + at, j->g + at, j->x + at, j->hw, p);
        else
            j->loops->affine(j->y + at, j->x + at, j->hw, p);
    }
}

static void write_blocks(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *j = ctx;
    int64_t at = begin * j->c * j->size;

    if (j->g)
        j->loops->combines(j->y + at, j->g + at, j->x + at, end - begin, j->c, j->k);
    else
        j->loops->affines(j->y + at, j->x + at, end - begin, j->c, j->k);
}

static void run_write(batch_job *j)
{
    if (by_columns(j))
        mt_parallel_for(j->rows, 0.15 * (double)j->c + 2.0, 1, write_blocks, j);
    else
        mt_parallel_for(j->n * j->c, 0.15 * (double)j->hw + 10.0, 1, write_rows, j);
}

/* --- forward --- */

/* The numbers of a kernel: k (4 arrays), sum (2), mean, invstd, weight, bias or more, then the parts of the blocks. */
static int get_scratch(batch_job *j, mt_tensor **owner, double **arrays)
{
    int64_t parts = by_columns(j) ? 2 * j->n_blocks : 0;

    if (mt_norm_scratch(owner, arrays, (10 + parts) * j->c) < 0)
        return -1;
    j->k = *arrays;
    j->sum = *arrays + 4 * j->c;
    j->part = *arrays + 10 * j->c;
    return 0;
}

/* Means and variances (biased, times the count) of the channels. */
static void measure(batch_job *j, double *mean, double *var)
{
    double count = (double)j->rows;

    j->mean = NULL;
    run_sums(j);
    for (int64_t c = 0; c < j->c; c++) {
        mean[c] = j->sum[c] / count;
        if (j->size == (int64_t)sizeof(float))
            mean[c] = (double)(float)mean[c];
    }
    j->mean = mean;
    run_sums(j);
    for (int64_t c = 0; c < j->c; c++) {
        double shift = j->sum[c] / count, v = j->sum[j->c + c] - shift * j->sum[c];

        mean[c] += shift;
        var[c] = v < 0 ? 0.0 : v;
    }
}

/* running = momentum * now + (1 - momentum) * running */
static void update_running(mt_tensor *running, const double *now, double factor, double momentum, double *temporary,
                           int64_t c)
{
    if (!running)
        return;
    mt_norm_load(temporary, running, c, 0.0);
    for (int64_t i = 0; i < c; i++)
        temporary[i] = momentum * (now[i] * factor) + (1.0 - momentum) * temporary[i];
    mt_norm_store(running, temporary, c);
}

int mt_cpu_native_batch_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input, mt_tensor *weight,
                             mt_tensor *bias, mt_tensor *running_mean, mt_tensor *running_var, bool training,
                             double momentum, double eps)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[2] = {NULL, NULL}, *owner = NULL;
    batch_job j = {.loops = MT_ISA_PICK(mt_norm_loops_of)(dtype)};
    double *arrays, *mean, *var, *invstd;
    int rc = -1;

    if (input->numel == 0)
        return 0;
    if (training && running_mean)
        MT_TRY(mt_tensor_own(running_mean));
    if (training && running_var)
        MT_TRY(mt_tensor_own(running_var));
    prepare(&j, input);
    MT_TRY(mt_norm_dense(&t[0], input, dtype, j.columns));
    MT_TRY(mt_norm_target(&t[1], out0, dtype, j.columns));
    MT_TRY(get_scratch(&j, &owner, &arrays));
    mean = arrays + 6 * j.c, var = arrays + 7 * j.c, invstd = arrays + 8 * j.c;
    j.x = mt_tensor_const_data(t[0]);
    j.y = mt_tensor_mutable_data(t[1]);
    mt_norm_pin(t, 2, true);
    if (training) {
        measure(&j, mean, var);
        for (int64_t c = 0; c < j.c; c++)
            invstd[c] = 1.0 / sqrt(var[c] / (double)j.rows + eps);
    } else {
        mt_norm_load(mean, running_mean, j.c, 0.0);
        mt_norm_load(var, running_var, j.c, 1.0);
        for (int64_t c = 0; c < j.c; c++)
            invstd[c] = 1.0 / sqrt(var[c] + eps);
    }
    mt_norm_load(j.k + j.c, weight, j.c, 1.0);
    mt_norm_load(j.k + 2 * j.c, bias, j.c, 0.0);
    for (int64_t c = 0; c < j.c; c++) {
        j.k[c] = mean[c];
        j.k[j.c + c] *= invstd[c];
    }
    run_write(&j);
    mt_norm_pin(t, 2, false);
    if (training) {
        mt_norm_store(out1, mean, j.c);
        mt_norm_store(out2, invstd, j.c);
        update_running(running_mean, mean, 1.0, momentum, j.sum, j.c);
        update_running(running_var, var, 1.0 / (double)(j.rows - 1), momentum, j.sum, j.c);
    }
    rc = mt_norm_finish(out0, t[1]);
fail:
    mt_tensor_clear(&t[0]);
    mt_tensor_clear(&t[1]);
    mt_tensor_clear(&owner);
    return rc;
}

/* --- backward --- */

/* Sums, the gradients of weight and bias, and the numbers of combine. */
static void backward_numbers(batch_job *j, const double *mean, const double *invstd, const double *weight, bool train,
                             mt_tensor *dw, mt_tensor *db)
{
    double *temporary = j->k; /* free until its numbers are written below */

    j->dots = true;
    j->mean = mean;
    run_sums(j);
    for (int64_t c = 0; c < j->c; c++)
        temporary[c] = j->sum[j->c + c] * invstd[c];
    mt_norm_store(dw, temporary, j->c);
    mt_norm_store(db, j->sum, j->c);
    for (int64_t c = 0; c < j->c; c++) {
        double r = invstd[c], w = weight[c], n = (double)j->rows;

        j->k[c] = mean[c];
        j->k[j->c + c] = r * w;
        j->k[2 * j->c + c] = train ? -j->sum[j->c + c] * r * r * r * w / n : 0.0;
        j->k[3 * j->c + c] = train ? -j->sum[c] * r * w / n : 0.0;
    }
}

static void zero(mt_tensor *t)
{
    if (t)
        memset(mt_tensor_mutable_data(t), 0, (size_t)t->numel * mt_tensor_itemsize(t));
}

int mt_cpu_native_batch_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_tensor *weight, mt_tensor *running_mean,
                                      mt_tensor *running_var, mt_tensor *save_mean, mt_tensor *save_invstd, bool train,
                                      double eps, mt_ints output_mask)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[3] = {NULL, NULL, NULL}, *owner = NULL;
    batch_job j = {.loops = MT_ISA_PICK(mt_norm_loops_of)(dtype)};
    double *arrays, *mean, *invstd;
    int rc = -1;

    (void)output_mask;
    if (input->numel == 0) {
        zero(out1);
        zero(out2);
        return 0;
    }
    prepare(&j, input);
    MT_TRY(mt_norm_dense(&t[0], input, dtype, j.columns));
    MT_TRY(mt_norm_dense(&t[1], grad_out, dtype, j.columns));
    MT_TRY(mt_norm_target(&t[2], out0, dtype, j.columns));
    MT_TRY(get_scratch(&j, &owner, &arrays));
    mean = arrays + 6 * j.c, invstd = arrays + 7 * j.c;
    mt_norm_load(mean, train ? save_mean : running_mean, j.c, 0.0);
    mt_norm_load(invstd, train ? save_invstd : running_var, j.c, 1.0);
    for (int64_t c = 0; !train && c < j.c; c++)
        invstd[c] = 1.0 / sqrt(invstd[c] + eps);
    mt_norm_load(arrays + 8 * j.c, weight, j.c, 1.0);
    j.x = mt_tensor_const_data(t[0]), j.g = mt_tensor_const_data(t[1]);
    j.y = t[2] ? mt_tensor_mutable_data(t[2]) : NULL;
    mt_norm_pin(t, 3, true);
    backward_numbers(&j, mean, invstd, arrays + 8 * j.c, train, out1, out2);
    if (j.y)
        run_write(&j);
    mt_norm_pin(t, 3, false);
    rc = mt_norm_finish(out0, t[2]);
fail:
    for (int i = 0; i < 3; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&owner);
    return rc;
}
