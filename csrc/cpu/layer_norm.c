/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels native_layer_norm and its backward: rows of the last dimensions, in parallel, each row read once from
   memory. Gradients of weight and bias are summed in blocks of rows whose number depends on the shape alone. Also
   here: the access to operands that all kernels of normalisation share. */
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/cpu_internal.h"
#include "cpu/norm.h"
#include "kernels.h"

/* --- operands --- */

mt_dtype mt_norm_dtype(const mt_tensor *t)
{
    return t->dtype == MT_DTYPE_f64 ? MT_DTYPE_f64 : MT_DTYPE_f32;
}

static bool has_order(const mt_tensor *t, mt_dtype dtype, bool channels_last)
{
    uint16_t last = t->ndim == 5 ? MT_FLAG_CHANNELS_LAST_3D : MT_FLAG_CHANNELS_LAST;
    uint16_t flag = channels_last ? last : MT_FLAG_CONTIGUOUS;

    return t->dtype == (uint8_t)dtype && (t->flags & flag);
}

static int new_dense(mt_tensor **out, const mt_tensor *like, mt_dtype dtype, bool channels_last)
{
    int64_t stride[MT_MAX_DIM];

    if (!channels_last)
        return mt_tensor_new(out, dtype, like->ndim, like->size, like->device);
    if (mt_shape_channels_last_strides(stride, like->ndim, like->size) < 0)
        return -1;
    return mt_tensor_new_strided(out, dtype, like->ndim, like->size, stride, like->device);
}

int mt_norm_dense(mt_tensor **out, mt_tensor *t, mt_dtype dtype, bool channels_last)
{
    *out = NULL;
    if (!t)
        return 0;
    if (has_order(t, dtype, channels_last)) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (new_dense(out, t, dtype, channels_last) < 0)
        return -1;
    if (mt_tensor_assign(*out, t) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

int mt_norm_target(mt_tensor **target, mt_tensor *out, mt_dtype dtype, bool channels_last)
{
    *target = NULL;
    if (!out)
        return 0;
    if (has_order(out, dtype, channels_last)) {
        *target = mt_tensor_ref(out);
        return 0;
    }
    return new_dense(target, out, dtype, channels_last);
}

int mt_norm_finish(mt_tensor *out, mt_tensor *target)
{
    return out && out != target ? mt_tensor_assign(out, target) : 0;
}

int mt_norm_scratch(mt_tensor **owner, double **out, int64_t n)
{
    if (mt_tensor_new_zeroed(owner, MT_DTYPE_f64, 1, &n, MT_CPU) < 0)
        return -1;
    *out = (double *)mt_tensor_mutable_data(*owner);
    return 0;
}

static int64_t step_of(const mt_tensor *t)
{
    int64_t size = (int64_t)mt_tensor_itemsize(t);

    return t->ndim == 1 ? t->stride[0] * size : size;
}

void mt_norm_load(double *dst, const mt_tensor *t, int64_t n, double missing)
{
    if (t)
        mt_cast_table[t->dtype][MT_DTYPE_f64]((char *)dst, sizeof *dst, mt_tensor_const_data(t), step_of(t), n);
    for (int64_t i = 0; !t && i < n; i++)
        dst[i] = missing;
}

void mt_norm_store(mt_tensor *t, const double *src, int64_t n)
{
    if (t)
        mt_cast_table[MT_DTYPE_f64][t->dtype](mt_tensor_mutable_data(t), step_of(t), (const char *)src, sizeof *src, n);
}

void mt_norm_pin(mt_tensor *const *t, int n, bool on)
{
    for (int i = 0; i < n; i++)
        if (t[i])
            (on ? mt_storage_pin : mt_storage_unpin)(t[i]->storage);
}

/* --- forward --- */

typedef struct layer_job {
    const mt_norm_loops *loops;
    const char *x, *w, *b, *g;
    char *y, *mean, *rstd;
    int64_t n;    /* elements of a row */
    int64_t line; /* bytes of a row */
    double eps;
    mt_cast_fn *put; /* a double as one of mean and rstd; NULL: they are float32 */
    int64_t stat_size;
    /* backward */
    int64_t rows, block, n_blocks;
    const double *stat; /* mean and rstd of each row */
    double *sum;        /* of each block: the gradients of weight and bias */
    char *part;         /* the same for a few rows, in the loops' type */
    double *total;
    bool want_w, want_b;
} layer_job;

static void layer_rows(void *ctx, int64_t begin, int64_t end)
{
    const layer_job *j = ctx;

    for (int64_t r = begin; r < end; r++) {
        double stat[2];

        mt_cpu_touch_page(j->x + r * j->line, j->line, false);
        mt_cpu_touch_page(j->y + r * j->line, j->line, true);
        j->loops->layer(j->y + r * j->line, j->x + r * j->line, j->w, j->b, j->n, j->eps, stat);
        if (!j->put) {
            ((float *)(void *)j->mean)[r] = (float)stat[0];
            ((float *)(void *)j->rstd)[r] = (float)stat[1];
            continue;
        }
        j->put(j->mean + r * j->stat_size, j->stat_size, (const char *)&stat[0], sizeof(double), 1);
        j->put(j->rstd + r * j->stat_size, j->stat_size, (const char *)&stat[1], sizeof(double), 1);
    }
}

static int64_t row_length(mt_ints shape)
{
    int64_t n = 1;

    for (int i = 0; i < shape.n; i++)
        n *= shape.data[i];
    return n;
}

static const char *data_of(const mt_tensor *t)
{
    return t ? mt_tensor_const_data(t) : NULL;
}

int mt_cpu_native_layer_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input,
                             mt_ints normalized_shape, mt_tensor *weight, mt_tensor *bias, double eps)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[4] = {NULL, NULL, NULL, NULL};
    layer_job j = {.loops = MT_ISA_PICK(mt_norm_loops_of)(dtype), .eps = eps};
    int rc = -1;

    j.n = row_length(normalized_shape);
    if (out1->numel == 0)
        return 0;
    MT_TRY(mt_norm_dense(&t[0], input, dtype, false));
    MT_TRY(mt_norm_dense(&t[1], weight, dtype, false));
    MT_TRY(mt_norm_dense(&t[2], bias, dtype, false));
    MT_TRY(mt_norm_target(&t[3], out0, dtype, false));
    j.x = data_of(t[0]), j.w = data_of(t[1]), j.b = data_of(t[2]);
    j.y = mt_tensor_mutable_data(t[3]);
    j.mean = mt_tensor_mutable_data(out1), j.rstd = mt_tensor_mutable_data(out2);
    j.line = j.n * (int64_t)mt_dtype_size(dtype);
    j.stat_size = (int64_t)mt_tensor_itemsize(out1);
    j.put = out1->dtype == MT_DTYPE_f32 ? NULL : mt_cast_table[MT_DTYPE_f64][out1->dtype];
    mt_norm_pin(t, 4, true);
    mt_parallel_for(out1->numel, 30.0 + 0.11 * (double)j.n * (dtype == MT_DTYPE_f64 ? 2 : 1), 1, layer_rows, &j);
    mt_norm_pin(t, 4, false);
    rc = mt_norm_finish(out0, t[3]);
fail:
    for (int i = 0; i < 4; i++)
        mt_tensor_clear(&t[i]);
    return rc;
}

