/* SPDX-License-Identifier: BSD-3-Clause */
/* From image to map and back. Both ways are lists of phases: a phase has a table of rows (where a result pixel starts in
   the padded source), a table of offsets (channels and taps), and the weights in the order of that table. The way to
   the map has one phase; the way back has one for each combination of remainders of the stride, because only every
   stride-th tap reaches a pixel. 1 x 1 convolutions are matrix products. */
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "cpu/conv.h"
#include "cpu/conv_plan.h"
#include "cpu/matmul/gemm.h"

/* One dim of one phase: the taps that take part, where each starts in the source, and the result positions. */
typedef struct axis {
    int64_t n_taps, count, first, step; /* results at first, first + step, ... */
    int64_t source_step;                /* source steps between two results */
    int64_t *tap, *start;               /* start: position in the source, without frame */
} axis;

typedef struct phase {
    int64_t n_rows, depth, n_lines;
    int64_t *row, *out_row, *offset; /* of rows or, in a sweep, of lines */
    char *weight;                    /* [group][panel][depth][width], in a sweep [group][column][depth] */
    bool out_is_flat;
} phase;

typedef struct plan {
    const mt_conv_shape *s;
    bool to_image, sweeps;
    int itemsize;
    int64_t columns, panel_width, n_panels, source_channels; /* per group */
    int64_t n_phases;
    phase *phases;
    axis *axes; /* three for each phase number along a dim: axes[dim * max_phases + number] */
    int64_t max_phases, axis_phases[3];
    mt_conv_frame frame;                   /* of all groups */
    int64_t source_dim[3], source_channel; /* strides in the frame, or of the source itself */
    bool framed;
    const mt_volume *source, *result;
    const char *bias;
} plan;

/* --- axes --- */

static void forward_axis(axis *a, const mt_conv_shape *s, int dim)
{
    a->n_taps = s->kernel[dim];
    a->count = s->map[dim];
    a->first = 0;
    a->step = 1;
    a->source_step = s->stride[dim];
    for (int64_t r = 0; r < a->n_taps; r++) {
        a->tap[r] = r;
        a->start[r] = r * s->dilation[dim] - s->pad[dim];
    }
}

/* Image positions number, number + stride, ... take tap r from map position (position + pad - r * dilation) / stride. */
static void backward_axis(axis *a, const mt_conv_shape *s, int dim, int64_t number)
{
    a->n_taps = 0;
    a->count = (s->image[dim] - number + s->stride[dim] - 1) / s->stride[dim];
    a->first = number;
    a->step = s->stride[dim];
    a->source_step = 1;
    for (int64_t r = 0; r < s->kernel[dim]; r++) {
        int64_t at = number + s->pad[dim] - r * s->dilation[dim];

        if (at % s->stride[dim] != 0)
            continue;
        a->tap[a->n_taps] = r;
        a->start[a->n_taps++] = at / s->stride[dim];
    }
}

/* The frame must reach from the first to the last position that any phase reads. */
static void frame_axis(mt_conv_frame *f, const axis *axes, int64_t n, int64_t inner, int dim)
{
    int64_t low = 0, high = inner - 1;

    for (int64_t p = 0; p < n; p++)
        for (int64_t r = 0; r < axes[p].n_taps && axes[p].count > 0; r++) {
            int64_t last = axes[p].start[r] + (axes[p].count - 1) * axes[p].source_step;

            low = axes[p].start[r] < low ? axes[p].start[r] : low;
            high = last > high ? last : high;
        }
    f->inner[dim] = inner;
    f->lo[dim] = -low;
    f->size[dim] = high - low + 1;
}

