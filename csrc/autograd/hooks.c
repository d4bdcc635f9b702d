/* SPDX-License-Identifier: BSD-3-Clause */
/* Hook lists of nodes and leaves. A list keeps the order of registration; a hook may add or remove
   hooks while the list runs, so removed ones stay linked, without a context, until nothing runs.
   Tensor hooks belong to a value and stay with its node when the tensor is changed in place; a
   retained gradient belongs to the tensor and moves on. */
#include "autograd/autograd_internal.h"

#include "base/alloc.h"

static mt_pool hook_pool = MT_POOL_INIT(sizeof(mt_hook), 64);
static int running; /* lists being walked, on all threads */

/* --- lists --- */

static void hook_free(mt_hook *h)
{
    const mt_hook_ops *ops = h->ops;
    void *ctx = h->ctx;

    mt_pool_put(&hook_pool, h);
    if (ops && ops->destroy)
        ops->destroy(ctx);
}

static void sweep(mt_hook **list)
{
    while (*list) {
        mt_hook *h = *list;

        if (h->removed) {
            *list = h->next;
            hook_free(h);
        } else {
            list = &h->next;
        }
    }
}

static int add(mt_hook **list, mt_hook_kind kind, uint32_t input, const mt_hook_ops *ops, void *ctx)
{
    void *block;
    mt_hook *h;

    if (!running)
        sweep(list);
    if (mt_pool_get(&block, &hook_pool) < 0)
        return -1;
    h = block;
    *h = (mt_hook){NULL, ops, ctx, input, (uint8_t)kind, false};
    while (*list)
        list = &(*list)->next;
    *list = h;
    return 0;
}

static void mark_removed(mt_hook *h)
{
    const mt_hook_ops *ops = h->ops;

    h->removed = true;
    h->ops = NULL;
    if (ops && ops->destroy)
        ops->destroy(h->ctx);
}

bool mt_hook_remove(mt_hook **list, const void *ctx)
{
    for (mt_hook *h = *list; h; h = h->next)
        if (!h->removed && h->kind != MT_HOOK_RETAIN && h->ctx == ctx) {
            mark_removed(h);
            if (!running)
                sweep(list);
            return true;
        }
    return false;
}

mt_hook *mt_hook_find(mt_hook *list, const mt_hook *after, mt_hook_kind kind, uint32_t input)
{
    mt_hook *h = after ? after->next : list;

    while (h && (h->removed || h->kind != kind || (kind == MT_HOOK_TENSOR && h->input != input)))
        h = h->next;
    return h;
}

void mt_hook_clear(mt_hook **list)
{
    mt_hook *h = *list;

    *list = NULL;
    while (h) {
        mt_hook *next = h->next;

        hook_free(h);
        h = next;
    }
}

/* --- registering --- */

int mt_node_add_hook(mt_node *n, mt_hook_kind kind, const mt_hook_ops *ops, void *ctx)
{
    return add(&n->hooks, kind, 0, ops, ctx);
}

int mt_autograd_add_tensor_hook(mt_tensor *t, const mt_hook_ops *ops, void *ctx)
{
    mt_autograd *m;
    mt_node *n;
    int rc = -1;

    MT_REQUIRE(mt_tensor_requires_grad(t), MT_ERR_RUNTIME,
               "cannot register a hook on a tensor that doesn't require gradient");
    MT_TRY(mt_autograd_grad_fn(&n, t));
    MT_TRY(mt_autograd_meta(&m, t));
    if (n)
        rc = add(&n->hooks, MT_HOOK_TENSOR, m->output_nr, ops, ctx);
    else
        rc = add(&m->hooks, MT_HOOK_TENSOR, 0, ops, ctx);
fail:
    return rc;
}

