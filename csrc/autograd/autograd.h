/* SPDX-License-Identifier: BSD-3-Clause */
/* What bindings call: gradient state of tensors, hooks, running the graph. Nothing here knows
   Python; callbacks come in as function tables with an opaque context. Everything needs the
   interpreter lock. */
#ifndef MT_AUTOGRAD_AUTOGRAD_H
#define MT_AUTOGRAD_AUTOGRAD_H

#include "autograd/node.h"

/* Installs the destructor of tensor metadata in core. Call once before the first op. */
void mt_autograd_init(void);

/* --- gradient state of a tensor --- */

/* The metadata, made when missing. */
int mt_autograd_meta(mt_autograd **out, mt_tensor *t);

/* Borrowed; NULL for a leaf. A view whose base was changed in place gets its new history here, so
   that this can fail ("... its base or another view of its base has been modified inplace ..."). */
int mt_autograd_grad_fn(mt_node **out, mt_tensor *t);
int mt_autograd_is_leaf(bool *out, mt_tensor *t);

static inline uint32_t mt_autograd_output_nr(const mt_tensor *t)
{
    return t->autograd ? t->autograd->output_nr : 0;
}

/* The two spellings have different errors: t.requires_grad = on, and t.requires_grad_(on). */
int mt_autograd_set_requires_grad(mt_tensor *t, bool on);
int mt_autograd_requires_grad_inplace(mt_tensor *t, bool on);

/* Borrowed, NULL when there is none. */
static inline mt_tensor *mt_autograd_grad(const mt_tensor *t)
{
    return t->autograd ? t->autograd->grad : NULL;
}
/* NULL clears. The checks of the .grad setter. */
int mt_autograd_set_grad(mt_tensor *t, mt_tensor *grad);
/* Without checks; for optimizers and accumulation. Takes a new reference. */
int mt_autograd_replace_grad(mt_tensor *t, mt_tensor *grad);
/* The dtype .grad must have; MT_DTYPE_NONE: any. */
mt_dtype mt_autograd_grad_dtype(const mt_tensor *t);
int mt_autograd_set_grad_dtype(mt_tensor *t, mt_dtype dtype);

/* detach_: becomes a leaf without gradient needs. RuntimeError for views. */
int mt_autograd_detach_inplace(mt_tensor *t);
int mt_autograd_retain_grad(mt_tensor *t);

static inline bool mt_autograd_retains_grad(const mt_tensor *t)
{
    return t->autograd && t->autograd->retains_grad;
}

/* --- history --- */

/* Where a gradient of t goes: grad_fn or the accumulator; node NULL when nowhere. The edge owns its
 * node. */
int mt_autograd_edge(mt_edge *out, mt_tensor *t);
/* The AccumulateGrad node of a leaf that requires grad, a new reference; NULL node otherwise. */
int mt_autograd_accumulator(mt_node **out, mt_tensor *t);
/* The variable of an AccumulateGrad node, borrowed; NULL for other nodes. */
static inline mt_tensor *mt_node_variable(const mt_node *n)
{
    return n->flags & MT_NODE_ACCUMULATE ? n->data : NULL;
}
/* Before t takes over what `from` is made of: a graph that t is part of goes on with the shape and dtype it knows; after a
 * change of dtype or device, t gets an accumulator of its own for the next graph. */
int mt_autograd_before_set_data(mt_tensor *t, const mt_tensor *from);
/* t becomes output output_nr of node. */
int mt_autograd_set_history(mt_tensor *t, mt_node *node, uint32_t output_nr);
/* t has the history of the value that this edge leads to; a leaf then, if that one is. */
int mt_autograd_share_edge(mt_tensor *t, const mt_edge *edge);
/* The errors of in-place writes to leaves and guarded views. `recorded`: some input requires grad.
 */
int mt_autograd_check_inplace(mt_tensor *t, bool recorded);
/* t was written in place by node, whose edge self_edge belongs to the old value of t. A view passes
   the change on to its base through a CopySlices node. */
