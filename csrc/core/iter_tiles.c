/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a loop over operands that lie transposed to each other. Going along the rows of the
   output would touch one line of a transposed input per element; so rows are taken sixteen at a
   time and in short pieces, and the input is turned into a buffer, in which each of its lines is
   used whole. No casts here, and outputs in place. */
#include <string.h>

#include "base/parallel.h"
#include "core/iter_internal.h"

enum {
    TILE_ROWS = 16,
    TILE_BYTES = 8192, /* of one operand's tile */
    MIN_SIZE = 16,     /* of both dims */
};

typedef struct tile_job {
    const mt_iter_job *job;
    int64_t columns;                     /* of a tile */
    int64_t groups;                      /* of rows, in dim 1 */
    bool in_place[MT_ITER_MAX_OPERANDS]; /* contiguous along a row */
} tile_job;

/* Rows of n elements each; the source has any strides. Along rows its elements may be neighbours,
   so rows are the inner loop. */
#define DEFINE_TURN(name, type)                                                                                      \
    static void turn_##name(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows, int64_t n) \
    {                                                                                                                \
        for (int64_t i = 0; i < n; i++, src += stride, dst += sizeof(type))                                          \
            for (int64_t r = 0; r < rows; r++)                                                                       \
                memcpy(dst + r * n * (int64_t)sizeof(type), src + r * row_stride, sizeof(type));                     \
    }
DEFINE_TURN(1, uint8_t)
DEFINE_TURN(2, uint16_t)
DEFINE_TURN(4, uint32_t)
DEFINE_TURN(8, uint64_t)
DEFINE_TURN(16, mt_c128)
#undef DEFINE_TURN

static void turn(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows, int64_t n, int64_t size)
{
    switch (size) {
    case 1:
        turn_1(dst, src, row_stride, stride, rows, n);
        break;
    case 2:
        turn_2(dst, src, row_stride, stride, rows, n);
        break;
    case 4:
        turn_4(dst, src, row_stride, stride, rows, n);
        break;
    case 8:
        turn_8(dst, src, row_stride, stride, rows, n);
        break;
    default:
        turn_16(dst, src, row_stride, stride, rows, n);
        break;
    }
}

/* One tile: `rows` rows from `row` on, n columns from `column` on, in the plane of the cursor. */
static void run_tile(const tile_job *t, const mt_iter_cursor *c, int64_t row, int64_t rows, int64_t column, int64_t n)
{
    MT_ALIGNED(64) char buffer[MT_ITER_MAX_OPERANDS][TILE_BYTES];
    const mt_iter *it = t->job->it;
    char *at[MT_ITER_MAX_OPERANDS];
    int64_t step[MT_ITER_MAX_OPERANDS], next[MT_ITER_MAX_OPERANDS];

    for (int k = 0; k < it->n_operands; k++) {
        const int64_t *stride = it->stride[k];
        int64_t size = (int64_t)mt_dtype_size((mt_dtype)it->dtype[k]);

        at[k] = c->data[k] + row * stride[1] + column * stride[0];
        step[k] = size;
        next[k] = stride[1];
        if (t->in_place[k])
            continue;
        turn(buffer[k], at[k], stride[1], stride[0], rows, n, size);
        at[k] = buffer[k];
        next[k] = n * size;
    }
    for (int64_t r = 0; r < rows; r++) {
        t->job->loop(at, step, n, t->job->params);
        for (int k = 0; k < it->n_operands; k++)
            at[k] += next[k];
    }
}

/* A unit is a group of rows of one plane. */
static void tiles_body(void *ctx, int64_t begin, int64_t end)
{
    const tile_job *t = ctx;
    const mt_iter *it = t->job->it;
    mt_iter_cursor c;

    mt_iter_cursor_set(&c, it, 2, begin / t->groups);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t row = unit % t->groups * TILE_ROWS;
        int64_t rows = it->size[1] - row < TILE_ROWS ? it->size[1] - row : TILE_ROWS;

        for (int64_t column = 0; column < it->size[0]; column += t->columns) {
            int64_t left = it->size[0] - column;

            run_tile(t, &c, row, rows, column, left < t->columns ? left : t->columns);
        }
        if (unit % t->groups == t->groups - 1)
            mt_iter_cursor_next(&c, it, 2);
    }
}

bool mt_iter_run_tiles(const mt_iter_job *job, double ns_per_element)
{
    const mt_iter *it = job->it;
    tile_job t = {.job = job, .columns = TILE_BYTES};
    bool is_turned = false;

    if (it->ndim < 2 || it->size[0] < MIN_SIZE || it->size[1] < MIN_SIZE)
        return false;
    for (int k = 0; k < it->n_operands; k++) {
        int64_t size = (int64_t)mt_dtype_size((mt_dtype)it->dtype[k]);

        t.in_place[k] = it->stride[k][0] == size;
        if (it->dtype[k] != job->loop_dtype[k] || (k < it->n_outputs && !t.in_place[k]))
            return false;
        is_turned |= it->stride[k][1] == size && !t.in_place[k] && it->stride[k][0] != 0;
        if (!t.in_place[k] && TILE_BYTES / TILE_ROWS / size < t.columns)
            t.columns = TILE_BYTES / TILE_ROWS / size;
    }
    if (!is_turned)
        return false;
    t.groups = (it->size[1] + TILE_ROWS - 1) / TILE_ROWS;
    mt_parallel_for(it->numel / (it->size[0] * it->size[1]) * t.groups,
                    (ns_per_element + 0.5) * (double)it->size[0] * TILE_ROWS, 1, tiles_body, &t);
    return true;
}
