/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs of 64 KiB, aligned to their size, cut into objects of one size: for small data blocks and
   for the object pools. The first line of a slab is its header, so an object finds its slab by
   masking its address. Giving memory back counts the free objects of each slab along the free list,
   then frees full slabs. */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/alloc_internal.h"
#include "base/error.h"

#define SLAB_BYTES ((size_t)64 << 10)

typedef struct slab {
    uint32_t capacity;
    uint32_t n_free, n_seen; /* zero except during a release */
} slab;

static slab *slab_of(const void *object)
{
    return (slab *)((uintptr_t)object & ~(uintptr_t)(SLAB_BYTES - 1));
}

static char *map(void *hint, size_t nbytes)
{
    void *p = mmap(hint, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Straight from the system: malloc would put a header in front of an aligned block, on a page of
   its own. The place below the last slab is asked for first, so that slabs merge into one mapping;
   where it is taken, the aligned part of a larger mapping does. */
static char *map_slab(void)
{
    static char *last;
    char *slab = map(last ? last - SLAB_BYTES : NULL, SLAB_BYTES);
    size_t before;

    if (slab && ((uintptr_t)slab & (SLAB_BYTES - 1))) {
        munmap(slab, SLAB_BYTES);
        slab = map(NULL, 2 * SLAB_BYTES);
        before = (size_t)(-(uintptr_t)slab & (SLAB_BYTES - 1));
        if (slab && before)
            munmap(slab, before);
        if (slab)
            munmap(slab + before + SLAB_BYTES, SLAB_BYTES - before);
        slab = slab ? slab + before : NULL;
    }
    last = slab;
    return slab;
}

void *mt_slab_carve(size_t size, size_t align, mt_block **head, uint64_t *linked)
{
    size_t step = (size + align - 1) & ~(align - 1), n = (SLAB_BYTES - MT_DATA_ALIGN) / step;
    char *base = map_slab();

    *linked = 0;
    if (!base)
        return NULL;
    *(slab *)base = (slab){(uint32_t)n, 0, 0};
    for (size_t i = n - 1; i > 0; i--) { /* the lowest address comes out first */
        mt_block *b = (mt_block *)(base + MT_DATA_ALIGN + i * step);

        b->next = *head;
        *head = b;
    }
    *linked = n - 1;
    return base + MT_DATA_ALIGN;
}

uint64_t mt_slab_release(mt_block **head)
{
    uint64_t freed = 0;
    mt_block **link = head;

    for (mt_block *b = *head; b; b = b->next)
        slab_of(b)->n_free++;
    while (*link) {
        slab *s = slab_of(*link);
        bool is_last = ++s->n_seen == s->n_free;

        if (s->n_free == s->capacity) {
            *link = (*link)->next;
            freed++;
            if (is_last)
                munmap(s, SLAB_BYTES);
        } else {
            link = &(*link)->next;
            if (is_last)
                s->n_free = s->n_seen = 0;
        }
    }
    return freed;
}

/* --- pools --- */

int mt_pool_refill(void **out, mt_pool *pool)
{
    mt_block *head = pool->head;
    uint64_t linked = 0;

    *out = NULL;
    if (mt_alloc_failing && mt_alloc_inject())
        return mt_error_set(MT_ERR_MEMORY, "out of memory");
    if (!MT_ALLOC_RECYCLES) {
        *out = malloc(pool->size);
    } else if (head) {
        pool->head = head->next;
        pool->count--;
        *out = head;
    } else {
        *out = mt_slab_carve(pool->size, 8, &head, &linked);
        pool->head = head;
        pool->count = (uint32_t)linked;
    }
    return *out ? 0 : mt_error_set(MT_ERR_MEMORY, "out of memory");
}

/* What cannot be given back raises the limit, so that the search is not repeated at every put. */
void mt_pool_spill(mt_pool *pool, void *p)
{
    mt_block *head = p;

    if (!MT_ALLOC_RECYCLES) {
        free(p);
        return;
    }
    head->next = pool->head;
    pool->count++;
    pool->count -= (uint32_t)mt_slab_release(&head);
    pool->head = head;
    pool->limit = pool->count < pool->keep / 2 ? pool->keep : 2 * pool->count;
}
