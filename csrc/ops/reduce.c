/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel of every reduction. The dims of the input are sorted into kept and reduced ones and
   merged; a tile is a run of outputs along the innermost kept dim, whose states live on the stack
   while steps go over all reduced elements. When there are few tiles and many elements, the reduced
   range is cut into blocks of fixed length with states of their own, which are merged in order. The
   cut depends on the shape alone, so results do not depend on the number of threads. */
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/reduce_internal.h"

enum {
    MAX_TILE = 1024,     /* outputs */
    STATE_BYTES = 32768, /* states of a tile on the stack */
    FEW_TILES = 32,
    NARROW = 64,            /* outputs in a row, below which rows are folded ... */
    WIDE = 512,             /* ... into rows of about this many */
    BLOCK_ELEMENTS = 65536, /* elements that one block of a tile reads */
};
#define NS_PER_ELEMENT 0.5

/* A list of dims, innermost first; strides in bytes. */
typedef struct dims {
    int n;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int64_t out_stride[2][MT_MAX_DIM]; /* kept dims only */
    int64_t total;
} dims;

typedef struct job {
    const mt_reduce_loops *loops;
    const double *params;
    const char *in;
    int n_outs;
    char *out[2];
    int64_t count;
    bool keep_order; /* positions matter */
    dims kept, reduced;
    int64_t tile, tiles_per_row, n_tiles; /* tiles never cross the innermost kept dim */
    int64_t block, n_blocks;              /* of the flat reduced range */
    int64_t fold;                         /* narrow rows taken as one wide row, 1: none */
    char *states;                         /* n_tiles x n_blocks x tile, NULL without blocks */
} job;

/* --- geometry --- */

static void add_dim(dims *d, int64_t size, int64_t stride, int64_t out0, int64_t out1)
{
    d->total *= size;
    if (size == 1)
        return;
    d->size[d->n] = size;
    d->stride[d->n] = stride;
    d->out_stride[0][d->n] = out0;
    d->out_stride[1][d->n] = out1;
    d->n++;
}

static void swap_dims(dims *d, int a, int b)
{
    int64_t *columns[] = {d->size, d->stride, d->out_stride[0], d->out_stride[1]};

    for (size_t i = 0; i < MT_COUNTOF(columns); i++) {
        int64_t v = columns[i][a];

        columns[i][a] = columns[i][b];
        columns[i][b] = v;
    }
}

/* Small strides first; broadcast dims keep their place at the outside. */
static void sort_dims(dims *d)
{
    for (int i = 1; i < d->n; i++)
        for (int j = i; j > 0; j--) {
            int64_t a = d->stride[j - 1], b = d->stride[j];

            if ((a == 0 ? INT64_MAX : a) <= (b == 0 ? INT64_MAX : b))
                break;
            swap_dims(d, j - 1, j);
        }
}

static void merge_dims(dims *d, int n_outs)
{
    int n = 0;

    for (int i = 1; i < d->n; i++) {
        bool merges = d->stride[i] == d->stride[n] * d->size[n];

        for (int k = 0; k < n_outs; k++)
            merges &= d->out_stride[k][i] == d->out_stride[k][n] * d->size[n];
        if (merges) {
            d->size[n] *= d->size[i];
            continue;
        }
        n++;
        if (n != i)
            swap_dims(d, n, i);
    }
    d->n = d->n ? n + 1 : 0;
}

/* Byte strides of an output by dim of self. */
static void output_strides(int64_t *stride, const mt_tensor *out, const mt_reduce_plan *p)
{
    int at = 0;

    for (int i = 0; i < p->self->ndim; i++) {
        stride[i] = p->is_reduced[i] ? 0 : out->stride[at] * (int64_t)mt_tensor_itemsize(out);
        at += !p->is_reduced[i] || p->keepdim;
    }
}

/* The order of reduced elements matters when their positions are the result. */
static void set_geometry(job *j, const mt_reduce_plan *p, const mt_tensor *in, mt_tensor *const *out)
{
    int64_t strides[2][MT_MAX_DIM];

    memset(strides[1], 0, sizeof(strides[1][0]) * (size_t)in->ndim);
    for (int k = 0; k < p->n_outs; k++)
        output_strides(strides[k], out[k], p);
    j->kept.n = j->reduced.n = 0;
    j->kept.total = j->reduced.total = 1;
    for (int i = in->ndim - 1; i >= 0; i--) {
        int64_t stride = in->stride[i] * (int64_t)mt_tensor_itemsize(in);

        add_dim(p->is_reduced[i] ? &j->reduced : &j->kept, in->size[i], stride, strides[0][i], strides[1][i]);
    }
    sort_dims(&j->kept);
    merge_dims(&j->kept, p->n_outs);
    if (!j->keep_order)
        sort_dims(&j->reduced);
    merge_dims(&j->reduced, 0);
}

