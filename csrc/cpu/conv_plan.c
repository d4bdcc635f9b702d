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

static void copy_line(char *dst, const char *src, int64_t stride, int64_t n, int itemsize)
{
    if (stride == 1) {
        memcpy(dst, src, (size_t)(n * itemsize));
        return;
    }
    if (itemsize == 4)
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + 4 * i, src + 4 * i * stride, 4);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + 8 * i, src + 8 * i * stride, 8);
}

/* Lines of the inner volume; what lies around them is zeroed line by line, or plane by plane. */
static void fill_plane(const mt_conv_frame *f, char *dst, const char *src, const mt_volume *v, int itemsize)
{
    int64_t line = f->size[2] * itemsize, before = f->lo[2] * itemsize;
    int64_t n = f->inner[2] * itemsize, after = line - before - n;

    for (int64_t d = 0; d < f->size[0]; d++) {
        int64_t z = d - f->lo[0];

        if (z < 0 || z >= f->inner[0]) {
            memset(dst, 0, (size_t)(f->size[1] * line));
            dst += f->size[1] * line;
            continue;
        }
        for (int64_t h = 0; h < f->size[1]; h++, dst += line) {
            int64_t y = h - f->lo[1];

            if (y < 0 || y >= f->inner[1]) {
                memset(dst, 0, (size_t)line);
                continue;
            }
            memset(dst, 0, (size_t)before);
            copy_line(dst + before, src + (z * v->dim[0] + y * v->dim[1]) * itemsize, v->dim[2], f->inner[2], itemsize);
            memset(dst + before + n, 0, (size_t)after);
        }
    }
}

void mt_conv_frame_fill(const mt_conv_frame *f, void *dst, const mt_volume *src, int64_t image, int itemsize)
{
    for (int64_t c = 0; c < f->channels; c++)
        fill_plane(f, (char *)dst + c * f->plane * itemsize,
                   src->data + (image * src->batch + c * src->channel) * itemsize, src, itemsize);
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
        if (s->kernel[i] != 1 || s->stride[i] != 1 || s->pad[i] != 0)
            return false;
    return true;
}

double mt_conv_cost_ns(const mt_conv_shape *s)
{
    double products = (double)s->image_channels * (double)s->map_channels * (double)mt_conv_product(s->kernel) *
                      (double)mt_conv_product(s->map);

    return 50.0 + products / (s->dtype == MT_DTYPE_f32 ? 40.0 : 20.0);
}
