/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradients of the gradients of layer_norm, batch_norm and group_norm, made of other ops. With x^ = (x - mean) * rstd and the
   projection P(v) = v - mean(v) - x^ * mean(v * x^) over the normalised dims, the first gradients are
   dx = rstd * P(w * g), dw = sum(g * x^), db = sum(g); all that follows differentiates these three. mean and rstd come as
   numbers without a history; for derivatives of a higher order they are made functions of x again. */
#include "core/dispatch.h"
#include "kernels.h"
#include "ops.h"

/* Owns every intermediate; a step whose operand is NULL (an earlier failure) gives NULL. */
#define POOL 112
typedef struct pool {
    mt_tensor *t[POOL];
    int n;
    bool failed;
} pool;

static mt_tensor *keep(pool *p, int rc)
{
    p->failed |= rc < 0;
    return rc < 0 ? NULL : p->t[p->n++];
}

static mt_tensor **slot(pool *p)
{
    return &p->t[p->n];
}

static mt_tensor *mul(pool *p, mt_tensor *a, mt_tensor *b)
{
    return a && b ? keep(p, mt_mul(slot(p), a, b)) : NULL;
}

static mt_tensor *add(pool *p, mt_tensor *a, mt_tensor *b)
{
    return a && b ? keep(p, mt_add(slot(p), a, b, mt_scalar_from_int(1))) : NULL;
}

static mt_tensor *sub(pool *p, mt_tensor *a, mt_tensor *b)
{
    return a && b ? keep(p, mt_sub(slot(p), a, b, mt_scalar_from_int(1))) : NULL;
}

static mt_tensor *mean(pool *p, mt_tensor *a, mt_ints dims)
{
    return a ? keep(p, mt_mean_dim(slot(p), a, dims, true, MT_DTYPE_NONE)) : NULL;
}

static mt_tensor *float_of(pool *p, mt_tensor *a)
{
    if (!a || (a->dtype != MT_DTYPE_f16 && a->dtype != MT_DTYPE_bf16))
        return a;
    return keep(p, mt_to_dtype(slot(p), a, MT_DTYPE_f32, false, false, -1));
}

static mt_tensor *reshape(pool *p, mt_tensor *a, mt_ints size)
{
    a = float_of(p, a);
    return a ? keep(p, mt_reshape(slot(p), a, size)) : NULL;
}

/* To a larger size; NULL stays NULL. */
static mt_tensor *expanded(pool *p, mt_tensor *a, mt_ints size)
{
    return a ? keep(p, mt_expand(slot(p), a, size, false)) : NULL;
}

/* 0, but with the derivatives of a. */
static mt_tensor *variation(pool *p, mt_tensor *a)
{
    mt_tensor *constant = a ? keep(p, mt_detach(slot(p), a)) : NULL;

    return sub(p, a, constant);
}

static void pool_clear(pool *p)
{
    for (int i = 0; i < p->n; i++)
        mt_tensor_clear(&p->t[i]);
}

/* What the two ops have in common: everything broadcasts against x. */
typedef struct norm_terms {
    mt_tensor *x, *g, *w; /* w may be NULL */
    mt_tensor *mean, *rstd;
    mt_tensor *gx, *gw, *gb;    /* gradients of dx, dw, db; each may be NULL */
    mt_ints dims;               /* normalised; n 0: the statistics are constants */
    mt_tensor *d_g, *d_x, *d_w; /* results; d_w before it is summed to the shape of w; NULL: zero */
} norm_terms;