int mt_autograd_add_post_accumulate_hook(mt_tensor *t, const mt_hook_ops *ops, void *ctx)
{
    mt_autograd *m;
    mt_node *n;
    int rc = -1;

    MT_REQUIRE(mt_tensor_requires_grad(t), MT_ERR_RUNTIME,
               "cannot register a hook on a tensor that doesn't require gradient");
    MT_TRY(mt_autograd_grad_fn(&n, t));
    MT_REQUIRE(!n, MT_ERR_RUNTIME, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    MT_TRY(mt_autograd_meta(&m, t));
    rc = add(&m->hooks, MT_HOOK_POST_ACCUMULATE, 0, ops, ctx);
fail:
    return rc;
}

int mt_autograd_add_idle_hook(mt_tensor *t, mt_hook_kind kind, const mt_hook_ops *ops, void *ctx)
{
    mt_autograd *m;

    if (mt_autograd_meta(&m, t) < 0)
        return -1;
    return add(&m->hooks, kind, 0, ops, ctx);
}

int mt_hooks_keep(mt_tensor *t)
{
    mt_autograd *m = t->autograd;
    mt_hook *h = NULL;

    while ((h = mt_hook_find(m->grad_fn->hooks, h, MT_HOOK_TENSOR, m->output_nr))) {
        if (!h->ops->hold)
            continue;
        if (add(&m->hooks, MT_HOOK_TENSOR, 0, h->ops, h->ctx) < 0)
            return -1;
        h->ops->hold(h->ctx);
    }
    return 0;
}

int mt_autograd_retain_grad(mt_tensor *t)
{
    mt_autograd *m;
    mt_node *n;
    int rc = -1;

    MT_REQUIRE(mt_tensor_requires_grad(t), MT_ERR_RUNTIME, "can't retain_grad on Tensor that has requires_grad=False");
    MT_TRY(mt_autograd_grad_fn(&n, t));
    if (n && !t->autograd->retains_grad) {
        m = t->autograd;
        MT_TRY(add(&n->hooks, MT_HOOK_RETAIN, m->output_nr, NULL, m));
        m->retains_grad = 1;
    }
    rc = 0;
fail:
    return rc;
}

void mt_hook_drop_retain(mt_node *node, const mt_autograd *meta)
{
    for (mt_hook *h = node->hooks; h; h = h->next)
        if (h->kind == MT_HOOK_RETAIN && h->ctx == meta)
            h->removed = true;
    if (!running)
        sweep(&node->hooks);
}

int mt_hook_move_retain(mt_autograd *meta, mt_node *from, mt_node *to, uint32_t output_nr)
{
    if (add(&to->hooks, MT_HOOK_RETAIN, output_nr, NULL, meta) < 0)
        return -1;
    if (from && from != to)
        mt_hook_drop_retain(from, meta);
    return 0;
}

/* --- running --- */

/* Hooks that hooks add wait for the next run. */
static const mt_hook *last_of(const mt_hook *list)
{
    while (list && list->next)
        list = list->next;
    return list;
}

int mt_hooks_run(mt_hook *list, mt_hook_kind kind, mt_hook_frame *frame)
{
    const mt_hook *last = last_of(list);
    int rc = 0;

    running++;
    for (mt_hook *h = list; h && rc == 0; h = h == last ? NULL : h->next) {
        if (h->kind != kind || h->removed)
            continue;
        frame->input = h->input;
        rc = h->ops->run(h->ctx, frame);
    }
    running--;
    return rc;
}

/* The gradient of a tensor that asked for it; a second one is added to the first out of place. The tensor may die meanwhile. */
static int retain(const mt_hook *h, mt_tensor *grad)
{
    mt_autograd *m = h->ctx;
    mt_tensor *kept = NULL, *old = NULL;
    void *turn;
    int rc;

    if (!grad)
        return 0;
    turn = mt_turn_take(m, grad->numel);
    if (!h->removed && m->grad)
        old = mt_tensor_ref(m->grad);
    rc = old ? mt_gradient_sum(&kept, old, grad) : mt_gradient_clone(&kept, grad);
    mt_tensor_unref(old);
    if (rc == 0 && !h->removed) {
        old = m->grad;
        m->grad = mt_tensor_move(&kept);
        mt_tensor_unref(old);
    }
    mt_turn_give(turn);
    mt_tensor_unref(kept);
    return rc;
}

int mt_hooks_run_retain(mt_hook *list, mt_hook_frame *frame)
{
    const mt_hook *last = last_of(list);
    int rc = 0;

    running++;
    for (mt_hook *h = list; h && rc == 0; h = h == last ? NULL : h->next)
        if (h->kind == MT_HOOK_RETAIN && !h->removed)
            rc = retain(h, frame->grads[h->input]);
    running--;
    return rc;
}
