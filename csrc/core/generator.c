/* SPDX-License-Identifier: BSD-3-Clause */
/* MT19937 with PyTorch's seeding, stream and state blob, bit for bit. The twist is written as two
   loops without short dependences, so that compilers vectorise it; bulk filling tempers straight
   from the state array and leaves `left` and `next` as single draws would. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/generator.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"

enum { N = 624, M = 397 };
#define DEFAULT_SEED UINT64_C(67280421310721)
#define TWO_PI 6.283185307179586476925286766559

static inline uint32_t twist(uint32_t a, uint32_t b)
{
    uint32_t mixed = (a & 0x80000000u) | (b & 0x7fffffffu);

    return mixed >> 1 ^ ((0u - (b & 1u)) & 0x9908b0dfu);
}

void mt_generator_refill(mt_generator *g)
{
    uint32_t *s = g->state, first;

    for (int i = 0; i < N - M; i++)
        s[i] = s[i + M] ^ twist(s[i], s[i + 1]);
    first = s[0];
    for (int i = N - M; i < N - 1; i++)
        s[i] = s[i - (N - M)] ^ twist(s[i], s[i + 1]);
    s[N - 1] = s[M - 1] ^ twist(s[N - 1], first);
    g->left = N;
    g->next = 0;
}

void mt_generator_fill_u32(mt_generator *g, uint32_t *out, int64_t n)
{
    while (n > 0) {
        const uint32_t *s;
        int64_t m;

        if (g->left == 1) {
            mt_generator_refill(g);
            g->left = N + 1;
        }
        m = g->left - 1 < n ? g->left - 1 : n;
        s = g->state + g->next;
        for (int64_t i = 0; i < m; i++) {
            uint32_t x = s[i];

            x ^= x >> 11;
            x ^= (x << 7) & 0x9d2c5680u;
            x ^= (x << 15) & 0xefc60000u;
            out[i] = x ^ (x >> 18);
        }
        g->left -= (int32_t)m;
        g->next += (uint32_t)m;
        out += m;
        n -= m;
    }
}

void mt_generator_seed(mt_generator *g, uint64_t seed)
{
    uint32_t *s = g->state;

    g->seed = seed;
    s[0] = (uint32_t)seed;
    for (uint32_t j = 1; j < N; j++)
        s[j] = 1812433253u * (s[j - 1] ^ (s[j - 1] >> 30)) + j;
    g->left = 1;
    g->next = 0;
    g->has_normal = g->has_normal_f = false;
    g->normal = 0;
    g->normal_f = 0;
}

double mt_generator_normal(mt_generator *g)
{
    double u1, u2, radius, angle;

    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    u1 = mt_generator_f64(g);
    u2 = mt_generator_f64(g);
    radius = sqrt(-2.0 * log1p(-u2));
    angle = TWO_PI * u1;
    g->normal = radius * sin(angle);
    g->has_normal = true;
    return radius * cos(angle);
}

/* 53 bits, so that the value survives a double. */
uint64_t mt_generator_random_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed)) {
        struct timespec t;

        clock_gettime(CLOCK_REALTIME, &t);
        seed = (uint64_t)t.tv_sec * 1000003u ^ (uint64_t)t.tv_nsec << 20;
    }
    return seed & 0x1fffffffffffffu;
}

/* --- life --- */

int mt_generator_new(mt_generator **out, mt_device device)
{
    void *p;

    *out = NULL;
    if (mt_calloc(&p, 1, sizeof(mt_generator)) < 0)
        return -1;
    *out = p;
    mt_refcount_init(&(*out)->refs);
    (*out)->device = device;
    mt_generator_seed(*out, DEFAULT_SEED);
    return 0;
}

void mt_generator_unref(mt_generator *g)
{
    if (g && mt_refcount_dec(&g->refs) == 0)
        mt_free(g);
}

mt_generator *mt_generator_default(void)
{
    static mt_generator generator;

    if (mt_refcount_get(&generator.refs) == 0) {
        mt_refcount_init(&generator.refs);
        generator.device = MT_CPU;
        mt_generator_seed(&generator, mt_generator_random_seed());
    }
    return &generator;
}

/* --- state blob: little endian, see performance.md 5.1 for the offsets --- */

enum {
    AT_SEED = 0,
    AT_LEFT = 8,
    AT_SEEDED = 12,
    AT_NEXT = 16,
    AT_WORDS = 24,
    AT_NORMAL = 5024,
    AT_HAS_NORMAL = 5040,
    AT_NORMAL_F = 5048,
    AT_HAS_NORMAL_F = 5052,
};

static void put_u64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static void put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v = 0;

    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static uint32_t get_u32(const uint8_t *p)
{
    return (uint32_t)(get_u64(p) & 0xffffffffu);
}

void mt_generator_get_state(const mt_generator *g, uint8_t out[MT_GENERATOR_STATE_BYTES])
{
    uint64_t normal = 0;
    uint32_t normal_f = 0;

    if (g->has_normal)
        memcpy(&normal, &g->normal, sizeof(normal));
    if (g->has_normal_f)
        memcpy(&normal_f, &g->normal_f, sizeof(normal_f));
    memset(out, 0, MT_GENERATOR_STATE_BYTES);
    put_u64(out + AT_SEED, g->seed);
    put_u32(out + AT_LEFT, (uint32_t)g->left);
    put_u32(out + AT_SEEDED, 1);
    put_u64(out + AT_NEXT, g->next);
    for (int i = 0; i < N; i++)
        put_u64(out + AT_WORDS + 8 * i, g->state[i]);
    put_u64(out + AT_NORMAL, normal);
    put_u32(out + AT_HAS_NORMAL, g->has_normal);
    put_u32(out + AT_NORMAL_F, normal_f);
    out[AT_HAS_NORMAL_F] = g->has_normal_f;
}

int mt_generator_set_state(mt_generator *g, const uint8_t *state, size_t nbytes)
{
    uint32_t left, normal_f;
    uint64_t next, normal;

    if (nbytes != MT_GENERATOR_STATE_BYTES)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Expected a CPUGeneratorImplState of size %d but found the input RNG state size to be "
                            "%zu",
                            MT_GENERATOR_STATE_BYTES, nbytes);
    left = get_u32(state + AT_LEFT);
    next = get_u64(state + AT_NEXT);
    /* the next word must lie inside the array: either a fresh seed or a place in the block */
    if (get_u32(state + AT_SEEDED) != 1 || left < 1 || left > N || next > N || (left != 1 && left + next != N + 1))
        return mt_error_set(MT_ERR_RUNTIME, "Invalid mt19937 state");
    g->seed = get_u64(state + AT_SEED);
    g->left = (int32_t)left;
    g->next = (uint32_t)next;
    for (int i = 0; i < N; i++)
        g->state[i] = get_u32(state + AT_WORDS + 8 * i);
    normal = get_u64(state + AT_NORMAL);
    normal_f = get_u32(state + AT_NORMAL_F);
    g->has_normal = get_u32(state + AT_HAS_NORMAL) != 0;
    g->has_normal_f = state[AT_HAS_NORMAL_F] != 0;
    memcpy(&g->normal, &normal, sizeof(normal));
    memcpy(&g->normal_f, &normal_f, sizeof(normal_f));
    return 0;
}