static int make_axes(plan *p)
{
    const mt_conv_shape *s = p->s;
    int64_t taps = s->kernel[0] + s->kernel[1] + s->kernel[2], longest = 1;
    size_t size;
    void *memory = NULL;
    int64_t *numbers;

    for (int d = 0; d < 3; d++) {
        p->axis_phases[d] = !p->to_image ? 1 : s->stride[d] < s->image[d] ? s->stride[d] : s->image[d];
        longest = p->axis_phases[d] > longest ? p->axis_phases[d] : longest;
    }
    if (longest > (int64_t)1 << 20 || taps > (int64_t)1 << 24 || longest * taps > (int64_t)1 << 28)
        return mt_error_set(MT_ERR_RUNTIME, "convolution: the stride or the kernel is too large");
    p->max_phases = longest;
    size = (size_t)(3 * longest) * sizeof(axis) + (size_t)(2 * longest * taps) * sizeof(int64_t);
    if (mt_malloc(&memory, size) < 0)
        return -1;
    p->axes = memory;
    numbers = (int64_t *)(p->axes + 3 * longest);
    for (int d = 0; d < 3; d++)
        for (int64_t k = 0; k < p->axis_phases[d]; k++) {
            axis *a = &p->axes[d * longest + k];

            a->tap = numbers;
            a->start = numbers + s->kernel[d];
            numbers += 2 * s->kernel[d];
            if (p->to_image)
                backward_axis(a, s, d, k);
            else
                forward_axis(a, s, d);
        }
    return 0;
}

/* --- source --- */

static void choose_source(plan *p)
{
    const mt_conv_shape *s = p->s;
    const int64_t *inner = p->to_image ? s->map : s->image;

    for (int d = 0; d < 3; d++)
        frame_axis(&p->frame, p->axes + d * p->max_phases, p->axis_phases[d], inner[d], d);
    p->frame.channels = s->groups * p->source_channels;
    p->frame.plane = mt_conv_product(p->frame.size);
    p->framed = p->sweeps;
    for (int d = 0; d < 3; d++)
        p->framed |= p->frame.size[d] != inner[d];
    if (p->framed) {
        p->source_channel = p->frame.plane;
        p->source_dim[2] = 1;
        p->source_dim[1] = p->frame.size[2];
        p->source_dim[0] = p->frame.size[1] * p->frame.size[2];
        return;
    }
    p->source_channel = p->source->channel;
    memcpy(p->source_dim, p->source->dim, sizeof p->source_dim);
}

/* --- phases --- */

static const axis *axis_of(const plan *p, int dim, int64_t number)
{
    return &p->axes[dim * p->max_phases + number];
}

typedef struct triple {
    const axis *axis[3];
} triple;

static triple axes_of_phase(const plan *p, int64_t number)
{
    triple t;

    for (int d = 2; d >= 0; d--) {
        t.axis[d] = axis_of(p, d, number % p->axis_phases[d]);
        number /= p->axis_phases[d];
    }
    return t;
}

/* Rows (or lines) of the result: where they start in the source, and where they go. */
static void fill_rows(const plan *p, phase *f, const triple *t)
{
    const axis *a = t->axis[0], *b = t->axis[1], *c = t->axis[2];
    const int64_t *out = p->result->dim;
    int64_t n = 0, width = p->sweeps ? 1 : c->count;

    f->out_is_flat = true;
    for (int64_t i = 0; i < a->count; i++)
        for (int64_t j = 0; j < b->count; j++)
            for (int64_t k = 0; k < width; k++, n++) {
                f->row[n] = i * a->source_step * p->source_dim[0] + j * b->source_step * p->source_dim[1] +
                            k * c->source_step * p->source_dim[2];
                f->out_row[n] = (a->first + i * a->step) * out[0] + (b->first + j * b->step) * out[1] +
                                (c->first + k * c->step) * out[2];
                f->out_is_flat &= f->out_row[n] == n;
            }
}

static void fill_offsets(const plan *p, phase *f, const triple *t)
{
    int64_t n = 0;

    for (int64_t ch = 0; ch < p->source_channels; ch++)
        for (int64_t i = 0; i < t->axis[0]->n_taps; i++)
            for (int64_t j = 0; j < t->axis[1]->n_taps; j++)
                for (int64_t k = 0; k < t->axis[2]->n_taps; k++)
                    f->offset[n++] = ch * p->source_channel +
                                     (t->axis[0]->start[i] + (p->framed ? p->frame.lo[0] : 0)) * p->source_dim[0] +
                                     (t->axis[1]->start[j] + (p->framed ? p->frame.lo[1] : 0)) * p->source_dim[1] +
                                     (t->axis[2]->start[k] + (p->framed ? p->frame.lo[2] : 0)) * p->source_dim[2];
}

