/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided copies, fill, search for zeros. A copy is brought into a normal form first: dims of size
   1 dropped, ordered by the strides of the destination, neighbours merged, runs of a few items
   taken for one wider item. What remains is one of these: rows (memcpy or an element loop), the
   same with the long dim inside where rows are tiny, or a transpose (the unit strides are in
   different dims; bands of rows). Neighbours: move.c (gather, scatter), transpose.c (tiles). */
#include "cpu/copy.h"

#include <string.h>

#include "base/parallel.h"
#include "cpu/cpu_internal.h"

enum {
    TINY_ROW = 16,
    TINY_DENSE_ROW = 8, /* elements; shorter rows are taken in columns ... */
    TINY_RATIO = 4,     /* ... where the next dim is this many times as long */
    COLUMN_BLOCK = 512,
    LONG_FILL = 1024, /* elements */
    FILL_RUN = 4096,  /* bytes */
};

/* Normal form; dim 0 is the innermost. */
typedef struct copy_plan {
    char *dst;
    const char *src;
    int ndim, itemsize;
    int across; /* transpose: the dim in which src has unit stride */
    int64_t size[MT_MAX_DIM], dst_stride[MT_MAX_DIM], src_stride[MT_MAX_DIM];
} copy_plan;

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static bool is_inner(const copy_plan *p, int a, int b)
{
    int64_t da = magnitude(p->dst_stride[a]), db = magnitude(p->dst_stride[b]);

    return da != db ? da < db : magnitude(p->src_stride[a]) < magnitude(p->src_stride[b]);
}

static void swap_dims(copy_plan *p, int a, int b)
{
    int64_t size = p->size[a], ds = p->dst_stride[a], ss = p->src_stride[a];

    p->size[a] = p->size[b];
    p->dst_stride[a] = p->dst_stride[b];
    p->src_stride[a] = p->src_stride[b];
    p->size[b] = size;
    p->dst_stride[b] = ds;
    p->src_stride[b] = ss;
}

/* Runs of 2, 4, 8 or 16 bytes on both sides become items of that size. */
static void widen_items(copy_plan *p)
{
    int64_t bytes = p->size[0] * p->itemsize;

    if (p->ndim < 2 || p->dst_stride[0] != p->itemsize || p->src_stride[0] != p->itemsize || bytes > 16 ||
        (bytes & (bytes - 1)) != 0)
        return;
    p->itemsize = (int)bytes;
    p->ndim--;
    for (int i = 0; i < p->ndim; i++)
        swap_dims(p, i, i + 1);
}

/* False: nothing to copy. */
static bool plan_copy(copy_plan *p, const int64_t *dst_stride, const int64_t *src_stride, const int64_t *size, int ndim)
{
    int n = 0, kept = 0;

    for (int i = ndim - 1; i >= 0; i--) {
        if (size[i] == 0)
            return false;
        if (size[i] == 1)
            continue;
        p->size[n] = size[i];
        p->dst_stride[n] = dst_stride[i];
        p->src_stride[n++] = src_stride[i];
    }
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && is_inner(p, j, j - 1); j--)
            swap_dims(p, j, j - 1);
    for (int i = 1; i < n; i++) {
        if (p->dst_stride[i] == p->dst_stride[kept] * p->size[kept] &&
            p->src_stride[i] == p->src_stride[kept] * p->size[kept]) {
            p->size[kept] *= p->size[i];
        } else {
            swap_dims(p, ++kept, i);
        }
    }
    p->ndim = n == 0 ? 0 : kept + 1;
    if (p->ndim == 0) { /* one element */
        p->ndim = 1;
        p->size[0] = 1;
        p->dst_stride[0] = p->src_stride[0] = p->itemsize;
    }
    widen_items(p);
    p->across = -1;
    if (p->src_stride[0] != p->itemsize && p->dst_stride[0] == p->itemsize && p->size[0] > 1)
        for (int i = 1; i < p->ndim; i++)
            if (p->src_stride[i] == p->itemsize)
                p->across = i;
    return true;
}

/* Addresses of the block with number `index` over the dims from `first` on, without `skip`. */
static void locate(const copy_plan *p, int first, int skip, int64_t index, char **dst, const char **src)
{
    *dst = p->dst;
    *src = p->src;
    for (int i = first; i < p->ndim; i++) {
        int64_t at;

        if (i == skip)
            continue;
        at = index % p->size[i];
        index /= p->size[i];
        *dst += at * p->dst_stride[i];
        *src += at * p->src_stride[i];
    }
}