/* The statistics with the values they have, as functions of x: rstd = (1 / rstd0^2 + var - var0)^(-1/2). */
static int follow_statistics(pool *p, norm_terms *k)
{
    mt_tensor *r = k->rstd, *centred, *change, *one, *factor;

    k->mean = add(p, k->mean, variation(p, mean(p, k->x, k->dims)));
    centred = sub(p, k->x, k->mean);
    change = mul(p, mul(p, r, r), variation(p, mean(p, mul(p, centred, centred), k->dims)));
    one = keep(p, mt_tensor_from_scalar(slot(p), mt_scalar_from_double(1)));
    factor = add(p, change, one);
    k->rstd = mul(p, r, factor ? keep(p, mt_rsqrt(slot(p), factor)) : NULL);
    return k->rstd ? 0 : -1;
}

static mt_tensor *project(pool *p, const norm_terms *k, mt_tensor *v, mt_tensor *hat, mt_tensor *mean_v,
                          mt_tensor *dot_v)
{
    return k->dims.n ? sub(p, sub(p, v, mean_v), mul(p, hat, dot_v)) : v;
}

/* Through dx. */
static int through_input(pool *p, norm_terms *k, mt_tensor *hat)
{
    mt_tensor *a = k->w ? mul(p, k->g, k->w) : k->g, *v = k->gx, *r = k->rstd;
    mt_tensor *mean_v = NULL, *mean_a = NULL, *dot_v = NULL, *dot_a = NULL, *pv, *rest;

    if (k->dims.n) {
        mean_v = mean(p, v, k->dims), mean_a = mean(p, a, k->dims);
        dot_v = mean(p, mul(p, v, hat), k->dims), dot_a = mean(p, mul(p, a, hat), k->dims);
    }
    pv = project(p, k, v, hat, mean_v, dot_v);
    rest = mul(p, r, pv);
    k->d_g = k->w ? mul(p, rest, k->w) : rest;
    k->d_w = k->w ? mul(p, rest, k->g) : NULL;
    if (!k->dims.n)
        return k->d_g ? 0 : -1;
    /* -r * r * (x^ * (mean(v a) - mean(v) mean(a) - mean(v x^) mean(a x^)) + mean(a x^) P(v) + mean(v x^) P(a)) */
    rest = sub(p, sub(p, mean(p, mul(p, v, a), k->dims), mul(p, mean_v, mean_a)), mul(p, dot_v, dot_a));
    rest = add(p, mul(p, hat, rest), mul(p, dot_a, pv));
    rest = add(p, rest, mul(p, dot_v, project(p, k, a, hat, mean_a, dot_a)));
    rest = mul(p, mul(p, r, r), rest);
    if (!rest)
        return -1;
    k->d_x = keep(p, mt_neg(slot(p), rest));
    return k->d_x ? 0 : -1;
}

static int differentiate(pool *p, norm_terms *k)
{
    mt_tensor *hat, *part;

    if (k->dims.n && follow_statistics(p, k) < 0)
        return -1;
    hat = mul(p, sub(p, k->x, k->mean), k->rstd);
    if (!hat || (k->gx && through_input(p, k, hat) < 0))
        return -1;
    if (k->gw) {
        mt_tensor *h = mul(p, k->g, k->gw), *mean_h = NULL, *dot_h = NULL;

        part = mul(p, k->gw, hat);
        k->d_g = k->d_g ? add(p, k->d_g, part) : part;
        if (k->dims.n)
            mean_h = mean(p, h, k->dims), dot_h = mean(p, mul(p, h, hat), k->dims);
        part = mul(p, k->rstd, project(p, k, h, hat, mean_h, dot_h));
        k->d_x = k->d_x ? add(p, k->d_x, part) : part;
        if (!k->d_x || !k->d_g)
            return -1;
    }
    if (k->gb) {
        k->d_g = k->d_g ? add(p, k->d_g, k->gb) : k->gb;
        if (!k->d_g)
            return -1;
    }
    return p->failed ? -1 : 0;
}

/* value in the shape and dtype of `like`: expanded when it is smaller, summed over `over` when it is larger; zeros for
   NULL. */
