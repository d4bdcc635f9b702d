/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks. Work on true elements in order runs in two passes: chunks are counted, then every chunk knows
   where its results begin, so that the second pass runs in parallel as well. The loops over a chunk are
   in mask_isa.c. */
#include "cpu/mask.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "core/op.h"
#include "cpu/assign.h"
#include "kernels.h"

int mt_mask_of(mt_tensor **out, mt_tensor *t)
{
    *out = NULL;
    if ((t->dtype == MT_DTYPE_b8 || t->dtype == MT_DTYPE_u8) && (t->flags & MT_FLAG_CONTIGUOUS)) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (mt_tensor_new(out, MT_DTYPE_b8, t->ndim, t->size, t->device) < 0)
        return -1;
    if (mt_cpu_assign(*out, t) < 0) {
        mt_tensor_clear(out);
        return -1;
    }
    return 0;
}

/* --- plans --- */

static int64_t chunks_of(const mt_mask_plan *p)
{
    return (p->n + MT_MASK_CHUNK - 1) / MT_MASK_CHUNK;
}

static int64_t chunk_length(const mt_mask_plan *p, int64_t chunk)
{
    int64_t left = p->n - chunk * MT_MASK_CHUNK;

    return left < MT_MASK_CHUNK ? left : MT_MASK_CHUNK;
}

static void count_chunks(void *ctx, int64_t begin, int64_t end)
{
    const mt_mask_plan *p = ctx;

    for (int64_t c = begin; c < end; c++)
        p->first[c + 1] = MT_ISA_PICK(mt_mask_run_count)(p->mask + c * MT_MASK_CHUNK, chunk_length(p, c));
}

int mt_mask_plan_make(mt_mask_plan *p, const uint8_t *mask, int64_t n)
{
    int64_t chunks;
    void *heap;

    p->mask = mask;
    p->n = n;
    p->first = p->room;
    chunks = chunks_of(p);
    if (chunks >= MT_MASK_ROOM) {
        p->first = NULL;
        if (mt_malloc(&heap, (size_t)(chunks + 1) * sizeof(int64_t)) < 0)
            return -1;
        p->first = heap;
    }
    p->first[0] = 0;
    mt_parallel_for(chunks, 0.02 * MT_MASK_CHUNK, 1, count_chunks, p);
    for (int64_t c = 0; c < chunks; c++)
        p->first[c + 1] += p->first[c];
    p->total = p->first[chunks];
    return 0;
}

void mt_mask_plan_free(mt_mask_plan *p)
{
    if (p->first != p->room)
        mt_free(p->first);
    p->first = NULL;
}

/* --- what is done with chunks --- */

typedef struct chunk_job {
    const mt_mask_plan *plan;
    char *out;
    const char *in;
    int itemsize;
} chunk_job;

static void for_chunks(chunk_job *job, mt_parallel_body *body, double ns_per_element)
{
    int64_t n = job->plan->n;

    if (job->plan->total > 0)
        mt_parallel_for(chunks_of(job->plan), ns_per_element * (double)(n < MT_MASK_CHUNK ? n : MT_MASK_CHUNK), 1, body,
                        job);
}

static int64_t count_of(const mt_mask_plan *p, int64_t chunk)
{
    return p->first[chunk + 1] - p->first[chunk];
}

static void position_chunks(void *ctx, int64_t begin, int64_t end)
{
    const chunk_job *job = ctx;
    const mt_mask_plan *p = job->plan;

    for (int64_t c = begin; c < end; c++)
        MT_ISA_PICK(mt_mask_run_positions)
    ((int64_t *)(void *)job->out + p->first[c], p->mask + c * MT_MASK_CHUNK, chunk_length(p, c), count_of(p, c),
     c * MT_MASK_CHUNK);
}

static void pack_chunks(void *ctx, int64_t begin, int64_t end)
{
    const chunk_job *job = ctx;
    const mt_mask_plan *p = job->plan;

    for (int64_t c = begin; c < end; c++)
        MT_ISA_PICK(mt_mask_run_pack)
    (job->out + p->first[c] * job->itemsize, job->in + c * MT_MASK_CHUNK * job->itemsize, p->mask + c * MT_MASK_CHUNK,
     chunk_length(p, c), count_of(p, c), job->itemsize);
}

static void spread_chunks(void *ctx, int64_t begin, int64_t end)
{
    const chunk_job *job = ctx;
    const mt_mask_plan *p = job->plan;

    for (int64_t c = begin; c < end; c++)
        MT_ISA_PICK(mt_mask_run_spread)
    (job->out + c * MT_MASK_CHUNK * job->itemsize, job->in + p->first[c] * job->itemsize, p->mask + c * MT_MASK_CHUNK,
     chunk_length(p, c), count_of(p, c), job->itemsize);
}

