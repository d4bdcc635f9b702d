/* SPDX-License-Identifier: BSD-3-Clause */
/* Second derivatives of normalisation, made of ops. Per row or channel let r be the inverse deviation, x' = (x - mean) r,
   and P(u) = u - mean(u) - x' mean(u x'), which is the derivative of x' up to the factor r. The gradients are
   dx = r P(g w), dw = sum(g x'), db = sum(g). With directions v, p, q for dx, dw, db their derivatives are

     by g: w r P(v) + p x' + q          by w: sum(g r P(v))
     by x: r P(p g) - r^2 (x' mean(h P(v)) + c P(h) + a P(v)),  h = g w, a = mean(h x'), c = mean(v x')

   With fixed statistics (evaluation) P is the identity, dx = r g w, and only p g r is left for x. */
#include "core/formula.h"
#include "ops.h"

static const mt_scalar one = {MT_CAT_INT, 0, {1}};

/* Intermediate results, owned together; after a failure every step gives NULL. */
enum { MAX_STEPS = 64 };
typedef struct steps {
    mt_tensor *t[MAX_STEPS];
    int n;
    bool failed;
} steps;

static mt_tensor *keep(steps *s, int rc, mt_tensor *t)
{
    if (rc < 0 || s->n >= MAX_STEPS) {
        mt_tensor_unref(rc < 0 ? NULL : t);
        s->failed = true;
        return NULL;
    }
    s->t[s->n++] = t;
    return t;
}

static mt_tensor *mul(steps *s, mt_tensor *a, mt_tensor *b)
{
    mt_tensor *out = NULL;

    if (s->failed)
        return NULL;
    return keep(s, mt_mul(&out, a, b), out);
}

static mt_tensor *add(steps *s, mt_tensor *a, mt_tensor *b)
{
    mt_tensor *out = NULL;

    if (s->failed || !a || !b)
        return a ? a : b;
    return keep(s, mt_add(&out, a, b, one), out);
}

static mt_tensor *sub(steps *s, mt_tensor *a, mt_tensor *b)
{
    mt_tensor *out = NULL;

    if (s->failed)
        return NULL;
    return keep(s, mt_sub(&out, a, b, one), out);
}

static mt_tensor *mean_of(steps *s, mt_tensor *a, mt_ints dims)
{
    mt_tensor *out = NULL;

    if (s->failed)
        return NULL;
    return keep(s, mt_mean_dim(&out, a, dims, true, MT_DTYPE_NONE), out);
}

static mt_tensor *reshape(steps *s, mt_tensor *a, mt_ints shape)
{
    mt_tensor *out = NULL;

    if (s->failed || !a)
        return NULL;
    return keep(s, mt_reshape(&out, a, shape), out);
}

/* The sum over dims, in the shape of the weight. */
static mt_tensor *sum_like(steps *s, mt_tensor *a, mt_ints dims, mt_tensor *weight)
{
    mt_tensor *out = NULL;

    if (s->failed)
        return NULL;
    if (dims.n > 0)
        a = keep(s, mt_sum_dim_IntList(&out, a, dims, true, MT_DTYPE_NONE), out);
    return reshape(s, a, mt_sizes_of(weight));
}

static int give(mt_tensor **out, steps *s, mt_tensor *t)
{
    if (!s->failed && t)
        *out = mt_tensor_ref(t);
    return s->failed ? -1 : 0;
}

static void clear(steps *s)
{
    for (int i = 0; i < s->n; i++)
        mt_tensor_clear(&s->t[i]);
}

typedef struct problem {
    mt_tensor *v, *p, *q;             /* directions of dx, dw, db; NULL: zero */
    mt_tensor *grad, *x, *weight, *mean, *rstd;
    mt_ints statistics, parameters;   /* dims of the statistics; dims over which weights are shared */
    bool fixed;                       /* statistics do not depend on x */
} problem;

static mt_tensor *project(steps *s, const problem *m, mt_tensor *u, mt_tensor *xhat)
{
    if (m->fixed || !u)
        return u;
    return sub(s, sub(s, u, mean_of(s, u, m->statistics)), mul(s, xhat, mean_of(s, mul(s, u, xhat), m->statistics)));
}