/* --- steps --- */

/* m narrow rows, one behind the other in memory, are taken `fold` at a time as one wide row, whose
   states are merged at the end. Gives the number of rows done. */
static int64_t step_folded(const job *j, char *states, const char *in, int64_t n, int64_t m, int64_t first)
{
    MT_ALIGNED(64) char wide[STATE_BYTES];
    int64_t stride = j->reduced.stride[0], rounds = m / j->fold;

    if (rounds < 4)
        return 0;
    j->loops->init(wide, n * j->fold, j->params);
    j->loops->step(wide, in, n * j->fold, j->kept.stride[0], rounds, stride * j->fold, first, j->params);
    for (int64_t g = 0; g < j->fold; g++)
        j->loops->merge(states, wide + g * n * j->loops->state_size, n, j->params);
    return rounds * j->fold;
}

/* Adds elements begin .. end of the flat reduced range to the states of n outputs that start at
   `in`. */
static void step_range(const job *j, char *states, const char *in, int64_t n, int64_t out_stride, int64_t begin,
                       int64_t end)
{
    const dims *d = &j->reduced;
    int64_t inner = d->n ? d->size[0] : 1, stride = d->n ? d->stride[0] : 0;

    while (begin < end) {
        int64_t column = begin % inner, rest = begin / inner;
        int64_t m = inner - column < end - begin ? inner - column : end - begin;
        const char *at = in + column * stride;

        for (int i = 1; i < d->n; i++) {
            at += rest % d->size[i] * d->stride[i];
            rest /= d->size[i];
        }
        if (j->fold > 1) {
            int64_t done = step_folded(j, states, at, n, m, begin);

            at += done * stride;
            m -= done;
            begin += done;
        }
        j->loops->step(states, at, n, out_stride, m, stride, begin, j->params);
        begin += m;
    }
}

/* Where a tile lies: its input, its outputs, its number of outputs. */
typedef struct tile {
    const char *in;
    char *out[2];
    int64_t n, in_stride, out_stride[2];
} tile;

static void locate_tile(tile *t, const job *j, int64_t index)
{
    const dims *d = &j->kept;
    int64_t start = index % j->tiles_per_row * j->tile, rest = index / j->tiles_per_row;
    int64_t inner = d->n ? d->size[0] : 1;

    t->n = inner - start < j->tile ? inner - start : j->tile;
    t->in_stride = d->n ? d->stride[0] : 0;
    t->in = j->in + start * t->in_stride;
    for (int k = 0; k < j->n_outs; k++) {
        t->out_stride[k] = d->n ? d->out_stride[k][0] : 0;
        t->out[k] = j->out[k] + start * t->out_stride[k];
    }
    for (int i = 1; i < d->n; i++) {
        int64_t at = rest % d->size[i];

        rest /= d->size[i];
        t->in += at * d->stride[i];
        for (int k = 0; k < j->n_outs; k++)
            t->out[k] += at * d->out_stride[k][i];
    }
}

/* Whole tiles, states on the stack. */
static void tiles_body(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    MT_ALIGNED(64) char states[STATE_BYTES];

    for (int64_t i = begin; i < end; i++) {
        tile t;

        locate_tile(&t, j, i);
        j->loops->init(states, t.n, j->params);
        step_range(j, states, t.in, t.n, t.in_stride, 0, j->reduced.total);
        j->loops->finish(t.out, t.out_stride, states, t.n, j->count, j->params);
    }
}

static char *states_of(const job *j, int64_t unit)
{
    return j->states + unit * j->tile * j->loops->state_size;
}

/* One unit is one block of one tile. */
static void blocks_body(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;

    for (int64_t unit = begin; unit < end; unit++) {
        int64_t first = unit % j->n_blocks * j->block;
        int64_t last = j->reduced.total - first < j->block ? j->reduced.total : first + j->block;
        tile t;

        locate_tile(&t, j, unit / j->n_blocks);
        j->loops->init(states_of(j, unit), t.n, j->params);
        step_range(j, states_of(j, unit), t.in, t.n, t.in_stride, first, last);
    }
}

