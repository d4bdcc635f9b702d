/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of the weight: sums over all pixels of all images. Images are taken in waves: all threads copy them into
   frames and turn the maps (pixel by pixel, channels side by side), then the rows of the result, channels and taps,
   are dealt out. Each row is summed by one thread in the order of the images, so the result does not depend on how many
   there are. With one channel per group the sums are plain dot products of planes. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "cpu/conv.h"
#include "cpu/conv_plan.h"
#include "cpu/matmul/gemm.h"

typedef struct job {
    const mt_conv_shape *s;
    const mt_volume *image, *map;
    const mt_conv_weight *weight;
    int itemsize;
    int64_t taps, depth, pixels; /* depth: image channels * taps, the rows of the result */
    int64_t panel_width, n_panels, row_blocks;
    mt_conv_frame frame;
    int64_t frame_bytes, map_bytes; /* of one image */
    int64_t *row, *pixel;           /* where a row starts in the frame; where a pixel lies */
    char *frames, *maps, *sums;     /* sums: [group][panel][depth][width] */
    int64_t first, n;               /* the wave */
} job;

enum { ROWS_PER_BLOCK = 56, WAVE_BYTES = 1 << 20 };

/* --- one wave --- */

static void turn_map(const job *j, int64_t image, char *dst)
{
    const mt_conv_shape *s = j->s;
    int64_t flat = mt_conv_flat_stride(j->map, s->map), size = j->itemsize, lines = s->map[0] * s->map[1];

    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t p = 0; p < j->n_panels; p++, dst += j->pixels * j->panel_width * size) {
            int64_t channel = g * s->map_channels + p * j->panel_width, left = s->map_channels - p * j->panel_width;
            int64_t width = left < j->panel_width ? left : j->panel_width, n = flat ? j->pixels : s->map[2];
            const char *src = j->map->data + (image * j->map->batch + channel * j->map->channel) * size;

            for (int64_t line = 0; line < (flat ? 1 : lines); line++) {
                const char *from =
                    src + ((line / s->map[1]) * j->map->dim[0] + (line % s->map[1]) * j->map->dim[1]) * size;
                char *to = dst + line * n * j->panel_width * size;

                if (size == 4)
                    MT_ISA_PICK(mt_conv_pack_f32)((float *)to, j->panel_width, (const float *)from, j->map->channel,
                                                  flat ? flat : j->map->dim[2], width, n);
                else
                    MT_ISA_PICK(mt_conv_pack_f64)((double *)to, j->panel_width, (const double *)from, j->map->channel,
                                                  flat ? flat : j->map->dim[2], width, n);
            }
        }
}

static void prepare_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;

    for (int64_t i = begin; i < end; i++) {
        mt_conv_frame_fill(&j->frame, j->frames + i * j->frame_bytes, j->image, j->first + i, j->itemsize);
        turn_map(j, j->first + i, j->maps + i * j->map_bytes);
    }
}

static void sum_block(const job *j, int64_t group, int64_t panel, int64_t block)
{
    const mt_conv_shape *s = j->s;
    int64_t row = block * ROWS_PER_BLOCK, left = j->depth - row, size = j->itemsize;
    int64_t at = group * j->n_panels + panel;
    mt_gather g = {
        .n_rows = left < ROWS_PER_BLOCK ? left : ROWS_PER_BLOCK,
        .depth = j->pixels,
        .pitch = j->panel_width,
        .width = j->panel_width,
        .row = j->row + row,
        .offset = j->pixel,
        .out = j->sums + (at * j->depth + row) * j->panel_width * size,
        .out_step = j->panel_width,
        .out_col = 1,
    };

    for (int64_t i = 0; i < j->n; i++) {
        g.source = j->frames + i * j->frame_bytes + group * s->image_channels * j->frame.plane * size;
        g.panel = j->maps + i * j->map_bytes + at * j->pixels * j->panel_width * size;
        g.accumulate = j->first + i > 0;
        if (size == 4)
            MT_ISA_PICK(mt_conv_gather_f32)(&g);
        else
            MT_ISA_PICK(mt_conv_gather_f64)(&g);
    }
}

static void sum_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;

    for (int64_t i = begin; i < end; i++) {
        int64_t at = i / j->row_blocks;

        sum_block(j, at / j->n_panels, at % j->n_panels, i % j->row_blocks);
    }
}

/* From [depth][width] of each panel to the weight. */
static void store_sums(const job *j)
{
    const mt_conv_shape *s = j->s;
    int64_t size = j->itemsize;

    for (int64_t at = 0; at < s->groups * j->n_panels; at++) {
        int64_t panel = at % j->n_panels, left = s->map_channels - panel * j->panel_width;
        int64_t width = left < j->panel_width ? left : j->panel_width;
        const char *src = j->sums + at * j->depth * j->panel_width * size;
        char *dst = j->weight->data + ((at / j->n_panels) * s->map_channels + panel * j->panel_width) * j->depth * size;

        if (size == 4)
            MT_ISA_PICK(mt_conv_pack_f32)((float *)dst, j->depth, (const float *)src, j->panel_width, 1, j->depth,
                                          width);
        else
            MT_ISA_PICK(mt_conv_pack_f64)((double *)dst, j->depth, (const double *)src, j->panel_width, 1, j->depth,
                                          width);
    }
}

