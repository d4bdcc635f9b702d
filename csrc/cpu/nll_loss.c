/* SPDX-License-Identifier: BSD-3-Clause */
/* Negative log likelihood of class indices. The input is seen as (batch, classes, inner), inner 1 for plain rows; every
   index is checked before the first write. Numbers are read and written through small casts, so that one function serves
   all float dtypes; sums are double. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/op.h"
#include "kernels.h"

typedef struct nll {
    const char *data;   /* log probabilities */
    const char *weight; /* classes numbers, or NULL */
    const int64_t *target;
    mt_dtype dtype;
    int64_t batch, classes, inner, ignore_index;
    int64_t step[3]; /* bytes along batch, class, inner */
} nll;

static double load(const char *p, mt_dtype d)
{
    double value;

    if (d == MT_DTYPE_f32)
        return *(const float *)p;
    if (d == MT_DTYPE_f64)
        return *(const double *)p;
    mt_cast_table[d][MT_DTYPE_f64]((char *)&value, 8, p, 0, 1);
    return value;
}

static void store(char *p, mt_dtype d, double value)
{
    if (d == MT_DTYPE_f32)
        *(float *)p = (float)value;
    else
        mt_cast_table[MT_DTYPE_f64][d](p, 0, (char *)&value, 8, 1);
}

/* Targets as int64; uint8 targets are converted into *room. */
static int read_targets(const int64_t **out, int64_t **room, mt_tensor *target)
{
    if (target->dtype == MT_DTYPE_i64) {
        *out = (const int64_t *)mt_tensor_const_data(target);
        return 0;
    }
    if (mt_malloc((void **)room, (size_t)(target->numel + 1) * 8) < 0)
        return -1;
    mt_cast_table[target->dtype][MT_DTYPE_i64]((char *)*room, 8, mt_tensor_const_data(target),
                                               (int64_t)mt_tensor_itemsize(target), target->numel);
    *out = *room;
    return 0;
}

static int check_targets(const nll *p)
{
    for (int64_t i = 0; i < p->batch * p->inner; i++)
        if (p->target[i] != p->ignore_index && (p->target[i] < 0 || p->target[i] >= p->classes))
            return mt_error_set(MT_ERR_INDEX, "Target %lld is out of bounds.", (long long)p->target[i]);
    return 0;
}

static int set_up(nll *p, int64_t **room, mt_tensor *self, mt_tensor *target, mt_tensor *weight, int64_t ignore_index)
{
    int64_t size = (int64_t)mt_tensor_itemsize(self);
    bool plain = self->ndim <= 2;

    p->data = mt_tensor_const_data(self);
    p->weight = weight ? mt_tensor_const_data(weight) : NULL;
    p->dtype = (mt_dtype)self->dtype;
    p->batch = self->ndim == 1 ? 1 : self->size[0];
    p->classes = self->size[self->ndim == 1 ? 0 : 1];
    p->inner = plain ? 1 : self->size[2] * self->size[3];
    p->ignore_index = ignore_index;
    p->step[0] = self->ndim == 1 ? 0 : self->stride[0] * size;
    p->step[1] = self->stride[self->ndim == 1 ? 0 : 1] * size;
    p->step[2] = plain ? 0 : size; /* images are contiguous */
    if (read_targets(&p->target, room, target) < 0)
        return -1;
    return check_targets(p);
}

static double weight_of(const nll *p, int64_t class_index)
{
    return p->weight ? load(p->weight + class_index * (int64_t)mt_dtype_size(p->dtype), p->dtype) : 1.0;
}

static int forward(mt_tensor *out, mt_tensor *total, mt_tensor *self, mt_tensor *target, mt_tensor *weight,
                   int64_t reduction, int64_t ignore_index)
{
    nll p;
    int64_t *room = NULL, size = (int64_t)mt_tensor_itemsize(self);
    char *data = mt_tensor_mutable_data(out);
    double sum = 0, weights = 0;
    int rc = -1;

    MT_TRY(set_up(&p, &room, self, target, weight, ignore_index));
    for (int64_t b = 0; b < p.batch; b++)
        for (int64_t i = 0; i < p.inner; i++) {
            int64_t at = b * p.inner + i, t = p.target[at];
            double w = 0, loss = 0;

            if (t != ignore_index) {
                w = weight_of(&p, t);
                loss = -w * load(p.data + b * p.step[0] + t * p.step[1] + i * p.step[2], p.dtype);
            }
            sum += loss;
            weights += w;
            if (reduction == 0)
                store(data + at * size, p.dtype, loss);
        }
    if (reduction != 0)
        store(data, p.dtype, reduction == 1 ? sum / weights : sum);
    store(mt_tensor_mutable_data(total), p.dtype, reduction == 0 ? 0 : weights);
    rc = 0;
fail:
    mt_free(room);
    return rc;
}

static int backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self, mt_tensor *target, mt_tensor *weight,
                    int64_t reduction, int64_t ignore_index, mt_tensor *total_weight)
{
    nll p;
    int64_t *room = NULL, size = (int64_t)mt_tensor_itemsize(out);
    char *data = mt_tensor_mutable_data(out);
    const char *grad = mt_tensor_const_data(grad_output);
    double total = reduction == 1 ? load(mt_tensor_const_data(total_weight), (mt_dtype)total_weight->dtype) : 1;
    int rc = -1;

    MT_TRY(set_up(&p, &room, self, target, weight, ignore_index));
    memset(data, 0, (size_t)(out->numel * size));
    for (int64_t b = 0; b < p.batch; b++)
        for (int64_t i = 0; i < p.inner; i++) {
            int64_t at = b * p.inner + i, t = p.target[at];
            double g;

            if (t == ignore_index)
                continue;
            g = load(grad + (reduction == 0 ? at * size : 0), p.dtype);
            store(data + ((b * p.classes + t) * p.inner + i) * size, p.dtype, -weight_of(&p, t) * g / total);
        }
    rc = 0;
fail:
    mt_free(room);
    return rc;
}

int mt_cpu_nll_loss_forward(mt_tensor *out0, mt_tensor *out1, mt_tensor *self, mt_tensor *target, mt_tensor *weight,
                            int64_t reduction, int64_t ignore_index)
{
    return forward(out0, out1, self, target, weight, reduction, ignore_index);
}

int mt_cpu_nll_loss_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self, mt_tensor *target,
                             mt_tensor *weight, int64_t reduction, int64_t ignore_index, mt_tensor *total_weight)
{
    return backward(out, grad_output, self, target, weight, reduction, ignore_index, total_weight);
}

int mt_cpu_nll_loss2d_forward(mt_tensor *out0, mt_tensor *out1, mt_tensor *self, mt_tensor *target, mt_tensor *weight,
                              int64_t reduction, int64_t ignore_index)
{
    return forward(out0, out1, self, target, weight, reduction, ignore_index);
}

int mt_cpu_nll_loss2d_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self, mt_tensor *target,
                               mt_tensor *weight, int64_t reduction, int64_t ignore_index, mt_tensor *total_weight)
{
    return backward(out, grad_output, self, target, weight, reduction, ignore_index, total_weight);
}
