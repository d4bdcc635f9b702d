/* SPDX-License-Identifier: BSD-3-Clause */
/* What every .cu file includes first: launches, offsets, and all formulas. nvcc compiles these files for the device; g++
   compiles the same text against the launch emulator (emu/emu.h) when MT_CUDA_EMU is defined. */
#ifndef MT_CUDA_LAUNCH_CUH
#define MT_CUDA_LAUNCH_CUH

#if defined(MT_CUDA_EMU)
#include "cuda/emu/emu.h"
#define MT_GRID_CONSTANT
#else
#include <cuda_runtime.h>
#define MT_LAUNCH(kernel, grid, block, smem, stream, ...) \
    kernel<<<grid, block, smem, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#define MT_DYN_SHARED(T, name)                           \
    extern __shared__ __align__(16) char name##_bytes[]; \
    T *name = (T *)name##_bytes
#define MT_GRID_CONSTANT __grid_constant__
#endif

#include "core/op.h"
#include "cuda/geometry.h"
#include "math/binary.h"
#include "math/compare.h"
#include "math/complex.h"
#include "math/reduce.h"
#include "math/special.h"
#include "math/ternary.h"
#include "math/unary.h"

/* The half formats store one element at a time here. */
#define mt_vec_put_f16 mt_f32_to_f16
#define mt_vec_put_bf16 mt_f32_to_bf16

/* Quotient and remainder of *i by dim d; the quotient stays in *i. */
static __device__ __forceinline__ int64_t mt_cuda_split(int64_t *i, const mt_cuda_dims *dims, int d)
{
    int64_t q, n = *i;

    if (dims->is_wide) {
        q = n / dims->size[d];
        *i = q;
        return n - q * dims->size[d];
    }
    q = (int64_t)(((((uint64_t)n * dims->fast[d].magic) >> 32) + (uint64_t)n) >> dims->fast[d].shift);
    *i = q;
    return n - q * dims->fast[d].size;
}

/* Byte offsets of element i in n operands. */
static __device__ __forceinline__ void mt_cuda_locate(int64_t *at, int n, const mt_cuda_args *g, int64_t i)
{
    if (g->dims.n == 1) {
        for (int k = 0; k < n; k++)
            at[k] = i * g->stride[0][k];
        return;
    }
    for (int k = 0; k < n; k++)
        at[k] = 0;
    for (int d = 0; d < g->dims.n; d++) {
        int64_t column = mt_cuda_split(&i, &g->dims, d);

        for (int k = 0; k < n; k++)
            at[k] += column * g->stride[d][k];
    }
}

/* Where input k has its element: in memory, or among the numbers. */
static __device__ __forceinline__ const char *mt_cuda_input(const mt_cuda_args *g, int k, int64_t at)
{
    return g->host >> k & 1 ? g->number[k] : g->data[k] + at;
}

#endif