int mt_autograd_rebase(mt_tensor *t, mt_node *node, uint32_t output_nr, int self_edge);
/* Error when node cannot be the history of an in-place change of a view: it has more than one
 * output. */
int mt_autograd_check_rebase(mt_tensor *t, const mt_node *node);

/* --- hooks --- */

typedef enum mt_hook_kind {
    MT_HOOK_TENSOR,         /* may replace grads[input]; NULL when undefined */
    MT_HOOK_RETAIN,         /* internal */
    MT_HOOK_PRE,            /* may replace any of grads */
    MT_HOOK_POST,           /* may replace any of results */
    MT_HOOK_POST_ACCUMULATE /* variable */
} mt_hook_kind;

/* Entries that are replaced own their new value: unref the old one, store a new reference. */
typedef struct mt_hook_frame {
    mt_node *node;
    mt_tensor **grads;   /* gradients of the forward outputs */
    mt_tensor **results; /* gradients of the forward inputs (POST) */
    int n_grads, n_results;
    uint32_t input;      /* TENSOR */
    mt_tensor *variable; /* POST_ACCUMULATE */
} mt_hook_frame;

typedef struct mt_hook_ops {
    int (*run)(void *ctx, mt_hook_frame *frame);
    void (*destroy)(void *ctx);
    void (*hold)(void *ctx); /* the context gets another owner; NULL: it has one only */
} mt_hook_ops;

struct mt_hook {
    mt_hook *next;
    const mt_hook_ops *ops; /* NULL: removed, or RETAIN */
    void *ctx;              /* owned; RETAIN: the tensor, borrowed */
    uint32_t input;
    uint8_t kind;
    bool removed;
};

/* All take over ctx on success only. Tensor hooks belong to the value: those of a non-leaf sit on
 * its node. */
int mt_autograd_add_tensor_hook(mt_tensor *t, const mt_hook_ops *ops, void *ctx);
int mt_autograd_add_post_accumulate_hook(mt_tensor *t, const mt_hook_ops *ops, void *ctx);
/* A hook of a tensor that does not require grad, for when it does. */
int mt_autograd_add_idle_hook(mt_tensor *t, mt_hook_kind kind, const mt_hook_ops *ops, void *ctx);
int mt_node_add_hook(mt_node *n, mt_hook_kind kind, const mt_hook_ops *ops, void *ctx);
/* Removes the hook with this context from a list (&node->hooks, &meta->hooks); destroys its
   context, so that a hook which removes itself must hold its context while it runs. */
bool mt_hook_remove(mt_hook **list, const void *ctx);
/* First live hook of this kind (and input, for TENSOR hooks) behind `after` (NULL: from the start).
 */
mt_hook *mt_hook_find(mt_hook *list, const mt_hook *after, mt_hook_kind kind, uint32_t input);
/* Only when the owner of the list dies. */
void mt_hook_clear(mt_hook **list);

/* --- forward mode --- */

/* There is at most one level in the process; -1: none. Leaving it drops all tangents. */
int mt_forward_enter(int64_t *level);
int mt_forward_exit(int64_t level);
int64_t mt_forward_level(void);
/* This thread looks at tangents (the default). */
static inline bool mt_forward_is_enabled(void)
{
    return !(mt_thread.exclude & MT_KEYS_DUAL);
}
void mt_forward_set_enabled(bool on);
/* The tangent of t, laid out like t; a new reference or NULL. */
int mt_forward_tangent(mt_tensor **out, mt_tensor *t);
/* t was computed and *tangent belongs to it now. Takes *tangent over when it can. */
int mt_forward_set(mt_tensor *t, mt_tensor **tangent);
/* A view of primal with this tangent (shared when it is laid out like primal). */
int mt_forward_make_dual(mt_tensor **out, mt_tensor *primal, mt_tensor *tangent, int64_t level);
/* A view of dual without a tangent, and the tangent or NULL. */
int mt_forward_unpack(mt_tensor **primal, mt_tensor **tangent, mt_tensor *dual, int64_t level);