static int give(mt_tensor **out, mt_tensor *value, mt_tensor *like, mt_ints over)
{
    mt_tensor *t = NULL, *next = NULL;
    int rc = -1;

    if (!value)
        return mt_zeros_like(out, like, MT_DTYPE_NONE, -1, MT_DEVICE_NONE, NULL, -1);
    if (over.n > 0)
        MT_TRY(mt_sum_dim_IntList(&t, value, over, false, MT_DTYPE_NONE));
    else
        t = mt_tensor_ref(value);
    if (t->numel == like->numel)
        MT_TRY(mt_reshape(&next, t, (mt_ints){like->size, like->ndim}));
    else
        MT_TRY(mt_expand(&next, t, (mt_ints){like->size, like->ndim}, false));
    mt_tensor_clear(&t);
    t = mt_tensor_move(&next);
    if (t->dtype != like->dtype)
        MT_TRY(mt_to_dtype(out, t, (mt_dtype)like->dtype, false, false, -1));
    else
        *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    mt_tensor_clear(&next);
    return rc;
}

int mt_impl_layer_norm_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *grad_input,
                                       mt_tensor *grad_weight, mt_tensor *grad_bias, mt_tensor *input,
                                       mt_tensor *weight, mt_tensor *grad_out, mt_tensor *mean, mt_tensor *rstd,
                                       mt_ints normalized_shape, mt_ints output_mask)
{
    pool p = {.n = 0};
    norm_terms k = {.x = float_of(&p, input),
                    .g = float_of(&p, grad_out),
                    .w = float_of(&p, weight),
                    .mean = float_of(&p, mean),
                    .rstd = float_of(&p, rstd),
                    .gx = float_of(&p, grad_input),
                    .gw = weight ? float_of(&p, grad_weight) : NULL,
                    .gb = float_of(&p, grad_bias)};
    int64_t dims[MT_MAX_DIM];
    int axis = input->ndim - normalized_shape.n, rc = -1;

    MT_REQUIRE(output_mask.n == 3 && axis >= 0, MT_ERR_RUNTIME, "layer_norm_double_backward(): wrong arguments");
    for (int i = 0; i < input->ndim; i++)
        dims[i] = i;
    k.dims = (mt_ints){dims + axis, normalized_shape.n};
    MT_TRY(p.failed ? -1 : differentiate(&p, &k));
    if (output_mask.data[0])
        MT_TRY(give(out0, k.d_g, grad_out, (mt_ints){NULL, 0}));
    if (output_mask.data[1])
        MT_TRY(give(out1, k.d_x, input, (mt_ints){NULL, 0}));
    if (output_mask.data[2] && weight)
        MT_TRY(give(out2, k.d_w, weight, (mt_ints){dims, axis}));
    rc = 0;
fail:
    pool_clear(&p);
    return rc;
}

/* 1 / sqrt(var + eps) */
static mt_tensor *inverse_std(pool *p, mt_tensor *var, double eps)
{
    mt_tensor *number, *sum;

    number = keep(p, mt_tensor_from_scalar(slot(p), mt_scalar_from_double(eps)));
    sum = add(p, var, number);
    return sum ? keep(p, mt_rsqrt(slot(p), sum)) : NULL;
}

