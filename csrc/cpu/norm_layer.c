/* SPDX-License-Identifier: BSD-3-Clause */
/* layer_norm and group_norm: statistics of contiguous runs. A row of layer_norm has a weight per element, a group of
   group_norm one per channel. Gradients of weights are sums over rows: rows are cut into blocks whose number follows from the
   sizes alone, each block has sums of its own, and these are added in order. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "cpu/norm_op.h"

/* --- layer_norm --- */

typedef struct rows {
    const mt_norm_kernels *k;
    const mt_norm_frame *f;
    int64_t m, n, block;
    double eps;
    const char *x, *grad, *weight, *bias;
    char *y, *mean, *rstd;
    char *dx, *d_weight, *d_bias; /* d_weight, d_bias: one row of sums per block */
} rows;

static double run_cost(int64_t n)
{
    return 20.0 + 0.25 * (double)n;
}

/* Mean and inverse deviation of a run. */
static void moments(const rows *r, const char *x, int64_t n, double *mean, double *rstd)
{
    *mean = n ? r->k->sum(x, n) / (double)n : NAN;
    *rstd = 1.0 / sqrt((n ? r->k->square_sum(x, n, *mean) / (double)n : NAN) + r->eps);
}

static void forward_range(void *ctx, int64_t begin, int64_t end)
{
    const rows *r = ctx;
    int64_t size = r->f->itemsize;

    for (int64_t i = begin; i < end; i++) {
        double mean, rstd;

        moments(r, r->x + i * r->n * size, r->n, &mean, &rstd);
        mt_norm_put(r->f, r->mean, i, mean);
        mt_norm_put(r->f, r->rstd, i, rstd);
        r->k->row(r->y + i * r->n * size, r->x + i * r->n * size, r->weight, r->bias, r->n, mean, rstd);
    }
}

static int64_t product_of(mt_ints list)
{
    int64_t n = 1;

    for (int i = 0; i < list.n; i++)
        n *= list.data[i];
    return n;
}

static int64_t rows_of(const mt_tensor *input, mt_ints normalized_shape)
{
    int64_t m = 1;

    for (int i = 0; i < input->ndim - normalized_shape.n; i++)
        m *= input->size[i];
    return m;
}

int mt_cpu_native_layer_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input,
                             mt_ints normalized_shape, mt_tensor *weight, mt_tensor *bias, double eps)
{
    mt_norm_frame f;
    rows r = {.f = &f, .m = rows_of(input, normalized_shape), .n = product_of(normalized_shape), .eps = eps};
    int rc = -1;

    mt_norm_open(&f, input);
    r.k = f.k;
    MT_TRY(mt_norm_read(&f, &r.x, input));
    MT_TRY(mt_norm_read(&f, &r.weight, weight));
    MT_TRY(mt_norm_read(&f, &r.bias, bias));
    MT_TRY(mt_norm_write(&f, &r.y, out0));
    MT_TRY(mt_norm_write(&f, &r.mean, out1));
    MT_TRY(mt_norm_write(&f, &r.rstd, out2));
    mt_parallel_for(r.m, run_cost(r.n), 1, forward_range, &r);
    rc = 0;
fail:
    return mt_norm_close(&f, rc);
}

static void backward_block(const rows *r, int64_t block)
{
    int64_t size = r->f->itemsize, first = block * r->block, last = first + r->block < r->m ? first + r->block : r->m;
    char *dw = r->d_weight ? r->d_weight + block * r->n * size : NULL;
    char *db = r->d_bias ? r->d_bias + block * r->n * size : NULL;

    if (dw)
        memset(dw, 0, (size_t)(r->n * size));
    if (db)
        memset(db, 0, (size_t)(r->n * size));
    for (int64_t i = first; i < last; i++) {
        int64_t at = i * r->n * size;
        double mean = mt_norm_get(r->f, r->mean, i), rstd = mt_norm_get(r->f, r->rstd, i), sums[2] = {0, 0};

        if (r->dx)
            r->k->row_sums(sums, r->grad + at, r->x + at, r->weight, r->n, mean, rstd);
        r->k->row_gradient(r->dx ? r->dx + at : NULL, dw, db, r->grad + at, r->x + at, r->weight, r->n, mean, rstd,
                           sums[0] / (double)r->n, sums[1] / (double)r->n);
    }
}

static void backward_range(void *ctx, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        backward_block(ctx, i);
}

/* Adds up the rows of blocks; the first row is where the result goes. */
static void add_blocks(const mt_norm_frame *f, char *out, const char *sums, int64_t n_blocks, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double total = 0;

        for (int64_t b = 0; b < n_blocks; b++)
            total += mt_norm_get(f, sums, b * n + i);
        mt_norm_put(f, out, i, total);
    }
}

