/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels convolution and convolution_backward: tensors become volumes of three spatial dims. Half types are computed
   in float32 and rounded once. Integers, which have no gradient, are summed by plain loops of 64 bits. */
#include "cpu/conv_op.h"

#include <string.h>

#include "base/parallel.h"
#include "core/shape.h"
#include "cpu/conv_plan.h"

/* --- arguments --- */

static void spread(int64_t out[3], mt_ints list, int nd, int64_t missing)
{
    for (int i = 0; i < 3; i++) {
        int at = i - (3 - nd);

        out[i] = at < 0 || list.n <= 0 ? missing : list.data[list.n == 1 ? 0 : at];
    }
}

void mt_conv_args_read(mt_conv_args *out, const mt_tensor *weight, mt_ints stride, mt_ints padding, mt_ints dilation,
                       bool transposed, mt_ints output_padding, int64_t groups)
{
    out->nd = weight->ndim - 2;
    out->transposed = transposed;
    out->groups = groups;
    spread(out->kernel, (mt_ints){weight->size + 2, out->nd}, out->nd, 1);
    spread(out->stride, stride, out->nd, 1);
    spread(out->pad, padding, out->nd, 0);
    spread(out->dilation, dilation, out->nd, 1);
    spread(out->output_pad, output_padding, out->nd, 0);
}

bool mt_conv_prefers_channels_last(const mt_tensor *t)
{
    int64_t least = 0;

    if (t->ndim != 4 && t->ndim != 5)
        return false;
    if (t->stride[1] == 0)
        return false;
    for (int k = 0; k < t->ndim; k++) {
        int d = k == 0 ? 1 : k == t->ndim - 1 ? 0 : t->ndim - k;

        if (t->size[d] == 0 || t->stride[d] < least || (d == 0 && least == t->stride[1]))
            return false;
        least = t->stride[d] * (t->size[d] > 1 ? t->size[d] : 1);
    }
    return true;
}

static mt_volume volume_of(const mt_tensor *t, int nd)
{
    mt_volume v = {(char *)(uintptr_t)mt_tensor_const_data(t), t->stride[0], t->stride[1], {0, 0, 0}};

    for (int i = 0; i < nd; i++)
        v.dim[3 - nd + i] = t->stride[2 + i];
    return v;
}

static mt_conv_weight weight_of(const mt_tensor *t, int nd)
{
    mt_conv_weight w = {(char *)(uintptr_t)mt_tensor_const_data(t), t->stride[0], t->stride[1], {0, 0, 0}};

    for (int i = 0; i < nd; i++)
        w.dim[3 - nd + i] = t->stride[2 + i];
    return w;
}

static void sizes_of(int64_t out[3], const mt_tensor *t, int nd)
{
    for (int i = 0; i < 3; i++)
        out[i] = i < 3 - nd ? 1 : t->size[2 + i - (3 - nd)];
}

/* image and map are the two sides; the weight is [map channels][image channels / groups][taps] either way. */
static mt_conv_shape shape_of(const mt_conv_args *a, const mt_tensor *image, const mt_tensor *map)
{
    mt_conv_shape s = {.dtype = (mt_dtype)image->dtype,
                       .n = image->size[0],
                       .groups = a->groups,
                       .image_channels = image->size[1] / a->groups,
                       .map_channels = map->size[1] / a->groups};

    sizes_of(s.image, image, a->nd);
    sizes_of(s.map, map, a->nd);
    memcpy(s.kernel, a->kernel, sizeof s.kernel);
    memcpy(s.stride, a->stride, sizeof s.stride);
    memcpy(s.pad, a->pad, sizeof s.pad);
    memcpy(s.dilation, a->dilation, sizeof s.dilation);
    return s;
}

/* --- dtypes --- */

