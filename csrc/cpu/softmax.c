/* SPDX-License-Identifier: BSD-3-Clause */
/* softmax and log_softmax along a dimension. Inputs are contiguous. Rows that are contiguous and float or double go straight
   to the row kernels; other lines (an inner dimension, half types) pass through buffers of float or double. */
#include "cpu/softmax.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/parallel.h"
#include "core/dispatch.h"
#include "core/shape.h"
#include "cpu/lines.h"
#include "kernels.h"

typedef struct softmax_job {
    mt_lines lines;       /* out, then one or two inputs */
    uint8_t dtype[3];
    bool log, wide, direct;
    int n_in;
    char *room;           /* per task: n_in lines */
    int64_t n_tasks, line_bytes;
} softmax_job;

static void run_line(const softmax_job *job, char *out, char *const *in)
{
    int64_t n = job->lines.length;

    if (job->n_in == 1) {
        if (job->wide)
            MT_ISA_PICK(mt_softmax_row_f64)((double *)out, (const double *)in[0], n, job->log);
        else
            MT_ISA_PICK(mt_softmax_row_f32)((float *)out, (const float *)in[0], n, job->log);
        return;
    }
    if (job->wide)
        MT_ISA_PICK(mt_softmax_back_row_f64)
        ((double *)out, (const double *)in[0], (const double *)in[1], n, job->log);
    else
        MT_ISA_PICK(mt_softmax_back_row_f32)
        ((float *)out, (const float *)in[0], (const float *)in[1], n, job->log);
}

static void run_task(void *ctx, int64_t begin, int64_t end)
{
    const softmax_job *job = ctx;
    const mt_lines *l = &job->lines;
    mt_dtype acc = job->wide ? MT_DTYPE_f64 : MT_DTYPE_f32;
    int64_t size = job->wide ? 8 : 4;

    for (int64_t task = begin; task < end; task++) {
        char *room = job->room + task * job->n_in * job->line_bytes;

        for (int64_t i = l->n_lines * task / job->n_tasks; i < l->n_lines * (task + 1) / job->n_tasks; i++) {
            char *at[MT_LINES_MAX], *in[2];

            mt_lines_at(l, i, at);
            if (job->direct) {
                run_line(job, at[0], at + 1);
                continue;
            }
            for (int k = 0; k < job->n_in; k++) {
                in[k] = room + k * job->line_bytes;
                mt_cast_table[job->dtype[k + 1]][acc](in[k], size, at[k + 1], l->step[k + 1], l->length);
            }
            run_line(job, in[0], in);
            mt_cast_table[acc][job->dtype[0]](at[0], l->step[0], in[0], size, l->length);
        }
    }
}

static int run(mt_tensor *out, mt_tensor *a, mt_tensor *b, int64_t dim, bool log)
{
    mt_tensor *tensors[] = {out, a, b};
    softmax_job job;
    void *room = NULL;
    int64_t bytes;
    int rc = -1;

    MT_TRY(mt_dim_wrap(&dim, out->ndim));
    if (out->numel == 0)
        return 0;
    job.n_in = b ? 2 : 1;
    mt_lines_init(&job.lines, tensors, 1 + job.n_in, 1, dim);
    job.log = log;
    job.wide = out->dtype == MT_DTYPE_f64;
    job.line_bytes = job.lines.length * (job.wide ? 8 : 4);
    job.direct = true;
    for (int k = 0; k <= job.n_in; k++) {
        job.dtype[k] = tensors[k]->dtype;
        job.direct = job.direct && tensors[k]->dtype == (job.wide ? MT_DTYPE_f64 : MT_DTYPE_f32) &&
                     job.lines.step[k] == (job.wide ? 8 : 4);
    }
    job.n_tasks = job.direct ? job.lines.n_lines : mt_get_num_threads();
    if (job.n_tasks > job.lines.n_lines)
        job.n_tasks = job.lines.n_lines;
    if (!job.direct) {
        MT_REQUIRE(!mt_mul_overflow(job.line_bytes, job.n_tasks * job.n_in, &bytes), MT_ERR_RUNTIME,
                   "softmax: the dimension is too large");
        MT_TRY(mt_malloc(&room, (size_t)bytes));
    }
    job.room = room;
    mt_parallel_for(job.n_tasks, 0.8 * (double)out->numel / (double)job.n_tasks, 1, run_task, &job);
    rc = 0;
fail:
    mt_free(room);
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

int mt_cpu_softmax_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *output, int64_t dim, mt_dtype input_dtype)
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
