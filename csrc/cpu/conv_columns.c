/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution of few pixels with a large weight, as one matrix product: here rearranging the weight would cost as much as
   the sums, so the pixels are rearranged instead. columns[c, tap][n, p] is the image element under tap `tap` of map pixel
   p, zero where that lies in the padding. To the map: weight @ columns. To the image: weight^T @ map, added up. */
#include <string.h>

#include "base/alloc.h"
#include "cpu/conv_plan.h"
#include "cpu/matmul/gemm.h"

enum { MOST_PIXELS = 128, LEAST_WEIGHT = 65536 };

typedef struct job {
    const mt_conv_shape *s;
    const mt_volume *image, *map;
    int64_t taps, depth, pixels, all_pixels, size; /* size: of an element */
    int64_t group;
    char *columns, *flat; /* flat: the map as [channel][n, p] */
} job;

bool mt_conv_suits_columns(const mt_conv_shape *s, const mt_conv_weight *w)
{
    int64_t taps = mt_conv_product(s->kernel);

    if (s->n * mt_conv_product(s->map) > MOST_PIXELS || s->image_channels * taps * s->map_channels < LEAST_WEIGHT)
        return false;
    return w->dim[2] == 1 && w->dim[1] == s->kernel[2] && w->dim[0] == s->kernel[1] * s->kernel[2] && w->in == taps;
}

/* n elements between a column and a line of the image, `step` apart there. */
#define MOVE(name, T)                                                               \
    static inline void name(T *column, T *image, int64_t step, int64_t n, bool add) \
    {                                                                               \
        if (add)                                                                    \
            for (int64_t i = 0; i < n; i++)                                         \
                image[i * step] += column[i];                                       \
        else                                                                        \
            for (int64_t i = 0; i < n; i++)                                         \
                column[i] = image[i * step];                                        \
    }
MOVE(move_f32, float)
MOVE(move_f64, double)
#undef MOVE

/* Every run of map pixels along the last dim that a tap sees inside the image. */
static void each_run(const job *j, int64_t image, int64_t channel, int64_t tap, char *column, bool add)
{
    const mt_conv_shape *s = j->s;
    int64_t r[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};
    int64_t shift = r[2] * s->dilation[2] - s->pad[2], stride = s->stride[2];
    int64_t first = shift < 0 ? (-shift + stride - 1) / stride : 0, last = s->image[2] - 1 - shift;
    char *plane = j->image->data + (image * j->image->batch + channel * j->image->channel) * j->size;

    last = last < 0 ? -1 : last / stride;
    last = last < s->map[2] - 1 ? last : s->map[2] - 1;
    for (int64_t a = 0; a < s->map[0]; a++)
        for (int64_t b = 0; b < s->map[1]; b++) {
            int64_t z = a * s->stride[0] - s->pad[0] + r[0] * s->dilation[0];
            int64_t y = b * s->stride[1] - s->pad[1] + r[1] * s->dilation[1];
            char *to = column + ((a * s->map[1] + b) * s->map[2] + first) * j->size;
            char *from =
                plane +
                (z * j->image->dim[0] + y * j->image->dim[1] + (first * stride + shift) * j->image->dim[2]) * j->size;

            if (first > last || z < 0 || z >= s->image[0] || y < 0 || y >= s->image[1])
                continue;
            if (j->size == 4)
                move_f32((float *)to, (float *)from, stride * j->image->dim[2], last - first + 1, add);
            else
                move_f64((double *)to, (double *)from, stride * j->image->dim[2], last - first + 1, add);
        }
}

static void each_column(const job *j, bool add)
{
    const mt_conv_shape *s = j->s;

    for (int64_t c = 0; c < s->image_channels; c++)
        for (int64_t tap = 0; tap < j->taps; tap++)
            for (int64_t n = 0; n < s->n; n++)
                each_run(j, n, j->group * s->image_channels + c, tap,
                         j->columns + ((c * j->taps + tap) * j->all_pixels + n * j->pixels) * j->size, add);
}

/* One image whose planes are contiguous is its own flat form. */
static bool map_is_flat(const job *j)
{
    return j->s->n == 1 && mt_conv_flat_stride(j->map, j->s->map) == 1;
}

static char *map_group(const job *j)
{
    return j->map->data + j->group * j->s->map_channels * j->map->channel * j->size;
}