int mt_impl_batch_norm_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *input,
                                       mt_tensor *weight, mt_tensor *grad_input, mt_tensor *grad_weight,
                                       mt_tensor *grad_bias, mt_tensor *grad_out, mt_tensor *running_mean,
                                       mt_tensor *running_var, bool train, double eps, mt_tensor *save_mean,
                                       mt_tensor *save_invstd, mt_ints output_mask)
{
    pool p = {.n = 0};
    mt_tensor *mu = train ? save_mean : running_mean, *r;
    norm_terms k = {.x = float_of(&p, input), .g = float_of(&p, grad_out), .gx = float_of(&p, grad_input)};
    int64_t size[MT_MAX_DIM], dims[MT_MAX_DIM];
    mt_ints channel = {size, input->ndim};
    int n_dims = 0, rc = -1;

    MT_REQUIRE(output_mask.n == 3 && input->ndim >= 2 && mu && (train ? save_invstd : running_var), MT_ERR_RUNTIME,
               "batch_norm_double_backward(): wrong arguments");
    for (int i = 0; i < input->ndim; i++) {
        size[i] = i == 1 ? input->size[1] : 1;
        if (i != 1)
            dims[n_dims++] = i;
    }
    r = train ? float_of(&p, save_invstd) : inverse_std(&p, float_of(&p, running_var), eps);
    k.mean = reshape(&p, float_of(&p, mu), channel);
    k.rstd = reshape(&p, r, channel);
    k.w = weight ? reshape(&p, float_of(&p, weight), channel) : NULL;
    k.gw = weight && grad_weight ? reshape(&p, float_of(&p, grad_weight), channel) : NULL;
    k.gb = grad_bias ? reshape(&p, float_of(&p, grad_bias), channel) : NULL;
    k.dims = (mt_ints){dims, train ? n_dims : 0};
    MT_TRY(p.failed ? -1 : differentiate(&p, &k));
    if (output_mask.data[0])
        MT_TRY(give(out0, k.d_x, input, (mt_ints){NULL, 0}));
    if (output_mask.data[1] && weight)
        MT_TRY(give(out1, k.d_w, weight, (mt_ints){dims, n_dims}));
    if (output_mask.data[2])
        MT_TRY(give(out2, k.d_g, grad_out, (mt_ints){NULL, 0}));
    rc = 0;
fail:
    pool_clear(&p);
    return rc;
}

/* Samples, groups, channels of a group, elements of a channel: the last two are normalised. */
int mt_impl_group_norm_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *grad_input,
                                       mt_tensor *grad_weight, mt_tensor *grad_bias, mt_tensor *grad_out,
                                       mt_tensor *input, mt_tensor *mean, mt_tensor *rstd, mt_tensor *weight, int64_t N,
                                       int64_t C, int64_t HxW, int64_t group, mt_ints output_mask)
{
    static const int64_t normalised[2] = {2, 3}, shared[2] = {0, 3};
    pool p = {.n = 0};
    norm_terms k = {.dims = {normalised, 2}};
    int64_t full[4] = {N, group, 0, HxW}, channel[4] = {1, group, 0, 1}, stat[4] = {N, group, 1, 1};
    int rc = -1;

    MT_REQUIRE(output_mask.n == 3 && group > 0, MT_ERR_RUNTIME, "group_norm_double_backward(): wrong arguments");
    full[2] = channel[2] = C / group;
    k.x = reshape(&p, input, (mt_ints){full, 4});
    k.g = reshape(&p, grad_out, (mt_ints){full, 4});
    k.gx = reshape(&p, grad_input, (mt_ints){full, 4});
    k.mean = reshape(&p, mean, (mt_ints){stat, 4});
    k.rstd = reshape(&p, rstd, (mt_ints){stat, 4});
    k.w = reshape(&p, weight, (mt_ints){channel, 4});
    k.gw = weight ? reshape(&p, grad_weight, (mt_ints){channel, 4}) : NULL;
    k.gb = reshape(&p, grad_bias, (mt_ints){channel, 4});
    MT_TRY(p.failed ? -1 : differentiate(&p, &k));
    if (output_mask.data[0])
        MT_TRY(give(out0, expanded(&p, k.d_g, (mt_ints){full, 4}), grad_out, (mt_ints){NULL, 0}));
    if (output_mask.data[1])
        MT_TRY(give(out1, k.d_x, input, (mt_ints){NULL, 0}));
    if (output_mask.data[2] && weight)
        MT_TRY(give(out2, k.d_w, weight, (mt_ints){shared, 2}));
    rc = p.failed ? -1 : 0;
fail:
    pool_clear(&p);
    return rc;
}
