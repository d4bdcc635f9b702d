/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of 8 MiB with huge pages, cut into blocks of any size from 64 KiB to 1.75 MiB: a step of a network walks
   through tens of such blocks, and on pages of 4 KiB it waits for translations and for prefetchers that stop at every page.
   Blocks are never merged. Giving memory back counts the free blocks of each region, then unmaps the wholly free ones. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc_internal.h"

#define REGION_BYTES ((size_t)8 << 20)

typedef struct region {
    char *base;
    size_t cut;             /* bytes in blocks */
    uint32_t n_cut, n_free; /* blocks; n_free is zero except while memory is given back */
    bool leaves;
} region;

static region *regions; /* by address */
static int n_regions, capacity;
static char *uncut, *uncut_end; /* of the newest region */

static region *find_region(const void *p)
{
    int low = 0, high = n_regions;

    while (low < high) {
        int middle = (low + high) / 2;

        if (regions[middle].base <= (const char *)p)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || (size_t)((const char *)p - regions[low - 1].base) >= REGION_BYTES)
        return NULL;
    return &regions[low - 1];
}

void *mt_region_cut(size_t nbytes)
{
    char *p = uncut;
    region *r;

    if ((size_t)(uncut_end - uncut) < nbytes)
        return NULL;
    uncut += nbytes;
    r = find_region(p);
    r->cut += nbytes;
    r->n_cut++;
    return p;
}

static bool make_room(void)
{
    int wanted = capacity ? 2 * capacity : 16;
    region *grown;

    if (n_regions < capacity)
        return true;
    grown = realloc(regions, (size_t)wanted * sizeof(region));
    if (!grown)
        return false;
    regions = grown;
    capacity = wanted;
    return true;
}

bool mt_region_open(void)
{
    char *base;
    int at = n_regions;

    if (!make_room() || !(base = mt_huge_map(REGION_BYTES)))
        return false;
    while (at > 0 && regions[at - 1].base > base)
        at--;
    memmove(&regions[at + 1], &regions[at], (size_t)(n_regions - at) * sizeof(region));
    regions[at] = (region){base, 0, 0, 0, false};
    n_regions++;
    uncut = base;
    uncut_end = base + REGION_BYTES;
    return true;
}

/* --- giving back --- */

bool mt_region_owns(const void *block)
{
    return find_region(block) != NULL;
}

void mt_region_count(const void *block)
{
    region *r = find_region(block);

    if (r)
        r->n_free++;
}

void mt_region_choose(uint64_t nbytes)
{
    uint64_t found = 0;

    for (int i = 0; i < n_regions; i++) {
        region *r = &regions[i];

        r->leaves = r->n_free == r->n_cut && found < nbytes;
        r->n_free = 0;
        found += r->leaves ? r->cut : 0;
    }
}

bool mt_region_leaves(const void *block)
{
    const region *r = find_region(block);

    return r && r->leaves;
}

void mt_region_unmap(void)
{
    int kept = 0;

    for (int i = 0; i < n_regions; i++) {
        if (!regions[i].leaves) {
            regions[kept++] = regions[i];
            continue;
        }
        if (regions[i].base + REGION_BYTES == uncut_end)
            uncut = uncut_end = NULL;
        mt_huge_unmap(regions[i].base, REGION_BYTES);
    }
    n_regions = kept;
}