/* --- backward --- */

#define FEW_ROWS 64

static void flush_part(const layer_job *j, double *sum, char *part)
{
    int64_t size = j->line;
    const char *from = part;

    for (int q = 0; q < 2; q++, from += size, sum += j->n) {
        if (!(q ? j->want_b : j->want_w))
            continue;
        if (size == j->n * (int64_t)sizeof(double))
            for (int64_t i = 0; i < j->n; i++)
                sum[i] += ((const double *)(const void *)from)[i];
        else
            for (int64_t i = 0; i < j->n; i++)
                sum[i] += (double)((const float *)(const void *)from)[i];
    }
    memset(part, 0, (size_t)size * 2);
}

static void layer_blocks(void *ctx, int64_t begin, int64_t end)
{
    const layer_job *j = ctx;

    for (int64_t k = begin; k < end; k++) {
        int64_t first = k * j->block, last = first + j->block < j->rows ? first + j->block : j->rows;
        char *part = j->part ? j->part + k * 2 * j->line : NULL;

        if (part)
            memset(part, 0, (size_t)j->line * 2);
        for (int64_t r = first; r < last; r++) {
            mt_cpu_touch_page(j->x + r * j->line, j->line, false);
            mt_cpu_touch_page(j->g + r * j->line, j->line, false);
            if (j->y)
                mt_cpu_touch_page(j->y + r * j->line, j->line, true);
            j->loops->layer_grad(j->y ? j->y + r * j->line : NULL, j->want_w ? part : NULL,
                                 j->want_b ? part + j->line : NULL, j->g + r * j->line, j->x + r * j->line, j->w, j->n,
                                 j->stat + 2 * r);
            if (part && ((r - first) % FEW_ROWS == FEW_ROWS - 1 || r == last - 1))
                flush_part(j, j->sum + k * 2 * j->n, part);
        }
    }
}