/* --- running --- */

enum {
    MT_RUN_RETAIN_GRAPH = 1,
    MT_RUN_CREATE_GRAPH = 2,
    MT_RUN_ACCUMULATE = 4, /* backward(): into .grad of the leaves, or of the given inputs */
    MT_RUN_ALLOW_UNUSED = 8,
    MT_RUN_MATERIALIZE = 16 /* zeros for unused inputs that are tensors */
};

/* A tensor, or an edge of the graph (tensor NULL). */
typedef struct mt_endpoint {
    mt_tensor *tensor;
    mt_node *node;
    uint32_t input;
} mt_endpoint;

/* backward and autograd.grad. grad[i] NULL: ones, for a one-element real output; grad NULL: all so.
   n_inputs < 0: every leaf (with ACCUMULATE). Without ACCUMULATE result gets n_inputs new
   references (NULL for unused). All values are checked, with the texts of torch.autograd. */
int mt_engine_run(mt_tensor **result, const mt_endpoint *output, mt_tensor *const *grad, int n_outputs,
                  const mt_endpoint *input, int n_inputs, unsigned flags);

/* Inside a run of this thread: */
bool mt_engine_is_running(void);
/* RuntimeError outside a run. */
int mt_engine_will_execute(bool *out, mt_node *n);
/* Runs at the end of the current run, also when it was added by another callback. RuntimeError
   outside a run; takes over ctx on success. */
int mt_engine_queue_callback(int (*run)(void *ctx), void (*destroy)(void *ctx), void *ctx);
/* The node that is being run, or NULL. */
mt_node *mt_engine_current_node(void);
/* Its roots, borrowed; NULL outside a run. */
const mt_edge *mt_engine_roots(int *n);
/* Whether the run comes to this node, for a capture or to run it. False outside a run. */
bool mt_engine_wants(mt_node *n);
/* True outside a run. */
bool mt_engine_keeps_graph(void);
/* The sequence number that the next node of the process gets. */
uint64_t mt_node_next_sequence(void);
/* Whether no run on this thread is restricted to given inputs: a node may then start backward on its own. */
bool mt_engine_is_unrestricted(void);
/* The number of the run, or -1. */
int64_t mt_engine_current_run(void);

/* Runs body, the run of number `nested` inside others, on another thread and waits, giving the lock to it; an exception that body leaves is
   carried over. Used when runs are nested deeply, so that no stack overflows. May stay NULL: then
   nesting beyond the limit is an error. */
extern int (*mt_engine_hop)(int (*body)(void *arg), void *arg, int nested);

/* --- what bindings fill in --- */

/* Saved-tensor hooks: asked while mt_thread.slow has MT_SLOW_SAVED_HOOKS. pack gives an owned
   handle, or NULL to decline (then the tensor itself is saved). */
typedef struct mt_saved_hook_table {
    int (*pack)(void **out, mt_tensor *t);
    int (*unpack)(mt_tensor **out, void *handle);
    void (*destroy)(void *handle);
    void (*hold)(void *hooks); /* another owner of what mt_thread.saved_hooks is, and one less */
    void (*drop)(void *hooks);
} mt_saved_hook_table;
extern mt_saved_hook_table mt_saved_hooks;

/* Anomaly mode and node metadata. */
typedef struct mt_anomaly_table {
    bool enabled, check_nan;
    int (*created)(mt_node *n); /* while enabled; may use n->anomaly; the node under execution is its parent */
    /* while enabled with check_nan, after run and hooks of n: an error when a result holds nan */
    int (*check)(mt_node *n, mt_tensor *const *results, int n_results);
    void (*failed)(mt_node *n); /* while enabled, after anything about n failed, hooks too; must keep the error */
    void (*destroy)(void *anomaly);
} mt_anomaly_table;
extern mt_anomaly_table mt_anomaly;

#endif
