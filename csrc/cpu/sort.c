/* SPDX-License-Identifier: BSD-3-Clause */
/* sort and topk along a dimension, one line at a time through (key, index) pairs; see sort_keys.h. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/parallel.h"
#include "core/op.h"
#include "core/shape.h"
#include "cpu/lines.h"
#include "kernels.h"
#include "cpu/sort_keys.h"

typedef struct sort_job {
    mt_lines lines; /* self first: it sets the length; then values and indices */
    mt_dtype dtype;
    size_t itemsize;
    bool descending;
    int64_t k; /* how many of each line are wanted */
    int64_t out_step[2];
    mt_sort_pair *room; /* per task: two arrays of length pairs */
    int64_t n_tasks;
} sort_job;

static void put_value(char *dst, const char *src, size_t itemsize)
{
    memcpy(dst, src, itemsize);
}

/* Moves the k smallest keys to the front, in no order, when k is small against n: a bounded heap. */
static void sift(mt_sort_pair *heap, int64_t n, int64_t i)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        mt_sort_pair t;

        if (child >= n)
            return;
        if (child + 1 < n && (heap[child + 1].key > heap[child].key ||
                              (heap[child + 1].key == heap[child].key && heap[child + 1].index > heap[child].index)))
            child++;
        if (heap[child].key < heap[i].key || (heap[child].key == heap[i].key && heap[child].index < heap[i].index))
            return;
        t = heap[i];
        heap[i] = heap[child];
        heap[child] = t;
        i = child;
    }
}

static void select_smallest(mt_sort_pair *p, int64_t n, int64_t k)
{
    for (int64_t i = k / 2 - 1; i >= 0; i--)
        sift(p, k, i);
    for (int64_t i = k; i < n; i++)
        if (p[i].key < p[0].key) {
            p[0] = p[i];
            sift(p, k, 0);
        }
}

/* Heap order is not index order: a last pass by index, then by key, makes equal keys stable. */
static void order_by_index(mt_sort_pair *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        mt_sort_pair x = p[i];
        int64_t k = i;

        for (; k > 0 && p[k - 1].index > x.index; k--)
            p[k] = p[k - 1];
        p[k] = x;
    }
}

static void sort_line(const sort_job *job, char *const *at, mt_sort_pair *pairs)
{
    int64_t n = job->lines.length, k = job->k, index;
    int64_t step = job->lines.step[0];

    mt_sort_make_keys(pairs, at[0], step, n, job->dtype, job->descending);
    if (k < n && k <= 256 && k < n / 4) {
        select_smallest(pairs, n, k);
        order_by_index(pairs, k);
        mt_sort_pairs(pairs, pairs + n, k);
    } else {
        mt_sort_pairs(pairs, pairs + n, n);
    }
    for (int64_t i = 0; i < k; i++) {
        index = pairs[i].index;
        put_value(at[1] + i * job->out_step[0], at[0] + index * step, job->itemsize);
        memcpy(at[2] + i * job->out_step[1], &index, 8);
    }
}

static void sort_task(void *ctx, int64_t begin, int64_t end)
{
    const sort_job *job = ctx;
    int64_t lines = job->lines.n_lines;

    for (int64_t task = begin; task < end; task++) {
        mt_sort_pair *pairs = job->room + task * 2 * job->lines.length;

        for (int64_t i = lines * task / job->n_tasks; i < lines * (task + 1) / job->n_tasks; i++) {
            char *at[MT_LINES_MAX];

            mt_lines_at(&job->lines, i, at);
            sort_line(job, at, pairs);
        }
    }
}

/* Outputs whose size along dim is k instead of the length: their lines have the same grid. */
static int sort_lines(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t dim, bool descending, int64_t k)
{
    mt_tensor *tensors[] = {self, values, indices};
    sort_job job;
    int64_t bytes;
    void *room = NULL;

    if (self->numel == 0 || k == 0)
        return 0;
    mt_lines_init(&job.lines, tensors, 3, 0, dim);
    job.lines.data[1] = mt_tensor_mutable_data(values);
    job.lines.data[2] = mt_tensor_mutable_data(indices);
    job.out_step[0] = job.lines.step[1];
    job.out_step[1] = job.lines.step[2];
    job.dtype = (mt_dtype)self->dtype;
    job.itemsize = mt_tensor_itemsize(self);
    job.descending = descending;
    job.k = k;
    job.n_tasks = mt_get_num_threads();
    if (job.n_tasks > job.lines.n_lines)
        job.n_tasks = job.lines.n_lines;
    if (mt_mul_overflow(job.lines.length, 2 * job.n_tasks * (int64_t)sizeof(mt_sort_pair), &bytes))
        return mt_error_set(MT_ERR_RUNTIME, "sort: the dimension is too large");
    if (mt_malloc(&room, (size_t)bytes) < 0)
        return -1;
    job.room = room;
    mt_parallel_for(job.n_tasks, 20.0 * (double)self->numel / (double)job.n_tasks, 1, sort_task, &job);
    mt_free(room);
    return 0;
}

int mt_cpu_sort(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t dim, bool descending)
{
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    return sort_lines(values, indices, self, dim, descending, self->ndim ? self->size[dim] : 1);
}

int mt_cpu_sort_stable(mt_tensor *values, mt_tensor *indices, mt_tensor *self, const bool *stable, int64_t dim,
                       bool descending)
{
    (void)stable; /* always */
    return mt_cpu_sort(values, indices, self, dim, descending);
}

int mt_cpu_topk(mt_tensor *values, mt_tensor *indices, mt_tensor *self, int64_t k, int64_t dim, bool largest,
                bool sorted)
{
    (void)sorted; /* always */
    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    return sort_lines(values, indices, self, dim, largest, k);
}
