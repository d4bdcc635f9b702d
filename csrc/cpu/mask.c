/* SPDX-License-Identifier: BSD-3-Clause */
/* Masks. Work on true elements in order runs in two passes: chunks are counted, then every chunk knows where its results
   begin, so that the second pass runs in parallel as well. Stores come before the test and the position moves by it, so
   that no branch depends on the mask. */
#include "cpu/mask.h"

#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "core/op.h"
#include "cpu/assign.h"
#include "kernels.h"

enum { CHUNK = 1 << 15, STACK_CHUNKS = 32 };

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

/* --- counting --- */

/* Sums of 255 bytes fit a byte, so lanes of bytes are added as such. */
static int64_t count_range(const uint8_t *mask, int64_t n)
{
    int64_t total = 0;

    while (n >= 64) {
        int64_t rounds = n / 64 < 255 ? n / 64 : 255;
        uint8_t lane[64] = {0};

        for (int64_t r = 0; r < rounds; r++)
            for (int i = 0; i < 64; i++)
                lane[i] = (uint8_t)(lane[i] + (mask[r * 64 + i] != 0));
        for (int i = 0; i < 64; i++)
            total += lane[i];
        mask += rounds * 64;
        n -= rounds * 64;
    }
    for (int64_t i = 0; i < n; i++)
        total += mask[i] != 0;
    return total;
}

typedef struct mask_job {
    const uint8_t *mask;
    int64_t n, *first; /* of each chunk: its count, then where its results begin */
    char *out;
    const char *in;
    int itemsize;
} mask_job;

static int64_t chunk_length(const mask_job *job, int64_t chunk)
{
    return job->n - chunk * CHUNK < CHUNK ? job->n - chunk * CHUNK : CHUNK;
}

static void count_chunks(void *ctx, int64_t begin, int64_t end)
{
    mask_job *job = ctx;

    for (int64_t c = begin; c < end; c++)
        job->first[c] = count_range(job->mask + c * CHUNK, chunk_length(job, c));
}

int64_t mt_mask_count(const uint8_t *mask, int64_t n)
{
    int64_t counts[STACK_CHUNKS], total = 0;

    while (n > 0) {
        int64_t part = n < (int64_t)CHUNK * STACK_CHUNKS ? n : (int64_t)CHUNK * STACK_CHUNKS;
        mask_job job = {.mask = mask, .n = part, .first = counts};
        int64_t chunks = (part + CHUNK - 1) / CHUNK;

        mt_parallel_for(chunks, 0.05 * CHUNK, 1, count_chunks, &job);
        for (int64_t c = 0; c < chunks; c++)
            total += counts[c];
        mask += part;
        n -= part;
    }
    return total;
}

/* Runs `body` over the chunks. */
static int for_chunks(mask_job *job, mt_parallel_body *body, double ns_per_element)
{
    int64_t room[STACK_CHUNKS], chunks = (job->n + CHUNK - 1) / CHUNK, sum = 0;
    void *heap = NULL;
    int rc = -1;

    job->first = room;
    if (chunks > STACK_CHUNKS) {
        MT_TRY(mt_malloc(&heap, (size_t)chunks * sizeof(int64_t)));
        job->first = heap;
    }
    if (chunks > 1)
        mt_parallel_for(chunks, 0.05 * CHUNK, 1, count_chunks, job);
    else
        room[0] = 0;
    for (int64_t c = 0; c < chunks; c++) {
        int64_t count = job->first[c];

        job->first[c] = sum;
        sum += count;
    }
    mt_parallel_for(chunks, ns_per_element * (double)(chunks > 1 ? CHUNK : job->n), 1, body, job);
    rc = 0;
fail:
    mt_free(heap);
    return rc;
}

/* --- positions --- */

static void position_chunks(void *ctx, int64_t begin, int64_t end)
{
    const mask_job *job = ctx;

    for (int64_t c = begin; c < end; c++) {
        const uint8_t *mask = job->mask + c * CHUNK;
        int64_t *out = (int64_t *)(void *)job->out + job->first[c];
        int64_t count = count_range(mask, chunk_length(job, c)), k = 0;

        for (int64_t i = 0; k < count; i++) {
            out[k] = c * CHUNK + i;
            k += mask[i] != 0;
        }
    }
}

int mt_mask_positions(int64_t *out, const uint8_t *mask, int64_t n, int64_t total)
{
    mask_job job = {.mask = mask, .n = n, .out = (char *)out};

    return total == 0 ? 0 : for_chunks(&job, position_chunks, 0.5);
}

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

/* --- packing and spreading --- */

typedef struct wide_item {
    uint64_t part[2];
} wide_item;