/* --- tables --- */

static void fill_tables(job *j)
{
    const mt_conv_shape *s = j->s;
    const int64_t *size = j->frame.size;
    int64_t n = 0;

    for (int64_t c = 0; c < s->image_channels; c++)
        for (int64_t a = 0; a < s->kernel[0]; a++)
            for (int64_t b = 0; b < s->kernel[1]; b++)
                for (int64_t r = 0; r < s->kernel[2]; r++)
                    j->row[n++] = c * j->frame.plane + ((a * s->dilation[0]) * size[1] + b * s->dilation[1]) * size[2] +
                                  r * s->dilation[2];
    n = 0;
    for (int64_t a = 0; a < s->map[0]; a++)
        for (int64_t b = 0; b < s->map[1]; b++)
            for (int64_t x = 0; x < s->map[2]; x++)
                j->pixel[n++] = ((a * s->stride[0]) * size[1] + b * s->stride[1]) * size[2] + x * s->stride[2];
}

/* The frame reaches from -pad to the last position that a tap reads. */
static void make_frame(job *j)
{
    const mt_conv_shape *s = j->s;

    for (int d = 0; d < 3; d++) {
        int64_t reach = (s->map[d] - 1) * s->stride[d] + (s->kernel[d] - 1) * s->dilation[d] + 1;

        j->frame.inner[d] = s->image[d];
        j->frame.lo[d] = s->pad[d];
        j->frame.size[d] = reach > s->image[d] + s->pad[d] ? reach : s->image[d] + s->pad[d];
    }
    j->frame.channels = s->groups * s->image_channels;
    j->frame.plane = mt_conv_product(j->frame.size);
}

/* --- one channel per group --- */

static void dot_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;
    const mt_conv_shape *s = j->s;
    int64_t lines = s->map[0] * s->map[1], size = j->itemsize;

    for (int64_t at = begin; at < end; at++) {
        int64_t channel = at / j->taps, tap = at % j->taps;
        char *out = j->weight->data + at * size;
        double total = 0;

        for (int64_t i = 0; i < j->n; i++) {
            const char *a = j->frames + i * j->frame_bytes + (channel * j->frame.plane + j->row[tap]) * size;
            const char *b = j->map->data + ((j->first + i) * j->map->batch + channel * j->map->channel) * size;

            total += size == 4 ? MT_ISA_PICK(mt_conv_dot_f32)((const float *)a, j->pixel, (const float *)b,
                                                              j->pixel + lines, lines, s->map[2])
                               : MT_ISA_PICK(mt_conv_dot_f64)((const double *)a, j->pixel, (const double *)b,
                                                              j->pixel + lines, lines, s->map[2]);
        }
        if (j->first > 0)
            total += size == 4 ? (double)*(float *)out : *(double *)out;
        if (size == 4)
            *(float *)out = (float)total;
        else
            *(double *)out = total;
    }
}

/* Tables of lines in place of pixels: where a line starts in the frame, then where in the map. */
static void fill_line_tables(job *j)
{
    const mt_conv_shape *s = j->s;
    const int64_t *size = j->frame.size;
    int64_t lines = s->map[0] * s->map[1], n = 0;

    for (int64_t a = 0; a < s->kernel[0]; a++)
        for (int64_t b = 0; b < s->kernel[1]; b++)
            for (int64_t r = 0; r < s->kernel[2]; r++)
                j->row[n++] = ((a * s->dilation[0]) * size[1] + b * s->dilation[1]) * size[2] + r * s->dilation[2];
    for (int64_t line = 0; line < lines; line++) {
        int64_t a = line / s->map[1], b = line % s->map[1];

        j->pixel[line] = ((a * s->stride[0]) * size[1] + b * s->stride[1]) * size[2];
        j->pixel[lines + line] = a * j->map->dim[0] + b * j->map->dim[1];
    }
}

/* --- all waves --- */

static int64_t wave_size(const job *j)
{
    int64_t n = WAVE_BYTES * (int64_t)mt_get_num_threads() / (j->frame_bytes + j->map_bytes);

    return n < 1 ? 1 : n < j->s->n ? n : j->s->n;
}