/* Shapes of v, p, q, weight, mean and rstd broadcast to x. d_weight gets the shape of `like`. */
static int solve(mt_tensor **d_grad, mt_tensor **d_x, mt_tensor **d_weight, const problem *m, mt_tensor *like, mt_ints mask)
{
    steps s = {.n = 0};
    mt_tensor *xhat = mul(&s, sub(&s, m->x, m->mean), m->rstd), *pv = m->v ? project(&s, m, m->v, xhat) : NULL;
    mt_tensor *r_pv = pv ? mul(&s, m->rstd, pv) : NULL, *t;
    int rc = -1;

    if (mask.data[0]) {
        t = r_pv && m->weight ? mul(&s, m->weight, r_pv) : r_pv;
        t = add(&s, t, m->p ? mul(&s, m->p, xhat) : NULL);
        t = add(&s, t, m->q);
        MT_TRY(give(d_grad, &s, t));
    }
    if (mask.data[1]) {
        t = m->p ? mul(&s, m->rstd, project(&s, m, mul(&s, m->p, m->grad), xhat)) : NULL;
        if (m->v && !m->fixed) {
            mt_tensor *h = m->weight ? mul(&s, m->grad, m->weight) : m->grad, *ph = project(&s, m, h, xhat);
            mt_tensor *a = mean_of(&s, mul(&s, h, xhat), m->statistics);
            mt_tensor *c = mean_of(&s, mul(&s, m->v, xhat), m->statistics);
            mt_tensor *bend = mul(&s, xhat, mean_of(&s, mul(&s, h, pv), m->statistics));

            bend = add(&s, add(&s, bend, mul(&s, c, ph)), mul(&s, a, pv));
            bend = mul(&s, mul(&s, m->rstd, m->rstd), bend);
            t = t ? sub(&s, t, bend) : s.failed ? NULL : keep(&s, mt_neg(&t, bend), t);
        }
        MT_TRY(give(d_x, &s, t));
    }
    if (mask.data[2] && like && r_pv)
        MT_TRY(give(d_weight, &s, sum_like(&s, mul(&s, m->grad, r_pv), m->parameters, like)));
    MT_TRY(s.failed ? -1 : 0);
    rc = 0;
fail:
    clear(&s);
    return rc;
}

int mt_impl_layer_norm_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *grad_input,
                                       mt_tensor *grad_weight, mt_tensor *grad_bias, mt_tensor *input, mt_tensor *weight,
                                       mt_tensor *grad_out, mt_tensor *mean, mt_tensor *rstd, mt_ints normalized_shape,
                                       mt_ints output_mask)
{
    int64_t dims[MT_MAX_DIM];
    int outer = input->ndim - normalized_shape.n, rc;
    problem m = {.v = grad_input, .p = grad_weight, .q = grad_bias, .grad = grad_out, .x = input, .weight = weight,
                 .mean = mean, .rstd = rstd};

    *out0 = *out1 = *out2 = NULL;
    for (int i = 0; i < input->ndim; i++)
        dims[i] = i;
    m.parameters = (mt_ints){dims, outer};
    m.statistics = (mt_ints){dims + outer, normalized_shape.n};
    rc = solve(out0, out1, out2, &m, weight, output_mask);
    if (rc < 0) {
        mt_tensor_clear(out0);
        mt_tensor_clear(out1);
        mt_tensor_clear(out2);
    }
    return rc;
}

/* Evaluation: the inverse deviation from the running variance. */
static mt_tensor *invert(steps *s, mt_tensor *var, double eps)
{
    mt_tensor *number = NULL, *sum = NULL, *root = NULL;

    if (s->failed || mt_tensor_from_scalar(&number, mt_scalar_from_double(eps)) < 0) {
        s->failed = true;
        return NULL;
    }
    number = keep(s, 0, number);
    sum = add(s, var, number);
    return s->failed ? NULL : keep(s, mt_rsqrt(&root, sum), root);
}

int mt_impl_batch_norm_double_backward(mt_tensor **out0, mt_tensor **out1, mt_tensor **out2, mt_tensor *input,
                                       mt_tensor *weight, mt_tensor *grad_input, mt_tensor *grad_weight,
                                       mt_tensor *grad_bias, mt_tensor *grad_out, mt_tensor *running_mean,
                                       mt_tensor *running_var, bool train, double eps, mt_tensor *save_mean,
                                       mt_tensor *save_invstd, mt_ints output_mask)
{
    int64_t dims[MT_MAX_DIM], shape[MT_MAX_DIM], mask[3] = {output_mask.data[2], output_mask.data[0], output_mask.data[1]};
    steps s = {.n = 0};
    mt_ints broadcast = {shape, input->ndim};
    problem m = {.v = grad_input, .grad = grad_out, .x = input, .fixed = !train};
    int n = 0, rc = -1;

    *out0 = *out1 = *out2 = NULL;
    for (int i = 0; i < input->ndim; i++) {
        shape[i] = i == 1 ? input->size[1] : 1;
        if (i != 1)
            dims[n++] = i;
    }
    m.statistics = m.parameters = (mt_ints){dims, n};
    m.p = reshape(&s, grad_weight, broadcast);
    m.q = reshape(&s, grad_bias, broadcast);
    m.weight = reshape(&s, weight, broadcast);
    m.mean = reshape(&s, train ? save_mean : running_mean, broadcast);
    m.rstd = reshape(&s, train ? save_invstd : invert(&s, running_var, eps), broadcast);
    MT_TRY(s.failed ? -1 : 0);
    /* solve gives the gradients by grad_out, input, weight; here the order is input, weight, grad_out */
    MT_TRY(solve(out2, out0, out1, &m, weight, (mt_ints){mask, 3}));
    rc = 0;
fail:
    clear(&s);
    if (rc < 0) {
        mt_tensor_clear(out0);
        mt_tensor_clear(out1);
        mt_tensor_clear(out2);
    }
    return rc;
}
