/* SPDX-License-Identifier: BSD-3-Clause */
/* Forward mode of every op: an op that meets tangents is run below, its formulas are made ready as backward would, the
   rule that the catalog names (forward_rules.c) makes the tangents of the results, and they are handed out. Everything
   goes through the dispatcher, so tangents have gradients too. */
#include "autograd/forward_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "core/formula.h"
#include "ops.h"

/* --- what the call has --- */

static bool has_tangent(const mt_tensor *t)
{
    return t && (mt_tensor_keys(t) & MT_KEYS_DUAL);
}

static bool any_tangent(const mt_call *call)
{
    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];

        if (a->kind == MT_ARG_TENSOR && has_tangent(a->v.tensor))
            return true;
        for (int j = 0; a->kind == MT_ARG_TENSORS && j < a->v.tensors.n; j++)
            if (has_tangent(a->v.tensors.data[j]))
                return true;
    }
    return false;
}

/* Unlike a node without a formula, a call has an edge for every argument. */
static int count_edges(const mt_forward *f)
{
    int n = 0;

    for (int i = 0; i < f->grad->n_inputs; i++) {
        const mt_value *a = &f->call->arg[f->grad->input[i]];

        n += a->kind != MT_ARG_TENSORS ? 1 : a->v.tensors.n > 0 ? a->v.tensors.n : 0;
    }
    return n;
}

/* Primals and tangents of all edges; tells in *any whether there is a tangent. */
static int gather(bool *any, mt_forward *f)
{
    int n = 0;
    void *block;

    *any = false;
    f->n_edges = count_edges(f);
    f->primal = f->few;
    if (f->n_edges > MT_FORWARD_EDGES) {
        if (mt_calloc(&block, 2 * (size_t)f->n_edges, sizeof(mt_tensor *)) < 0)
            return -1;
        f->primal = block;
    }
    f->tangent = f->primal + f->n_edges;
    for (int i = 0; i < f->grad->n_inputs; i++) {
        const mt_value *a = &f->call->arg[f->grad->input[i]];
        bool is_list = a->kind == MT_ARG_TENSORS;
        int count = is_list ? (a->v.tensors.n > 0 ? a->v.tensors.n : 0) : 1;

        for (int j = 0; j < count; j++, n++) {
            mt_tensor *t = is_list ? a->v.tensors.data[j] : a->kind == MT_ARG_TENSOR ? a->v.tensor : NULL;

            f->primal[n] = t ? mt_tensor_ref(t) : NULL;
            if (has_tangent(f->primal[n]) && mt_forward_tangent(&f->tangent[n], f->primal[n]) < 0)
                return -1;
            *any |= f->tangent[n] != NULL;
        }
    }
    return 0;
}

/* Somebody may differentiate the tangents that come out. */
static bool is_recorded(const mt_forward *f)
{
    bool any = false;

    for (int i = 0; i < f->n_edges; i++)
        any |= (f->primal[i] && mt_tensor_requires_grad(f->primal[i])) ||
               (f->tangent[i] && mt_tensor_requires_grad(f->tangent[i]));
    return any && mt_thread.grad_mode;
}

/* A view of t without its tangent. */
static int primal_of(mt_tensor **out, mt_tensor *t)
{
    mt_tensor *tangent;

    if (mt_forward_unpack(out, &tangent, t, mt_forward_level()) < 0)
        return -1;
    mt_tensor_unref(tangent);
    return 0;
}

static int without_tangent(mt_tensor **t)
{
    mt_tensor *primal;

    if (!*t || !has_tangent(*t))
        return 0;
    if (primal_of(&primal, *t) < 0)
        return -1;
    mt_tensor_unref(*t);
    *t = primal;
    return 0;
}

