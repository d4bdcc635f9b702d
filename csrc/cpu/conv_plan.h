/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution on raw memory: one image side, one map side, one weight. With x the image and y the map,
   y[n][o][p] = sum over c, r of x[n][c][p * stride - pad + r * dilation] weight[o][c][r], in groups of channels. A
   transposed convolution is the way from the map to the image. All extents have three spatial dims, leading ones are 1. */
#ifndef MT_CPU_CONV_PLAN_H
#define MT_CPU_CONV_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/dtype.h"

/* Strides count elements. */
typedef struct mt_volume {
    char *data;
    int64_t batch, channel, dim[3];
} mt_volume;

typedef struct mt_conv_weight {
    char *data;
    int64_t out, in, dim[3]; /* map channel, image channel within its group, taps */
} mt_conv_weight;

typedef struct mt_conv_shape {
    mt_dtype dtype; /* f32 or f64 */
    int64_t n, groups;
    int64_t image_channels, map_channels; /* per group */
    int64_t image[3], map[3], kernel[3], stride[3], pad[3], dilation[3];
} mt_conv_shape;

/* bias: one element per channel of the result, or NULL. They fail only for want of memory. */
int mt_conv_to_map(const mt_conv_shape *s, const mt_volume *image, const mt_conv_weight *weight, const mt_volume *map,
                   const void *bias);
int mt_conv_to_image(const mt_conv_shape *s, const mt_volume *map, const mt_conv_weight *weight, const mt_volume *image,
                     const void *bias);
/* weight must be contiguous. */
int mt_conv_to_weight(const mt_conv_shape *s, const mt_volume *image, const mt_volume *map,
                      const mt_conv_weight *weight);

/* --- shared by the files of the family --- */

/* Few pixels, large weight (conv_columns.c). */
bool mt_conv_suits_columns(const mt_conv_shape *s, const mt_conv_weight *w);
int mt_conv_columns_to_map(const mt_conv_shape *s, const mt_volume *image, const mt_conv_weight *w,
                           const mt_volume *map, const void *bias);
int mt_conv_columns_to_image(const mt_conv_shape *s, const mt_volume *map, const mt_conv_weight *w,
                             const mt_volume *image, const void *bias);

/* Memory of one call, freed together. */
typedef struct mt_conv_arena {
    char *data;
    size_t size, used;
} mt_conv_arena;
/* Reserves; the sum of all requests (each rounded up to 64 bytes) must be known before. */
int mt_conv_arena_make(mt_conv_arena *a, size_t size);
void *mt_conv_arena_take(mt_conv_arena *a, size_t size);
void mt_conv_arena_clear(mt_conv_arena *a);
static inline size_t mt_conv_round(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

/* A source with zeros around it: `lo` elements before, `size` in all, for each dim; planes one after the other. */
typedef struct mt_conv_frame {
    int64_t channels, inner[3], lo[3], size[3];
    int64_t plane; /* elements of one channel */
} mt_conv_frame;
/* Copies one image into the middle; dst has channels * plane elements, and zeros around the middle already. */
void mt_conv_frame_fill(const mt_conv_frame *f, void *dst, const mt_volume *src, int64_t image, int itemsize);

static inline int64_t mt_conv_product(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

/* All three dims as one: the stride of a step, or 0 when there is none. */
int64_t mt_conv_flat_stride(const mt_volume *v, const int64_t size[3]);
bool mt_conv_is_pointwise(const mt_conv_shape *s);
double mt_conv_cost_ns(const mt_conv_shape *s); /* of one image and one group */

#endif
