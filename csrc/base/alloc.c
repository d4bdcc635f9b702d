/* SPDX-License-Identifier: BSD-3-Clause */
/* Data blocks by size class and plain memory. Classes: multiples of 64 bytes to 1 KiB, then four
   per power of two to 2 MiB, then multiples of 2 MiB. Each class is a LIFO list, so that a chain of
   operations works on the same few blocks while they are in the cache. Blocks of up to 4 KiB are
   carved from slabs (alloc_slab.c), blocks above 1.75 MiB are mapped with huge pages, those from 64 KiB on
   are cut from regions (alloc_region.c) once there is some memory in use, the rest comes from the system
   allocator. A block has no header: the caller's byte count tells its class. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/alloc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc_internal.h"
#include "base/cpuinfo.h"
#include "base/error.h"

enum {
    SMALL_CLASSES = 16, /* 64 .. 1024 in steps of 64 */
    N_CLASSES = 60,     /* .. 2 MiB */
    HUGE_CLASS = 59,    /* 1.75 to 2 MiB: mapped like the larger ones */
    SLAB_CLASSES = 24,  /* up to 4 KiB */
    REGION_CLASS = 39,  /* 56 to 64 KiB: from here on cut from regions */
};
#define HUGE_BYTES ((size_t)2 << 20)
#define MIN_CACHE ((uint64_t)64 << 20)
#define REGIONS_FROM ((uint64_t)8 << 20) /* programs with little data do without */
#define TRY_BYTES ((size_t)64 << 20)     /* below this nobody asks how much memory there is */

static mt_block *free_blocks[N_CLASSES];
static mt_alloc_stats stats; /* data blocks only */
static uint64_t plain_bytes, plain_blocks, plain_requests;
static uint64_t cache_limit = MIN_CACHE;
static uint64_t fail_countdown;
static bool fail_happened;

bool mt_alloc_failing;

/* --- failure injection --- */

void mt_alloc_fail_at(uint64_t n)
{
    fail_countdown = n;
    fail_happened = false;
    mt_alloc_failing = n > 0;
}

bool mt_alloc_failed(void)
{
    return fail_happened;
}

bool mt_alloc_inject(void)
{
    if (fail_countdown == 0 || --fail_countdown > 0)
        return false;
    fail_happened = true;
    mt_alloc_failing = false;
    return true;
}

static bool should_fail(void)
{
    return MT_UNLIKELY(mt_alloc_failing) && mt_alloc_inject();
}

/* --- size classes --- */

/* nbytes in 1 .. 2 MiB */
static inline int class_of(size_t nbytes, size_t *block_bytes)
{
    size_t top = nbytes - 1;
    int e, quarter;

    if (nbytes <= 1024) {
        *block_bytes = (nbytes + 63) & ~(size_t)63;
        return (int)(top >> 6);
    }
    e = 63 - __builtin_clzll((unsigned long long)top);
    quarter = (int)(top >> (e - 2)) & 3;
    *block_bytes = (size_t)(quarter + 5) << (e - 2);
    return SMALL_CLASSES + (e - 10) * 4 + quarter;
}

static size_t bytes_of_class(int c)
{
    int above = c - SMALL_CLASSES;

    if (c < SMALL_CLASSES)
        return (size_t)(c + 1) * 64;
    return (size_t)((above & 3) + 5) << ((above >> 2) + 8);
}