static void copy_row(const copy_plan *p, char *dst, const char *src, int64_t n)
{
    int64_t ds = p->dst_stride[0], ss = p->src_stride[0];

    if (ds == p->itemsize && ss == p->itemsize)
        memcpy(dst, src, (size_t)(n * p->itemsize));
    else if (ds == p->itemsize && ss == 0 && n > LONG_FILL)
        mt_cpu_fill(dst, src, (size_t)p->itemsize, n);
    else
        mt_cpu_move(dst, ds, src, ss, n, p->itemsize);
}

/* The range is over elements when there is one dim, over rows otherwise. */
static void copy_rows(void *ctx, int64_t begin, int64_t end)
{
    const copy_plan *p = ctx;
    char *dst = NULL;
    const char *src = NULL;
    int64_t left = 0; /* rows until the next outer dim moves */

    if (p->ndim == 1) {
        copy_row(p, p->dst + begin * p->dst_stride[0], p->src + begin * p->src_stride[0], end - begin);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        if (left == 0) {
            locate(p, 1, 0, row, &dst, &src);
            left = p->size[1] - row % p->size[1];
        }
        copy_row(p, dst, src, p->size[0]);
        dst += p->dst_stride[1];
        src += p->src_stride[1];
        left--;
    }
}

static bool has_tiny_rows(const copy_plan *p)
{
    bool dense = p->dst_stride[0] == p->itemsize && p->src_stride[0] == p->itemsize;

    return p->ndim > 1 && p->size[0] <= (dense ? TINY_DENSE_ROW : TINY_ROW) && p->size[1] >= TINY_RATIO * p->size[0];
}

