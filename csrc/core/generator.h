/* SPDX-License-Identifier: BSD-3-Clause */
/* Random state: MT19937, the same words as PyTorch's CPU generator from the same seed. */
#ifndef MT_CORE_GENERATOR_H
#define MT_CORE_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/refcount.h"
#include "core/device.h"

#define MT_GENERATOR_STATE_BYTES 5056

typedef struct mt_generator {
    mt_refcount refs;
    mt_device device;
    uint64_t seed;
    uint32_t state[624];
    int32_t left;
    uint32_t next;
    bool has_normal;   /* cached second value of Box-Muller, double */
    bool has_normal_f; /* carried for the state blob only */
    double normal;
    float normal_f;
    void *py;
} mt_generator;

int mt_generator_new(mt_generator **out, mt_device device); /* seed 67280421310721 */
void mt_generator_unref(mt_generator *g);
static inline mt_generator *mt_generator_ref(mt_generator *g)
{
    mt_refcount_inc(&g->refs);
    return g;
}
/* borrowed; seeded from the system at first use */
mt_generator *mt_generator_default(void);
void mt_generator_seed(mt_generator *g, uint64_t seed);
uint64_t mt_generator_random_seed(void); /* non-deterministic */
void mt_generator_get_state(const mt_generator *g, uint8_t out[MT_GENERATOR_STATE_BYTES]);
int mt_generator_set_state(mt_generator *g, const uint8_t *state, size_t nbytes);

void mt_generator_refill(mt_generator *g);
/* Fills n tempered words, exactly as n calls of mt_generator_u32 would. */
void mt_generator_fill_u32(mt_generator *g, uint32_t *out, int64_t n);

static inline uint32_t mt_generator_u32(mt_generator *g)
{
    uint32_t x;

    if (--g->left == 0)
        mt_generator_refill(g);
    x = g->state[g->next++];
    x ^= x >> 11;
    x ^= (x << 7) & 0x9d2c5680u;
    x ^= (x << 15) & 0xefc60000u;
    return x ^ (x >> 18);
}

static inline uint64_t mt_generator_u64(mt_generator *g)
{
    uint64_t high = mt_generator_u32(g);

    return high << 32 | mt_generator_u32(g);
}

static inline double mt_generator_f64(mt_generator *g)
{
    return (double)(mt_generator_u64(g) & 0x1fffffffffffffu) * 0x1p-53;
}

static inline float mt_generator_f32(mt_generator *g)
{
    return (float)(mt_generator_u32(g) & 0xffffffu) * 0x1p-24f;
}

double mt_generator_normal(mt_generator *g); /* scalar path with its cache */

#endif
