/* SPDX-License-Identifier: BSD-3-Clause */
/* Products of float32 and float64: turns a product so that rows of C are contiguous, chooses the path of the whole
   product, then splits it over the thread pool. The path and the blocks of the depth follow from the whole shape,
   so no split changes a bit of the result. */
#include "cpu/matmul/gemm.h"

#include <stddef.h>

#include "base/macros.h"
#include "base/parallel.h"

typedef void serial_fn(const mt_gemm *g, mt_gemm_path path);

/* What differs between the two dtypes. */
typedef struct kind {
    serial_fn *serial;
    int itemsize;
    double flops_per_ns; /* of one thread, to estimate costs */
} kind;

static const kind *kind_f32(void)
{
    static kind k = {NULL, 4, 100.0};

    if (MT_UNLIKELY(!k.serial))
        k.serial = MT_ISA_PICK(mt_gemm_serial_f32);
    return &k;
}

static const kind *kind_f64(void)
{
    static kind k = {NULL, 8, 50.0};

    if (MT_UNLIKELY(!k.serial))
        k.serial = MT_ISA_PICK(mt_gemm_serial_f64);
    return &k;
}

/* C^T = B^T A^T. */
static void turn(mt_gemm *g)
{
    mt_gemm t = *g;

    g->m = t.n;
    g->n = t.m;
    g->a = t.b;
    g->a_row = t.b_col;
    g->a_col = t.b_row;
    g->b = t.a;
    g->b_row = t.a_col;
    g->b_col = t.a_row;
    g->c_row = t.c_col;
    g->c_col = t.c_row;
    g->d_row = t.d_col;
    g->d_col = t.d_row;
}

/* Strides of dims of one element mean nothing; give them the value that suits. */
static void settle_strides(mt_gemm *g)
{
    if (g->k == 1) {
        g->a_col = 1;
        g->b_row = 1;
    }
    if (g->n == 1) {
        g->b_col = 1;
        g->c_col = 1;
    }
    if (g->m == 1) {
        g->a_row = g->k;
        g->c_row = g->c_col != 1 ? 1 : g->n;
    }
}

/* Is a B with contiguous rows read where it is? A copy pays once many rows of A pass over it, or when the rows lie so far
   apart that they compete for few sets of the caches. */
static bool reads_in_place(const mt_gemm *g, const kind *k)
{
    int64_t bytes = g->k * g->n * k->itemsize;

    if (g->m <= 48 || bytes <= 32768)
        return true;
    return g->b_row * k->itemsize <= 2048 && bytes <= (g->m <= 512 ? 2 << 20 : 512 << 10);
}

static mt_gemm_path choose_path(const mt_gemm *g, const kind *k)
{
    int64_t lanes = 64 / k->itemsize;
    bool dot = g->a_col == 1 && g->b_row == 1;

    if (dot && g->k > 1 && (g->b_col != 1 || g->n == 1)) {
        int64_t low = g->m < g->n ? g->m : g->n;

        if (low == 1 || (g->k >= 2 * lanes && (low <= 4 || (g->k >= 4 * lanes && low <= 32))))
            return MT_GEMM_DOT;
    }
    if (g->a_col == 1 && g->n <= 6 && g->k >= 64 && g->m >= 8)
        return MT_GEMM_DOT;
    if (g->b_col == 1 && g->m <= 2 && g->k * g->n * k->itemsize > 65536 && g->n >= 8 * lanes)
        return MT_GEMM_STREAM;
    if (g->b_col == 1 && reads_in_place(g, k))
        return MT_GEMM_DIRECT;
    return MT_GEMM_PACKED;
}

/* --- one product --- */

typedef struct split {
    const mt_gemm *g;
    const kind *k;
    mt_gemm_path path;
    bool by_rows;
} split;

static const void *advance(const void *p, int64_t elements, const kind *k)
{
    return (const char *)p + elements * k->itemsize;
}

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const split *s = ctx;
    mt_gemm g = *s->g;

    if (s->by_rows) {
        g.m = end - begin;
        g.a = advance(g.a, begin * g.a_row, s->k);
        g.c = (char *)g.c + begin * g.c_row * s->k->itemsize;
        if (g.beta != 0)
            g.d = advance(g.d, begin * g.d_row, s->k);
    } else {
        g.n = end - begin;
        g.b = advance(g.b, begin * g.b_col, s->k);
        g.c = (char *)g.c + begin * g.c_col * s->k->itemsize;
        if (g.beta != 0)
            g.d = advance(g.d, begin * g.d_col, s->k);
    }
    s->k->serial(&g, s->path);
}

