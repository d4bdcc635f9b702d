/* SPDX-License-Identifier: BSD-3-Clause */
/* In-place changes. A tensor that was written gets the node of the write as its history. A view
   passes the write on: its base gets a CopySlices node around that node, and all views of the base,
   this one included, are out of date then: own_version differs from the version counter. Their
   history is made when somebody asks for it, by viewing the base again. Views that must not be
   written say so here. */
#include "autograd/autograd_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops.h"

/* --- guards --- */

static const char *const advice_multi =
    ". This view is the output of a function that returns multiple views. Such functions do not "
    "allow the output views to be modified inplace. You should replace the inplace operation by an "
    "out-of-place one.";
static const char *const advice_custom =
    ". This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function.";

static int raise_mode(const char *subject, const char *what, const char *when, const char *block)
{
    return mt_error_set(MT_ERR_RUNTIME,
                        "%s and %s %s. Given that this use case is ambiguous and error-prone, it "
                        "is forbidden. You can clarify your code by moving both the view and the "
                        "inplace either both inside the %s block (if you don't want the inplace to "
                        "be tracked) or both outside (if you want the inplace to be tracked).",
                        subject, what, when, block);
}

MT_COLD static int raise_guarded(const mt_tensor *t, bool indirect)
{
    const mt_node *fn = t->autograd ? t->autograd->grad_fn : NULL;
    bool inference = (t->flags & MT_FLAG_INFERENCE_VIEW) != 0;
    bool no_grad = !inference && (t->flags & MT_FLAG_NO_GRAD_VIEW);
    const char *what =
        indirect ? "its base or another view of its base has been modified inplace" : "is being modified inplace";
    char subject[240];

    if (fn) {
        mt_short_name name;

        snprintf(subject, sizeof(subject), "Output %u of %s is a view%s", t->autograd->output_nr,
                 mt_node_short_name(&name, fn),
                 inference ? " of a view which was created in inference mode"
                 : no_grad ? " of a view which was created in no_grad mode"
                           : "");
    } else {
        snprintf(subject, sizeof(subject), "A view was created in %s mode", inference ? "inference" : "no_grad");
    }
    if (inference)
        return raise_mode(subject, what, "in normal mode", "inference_mode");
    if (no_grad)
        return raise_mode(subject, what, "with grad mode enabled", "no_grad");
    return mt_error_set(MT_ERR_RUNTIME, "%s and %s%s%s", subject, what, fn ? "" : " with grad mode enabled",
                        t->flags & MT_FLAG_MULTI_VIEW ? advice_multi : advice_custom);
}

int mt_autograd_check_inplace(mt_tensor *t, bool recorded)
{
    bool leaf = false;

    if (!recorded || !mt_thread.grad_mode)
        return 0;
    if (t->base) {
        if (t->flags & MT_FLAG_GUARDED_VIEW)
            return raise_guarded(t, false);
        leaf = !t->base->autograd || !t->base->autograd->grad_fn;
        if (leaf && mt_tensor_requires_grad(t))
            return mt_error_set(MT_ERR_RUNTIME, "a view of a leaf Variable that requires grad is "
                                                "being used in an in-place operation.");
    }
    if (!mt_tensor_requires_grad(t))
        return 0;
    if (mt_autograd_is_leaf(&leaf, t) < 0)
        return -1;
    if (leaf)
        return mt_error_set(MT_ERR_RUNTIME,
                            "a leaf Variable that requires grad is being used in an in-place operation.");
    return 0;
}

int mt_autograd_check_rebase(mt_tensor *t, const mt_node *node)
{
    if (!t->base || node->n_inputs == 1)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "If your Function modifies inplace an input that is a view of another Tensor, your "
                        "Function cannot return more than one Tensor. This is not supported by the current "
                        "autograd engine. You should either make sure the input is not a view (using .clone() for "
                        "example) or make your Function only return one Tensor (potentially splitting it into two "
                        "Functions: one doing the inplace that returns a single Tensor and a second one that does "
                        "the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need "
                        "help to do this change.");
}

