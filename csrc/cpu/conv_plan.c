/* SPDX-License-Identifier: BSD-3-Clause */
/* Scratch memory and padded copies for convolution, and small questions about shapes. Padding is real: a source is
   copied into a frame of zeros, one image at a time, so no kernel ever tests a border. */
#include "cpu/conv_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

int mt_conv_arena_make(mt_conv_arena *a, size_t size)
{
    void *p = NULL;

    a->data = NULL;
    a->size = a->used = 0;
    if (mt_data_alloc(&p, size) < 0)
        return -1;
    a->data = p;
    a->size = size;
    return 0;
}

void *mt_conv_arena_take(mt_conv_arena *a, size_t size)
{
    void *p = a->data + a->used;

    a->used += mt_conv_round(size);
    MT_ASSERT(a->used <= a->size);
    return p;
}

void mt_conv_arena_clear(mt_conv_arena *a)
{
    mt_data_free(a->data, a->size);
    a->data = NULL;
}

/* --- frames --- */

static inline void copy_line(char *dst, const char *src, int64_t stride, int64_t n, int itemsize)
{
    int64_t bytes = n * itemsize, i = 0;

    if (stride != 1) {
        if (itemsize == 4)
            for (; i < n; i++)
                memcpy(dst + 4 * i, src + 4 * i * stride, 4);
        else
            for (; i < n; i++)
                memcpy(dst + 8 * i, src + 8 * i * stride, 8);
        return;
    }
    if (bytes > 256) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    for (; i + 16 <= bytes; i += 16)
        memcpy(dst + i, src + i, 16);
    for (; i < bytes; i += 4)
        memcpy(dst + i, src + i, 4);
}

void mt_conv_frame_fill(const mt_conv_frame *f, void *dst, const mt_volume *src, int64_t image, int itemsize)
{
    int64_t line = f->size[2], start = (f->lo[0] * f->size[1] + f->lo[1]) * line + f->lo[2];

    for (int64_t c = 0; c < f->channels; c++)
        for (int64_t z = 0; z < f->inner[0]; z++) {
            char *to = (char *)dst + (c * f->plane + z * f->size[1] * line + start) * itemsize;
            const char *from = src->data + (image * src->batch + c * src->channel + z * src->dim[0]) * itemsize;

            for (int64_t y = 0; y < f->inner[1]; y++)
                copy_line(to + y * line * itemsize, from + y * src->dim[1] * itemsize, src->dim[2], f->inner[2],
                          itemsize);
        }
}

/* --- shapes --- */

int64_t mt_conv_flat_stride(const mt_volume *v, const int64_t size[3])
{
    int64_t step = 0, expected = 0;

    for (int i = 2; i >= 0; i--) {
        if (size[i] == 1)
            continue;
        if (step && v->dim[i] != expected)
            return 0;
        if (!step)
            step = v->dim[i];
        expected = v->dim[i] * size[i];
    }
    return step ? step : 1;
}

bool mt_conv_is_pointwise(const mt_conv_shape *s)
{
    for (int i = 0; i < 3; i++)
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->pad[i] != 0 || s->image[i] != s->map[i])
            return false;
    return true;
}

double mt_conv_cost_ns(const mt_conv_shape *s)
{
    double products = (double)s->image_channels * (double)s->map_channels * (double)mt_conv_product(s->kernel) *
                      (double)mt_conv_product(s->map);

    return 50.0 + products / (s->dtype == MT_DTYPE_f32 ? 40.0 : 20.0);
}