#define DEFINE_PACK(bytes, type)                                                                               \
    static void pack_##bytes(char *out, const char *in, const uint8_t *mask, int64_t count)                    \
    {                                                                                                          \
        for (int64_t i = 0, k = 0; k < count; i++) {                                                           \
            memcpy(out + k * (bytes), in + i * (bytes), sizeof(type));                                         \
            k += mask[i] != 0;                                                                                 \
        }                                                                                                      \
    }                                                                                                          \
    static void spread_##bytes(char *out, const char *in, const uint8_t *mask, int64_t n)                      \
    {                                                                                                          \
        for (int64_t i = 0, k = 0; i < n; i++) {                                                               \
            if (mask[i])                                                                                       \
                memcpy(out + i * (bytes), in + k++ * (bytes), sizeof(type));                                   \
        }                                                                                                      \
    }                                                                                                          \
    static void fill_##bytes(char *const *data, const int64_t *stride, int64_t n, const void *params)          \
    {                                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                                        \
            if (data[1][i * stride[1]])                                                                        \
                memcpy(data[0] + i * stride[0], params, sizeof(type));                                         \
    }
DEFINE_PACK(1, uint8_t)
DEFINE_PACK(2, uint16_t)
DEFINE_PACK(4, uint32_t)
DEFINE_PACK(8, uint64_t)
DEFINE_PACK(16, wide_item)
#undef DEFINE_PACK

static void pack_chunks(void *ctx, int64_t begin, int64_t end)
{
    const mask_job *job = ctx;

    for (int64_t c = begin; c < end; c++) {
        const uint8_t *mask = job->mask + c * CHUNK;
        int64_t count = count_range(mask, chunk_length(job, c));
        const char *in = job->in + c * CHUNK * job->itemsize;
        char *out = job->out + job->first[c] * job->itemsize;

        switch (job->itemsize) {
        case 1: pack_1(out, in, mask, count); break;
        case 2: pack_2(out, in, mask, count); break;
        case 4: pack_4(out, in, mask, count); break;
        case 8: pack_8(out, in, mask, count); break;
        default: pack_16(out, in, mask, count); break;
        }
    }
}

static void spread_chunks(void *ctx, int64_t begin, int64_t end)
{
    const mask_job *job = ctx;

    for (int64_t c = begin; c < end; c++) {
        const uint8_t *mask = job->mask + c * CHUNK;
        int64_t n = chunk_length(job, c);
        char *out = job->out + c * CHUNK * job->itemsize;
        const char *in = job->in + job->first[c] * job->itemsize;

        switch (job->itemsize) {
        case 1: spread_1(out, in, mask, n); break;
        case 2: spread_2(out, in, mask, n); break;
        case 4: spread_4(out, in, mask, n); break;
        case 8: spread_8(out, in, mask, n); break;
        default: spread_16(out, in, mask, n); break;
        }
    }
}

int mt_mask_pack(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t total, int itemsize)
{
    mask_job job = {.mask = mask, .n = n, .out = out, .in = in, .itemsize = itemsize};

    return total == 0 ? 0 : for_chunks(&job, pack_chunks, 0.6);
}

int mt_mask_spread(char *out, const char *in, const uint8_t *mask, int64_t n, int64_t total, int itemsize)
{
    mask_job job = {.mask = mask, .n = n, .out = out, .in = in, .itemsize = itemsize};

    return total == 0 ? 0 : for_chunks(&job, spread_chunks, 1.0);
}

int mt_mask_fill(mt_tensor *t, const mt_tensor *mask, const void *element)
{
    mt_tensor *operands[2] = {t, (mt_tensor *)(uintptr_t)mask};
    mt_loop_fn *loop;
    mt_iter it;

    switch (mt_tensor_itemsize(t)) {
    case 1: loop = fill_1; break;
    case 2: loop = fill_2; break;
    case 4: loop = fill_4; break;
    case 8: loop = fill_8; break;
    default: loop = fill_16; break;
    }
    if (mt_iter_build(&it, operands, 2, 1, t->ndim, t->size) < 0)
        return -1;
    mt_iter_run(&it, loop, element, NULL, 1.0);
    return 0;
}

/* --- masked_scatter --- */

/* mask has the shape of out or broadcasts to it; source is contiguous. */
int mt_cpu_masked_scatter(mt_tensor *out, mt_tensor *self, mt_tensor *mask, mt_tensor *source)
{
    mt_tensor *whole = NULL, *dense = NULL, *target = out;
    const uint8_t *bytes;
    int64_t total;
    int rc = -1;

    MT_TRY(mt_tensor_new(&whole, MT_DTYPE_b8, out->ndim, out->size, out->device));
    MT_TRY(mt_cpu_assign(whole, mask));
    bytes = (const uint8_t *)mt_tensor_const_data(whole);
    total = mt_mask_count(bytes, whole->numel);
    MT_REQUIRE(total <= source->numel, MT_ERR_RUNTIME, "Number of elements of source < number of ones in mask");
    if (!(out->flags & MT_FLAG_CONTIGUOUS)) {
        MT_TRY(mt_tensor_new(&dense, (mt_dtype)out->dtype, out->ndim, out->size, out->device));
        target = dense;
    }
    if (target != self)
        MT_TRY(mt_cpu_assign(target, self));
    MT_TRY(mt_mask_spread(mt_tensor_mutable_data(target), mt_tensor_const_data(source), bytes, whole->numel, total,
                          (int)mt_tensor_itemsize(out)));
    if (dense)
        MT_TRY(mt_cpu_assign(out, dense));
    rc = 0;
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&dense);
    return rc;
}