static void layer_totals(void *ctx, int64_t begin, int64_t end)
{
    const layer_job *j = ctx;

    for (int64_t k = 0; k < j->n_blocks; k++)
        for (int64_t i = begin; i < end; i++)
            j->total[i] += j->sum[k * 2 * j->n + i];
}

/* Gradients of the parameters are sums over rows: in the loops' type for a few rows, in double across them. */
static int layer_backward(layer_job *j, mt_tensor *dw, mt_tensor *db)
{
    mt_tensor *sums = NULL, *parts = NULL;
    double cost = 0.25 * (double)j->n + 20.0;
    int rc = -1;

    j->block = (j->rows + 31) / 32 > 16 ? (j->rows + 31) / 32 : 16;
    j->n_blocks = (j->rows + j->block - 1) / j->block;
    if (j->want_w || j->want_b) {
        int64_t bytes = j->n_blocks * 2 * j->line;

        MT_TRY(mt_norm_scratch(&sums, &j->sum, (j->n_blocks + 1) * 2 * j->n));
        MT_TRY(mt_tensor_new(&parts, MT_DTYPE_u8, 1, &bytes, MT_CPU));
        j->part = mt_tensor_mutable_data(parts);
        j->total = j->sum + j->n_blocks * 2 * j->n;
    }
    mt_parallel_for(j->n_blocks, cost * (double)j->block, 1, layer_blocks, j);
    if (j->total) {
        mt_parallel_for(2 * j->n, 0.5 * (double)j->n_blocks, 64, layer_totals, j);
        mt_norm_store(dw, j->total, j->n);
        mt_norm_store(db, j->total + j->n, j->n);
    }
    rc = 0;
fail:
    mt_tensor_clear(&sums);
    mt_tensor_clear(&parts);
    return rc;
}

/* Mean and rstd of each row side by side, as doubles. */
static void load_stats(double *stat, const mt_tensor *mean, const mt_tensor *rstd, int64_t rows)
{
    const mt_tensor *const t[2] = {mean, rstd};

    for (int q = 0; q < 2; q++)
        mt_cast_table[t[q]->dtype][MT_DTYPE_f64]((char *)(stat + q), 2 * sizeof(double), mt_tensor_const_data(t[q]),
                                                 (int64_t)mt_tensor_itemsize(t[q]), rows);
}

int mt_cpu_native_layer_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_ints normalized_shape, mt_tensor *mean, mt_tensor *rstd,
                                      mt_tensor *weight, mt_tensor *bias, mt_ints output_mask)
{
    mt_dtype dtype = mt_norm_dtype(input);
    mt_tensor *t[4] = {NULL, NULL, NULL, NULL}, *stats = NULL, *dense_mean = NULL, *dense_rstd = NULL;
    layer_job j = {.loops = MT_ISA_PICK(mt_norm_loops_of)(dtype), .n = row_length(normalized_shape)};
    double *stat;
    int rc = -1;

    (void)bias, (void)output_mask;
    j.rows = mean->numel;
    j.line = j.n * (int64_t)mt_dtype_size(dtype);
    MT_TRY(mt_norm_dense(&t[0], input, dtype, false));
    MT_TRY(mt_norm_dense(&t[1], grad_out, dtype, false));
    MT_TRY(mt_norm_dense(&t[2], weight, dtype, false));
    MT_TRY(mt_norm_target(&t[3], out0, dtype, false));
    MT_TRY(mt_arg_contiguous(&dense_mean, mean));
    MT_TRY(mt_arg_contiguous(&dense_rstd, rstd));
    MT_TRY(mt_norm_scratch(&stats, &stat, 2 * j.rows));
    load_stats(stat, dense_mean, dense_rstd, j.rows);
    j.stat = stat;
    j.x = data_of(t[0]), j.g = data_of(t[1]), j.w = data_of(t[2]);
    j.y = t[3] ? mt_tensor_mutable_data(t[3]) : NULL;
    j.want_w = out1 != NULL, j.want_b = out2 != NULL;
    mt_norm_pin(t, 4, true);
    rc = layer_backward(&j, out1, out2);
    mt_norm_pin(t, 4, false);
    if (rc == 0)
        rc = mt_norm_finish(out0, t[3]);
fail:
    for (int i = 0; i < 4; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&stats);
    mt_tensor_clear(&dense_mean);
    mt_tensor_clear(&dense_rstd);
    return rc;
}
