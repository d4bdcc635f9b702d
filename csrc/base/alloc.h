/* SPDX-License-Identifier: BSD-3-Clause */
/* The only caller of malloc. Two services: data blocks (64-byte aligned, recycled by size class,
   huge pages when large) and plain memory for headers and tables. Both count live bytes and can be
   told to fail at the n-th request, for tests. All but the raw forms need the interpreter lock. */
#ifndef MT_BASE_ALLOC_H
#define MT_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define MT_DATA_ALIGN 64

/* Under the address sanitizer nothing is recycled, so that every use after free is seen. */
#if defined(__SANITIZE_ADDRESS__)
#define MT_ALLOC_RECYCLES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MT_ALLOC_RECYCLES 0
#endif
#endif
#ifndef MT_ALLOC_RECYCLES
#define MT_ALLOC_RECYCLES 1
#endif

/* Data blocks. A request of 0 bytes gives a NULL pointer and succeeds. Failure: kind MT_ERR_RUNTIME
   with PyTorch's words ("DefaultCPUAllocator: can't allocate memory: you tried to allocate N
   bytes"), also for requests beyond the physical or control-group memory, which are refused
   untried. */
int mt_data_alloc(void **out, size_t nbytes);
void mt_data_free(void *data, size_t nbytes);
/* Zero-filled; fresh pages from the kernel are not touched. */
int mt_data_alloc_zeroed(void **out, size_t nbytes);
/* Gives cached blocks back to the system. */
void mt_data_trim(void);

/* Plain memory: kind MT_ERR_MEMORY on failure. mt_free takes NULL. */
int mt_malloc(void **out, size_t nbytes);
int mt_calloc(void **out, size_t count, size_t size);
int mt_realloc(void **inout, size_t nbytes);
void mt_free(void *p);

/* Without accounting and from any thread: scratch memory of parallel bodies. NULL on failure. */
void *mt_raw_malloc(size_t nbytes);
void mt_raw_free(void *p);

/* A free list of fixed-size objects; objects come uninitialised, at multiples of 8 bytes and
   without any header. Define one static per type: static mt_pool tensor_pool =
   MT_POOL_INIT(sizeof(mt_tensor), 1024); When more than `limit` objects are free, slabs without a
   live object go back to the system. */
typedef struct mt_pool {
    void *head;
    uint32_t size, count, limit, keep;
} mt_pool;
#define MT_POOL_INIT(object_size, keep_free) \
    {NULL, (uint32_t)(object_size), 0, MT_ALLOC_RECYCLES * (keep_free), (keep_free)}

extern bool mt_alloc_failing; /* failure injection is armed */
int mt_pool_refill(void **out, mt_pool *pool) MT_COLD;
void mt_pool_spill(mt_pool *pool, void *p) MT_COLD;

static inline int mt_pool_get(void **out, mt_pool *pool)
{
    void *p = pool->head;

    if (MT_UNLIKELY(p == NULL || mt_alloc_failing))
        return mt_pool_refill(out, pool);
    pool->head = *(void **)p;
    pool->count--;
    *out = p;
    return 0;
}

static inline void mt_pool_put(mt_pool *pool, void *p)
{
    if (MT_UNLIKELY(pool->count >= pool->limit)) {
        mt_pool_spill(pool, p);
        return;
    }
    *(void **)p = pool->head;
    pool->head = p;
    pool->count++;
}

/* Live counts cover data blocks and plain memory; pool objects are not counted here (their owners
   are: a leaked tensor keeps its storage's block). */
typedef struct mt_alloc_stats {
    uint64_t live_bytes, live_blocks, peak_bytes, cached_bytes, requests;
} mt_alloc_stats;
void mt_alloc_get_stats(mt_alloc_stats *out);
/* The n-th request from now fails, once (n >= 1); 0 disarms. mt_alloc_failed tells whether it
   did. */
void mt_alloc_fail_at(uint64_t n);
bool mt_alloc_failed(void);

#endif