/* The frame that the formulas see. */
static int make_frame(mt_forward *f)
{
    void *block;
    int n = 0;

    mt_call_init(&f->frame, f->call->op, (mt_variant)f->call->variant);
    f->frame.n_args = f->call->n_args;
    memcpy(f->frame.arg, f->call->arg, sizeof(f->frame.arg[0]) * f->call->n_args);
    f->recorded = is_recorded(f);
    if (!f->recorded)
        return 0;
    for (int i = 0; i < f->n_edges; i++)
        if (without_tangent(&f->primal[i]) < 0)
            return -1;
    for (int i = 0; i < f->grad->n_inputs; i++) {
        mt_value *a = &f->frame.arg[f->grad->input[i]];
        int count = a->kind == MT_ARG_TENSORS ? (a->v.tensors.n > 0 ? a->v.tensors.n : 0) : 1;

        if (a->kind == MT_ARG_TENSORS && count) {
            if (mt_malloc(&block, (size_t)count * sizeof(mt_tensor *)) < 0)
                return -1;
            f->lists[i] = memcpy(block, f->primal + n, (size_t)count * sizeof(mt_tensor *));
            a->v.tensors.data = block;
        } else if (a->kind == MT_ARG_TENSOR) {
            a->v.tensor = f->primal[n];
        }
        n += count;
    }
    return 0;
}

static int replace_by_copy(mt_tensor **t)
{
    mt_tensor *copy = NULL;

    if (mt_clone(&copy, *t, MT_FORMAT_PRESERVE) < 0)
        return -1;
    mt_tensor_unref(*t);
    *t = copy;
    return 0;
}

/* An in-place form overwrites self and its tangent. Formulas read other arguments in that memory (x.mul_(x)) from
   copies; so does a graph of the tangents, which else held the tangent that holds the graph. */
static int keep_from_overwriting(mt_forward *f)
{
    mt_tensor *written = NULL;
    int n = 0, rc = -1;

    MT_TRY(mt_forward_tangent(&written, f->self));
    for (int i = 0; written && f->recorded && i < f->n_edges; i++)
        if (f->tangent[i] && f->tangent[i]->storage == written->storage)
            MT_TRY(replace_by_copy(&f->tangent[i]));
    for (int i = 0; i < f->grad->n_inputs; i++) {
        mt_value *a = &f->frame.arg[f->grad->input[i]];

        if (a->kind == MT_ARG_TENSOR && f->grad->input[i] != 0 && a->v.tensor->storage == f->self->storage) {
            MT_TRY(replace_by_copy(&f->primal[n]));
            a->v.tensor = f->primal[n];
        }
        n += a->kind == MT_ARG_TENSORS ? (a->v.tensors.n > 0 ? a->v.tensors.n : 0) : 1;
    }
    rc = 0;
fail:
    mt_tensor_unref(written);
    return rc;
}

static void clear(mt_forward *f)
{
    for (int i = 0; f->tangent && i < f->n_edges; i++) {
        mt_tensor_clear(&f->primal[i]);
        mt_tensor_clear(&f->tangent[i]);
    }
    for (int i = 0; i < MT_MAX_ARGS; i++)
        mt_free(f->lists[i]);
    for (int i = 0; f->results && i < f->n_results; i++)
        mt_tensor_clear(&f->results[i]);
    if (f->primal != f->few)
        mt_free(f->primal);
    if (f->results != f->result)
        mt_free(f->results);
    mt_node_clear(&f->node);
    mt_node_clear(&f->mark);
}

/* --- the node of the formulas --- */

static const char *mark_name(const mt_node *n)
{
    (void)n;
    return "torch::autograd::ForwardMark";
}

static int mark_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    (void)n, (void)grads, (void)out;
    return 0;
}

static const mt_node_ops mark_ops = {mark_name, mark_run, NULL, NULL, NULL, NULL};

static const char *formula_name(const mt_node *n)
{
    return n->op->grad->node_name;
}

static int formula_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    return n->op->grad->backward(n, grads, out);
}

static const mt_node_ops formula_ops = {formula_name, formula_run, mt_node_release_saved, NULL, NULL, NULL};

static uint32_t connect(mt_forward *f)
{
    uint32_t needed = 0;
    int n = 0;

    for (int i = 0; i < f->grad->n_inputs; i++) {
        const mt_value *a = &f->call->arg[f->grad->input[i]];
        int count = a->kind == MT_ARG_TENSORS ? (a->v.tensors.n > 0 ? a->v.tensors.n : 0) : 1;

        for (int j = 0; j < count; j++, n++) {
            if (!f->tangent[n])
                continue;
            f->node->edge[n] = (mt_edge){mt_node_ref(f->mark), 0};
            needed |= 1u << i;
        }
    }
    return needed;
}

