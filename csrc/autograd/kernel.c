/* SPDX-License-Identifier: BSD-3-Clause */
/* The autograd kernel of all ops, driven by the record: it runs the op below and, when an input
   requires grad, builds one node: edges to the inputs, the values that the formulas use, the
   metadata of the outputs. In-place forms save before the op runs, since the op changes what they
   save, and rebase the history of what was written. Nothing the record says is repeated here. */
#include "autograd/autograd_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops.h"

/* --- nodes of ops --- */

/* In-place forms of views are numbered behind the overloads that give views: t is TBackward0, t_ TBackward1. Comparisons
   are in the catalog under the number of their Tensor overloads, in front of which those of numbers stand. */
MT_COLD static const char *other_name(const mt_node *n)
{
    static char **names; /* by op id, made at need, kept for good */
    const mt_op *op = n->op;
    const char *plain = op->grad->node_name;
    size_t end = strlen(plain), room = end + 8;
    void *block = NULL;
    int overloads = 0;

    if (!names && (mt_calloc(&block, (size_t)mt_op_count, sizeof(*names)) < 0 || !(names = block)))
        return plain;
    if (names[op->id])
        return names[op->id];
    for (const mt_op *o = mt_op_table; o < mt_op_table + mt_op_count; o++)
        overloads += strcmp(o->name, op->name) == 0 && o->grad && o->grad->backward;
    if (op->pointwise)
        overloads = -1;
    while (end > 0 && plain[end - 1] >= '0' && plain[end - 1] <= '9')
        end--;
    if (mt_malloc(&block, room) < 0)
        return plain;
    names[op->id] = block;
    snprintf(block, room, "%.*s%d", (int)end, plain, atoi(plain + end) + overloads);
    return block;
}

static const char *op_node_name(const mt_node *n)
{
    const mt_grad *grad = n->op->grad;

    if (MT_UNLIKELY(n->flags & MT_NODE_RENUMBERED))
        return other_name(n);
    if (!grad->backward)
        return "torch::autograd::NotImplemented";
    if (strcmp(grad->node_name, "CopyBackwards") == 0)
        return "torch::autograd::CopyBackwards";
    return grad->node_name;
}

static int op_node_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    if (MT_UNLIKELY(!n->op->grad->backward))
        return mt_error_set(MT_ERR_RUNTIME, "derivative for %s%s is not implemented",
                            n->op->flags & MT_OPF_MUTATES_SELF ? "" : "aten::", n->op->name);
    return n->op->grad->backward(n, grads, out);
}

static const mt_node_ops op_node_ops = {op_node_name, op_node_run, mt_node_release_saved, NULL, NULL, NULL};

static int run_below(mt_call *call)
{
    uint32_t exclude = mt_thread.exclude;
    int rc;

    mt_thread.exclude = exclude | MT_KEY_BIT(MT_KEY_AUTOGRAD);
    rc = mt_redispatch(call, MT_KEY_AUTOGRAD);
    mt_thread.exclude = exclude;
    return rc;
}

/* --- inputs --- */

static inline bool requires_grad(const mt_tensor *t)
{
    return t && mt_tensor_requires_grad(t);
}

/* A node without a formula has edges to the inputs that require grad only. */
MT_COLD static int count_required(const mt_call *call, const mt_grad *grad)
{
    int n = 0;

    for (int i = 0; i < grad->n_inputs; i++) {
        const mt_value *a = &call->arg[grad->input[i]];

        if (a->kind == MT_ARG_TENSOR)
            n += requires_grad(a->v.tensor);
        else if (a->kind == MT_ARG_TENSORS)
            for (int j = 0; j < a->v.tensors.n; j++)
                n += requires_grad(a->v.tensors.data[j]);
    }
    return n;
}