enum { MAX_BLOCKS = 64 };

/* Rows per block: at most MAX_BLOCKS blocks, of at least 16 rows. */
static int64_t rows_per_block(int64_t m)
{
    int64_t block = (m + MAX_BLOCKS - 1) / MAX_BLOCKS;

    return block < 16 ? 16 : block;
}

static int run_layer_backward(rows *r, char *d_weight, char *d_bias)
{
    int64_t n_blocks = (r->m + r->block - 1) / r->block, row = r->n * r->f->itemsize;
    size_t bytes = (size_t)(n_blocks * row) * ((d_weight != NULL) + (d_bias != NULL));
    void *memory = NULL;

    if (bytes && mt_data_alloc(&memory, bytes) < 0)
        return -1;
    if (d_weight)
        r->d_weight = memory;
    if (d_bias)
        r->d_bias = (char *)memory + (d_weight ? n_blocks * row : 0);
    mt_parallel_for(n_blocks, (double)r->block * run_cost(3 * r->n), 1, backward_range, r);
    if (d_weight)
        add_blocks(r->f, d_weight, r->d_weight, n_blocks, r->n);
    if (d_bias)
        add_blocks(r->f, d_bias, r->d_bias, n_blocks, r->n);
    mt_data_free(memory, bytes);
    return 0;
}

int mt_cpu_native_layer_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_ints normalized_shape, mt_tensor *mean, mt_tensor *rstd,
                                      mt_tensor *weight, mt_tensor *bias, mt_ints output_mask)
{
    mt_norm_frame f;
    rows r = {.f = &f, .m = rows_of(input, normalized_shape), .n = product_of(normalized_shape)};
    const char *given_mean, *given_rstd;
    char *d_weight, *d_bias;
    int rc = -1;

    (void)bias, (void)output_mask;
    mt_norm_open(&f, input);
    r.k = f.k;
    r.block = rows_per_block(r.m);
    MT_TRY(mt_norm_read(&f, &r.grad, grad_out));
    MT_TRY(mt_norm_read(&f, &r.x, input));
    MT_TRY(mt_norm_read(&f, &given_mean, mean));
    MT_TRY(mt_norm_read(&f, &given_rstd, rstd));
    MT_TRY(mt_norm_read(&f, &r.weight, weight));
    MT_TRY(mt_norm_write(&f, &r.dx, out0));
    MT_TRY(mt_norm_write(&f, &d_weight, out1));
    MT_TRY(mt_norm_write(&f, &d_bias, out2));
    r.mean = (char *)(uintptr_t)given_mean;
    r.rstd = (char *)(uintptr_t)given_rstd;
    rc = run_layer_backward(&r, d_weight, d_bias);
fail:
    return mt_norm_close(&f, rc);
}

/* --- group_norm --- */

typedef struct groups {
    rows r; /* m: images * groups, n: elements of a group */
    int64_t n_groups, channels, pixels; /* channels per group */
    char *sums;                         /* per image and channel: sums of grad and of grad (x - mean) */
} groups;

static double weight_of(const rows *r, const char *list, int64_t channel, double missing)
{
    return list ? mt_norm_get(r->f, list, channel) : missing;
}

static void group_forward_range(void *ctx, int64_t begin, int64_t end)
{
    const groups *g = ctx;
    const rows *r = &g->r;
    int64_t size = r->f->itemsize;

    for (int64_t i = begin; i < end; i++) {
        double mean, rstd;

        moments(r, r->x + i * r->n * size, r->n, &mean, &rstd);
        mt_norm_put(r->f, r->mean, i, mean);
        mt_norm_put(r->f, r->rstd, i, rstd);
        for (int64_t c = 0; c < g->channels; c++) {
            int64_t channel = i % g->n_groups * g->channels + c, at = (i * g->channels + c) * g->pixels * size;
            double factor = rstd * weight_of(r, r->weight, channel, 1.0);

            r->k->scale(r->y + at, r->x + at, g->pixels, mean, factor, weight_of(r, r->bias, channel, 0.0));
        }
    }
}

