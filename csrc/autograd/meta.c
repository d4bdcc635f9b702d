/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient state of a tensor: the requires_grad flag, .grad, history and the edge to it. A tensor
   without gradient needs has no metadata at all. The metadata owns the node of its history; the
   accumulator of a leaf is owned by the graph and owns the leaf, so the leaf only remembers where
   it is. Lazy history of views is in inplace.c. */
#include "autograd/autograd_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/shape.h"

static mt_pool meta_pool = MT_POOL_INIT(sizeof(mt_autograd), 1024);

static inline int ensure_meta(mt_autograd **out, mt_tensor *t)
{
    mt_autograd *m = t->autograd;
    void *block;

    if (!m) {
        if (mt_pool_get(&block, &meta_pool) < 0)
            return -1;
        m = block;
        memset(m, 0, sizeof(*m));
        m->grad_dtype = MT_DTYPE_COUNT;
        t->autograd = m;
    }
    *out = m;
    return 0;
}

int mt_autograd_meta(mt_autograd **out, mt_tensor *t)
{
    return ensure_meta(out, t);
}

/* Called by core when the tensor dies. */
static void destroy_meta(mt_autograd *m)
{
    if (MT_UNLIKELY(m->dual != NULL)) {
        mt_dual_free(m->dual);
        m->dual = NULL;
    }
    if (m->idle_accumulator)
        mt_node_free_idle(m->accumulator);
    if (!m->grad && !m->hooks && !m->retains_grad && !m->shares_accumulator) {
        mt_node *n = m->grad_fn;

        mt_pool_put(&meta_pool, m);
        mt_node_unref(n);
        return;
    }
    mt_autograd_destroy_later(m);
}

void mt_autograd_free(mt_autograd *m)
{
    if (m->hooks)
        mt_hook_clear(&m->hooks);
    if (m->retains_grad && m->grad_fn)
        mt_hook_drop_retain(m->grad_fn, m);
    mt_tensor_clear(&m->grad);
    mt_node_clear(&m->grad_fn);
    if (m->shares_accumulator)
        mt_node_clear(&m->accumulator);
    mt_pool_put(&meta_pool, m);
}

/* The accumulator that a live graph has of t, or NULL. */
static mt_node *own_accumulator(const mt_tensor *t)
{
    const mt_autograd *m = t->autograd;

    return m && !m->idle_accumulator && !m->shares_accumulator ? m->accumulator : NULL;
}

/* The graph goes on with what it knows of t. */
static int keep_description(mt_node *accumulator, mt_tensor *t)
{
    mt_dtype dtype = (mt_dtype)mt_node_input(accumulator, 0).dtype;

    if (accumulator->flags & MT_NODE_OWN_INPUT)
        return 0;
    if (mt_node_replace_inputs(accumulator, &t, 1) < 0)
        return -1;
    accumulator->input[0].dtype = (uint8_t)dtype;
    return 0;
}

static int before_reshape(mt_tensor *t, int ndim, const int64_t *size)
{
    mt_node *n = own_accumulator(t);

    return n && !mt_shape_equal(t->ndim, t->size, ndim, size) ? keep_description(n, t) : 0;
}

static int check_inplace(mt_tensor *t)
{
    return mt_autograd_check_inplace(t, true);
}

void mt_autograd_init(void)
{
    mt_autograd_destroy = destroy_meta;
    mt_autograd_before_reshape = before_reshape;
    mt_inplace_check = check_inplace;
    mt_forward_dispatch = mt_forward_call;
}

/* --- requires_grad --- */

int mt_autograd_is_leaf(bool *out, mt_tensor *t)
{
    mt_node *n;

    *out = true;
    if (mt_autograd_grad_fn(&n, t) < 0)
        return -1;
    *out = n == NULL;
    return 0;
}

/* For the setters of the flag, which do not mind that a view must not be written and may be out of date. */
static int is_leaf_for_flag(bool *out, mt_tensor *t)
{
    if (!(t->flags & MT_FLAG_GUARDED_VIEW))
        return mt_autograd_is_leaf(out, t);
    *out = !t->autograd || !t->autograd->grad_fn;
    return 0;
}