/* Counts the edges of the node to be; tells whether any of them would lead somewhere. */
bool mt_record_survey(int *n_edges, const mt_call *call, const mt_grad *grad)
{
    bool any = false;
    int n = 0;

    if (grad->n_inputs == 1 && grad->backward && call->arg[grad->input[0]].kind == MT_ARG_TENSOR) { /* most often */
        *n_edges = 1;
        return requires_grad(call->arg[grad->input[0]].v.tensor);
    }
    for (int i = 0; i < grad->n_inputs; i++) {
        const mt_value *a = &call->arg[grad->input[i]];

        if (a->kind == MT_ARG_TENSOR) {
            any |= requires_grad(a->v.tensor);
            n++;
        } else if (a->kind == MT_ARG_TENSORS) {
            for (int j = 0; j < a->v.tensors.n; j++)
                any |= requires_grad(a->v.tensors.data[j]);
            n += a->v.tensors.n > 0 ? a->v.tensors.n : 0;
        } else {
            n++; /* None */
        }
    }
    *n_edges = MT_LIKELY(grad->backward != NULL) ? n : count_required(call, grad);
    return any;
}

/* Returns in *needed a bit per entry of grad->input that has an edge. */
static int connect(uint32_t *needed, mt_node *n, const mt_call *call, const mt_grad *grad)
{
    mt_edge *edge = n->edge;
    bool formula = grad->backward != NULL;

    if (grad->n_inputs == 1 && call->arg[grad->input[0]].kind == MT_ARG_TENSOR) { /* most often */
        *needed = 1;
        return mt_autograd_edge(edge, call->arg[grad->input[0]].v.tensor);
    }
    *needed = 0;
    for (int i = 0; i < grad->n_inputs; i++) {
        const mt_value *a = &call->arg[grad->input[i]];
        mt_tensor *const *list = &a->v.tensor;
        int count = 1;

        if (a->kind == MT_ARG_TENSORS) {
            list = a->v.tensors.data;
            count = a->v.tensors.n > 0 ? a->v.tensors.n : 0;
        } else if (a->kind != MT_ARG_TENSOR) {
            edge += formula;
            continue;
        }
        for (int j = 0; j < count; j++) {
            bool any = requires_grad(list[j]);

            if (any && mt_autograd_edge(edge, list[j]) < 0)
                return -1;
            if (any && edge->node)
                *needed |= 1u << i;
            edge += any || formula;
        }
    }
    return 0;
}

/* --- saved values --- */

static int list_length(const mt_value *a)
{
    bool numbers = a->kind == MT_ARG_INTS || a->kind == MT_ARG_BOOLS;

    if (a->kind == MT_ARG_FLOATS)
        return a->v.floats.n > 0 ? a->v.floats.n : 0;
    return numbers && a->v.ints.n > 0 ? a->v.ints.n : 0;
}

static int64_t list_sizes_length(const mt_value *a)
{
    int64_t n = 0;

    for (int i = 0; a->kind == MT_ARG_TENSORS && i < a->v.tensors.n; i++)
        n += 1 + (a->v.tensors.data[i] ? a->v.tensors.data[i]->ndim : 0);
    return n;
}

/* Words of the node's block that the number lists take. */
int64_t mt_record_survey_saved(const mt_call *call, const mt_grad *grad)
{
    int64_t n = 0;

    if (!grad->sized)
        return 0;
    if (grad->n_saved == 1 && grad->saved[0].kind == MT_SAVE_SIZES &&
        call->arg[grad->saved[0].index].kind == MT_ARG_TENSOR)
        return call->arg[grad->saved[0].index].v.tensor->ndim;
    for (int k = 0; k < grad->n_saved; k++) {
        const mt_saved_spec *spec = &grad->saved[k];
        const mt_value *a = &call->arg[spec->index];

        if (spec->kind == MT_SAVE_ARG)
            n += list_length(a);
        else if (spec->kind == MT_SAVE_SIZES || spec->kind == MT_SAVE_STRIDES)
            n += a->kind == MT_ARG_TENSOR ? a->v.tensor->ndim : 0;
        else if (spec->kind == MT_SAVE_LIST_SIZES)
            n += list_sizes_length(a);
    }
    return n;
}