int mt_cpu_native_group_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input, mt_tensor *weight,
                             mt_tensor *bias, int64_t N, int64_t C, int64_t HxW, int64_t group, double eps)
{
    mt_norm_frame f;
    groups g = {.r = {.f = &f, .m = N * group, .n = C / group * HxW, .eps = eps}, .n_groups = group,
                .channels = C / group, .pixels = HxW};
    int rc = -1;

    mt_norm_open(&f, input);
    g.r.k = f.k;
    MT_TRY(mt_norm_read(&f, &g.r.x, input));
    MT_TRY(mt_norm_read(&f, &g.r.weight, weight));
    MT_TRY(mt_norm_read(&f, &g.r.bias, bias));
    MT_TRY(mt_norm_write(&f, &g.r.y, out0));
    MT_TRY(mt_norm_write(&f, &g.r.mean, out1));
    MT_TRY(mt_norm_write(&f, &g.r.rstd, out2));
    mt_parallel_for(g.r.m, run_cost(g.r.n), 1, group_forward_range, &g);
    rc = 0;
fail:
    return mt_norm_close(&f, rc);
}

/* dx = rstd (h - mean(h) - xhat mean(h xhat)) with h = grad weight. */
static void group_backward_range(void *ctx, int64_t begin, int64_t end)
{
    const groups *g = ctx;
    const rows *r = &g->r;
    int64_t size = r->f->itemsize;
    double *sums = (double *)(void *)g->sums;

    for (int64_t i = begin; i < end; i++) {
        double mean = mt_norm_get(r->f, r->mean, i), rstd = mt_norm_get(r->f, r->rstd, i), a = 0, b = 0;

        for (int64_t c = 0; c < g->channels; c++) {
            int64_t plane = i * g->channels + c, at = plane * g->pixels * size;
            double weight = weight_of(r, r->weight, i % g->n_groups * g->channels + c, 1.0);

            r->k->pair_sum(sums + 2 * plane, r->grad + at, r->x + at, g->pixels, mean);
            a += weight * sums[2 * plane];
            b += weight * sums[2 * plane + 1] * rstd;
        }
        a /= (double)r->n;
        b /= (double)r->n;
        for (int64_t c = 0; r->dx && c < g->channels; c++) {
            int64_t at = (i * g->channels + c) * g->pixels * size;
            double weight = weight_of(r, r->weight, i % g->n_groups * g->channels + c, 1.0);

            r->k->combine(r->dx + at, r->grad + at, r->x + at, g->pixels, mean, rstd * weight,
                          -rstd * rstd * b, -rstd * a);
        }
    }
}

static void group_weights(const groups *g, int64_t images, char *d_weight, char *d_bias)
{
    const rows *r = &g->r;
    const double *sums = (const double *)(const void *)g->sums;
    int64_t channels = g->n_groups * g->channels;

    for (int64_t c = 0; c < channels; c++) {
        double dw = 0, db = 0;

        for (int64_t i = 0; i < images; i++) {
            int64_t plane = i * channels + c;

            db += sums[2 * plane];
            dw += sums[2 * plane + 1] * mt_norm_get(r->f, r->rstd, i * g->n_groups + c / g->channels);
        }
        if (d_weight)
            mt_norm_put(r->f, d_weight, c, dw);
        if (d_bias)
            mt_norm_put(r->f, d_bias, c, db);
    }
}

int mt_cpu_native_group_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_tensor *mean, mt_tensor *rstd, mt_tensor *weight, int64_t N,
                                      int64_t C, int64_t HxW, int64_t group, mt_ints output_mask)
{
    mt_norm_frame f;
    groups g = {.r = {.f = &f, .m = N * group, .n = C / group * HxW}, .n_groups = group, .channels = C / group,
                .pixels = HxW};
    size_t bytes = (size_t)(N * C) * 2 * sizeof(double);
    const char *given_mean, *given_rstd;
    char *d_weight, *d_bias;
    void *memory = NULL;
    int rc = -1;

    (void)output_mask;
    mt_norm_open(&f, input);
    g.r.k = f.k;
    MT_TRY(mt_norm_read(&f, &g.r.grad, grad_out));
    MT_TRY(mt_norm_read(&f, &g.r.x, input));
    MT_TRY(mt_norm_read(&f, &given_mean, mean));
    MT_TRY(mt_norm_read(&f, &given_rstd, rstd));
    MT_TRY(mt_norm_read(&f, &g.r.weight, weight));
    MT_TRY(mt_norm_write(&f, &g.r.dx, out0));
    MT_TRY(mt_norm_write(&f, &d_weight, out1));
    MT_TRY(mt_norm_write(&f, &d_bias, out2));
    MT_TRY(mt_data_alloc(&memory, bytes));
    g.r.mean = (char *)(uintptr_t)given_mean;
    g.r.rstd = (char *)(uintptr_t)given_rstd;
    g.sums = memory;
    mt_parallel_for(g.r.m, run_cost(2 * g.r.n), 1, group_backward_range, &g);
    group_weights(&g, N, d_weight, d_bias);
    rc = 0;
fail:
    mt_data_free(memory, bytes);
    return mt_norm_close(&f, rc);
}