/* Between the map and its flat form. */
static void move_map(const job *j, bool to_flat)
{
    const mt_conv_shape *s = j->s;

    if (map_is_flat(j))
        return;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t o = 0; o < s->map_channels; o++)
            for (int64_t p = 0; p < j->pixels; p++) {
                int64_t a = p / (s->map[1] * s->map[2]), b = p / s->map[2] % s->map[1], x = p % s->map[2];
                char *flat = j->flat + (o * j->all_pixels + n * j->pixels + p) * j->size;
                char *map = j->map->data + (n * j->map->batch + (j->group * s->map_channels + o) * j->map->channel +
                                            a * j->map->dim[0] + b * j->map->dim[1] + x * j->map->dim[2]) *
                                               j->size;

                memcpy(to_flat ? flat : map, to_flat ? map : flat, (size_t)j->size);
            }
}

static int start(job *j, mt_conv_arena *arena)
{
    const mt_conv_shape *s = j->s;
    size_t columns, flat;

    j->size = s->dtype == MT_DTYPE_f32 ? 4 : 8;
    j->taps = mt_conv_product(s->kernel);
    j->depth = s->image_channels * j->taps;
    j->pixels = mt_conv_product(s->map);
    j->all_pixels = s->n * j->pixels;
    columns = mt_conv_round((size_t)(j->depth * j->all_pixels * j->size));
    flat = mt_conv_round((size_t)(s->map_channels * j->all_pixels * j->size));
    if (mt_conv_arena_make(arena, columns + flat) < 0)
        return -1;
    j->columns = mt_conv_arena_take(arena, columns);
    j->flat = mt_conv_arena_take(arena, flat);
    return 0;
}

static void multiply(const mt_gemm *g, int64_t size)
{
    (size == 4 ? mt_gemm_f32 : mt_gemm_f64)(g);
}

int mt_conv_columns_to_map(const mt_conv_shape *s, const mt_volume *image, const mt_conv_weight *w,
                           const mt_volume *map, const void *bias)
{
    job j = {.s = s, .image = image, .map = map};
    mt_conv_arena arena;

    if (start(&j, &arena) < 0)
        return -1;
    memset(j.columns, 0, (size_t)(j.depth * j.all_pixels * j.size));
    for (j.group = 0; j.group < s->groups; j.group++) {
        int64_t first = j.group * s->map_channels;
        mt_gemm g = {s->map_channels,
                     j.all_pixels,
                     j.depth,
                     w->data + first * w->out * j.size,
                     j.columns,
                     bias ? (const char *)bias + first * j.size : NULL,
                     j.flat,
                     w->out,
                     1,
                     j.all_pixels,
                     1,
                     j.all_pixels,
                     1,
                     1,
                     0,
                     1.0,
                     bias ? 1.0 : 0.0};

        if (map_is_flat(&j)) {
            g.c = map_group(&j);
            g.c_row = map->channel;
        }
        each_column(&j, false);
        multiply(&g, j.size);
        move_map(&j, false);
    }
    mt_conv_arena_clear(&arena);
    return 0;
}

static void fill_image(const job *j, const char *bias)
{
    const mt_conv_shape *s = j->s;

    for (int64_t n = 0; n < s->n; n++)
        for (int64_t c = 0; c < s->groups * s->image_channels; c++)
            for (int64_t p = 0; p < mt_conv_product(s->image); p++) {
                int64_t a = p / (s->image[1] * s->image[2]), b = p / s->image[2] % s->image[1], x = p % s->image[2];
                char *to = j->image->data + (n * j->image->batch + c * j->image->channel + a * j->image->dim[0] +
                                             b * j->image->dim[1] + x * j->image->dim[2]) *
                                                j->size;

                if (bias)
                    memcpy(to, bias + c * j->size, (size_t)j->size);
                else
                    memset(to, 0, (size_t)j->size);
            }
}

int mt_conv_columns_to_image(const mt_conv_shape *s, const mt_volume *map, const mt_conv_weight *w,
                             const mt_volume *image, const void *bias)
{
    job j = {.s = s, .image = image, .map = map};
    mt_conv_arena arena;

    if (start(&j, &arena) < 0)
        return -1;
    fill_image(&j, bias);
    for (j.group = 0; j.group < s->groups; j.group++) {
        mt_gemm g = {j.depth,
                     j.all_pixels,
                     s->map_channels,
                     w->data + j.group * s->map_channels * w->out * j.size,
                     j.flat,
                     NULL,
                     j.columns,
                     1,
                     w->out,
                     j.all_pixels,
                     1,
                     j.all_pixels,
                     1,
                     0,
                     0,
                     1.0,
                     0.0};

        if (map_is_flat(&j)) {
            g.b = map_group(&j);
            g.b_row = map->channel;
        }
        move_map(&j, true);
        multiply(&g, j.size);
        each_column(&j, true);
    }
    mt_conv_arena_clear(&arena);
    return 0;
}