static inline size_t huge_round(size_t nbytes)
{
    return (nbytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
}

static inline void account_new(size_t nbytes)
{
    stats.requests++;
    stats.live_blocks++;
    stats.live_bytes += nbytes;
    if (stats.live_bytes > stats.peak_bytes)
        stats.peak_bytes = stats.live_bytes;
}

static MT_COLD int refuse(size_t nbytes)
{
    return mt_error_set(MT_ERR_RUNTIME,
                        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
                        "memory: you tried to allocate %zu bytes. Error code 12 (Cannot allocate memory)",
                        nbytes);
}

static bool exceeds_machine(size_t nbytes)
{
    return nbytes > TRY_BYTES && nbytes > mt_cpu_memory_limit();
}

/* What is left of a region becomes smaller blocks before the next one is opened. */
static void *cut_block(int c, size_t block_bytes)
{
    mt_block *b = mt_region_cut(block_bytes);

    if (b)
        return b;
    for (c--; c >= REGION_CLASS; c--)
        while ((b = mt_region_cut(bytes_of_class(c)))) {
            b->next = free_blocks[c];
            free_blocks[c] = b;
            stats.cached_bytes += bytes_of_class(c);
        }
    return mt_region_open() ? mt_region_cut(block_bytes) : NULL;
}

/* A block from outside the cache. */
static void *fresh_block(int c, size_t block_bytes)
{
    if (!MT_ALLOC_RECYCLES)
        return aligned_alloc(MT_DATA_ALIGN, block_bytes);
    if (c < SLAB_CLASSES) {
        uint64_t linked = 0;
        void *p = mt_slab_carve(block_bytes, MT_DATA_ALIGN, &free_blocks[c], &linked);

        stats.cached_bytes += linked * block_bytes;
        return p;
    }
    if (c >= HUGE_CLASS)
        return mt_huge_map(block_bytes);
    if (c >= REGION_CLASS && stats.live_bytes + stats.cached_bytes >= REGIONS_FROM) {
        void *p = cut_block(c, block_bytes);

        if (p)
            return p;
    }
    return aligned_alloc(MT_DATA_ALIGN, block_bytes);
}

/* --- giving memory back --- */

static void release_block(int c, void *p)
{
    if (c >= HUGE_CLASS && MT_ALLOC_RECYCLES)
        mt_huge_unmap(p, bytes_of_class(c));
    else
        free(p);
}

static void trim_regions(uint64_t keep)
{
    if (stats.cached_bytes <= keep)
        return;
    for (int c = REGION_CLASS; c < HUGE_CLASS; c++)
        for (mt_block *b = free_blocks[c]; b; b = b->next)
            mt_region_count(b);
    mt_region_choose(stats.cached_bytes - keep);
    for (int c = REGION_CLASS; c < HUGE_CLASS; c++) {
        mt_block **link = &free_blocks[c];

        while (*link) {
            if (mt_region_leaves(*link)) {
                *link = (*link)->next;
                stats.cached_bytes -= bytes_of_class(c);
            } else {
                link = &(*link)->next;
            }
        }
    }
    mt_region_unmap();
}

/* Frees cached blocks, largest classes first, until at most `keep` bytes are cached. */
static MT_COLD void trim_to(uint64_t keep)
{
    mt_huge_trim(keep, &stats.cached_bytes);
    trim_regions(keep);
    for (int c = N_CLASSES - 1; c >= SLAB_CLASSES && stats.cached_bytes > keep; c--) {
        mt_block **link = &free_blocks[c];

        while (*link && stats.cached_bytes > keep) {
            mt_block *b = *link;

            if (c >= REGION_CLASS && mt_region_owns(b)) {
                link = &b->next;
                continue;
            }
            *link = b->next;
            stats.cached_bytes -= bytes_of_class(c);
            release_block(c, b);
        }
    }
    for (int c = 0; c < SLAB_CLASSES && stats.cached_bytes > keep; c++) {
        stats.cached_bytes -= mt_slab_release(&free_blocks[c]) * bytes_of_class(c);
    }
}

void mt_data_trim(void)
{
    trim_to(0);
    cache_limit = MIN_CACHE;
}

/* Cached: at most 64 MiB or half of what was ever live at once. What cannot be given back (partly
   used slabs) raises the limit, so that the search is not repeated at every call. */
static MT_COLD void trim_by_policy(void)
{
    uint64_t limit = stats.peak_bytes / 2 > MIN_CACHE ? stats.peak_bytes / 2 : MIN_CACHE;

    if (stats.cached_bytes > limit)
        trim_to(limit - limit / 4);
    cache_limit = stats.cached_bytes > limit ? stats.cached_bytes + limit / 4 : limit;
}

static inline void account_free(size_t nbytes)
{
    stats.live_blocks--;
    stats.live_bytes -= nbytes;
    stats.cached_bytes += nbytes;
    if (MT_UNLIKELY(stats.cached_bytes > cache_limit))
        trim_by_policy();
}

/* --- data blocks --- */

static MT_NOINLINE int alloc_fresh(void **out, int c, size_t block_bytes, size_t nbytes)
{
    void *p = fresh_block(c, block_bytes);

    if (!p) {
        mt_data_trim();
        p = fresh_block(c, block_bytes);
    }
    if (!p)
        return refuse(nbytes);
    account_new(block_bytes);
    *out = p;
    return 0;
}

static MT_NOINLINE int alloc_huge(void **out, bool *is_zero, size_t nbytes)
{
    size_t bytes;
    void *p;

    if (nbytes > SIZE_MAX / 2 || exceeds_machine(nbytes))
        return refuse(nbytes);
    bytes = huge_round(nbytes);
    p = MT_ALLOC_RECYCLES ? mt_huge_take(bytes, &stats.cached_bytes) : NULL;
    *is_zero = false;
    if (!p) {
        p = MT_ALLOC_RECYCLES ? mt_huge_map(bytes) : aligned_alloc(MT_DATA_ALIGN, bytes);
        if (!p && MT_ALLOC_RECYCLES) {
            mt_data_trim();
            p = mt_huge_map(bytes);
        }
        if (!p)
            return refuse(nbytes);
        *is_zero = MT_ALLOC_RECYCLES;
    }
    account_new(bytes);
    *out = p;
    return 0;
}

int mt_data_alloc(void **out, size_t nbytes)
{
    size_t block_bytes;
    mt_block *b;
    bool is_zero;
    int c;

    *out = NULL;
    if (nbytes == 0)
        return 0;
    if (should_fail())
        return refuse(nbytes);
    if (MT_UNLIKELY(nbytes > HUGE_BYTES))
        return alloc_huge(out, &is_zero, nbytes);
    c = class_of(nbytes, &block_bytes);
    b = free_blocks[c];
    if (MT_UNLIKELY(!b))
        return alloc_fresh(out, c, block_bytes, nbytes);
    free_blocks[c] = b->next;
    stats.cached_bytes -= block_bytes;
    account_new(block_bytes);
    *out = b;
    return 0;
}

int mt_data_alloc_zeroed(void **out, size_t nbytes)
{
    bool is_zero = false;

    if (nbytes > HUGE_BYTES) {
        *out = NULL;
        if (should_fail())
            return refuse(nbytes);
        if (alloc_huge(out, &is_zero, nbytes) < 0)
            return -1;
    } else if (mt_data_alloc(out, nbytes) < 0) {
        return -1;
    }
    if (*out && !is_zero)
        memset(*out, 0, nbytes);
    return 0;
}

void mt_data_free(void *data, size_t nbytes)
{
    size_t block_bytes;
    mt_block *b = data;
    int c;

    if (!data)
        return;
    if (nbytes > HUGE_BYTES) {
        block_bytes = huge_round(nbytes);
        if (!MT_ALLOC_RECYCLES) {
            free(data);
            stats.live_blocks--;
            stats.live_bytes -= block_bytes;
            return;
        }
        stats.cached_bytes -= mt_huge_put(data, block_bytes);
        account_free(block_bytes);
        return;
    }
    c = class_of(nbytes, &block_bytes);
    if (!MT_ALLOC_RECYCLES) {
        free(data);
        stats.live_blocks--;
        stats.live_bytes -= block_bytes;
        return;
    }
    b->next = free_blocks[c];
    free_blocks[c] = b;
    account_free(block_bytes);
}

/* --- plain memory --- */

static MT_COLD int out_of_memory(void)
{
    return mt_error_set(MT_ERR_MEMORY, "out of memory");
}

static inline void account_plain(void *p)
{
    plain_bytes += malloc_usable_size(p);
    plain_blocks++;
}

static inline void unaccount_plain(void *p)
{
    plain_bytes -= malloc_usable_size(p);
    plain_blocks--;
}

int mt_malloc(void **out, size_t nbytes)
{
    *out = NULL;
    plain_requests++;
    if (should_fail() || nbytes > SIZE_MAX / 2)
        return out_of_memory();
    *out = malloc(nbytes ? nbytes : 1);
    if (!*out)
        return out_of_memory();
    account_plain(*out);
    return 0;
}

int mt_calloc(void **out, size_t count, size_t size)
{
    *out = NULL;
    plain_requests++;
    if (should_fail() || (size && count > SIZE_MAX / 2 / size))
        return out_of_memory();
    *out = calloc(count ? count : 1, size ? size : 1);
    if (!*out)
        return out_of_memory();
    account_plain(*out);
    return 0;
}

int mt_realloc(void **inout, size_t nbytes)
{
    void *p;
    size_t old = *inout ? malloc_usable_size(*inout) : 0;

    plain_requests++;
    if (should_fail() || nbytes > SIZE_MAX / 2)
        return out_of_memory();
    p = realloc(*inout, nbytes ? nbytes : 1);
    if (!p)
        return out_of_memory();
    plain_blocks += *inout == NULL;
    plain_bytes += malloc_usable_size(p) - old;
    *inout = p;
    return 0;
}

void mt_free(void *p)
{
    if (!p)
        return;
    unaccount_plain(p);
    free(p);
}

void *mt_raw_malloc(size_t nbytes)
{
    size_t rounded = (nbytes + MT_DATA_ALIGN - 1) & ~(size_t)(MT_DATA_ALIGN - 1);

    if (nbytes > SIZE_MAX / 2)
        return NULL;
    return aligned_alloc(MT_DATA_ALIGN, rounded ? rounded : MT_DATA_ALIGN);
}

void mt_raw_free(void *p)
{
    free(p);
}

void mt_alloc_get_stats(mt_alloc_stats *out)
{
    *out = stats;
    out->live_bytes += plain_bytes;
    out->live_blocks += plain_blocks;
    out->requests += plain_requests;
}