static void merge_blocks(const job *j)
{
    for (int64_t i = 0; i < j->n_tiles; i++) {
        char *states = states_of(j, i * j->n_blocks);
        tile t;

        locate_tile(&t, j, i);
        for (int64_t b = 1; b < j->n_blocks; b++)
            j->loops->merge(states, states_of(j, i * j->n_blocks + b), t.n, j->params);
        j->loops->finish(t.out, t.out_stride, states, t.n, j->count, j->params);
    }
}

/* --- one call --- */

/* Is the next reduced element nearer in memory than the next output's? */
static bool goes_by_rows(const job *j)
{
    return j->kept.n && j->reduced.n && j->reduced.stride[0] < j->kept.stride[0];
}

/* Columns want wide tiles; rows only as many outputs as make a block of work. */
static void plan_tiles(job *j)
{
    int64_t inner = j->kept.n ? j->kept.size[0] : 1, most = STATE_BYTES / j->loops->state_size;

    if (most > MAX_TILE)
        most = MAX_TILE;
    if (goes_by_rows(j) && most > BLOCK_ELEMENTS / j->reduced.total) /* reduced.n: of none there is no dim */
        most = BLOCK_ELEMENTS / j->reduced.total > 1 ? BLOCK_ELEMENTS / j->reduced.total : 1;
    j->tile = inner < most ? inner : most;
    j->tiles_per_row = (inner + j->tile - 1) / j->tile;
    j->n_tiles = j->kept.total / inner * j->tiles_per_row;
    j->block = BLOCK_ELEMENTS / j->tile;
    j->n_blocks = (j->reduced.total + j->block - 1) / j->block;
    if (j->n_tiles >= FEW_TILES || j->n_blocks < 2)
        j->n_blocks = 1;
}

/* Rows of a few elements are folded when they lie one behind the other. */
static void plan_fold(job *j)
{
    int64_t n = j->kept.n ? j->kept.size[0] : 1, most = STATE_BYTES / j->loops->state_size;

    j->fold = 1;
    if (j->keep_order || !j->kept.n || !j->reduced.n || n >= NARROW || j->tile != n ||
        j->reduced.stride[0] != n * j->kept.stride[0])
        return;
    j->fold = (most < WIDE ? most : WIDE) / n;
    if (j->fold < 2)
        j->fold = 1;
}

static int run(job *j)
{
    size_t bytes;
    void *states;

    if (j->kept.total == 0)
        return 0;
    if (j->reduced.total == 0)
        j->reduced.n = 0;
    plan_tiles(j);
    plan_fold(j);
    if (j->n_blocks == 1) {
        mt_parallel_for(j->n_tiles, NS_PER_ELEMENT * (double)j->tile * (double)j->reduced.total, 1, tiles_body, j);
        return 0;
    }
    bytes = (size_t)(j->n_tiles * j->n_blocks * j->tile) * j->loops->state_size;
    if (mt_data_alloc(&states, bytes) < 0)
        return -1;
    j->states = states;
    mt_parallel_for(j->n_tiles * j->n_blocks, NS_PER_ELEMENT * (double)j->tile * (double)j->block, 1, blocks_body, j);
    merge_blocks(j);
    mt_data_free(states, bytes);
    return 0;
}

/* The input in the dtype that is read. */
static int cast_input(mt_tensor **owned, const mt_tensor **in, mt_dtype row)
{
    static bool warned;

    *owned = NULL;
    if ((*in)->dtype == (uint8_t)row)
        return 0;
    if (mt_dtype_is_complex((mt_dtype)(*in)->dtype) && mt_dtype_category(row) < MT_CAT_COMPLEX && row != MT_DTYPE_b8 &&
        mt_warn_once(&warned, MT_WARN_USER, "Casting complex values to real discards the imaginary part") < 0)
        return -1;
    if (mt_tensor_new_like(owned, *in, row) < 0 || mt_tensor_assign(*owned, *in) < 0) {
        mt_tensor_clear(owned);
        return -1;
    }
    *in = *owned;
    return 0;
}

