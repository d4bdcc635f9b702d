/* SPDX-License-Identifier: BSD-3-Clause */
/* From a reduction's geometry to launches. Dims are sorted into kept and reduced ones and merged. Lanes of a block share an
   output: neighbours along the reduced dim when that is nearer in memory, else along the outputs. With few outputs the
   reduced range is cut into splits, whose states a second launch joins in order, so equal calls give equal bits. */
#include <string.h>

#include "core/op.h"
#include "cuda/alloc.h"
#include "cuda/iterate.h"

enum { MIN_PER_LANE = 16, MAX_SPLITS = 1024 };

typedef struct dims {
    int n;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM][3]; /* input, outputs */
} dims;

static void add_dim(dims *d, int64_t size, int64_t in, int64_t out0, int64_t out1)
{
    int64_t *last = d->n ? d->stride[d->n - 1] : NULL, n = d->n ? d->size[d->n - 1] : 0;

    if (size == 1)
        return;
    if (last && in == last[0] * n && out0 == last[1] * n && out1 == last[2] * n) {
        d->size[d->n - 1] *= size;
        return;
    }
    d->size[d->n] = size;
    d->stride[d->n][0] = in;
    d->stride[d->n][1] = out0;
    d->stride[d->n][2] = out1;
    d->n++;
}

static void sort_dims(dims *kept, dims *reduced, const mt_reduce_job *job)
{
    kept->n = reduced->n = 0;
    for (int i = job->ndim - 1; i >= 0; i--)
        if (job->is_reduced[i])
            add_dim(reduced, job->size[i], job->stride[i], 0, 0);
        else
            add_dim(kept, job->size[i], job->stride[i], job->out_stride[0][i],
                    job->n_outs > 1 ? job->out_stride[1][i] : 0);
}

static int64_t product(const dims *d, int from, int to)
{
    int64_t n = 1;

    for (int i = from; i < to; i++)
        n *= d->size[i];
    return n;
}

/* How lanes, blocks and splits are laid out. */
static void plan(mt_cuda_reduce_args *g, unsigned *blocks, const dims *kept, const dims *reduced, int device)
{
    int64_t near = reduced->n ? reduced->stride[0][0] : 0, next = kept->n ? kept->stride[0][0] : 0;
    int64_t want = g->n_in, most = (int64_t)mt_cuda_processors(device) * 8, splits;
    int lanes = 1;

    g->by_columns = kept->n && (!reduced->n || (next != 0 && next < near) || near == 0);
    if (g->by_columns)
        want = g->n_out >= 32 ? 8 : MT_CUDA_BLOCK / 2;
    if (want > g->n_in)
        want = g->n_in;
    while (lanes < want && lanes < MT_CUDA_BLOCK)
        lanes *= 2;
    g->lanes = lanes;
    *blocks = (unsigned)((g->n_out + MT_CUDA_BLOCK / lanes - 1) / (MT_CUDA_BLOCK / lanes) < most * 4
                             ? (g->n_out + MT_CUDA_BLOCK / lanes - 1) / (MT_CUDA_BLOCK / lanes)
                             : most * 4);
    splits = most / *blocks;
    if (splits > g->n_in / ((int64_t)lanes * MIN_PER_LANE))
        splits = g->n_in / ((int64_t)lanes * MIN_PER_LANE);
    if (splits > MAX_SPLITS)
        splits = MAX_SPLITS;
    g->n_splits = splits < 1 ? 1 : (int32_t)splits;
    g->per_split = (g->n_in + g->n_splits - 1) / g->n_splits;
}

static int launch(mt_cuda_reduce_args *g, const mt_cuda_reduce *r, const dims *kept, const dims *reduced,
                  mt_device device)
{
    cudaStream_t stream = mt_cuda_current_stream(device.index);
    void *partial = NULL;
    unsigned blocks;
    int rc = -1;

    plan(g, &blocks, kept, reduced, device.index);
    g->stage = 0;
    if (g->n_splits > 1)
        MT_TRY(mt_cuda_alloc(&partial, (size_t)(g->n_out * g->n_splits) * (size_t)r->state_size, device));
    g->partial = partial;
    r->launch(g, blocks, stream);
    MT_TRY(mt_cuda_launched());
    if (g->n_splits > 1) {
        g->stage = 1;
        g->by_columns = false;
        for (g->lanes = 1; g->lanes < g->n_splits && g->lanes < MT_CUDA_BLOCK;)
            g->lanes *= 2;
        r->launch(g, mt_cuda_blocks(g->n_out * g->lanes, device.index), stream);
        MT_TRY(mt_cuda_launched());
    }
    rc = 0;
fail:
    mt_cuda_free(partial);
    return rc;
}

/* Kernels take few dims; positions in the outermost kept ones beyond that are walked here. */
static int launch_all(mt_cuda_reduce_args *g, const mt_cuda_reduce *r, const mt_reduce_job *job, const dims *kept,
                      const dims *reduced, mt_device device)
{
    int inner = kept->n < MT_CUDA_MAX_DIM ? kept->n : MT_CUDA_MAX_DIM;
    int64_t outer = product(kept, inner, kept->n);

    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i, at[3] = {0, 0, 0};

        for (int d = inner; d < kept->n; d++) {
            for (int k = 0; k < 3; k++)
                at[k] += rest % kept->size[d] * kept->stride[d][k];
            rest /= kept->size[d];
        }
        g->in = job->in + at[0];
        g->out[0] = job->out[0] + at[1];
        g->out[1] = job->n_outs > 1 ? job->out[1] + at[2] : NULL;
        if (launch(g, r, kept, reduced, device) < 0)
            return -1;
    }
    return 0;
}

int mt_cuda_run_reduce(const mt_reduce_job *job, mt_device device)
{
    const mt_cuda_reduce *r = (const mt_cuda_reduce *)(const void *)job->loops;
    mt_cuda_reduce_args g = {.count = job->count};
    mt_cuda_guard guard;
    dims kept, reduced;
    int rc = -1, inner;

    MT_TRY(mt_cuda_enter(&guard, device));
    sort_dims(&kept, &reduced, job);
    MT_REQUIRE(reduced.n <= MT_CUDA_MAX_DIM, MT_ERR_RUNTIME,
               "reductions over more than %d dimensions that lie apart in memory are not supported on CUDA",
               MT_CUDA_MAX_DIM);
    inner = kept.n < MT_CUDA_MAX_DIM ? kept.n : MT_CUDA_MAX_DIM;
    memcpy(g.params, job->params, sizeof g.params);
    g.n_out = product(&kept, 0, inner);
    g.n_in = job->count;
    mt_cuda_dims_set(&g.kept, inner, kept.size, g.n_out);
    mt_cuda_dims_set(&g.reduced, reduced.n, reduced.size, g.n_in);
    for (int d = 0; d < inner; d++)
        memcpy(g.kept_stride[d], kept.stride[d], sizeof g.kept_stride[d]);
    for (int d = 0; d < reduced.n; d++)
        g.reduced_stride[d] = reduced.stride[d][0];
    rc = launch_all(&g, r, job, &kept, &reduced, device);
fail:
    mt_cuda_leave(&guard);
    return rc;
}