static int set_flag(mt_tensor *t, bool on)
{
    mt_autograd *m = t->autograd;
    int rc = -1;

    if (!on && !m)
        return 0;
    MT_REQUIRE(!on || !(t->flags & MT_FLAG_INFERENCE) || mt_thread.inference_mode, MT_ERR_RUNTIME,
               "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    MT_TRY(mt_autograd_meta(&m, t));
    m->requires_grad = on;
    mt_tensor_mark_requires_grad(t, on);
    rc = 0;
fail:
    return rc;
}

int mt_autograd_set_requires_grad(mt_tensor *t, bool on)
{
    bool leaf;
    int rc = -1;

    MT_TRY(is_leaf_for_flag(&leaf, t));
    MT_REQUIRE(leaf, MT_ERR_RUNTIME, "you can only change requires_grad flags of leaf variables.%s",
               on ? ""
                  : " If you want to use a computed variable in a subgraph that doesn't require "
                    "differentiation use var_no_grad = var.detach().");
    MT_REQUIRE(!on || mt_dtype_is_differentiable((mt_dtype)t->dtype), MT_ERR_RUNTIME,
               "only Tensors of floating point and complex dtype can require gradients");
    rc = set_flag(t, on);
fail:
    return rc;
}

int mt_autograd_requires_grad_inplace(mt_tensor *t, bool on)
{
    bool leaf;
    int rc = -1;

    MT_TRY(is_leaf_for_flag(&leaf, t));
    if (!leaf && on)
        return 0;
    MT_REQUIRE(leaf, MT_ERR_RUNTIME,
               "you can only change requires_grad flags of leaf variables. If you want to use a "
               "computed variable in a subgraph that doesn't require differentiation use "
               "var_no_grad = var.detach().");
    MT_REQUIRE(!on || mt_dtype_is_differentiable((mt_dtype)t->dtype), MT_ERR_RUNTIME,
               "only Tensors of floating point dtype can require gradients");
    rc = set_flag(t, on);
fail:
    return rc;
}

/* --- .grad --- */

mt_dtype mt_autograd_grad_dtype(const mt_tensor *t)
{
    if (!t->autograd || t->autograd->grad_dtype == MT_DTYPE_COUNT)
        return (mt_dtype)t->dtype;
    return (mt_dtype)t->autograd->grad_dtype;
}

int mt_autograd_set_grad_dtype(mt_tensor *t, mt_dtype dtype)
{
    mt_autograd *m;
    bool leaf;
    int rc = -1;

    MT_TRY(mt_autograd_is_leaf(&leaf, t));
    MT_REQUIRE(leaf, MT_ERR_RUNTIME, "grad_dtype can only be set on leaf tensors.");
    MT_REQUIRE(!mt_autograd_grad(t) || dtype == MT_DTYPE_NONE || dtype == (mt_dtype)t->autograd->grad->dtype,
               MT_ERR_RUNTIME,
               "Cannot set grad_dtype to '%s' because there is already a gradient with dtype '%s'. "
               "Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the "
               "new grad_dtype matches the existing gradient's dtype.",
               mt_dtype_table[dtype].legacy, mt_dtype_element((mt_dtype)t->autograd->grad->dtype));
    MT_TRY(mt_autograd_meta(&m, t));
    m->grad_dtype = (uint8_t)dtype;
    rc = 0;
fail:
    return rc;
}

static const char *device_type_name(mt_device d)
{
    return d.type == MT_DEVICE_CPU ? "cpu" : d.type == MT_DEVICE_CUDA ? "cuda" : "meta";
}

static int check_grad(const mt_tensor *t, const mt_tensor *grad)
{
    mt_dtype want = mt_autograd_grad_dtype(t);
    mt_shape_text got_shape, want_shape;
    bool same_shape = grad->ndim == t->ndim;
    int rc = -1;

    for (int i = 0; same_shape && i < t->ndim; i++)
        same_shape = grad->size[i] == t->size[i];
    MT_REQUIRE(grad != t, MT_ERR_RUNTIME, "can't assign Variable as its own grad");
    MT_REQUIRE(want == MT_DTYPE_NONE || grad->dtype == want, MT_ERR_RUNTIME,
               "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. "
               "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
               "You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
               "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
               "its gradient may break downstream systems that assume they match.",
               mt_dtype_element((mt_dtype)grad->dtype), mt_dtype_table[want].legacy);
    MT_REQUIRE(grad->device.type == t->device.type, MT_ERR_RUNTIME,
               "attempting to assign a gradient with device type '%s' to a tensor with device type "
               "'%s'. Please ensure that the gradient and the tensor are on the same device",
               device_type_name(grad->device), device_type_name(t->device));
    MT_REQUIRE(grad->device.index == t->device.index || t->device.type != MT_DEVICE_CUDA, MT_ERR_RUNTIME,
               "attempting to assign a gradient located on device with index '%d' to a tensor "
               "located on device with index '%d'. Please ensure that the gradient and the tensor "
               "are on the same device",
               grad->device.index, t->device.index);
    MT_REQUIRE(same_shape, MT_ERR_RUNTIME,
               "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please "
               "ensure that the gradient and the tensor are the same size",
               mt_shape_format(&got_shape, grad->size, grad->ndim), mt_shape_format(&want_shape, t->size, t->ndim));
    rc = 0;
fail:
    return rc;
}

int mt_autograd_replace_grad(mt_tensor *t, mt_tensor *grad)
{
    mt_autograd *m = t->autograd;
    mt_tensor *old;

    if (!grad && !m)
        return 0;
    if (mt_autograd_meta(&m, t) < 0)
        return -1;
    old = m->grad;
    m->grad = grad ? mt_tensor_ref(grad) : NULL;
    mt_tensor_unref(old);
    return 0;
}

int mt_autograd_set_grad(mt_tensor *t, mt_tensor *grad)
{
    if (grad && check_grad(t, grad) < 0)
        return -1;
    return mt_autograd_replace_grad(t, grad);
}

/* --- history --- */

/* Anomaly mode sees an accumulator when the leaf is used first. */
MT_COLD static int note_accumulator(mt_node **n)
{
    if ((*n)->anomaly || mt_node_created(*n) == 0)
        return 0;
    mt_node_clear(n);
    return -1;
}

static inline int find_accumulator(mt_node **out, mt_tensor *t)
{
    mt_autograd *m = t->autograd;

    *out = NULL;
    if (!m || !m->requires_grad)
        return 0;
    if (m->accumulator) {
        if (m->idle_accumulator) {
            m->idle_accumulator = 0;
            m->accumulator->data = mt_tensor_ref(t);
            m->accumulator->run.task = 0;
        }
        *out = mt_node_ref(m->accumulator);
    } else {
        if (mt_accumulate_node_new(out, t) < 0)
            return -1;
        m->accumulator = *out;
    }
    return MT_UNLIKELY(mt_anomaly.enabled) ? note_accumulator(out) : 0;
}

int mt_autograd_before_set_data(mt_tensor *t, const mt_tensor *from)
{
    mt_node *n = own_accumulator(t);
    bool other_kind = t->dtype != from->dtype || !mt_device_equal(t->device, from->device);

    if (!n || (!other_kind && mt_shape_equal(t->ndim, t->size, from->ndim, from->size)))
        return 0;
    if (keep_description(n, t) < 0)
        return -1;
    if (other_kind)
        t->autograd->accumulator = NULL;
    return 0;
}

int mt_autograd_accumulator(mt_node **out, mt_tensor *t)
{
    return find_accumulator(out, t);
}

int mt_autograd_edge(mt_edge *out, mt_tensor *t)
{
    mt_node *n;

    *out = (mt_edge){NULL, 0};
    if (!mt_tensor_requires_grad(t))
        return 0;
    n = t->autograd && !t->base ? t->autograd->grad_fn : NULL;
    if (t->base && mt_autograd_grad_fn(&n, t) < 0)
        return -1;
    if (n) {
        *out = (mt_edge){mt_node_ref(n), t->autograd->output_nr};
        return 0;
    }
    return find_accumulator(&out->node, t);
}

/* The tensor's history is `node` from now on; a retained gradient follows. Takes a new reference.
 */
int mt_autograd_set_edge(mt_tensor *t, mt_node *node, uint32_t output_nr)
{
    mt_autograd *m;
    mt_node *old;

    if (ensure_meta(&m, t) < 0)
        return -1;
    if (MT_UNLIKELY(m->retains_grad) && mt_hook_move_retain(m, m->grad_fn, node, output_nr) < 0)
        return -1;
    old = m->grad_fn;
    m->grad_fn = mt_node_ref(node);
    m->output_nr = output_nr;
    mt_tensor_mark_requires_grad(t, true);
    if (t->base)
        t->own_version = mt_tensor_version(t);
    mt_node_unref(old);
    return 0;
}

int mt_autograd_set_history(mt_tensor *t, mt_node *node, uint32_t output_nr)
{
    return mt_autograd_set_edge(t, node, output_nr);
}

int mt_autograd_share_edge(mt_tensor *t, const mt_edge *edge)
{
    mt_autograd *m;

    if (!(edge->node->flags & MT_NODE_ACCUMULATE))
        return mt_autograd_set_edge(t, edge->node, edge->input);
    if (mt_autograd_meta(&m, t) < 0)
        return -1;
    if (m->idle_accumulator)
        mt_node_free_idle(m->accumulator);
    m->idle_accumulator = 0;
    m->accumulator = mt_node_ref(edge->node);
    m->shares_accumulator = m->requires_grad = 1;
    mt_tensor_mark_requires_grad(t, true);
    return 0;
}

int mt_autograd_detach_inplace(mt_tensor *t)
{
    mt_autograd *m = t->autograd;
    mt_node *old;
    int rc = -1;

    MT_REQUIRE(!t->base || mt_thread.inference_mode || (t->flags & MT_FLAG_INFERENCE), MT_ERR_RUNTIME,
               "Can't detach views in-place. Use detach() instead. If you are using "
               "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
               "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
               "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
               "function in torch/optim/optimizer.py as the solution.");
    if (m && !mt_thread.inference_mode) {
        if (m->grad_fn)
            MT_TRY(mt_hooks_keep(t));
        if (m->dual)
            mt_forward_drop(t);
        if (m->retains_grad && m->grad_fn)
            mt_hook_drop_retain(m->grad_fn, m);
        old = m->grad_fn;
        m->grad_fn = NULL;
        m->output_nr = 0;
        m->requires_grad = 0;
        mt_tensor_mark_requires_grad(t, false);
        mt_node_unref(old);
    }
    rc = 0;
fail:
    return rc;
}