static int make_node(mt_forward *f, mt_tensor *const *outs, int n_outs)
{
    mt_saver s = {&f->frame, f->grad, NULL, NULL, 0, f->self ? f->frame.arg[0].v.tensor : NULL};
    int64_t dims = 0;
    int rc = -1;

    for (int i = 0; i < n_outs; i++)
        dims += outs[i] ? outs[i]->ndim : 0;
    MT_TRY(mt_node_new(&f->mark, &mark_ops, 0, 0, 0, 0));
    MT_TRY(mt_node_new(&f->node, &formula_ops, f->n_edges, f->grad->n_saved, n_outs,
                       dims + mt_record_survey_saved(&f->frame, f->grad)));
    f->node->op = f->call->op;
    for (int i = 0; i < n_outs; i++)
        mt_node_set_input(f->node, i, outs[i]);
    s.node = f->node;
    s.room = (int64_t *)(f->node->input + n_outs) + dims;
    s.needed = connect(f);
    MT_TRY(mt_record_inputs(&s));
    rc = 0;
fail:
    return rc;
}

/* Results are saved with the history they have, not as outputs of this node. */
static int save_results(mt_forward *f)
{
    for (int k = 0; k < f->grad->n_saved; k++) {
        const mt_saved_spec *spec = &f->grad->saved[k];

        mt_tensor *out = NULL;
        int rc;

        if (spec->kind != MT_SAVE_RESULT || spec->index >= f->call->n_outs || !f->call->out[spec->index])
            continue;
        if (!f->recorded)
            out = mt_tensor_ref(f->call->out[spec->index]);
        else if (primal_of(&out, f->call->out[spec->index]) < 0)
            return -1;
        rc = mt_saved_set_tensor(f->node, k, out, false, 0);
        mt_tensor_unref(out);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* --- the call --- */

/* A tangent that is a tangent of an argument, or lies in its memory, is copied: one may be changed in place. */
static int own(mt_tensor **result, const mt_forward *f)
{
    mt_tensor *copy = NULL;
    bool shared = false;

    for (int i = 0; i < f->n_edges; i++)
        shared |= f->tangent[i] && f->tangent[i]->storage == (*result)->storage;
    if (!shared)
        return 0;
    if (mt_clone(&copy, *result, MT_FORMAT_PRESERVE) < 0)
        return -1;
    mt_tensor_unref(*result);
    *result = copy;
    return 0;
}

static int new_results(mt_forward *f)
{
    void *block;

    f->n_results = f->call->n_outs;
    f->results = f->result;
    if (f->n_results > MT_MAX_OUTS) {
        f->results = NULL;
        if (mt_calloc(&block, (size_t)f->n_results, sizeof(mt_tensor *)) < 0)
            return -1;
        f->results = block;
    }
    return 0;
}

static bool is_argument(const mt_forward *f, const mt_tensor *t)
{
    for (int i = 0; i < f->grad->n_inputs; i++) {
        const mt_value *a = &f->call->arg[f->grad->input[i]];

        if (a->kind == MT_ARG_TENSOR && a->v.tensor == t)
            return true;
    }
    return false;
}

/* The node that just made `out`; where that is a view which was written, it is inside the node of the base. */
static mt_node *maker(const mt_tensor *out, bool is_written, uint32_t *output_nr)
{
    const mt_tensor *holder = is_written && out->base ? out->base : out;
    mt_node *n = holder->autograd ? holder->autograd->grad_fn : NULL;

    *output_nr = n ? holder->autograd->output_nr : 0;
    return n && holder != out ? mt_copy_slices_inner(n) : n;
}

/* What backward saved of its own results is an alias without a tangent; derivatives of derivatives need it. */
static int tell_saved(mt_tensor *out, bool is_written)
{
    uint32_t output_nr;
    mt_node *n = maker(out, is_written, &output_nr);

    for (int k = 0; n && k < n->n_saved; k++) {
        mt_saved *s = &n->saved[k];
        mt_tensor *t = NULL;
        int rc;

        if (!s->is_output || s->packed || s->value.kind != MT_ARG_TENSOR || !s->value.v.tensor ||
            s->output_nr != output_nr)
            continue;
        if (mt_forward_tangent(&t, out) < 0)
            return -1;
        rc = t ? mt_forward_set(s->value.v.tensor, &t) : 0;
        mt_tensor_clear(&t);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int deliver_one(mt_forward *f, int i)
{
    mt_tensor *out = f->call->out[i];
    bool is_view = (f->call->op->flags & MT_OPF_VIEW) != 0;
    int rc = -1;

    if (!f->results[i])
        MT_TRY(mt_tensor_new_zeroed(&f->results[i], (mt_dtype)out->dtype, out->ndim, out->size, out->device));
    else if (!is_view)
        MT_TRY(own(&f->results[i], f));
    if (f->self && !is_view)
        MT_TRY(mt_forward_update(out, &f->results[i]));
    else
        MT_TRY(mt_forward_set(out, &f->results[i]));
    MT_TRY(tell_saved(out, f->self && !is_view));
    rc = 0;
fail:
    return rc;
}

static int deliver(mt_forward *f)
{
    for (int i = 0; i < f->n_results; i++) {
        const mt_tensor *out = f->call->out[i];

        if (!out || !mt_dtype_is_differentiable((mt_dtype)out->dtype) ||
            (i < MT_MAX_OUTS && (f->grad->constant >> i & 1)) || (!f->self && is_argument(f, out)))
            continue;
        if (deliver_one(f, i) < 0)
            return -1;
    }
    return 0;
}

/* Tangents are paused. */
static int run_with_tangents(mt_forward *f)
{
    bool linear = f->grad->jvp == MT_JVP_LINEAR || f->grad->jvp == MT_JVP_MULTILINEAR;
    uint32_t slow = mt_thread.slow;
    int rc = -1;

    MT_REQUIRE(linear || f->grad->backward, MT_ERR_NOT_IMPLEMENTED,
               "Trying to use forward AD with aten::%s that does not support it.", f->call->op->name);
    MT_TRY(make_frame(f));
    if (f->self)
        MT_TRY(keep_from_overwriting(f));
    if (f->self && !linear)
        MT_TRY(make_node(f, &f->self, 1));
    MT_TRY(mt_dispatch(f->call));
    mt_thread.slow = slow & ~(uint32_t)MT_SLOW_SAVED_HOOKS;
    MT_TRY(new_results(f));
    if (!linear && !f->node)
        MT_TRY(make_node(f, f->call->out, f->call->n_outs));
    if (!linear)
        MT_TRY(save_results(f));
    MT_TRY(mt_forward_compute(f));
    MT_TRY(deliver(f));
    rc = 0;
fail:
    mt_thread.slow = slow;
    return rc;
}

/* An op that only exists in place has its result in argument 0. */
static mt_tensor *written(const mt_call *call)
{
    bool writes = call->variant == MT_VARIANT_INPLACE || (call->op->flags & MT_OPF_MUTATES_SELF);

    return writes && call->arg[0].kind == MT_ARG_TENSOR ? call->arg[0].v.tensor : NULL;
}

/* A comparison in place: the values are constant now. */
static int flatten(mt_tensor *t)
{
    mt_tensor *tangent = NULL;
    int rc = mt_forward_tangent(&tangent, t);

    if (rc == 0 && tangent)
        rc = mt_zero_inplace(tangent);
    mt_tensor_clear(&tangent);
    return rc;
}

int mt_forward_call(mt_call *call)
{
    const mt_op *op = call->op;
    mt_forward f = {.call = call, .grad = op->grad, .self = written(call)};
    uint32_t exclude;
    bool any = false;
    int rc = -1;

    if (call->variant == MT_VARIANT_OUT)
        return mt_error_set(
            MT_ERR_NOT_IMPLEMENTED,
            "Trying to use forward AD with %s_out that does not support it because it is an out= function", op->name);
    if (strncmp(op->name, "set_", 4) == 0)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED,
                            "Trying to use forward AD with set_ that does not support it because it has not been "
                            "implemented yet.");
    if (!op->grad && (op->flags & MT_OPF_COMPOSITE))
        return 1; /* its parts see to it */
    f.primal = f.few;
    exclude = mt_forward_pause();
    if (op->grad && !mt_thread.inference_mode && any_tangent(call) && gather(&any, &f) < 0)
        goto fail;
    rc = any ? run_with_tangents(&f) : mt_dispatch(call);
    if (rc == 0 && !op->grad && op->pointwise && f.self && has_tangent(f.self))
        rc = flatten(f.self);
fail:
    mt_thread.exclude = exclude;
    clear(&f);
    return rc;
}
