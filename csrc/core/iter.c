/* SPDX-License-Identifier: BSD-3-Clause */
/* The iterator. Building it drops dims of size 1, sorts the rest so that the memory of the outputs is walked in
   order, and merges neighbours; running it calls the one-dimensional loop on rows. Two special shapes of run: tall
   ones (a tiny innermost dim next to a long one) go along the long dim in blocks, and operands whose dtype is not the
   loop's go through buffers on the stack. Parallel pieces are ranges of the flat index, so what a loop computes for an
   element does not depend on the number of threads. */
#include "core/iter.h"

#include <string.h>

#include "base/parallel.h"
#include "core/shape.h"

enum {
    BUFFER_BYTES = 8192,
    TALL_INNER = 16,    /* an innermost dim shorter than this ... */
    TALL_RATIO = 4,     /* ... beside one this many times as long */
    TALL_BLOCK = 512,
    CUT_ALIGN = 64,     /* elements; output lines are not shared between threads */
};

mt_iter_runner *mt_iter_runners[MT_DEVICE_TYPE_COUNT];

/* --- building --- */

void mt_iter_init(mt_iter *it, int n_operands, int n_outputs, int ndim, const int64_t *size)
{
    it->n_operands = n_operands;
    it->n_outputs = n_outputs;
    it->ndim = ndim;
    it->numel = 1;
    for (int i = 0; i < ndim; i++) {
        it->size[ndim - 1 - i] = size[i];
        it->numel *= size[i];
    }
}

void mt_iter_set_operand(mt_iter *it, int k, void *data, mt_dtype dtype, const int64_t *stride_bytes)
{
    it->data[k] = data;
    it->dtype[k] = (uint8_t)dtype;
    for (int i = 0; i < it->ndim; i++)
        it->stride[k][it->ndim - 1 - i] = stride_bytes[i];
}

static void move_dim(mt_iter *it, int to, int from)
{
    it->size[to] = it->size[from];
    for (int k = 0; k < it->n_operands; k++)
        it->stride[k][to] = it->stride[k][from];
}

static void drop_ones(mt_iter *it)
{
    int n = 0;

    for (int i = 0; i < it->ndim; i++) {
        if (it->size[i] == 1)
            continue;
        if (n != i)
            move_dim(it, n, i);
        n++;
    }
    it->ndim = n;
}

