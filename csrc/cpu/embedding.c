/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a table at indices, and the gradient of that added up by row. Every index is checked before the first write. */
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "core/op.h"
#include "kernels.h"

static int check_indices(const int64_t *index, int64_t n, int64_t rows)
{
    for (int64_t i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= rows)
            return mt_error_set(MT_ERR_INDEX, "index out of range in self");
    return 0;
}

/* int64 indices in order; others are converted. */
static int read_indices(int64_t **out, mt_tensor *indices)
{
    mt_tensor *t = NULL;
    int rc = -1;

    MT_TRY(mt_arg_contiguous(&t, indices));
    MT_TRY(mt_malloc((void **)out, (size_t)(t->numel + 1) * 8));
    mt_cast_table[t->dtype][MT_DTYPE_i64]((char *)*out, 8, mt_tensor_const_data(t), (int64_t)mt_tensor_itemsize(t),
                                          t->numel);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

typedef struct rows_job {
    char *out;
    const char *table;
    const int64_t *index;
    int64_t row_bytes, table_step;
} rows_job;

static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const rows_job *job = ctx;

    for (int64_t i = begin; i < end; i++)
        memcpy(job->out + i * job->row_bytes, job->table + job->index[i] * job->table_step, (size_t)job->row_bytes);
}

int mt_cpu_embedding(mt_tensor *out, mt_tensor *weight, mt_tensor *indices, int64_t padding_idx,
                     bool scale_grad_by_freq, bool sparse)
{
    rows_job job;
    int64_t *index = NULL, size = (int64_t)mt_tensor_itemsize(weight), columns = weight->size[1];
    mt_tensor *table = NULL;
    int rc = -1;

    (void)padding_idx, (void)scale_grad_by_freq, (void)sparse;
    MT_TRY(read_indices(&index, indices));
    MT_TRY(check_indices(index, indices->numel, weight->size[0]));
    if (weight->stride[1] == 1 || columns <= 1)
        table = mt_tensor_ref(weight);
    else
        MT_TRY(mt_arg_contiguous(&table, weight));
    job.out = mt_tensor_mutable_data(out);
    job.table = mt_tensor_const_data(table);
    job.index = index;
    job.row_bytes = columns * size;
    job.table_step = table->stride[0] * size;
    if (job.row_bytes > 0)
        mt_parallel_for(indices->numel, 5.0 + (double)job.row_bytes * 0.03, 1, copy_rows, &job);
    rc = 0;
fail:
    mt_free(index);
    mt_tensor_clear(&table);
    return rc;
}

/* Adds rows in index order; half types are added in float through a buffer of the table's size. */
static void add_rows(char *table, const char *grad, const int64_t *index, const int64_t *count, int64_t n,
                     int64_t columns, int64_t padding_idx, bool wide)
{
    for (int64_t i = 0; i < n; i++) {
        double scale = count ? 1.0 / (double)count[index[i]] : 1.0;

        if (index[i] == padding_idx)
            continue;
        if (wide) {
            double *row = (double *)table + index[i] * columns;
            const double *g = (const double *)grad + i * columns;

            for (int64_t k = 0; k < columns; k++)
                row[k] += g[k] * scale;
        } else {
            float *row = (float *)table + index[i] * columns, s = (float)scale;
            const float *g = (const float *)grad + i * columns;

            for (int64_t k = 0; k < columns; k++)
                row[k] += g[k] * s;
        }
    }
}

int mt_cpu_embedding_dense_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *indices, int64_t num_weights,
                                    int64_t padding_idx, bool scale_grad_by_freq)
{
    bool half = mt_dtype_size((mt_dtype)out->dtype) == 2;
    int64_t *index = NULL, *count = NULL, n = indices->numel, columns = out->size[1];
    char *table = mt_tensor_mutable_data(out), *room = NULL, *grad_room = NULL;
    const char *grad = mt_tensor_const_data(grad_output);
    int rc = -1;

    MT_TRY(read_indices(&index, indices));
    MT_TRY(check_indices(index, n, num_weights));
    if (scale_grad_by_freq) {
        MT_TRY(mt_calloc((void **)&count, (size_t)num_weights + 1, 8));
        for (int64_t i = 0; i < n; i++)
            count[index[i]]++;
    }
    if (half) {
        MT_TRY(mt_calloc((void **)&room, (size_t)(out->numel + 1), 4));
        MT_TRY(mt_calloc((void **)&grad_room, (size_t)(grad_output->numel + 1), 4));
        mt_cast_table[out->dtype][MT_DTYPE_f32](grad_room, 4, grad, 2, grad_output->numel);
        add_rows(room, grad_room, index, count, n, columns, padding_idx, false);
        mt_cast_table[MT_DTYPE_f32][out->dtype](table, 2, room, 4, out->numel);
    } else {
        memset(table, 0, (size_t)out->numel * mt_tensor_itemsize(out));
        add_rows(table, grad, index, count, n, columns, padding_idx, out->dtype == MT_DTYPE_f64);
    }
    rc = 0;
fail:
    mt_free(index);
    mt_free(count);
    mt_free(room);
    mt_free(grad_room);
    return rc;
}