/* --- views again --- */

static bool is_all_of(const mt_tensor *root, const mt_geometry *view, int64_t offset)
{
    if (root->ndim != view->ndim || root->offset != offset)
        return false;
    for (int i = 0; i < view->ndim; i++)
        if (root->size[i] != view->size[i] || root->stride[i] != view->stride[i])
            return false;
    return true;
}

/* Same dtype: as_strided, unless another step makes the view and nothing is left to do. */
static int strided(mt_tensor **out, mt_tensor *root, const mt_geometry *view, int64_t offset, bool always)
{
    if (!always && is_all_of(root, view, offset)) {
        *out = mt_tensor_ref(root);
        return 0;
    }
    return mt_as_strided(out, root, (mt_ints){view->size, view->ndim}, (mt_ints){view->stride, view->ndim}, &offset);
}

static int complex_of_real(mt_tensor **out, mt_tensor *root, const mt_geometry *view, int64_t base_offset)
{
    int64_t size[MT_MAX_DIM + 1], stride[MT_MAX_DIM + 1];
    mt_geometry pairs = {size, stride, 2 * view->offset, (uint8_t)(view->ndim + 1), root->dtype, 0};
    mt_tensor *t = NULL;
    int rc = -1;

    for (int i = 0; i < view->ndim; i++) {
        size[i] = view->size[i];
        stride[i] = 2 * view->stride[i];
    }
    size[view->ndim] = 2;
    stride[view->ndim] = 1;
    MT_TRY(strided(&t, root, &pairs, pairs.offset - base_offset + root->offset, false));
    MT_TRY(mt_view_as_complex(out, t));
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

static int real_of_complex(mt_tensor **out, mt_tensor *root, const mt_geometry *view, int64_t base_offset)
{
    mt_tensor *t = NULL;
    int rc = -1;

    MT_TRY(mt_view_as_real(&t, root));
    MT_TRY(strided(out, t, view, view->offset - 2 * base_offset + 2 * root->offset, false));
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

int mt_view_replay(mt_tensor **out, mt_tensor *root, int64_t base_offset, const mt_geometry *view)
{
    bool view_complex = mt_dtype_is_complex((mt_dtype)view->dtype);
    bool turns = (view->flags ^ root->flags) & (MT_FLAG_CONJ | MT_FLAG_NEG);
    mt_tensor *t = NULL, *turned = NULL;
    int rc = -1;

    *out = NULL;
    if (view->dtype == root->dtype)
        MT_TRY(strided(&t, root, view, view->offset - base_offset + root->offset, !turns));
    else if (view_complex)
        MT_TRY(complex_of_real(&t, root, view, base_offset));
    else
        MT_TRY(real_of_complex(&t, root, view, base_offset));
    if ((view->flags ^ t->flags) & MT_FLAG_CONJ) {
        MT_TRY(mt_conj(&turned, t));
        mt_tensor_unref(t);
        t = mt_tensor_move(&turned);
    }
    if ((view->flags ^ t->flags) & MT_FLAG_NEG) {
        MT_TRY(mt_neg_view(&turned, t));
        mt_tensor_unref(t);
        t = mt_tensor_move(&turned);
    }
    *out = mt_tensor_move(&t);
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

/* The history of a view whose base or sibling was changed: that of the same view, taken now. */
MT_NOINLINE static int renew_history(mt_node **out, mt_tensor *t)
{
    mt_geometry view = mt_geometry_of(t);
    mt_grad_scope scope;
    mt_tensor *again = NULL;
    int rc = -1;

    if (t->flags & MT_FLAG_GUARDED_VIEW)
        return raise_guarded(t, true);
    scope = mt_grad_scope_enter(true);
    MT_TRY(mt_view_replay(&again, t->base, t->base->offset, &view));
    if (again->autograd && again->autograd->grad_fn) {
        MT_TRY(mt_autograd_set_edge(t, again->autograd->grad_fn, again->autograd->output_nr));
    } else if (t->autograd) { /* the base was detached */
        mt_node_clear(&t->autograd->grad_fn);
        t->autograd->output_nr = 0;
        mt_tensor_mark_requires_grad(t, false);
        t->own_version = mt_tensor_version(t);
    }
    *out = t->autograd ? t->autograd->grad_fn : NULL;
    rc = 0;
fail:
    mt_grad_scope_leave(scope);
    mt_tensor_clear(&again);
    return rc;
}

int mt_autograd_grad_fn(mt_node **out, mt_tensor *t)
{
    *out = t->autograd ? t->autograd->grad_fn : NULL;
    if (MT_LIKELY(!t->base) || t->own_version == mt_tensor_version(t))
        return 0;
    if (!*out && !mt_tensor_requires_grad(t->base))
        return 0;
    return renew_history(out, t);
}

/* --- CopySlices --- */

typedef struct copy_slices {
    mt_node *fn;   /* the node of the write; NULL once released */
    int self_edge; /* its edge that leads to the view, now to the base */
    mt_geometry base, view;
    mt_device device;
} copy_slices;

static const char *copy_slices_name(const mt_node *n)
{
    (void)n;
    return "torch::autograd::CopySlices";
}

/* The gradient of the base goes to its old value, but through fn where the view is. */
static int copy_slices_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    copy_slices *s = n->data;
    mt_tensor *whole = NULL, *part = NULL, *given = NULL;
    int rc = -1;

    MT_REQUIRE(s->fn, MT_ERR_RUNTIME, "%s", mt_text_backward_twice);
    MT_TRY(mt_tensor_new_strided(&whole, (mt_dtype)grads[0]->dtype, s->base.ndim, s->base.size, s->base.stride,
                                 grads[0]->device));
    MT_TRY(mt_copy_inplace(whole, grads[0], false));
    MT_TRY(mt_view_replay(&part, whole, s->base.offset, &s->view));
    MT_TRY(mt_clone(&given, part, MT_FORMAT_PRESERVE));
    MT_TRY(s->fn->ops->run(s->fn, &given, out));
    if (mt_node_needs(n, s->self_edge)) {
        if (out[s->self_edge])
            MT_TRY(mt_copy_inplace(part, out[s->self_edge], false));
        else
            MT_TRY(mt_zero_inplace(part));
        mt_tensor_clear(&out[s->self_edge]);
        out[s->self_edge] = mt_tensor_move(&whole);
    }
    rc = 0;
fail:
    mt_tensor_clear(&whole);
    mt_tensor_clear(&part);
    mt_tensor_clear(&given);
    return rc;
}

static void copy_slices_release(mt_node *n)
{
    copy_slices *s = n->data;

    if (!s->fn)
        return;
    if (s->fn->ops->release)
        s->fn->ops->release(s->fn);
    s->fn->outer = NULL;
    mt_node_clear(&s->fn);
}

static void copy_slices_destroy(mt_node *n)
{
    copy_slices *s = n->data;

    if (!s)
        return;
    if (s->fn)
        s->fn->outer = NULL;
    mt_node_clear(&s->fn);
    mt_free(s);
}

static const mt_node_ops copy_slices_ops = {
    copy_slices_name, copy_slices_run, copy_slices_release, copy_slices_destroy, NULL, NULL};

static int64_t *store_geometry(mt_geometry *g, const mt_tensor *t, int64_t *room)
{
    *g = mt_geometry_of(t);
    memcpy(room, t->size, t->ndim * sizeof(int64_t));
    memcpy(room + t->ndim, t->stride, t->ndim * sizeof(int64_t));
    g->size = room;
    g->stride = room + t->ndim;
    return room + 2 * t->ndim;
}

static int copy_slices_new(mt_node **out, mt_tensor *view, mt_node *fn, int self_edge)
{
    mt_tensor *base = view->base;
    mt_node *n = NULL;
    copy_slices *s;
    void *block = NULL;
    mt_edge to_base;
    int rc = -1;

    MT_TRY(mt_node_new(&n, &copy_slices_ops, fn->n_edges, 0, 1, base->ndim));
    n->flags |= MT_NODE_COPY_SLICES;
    mt_node_set_input(n, 0, base);
    MT_TRY(mt_malloc(&block, sizeof(*s) + 2 * ((size_t)base->ndim + view->ndim) * sizeof(int64_t)));
    s = n->data = block;
    s->fn = NULL;
    s->self_edge = self_edge;
    s->device = base->device;
    store_geometry(&s->view, view, store_geometry(&s->base, base, (int64_t *)(s + 1)));
    MT_TRY(mt_autograd_edge(&to_base, base));
    for (int i = 0; i < fn->n_edges; i++) {
        n->edge[i] = i == self_edge ? to_base : fn->edge[i];
        if (i != self_edge && n->edge[i].node)
            mt_node_ref(n->edge[i].node);
    }
    mt_node_unref(fn->edge[self_edge].node); /* it asks for this gradient when the base does */
    fn->edge[self_edge] = to_base;
    if (to_base.node)
        mt_node_ref(to_base.node);
    s->fn = mt_node_ref(fn);
    fn->outer = n;
    MT_TRY(mt_node_created(n));
    *out = mt_node_ref(n);
    rc = 0;
fail:
    mt_node_clear(&n);
    return rc;
}

mt_node *mt_copy_slices_inner(const mt_node *node)
{
    return node->flags & MT_NODE_COPY_SLICES ? ((copy_slices *)node->data)->fn : NULL;
}

int mt_copy_slices_output(mt_tensor **out, mt_node *node, mt_tensor *saved)
{
    copy_slices *s = node->data;
    mt_tensor *root = NULL, *tangent = NULL;
    mt_grad_scope scope = mt_grad_scope_enter(true);
    int rc = -1;

    MT_TRY(mt_tensor_from_storage(&root, saved->storage, (mt_dtype)s->base.dtype, s->base.ndim, s->base.size,
                                  s->base.stride, s->base.offset));
    if (saved->version) { /* a change of the saved memory must be noticed here too */
        root->version = saved->version;
        mt_refcount_inc(&root->version->refs);
    }
    MT_TRY(mt_autograd_set_history(root, node, 0));
    MT_TRY(mt_view_replay(out, root, s->base.offset, &s->view));
    if (MT_UNLIKELY(saved->keys & MT_KEYS_DUAL)) {
        MT_TRY(mt_forward_tangent(&tangent, saved));
        if (tangent)
            MT_TRY(mt_forward_set(*out, &tangent));
    }
    rc = 0;
fail:
    mt_grad_scope_leave(scope);
    mt_tensor_clear(&root);
    mt_tensor_clear(&tangent);
    return rc;
}

int mt_autograd_rebase(mt_tensor *t, mt_node *node, uint32_t output_nr, int self_edge)
{
    mt_node *slices = NULL;
    int rc = -1;

    if (!t->base)
        return mt_autograd_set_edge(t, node, output_nr);
    MT_TRY(mt_autograd_check_rebase(t, node));
    if (self_edge < 0 || self_edge >= node->n_edges)
        return mt_error_set(MT_ERR_INTERNAL, "in-place history without an edge to the changed tensor");
    MT_TRY(copy_slices_new(&slices, t, node, self_edge));
    MT_TRY(mt_autograd_set_edge(t->base, slices, 0));
    t->own_version = mt_tensor_version(t) - 1; /* out of date */
    rc = 0;
fail:
    mt_node_clear(&slices);
    return rc;
}