/* Element offsets in the weight of the taps of a phase, for source channel 0. */
static int64_t tap_offset(const mt_conv_weight *w, const triple *t, int64_t i, int64_t j, int64_t k)
{
    return t->axis[0]->tap[i] * w->dim[0] + t->axis[1]->tap[j] * w->dim[1] + t->axis[2]->tap[k] * w->dim[2];
}

static void pack(const plan *p, void *dst, int64_t pitch, const char *src, int64_t row, int64_t col, int64_t rows,
                 int64_t cols)
{
    if (p->itemsize == 4)
        MT_ISA_PICK(mt_conv_pack_f32)(dst, pitch, (const float *)src, row, col, rows, cols);
    else
        MT_ISA_PICK(mt_conv_pack_f64)(dst, pitch, (const double *)src, row, col, rows, cols);
}

/* Are the taps of a phase, channel after channel, one contiguous run of the weight? Then it is packed at once. */
static bool weight_is_run(const plan *p, const mt_conv_weight *w, int64_t source_stride)
{
    const mt_conv_shape *s = p->s;

    return p->n_phases == 1 && !p->to_image && w->dim[2] == 1 && w->dim[1] == s->kernel[2] &&
           w->dim[0] == s->kernel[1] * s->kernel[2] && source_stride == mt_conv_product(s->kernel);
}

static void fill_weight(const plan *p, phase *f, const triple *t, const mt_conv_weight *w)
{
    const mt_conv_shape *s = p->s;
    int64_t column = p->to_image ? w->in : w->out, channel = p->to_image ? w->out : w->in, size = p->itemsize;
    int64_t group = s->map_channels * w->out, width = p->sweeps ? p->columns : p->panel_width;
    char *dst = f->weight;

    for (int64_t g = 0; g < s->groups; g++)
        for (int64_t c0 = 0; c0 < p->columns; c0 += width) {
            int64_t cols = p->columns - c0 < width ? p->columns - c0 : width, n = 0;
            const char *src = w->data + (g * group + c0 * column) * size;

            if (!p->sweeps && weight_is_run(p, w, channel)) {
                pack(p, dst, width, src, column, 1, cols, f->depth);
                dst += f->depth * width * size;
                continue;
            }
            for (int64_t ch = 0; ch < p->source_channels; ch++)
                for (int64_t i = 0; i < t->axis[0]->n_taps; i++)
                    for (int64_t j = 0; j < t->axis[1]->n_taps; j++)
                        for (int64_t k = 0; k < t->axis[2]->n_taps; k++, n++) {
                            const char *from = src + (ch * channel + tap_offset(w, t, i, j, k)) * size;

                            if (!p->sweeps) {
                                pack(p, dst + n * width * size, width, from, column, 0, cols, 1);
                                continue;
                            }
                            for (int64_t q = 0; q < cols; q++)
                                memcpy(dst + (q * f->depth + n) * size, from + q * column * size, (size_t)size);
                        }
            dst += (p->sweeps ? cols : width) * f->depth * size;
        }
}

/* Elements of the tables and of the weights; false when they overflow. */
static bool measure_phase(const plan *p, phase *f, const triple *t, size_t *bytes)
{
    int64_t taps = t->axis[0]->n_taps * t->axis[1]->n_taps * t->axis[2]->n_taps, weights = 0, depth = 0;
    int64_t lines = t->axis[0]->count * t->axis[1]->count;

    f->n_lines = lines;
    f->n_rows = p->sweeps ? lines : lines * t->axis[2]->count;
    if (mt_mul_overflow(p->source_channels, taps, &depth) ||
        mt_mul_overflow(depth, p->sweeps ? p->columns : p->n_panels * p->panel_width, &weights) ||
        mt_mul_overflow(weights, p->s->groups * p->itemsize, &weights) || weights > INT64_MAX / 4)
        return false;
    f->depth = depth;
    *bytes += 2 * mt_conv_round((size_t)f->n_rows * sizeof(int64_t)) + mt_conv_round((size_t)depth * sizeof(int64_t)) +
              mt_conv_round((size_t)weights);
    return true;
}