/* Positive when dim b has smaller strides than dim a and so belongs further inside. */
static int compare_dims(const mt_iter *it, int a, int b)
{
    for (int k = 0; k < it->n_operands; k++) {
        int64_t x = it->stride[k][a], y = it->stride[k][b];

        if (x == 0 || y == 0)
            continue;
        x = x < 0 ? -x : x;
        y = y < 0 ? -y : y;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static void swap_dims(mt_iter *it, int a, int b)
{
    int64_t size = it->size[a];

    it->size[a] = it->size[b];
    it->size[b] = size;
    for (int k = 0; k < it->n_operands; k++) {
        int64_t stride = it->stride[k][a];

        it->stride[k][a] = it->stride[k][b];
        it->stride[k][b] = stride;
    }
}

static void sort_dims(mt_iter *it)
{
    for (int i = 1; i < it->ndim; i++) {
        int moving = i;

        for (int j = i - 1; j >= 0; j--) {
            int c = compare_dims(it, j, moving);

            if (c < 0)
                break;
            if (c > 0) {
                swap_dims(it, j, moving);
                moving = j;
            }
        }
    }
}

static bool can_merge(const mt_iter *it, int inner, int outer)
{
    for (int k = 0; k < it->n_operands; k++)
        if (it->stride[k][outer] != it->stride[k][inner] * it->size[inner])
            return false;
    return true;
}

static void merge_dims(mt_iter *it)
{
    int n = 0;

    for (int i = 1; i < it->ndim; i++) {
        if (can_merge(it, n, i)) {
            it->size[n] *= it->size[i];
            continue;
        }
        n++;
        if (n != i)
            move_dim(it, n, i);
    }
    if (it->ndim > 0)
        it->ndim = n + 1;
}

void mt_iter_finish(mt_iter *it)
{
    drop_ones(it);
    if (it->ndim > 1 && it->numel > 0) {
        sort_dims(it);
        merge_dims(it);
    }
    if (it->ndim == 0 || it->numel == 0) {
        it->ndim = 1;
        it->size[0] = it->numel;
        for (int k = 0; k < it->n_operands; k++)
            it->stride[k][0] = 0;
    }
}

int mt_iter_build(mt_iter *it, mt_tensor *const *operand, int n_operands, int n_outputs, int ndim,
                  const int64_t *size)
{
    if (n_operands > MT_ITER_MAX_OPERANDS || ndim > MT_MAX_DIM)
        return mt_error_set(MT_ERR_INTERNAL, "iterator over %d operands and %d dims", n_operands, ndim);
    mt_iter_init(it, n_operands, n_outputs, ndim, size);
    for (int k = 0; k < n_operands; k++) {
        mt_tensor *t = operand[k];
        int64_t itemsize = (int64_t)mt_tensor_itemsize(t);

        if (!mt_shape_is_broadcastable(t->ndim, t->size, ndim, size))
            return mt_error_set(MT_ERR_INTERNAL, "operand %d does not broadcast to the iterator's shape", k);
        it->data[k] = k < n_outputs ? mt_tensor_mutable_data(t) : (char *)(uintptr_t)mt_tensor_const_data(t);
        it->dtype[k] = t->dtype;
        for (int i = 0; i < ndim; i++) {
            int d = t->ndim - 1 - i;

            it->stride[k][i] = d < 0 || (t->size[d] == 1 && it->size[i] != 1) ? 0 : t->stride[d] * itemsize;
        }
    }
    mt_iter_finish(it);
    return 0;
}

/* --- running rows --- */

typedef struct run {
    const mt_iter *it;
    mt_loop_fn *loop;
    const void *params;
    const uint8_t *loop_dtype; /* NULL when no operand needs a cast */
    int64_t block;             /* elements per buffered block */
} run;

/* One row through buffers. A broadcast input is cast once per block. */
static void row_with_casts(const run *r, char *const *data, const int64_t *stride, int64_t n)
{
    MT_ALIGNED(64) char buffer[MT_ITER_MAX_OPERANDS][BUFFER_BYTES];
    const mt_iter *it = r->it;
    char *at[MT_ITER_MAX_OPERANDS];
    int64_t step[MT_ITER_MAX_OPERANDS];

    for (int64_t i = 0; i < n; i += r->block) {
        int64_t m = n - i < r->block ? n - i : r->block;

        for (int k = 0; k < it->n_operands; k++) {
            uint8_t from = it->dtype[k], to = r->loop_dtype[k];
            int64_t size = (int64_t)mt_dtype_size((mt_dtype)to);

            at[k] = data[k] + i * stride[k];
            step[k] = stride[k];
            if (from == to)
                continue;
            if (k >= it->n_outputs)
                mt_cast_table[from][to](buffer[k], size, at[k], stride[k], stride[k] ? m : 1);
            at[k] = buffer[k];
            step[k] = stride[k] || k < it->n_outputs ? size : 0;
        }
        r->loop(at, step, m, r->params);
        for (int k = 0; k < it->n_outputs; k++) {
            uint8_t from = r->loop_dtype[k], to = it->dtype[k];

            if (from != to)
                mt_cast_table[from][to](data[k] + i * stride[k], stride[k], buffer[k],
                                        (int64_t)mt_dtype_size((mt_dtype)from), m);
        }
    }
}

static inline void row(const run *r, char *const *data, const int64_t *stride, int64_t n)
{
    if (r->loop_dtype)
        row_with_casts(r, data, stride, n);
    else
        r->loop(data, stride, n, r->params);
}

/* Position in the outer dims, from `first` on. */
typedef struct cursor {
    char *data[MT_ITER_MAX_OPERANDS];
    int64_t index[MT_MAX_DIM];
} cursor;

static void cursor_set(cursor *c, const mt_iter *it, int first, int64_t flat)
{
    for (int k = 0; k < it->n_operands; k++)
        c->data[k] = it->data[k];
    for (int d = first; d < it->ndim; d++) {
        c->index[d] = flat % it->size[d];
        flat /= it->size[d];
        for (int k = 0; k < it->n_operands; k++)
            c->data[k] += c->index[d] * it->stride[k][d];
    }
}

static void cursor_next(cursor *c, const mt_iter *it, int first)
{
    for (int d = first; d < it->ndim; d++) {
        bool wraps = ++c->index[d] == it->size[d];

        for (int k = 0; k < it->n_operands; k++)
            c->data[k] += wraps ? -(it->size[d] - 1) * it->stride[k][d] : it->stride[k][d];
        if (!wraps)
            return;
        c->index[d] = 0;
    }
}

/* Elements begin .. end of the flat index, innermost dim fastest. */
static void run_rows(const run *r, int64_t begin, int64_t end)
{
    const mt_iter *it = r->it;
    int64_t stride[MT_ITER_MAX_OPERANDS], column = begin % it->size[0];
    char *data[MT_ITER_MAX_OPERANDS];
    cursor c;

    for (int k = 0; k < it->n_operands; k++)
        stride[k] = it->stride[k][0];
    cursor_set(&c, it, 1, begin / it->size[0]);
    while (begin < end) {
        int64_t n = it->size[0] - column < end - begin ? it->size[0] - column : end - begin;

        for (int k = 0; k < it->n_operands; k++)
            data[k] = c.data[k] + column * stride[k];
        row(r, data, stride, n);
        begin += n;
        column = 0;
        cursor_next(&c, it, 1);
    }
}

static void rows_body(void *ctx, int64_t begin, int64_t end)
{
    run_rows(ctx, begin, end);
}

/* --- tall runs: the unit is a block of dim 1 with all of dim 0 --- */

static bool is_tall(const mt_iter *it)
{
    return it->ndim > 1 && it->size[0] < TALL_INNER && it->size[1] >= TALL_RATIO * it->size[0];
}

static int64_t tall_blocks(const mt_iter *it)
{
    return (it->size[1] + TALL_BLOCK - 1) / TALL_BLOCK;
}

static void tall_body(void *ctx, int64_t begin, int64_t end)
{
    const run *r = ctx;
    const mt_iter *it = r->it;
    int64_t blocks = tall_blocks(it), stride[MT_ITER_MAX_OPERANDS];
    char *data[MT_ITER_MAX_OPERANDS];
    cursor c;

    for (int k = 0; k < it->n_operands; k++)
        stride[k] = it->stride[k][1];
    cursor_set(&c, it, 2, begin / blocks);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t start = unit % blocks * TALL_BLOCK;
        int64_t n = it->size[1] - start < TALL_BLOCK ? it->size[1] - start : TALL_BLOCK;

        for (int64_t j = 0; j < it->size[0]; j++) {
            for (int k = 0; k < it->n_operands; k++)
                data[k] = c.data[k] + start * stride[k] + j * it->stride[k][0];
            row(r, data, stride, n);
        }
        if (unit % blocks == blocks - 1)
            cursor_next(&c, it, 2);
    }
}

/* --- running --- */

/* Which operands need a cast, and how many elements a buffer holds. */
static int plan_casts(run *r, const uint8_t *loop_dtype)
{
    const mt_iter *it = r->it;
    int n_casts = 0;

    r->loop_dtype = NULL;
    r->block = BUFFER_BYTES / 8;
    for (int k = 0; loop_dtype && k < it->n_operands; k++) {
        if (loop_dtype[k] == it->dtype[k])
            continue;
        n_casts++;
        r->loop_dtype = loop_dtype;
        if (mt_dtype_size((mt_dtype)loop_dtype[k]) > 8)
            r->block = BUFFER_BYTES / 16;
    }
    return n_casts;
}

void mt_iter_run(const mt_iter *it, mt_loop_fn *loop, const void *params, const uint8_t *loop_dtype,
                 double ns_per_element)
{
    run r = {it, loop, params, NULL, 0};
    int64_t plane;

    if (it->numel == 0)
        return;
    ns_per_element += plan_casts(&r, loop_dtype);
    if (is_tall(it)) {
        plane = it->size[0] * it->size[1];
        mt_parallel_for(it->numel / plane * tall_blocks(it),
                        ns_per_element * (double)plane / (double)tall_blocks(it), 1, tall_body, &r);
    } else {
        mt_parallel_for(it->numel, ns_per_element, it->ndim > 1 && it->size[0] <= 1024 ? it->size[0] : CUT_ALIGN,
                        rows_body, &r);
    }
}

void mt_iter_run_serial(const mt_iter *it, mt_loop_fn *loop, const void *params)
{
    run r = {it, loop, params, NULL, 0};

    if (it->numel > 0)
        run_rows(&r, 0, it->numel);
}
