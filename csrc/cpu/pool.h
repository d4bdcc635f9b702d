/* SPDX-License-Identifier: BSD-3-Clause */
/* Pooling of planes: what the ISA levels provide. A plane is one channel of one image; the kernels take a range of planes. */
#ifndef MT_CPU_POOL_H
#define MT_CPU_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"
#include "cpu/isa_pick.h"

/* Strides count elements; [0] is the height, [1] the width. A plane starts at n * batch + c * channel. */
typedef struct mt_pool_side {
    char *data;
    int64_t batch, channel, dim[2], size[2];
} mt_pool_side;

typedef struct mt_pool {
    mt_dtype dtype;
    int64_t channels; /* plane p is channel p % channels of image p / channels */
    mt_pool_side in, out;
    mt_pool_side index; /* int64, max pooling only */
    int64_t kernel[2], stride[2], pad[2], dilation[2];
    bool count_include_pad;
    int64_t divisor; /* 0: the size of the window */
} mt_pool;

typedef void mt_pool_fn(const mt_pool *p, int64_t begin, int64_t end);

/* By dtype; NULL where there is no kernel. Gradients: `in` is written, zeroed before, `out` is read. */
typedef struct mt_pool_kernels {
    mt_pool_fn *max[MT_DTYPE_COUNT], *max_backward[MT_DTYPE_COUNT];
    mt_pool_fn *mean[MT_DTYPE_COUNT], *mean_backward[MT_DTYPE_COUNT];
    mt_pool_fn *adaptive[MT_DTYPE_COUNT], *adaptive_backward[MT_DTYPE_COUNT];
} mt_pool_kernels;

#if defined(__x86_64__)
extern const mt_pool_kernels mt_pool_kernels_v2, mt_pool_kernels_v3, mt_pool_kernels_v4;
#else
extern const mt_pool_kernels mt_pool_kernels_v2;
#endif

#endif