static int make_phases(plan *p, const mt_conv_weight *w, mt_conv_arena *arena)
{
    size_t bytes = 0;
    void *memory = NULL;

    p->n_phases = p->axis_phases[0] * p->axis_phases[1] * p->axis_phases[2];
    if (p->n_phases > (int64_t)1 << 24)
        return mt_error_set(MT_ERR_RUNTIME, "convolution: the stride is too large");
    if (mt_malloc(&memory, (size_t)p->n_phases * sizeof(phase)) < 0)
        return -1;
    p->phases = memory;
    for (int64_t i = 0; i < p->n_phases; i++) {
        triple t = axes_of_phase(p, i);

        if (!measure_phase(p, &p->phases[i], &t, &bytes))
            return mt_error_set(MT_ERR_RUNTIME, "convolution: the weight is too large");
    }
    if (mt_conv_arena_make(arena, bytes) < 0)
        return -1;
    for (int64_t i = 0; i < p->n_phases; i++) {
        phase *f = &p->phases[i];
        triple t = axes_of_phase(p, i);
        int64_t width = p->sweeps ? p->columns : p->n_panels * p->panel_width;

        f->row = mt_conv_arena_take(arena, (size_t)f->n_rows * sizeof(int64_t));
        f->out_row = mt_conv_arena_take(arena, (size_t)f->n_rows * sizeof(int64_t));
        f->offset = mt_conv_arena_take(arena, (size_t)f->depth * sizeof(int64_t));
        f->weight = mt_conv_arena_take(arena, (size_t)(f->depth * width * p->s->groups * p->itemsize));
        fill_rows(p, f, &t);
        fill_offsets(p, f, &t);
        fill_weight(p, f, &t, w);
    }
    return 0;
}

/* --- running --- */

static void run_gather(const plan *p, const phase *f, const char *source, int64_t image, int64_t group, int64_t panel)
{
    int64_t column = group * p->columns + panel * p->panel_width, left = p->columns - panel * p->panel_width;
    const mt_volume *r = p->result;
    mt_gather g = {
        .n_rows = f->n_rows,
        .depth = f->depth,
        .pitch = p->panel_width,
        .width = left < p->panel_width ? left : p->panel_width,
        .source = source + group * p->source_channels * p->source_channel * p->itemsize,
        .row = f->row,
        .offset = f->offset,
        .panel = f->weight + (group * p->n_panels + panel) * f->depth * p->panel_width * p->itemsize,
        .bias = p->bias ? p->bias + column * p->itemsize : NULL,
        .out = r->data + (image * r->batch + column * r->channel) * p->itemsize,
        .out_row = f->out_is_flat ? NULL : f->out_row,
        .out_step = 1,
        .out_col = p->columns == 1 ? 1 : r->channel,
    };

    if (p->itemsize == 4)
        MT_ISA_PICK(mt_conv_gather_f32)(&g);
    else
        MT_ISA_PICK(mt_conv_gather_f64)(&g);
}

static void run_sweep(const plan *p, const phase *f, const char *source, int64_t image, int64_t group)
{
    int64_t column = group * p->columns;
    const mt_volume *r = p->result;
    mt_sweep s = {
        .n_channels = p->columns,
        .depth = f->depth,
        .n_lines = f->n_lines,
        .length = axis_of(p, 2, 0)->count,
        .source = source + group * p->source_channels * p->source_channel * p->itemsize,
        .weight = f->weight + group * p->columns * f->depth * p->itemsize,
        .bias = p->bias ? p->bias + column * p->itemsize : NULL,
        .weight_row = f->depth,
        .offset = f->offset,
        .line = f->row,
        .out = r->data + (image * r->batch + column * r->channel) * p->itemsize,
        .out_line = f->out_row,
        .out_channel = r->channel,
    };

    if (p->itemsize == 4)
        MT_ISA_PICK(mt_conv_sweep_f32)(&s);
    else
        MT_ISA_PICK(mt_conv_sweep_f64)(&s);
}