/* t itself or a contiguous copy of another dtype; NULL for NULL. */
static int converted(mt_tensor **out, mt_tensor *t, mt_dtype dtype)
{
    *out = NULL;
    if (!t)
        return 0;
    if (t->dtype == (uint8_t)dtype) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (mt_tensor_new_like(out, t, dtype) < 0)
        return -1;
    if (mt_tensor_assign(*out, t) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

static mt_dtype compute_dtype(const mt_tensor *t)
{
    if (t->dtype == MT_DTYPE_f16 || t->dtype == MT_DTYPE_bf16)
        return MT_DTYPE_f32;
    return mt_dtype_is_float((mt_dtype)t->dtype) ? (mt_dtype)t->dtype : MT_DTYPE_i64;
}

static void pin_all(mt_tensor *const *t, int n, void (*change)(mt_storage *s))
{
    for (int i = 0; i < n; i++)
        if (t[i])
            change(t[i]->storage);
}

/* --- integers --- */

static uint64_t integer_pixel(const mt_conv_shape *s, const mt_volume *image, const mt_conv_weight *w, int64_t n,
                              int64_t map_channel, const int64_t at[3])
{
    const int64_t *x = (const int64_t *)image->data, *k = (const int64_t *)w->data;
    int64_t group = map_channel / s->map_channels, pos[3];
    uint64_t sum = 0;

    for (int64_t tap = 0; tap < mt_conv_product(s->kernel); tap++) {
        int64_t r[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};
        bool inside = true;
        int64_t from = n * image->batch + group * s->image_channels * image->channel, weight = map_channel * w->out;

        for (int d = 0; d < 3; d++) {
            pos[d] = at[d] * s->stride[d] - s->pad[d] + r[d] * s->dilation[d];
            inside &= pos[d] >= 0 && pos[d] < s->image[d];
            from += pos[d] * image->dim[d];
            weight += r[d] * w->dim[d];
        }
        for (int64_t c = 0; inside && c < s->image_channels; c++)
            sum += (uint64_t)x[from + c * image->channel] * (uint64_t)k[weight + c * w->in];
    }
    return sum;
}

/* The transposed form, one pixel of the image: the map's pixels whose kernel reaches it. */
static uint64_t integer_image_pixel(const mt_conv_shape *s, const mt_volume *map, const mt_conv_weight *w, int64_t n,
                                    int64_t image_channel, const int64_t at[3])
{
    const int64_t *x = (const int64_t *)map->data, *k = (const int64_t *)w->data;
    int64_t group = image_channel / s->image_channels;
    uint64_t sum = 0;

    for (int64_t tap = 0; tap < mt_conv_product(s->kernel); tap++) {
        int64_t r[3] = {tap / (s->kernel[1] * s->kernel[2]), tap / s->kernel[2] % s->kernel[1], tap % s->kernel[2]};
        int64_t from = n * map->batch, weight = image_channel % s->image_channels * w->in;
        bool inside = true;

        for (int d = 0; d < 3; d++) {
            int64_t reach = at[d] + s->pad[d] - r[d] * s->dilation[d];

            inside &= reach >= 0 && reach % s->stride[d] == 0 && reach / s->stride[d] < s->map[d];
            from += reach / s->stride[d] * map->dim[d];
            weight += r[d] * w->dim[d];
        }
        for (int64_t c = group * s->map_channels; inside && c < (group + 1) * s->map_channels; c++)
            sum += (uint64_t)x[from + c * map->channel] * (uint64_t)k[weight + c * w->out];
    }
    return sum;
}

/* The pixel function of every element of `to`, plus the bias. */
static void integers_to(const mt_conv_shape *s, const mt_volume *from, const mt_conv_weight *w, const mt_volume *to,
                        const int64_t *bias, bool to_image)
{
    const int64_t *size = to_image ? s->image : s->map;
    int64_t pixels = mt_conv_product(size), channels = s->groups * (to_image ? s->image_channels : s->map_channels);

    for (int64_t i = 0; i < s->n * channels * pixels; i++) {
        int64_t p = i % pixels, c = i / pixels % channels, n = i / pixels / channels;
        int64_t at[3] = {p / (size[1] * size[2]), p / size[2] % size[1], p % size[2]};
        uint64_t sum = (uint64_t)(bias ? bias[c] : 0) +
                       (to_image ? integer_image_pixel(s, from, w, n, c, at) : integer_pixel(s, from, w, n, c, at));

        ((int64_t *)
             to->data)[n * to->batch + c * to->channel + at[0] * to->dim[0] + at[1] * to->dim[1] + at[2] * to->dim[2]] =
            (int64_t)sum;
    }
}

/* --- forward --- */

static int run_forward(mt_tensor *out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, const mt_conv_args *a)
{
    mt_conv_shape s = a->transposed ? shape_of(a, out, input) : shape_of(a, input, out);
    mt_volume from = volume_of(input, a->nd), to = volume_of(out, a->nd);
    mt_conv_weight w = weight_of(weight, a->nd);
    const void *b = bias ? mt_tensor_const_data(bias) : NULL;

    to.data = mt_tensor_mutable_data(out);
    if (s.dtype == MT_DTYPE_i64) {
        integers_to(&s, &from, &w, &to, b, a->transposed);
        return 0;
    }
    return a->transposed ? mt_conv_to_image(&s, &from, &w, &to, b) : mt_conv_to_map(&s, &from, &w, &to, b);
}

int mt_cpu_convolution(mt_tensor *out, mt_tensor *input, mt_tensor *weight, mt_tensor *bias, mt_ints stride,
                       mt_ints padding, mt_ints dilation, bool transposed, mt_ints output_padding, int64_t groups)
{
    mt_dtype dtype = compute_dtype(input);
    mt_tensor *t[4] = {NULL, NULL, NULL, NULL}, *dense_bias = NULL;
    mt_conv_args a;
    int rc = -1;

    mt_conv_args_read(&a, weight, stride, padding, dilation, transposed, output_padding, groups);
    if (out->numel == 0)
        return 0;
    MT_TRY(mt_arg_contiguous(&dense_bias, bias));
    MT_TRY(converted(&t[1], input, dtype));
    MT_TRY(converted(&t[2], weight, dtype));
    MT_TRY(converted(&t[3], dense_bias, dtype));
    if (out->dtype == (uint8_t)dtype)
        t[0] = mt_tensor_ref(out);
    else
        MT_TRY(mt_tensor_new_like(&t[0], out, dtype));
    pin_all(t, 4, mt_storage_pin);
    rc = run_forward(t[0], t[1], t[2], t[3], &a);
    pin_all(t, 4, mt_storage_unpin);
    if (rc == 0 && t[0] != out)
        rc = mt_tensor_assign(out, t[0]);
fail:
    for (int i = 0; i < 4; i++)
        mt_tensor_clear(&t[i]);
    mt_tensor_clear(&dense_bias);
    return rc;
}

/* --- backward --- */

typedef struct bias_job {
    const mt_tensor *grad;
    char *out;
} bias_job;

/* Sums of one channel: lines in eight lanes, the lanes in double. */
#define CHANNEL_SUM(name, T)                                                             \
    static double name(const mt_tensor *g, int64_t channel)                              \
    {                                                                                    \
        const T *data = (const T *)mt_tensor_const_data(g) + channel * g->stride[1];     \
        int64_t length = g->size[g->ndim - 1], step = g->stride[g->ndim - 1], lines = 1; \
        double total = 0;                                                                \
                                                                                         \
        for (int i = 2; i < g->ndim - 1; i++)                                            \
            lines *= g->size[i];                                                         \
        for (int64_t n = 0; n < g->size[0]; n++)                                         \
            for (int64_t line = 0; line < lines; line++) {                               \
                int64_t left = line, at = n * g->stride[0], x = 0;                       \
                T lane[8] = {0};                                                         \
                                                                                         \
                for (int i = g->ndim - 2; i >= 2; i--) {                                 \
                    at += left % g->size[i] * g->stride[i];                              \
                    left /= g->size[i];                                                  \
                }                                                                        \
                for (; x + 8 <= length; x += 8)                                          \
                    for (int q = 0; q < 8; q++)                                          \
                        lane[q] += data[at + (x + q) * step];                            \
                for (; x < length; x++)                                                  \
                    lane[x % 8] += data[at + x * step];                                  \
                for (int q = 0; q < 8; q++)                                              \
                    total += (double)lane[q];                                            \
            }                                                                            \
        return total;                                                                    \
    }
CHANNEL_SUM(channel_sum_f32, float)
CHANNEL_SUM(channel_sum_f64, double)
#undef CHANNEL_SUM

static void bias_range(void *ctx, int64_t begin, int64_t end)
{
    const bias_job *j = ctx;

    for (int64_t c = begin; c < end; c++) {
        if (j->grad->dtype == MT_DTYPE_f32)
            ((float *)j->out)[c] = (float)channel_sum_f32(j->grad, c);
        else
            ((double *)j->out)[c] = channel_sum_f64(j->grad, c);
    }
}

static void bias_gradient(mt_tensor *out, mt_tensor *grad)
{
    bias_job j = {grad, mt_tensor_mutable_data(out)};
    double per_channel = (double)grad->numel / (double)(out->numel ? out->numel : 1);

    mt_parallel_for(out->numel, 20.0 + 0.3 * per_channel, 1, bias_range, &j);
}

/* t: gradients of input, weight and bias (NULL: not wanted), then grad_output, input, weight; all of one dtype. */
static int run_backward(mt_tensor *const t[6], const mt_conv_args *a)
{
    mt_tensor *grad = t[3], *input = t[4], *weight = t[5];
    mt_conv_shape s = a->transposed ? shape_of(a, grad, input) : shape_of(a, input, grad);
    mt_volume from = volume_of(input, a->nd), g = volume_of(grad, a->nd);

    if (t[0]) {
        mt_volume to = volume_of(t[0], a->nd);
        mt_conv_weight w = weight_of(weight, a->nd);

        to.data = mt_tensor_mutable_data(t[0]);
        if ((a->transposed ? mt_conv_to_map : mt_conv_to_image)(&s, &g, &w, &to, NULL) < 0)
            return -1;
    }
    if (t[1]) {
        mt_conv_weight w = weight_of(t[1], a->nd);

        w.data = mt_tensor_mutable_data(t[1]);
        if (mt_conv_to_weight(&s, a->transposed ? &g : &from, a->transposed ? &from : &g, &w) < 0)
            return -1;
    }
    if (t[2])
        bias_gradient(t[2], grad);
    return 0;
}

static int zero(mt_tensor *t)
{
    if (t)
        memset(mt_tensor_mutable_data(t), 0, (size_t)t->numel * mt_tensor_itemsize(t));
    return 0;
}

/* Gradients that are wanted have been allocated by the meta rule, dense; the weight's is contiguous. */
int mt_cpu_convolution_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_output,
                                mt_tensor *input, mt_tensor *weight, mt_ints bias_sizes, mt_ints stride,
                                mt_ints padding, mt_ints dilation, bool transposed, mt_ints output_padding,
                                int64_t groups, mt_ints output_mask)
{
    mt_tensor *outs[3] = {out0, out1, out2}, *ins[3] = {grad_output, input, weight};
    mt_tensor *t[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
    mt_dtype dtype = compute_dtype(input);
    mt_conv_args a;
    int rc = -1;

    (void)bias_sizes, (void)output_mask;
    mt_conv_args_read(&a, weight, stride, padding, dilation, transposed, output_padding, groups);
    if (grad_output->numel == 0 || input->numel == 0)
        return zero(out0) | zero(out1) | zero(out2);
    for (int i = 0; i < 3; i++) {
        MT_TRY(converted(&t[3 + i], ins[i], dtype));
        if (!outs[i])
            continue;
        if (outs[i]->dtype == (uint8_t)dtype)
            t[i] = mt_tensor_ref(outs[i]);
        else
            MT_TRY(mt_tensor_new_like(&t[i], outs[i], dtype));
    }
    pin_all(t, 6, mt_storage_pin);
    rc = run_backward(t, &a);
    pin_all(t, 6, mt_storage_unpin);
    for (int i = 0; rc == 0 && i < 3; i++)
        if (outs[i] && t[i] != outs[i])
            rc = mt_tensor_assign(outs[i], t[i]);
fail:
    for (int i = 0; i < 6; i++)
        mt_tensor_clear(&t[i]);
    return rc;
}