void mt_mask_positions(const mt_mask_plan *plan, int64_t *out)
{
    chunk_job job = {plan, (char *)out, NULL, 8};

    for_chunks(&job, position_chunks, 0.2);
}

void mt_mask_pack(const mt_mask_plan *plan, char *out, const char *in, int itemsize)
{
    chunk_job job = {plan, out, in, itemsize};

    for_chunks(&job, pack_chunks, 0.2);
}

void mt_mask_spread(const mt_mask_plan *plan, char *out, const char *in, int itemsize)
{
    chunk_job job = {plan, out, in, itemsize};

    for_chunks(&job, spread_chunks, 0.8);
}

/* --- coordinates --- */

typedef struct split_job {
    int64_t *columns, total;
    int ndim;
    const int64_t *size;
} split_job;

static void split_positions(void *ctx, int64_t begin, int64_t end)
{
    const split_job *job = ctx;
    int64_t row_length = job->size[job->ndim - 1], row_start = -row_length, coordinate[MT_MAX_DIM];
    int64_t *last = job->columns + (job->ndim - 1) * job->total;

    for (int64_t k = begin; k < end; k++) {
        int64_t at = last[k] - row_start;

        if (at >= row_length) {
            int64_t row = last[k] / row_length, rest = row;

            row_start = row * row_length;
            at = last[k] - row_start;
            for (int d = job->ndim - 2; d >= 0; d--) {
                coordinate[d] = rest % job->size[d];
                rest /= job->size[d];
            }
        }
        for (int d = 0; d < job->ndim - 1; d++)
            job->columns[d * job->total + k] = coordinate[d];
        last[k] = at;
    }
}

void mt_mask_coordinates(int64_t *columns, int64_t total, int ndim, const int64_t *size)
{
    split_job job = {columns, total, ndim, size};

    if (ndim > 1 && total > 0)
        mt_parallel_for(total, 1.0 * ndim, 1, split_positions, &job);
}

/* --- filling --- */

typedef struct fill_params {
    int itemsize;
    MT_ALIGNED(16) char element[16];
} fill_params;

/* data: written, mask */
static void fill_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const fill_params *p = params;

    if (stride[0] == p->itemsize && stride[1] == 1) {
        MT_ISA_PICK(mt_mask_run_fill)(data[0], (const uint8_t *)data[1], n, p->element, p->itemsize);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (data[1][i * stride[1]])
            memcpy(data[0] + i * stride[0], p->element, (size_t)p->itemsize);
}

int mt_mask_fill(mt_tensor *t, const mt_tensor *mask, const void *element)
{
    mt_tensor *operands[2] = {t, (mt_tensor *)(uintptr_t)mask};
    fill_params params;
    mt_iter it;

    params.itemsize = (int)mt_tensor_itemsize(t);
    memcpy(params.element, element, (size_t)params.itemsize);
    if (mt_iter_build(&it, operands, 2, 1, t->ndim, t->size) < 0)
        return -1;
    mt_iter_run(&it, fill_loop, &params, NULL, 0.3);
    return 0;
}

/* --- masked_scatter --- */

/* mask has the shape of out or broadcasts to it; source is contiguous. */
int mt_cpu_masked_scatter(mt_tensor *out, mt_tensor *self, mt_tensor *mask, mt_tensor *source)
{
    mt_tensor *whole = NULL, *dense = NULL, *target = out;
    mt_mask_plan plan = {.n = 0};
    int rc = -1;

    MT_TRY(mt_tensor_new(&whole, MT_DTYPE_b8, out->ndim, out->size, out->device));
    MT_TRY(mt_cpu_assign(whole, mask));
    MT_TRY(mt_mask_plan_make(&plan, (const uint8_t *)mt_tensor_const_data(whole), whole->numel));
    MT_REQUIRE(plan.total <= source->numel, MT_ERR_RUNTIME, "Number of elements of source < number of ones in mask");
    if (!(out->flags & MT_FLAG_CONTIGUOUS)) {
        MT_TRY(mt_tensor_new(&dense, (mt_dtype)out->dtype, out->ndim, out->size, out->device));
        target = dense;
    }
    if (target != self)
        MT_TRY(mt_cpu_assign(target, self));
    mt_mask_spread(&plan, mt_tensor_mutable_data(target), mt_tensor_const_data(source), (int)mt_tensor_itemsize(out));
    if (dense)
        MT_TRY(mt_cpu_assign(out, dense));
    rc = 0;
fail:
    mt_mask_plan_free(&plan);
    mt_tensor_clear(&whole);
    mt_tensor_clear(&dense);
    return rc;
}