static inline void save_numbers(mt_saver *s, int k, uint8_t kind, const void *data, int n)
{
    mt_saved *slot = &s->node->saved[k];

    if (n == 1 || n == 2) /* no call for the sizes of small views */
        memcpy(s->room, data, sizeof(int64_t)), memcpy(s->room + n - 1, (const int64_t *)data + n - 1, sizeof(int64_t));
    else
        memcpy(s->room, data, (size_t)n * sizeof(int64_t));
    slot->value.kind = kind;
    slot->inside = true;
    if (kind == MT_ARG_FLOATS)
        slot->value.v.floats = (mt_floats){(const double *)s->room, n};
    else
        slot->value.v.ints = (mt_ints){s->room, n};
    s->room += n;
}

/* ndim and sizes of one tensor after the other; a missing one counts as ndim 0. */
static void save_list_sizes(mt_saver *s, int k, const mt_value *a)
{
    mt_saved *slot = &s->node->saved[k];
    int64_t *start = s->room;

    for (int i = 0; i < a->v.tensors.n; i++) {
        const mt_tensor *t = a->v.tensors.data[i];

        *s->room++ = t ? t->ndim : 0;
        for (int d = 0; t && d < t->ndim; d++)
            *s->room++ = t->size[d];
    }
    slot->value.kind = MT_ARG_INTS;
    slot->inside = true;
    slot->value.v.ints = (mt_ints){start, (int)(s->room - start)};
}

/* What an in-place form saves of the values it overwrites: a copy, with a copy of the tangent. */
static int save_before(mt_saver *s, int k)
{
    mt_tensor *before = NULL, *tangent = NULL, *copy = NULL;
    int rc = -1;

    MT_TRY(mt_clone(&before, s->written, MT_FORMAT_PRESERVE));
    if (MT_UNLIKELY(s->written->keys & MT_KEYS_DUAL)) {
        MT_TRY(mt_forward_tangent(&tangent, s->written));
        if (tangent) {
            MT_TRY(mt_clone(&copy, tangent, MT_FORMAT_PRESERVE));
            MT_TRY(mt_forward_set(before, &copy));
        }
    }
    rc = mt_saved_set_tensor(s->node, k, before, false, 0);
fail:
    mt_tensor_clear(&before);
    mt_tensor_clear(&tangent);
    mt_tensor_clear(&copy);
    return rc;
}

static int save_argument(mt_saver *s, int k, const mt_value *a, bool wanted)
{
    if (a->kind == MT_ARG_TENSOR && wanted && a == &s->call->arg[0] && s->written)
        return save_before(s, k);
    if (a->kind == MT_ARG_TENSOR)
        return wanted ? mt_saved_set_tensor(s->node, k, a->v.tensor, false, 0) : 0;
    if (a->kind == MT_ARG_TENSORS)
        return wanted ? mt_saved_set_tensors(s->node, k, a->v.tensors) : 0;
    if (list_length(a)) {
        save_numbers(s, k, a->kind, a->v.ints.data, list_length(a));
        return 0;
    }
    if (a->kind <= MT_ARG_BOOL || a->kind == MT_ARG_DTYPE) {
        s->node->saved[k].value = *a;
        return 0;
    }
    return mt_saved_set_value(s->node, k, a);
}