/* Work is dealt out in parts of images: groups and panels. */
static int64_t parts_of(const plan *p)
{
    return p->s->groups * (p->sweeps ? 1 : p->n_panels);
}

static void run_part(const plan *p, const char *source, int64_t image, int64_t part)
{
    for (int64_t i = 0; i < p->n_phases; i++) {
        if (p->phases[i].n_rows == 0)
            continue;
        if (p->sweeps)
            run_sweep(p, &p->phases[i], source, image, part);
        else
            run_gather(p, &p->phases[i], source, image, part / p->n_panels, part % p->n_panels);
    }
}

/* Frames of several images, filled by all threads, then read by all. */
typedef struct wave {
    const plan *p;
    char *frames;
    int64_t first, frame_bytes;
} wave;

static void fill_range(void *ctx, int64_t begin, int64_t end)
{
    const wave *w = ctx;

    for (int64_t i = begin; i < end; i++)
        mt_conv_frame_fill(&w->p->frame, w->frames + i * w->frame_bytes, w->p->source, w->first + i, w->p->itemsize);
}

static void part_range(void *ctx, int64_t begin, int64_t end)
{
    const wave *w = ctx;
    const plan *p = w->p;
    int64_t parts = parts_of(p);

    for (int64_t i = begin; i < end; i++) {
        int64_t image = i / parts;
        const char *source = p->framed ? w->frames + image * w->frame_bytes
                                       : p->source->data + (w->first + image) * p->source->batch * p->itemsize;

        run_part(p, source, w->first + image, i % parts);
    }
}

enum { WAVE_BYTES = 1 << 19 };

static int run(const plan *p)
{
    const mt_conv_shape *s = p->s;
    int64_t bytes = 0, per_wave, parts = parts_of(p), threads = mt_get_num_threads();
    double ns = mt_conv_cost_ns(s) * (double)s->groups / (double)parts;
    wave w = {p, NULL, 0, 0};
    void *memory = NULL;

    if (mt_mul_overflow(p->frame.channels, p->frame.plane, &bytes) || bytes > INT64_MAX / 64)
        return mt_error_set(MT_ERR_RUNTIME, "convolution: the padded input is too large");
    bytes = (int64_t)mt_conv_round((size_t)((bytes + MT_CONV_SLACK) * p->itemsize));
    per_wave = p->framed ? WAVE_BYTES * threads / bytes : s->n;
    per_wave = per_wave < threads ? threads : per_wave;
    per_wave = per_wave < s->n ? per_wave : s->n;
    w.frame_bytes = bytes;
    if (p->framed) {
        if (mt_data_alloc(&memory, (size_t)(bytes * per_wave)) < 0)
            return -1;
        w.frames = memory;
        memset(w.frames, 0, (size_t)(bytes * per_wave));
    }
    for (; w.first < s->n; w.first += per_wave) {
        int64_t n = s->n - w.first < per_wave ? s->n - w.first : per_wave;

        if (p->framed)
            mt_parallel_for(n, (double)bytes / 16.0, 1, fill_range, &w);
        mt_parallel_for(n * parts, ns, 1, part_range, &w);
    }
    mt_data_free(memory, (size_t)(bytes * per_wave));
    return 0;
}

/* Pixels go into vectors when they fill them better than channels do, or when sums are short. */
static bool should_sweep(const plan *p)
{
    const mt_conv_shape *s = p->s;
    int64_t lanes = p->panel_width / 2, length = p->to_image ? s->image[2] : s->map[2];
    int64_t vectors = (length + lanes - 1) / lanes, columns = (p->columns + lanes - 1) / lanes;
    double by_pixel = (double)length / (double)(vectors * lanes),
           by_column = (double)p->columns / (double)(columns * lanes);
    int64_t depth = p->source_channels * mt_conv_product(s->kernel);

    if (s->stride[2] != 1 || (p->to_image && (s->stride[0] != 1 || s->stride[1] != 1)) || p->result->dim[2] != 1)
        return false;
    if (depth < 64 && length >= lanes)
        by_pixel *= 1.5;
    if (p->columns < 4)
        by_pixel *= (double)p->columns / 4.0 + 0.5;
    return by_pixel > by_column;
}

