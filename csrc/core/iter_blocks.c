/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a loop on contiguous blocks of the flat index. An operand that is contiguous where the
   block lies is used in place; any other is collected into a buffer first (rows of it copied,
   single elements repeated, dtypes cast), an output is spread afterwards. What does not change from
   block to block is collected once: numbers, and rows that repeat, for which the block length is a
   multiple of the row. Long rows are taken one by one, so that most operands stay in place. */
#include <string.h>

#include "base/parallel.h"
#include "core/iter_internal.h"

enum {
    BUFFER_BYTES = 8192,
    BLOCK = 1024, /* elements; half of it when an operand has 16 bytes */
    LONG_ROW = 512,
};

/* How an operand gets to the loop. */
typedef enum lane_kind {
    LANE_FLAT,   /* contiguous over everything */
    LANE_ROW,    /* contiguous along a row, and blocks do not leave the row */
    LANE_FIXED,  /* the same in every block: collected once */
    LANE_STEADY, /* one element per row, blocks do not leave the row: collected once per row */
    LANE_MOVING, /* collected, or spread, for each block */
} lane_kind;

typedef struct lane {
    lane_kind kind;
    mt_cast_fn *cast; /* between the operand's dtype and the loop's; NULL when equal */
    int64_t size, loop_size;
} lane;

typedef struct block_job {
    const mt_iter_job *job;
    int64_t block;
    bool by_rows;
    lane lanes[MT_ITER_MAX_OPERANDS];
} block_job;

/* --- moving rows: `rows` of n elements, with strides between rows and between elements on one side
   --- */

#define DEFINE_COLLECT(name, type)                                                                                     \
    static void collect_##name(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows,           \
                               int64_t n)                                                                              \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r++, dst += n * (int64_t)sizeof(type))                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                memcpy(dst + i * (int64_t)sizeof(type), src + r * row_stride + i * stride, sizeof(type));              \
    }                                                                                                                  \
    static void spread_##name(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows, int64_t n) \
    {                                                                                                                  \
        for (int64_t r = 0; r < rows; r++, src += n * (int64_t)sizeof(type))                                           \
            for (int64_t i = 0; i < n; i++)                                                                            \
                memcpy(dst + r * row_stride + i * stride, src + i * (int64_t)sizeof(type), sizeof(type));              \
    }
DEFINE_COLLECT(1, uint8_t)
DEFINE_COLLECT(2, uint16_t)
DEFINE_COLLECT(4, uint32_t)
DEFINE_COLLECT(8, uint64_t)
DEFINE_COLLECT(16, mt_c128)
#undef DEFINE_COLLECT

enum { SHORT_ROW = 16 };

/* nbytes of one element after the other; nbytes is a multiple of its size. */
static void repeat(char *dst, const char *element, int64_t size, int64_t nbytes)
{
    uint64_t word[8];
    uint32_t quad;
    uint16_t pair;
    int64_t i;

    switch (size) {
    case 1:
        word[0] = (uint8_t)*element * UINT64_C(0x0101010101010101);
        break;
    case 2:
        memcpy(&pair, element, 2);
        word[0] = pair * UINT64_C(0x0001000100010001);
        break;
    case 4:
        memcpy(&quad, element, 4);
        word[0] = quad * UINT64_C(0x0000000100000001);
        break;
    default:
        memcpy(&word[0], element, 8);
    }
    if (size == 16)
        memcpy(&word[1], element + 8, 8);
    else
        word[1] = word[0];
    for (int k = 2; k < 8; k++)
        word[k] = word[k - 2];
    for (i = 0; i + 64 <= nbytes; i += 64)
        memcpy(dst + i, word, 64);
    memcpy(dst + i, word, (size_t)(nbytes - i));
}

static void collect_rows(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows, int64_t n,
                         int64_t size)
{
    if ((stride == size || stride == 0) && n >= SHORT_ROW) {
        for (int64_t r = 0; r < rows; r++)
            if (stride)
                memcpy(dst + r * n * size, src + r * row_stride, (size_t)(n * size));
            else
                repeat(dst + r * n * size, src + r * row_stride, size, n * size);
        return;
    }
    switch (size) {
    case 1:
        collect_1(dst, src, row_stride, stride, rows, n);
        break;
    case 2:
        collect_2(dst, src, row_stride, stride, rows, n);
        break;
    case 4:
        collect_4(dst, src, row_stride, stride, rows, n);
        break;
    case 8:
        collect_8(dst, src, row_stride, stride, rows, n);
        break;
    default:
        collect_16(dst, src, row_stride, stride, rows, n);
        break;
    }
}

