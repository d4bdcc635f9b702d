/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by alloc.c (size classes, accounting), alloc_slab.c (slabs and pools), alloc_region.c (regions) and
   alloc_huge.c (mapped blocks). Nothing here sets an error or counts, except where it says so. */
#ifndef MT_BASE_ALLOC_INTERNAL_H
#define MT_BASE_ALLOC_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts one request against the armed failure; true when it has to fail. */
bool mt_alloc_inject(void);

/* --- slabs: 64 KiB regions cut into objects of one size; free lists are linked through the objects
   --- */

typedef struct mt_block {
    struct mt_block *next;
} mt_block;
/* Cuts a new slab: returns one object and links the others into *head, `linked` of them. NULL
   without memory. `align` is a power of two; objects lie at multiples of it. */
void *mt_slab_carve(size_t size, size_t align, mt_block **head, uint64_t *linked);
/* Takes the objects of wholly free slabs out of the list and frees the slabs; gives the number of
   objects. */
uint64_t mt_slab_release(mt_block **head);

/* --- regions: 8 MiB with huge pages, cut into blocks of different sizes --- */

/* A piece of the newest region, NULL where the rest of it is too short. */
void *mt_region_cut(size_t nbytes);
/* A new region; what is left of the one before is cut no more. False without memory. */
bool mt_region_open(void);
bool mt_region_owns(const void *block);
/* Giving back: count every free block, choose regions of free blocks that make up nbytes, take the blocks that leave out of
   the free lists, unmap. */
void mt_region_count(const void *block);
void mt_region_choose(uint64_t nbytes);
bool mt_region_leaves(const void *block);
void mt_region_unmap(void);

/* --- mapped blocks: multiples of 2 MiB, aligned to 2 MiB, zero when fresh --- */

void *mt_huge_map(size_t nbytes);
void mt_huge_unmap(void *p, size_t nbytes);
/* The cache of larger blocks. take: NULL when there is none of exactly this size; otherwise *cached
   shrinks. */
void *mt_huge_take(size_t nbytes, uint64_t *cached);
/* Gives the number of bytes that had to leave the cache because its table was full. */
uint64_t mt_huge_put(void *p, size_t nbytes);
/* Unmaps the oldest blocks until *cached is at most keep. */
void mt_huge_trim(uint64_t keep, uint64_t *cached);

#endif
