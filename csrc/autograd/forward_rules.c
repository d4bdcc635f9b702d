/* SPDX-License-Identifier: BSD-3-Clause */
/* How tangents go through an op, from what the catalog says for reverse mode. The gradient formulas of an op are linear
   in the gradient: they are a transposed Jacobian. Elementwise ops have a diagonal one, so the formulas serve as they
   are; linear ops are their own derivative; for the rest the formulas are run on a stand-in for the gradient, recorded,
   and transposed by a run of the engine. */
#include "autograd/forward_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "core/formula.h"
#include "ops.h"

/* --- sums of tangents --- */

static int add_to(mt_tensor **sum, mt_tensor **part)
{
    mt_tensor *both = NULL;

    if (!*part)
        return 0;
    if (!*sum) {
        *sum = mt_tensor_move(part);
        return 0;
    }
    if (mt_gradient_sum(&both, *sum, *part) < 0)
        return -1;
    mt_tensor_unref(*sum);
    mt_tensor_clear(part);
    *sum = both;
    return 0;
}

/* --- elementwise --- */

static bool is_real(const mt_forward *f)
{
    bool complex = false;

    for (int i = 0; i < f->n_edges; i++)
        complex |= (f->primal[i] && mt_dtype_is_complex((mt_dtype)f->primal[i]->dtype)) ||
                   (f->tangent[i] && mt_dtype_is_complex((mt_dtype)f->tangent[i]->dtype));
    return !complex && !mt_dtype_is_complex((mt_dtype)f->call->out[0]->dtype);
}

/* The formula of edge k with its tangent in the place of the gradient. */
static int elementwise_part(mt_tensor **out, mt_forward *f, int k)
{
    mt_tensor *slot[MT_FORWARD_EDGES] = {NULL}, *t = NULL;
    mt_edge edge[MT_FORWARD_EDGES];
    const mt_tensor *result = f->call->out[0];
    int rc = -1;

    memcpy(edge, f->node->edge, sizeof(edge[0]) * (size_t)f->n_edges);
    for (int i = 0; i < f->n_edges; i++)
        if (i != k)
            f->node->edge[i].node = NULL;
    MT_TRY(mt_expand(&t, f->tangent[k], mt_sizes_of(result), false));
    if (t->dtype != result->dtype)
        MT_TRY(mt_gradient_cast(&t, (mt_dtype)result->dtype));
    MT_TRY(f->grad->backward(f->node, &t, slot));
    if (slot[k] && slot[k]->dtype != result->dtype)
        MT_TRY(mt_gradient_cast(&slot[k], (mt_dtype)result->dtype));
    *out = mt_tensor_move(&slot[k]);
    rc = 0;
fail:
    memcpy(f->node->edge, edge, sizeof(edge[0]) * (size_t)f->n_edges);
    for (int i = 0; i < f->n_edges; i++)
        mt_tensor_clear(&slot[i]);
    mt_tensor_clear(&t);
    return rc;
}