static int convolve(plan *p, const mt_conv_weight *w)
{
    mt_conv_arena arena = {NULL, 0, 0};
    int rc = -1;

    p->panel_width = p->itemsize == 4 ? MT_ISA_PICK(mt_conv_panel_width_f32)(p->columns)
                                      : MT_ISA_PICK(mt_conv_panel_width_f64)(p->columns);
    p->n_panels = (p->columns + p->panel_width - 1) / p->panel_width;
    p->sweeps = should_sweep(p);
    MT_TRY(make_axes(p));
    choose_source(p);
    MT_TRY(make_phases(p, w, &arena));
    MT_TRY(run(p));
    rc = 0;
fail:
    mt_conv_arena_clear(&arena);
    mt_free(p->phases);
    mt_free(p->axes);
    return rc;
}

/* --- 1 x 1 --- */

typedef struct matrix {
    const char *data;
    int64_t row, col;
} matrix;

/* out[n] = weight @ source[n] for each group, pixels being columns. */
static bool multiply(const mt_conv_shape *s, const mt_volume *source, int64_t source_channels, matrix w,
                     const mt_volume *result, int64_t columns, const char *bias)
{
    int64_t from = mt_conv_flat_stride(source, s->image), to = mt_conv_flat_stride(result, s->image);
    int64_t size = s->dtype == MT_DTYPE_f32 ? 4 : 8, pixels = mt_conv_product(s->image);

    if (!from || !to || (to != 1 && result->channel != 1))
        return false;
    for (int64_t g = 0; g < s->groups; g++) {
        mt_gemm_batch batch = {s->n, 0, source->batch, result->batch, 0};
        mt_gemm product = {columns,
                           pixels,
                           source_channels,
                           w.data + g * s->map_channels * s->image_channels * size,
                           source->data + g * source_channels * source->channel * size,
                           bias ? bias + g * columns * size : NULL,
                           result->data + g * columns * result->channel * size,
                           w.row,
                           w.col,
                           source->channel,
                           from,
                           result->channel,
                           to,
                           1,
                           0,
                           1.0,
                           bias ? 1.0 : 0.0};

        (size == 4 ? mt_gemm_batched_f32 : mt_gemm_batched_f64)(&product, &batch);
    }
    return true;
}

static bool weight_is_dense(const mt_conv_shape *s, const mt_conv_weight *w)
{
    return (w->in == 1 || s->image_channels == 1) && (w->out == s->image_channels || s->map_channels * s->groups == 1);
}

int mt_conv_to_map(const mt_conv_shape *s, const mt_volume *image, const mt_conv_weight *weight, const mt_volume *map,
                   const void *bias)
{
    plan p = {.s = s,
              .itemsize = s->dtype == MT_DTYPE_f32 ? 4 : 8,
              .columns = s->map_channels,
              .source_channels = s->image_channels,
              .source = image,
              .result = map,
              .bias = bias};

    if (mt_conv_is_pointwise(s) && weight_is_dense(s, weight) &&
        multiply(s, image, s->image_channels, (matrix){weight->data, s->image_channels, 1}, map, s->map_channels, bias))
        return 0;
    if (mt_conv_suits_columns(s, weight))
        return mt_conv_columns_to_map(s, image, weight, map, bias);
    return convolve(&p, weight);
}

int mt_conv_to_image(const mt_conv_shape *s, const mt_volume *map, const mt_conv_weight *weight, const mt_volume *image,
                     const void *bias)
{
    plan p = {.s = s,
              .to_image = true,
              .itemsize = s->dtype == MT_DTYPE_f32 ? 4 : 8,
              .columns = s->image_channels,
              .source_channels = s->map_channels,
              .source = map,
              .result = image,
              .bias = bias};

    if (mt_conv_is_pointwise(s) && weight_is_dense(s, weight) &&
        multiply(s, map, s->map_channels, (matrix){weight->data, 1, s->image_channels}, image, s->image_channels, bias))
        return 0;
    if (mt_conv_suits_columns(s, weight))
        return mt_conv_columns_to_image(s, map, weight, image, bias);
    return convolve(&p, weight);
}