/* What a formula asks about a tensor without its data. Nothing is stored for a missing tensor. */
static void save_metadata(mt_saver *s, int k, uint8_t kind, const mt_value *a)
{
    mt_saved *slot = &s->node->saved[k];
    const mt_tensor *t = a->v.tensor;

    slot->value.v.ints = (mt_ints){NULL, -1};
    if (a->kind != MT_ARG_TENSOR)
        return;
    if (kind == MT_SAVE_SIZES) {
        save_numbers(s, k, MT_ARG_INTS, t->size, t->ndim);
    } else if (kind == MT_SAVE_STRIDES) {
        save_numbers(s, k, MT_ARG_INTS, t->stride, t->ndim);
    } else if (kind == MT_SAVE_DTYPE) {
        slot->value.kind = MT_ARG_DTYPE;
        slot->value.v.i = t->dtype;
    } else if (kind == MT_SAVE_OFFSET) {
        slot->value.kind = MT_ARG_INT;
        slot->value.v.i = t->offset;
    } else {
        slot->value.kind = MT_ARG_DEVICE;
        slot->value.v.device = t->device;
    }
}

int mt_record_inputs(mt_saver *s)
{
    const mt_grad *grad = s->grad;

    if (grad->n_saved == 1 && grad->saved[0].kind == MT_SAVE_SIZES) { /* views */
        const mt_value *a = &s->call->arg[grad->saved[0].index];

        if (a->kind == MT_ARG_TENSOR) {
            save_numbers(s, 0, MT_ARG_INTS, a->v.tensor->size, a->v.tensor->ndim);
            return 0;
        }
    }
    for (int k = 0; k < grad->n_saved; k++) {
        const mt_saved_spec *spec = &grad->saved[k];
        const mt_value *a = &s->call->arg[spec->index];
        bool wanted = !spec->needed_by || (spec->needed_by & s->needed);

        if (spec->kind == MT_SAVE_ARG) {
            if (save_argument(s, k, a, wanted) < 0)
                return -1;
        } else if (spec->kind == MT_SAVE_LIST_SIZES) {
            if (a->kind == MT_ARG_TENSORS)
                save_list_sizes(s, k, a);
        } else if (spec->kind != MT_SAVE_RESULT) {
            save_metadata(s, k, spec->kind, a);
        }
    }
    return 0;
}

/* The results have their history already, which pack hooks see. */
static int save_results(mt_saver *s)
{
    const mt_grad *grad = s->grad;

    for (int k = 0; k < grad->n_saved; k++) {
        const mt_saved_spec *spec = &grad->saved[k];
        mt_tensor *t;

        if (spec->kind != MT_SAVE_RESULT || (spec->needed_by && !(spec->needed_by & s->needed)))
            continue;
        t = spec->index < s->call->n_outs ? s->call->out[spec->index] : NULL;
        if (!t)
            continue;
        if (mt_saved_set_tensor(s->node, k, t, s->node->input[spec->index].takes_grad, spec->index) < 0) {
            for (; k < grad->n_saved; k++) /* the formula must not run without them */
                s->node->saved[k].released |= grad->saved[k].kind == MT_SAVE_RESULT;
            return -1;
        }
        s->node->saved[k].in_place_view = s->written && s->written->base;
    }
    return 0;
}

/* --- functions and views --- */

static MT_ALWAYS_INLINE int64_t survey_outputs(bool *any, const mt_call *call, const int n_outs)
{
    int64_t dims = 0;

    *any = false;
    for (int i = 0; i < n_outs; i++) {
        const mt_tensor *t = call->out[i];

        if (!t)
            continue;
        dims += t->ndim;
        *any |= mt_dtype_is_differentiable((mt_dtype)t->dtype);
    }
    return dims;
}

/* Some ops give an argument back when there is nothing to do; it keeps its own history. */
static bool is_input(const mt_call *call, const mt_grad *grad, const mt_tensor *t)
{
    for (int i = 0; i < grad->n_inputs; i++) {
        const mt_value *a = &call->arg[grad->input[i]];

        if (a->kind == MT_ARG_TENSOR && a->v.tensor == t)
            return true;
    }
    return false;
}

