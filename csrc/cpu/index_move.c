/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes through an index, by item size. Reads run in parallel anywhere; writes are cut along a dim that the
   index does not touch, so that equal addresses stay in one thread and keep their order. Whole rows (the index does not
   move along the innermost dim, which is dense on both sides) are copied as bytes. */
#include "cpu/index_move.h"

#include <string.h>

#include "base/parallel.h"
#include "cpu/cpu_internal.h"

enum { CHECK_BLOCK = 1024 };

/* --- bounds --- */

static inline int64_t load_index(const char *p)
{
    int64_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* Position of the first index out of range, n when there is none. In range, v + wrap and limit - 1 - v have no sign. */
static int64_t find_bad(const char *index, int64_t stride, int64_t n, int64_t limit, int64_t wrap)
{
    const uint64_t low = (uint64_t)wrap, high = (uint64_t)limit - 1;

    for (int64_t begin = 0; begin < n; begin += CHECK_BLOCK) {
        int64_t end = n - begin < CHECK_BLOCK ? n : begin + CHECK_BLOCK;
        uint64_t signs = 0;

        if (stride == sizeof(int64_t)) {
            const uint64_t *v = (const uint64_t *)(const void *)index;

            for (int64_t i = begin; i < end; i++)
                signs |= (v[i] + low) | (high - v[i]);
        } else {
            for (int64_t i = begin; i < end; i++) {
                uint64_t v = (uint64_t)load_index(index + i * stride);

                signs |= (v + low) | (high - v);
            }
        }
        for (int64_t i = begin; signs >> 63 && i < end; i++) {
            uint64_t v = (uint64_t)load_index(index + i * stride);

            if (((v + low) | (high - v)) >> 63)
                return i;
        }
    }
    return n;
}

/* True when the block may be used. */
static inline bool check_block(const mt_index_params *p, const char *index, int64_t stride, int64_t n)
{
    int64_t at;

    if (!p->fault)
        return true;
    if (stride == 0)
        n = 1;
    at = find_bad(index, stride, n, p->limit, p->wrap);
    if (MT_LIKELY(at == n))
        return true;
    p->fault->index = load_index(index + at * stride);
    __atomic_store_n(&p->fault->found, true, __ATOMIC_RELAXED);
    return false;
}

typedef struct range_check {
    int64_t limit, wrap;
    mt_index_fault fault;
} range_check;

static void check_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    range_check *c = *(range_check *const *)params;
    int64_t at;

    if (c->fault.found)
        return;
    at = find_bad(data[0], stride[0], n, c->limit, c->wrap);
    if (at < n) {
        c->fault.found = true;
        c->fault.index = load_index(data[0] + at * stride[0]);
    }
}

bool mt_index_in_range(int64_t *bad, const mt_tensor *index, int64_t limit, int64_t wrap)
{
    range_check check = {limit, wrap, {false, 0}}, *pointer = &check;
    int64_t stride[MT_MAX_DIM];
    mt_iter it;

    if (index->numel == 0)
        return true;
    mt_iter_init(&it, 1, 0, index->ndim, index->size);
    for (int i = 0; i < index->ndim; i++)
        stride[i] = index->stride[i] * (int64_t)sizeof(int64_t);
    mt_iter_set_operand(&it, 0, (char *)(uintptr_t)mt_tensor_const_data(index), MT_DTYPE_i64, stride);
    mt_iter_finish(&it);
    mt_iter_run_serial(&it, check_loop, &pointer);
    *bad = check.fault.index;
    return !check.fault.found;
}

int mt_index_error(mt_index_words words, int64_t index, int64_t dim, int64_t size)
{
    if (words == MT_INDEX_IN_SELF)
        return mt_error_set(MT_ERR_INDEX, "index out of range in self");
    if (words == MT_INDEX_OF_DATA)
        return mt_error_set(MT_ERR_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
                            (long long)index, (long long)size);
    if (words == MT_INDEX_OF_TAKE)
        return mt_error_set(MT_ERR_INDEX, "out of range: tried to access index %lld on a tensor of %lld elements.",
                            (long long)index, (long long)size);
    return mt_error_set(words == MT_INDEX_OF_GATHER ? MT_ERR_RUNTIME : MT_ERR_INDEX,
                        "%sindex %lld is out of bounds for dimension %lld with size %lld",
                        words == MT_INDEX_OF_COPY ? "index_copy_(): " : "", (long long)index, (long long)dim,
                        (long long)size);
}

/* --- loops by item size --- */

typedef uint64_t wide_item __attribute__((vector_size(16)));

static inline int64_t offset_of(const char *index, int64_t wrap, int64_t step)
{
    int64_t v = load_index(index);

    return (v + (v >> 63 & wrap)) * step;
}

/* read: other (written), target, index. write: target (written), index, other. Dense runs at an index that counts items
   have loops of their own. */
