/* SPDX-License-Identifier: BSD-3-Clause */
/* tril and triu: every row keeps a part and zeroes the rest. Rows are copied and cleared as runs of bytes when they lie
   dense in memory, element by element (by item size) otherwise. The result may be the operand itself. */
#include <string.h>

#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/cpu_internal.h"
#include "kernels.h"

typedef struct tri_job {
    char *dst;
    const char *src;
    const mt_tensor *out, *self;
    int64_t rows, cols, diagonal;
    int itemsize;
    bool lower;
} tri_job;

/* n items with a stride become zero. */
static void clear_items(char *dst, int64_t stride, int64_t n, int itemsize)
{
    if (stride == itemsize) {
        memset(dst, 0, (size_t)(n * itemsize));
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memset(dst + i * stride, 0, (size_t)itemsize);
}

static void copy_items(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, int itemsize)
{
    if (dst_stride == itemsize && src_stride == itemsize)
        memcpy(dst, src, (size_t)(n * itemsize));
    else
        mt_cpu_move(dst, dst_stride, src, src_stride, n, itemsize);
}

/* The range counts rows over all matrices. */
static void tri_rows(void *ctx, int64_t begin, int64_t end)
{
    const tri_job *job = ctx;
    int n = job->out->ndim, size = job->itemsize;
    int64_t out_step = job->out->stride[n - 1] * size, self_step = job->self->stride[n - 1] * size;

    for (int64_t r = begin; r < end; r++) {
        int64_t row = r % job->rows, left = r / job->rows, edge = row + job->diagonal + job->lower;
        int64_t kept_from, kept_to;
        char *dst = job->dst + row * job->out->stride[n - 2] * size;
        const char *src = job->src + row * job->self->stride[n - 2] * size;

        for (int d = n - 3; d >= 0; d--) {
            int64_t at = left % job->out->size[d];

            left /= job->out->size[d];
            dst += at * job->out->stride[d] * size;
            src += at * job->self->stride[d] * size;
        }
        edge = edge < 0 ? 0 : edge > job->cols ? job->cols : edge;
        kept_from = job->lower ? 0 : edge;
        kept_to = job->lower ? edge : job->cols;
        if (dst != src)
            copy_items(dst + kept_from * out_step, out_step, src + kept_from * self_step, self_step,
                       kept_to - kept_from, size);
        clear_items(dst + (job->lower ? edge : 0) * out_step, out_step, job->lower ? job->cols - edge : edge, size);
    }
}

static int tri(mt_tensor *out, mt_tensor *self, int64_t diagonal, bool lower)
{
    tri_job job;

    if (out->numel == 0)
        return 0;
    job.out = out;
    job.self = self;
    job.dst = mt_tensor_mutable_data(out);
    job.src = mt_tensor_const_data(self);
    job.rows = out->size[out->ndim - 2];
    job.cols = out->size[out->ndim - 1];
    job.diagonal = diagonal < -job.rows - 1 ? -job.rows - 1 : diagonal > job.cols + 1 ? job.cols + 1 : diagonal;
    job.itemsize = (int)mt_tensor_itemsize(out);
    job.lower = lower;
    mt_parallel_for(out->numel / job.cols, 4.0 + 0.1 * (double)job.cols, 1, tri_rows, &job);
    return 0;
}

int mt_cpu_tril(mt_tensor *out, mt_tensor *self, int64_t diagonal)
{
    return tri(out, self, diagonal, true);
}

int mt_cpu_triu(mt_tensor *out, mt_tensor *self, int64_t diagonal)
{
    return tri(out, self, diagonal, false);
}