static void spread_rows(char *dst, const char *src, int64_t row_stride, int64_t stride, int64_t rows, int64_t n,
                        int64_t size)
{
    if (stride == size && n >= SHORT_ROW) {
        for (int64_t r = 0; r < rows; r++)
            memcpy(dst + r * row_stride, src + r * n * size, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 1:
        spread_1(dst, src, row_stride, stride, rows, n);
        break;
    case 2:
        spread_2(dst, src, row_stride, stride, rows, n);
        break;
    case 4:
        spread_4(dst, src, row_stride, stride, rows, n);
        break;
    case 8:
        spread_8(dst, src, row_stride, stride, rows, n);
        break;
    default:
        spread_16(dst, src, row_stride, stride, rows, n);
        break;
    }
}

/* --- moving a block of one operand --- */

/* Walks operand k over m elements from the cursor's row and a column on, and moves them to or from
   `buffer`. */
static void move_block(const mt_iter *it, int k, const mt_iter_cursor *c, int64_t column, int64_t m, char *buffer,
                       bool to_buffer)
{
    int64_t index[MT_MAX_DIM], size = (int64_t)mt_dtype_size((mt_dtype)it->dtype[k]);
    const int64_t *stride = it->stride[k];
    char *row = c->data[k];

    for (int d = 1; d < it->ndim; d++)
        index[d] = c->index[d];
    while (m > 0) {
        int64_t n = it->size[0] - column < m ? it->size[0] - column : m, rows = 1;
        int64_t row_stride = it->ndim > 1 ? stride[1] : 0;

        if (n == it->size[0] && it->ndim > 1) { /* whole rows, up to the end of dim 1 */
            rows = it->size[1] - index[1] < m / n ? it->size[1] - index[1] : m / n;
        }
        if (to_buffer)
            collect_rows(buffer, row + column * stride[0], row_stride, stride[0], rows, n, size);
        else
            spread_rows(row + column * stride[0], buffer, row_stride, stride[0], rows, n, size);
        buffer += rows * n * size;
        m -= rows * n;
        column = 0;
        if (m == 0)
            return;
        index[1] += rows;
        row += rows * row_stride;
        for (int d = 1; d + 1 < it->ndim && index[d] == it->size[d]; d++) {
            row += stride[d + 1] - it->size[d] * stride[d];
            index[d] = 0;
            index[d + 1]++;
        }
    }
}

static void collect(const block_job *b, int k, const mt_iter_cursor *c, int64_t column, int64_t m, char *buffer,
                    char *raw)
{
    const lane *l = &b->lanes[k];

    move_block(b->job->it, k, c, column, m, l->cast ? raw : buffer, true);
    if (l->cast)
        l->cast(buffer, l->loop_size, raw, l->size, m);
}

/* --- running --- */

typedef struct buffers {
    MT_ALIGNED(64) char data[MT_ITER_MAX_OPERANDS][BUFFER_BYTES];
    MT_ALIGNED(64) char raw[BUFFER_BYTES];
} buffers;

/* One block: m elements from the cursor's row, `column` on; `flat` is its place in the whole. No
   later block of the row is longer than the first. */
static void run_block(const block_job *b, const mt_iter_cursor *c, int64_t flat, int64_t column, int64_t m,
                      bool is_new_row, buffers *buffer)
{
    const mt_iter *it = b->job->it;
    char *at[MT_ITER_MAX_OPERANDS];
    int64_t step[MT_ITER_MAX_OPERANDS];

    for (int k = 0; k < it->n_operands; k++) {
        const lane *l = &b->lanes[k];
        char *place = l->kind == LANE_FLAT  ? it->data[k] + flat * l->size
                      : l->kind == LANE_ROW ? c->data[k] + column * l->size
                                            : NULL;

        step[k] = l->loop_size;
        at[k] = place && !l->cast ? place : buffer->data[k];
        if (k < it->n_outputs || l->kind == LANE_FIXED)
            continue;
        if (l->kind == LANE_MOVING || (l->kind == LANE_STEADY && is_new_row))
            collect(b, k, c, column, m, buffer->data[k], buffer->raw);
        else if (l->cast && place)
            l->cast(buffer->data[k], l->loop_size, place, l->size, m);
    }
    b->job->loop(at, step, m, b->job->params);
    for (int k = 0; k < it->n_outputs; k++) {
        const lane *l = &b->lanes[k];
        char *from = buffer->data[k];

        if (at[k] != from)
            continue;
        if (l->kind != LANE_MOVING) {
            l->cast(l->kind == LANE_FLAT ? it->data[k] + flat * l->size : c->data[k] + column * l->size, l->size, from,
                    l->loop_size, m);
            continue;
        }
        if (l->cast) {
            l->cast(buffer->raw, l->size, from, l->loop_size, m);
            from = buffer->raw;
        }
        move_block(it, k, c, column, m, from, false);
    }
}

/* Elements begin .. end; begin is a multiple of the block unless blocks follow rows. */
static void blocks_body(void *ctx, int64_t begin, int64_t end)
{
    const block_job *b = ctx;
    const mt_iter *it = b->job->it;
    int64_t row = it->size[0], column = begin % row, longest = end - begin < b->block ? end - begin : b->block;
    bool is_new_row = true;
    mt_iter_cursor c;
    buffers buffer;

    mt_iter_cursor_set(&c, it, 1, begin / row);
    for (int k = it->n_outputs; k < it->n_operands; k++)
        if (b->lanes[k].kind == LANE_FIXED)
            collect(b, k, &c, column, longest, buffer.data[k], buffer.raw);
    while (begin < end) {
        int64_t m = end - begin < b->block ? end - begin : b->block;

        if (b->by_rows && m > row - column)
            m = row - column;
        run_block(b, &c, begin, column, m, is_new_row, &buffer);
        is_new_row = false;
        begin += m;
        column += m;
        if (!b->by_rows && begin < end) {
            mt_iter_cursor_set(&c, it, 1, begin / row);
            column = begin % row;
        } else if (column == row) {
            mt_iter_cursor_next(&c, it, 1);
            column = 0;
            is_new_row = true;
        }
    }
}

/* --- planning --- */

static bool is_flat(const mt_iter *it, int k, int64_t size)
{
    if (it->stride[k][0] != size)
        return false;
    for (int d = 1; d < it->ndim; d++)
        if (it->stride[k][d] != it->stride[k][d - 1] * it->size[d - 1])
            return false;
    return true;
}

/* Elements after which the operand repeats itself; the whole when it never does. */
static int64_t period(const mt_iter *it, int k)
{
    int64_t n = 1, found = 1;

    for (int d = 0; d < it->ndim; d++) {
        n *= it->size[d];
        if (it->stride[k][d] != 0)
            found = n;
    }
    return found;
}

/* The longest block: whole repetitions of the first operand that repeats within a block. */
static int64_t choose_block(const block_job *b)
{
    const mt_iter *it = b->job->it;
    int64_t block = BLOCK;

    for (int k = 0; k < it->n_operands; k++)
        if (b->lanes[k].size > 8 || b->lanes[k].loop_size > 8)
            block = BLOCK / 2;
    if (b->by_rows)
        return block;
    for (int k = it->n_outputs; k < it->n_operands; k++) {
        int64_t p = period(it, k);

        if (p > 1 && p <= block / 2)
            return block - block % p;
    }
    return block;
}

static void plan(block_job *b)
{
    const mt_iter *it = b->job->it;

    b->by_rows = it->size[0] >= LONG_ROW;
    for (int k = 0; k < it->n_operands; k++) {
        uint8_t own = it->dtype[k], loop = b->job->loop_dtype[k];
        lane *l = &b->lanes[k];

        l->size = (int64_t)mt_dtype_size((mt_dtype)own);
        l->loop_size = (int64_t)mt_dtype_size((mt_dtype)loop);
        l->cast = own == loop ? NULL : k < it->n_outputs ? mt_cast_table[loop][own] : mt_cast_table[own][loop];
    }
    b->block = choose_block(b);
    for (int k = 0; k < it->n_operands; k++) {
        lane *l = &b->lanes[k];

        if (is_flat(it, k, l->size))
            l->kind = LANE_FLAT;
        else if (b->by_rows && it->stride[k][0] == l->size)
            l->kind = LANE_ROW;
        else if (k >= it->n_outputs && (period(it, k) == 1 || (!b->by_rows && b->block % period(it, k) == 0)))
            l->kind = LANE_FIXED;
        else if (k >= it->n_outputs && b->by_rows && it->stride[k][0] == 0)
            l->kind = LANE_STEADY;
        else
            l->kind = LANE_MOVING;
    }
}

void mt_iter_run_blocks(const mt_iter_job *job, double ns_per_element)
{
    const mt_iter *it = job->it;
    block_job b = {.job = job};
    int64_t align;

    plan(&b);
    for (int k = 0; k < it->n_operands; k++)
        ns_per_element += (b.lanes[k].cast != NULL) * 0.3 + (b.lanes[k].kind == LANE_MOVING) * 0.5;
    align = b.by_rows ? 64 : b.block;
    mt_parallel_for(it->numel, ns_per_element, align, blocks_body, &b);
}