static int run_elementwise(mt_forward *f)
{
    for (int k = 0; k < f->n_edges; k++) {
        mt_tensor *part = NULL;
        int rc;

        if (!f->tangent[k])
            continue;
        if (elementwise_part(&part, f, k) < 0)
            return -1;
        rc = add_to(&f->results[0], &part);
        mt_tensor_clear(&part);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* --- linear --- */

/* The op of other tensors: `with` has one per edge. The outputs are added to the results. */
static int call_with(mt_forward *f, mt_tensor *const *with)
{
    mt_call c;
    int n = 0, rc = -1;

    mt_call_init(&c, f->call->op, MT_VARIANT_FUNCTION);
    c.n_args = f->call->n_args;
    memcpy(c.arg, f->frame.arg, sizeof(c.arg[0]) * c.n_args);
    for (int i = 0; i < f->grad->n_inputs; i++) {
        mt_value *a = &c.arg[f->grad->input[i]];

        if (a->kind == MT_ARG_TENSORS) {
            a->v.tensors.data = with + n;
            n += a->v.tensors.n > 0 ? a->v.tensors.n : 0;
        } else {
            if (a->kind == MT_ARG_TENSOR)
                a->v.tensor = with[n];
            n++;
        }
    }
    MT_TRY(mt_dispatch(&c));
    for (int i = 0; i < c.n_outs && i < f->n_results; i++)
        MT_TRY(add_to(&f->results[i], &c.out[i]));
    rc = 0;
fail:
    mt_call_clear(&c);
    return rc;
}

static int run_linear(mt_forward *f)
{
    mt_tensor *few[MT_FORWARD_EDGES] = {NULL}, **with = few;
    void *block;
    int rc = -1;

    if (f->n_edges > MT_FORWARD_EDGES) {
        if (mt_calloc(&block, (size_t)f->n_edges, sizeof(mt_tensor *)) < 0)
            return -1;
        with = block;
    }
    for (int i = 0; i < f->n_edges; i++) {
        if (f->tangent[i]) {
            with[i] = mt_tensor_ref(f->tangent[i]);
        } else if (f->primal[i]) {
            MT_TRY(mt_tensor_new_like(&with[i], f->primal[i], (mt_dtype)f->primal[i]->dtype));
            MT_TRY(mt_zero_inplace(with[i]));
        }
    }
    rc = call_with(f, with);
fail:
    for (int i = 0; i < f->n_edges; i++)
        mt_tensor_clear(&with[i]);
    if (with != few)
        mt_free(with);
    return rc;
}

/* Only for ops of a few tensors, none in a list. */
static int run_multilinear(mt_forward *f)
{
    mt_tensor *with[MT_FORWARD_EDGES];

    for (int k = 0; k < f->n_edges; k++) {
        if (!f->tangent[k])
            continue;
        memcpy(with, f->primal, sizeof(with[0]) * (size_t)f->n_edges);
        with[k] = f->tangent[k];
        if (call_with(f, with) < 0)
            return -1;
    }
    return 0;
}

/* --- transpose --- */

MT_THREAD_LOCAL_FAST bool mt_transposing;

typedef struct transpose {
    mt_tensor **stand_in;  /* of the gradient of each output, NULL: it has none */
    mt_tensor **gradient;  /* of each edge, linear in the stand-ins */
    mt_tensor **direction; /* borrowed or cast tangents, in the order of `end` */
    mt_endpoint *end, *input;
    mt_tensor **found;
    int n_ends, n_inputs;
} transpose;

static int new_transpose(transpose *t, const mt_forward *f)
{
    size_t outs = (size_t)f->n_results, edges = (size_t)f->n_edges;
    void *block;
    char *p;

    if (mt_calloc(&block, 1, (outs + edges) * (2 * sizeof(mt_tensor *) + sizeof(mt_endpoint)) + 8) < 0)
        return -1;
    p = block;
    t->end = (mt_endpoint *)p;
    t->input = t->end + edges;
    t->stand_in = (mt_tensor **)(t->input + outs);
    t->found = t->stand_in + outs;
    t->gradient = t->found + outs;
    t->direction = t->gradient + edges;
    t->n_ends = t->n_inputs = 0;
    return 0;
}

static void free_transpose(transpose *t, const mt_forward *f)
{
    for (int i = 0; i < f->n_results; i++) {
        mt_tensor_clear(&t->stand_in[i]);
        mt_tensor_clear(&t->found[i]);
    }
    for (int i = 0; i < f->n_edges; i++) {
        mt_tensor_clear(&t->gradient[i]);
        mt_tensor_clear(&t->direction[i]);
    }
    mt_free(t->end);
}

/* The formulas, of stand-ins that require grad. Ones, since a formula may take a logarithm on its way. */
static int record_formulas(transpose *t, mt_forward *f)
{
    mt_grad_scope scope = mt_grad_scope_enter(true);
    int rc = -1;

    mt_thread.exclude |= MT_KEYS_DUAL;
    mt_transposing = true;
    for (int i = 0; i < f->n_results; i++) {
        if (!f->node->input[i].takes_grad || !f->call->out[i])
            continue;
        MT_TRY(mt_node_zeros(&t->stand_in[i], f->node, i));
        MT_TRY(mt_fill_inplace_Scalar(t->stand_in[i], mt_scalar_from_double(1.0)));
        MT_TRY(mt_autograd_set_requires_grad(t->stand_in[i], true));
    }
    MT_TRY(f->grad->backward(f->node, t->stand_in, t->gradient));
    for (int i = 0; i < f->n_edges; i++) {
        const mt_tensor *x = f->primal[i];
        mt_input_meta want;

        if (!t->gradient[i] || !f->tangent[i])
            continue;
        want = (mt_input_meta){x->size, x->ndim, x->dtype, x->device, mt_dtype_is_differentiable((mt_dtype)x->dtype)};
        MT_TRY(mt_gradient_fit(&t->gradient[i], f->node, i, &want));
    }
    rc = 0;
fail:
    mt_transposing = false;
    mt_grad_scope_leave(scope);
    return rc;
}

static int collect_ends(transpose *t, mt_forward *f)
{
    for (int i = 0; i < f->n_edges; i++) {
        mt_tensor *g = t->gradient[i];
        int n = t->n_ends;

        if (!g || !f->tangent[i] || !mt_tensor_requires_grad(g))
            continue; /* no dependence: nothing to add */
        t->direction[n] = mt_tensor_ref(f->tangent[i]);
        t->end[n] = (mt_endpoint){g, NULL, 0};
        t->n_ends++;
        if (t->direction[n]->dtype != g->dtype && mt_gradient_cast(&t->direction[n], (mt_dtype)g->dtype) < 0)
            return -1;
    }
    for (int i = 0; i < f->n_results; i++)
        if (t->stand_in[i])
            t->input[t->n_inputs++] = (mt_endpoint){t->stand_in[i], NULL, 0};
    return 0;
}

static bool takes_gradient(const mt_forward *f)
{
    for (int i = 0; i < f->n_results; i++)
        if (f->node->input[i].takes_grad && f->call->out[i])
            return true;
    return false;
}

static int run_transpose(mt_forward *f)
{
    unsigned flags = MT_RUN_ALLOW_UNUSED | (f->recorded ? MT_RUN_CREATE_GRAPH | MT_RUN_RETAIN_GRAPH : 0);
    transpose t;
    int rc = -1;

    if (!takes_gradient(f))
        return 0;
    if (new_transpose(&t, f) < 0)
        return -1;
    MT_TRY(record_formulas(&t, f));
    MT_TRY(collect_ends(&t, f));
    if (t.n_ends && t.n_inputs)
        MT_TRY(mt_engine_run(t.found, t.end, t.direction, t.n_ends, t.input, t.n_inputs, flags));
    for (int i = 0, n = 0; i < f->n_results; i++)
        if (t.stand_in[i])
            f->results[i] = mt_tensor_move(&t.found[n++]);
    rc = 0;
fail:
    free_transpose(&t, f);
    return rc;
}

/* --- the choice --- */

int mt_forward_compute(mt_forward *f)
{
    switch ((mt_jvp)f->grad->jvp) {
    case MT_JVP_LINEAR:
        return run_linear(f);
    case MT_JVP_MULTILINEAR:
        return run_multilinear(f);
    case MT_JVP_ELEMENTWISE:
        if (is_real(f) && f->n_edges <= MT_FORWARD_EDGES)
            return run_elementwise(f);
        return run_transpose(f);
    default:
        return run_transpose(f);
    }
}
