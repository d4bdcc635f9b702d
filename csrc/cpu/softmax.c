/* SPDX-License-Identifier: BSD-3-Clause */
/* softmax and log_softmax along a dimension. Inputs are contiguous. Rows of the last dimension that are float or double go
   straight to the row kernels; other lines (an inner dimension, half types) pass through buffers of float or double. */
#include "cpu/softmax.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/parallel.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "cpu/lines.h"
#include "kernels.h"

/* --- rows --- */

typedef struct rows_job {
    char *data[3]; /* out, then one or two inputs */
    int64_t n, size;
    int n_in;
    bool log, wide;
} rows_job;

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const rows_job *job = ctx;
    int64_t n = job->n, rows = end - begin;
    void *p[3];

    for (int k = 0; k <= job->n_in; k++)
        p[k] = job->data[k] + begin * n * job->size;
    if (job->n_in == 1 && job->wide)
        MT_ISA_PICK(mt_softmax_rows_f64)(p[0], p[1], rows, n, job->log);
    else if (job->n_in == 1)
        MT_ISA_PICK(mt_softmax_rows_f32)(p[0], p[1], rows, n, job->log);
    else if (job->wide)
        MT_ISA_PICK(mt_softmax_back_rows_f64)(p[0], p[1], p[2], rows, n, job->log);
    else
        MT_ISA_PICK(mt_softmax_back_rows_f32)(p[0], p[1], p[2], rows, n, job->log);
}

/* --- lines that pass through buffers --- */

typedef struct lines_job {
    mt_lines lines; /* out, then inputs */
    uint8_t dtype[3];
    rows_job row;
    char *room; /* per task: n_in lines */
    int64_t n_tasks, line_bytes;
} lines_job;

static void run_task(void *ctx, int64_t begin, int64_t end)
{
    const lines_job *job = ctx;
    const mt_lines *l = &job->lines;
    mt_dtype acc = job->row.wide ? MT_DTYPE_f64 : MT_DTYPE_f32;
    int64_t size = job->row.size;
    rows_job row = job->row;

    for (int64_t task = begin; task < end; task++) {
        char *room = job->room + task * row.n_in * job->line_bytes;

        row.data[0] = room;
        for (int k = 0; k < row.n_in; k++)
            row.data[k + 1] = room + k * job->line_bytes;
        for (int64_t i = l->n_lines * task / job->n_tasks; i < l->n_lines * (task + 1) / job->n_tasks; i++) {
            char *at[MT_LINES_MAX];

            mt_lines_at(l, i, at);
            for (int k = 1; k <= row.n_in; k++)
                mt_cast_table[job->dtype[k]][acc](row.data[k], size, at[k], l->step[k], l->length);
            run_rows(&row, 0, 1);
            mt_cast_table[acc][job->dtype[0]](at[0], l->step[0], room, size, l->length);
        }
    }
}

static int run_lines(const rows_job *row, mt_tensor *const *tensors, int64_t dim)
{
    lines_job job;
    void *room = NULL;
    int64_t bytes;
    int rc = -1;

    mt_lines_init(&job.lines, tensors, 1 + row->n_in, 1, dim);
    job.row = *row;
    job.line_bytes = row->n * row->size;
    for (int k = 0; k <= row->n_in; k++)
        job.dtype[k] = tensors[k]->dtype;
    job.n_tasks = mt_get_num_threads();
    if (job.n_tasks > job.lines.n_lines)
        job.n_tasks = job.lines.n_lines;
    MT_REQUIRE(!mt_mul_overflow(job.line_bytes, job.n_tasks * row->n_in, &bytes), MT_ERR_RUNTIME,
               "softmax: the dimension is too large");
    MT_TRY(mt_malloc(&room, (size_t)bytes));
    job.room = room;
    mt_parallel_for(job.n_tasks, 0.8 * (double)tensors[0]->numel / (double)job.n_tasks, 1, run_task, &job);
    rc = 0;
fail:
    mt_free(room);
    return rc;
}

/* --- choice --- */

static int run(mt_tensor *out, mt_tensor *a, mt_tensor *b, int64_t dim, bool log)
{
    mt_tensor *tensors[] = {out, a, b};
    rows_job job = {.n_in = b ? 2 : 1, .log = log, .wide = out->dtype == MT_DTYPE_f64};
    bool direct;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, out->ndim));
    if (out->numel == 0)
        return 0;
    job.size = job.wide ? 8 : 4;
    job.n = out->ndim ? out->size[dim] : 1;
    direct = dim == out->ndim - 1 || out->ndim == 0;
    for (int k = 0; direct && k <= job.n_in; k++)
        direct = tensors[k]->dtype == (job.wide ? MT_DTYPE_f64 : MT_DTYPE_f32) && mt_tensor_is_contiguous(tensors[k]);
    if (!direct)
        return run_lines(&job, tensors, dim);
    for (int k = 0; k <= job.n_in; k++)
        job.data[k] = k ? (char *)(uintptr_t)mt_tensor_const_data(tensors[k]) : mt_tensor_mutable_data(out);
    if (out->numel <= 1024)
        run_rows(&job, 0, out->numel / job.n);
    else
        mt_parallel_for(out->numel / job.n, 0.5 * (double)job.n, 1, run_rows, &job);
    rc = 0;
fail:
    return rc;
}

int mt_cpu_softmax(mt_tensor *out, mt_tensor *self, int64_t dim, bool half_to_float)
{
    (void)half_to_float;
    return run(out, self, NULL, dim, false);
}

int mt_cpu_log_softmax(mt_tensor *out, mt_tensor *self, int64_t dim, bool half_to_float)
{
    (void)half_to_float;
    return run(out, self, NULL, dim, true);
}

int mt_cpu_softmax_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *output, int64_t dim,
                            mt_dtype input_dtype)
{
    (void)input_dtype;
    return run(out, grad_output, output, dim, false);
}

int mt_cpu_log_softmax_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *output, int64_t dim,
                                mt_dtype input_dtype)
{
    (void)input_dtype;
    return run(out, grad_output, output, dim, true);
}