/* The tensors that the loop writes: the outputs, or temporaries where the dtype differs. */
static int natural_outputs(mt_tensor **natural, const mt_reduce_plan *p, const mt_call *call)
{
    for (int k = 0; k < p->n_outs; k++) {
        mt_tensor *out = call->out[k];

        if (out->dtype == (uint8_t)p->natural[k] || call->op->reduce->promote == MT_REDUCE_BOOL)
            natural[k] = mt_tensor_ref(out);
        else if (mt_tensor_new(&natural[k], p->natural[k], out->ndim, out->size, out->device) < 0)
            return -1;
    }
    return 0;
}

static int run_pinned(job *j, const mt_tensor *in, mt_tensor *const *out)
{
    bool is_long = (double)in->numel * NS_PER_ELEMENT > 20000.0;
    int rc;

    if (is_long) {
        mt_storage_pin(in->storage);
        for (int k = 0; k < j->n_outs; k++)
            mt_storage_pin(out[k]->storage);
    }
    rc = run(j);
    if (is_long) {
        mt_storage_unpin(in->storage);
        for (int k = 0; k < j->n_outs; k++)
            mt_storage_unpin(out[k]->storage);
    }
    return rc;
}

/* On another device its backend does the rest. */
static int run_elsewhere(const mt_reduce_plan *p, const mt_reduce_loops *loops, const mt_tensor *in,
                         mt_tensor *const *out)
{
    int64_t stride[MT_MAX_DIM], out_stride[2][MT_MAX_DIM];
    mt_reduce_job j = {.loops = loops,
                       .params = p->params,
                       .in = mt_tensor_const_data(in),
                       .n_outs = p->n_outs,
                       .ndim = in->ndim,
                       .count = p->count,
                       .size = in->size,
                       .stride = stride,
                       .out_stride = {out_stride[0], out_stride[1]},
                       .is_reduced = p->is_reduced};

    if (out[0]->numel == 0)
        return 0;
    for (int i = 0; i < in->ndim; i++)
        stride[i] = in->stride[i] * (int64_t)mt_tensor_itemsize(in);
    for (int k = 0; k < p->n_outs; k++) {
        j.out[k] = mt_tensor_mutable_data(out[k]);
        output_strides(out_stride[k], out[k], p);
    }
    return mt_reduce_runners[in->device.type](&j, in->device);
}

/* What was reduced into temporaries goes to the outputs. */
static int assign_outputs(mt_call *call, mt_tensor *const *natural, int n)
{
    for (int k = 0; k < n; k++)
        if (natural[k] != call->out[k] && mt_tensor_assign(call->out[k], natural[k]) < 0)
            return -1;
    return mt_out_finish(call);
}

int mt_reduce_kernel(mt_call *call)
{
    const mt_reduce_spec *spec = call->op->reduce;
    int rc = -1;
    mt_tensor *cast = NULL, *natural[2] = {NULL, NULL};
    const mt_tensor *in;
    mt_reduce_plan p;
    job j;

    MT_TRY(mt_reduce_plan_make(&p, call));
    MT_TRY(mt_reduce_plan_outputs(call, &p));
    j.loops = mt_reduce_tables[p.self->device.type] ? mt_reduce_tables[p.self->device.type][spec->row][p.loop] : NULL;
    if (!j.loops || p.n_outs > 2) {
        mt_meta_refuse_dtype(call->op, p.row);
        goto fail;
    }
    in = p.self;
    MT_TRY(cast_input(&cast, &in, p.loop));
    MT_TRY(natural_outputs(natural, &p, call));
    if (in->device.type != MT_DEVICE_CPU) {
        MT_TRY(run_elsewhere(&p, j.loops, in, natural));
        rc = assign_outputs(call, natural, p.n_outs);
        goto fail;
    }
    j.params = p.params;
    j.in = mt_tensor_const_data(in);
    j.n_outs = p.n_outs;
    for (int k = 0; k < p.n_outs; k++)
        j.out[k] = mt_tensor_mutable_data(natural[k]);
    j.count = p.count;
    j.states = NULL;
    j.keep_order = spec->index_out || spec->promote == MT_REDUCE_INDEX;
    set_geometry(&j, &p, in, natural);
    MT_TRY(run_pinned(&j, in, natural));
    rc = assign_outputs(call, natural, p.n_outs);
fail:
    mt_tensor_clear(&cast);
    mt_tensor_clear(&natural[0]);
    mt_tensor_clear(&natural[1]);
    return rc;
}