/* n_outs is that of the call; where it is one, the compiler knows. */
static MT_ALWAYS_INLINE int record_outs(mt_call *call, int n_edges, const int n_outs)
{
    const mt_grad *grad = call->op->grad;
    mt_saver s = {call, grad, NULL, NULL, 0, NULL};
    bool any;
    int64_t dims = survey_outputs(&any, call, n_outs);
    mt_node *n = NULL;
    int rc = -1;

    if (!any || (n_outs == 1 && is_input(call, grad, call->out[0])))
        return 0;
    MT_TRY(mt_node_new(&n, &op_node_ops, n_edges, grad->n_saved, n_outs, dims + mt_record_survey_saved(call, grad)));
    n->op = call->op;
    MT_TRY(mt_node_created(n));
    s.node = n;
    for (int i = 0; i < n_outs; i++)
        mt_node_set_input(n, i, call->out[i]);
    s.room = (int64_t *)(n->input + n->n_inputs) + dims;
    MT_TRY(connect(&s.needed, n, call, grad));
    MT_TRY(mt_record_inputs(&s));
    for (int i = 0; i < n_outs; i++)
        if (n->input[i].takes_grad && !(i < MT_MAX_OUTS && (grad->constant >> i & 1)) &&
            (n_outs == 1 || !is_input(call, grad, call->out[i])))
            MT_TRY(mt_autograd_set_edge(call->out[i], n, (uint32_t)i));
    if (grad->keeps_result)
        MT_TRY(save_results(&s));
    rc = 0;
fail:
    mt_node_clear(&n);
    return rc;
}

static int record(mt_call *call, int n_edges)
{
    return MT_LIKELY(call->n_outs == 1) ? record_outs(call, n_edges, 1) : record_outs(call, n_edges, call->n_outs);
}

/* --- in-place and out= forms --- */

static bool compares_with_number(const mt_call *call)
{
    const mt_value *other = &call->arg[1];

    return call->op->pointwise && call->op->pointwise->promote == MT_PROMOTE_COMPARE && other->kind == MT_ARG_TENSOR &&
           mt_tensor_is_wrapped_number(other->v.tensor);
}

static int record_in_place(mt_call *call, mt_tensor *self, int n_edges)
{
    const mt_grad *grad = call->op->grad;
    bool moves = (call->op->flags & MT_OPF_VIEW) != 0; /* t_, squeeze_: changes geometry, not values */
    bool listed = grad->n_inputs && grad->input[0] == 0 && (grad->backward || requires_grad(self));
    int self_edge = listed ? 0 : n_edges; /* always there: a view needs to know what becomes of its base */
    mt_saver s = {call, grad, NULL, NULL, 0, moves ? NULL : self};
    mt_node *n = NULL;
    int rc = -1;

    MT_TRY(mt_node_new(&n, &op_node_ops, n_edges + !listed, grad->n_saved, 1,
                       self->ndim + mt_record_survey_saved(call, grad)));
    n->op = call->op;
    MT_TRY(mt_node_created(n));
    s.node = n;
    if (moves || compares_with_number(call))
        n->flags |= MT_NODE_RENUMBERED;
    mt_node_set_input(n, 0, self);
    s.room = (int64_t *)(n->input + 1) + self->ndim;
    MT_TRY(connect(&s.needed, n, call, grad));
    if (!listed)
        MT_TRY(mt_autograd_edge(&n->edge[self_edge], self));
    MT_TRY(mt_record_inputs(&s));
    MT_TRY(run_below(call));
    if (moves || !grad->backward) /* set_: another geometry */
        MT_TRY(mt_node_replace_inputs(n, &self, 1));
    if (moves)
        MT_TRY(mt_autograd_set_edge(self, n, 0));
    else
        MT_TRY(mt_autograd_rebase(self, n, 0, self_edge));
    MT_TRY(save_results(&s));
    rc = 0;
fail:
    mt_node_clear(&n);
    return rc;
}

