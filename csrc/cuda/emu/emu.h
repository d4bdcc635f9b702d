/* SPDX-License-Identifier: BSD-3-Clause */
/* The launch emulator: the CUDA words of a .cu file for a host compiler. Every CUDA thread is a run of the kernel on a fiber of
   one OS thread; a fiber is used up only when a thread waits. See the README of this folder for what is emulated. */
#ifndef MT_CUDA_EMU_H
#define MT_CUDA_EMU_H

#include <stdint.h>
#include <string.h>

#include "cuda/emu/emu_internal.h"

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("mt_shared")))
#define __restrict__ __restrict
#define MT_DYN_SHARED(T, name) T *name = (T *)emu.dyn_shared
#define MT_LAUNCH(kernel, grid, block, smem, stream, ...) \
    emu_launch(grid, block, smem, (void *)(stream), [](const auto &...a) { kernel(a...); }, ##__VA_ARGS__)
#define threadIdx (emu.thread)
#define blockIdx (emu.block_at)
#define blockDim (emu.block)
#define gridDim (emu.grid)

struct emu_state {
    dim3 grid, block;
    uint3 block_at, thread;
    void *dyn_shared;
};
extern emu_state emu;

bool emu_next_thread(void); /* false: no thread of this block is left to start */
void emu_thread_done(void);
void emu_run_grid(dim3 grid, dim3 block, size_t smem, void (*body)(void *), void *arg);
bool emu_check_launch(dim3 grid, dim3 block, size_t smem);

void emu_barrier(int line);
uint64_t emu_warp(unsigned mask, uint64_t value, int source, int line); /* source < 0: a ballot */
unsigned emu_lane_id(void);
#define __syncthreads() emu_barrier(__LINE__)
#define __syncwarp(...) ((void)emu_warp(emu_mask(__VA_ARGS__), 0, -1, __LINE__))
#define __ballot_sync(mask, p) ((unsigned)emu_warp(mask, (uint64_t)!!(p), -1, __LINE__))
#define __shfl_xor_sync(mask, v, d) emu_shuffle(mask, v, (int)(emu_lane_id() ^ (unsigned)(d)), __LINE__)
#define __shfl_down_sync(mask, v, d) emu_shuffle_down(mask, v, (unsigned)(d), __LINE__)
#define __shfl_sync(mask, v, lane) emu_shuffle(mask, v, (int)((unsigned)(lane) % 32), __LINE__)

static inline unsigned emu_mask(unsigned mask = 0xffffffffu)
{
    return mask;
}

template <class T> static inline T emu_shuffle(unsigned mask, T v, int source, int line)
{
    uint64_t bits = 0;

    memcpy(&bits, &v, sizeof v);
    bits = emu_warp(mask, bits, source, line);
    memcpy(&v, &bits, sizeof v);
    return v;
}

template <class T> static inline T emu_shuffle_down(unsigned mask, T v, unsigned d, int line)
{
    unsigned lane = emu_lane_id();

    return emu_shuffle(mask, v, (int)(lane + d < 32 ? lane + d : lane), line);
}

/* No thread is interrupted, so plain reads and writes are atomic. */
template <class T, class V> static inline T atomicAdd(T *p, V v)
{
    T old = *p;

    *p = old + (T)v;
    return old;
}

/* Threads that never wait cost this loop and no switch at all. */
template <class C> static inline void emu_body(void *p)
{
    while (emu_next_thread()) {
        (*(C *)p)();
        emu_thread_done();
    }
}

template <class F, class... A>
static inline void emu_launch(dim3 grid, dim3 block, size_t smem, void *stream, F kernel, const A &...args)
{
    auto call = [=] { kernel(args...); };
    struct work {
        dim3 grid, block;
        size_t smem;
        decltype(call) run;
    } w = {grid, block, smem, call};

    if (!emu_check_launch(grid, block, smem))
        return;
    mt_emu_submit(
        stream,
        [](void *p) {
            work *self = (work *)p;

            emu_run_grid(self->grid, self->block, self->smem, emu_body<decltype(call)>, &self->run);
        },
        &w, sizeof w);
}

#endif