static double cost_ns(const mt_gemm *g, const kind *k)
{
    double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    double bytes = ((double)g->m * (double)g->k + (double)g->k * (double)g->n) * k->itemsize;
    double compute = flops / k->flops_per_ns, memory = bytes / 40.0;

    return 1.0 + (compute > memory ? compute : memory);
}

/* Gives the path, and whether A and B have changed places. */
static mt_gemm_path prepare(mt_gemm *g, bool *turned, const kind *k)
{
    *turned = false;
    if (g->k <= 0)
        return MT_GEMM_AUTO;
    settle_strides(g);
    if (g->c_col != 1) {
        turn(g);
        *turned = true;
    }
    return choose_path(g, k);
}

static void run_split(const mt_gemm *g, const kind *k, mt_gemm_path path)
{
    double ns = cost_ns(g, k);
    split s = {g, k, path, g->m >= g->n};
    int64_t n = s.by_rows ? g->m : g->n, unit = s.by_rows ? 14 : 32, threads, chunk;

    if (ns < 20000.0 || mt_in_parallel_region()) {
        k->serial(g, path);
        return;
    }
    if (path == MT_GEMM_DOT)
        unit = 8;
    threads = mt_get_num_threads();
    chunk = (n + threads - 1) / threads;
    chunk = (chunk + unit - 1) / unit * unit;
    mt_parallel_for(n, ns / (double)n, chunk, run_range, &s);
}

/* So small that the choice of the path would cost more than it gains. */
static inline bool is_tiny(const mt_gemm *g)
{
    return g->m <= 16 && g->n <= 16 && g->k <= 32 && g->k > 0 && g->b_col == 1 && g->c_col == 1;
}

static void run(const mt_gemm *given, const kind *k)
{
    mt_gemm g;
    mt_gemm_path path;
    bool turned;

    if (given->m <= 0 || given->n <= 0)
        return;
    if (is_tiny(given)) {
        k->serial(given, MT_GEMM_DIRECT);
        return;
    }
    g = *given;
    path = prepare(&g, &turned, k);
    run_split(&g, k, path);
}

void mt_gemm_f32(const mt_gemm *g)
{
    run(g, kind_f32());
}

void mt_gemm_f64(const mt_gemm *g)
{
    run(g, kind_f64());
}

/* --- many products --- */

typedef struct batch_job {
    mt_gemm g;
    mt_gemm_batch step;
    const kind *k;
    mt_gemm_path path;
} batch_job;

static void run_items(void *ctx, int64_t begin, int64_t end)
{
    const batch_job *job = ctx;
    const kind *k = job->k;
    mt_gemm g = job->g;

    g.a = advance(g.a, begin * job->step.a, k);
    g.b = advance(g.b, begin * job->step.b, k);
    g.c = (char *)g.c + begin * job->step.c * k->itemsize;
    if (g.beta != 0)
        g.d = advance(g.d, begin * job->step.d, k);
    for (int64_t i = begin; i < end; i++) {
        k->serial(&g, job->path);
        g.a = advance(g.a, job->step.a, k);
        g.b = advance(g.b, job->step.b, k);
        g.c = (char *)g.c + job->step.c * k->itemsize;
        if (g.beta != 0)
            g.d = advance(g.d, job->step.d, k);
    }
}

/* Items share one path. A few large items are split inside, many are dealt out whole. */
static void run_batched(const mt_gemm *given, const mt_gemm_batch *batch, const kind *k)
{
    batch_job job = {*given, *batch, k, MT_GEMM_AUTO};
    bool turned;
    double ns;

    if (job.g.m <= 0 || job.g.n <= 0 || batch->n_batch <= 0)
        return;
    job.path = prepare(&job.g, &turned, k);
    if (turned) {
        int64_t a = job.step.a;

        job.step.a = job.step.b;
        job.step.b = a;
    }
    ns = cost_ns(&job.g, k) + 20.0;
    if (batch->n_batch < 2 * mt_get_num_threads() && ns > 100000.0) {
        for (int64_t i = 0; i < batch->n_batch; i++) {
            batch_job one = job;

            one.g.a = advance(job.g.a, i * job.step.a, k);
            one.g.b = advance(job.g.b, i * job.step.b, k);
            one.g.c = (char *)job.g.c + i * job.step.c * k->itemsize;
            if (job.g.beta != 0)
                one.g.d = advance(job.g.d, i * job.step.d, k);
            run_split(&one.g, k, one.path);
        }
        return;
    }
    mt_parallel_for(batch->n_batch, ns, 1, run_items, &job);
}

void mt_gemm_batched_f32(const mt_gemm *g, const mt_gemm_batch *batch)
{
    run_batched(g, batch, kind_f32());
}

void mt_gemm_batched_f64(const mt_gemm *g, const mt_gemm_batch *batch)
{
    run_batched(g, batch, kind_f64());
}
