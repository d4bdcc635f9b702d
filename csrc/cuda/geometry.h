/* SPDX-License-Identifier: BSD-3-Clause */
/* What a kernel is told of its operands, by value: sizes with reciprocals, byte strides, addresses, and the numbers that
   came from the host. Plain structs for C and C++. */
#ifndef MT_CUDA_GEOMETRY_H
#define MT_CUDA_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

enum {
    MT_CUDA_MAX_DIM = 12, /* after merging; the host loops over what lies outside */
    MT_CUDA_OPERANDS = 5, /* one output, four inputs */
    MT_CUDA_BLOCK = 256,  /* threads of a block */
};

/* A size below 2^31 and its reciprocal: i / size == ((i * magic >> 32) + i) >> shift for i < 2^31. */
typedef struct mt_cuda_size {
    uint32_t size, magic, shift;
} mt_cuda_size;

/* Dims, innermost first. With is_wide indices go beyond 31 bits and are divided the long way. */
typedef struct mt_cuda_dims {
    int32_t n;
    bool is_wide;
    int64_t size[MT_CUDA_MAX_DIM];
    mt_cuda_size fast[MT_CUDA_MAX_DIM];
} mt_cuda_dims;

/* Operand 0 is the output. `host` has a bit for each input that is one element, held in `number`. */
typedef struct mt_cuda_args {
    MT_ALIGNED(16) char number[MT_CUDA_OPERANDS][16];
    MT_ALIGNED(16) char params[64];
    char *data[MT_CUDA_OPERANDS];
    int64_t numel;
    int64_t stride[MT_CUDA_MAX_DIM][MT_CUDA_OPERANDS];
    mt_cuda_dims dims;
    uint32_t host;
} mt_cuda_args;

/* One reduction. Stage 0 reads elements; with several splits it writes their states to `partial`, output by output, which
   stage 1 joins. A block has 256 / lanes outputs; by_columns: neighbouring threads work on neighbouring outputs. */
typedef struct mt_cuda_reduce_args {
    double params[4];
    const char *in;
    char *out[2];
    char *partial;
    int64_t n_out, n_in; /* outputs; elements reduced into each */
    int64_t count;
    int64_t per_split;
    int64_t kept_stride[MT_CUDA_MAX_DIM][3]; /* input, outputs */
    int64_t reduced_stride[MT_CUDA_MAX_DIM];
    mt_cuda_dims kept, reduced;
    int32_t n_splits, stage, lanes;
    bool by_columns;
} mt_cuda_reduce_args;

/* Called by the loops of the tables: params is one of these. */
typedef struct mt_cuda_launch {
    const mt_cuda_args *args;
    unsigned blocks;
    void *stream;
} mt_cuda_launch;

/* A row of the table of reductions points at one of these, through the type of a CPU row. */
typedef struct mt_cuda_reduce {
    void (*launch)(const mt_cuda_reduce_args *args, unsigned blocks, void *stream);
    int32_t state_size;
} mt_cuda_reduce;

#endif
