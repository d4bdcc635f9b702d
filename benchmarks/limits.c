/* SPDX-License-Identifier: BSD-3-Clause */
/* Float32 multiply-adds per second of one core in 256-bit and in 512-bit registers, in GFLOP/s; 0 where the processor lacks
   them. Twenty independent chains in 512 bits and twelve in 256 hide the latency. Built by throughput.py with -march=native. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ROUNDS 400000
#define EACH_12(apply) \
    apply(0) apply(1) apply(2) apply(3) apply(4) apply(5) apply(6) apply(7) apply(8) apply(9) apply(10) apply(11)
#define EACH_20(apply) EACH_12(apply) apply(12) apply(13) apply(14) apply(15) apply(16) apply(17) apply(18) apply(19)
#define START(i)  \
    x##i = start; \
    __asm__("" : "+v"(x##i)); /* tells the chains apart */
#define DECLARE(i) x##i,
#define STEP_256(i) x##i = _mm256_fmadd_ps(x##i, half, half);
#define STEP_512(i) x##i = _mm512_fmadd_ps(x##i, half, half);
#define KEEP(i) __asm__ volatile("" : : "v"(x##i));

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of 256 bits and of 512 bits. */
static void measure(double out[2])
{
#if defined(__AVX2__) && defined(__FMA__)
    {
        __m256 half = _mm256_set1_ps(0.5f), start = half, EACH_12(DECLARE) unused;
        double t;

        (void)unused;
        EACH_12(START)
        t = now();
        for (int r = 0; r < ROUNDS; r++) {
            EACH_12(STEP_256)
            EACH_12(KEEP)
        }
        out[0] = 1e-9 * ROUNDS * 12 * 16 / (now() - t);
    }
#endif
#if defined(__AVX512F__)
    {
        __m512 half = _mm512_set1_ps(0.5f), start = half, EACH_20(DECLARE) unused;
        double t;

        (void)unused;
        EACH_20(START)
        t = now();
        for (int r = 0; r < ROUNDS; r++) {
            EACH_20(STEP_512)
            EACH_20(KEEP)
        }
        out[1] = 1e-9 * ROUNDS * 20 * 32 / (now() - t);
    }
#endif
    (void)now;
}

int main(void)
{
    double best[2] = {0, 0};

    for (int k = 0; k < 20; k++) {
        double one[2] = {0, 0};

        measure(one);
        for (int i = 0; i < 2; i++)
            best[i] = one[i] > best[i] ? one[i] : best[i];
    }
    printf("%.1f %.1f\n", best[0], best[1]);
    return 0;
}
