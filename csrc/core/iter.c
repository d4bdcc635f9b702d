/* SPDX-License-Identifier: BSD-3-Clause */
/* The iterator. Building it drops dims of size 1, sorts the rest so that the memory of the outputs
   is walked in order, and merges neighbours; running it calls the one-dimensional loop on rows,
   along the long dim in blocks when the innermost one is tiny. Loops that want contiguous operands
   of their own dtypes are run by iter_blocks.c. Parallel pieces are ranges of the flat index, so
   what a loop computes for an element does not depend on the number of threads. */
#include "core/iter_internal.h"

#include <string.h>

#include "base/parallel.h"
#include "core/shape.h"

enum {
    TALL_INNER = 16, /* an innermost dim shorter than this ... */
    TALL_RATIO = 4,  /* ... beside one this many times as long */
    TALL_BLOCK = 512,
    LONG_ROW = 512, /* rows worth a loop call of their own */
    CUT_ALIGN = 64, /* elements; output lines are not shared between threads */
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

int mt_iter_build(mt_iter *it, mt_tensor *const *operand, int n_operands, int n_outputs, int ndim, const int64_t *size)
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

/* --- running rows: the loop gets the strides as they are --- */

/* Elements begin .. end of the flat index, innermost dim fastest. */
static void rows_body(void *ctx, int64_t begin, int64_t end)
{
    const mt_iter_job *r = ctx;
    const mt_iter *it = r->it;
    int64_t stride[MT_ITER_MAX_OPERANDS], column = begin % it->size[0];
    char *data[MT_ITER_MAX_OPERANDS];
    mt_iter_cursor c;

    for (int k = 0; k < it->n_operands; k++)
        stride[k] = it->stride[k][0];
    mt_iter_cursor_set(&c, it, 1, begin / it->size[0]);
    while (begin < end) {
        int64_t n = it->size[0] - column < end - begin ? it->size[0] - column : end - begin;

        for (int k = 0; k < it->n_operands; k++)
            data[k] = c.data[k] + column * stride[k];
        r->loop(data, stride, n, r->params);
        begin += n;
        column = 0;
        mt_iter_cursor_next(&c, it, 1);
    }
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
    const mt_iter_job *r = ctx;
    const mt_iter *it = r->it;
    int64_t blocks = tall_blocks(it), stride[MT_ITER_MAX_OPERANDS];
    char *data[MT_ITER_MAX_OPERANDS];
    mt_iter_cursor c;

    for (int k = 0; k < it->n_operands; k++)
        stride[k] = it->stride[k][1];
    mt_iter_cursor_set(&c, it, 2, begin / blocks);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t start = unit % blocks * TALL_BLOCK;
        int64_t n = it->size[1] - start < TALL_BLOCK ? it->size[1] - start : TALL_BLOCK;

        for (int64_t j = 0; j < it->size[0]; j++) {
            for (int k = 0; k < it->n_operands; k++)
                data[k] = c.data[k] + start * stride[k] + j * it->stride[k][0];
            r->loop(data, stride, n, r->params);
        }
        if (unit % blocks == blocks - 1)
            mt_iter_cursor_next(&c, it, 2);
    }
}

/* --- running --- */

/* One row, or rows one after the other, of operands that the loop takes as they are? */
static bool is_plain(const mt_iter *it, const uint8_t *loop_dtype)
{
    if (it->ndim > 1 && it->size[0] < LONG_ROW)
        return false;
    for (int k = 0; k < it->n_operands; k++)
        if (it->dtype[k] != loop_dtype[k] || it->stride[k][0] != (int64_t)mt_dtype_size((mt_dtype)it->dtype[k]))
            return false;
    return true;
}

void mt_iter_run(const mt_iter *it, mt_loop_fn *loop, const void *params, const uint8_t *loop_dtype,
                 double ns_per_element)
{
    mt_iter_job job = {it, loop, params, loop_dtype};
    int64_t plane;

    if (it->numel == 0)
        return;
    if (loop_dtype && !is_plain(it, loop_dtype)) {
        if (!mt_iter_run_tiles(&job, ns_per_element))
            mt_iter_run_blocks(&job, ns_per_element);
    } else if (is_tall(it)) {
        plane = it->size[0] * it->size[1];
        mt_parallel_for(it->numel / plane * tall_blocks(it), ns_per_element * (double)plane / (double)tall_blocks(it),
                        1, tall_body, &job);
    } else {
        mt_parallel_for(it->numel, ns_per_element, it->ndim > 1 && it->size[0] <= 1024 ? it->size[0] : CUT_ALIGN,
                        rows_body, &job);
    }
}

void mt_iter_run_serial(const mt_iter *it, mt_loop_fn *loop, const void *params)
{
    mt_iter_job job = {it, loop, params, NULL};

    if (it->numel > 0)
        rows_body(&job, 0, it->numel);
}