static int in_place_form(mt_call *call)
{
    const mt_grad *grad = call->op->grad;
    mt_tensor *self = call->arg[0].kind == MT_ARG_TENSOR ? call->arg[0].v.tensor : NULL;
    bool any;
    int n_edges;

    if (!grad && self && call->op->pointwise && call->op->pointwise->promote != MT_PROMOTE_BOOL &&
        mt_tensor_requires_grad(self) && mt_autograd_check_inplace(self, true) < 0)
        return -1;
    if (!grad || !self)
        return run_below(call);
    any = mt_record_survey(&n_edges, call, grad) || mt_tensor_requires_grad(self);
    if (!any || !mt_dtype_is_differentiable((mt_dtype)self->dtype))
        return run_below(call);
    if (mt_autograd_check_inplace(self, true) < 0)
        return -1;
    return record_in_place(call, self, n_edges);
}

static int out_form(mt_call *call)
{
    const mt_grad *grad = call->op->grad;
    const mt_pointwise_spec *spec = call->op->pointwise;
    bool any = false;
    int n_edges;

    if (grad && !(spec && spec->promote == MT_PROMOTE_COMPARE)) { /* that gradient is of the in-place form */
        any = mt_record_survey(&n_edges, call, grad);
        for (int i = 0; i < call->n_outs; i++)
            any |= requires_grad(call->out[i]);
    }
    if (any)
        return mt_error_set(MT_ERR_RUNTIME,
                            "%s(): functions with out=... arguments don't support automatic "
                            "differentiation, but one of the arguments requires grad.",
                            call->op->name);
    return run_below(call);
}

int mt_autograd_kernel(mt_call *call)
{
    const mt_grad *grad = call->op->grad;
    int n_edges, rc = 0;
    bool any;

    if (!mt_thread.grad_mode)
        return run_below(call);
    if (MT_UNLIKELY(call->variant != MT_VARIANT_FUNCTION || (call->op->flags & MT_OPF_MUTATES_SELF)))
        return call->variant == MT_VARIANT_OUT ? out_form(call) : in_place_form(call);
    any = grad && mt_record_survey(&n_edges, call, grad);
    if (call->op->pointwise)
        rc = mt_fast_call(call);
    if (rc < 0 || (rc == 0 && run_below(call) < 0))
        return -1;
    return any ? record(call, n_edges) : 0;
}

/* --- the short road --- */

int mt_autograd_short_view(mt_call *call)
{
    uint32_t exclude = mt_thread.exclude;
    int n_edges, rc;
    bool any = mt_record_survey(&n_edges, call, call->op->grad);

    mt_thread.exclude = exclude | MT_KEY_BIT(MT_KEY_AUTOGRAD);
    rc = call->op->kernel[MT_KEY_CPU](call);
    mt_thread.exclude = exclude;
    return rc < 0 || !any || !mt_thread.grad_mode ? rc : record(call, n_edges);
}

int mt_autograd_short(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b)
{
    const uint32_t known = MT_KEY_BIT(MT_KEY_CPU) | MT_KEY_BIT(MT_KEY_AUTOGRAD);
    uint32_t keys = mt_tensor_keys(a) | (b ? mt_tensor_keys(b) : 0);
    mt_call call;
    int n = b ? 2 : 1, rc = -1;

    if (keys != known || !mt_thread.grad_mode || (mt_thread.slow | mt_thread.include | mt_thread.exclude) ||
        mt_tensor_needs_care(a) || (b && mt_tensor_needs_care(b)) ||
        op->kernel[MT_KEY_AUTOGRAD] != mt_autograd_kernel || !op->grad)
        return 0;
    mt_call_init(&call, op, MT_VARIANT_FUNCTION);
    call.keys = keys;
    call.arg[0].kind = call.arg[1].kind = MT_ARG_TENSOR;
    call.arg[0].v.tensor = a;
    call.arg[1].v.tensor = b;
    for (int k = n; k < op->n_args; k++)
        call.arg[op->args[k].index] = op->args[k].dflt;
    MT_TRY(mt_autograd_kernel(&call));
    *out = mt_tensor_move(&call.out[0]);
    rc = 1;
fail:
    if (rc < 0)
        mt_call_clear(&call);
    return rc;
}