static int64_t column_blocks(const copy_plan *p)
{
    return (p->size[1] + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
}

/* The range is over blocks of rows, each copied column by column. */
static void copy_columns(void *ctx, int64_t begin, int64_t end)
{
    const copy_plan *p = ctx;
    int64_t blocks = column_blocks(p), ds = p->dst_stride[1], ss = p->src_stride[1];

    for (int64_t b = begin; b < end; b++) {
        int64_t first = b % blocks * COLUMN_BLOCK, left = p->size[1] - first;
        char *dst;
        const char *src;

        locate(p, 2, 0, b / blocks, &dst, &src);
        for (int64_t j = 0; j < p->size[0]; j++)
            mt_cpu_move(dst + first * ds + j * p->dst_stride[0], ds, src + first * ss + j * p->src_stride[0], ss,
                        left < COLUMN_BLOCK ? left : COLUMN_BLOCK, p->itemsize);
    }
}

/* The range is over bands: MT_TRANSPOSE_BAND rows of the destination. */
static void copy_bands(void *ctx, int64_t begin, int64_t end)
{
    const copy_plan *p = ctx;
    int64_t bands = (p->size[p->across] + MT_TRANSPOSE_BAND - 1) / MT_TRANSPOSE_BAND;

    for (int64_t b = begin; b < end; b++) {
        int64_t first = b % bands * MT_TRANSPOSE_BAND, rows = p->size[p->across] - first;
        char *dst;
        const char *src;

        locate(p, 1, p->across, b / bands, &dst, &src);
        mt_cpu_transpose(dst + first * p->dst_stride[p->across], p->dst_stride[p->across], src + first * p->itemsize,
                         p->src_stride[0], rows < MT_TRANSPOSE_BAND ? rows : MT_TRANSPOSE_BAND, p->size[0],
                         p->itemsize);
    }
}

void mt_cpu_copy_strided(char *dst, const int64_t *dst_stride, const char *src, const int64_t *src_stride,
                         const int64_t *size, int ndim, size_t itemsize)
{
    copy_plan p;
    int64_t blocks = 1;
    double ns;

    p.dst = dst;
    p.src = src;
    p.itemsize = (int)itemsize;
    if (!plan_copy(&p, dst_stride, src_stride, size, ndim))
        return;
    if (p.across > 0 && p.size[p.across] >= 4 && p.size[0] >= 4) {
        for (int i = 1; i < p.ndim; i++)
            blocks *= i == p.across ? (p.size[i] + MT_TRANSPOSE_BAND - 1) / MT_TRANSPOSE_BAND : p.size[i];
        ns = 0.03 * (double)(p.itemsize * MT_TRANSPOSE_BAND) * (double)p.size[0];
        mt_parallel_for(blocks, ns, 1, copy_bands, &p);
        return;
    }
    ns = p.src_stride[0] == p.itemsize && p.dst_stride[0] == p.itemsize ? 0.02 * (double)p.itemsize : 0.5;
    if (p.ndim == 1) {
        mt_parallel_for(p.size[0], ns, 4096, copy_rows, &p);
        return;
    }
    if (has_tiny_rows(&p)) {
        blocks = column_blocks(&p);
        for (int i = 2; i < p.ndim; i++)
            blocks *= p.size[i];
        ns = 0.7 * (double)p.size[0] * (double)(p.size[1] < COLUMN_BLOCK ? p.size[1] : COLUMN_BLOCK);
        mt_parallel_for(blocks, ns, 1, copy_columns, &p);
        return;
    }
    for (int i = 1; i < p.ndim; i++)
        blocks *= p.size[i];
    mt_parallel_for(blocks, ns * (double)p.size[0] + 5.0, 1, copy_rows, &p);
}

/* --- fill --- */

typedef struct fill_job {
    char *dst;
    MT_ALIGNED(64) unsigned char pattern[64];
} fill_job;

/* The range is over blocks of 64 bytes. Long ones repeat their beginning: memcpy has wider stores. */
static void fill_blocks(void *ctx, int64_t begin, int64_t end)
{
    const fill_job *job = ctx;
    int64_t bytes = (end - begin) * 64, first = bytes < 2 * FILL_RUN ? end - begin : FILL_RUN / 64;
    char *d = job->dst + begin * 64;

    for (int64_t i = 0; i < first; i++)
        memcpy(d + i * 64, job->pattern, 64);
    for (int64_t at = first * 64; at < bytes; at += FILL_RUN)
        memcpy(d + at, d, (size_t)(bytes - at < FILL_RUN ? bytes - at : FILL_RUN));
}

static bool all_bytes_equal(const unsigned char *value, size_t itemsize)
{
    for (size_t i = 1; i < itemsize; i++)
        if (value[i] != value[0])
            return false;
    return true;
}

void mt_cpu_fill(char *dst, const void *value, size_t itemsize, int64_t n)
{
    fill_job job;
    int64_t blocks = n * (int64_t)itemsize / 64;
    size_t rest = (size_t)(n * (int64_t)itemsize % 64);

    for (size_t i = 0; i < 64; i += itemsize)
        memcpy(job.pattern + i, value, itemsize);
    job.dst = dst;
    if (n <= 0)
        return;
    if (blocks < 1024 || !all_bytes_equal(job.pattern, itemsize))
        mt_parallel_for(blocks, 1.0, 64, fill_blocks, &job);
    else
        memset(dst, job.pattern[0], (size_t)blocks * 64);
    if (rest)
        memcpy(dst + blocks * 64, job.pattern, rest);
}

/* --- zeros --- */

#define DEFINE_HAS_ZERO(bits)                                                                 \
    static bool has_zero_##bits(const char *data, int64_t stride, int64_t n)                  \
    {                                                                                         \
        for (int64_t begin = 0; begin < n; begin += 1024) {                                   \
            int64_t end = n - begin < 1024 ? n : begin + 1024;                                \
            unsigned found = 0;                                                               \
                                                                                              \
            if (stride == bits / 8) {                                                         \
                const uint##bits##_t *p = (const uint##bits##_t *)(const void *)data;         \
                                                                                              \
                for (int64_t i = begin; i < end; i++)                                         \
                    found |= p[i] == 0;                                                       \
            } else {                                                                          \
                for (int64_t i = begin; i < end; i++)                                         \
                    found |= *(const uint##bits##_t *)(const void *)(data + i * stride) == 0; \
            }                                                                                 \
            if (found)                                                                        \
                return true;                                                                  \
        }                                                                                     \
        return false;                                                                         \
    }
DEFINE_HAS_ZERO(8)
DEFINE_HAS_ZERO(16)
DEFINE_HAS_ZERO(32)
DEFINE_HAS_ZERO(64)
#undef DEFINE_HAS_ZERO

static bool has_zero(const char *data, int64_t stride, int64_t n, size_t itemsize)
{
    switch (itemsize) {
    case 1:
        return has_zero_8(data, stride, n);
    case 2:
        return has_zero_16(data, stride, n);
    case 4:
        return has_zero_32(data, stride, n);
    default:
        return has_zero_64(data, stride, n);
    }
}

bool mt_cpu_any_zero(const mt_tensor *t)
{
    int64_t itemsize = (int64_t)mt_tensor_itemsize(t), index[MT_MAX_DIM] = {0}, inner;
    const char *data;

    if (t->numel == 0)
        return false;
    data = mt_tensor_const_data(t);
    if (mt_tensor_is_contiguous(t) || t->ndim == 0)
        return has_zero(data, itemsize, t->numel, (size_t)itemsize);
    inner = t->ndim - 1;
    for (;;) {
        int64_t i = inner - 1;

        if (has_zero(data, t->stride[inner] * itemsize, t->size[inner], (size_t)itemsize))
            return true;
        for (; i >= 0; i--) {
            data += t->stride[i] * itemsize;
            if (++index[i] < t->size[i])
                break;
            data -= t->stride[i] * itemsize * t->size[i];
            index[i] = 0;
        }
        if (i < 0)
            return false;
    }
}
