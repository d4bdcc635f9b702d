/* SPDX-License-Identifier: BSD-3-Clause */
/* Reference counts: plain integers under the interpreter lock, atomic in free-threaded builds.
   Every count of every object changes only through these functions. */
#ifndef MT_BASE_REFCOUNT_H
#define MT_BASE_REFCOUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mt_refcount {
    uint32_t n;
} mt_refcount;

static inline void mt_refcount_init(mt_refcount *r)
{
    r->n = 1;
}

#ifdef MT_FREE_THREADED
static inline uint32_t mt_refcount_inc(mt_refcount *r)
{
    return __atomic_add_fetch(&r->n, 1, __ATOMIC_RELAXED);
}

static inline uint32_t mt_refcount_dec(mt_refcount *r)
{
    return __atomic_sub_fetch(&r->n, 1, __ATOMIC_ACQ_REL);
}
#else
/* Both return the new count. */
static inline uint32_t mt_refcount_inc(mt_refcount *r)
{
    return ++r->n;
}

static inline uint32_t mt_refcount_dec(mt_refcount *r)
{
    return --r->n;
}
#endif

static inline uint32_t mt_refcount_get(const mt_refcount *r)
{
    return r->n;
}

#endif