#define DEFINE_LOOPS(bytes, type)                                                                                    \
    typedef type item_##bytes __attribute__((aligned(1), may_alias));                                                \
    static inline void read_items_##bytes(char *out, const char *target, const char *index, int64_t n, int64_t wrap) \
    {                                                                                                                \
        const item_##bytes *from = (const item_##bytes *)(const void *)target;                                       \
        item_##bytes *to = (item_##bytes *)(void *)out;                                                              \
        const int64_t *at = (const int64_t *)(const void *)index;                                                    \
                                                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                                              \
            to[i] = from[at[i] + (at[i] >> 63 & wrap)];                                                              \
    }                                                                                                                \
    static inline void write_items_##bytes(char *target, const char *index, const char *other, int64_t n,            \
                                           int64_t wrap)                                                             \
    {                                                                                                                \
        const item_##bytes *from = (const item_##bytes *)(const void *)other;                                        \
        item_##bytes *to = (item_##bytes *)(void *)target;                                                           \
        const int64_t *at = (const int64_t *)(const void *)index;                                                    \
                                                                                                                     \
        for (int64_t i = 0; i < n; i++)                                                                              \
            to[at[i] + (at[i] >> 63 & wrap)] = from[i];                                                              \
    }                                                                                                                \
    static void read_##bytes(char *const *data, const int64_t *stride, int64_t n, const void *params)                \
    {                                                                                                                \
        const mt_index_params *p = params;                                                                           \
        const int64_t so = stride[0], st = stride[1], si = stride[2], wrap = p->wrap, step = p->step;                \
                                                                                                                     \
        if (si == 0) {                                                                                               \
            if (check_block(p, data[2], 0, n))                                                                       \
                mt_cpu_move(data[0], so, data[1] + offset_of(data[2], wrap, step), st, n, bytes);                    \
            return;                                                                                                  \
        }                                                                                                            \
        for (int64_t begin = 0; begin < n; begin += CHECK_BLOCK) {                                                   \
            int64_t m = n - begin < CHECK_BLOCK ? n - begin : CHECK_BLOCK;                                           \
            char *out = data[0] + begin * so;                                                                        \
            const char *target = data[1] + begin * st, *index = data[2] + begin * si;                                \
                                                                                                                     \
            if (!check_block(p, index, si, m))                                                                       \
                return;                                                                                              \
            if (so == bytes && st == 0 && si == 8 && step == bytes) {                                                \
                if (wrap)                                                                                            \
                    read_items_##bytes(out, target, index, m, wrap);                                                 \
                else                                                                                                 \
                    read_items_##bytes(out, target, index, m, 0);                                                    \
                continue;                                                                                            \
            }                                                                                                        \
            for (int64_t i = 0; i < m; i++)                                                                          \
                memcpy(out + i * so, target + i * st + offset_of(index + i * si, wrap, step), sizeof(type));         \
        }                                                                                                            \
    }                                                                                                                \
    static void write_##bytes(char *const *data, const int64_t *stride, int64_t n, const void *params)               \
    {                                                                                                                \
        const mt_index_params *p = params;                                                                           \
        const int64_t st = stride[0], si = stride[1], sv = stride[2], wrap = p->wrap, step = p->step;                \
        char *target = data[0];                                                                                      \
        const char *index = data[1], *other = data[2];                                                               \
                                                                                                                     \
        if (si == 0) {                                                                                               \
            mt_cpu_move(target + offset_of(index, wrap, step), st, other, sv, n, bytes);                             \
            return;                                                                                                  \
        }                                                                                                            \
        if (st == 0 && si == 8 && sv == bytes && step == bytes) {                                                    \
            if (wrap)                                                                                                \
                write_items_##bytes(target, index, other, n, wrap);                                                  \
            else                                                                                                     \
                write_items_##bytes(target, index, other, n, 0);                                                     \
            return;                                                                                                  \
        }                                                                                                            \
        for (int64_t i = 0; i < n; i++)                                                                              \
            memcpy(target + i * st + offset_of(index + i * si, wrap, step), other + i * sv, sizeof(type));           \
    }
DEFINE_LOOPS(1, uint8_t)
DEFINE_LOOPS(2, uint16_t)
DEFINE_LOOPS(4, uint32_t)
DEFINE_LOOPS(8, uint64_t)
DEFINE_LOOPS(16, wide_item)
#undef DEFINE_LOOPS

static mt_loop_fn *read_loop(int itemsize)
{
    switch (itemsize) {
    case 1:
        return read_1;
    case 2:
        return read_2;
    case 4:
        return read_4;
    case 8:
        return read_8;
    default:
        return read_16;
    }
}