static int run(job *j, bool by_channel)
{
    const mt_conv_shape *s = j->s;
    int64_t sums = by_channel ? 0 : s->groups * j->n_panels * j->depth * j->panel_width * j->itemsize, wave;
    size_t tables =
        mt_conv_round((size_t)j->depth * sizeof(int64_t)) + mt_conv_round((size_t)(2 * j->pixels) * sizeof(int64_t));
    double flops_ns = mt_conv_cost_ns(s);
    mt_conv_arena arena;

    j->frame_bytes = (int64_t)mt_conv_round((size_t)(j->frame.channels * j->frame.plane * j->itemsize));
    j->map_bytes = by_channel ? 0 : s->groups * j->n_panels * j->pixels * j->panel_width * j->itemsize;
    wave = wave_size(j);
    if (mt_conv_arena_make(&arena, tables + mt_conv_round((size_t)sums) + (size_t)(wave * j->frame_bytes) +
                                       mt_conv_round((size_t)(wave * j->map_bytes))) < 0)
        return -1;
    j->row = mt_conv_arena_take(&arena, (size_t)j->depth * sizeof(int64_t));
    j->pixel = mt_conv_arena_take(&arena, (size_t)(2 * j->pixels) * sizeof(int64_t));
    j->sums = mt_conv_arena_take(&arena, (size_t)sums);
    j->frames = mt_conv_arena_take(&arena, (size_t)(wave * j->frame_bytes));
    j->maps = mt_conv_arena_take(&arena, (size_t)(wave * j->map_bytes));
    memset(j->frames, 0, (size_t)(wave * j->frame_bytes));
    if (by_channel)
        fill_line_tables(j);
    else
        fill_tables(j);
    for (j->first = 0; j->first < s->n; j->first += wave) {
        j->n = s->n - j->first < wave ? s->n - j->first : wave;
        if (by_channel) {
            for (int64_t i = 0; i < j->n; i++)
                mt_conv_frame_fill(&j->frame, j->frames + i * j->frame_bytes, j->image, j->first + i, j->itemsize);
            mt_parallel_for(s->groups * j->taps, flops_ns / (double)j->taps * (double)j->n, 1, dot_range, j);
            continue;
        }
        mt_parallel_for(j->n, (double)(j->frame_bytes + j->map_bytes) / 16.0, 1, prepare_range, j);
        mt_parallel_for(s->groups * j->n_panels * j->row_blocks,
                        flops_ns * (double)j->n / (double)(j->n_panels * j->row_blocks), 1, sum_range, j);
    }
    if (!by_channel)
        store_sums(j);
    mt_conv_arena_clear(&arena);
    return 0;
}

/* 1 x 1: the sum over images of map @ image^T. */
static bool multiply(const job *j)
{
    const mt_conv_shape *s = j->s;
    int64_t from = mt_conv_flat_stride(j->image, s->image), to = mt_conv_flat_stride(j->map, s->map),
            size = j->itemsize;

    if (!from || !to)
        return false;
    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t i = 0; i < s->n; i++) {
            char *out = j->weight->data + g * s->map_channels * s->image_channels * size;
            mt_gemm product = {s->map_channels,
                               s->image_channels,
                               j->pixels,
                               j->map->data + (i * j->map->batch + g * s->map_channels * j->map->channel) * size,
                               j->image->data +
                                   (i * j->image->batch + g * s->image_channels * j->image->channel) * size,
                               out,
                               out,
                               j->map->channel,
                               to,
                               from,
                               j->image->channel,
                               s->image_channels,
                               1,
                               s->image_channels,
                               1,
                               1.0,
                               i > 0 ? 1.0 : 0.0};

            (size == 4 ? mt_gemm_f32 : mt_gemm_f64)(&product);
        }
    return true;
}

int mt_conv_to_weight(const mt_conv_shape *s, const mt_volume *image, const mt_volume *map,
                      const mt_conv_weight *weight)
{
    job j = {.s = s, .image = image, .map = map, .weight = weight, .itemsize = s->dtype == MT_DTYPE_f32 ? 4 : 8};
    int64_t total = 0;
    bool by_channel = s->image_channels == 1 && s->map_channels == 1 && s->stride[2] == 1 && map->dim[2] == 1;

    j.taps = mt_conv_product(s->kernel);
    j.depth = s->image_channels * j.taps;
    j.pixels = mt_conv_product(s->map);
    if (s->n == 0 || j.pixels == 0) {
        memset(weight->data, 0, (size_t)(s->groups * s->map_channels * j.depth * j.itemsize));
        return 0;
    }
    if (mt_conv_is_pointwise(s) && s->n * s->groups < 1 << 20 && multiply(&j))
        return 0;
    j.panel_width = j.itemsize == 4 ? MT_ISA_PICK(mt_conv_panel_width_f32)(s->map_channels)
                                    : MT_ISA_PICK(mt_conv_panel_width_f64)(s->map_channels);
    j.n_panels = (s->map_channels + j.panel_width - 1) / j.panel_width;
    j.row_blocks = (j.depth + ROWS_PER_BLOCK - 1) / ROWS_PER_BLOCK;
    make_frame(&j);
    if (mt_mul_overflow(j.frame.channels, j.frame.plane, &total) || total > INT64_MAX / 128)
        return mt_error_set(MT_ERR_RUNTIME, "convolution: the padded input is too large");
    return run(&j, by_channel);
}