static mt_loop_fn *write_loop(int itemsize)
{
    switch (itemsize) {
    case 1:
        return write_1;
    case 2:
        return write_2;
    case 4:
        return write_4;
    case 8:
        return write_8;
    default:
        return write_16;
    }
}

/* --- reads --- */

typedef struct row_job {
    const mt_iter *it; /* operands: other, target, index */
    const mt_index_params *params;
    size_t nbytes;
} row_job;

/* The range counts rows: all dims but the innermost. */
static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const row_job *job = ctx;
    const mt_iter *it = job->it;
    const mt_index_params *p = job->params;

    while (begin < end) {
        int64_t left = begin / it->size[1], first = begin % it->size[1];
        int64_t n = it->size[1] - first < end - begin ? it->size[1] - first : end - begin;
        char *out = it->data[0] + first * it->stride[0][1];
        const char *target = it->data[1] + first * it->stride[1][1], *index = it->data[2] + first * it->stride[2][1];

        for (int d = 2; d < it->ndim; d++) {
            int64_t at = left % it->size[d];

            left /= it->size[d];
            out += at * it->stride[0][d];
            target += at * it->stride[1][d];
            index += at * it->stride[2][d];
        }
        if (!check_block(p, index, it->stride[2][1], n))
            return;
        for (int64_t r = 0; r < n; r++) {
            memcpy(out, target + offset_of(index, p->wrap, p->step), job->nbytes);
            out += it->stride[0][1];
            target += it->stride[1][1];
            index += it->stride[2][1];
        }
        begin += n;
    }
}

/* Rows of bytes: dense on both sides, one index for all of the row. */
static bool has_rows(const mt_iter *it, int itemsize)
{
    return it->ndim > 1 && it->stride[2][0] == 0 && it->stride[0][0] == itemsize && it->stride[1][0] == itemsize;
}

void mt_index_read(const mt_index_job *job)
{
    mt_iter it;

    mt_iter_init(&it, 3, 1, job->ndim, job->size);
    mt_iter_set_operand(&it, 0, job->other, MT_DTYPE_b8, job->other_stride);
    mt_iter_set_operand(&it, 1, job->target, MT_DTYPE_b8, job->target_stride);
    mt_iter_set_operand(&it, 2, (char *)(uintptr_t)job->index, MT_DTYPE_i64, job->index_stride);
    mt_iter_finish(&it);
    if (it.numel == 0)
        return;
    if (has_rows(&it, job->itemsize)) {
        row_job rows = {&it, &job->params, (size_t)(it.size[0] * job->itemsize)};

        mt_parallel_for(it.numel / it.size[0], 3.0 + 0.05 * (double)rows.nbytes, 1, copy_rows, &rows);
        return;
    }
    mt_iter_run(&it, read_loop(job->itemsize), &job->params, NULL, 1.5);
}

/* --- writes --- */

typedef struct write_job {
    const mt_index_job *job;
    mt_loop_fn *loop;
    int split;
} write_job;

/* The range is along the dim `split`. */
static void write_part(void *ctx, int64_t begin, int64_t end)
{
    const write_job *w = ctx;
    const mt_index_job *job = w->job;
    int64_t target = 0, index = 0, other = 0;
    mt_iter it;

    mt_iter_init(&it, 3, 1, job->ndim, job->size);
    if (w->split >= 0) {
        int k = job->ndim - 1 - w->split; /* iterators count from the innermost dim */

        it.numel = it.numel / it.size[k] * (end - begin);
        it.size[k] = end - begin;
        target = begin * job->target_stride[w->split];
        index = begin * job->index_stride[w->split];
        other = begin * job->other_stride[w->split];
    }
    mt_iter_set_operand(&it, 0, job->target + target, MT_DTYPE_b8, job->target_stride);
    mt_iter_set_operand(&it, 1, (char *)(uintptr_t)job->index + index, MT_DTYPE_i64, job->index_stride);
    mt_iter_set_operand(&it, 2, job->other + other, MT_DTYPE_b8, job->other_stride);
    mt_iter_finish(&it);
    mt_iter_run_serial(&it, w->loop, &job->params);
}

void mt_index_write(const mt_index_job *job, mt_loop_fn *loop, double ns_per_element)
{
    write_job w = {job, loop ? loop : write_loop(job->itemsize), -1};
    double numel = 1.0;

    for (int i = 0; i < job->ndim; i++) {
        if (job->size[i] == 0)
            return;
        numel *= (double)job->size[i];
        if (job->is_indexed[i] || job->target_stride[i] == 0 || job->size[i] == 1)
            continue;
        if (w.split < 0 || job->size[i] > job->size[w.split])
            w.split = i;
    }
    if (w.split < 0)
        mt_parallel_for(1, numel * ns_per_element, 1, write_part, &w);
    else
        mt_parallel_for(job->size[w.split], numel * ns_per_element / (double)job->size[w.split], 1, write_part, &w);
}
