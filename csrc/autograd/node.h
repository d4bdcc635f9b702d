/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: nodes, edges, saved values, per-tensor metadata. Nodes are C objects; a Python object
   is made only when one is asked for. What formulas and node kinds need is here; what bindings call
   is in autograd/autograd.h. */
#ifndef MT_AUTOGRAD_NODE_H
#define MT_AUTOGRAD_NODE_H

#include "core/dispatch.h"

typedef struct mt_node mt_node;
typedef struct mt_hook mt_hook; /* autograd/autograd.h */

typedef struct mt_edge {
    mt_node *node;  /* owned; NULL: this input needs no gradient */
    uint32_t input; /* which output of the forward op that node belongs to */
} mt_edge;

/* A saved value. Tensors keep the version they had; an output of the node itself is kept as a
   detached alias so that the graph has no cycle. Plain values outlive the release of the node. */
typedef struct mt_saved {
    mt_value value;     /* lists are copied into owned memory; kind MT_ARG_NONE: absent */
    uint32_t version;   /* of a tensor */
    uint32_t output_nr; /* of an output of this node */
    bool is_output;
    bool in_place_view; /* an output written through a view: its history is that of n->outer */
    bool released;      /* held a tensor that is gone now */
    bool inside;        /* a number list in the node's own block */
    bool packed;        /* pack holds it, value.v.tensor is NULL */
    bool has_history;   /* an input with a grad_fn: a formula that finds none would differentiate wrongly */
    void *pack;         /* what the pack hook gave, owned through mt_saved_hooks */
} mt_saved;

typedef struct mt_input_meta { /* of each forward output: what gradients must look like */
    int64_t *size;             /* in the node's own block */
    uint8_t ndim, dtype;
    mt_device device;
    bool takes_grad; /* false: a dtype without gradients, or no tensor (MT_DTYPE_NONE) */
} mt_input_meta;

/* grads: one per forward output, NULL when undefined; out: one slot per edge, NULL on entry. */
typedef struct mt_node_ops {
    const char *(*name)(const mt_node *n);
    int (*run)(mt_node *n, mt_tensor *const *grads, mt_tensor **out);
    void (*release)(mt_node *n); /* drops saved tensors; idempotent; may be NULL */
    void (*destroy)(mt_node *n); /* before the node's memory goes; may be NULL */
    /* the last owner let go: true when another one has taken the node over; may be NULL */
    bool (*survive)(mt_node *n);
    void (*held_again)(mt_node *n); /* there is another owner after all; may be NULL */
} mt_node_ops;

enum {
    MT_NODE_ACCUMULATE = 1, /* n->data is the variable */
    MT_NODE_COPY_SLICES = 2,
    MT_NODE_CUSTOM = 4,      /* a Python function: runs with undefined gradients too */
    MT_NODE_OWN_SAVED = 8,   /* n->saved has a block of its own */
    MT_NODE_OWN_INPUT = 16,  /* so has n->input */
    MT_NODE_RENUMBERED = 32, /* another overload by name: t_, squeeze_ and such, comparisons with a number in place */
};

/* What one engine run keeps of a node. */
typedef struct mt_node_run {
    uint64_t task;          /* id of the run that claims the node; stale when that run is over */
    uint32_t dependencies;  /* gradients still to come */
    uint32_t mark, capture; /* private to the engine */
    union {
        mt_tensor *one;   /* nodes with one input */
        mt_tensor **many; /* NULL until the first gradient arrives */
    } grad;
    mt_node *next; /* list of claimed nodes; list of nodes about to be destroyed */
} mt_node_run;

struct mt_node {
    mt_refcount refs;
    uint16_t flags; /* MT_NODE_... */
    uint8_t size_class;
    int n_edges, n_inputs; /* n_inputs: number of forward outputs */
    int n_saved;
    uint32_t busy;     /* runs that execute the node right now; keeps saved values */
    uint64_t sequence; /* creation order; UINT64_MAX for AccumulateGrad */
    const mt_node_ops *ops;
    const mt_op *op; /* NULL for AccumulateGrad, CopySlices, custom functions */
    mt_edge *edge;
    mt_saved *saved;
    mt_input_meta *input;
    mt_hook *hooks; /* NULL or the list of hooks, in order of registration */
    void *py;       /* the Python object, borrowed; it owns a reference */
    void *data;     /* belongs to the kind of node */
    mt_node *outer; /* the CopySlices node around this one, borrowed */
    void *anomaly;  /* owned through mt_anomaly */
    mt_node_run run;
};

/* --- for gradient code --- */

static inline bool mt_node_needs(const mt_node *n, int edge)
{
    return n->edge[edge].node != NULL;
}
/* The saved tensor, a new reference, after the version check; NULL value for an absent optional
   tensor. Error when the buffers were freed ("Trying to backward through the graph a second time
   ..."). */
int mt_saved_tensor(mt_tensor **out, mt_node *n, int k);
/* Error when freed. Plain values (numbers, sizes, dtypes, strings) outlive the release of the node
   and are read straight from n->saved[k].value without it. */
int mt_saved_check(mt_node *n);
/* A saved list of tensors, after the version check; elements may be NULL. It is borrowed unless hooks had some of it: then
   it is *own, to be freed, after an error too. */
int mt_saved_tensors(mt_tensors *out, mt_tensor ***own, mt_node *n, int k);
void mt_saved_tensors_free(mt_tensor **own, int n);
/* Zeros that look like output k of the forward op, for a gradient that did not arrive. NULL when the op gave no tensor
   there (a gradient that a mask left out). */
int mt_node_zeros(mt_tensor **out, mt_node *n, int k);

/* The AUTOGRAD slot of every op that has a gradient, an in-place, out= or view form. */
int mt_autograd_kernel(mt_call *call);
/* The function form of an op of one or two tensors (b NULL) whose other arguments have their defaults, when it is to be
   recorded and nothing else is special: 1 when it produced *out, 0 for the general road, -1 on error. */
int mt_autograd_short(mt_tensor **out, const mt_op *op, mt_tensor *a, mt_tensor *b);
/* A view of a CPU tensor with nothing special, on record or not. */
int mt_autograd_short_view(mt_call *call);

/* --- life of a node --- */

/* Edges, saved values and input metadata are empty (metadata takes no gradient). n_dims is the room
   for the sizes of all inputs together. The sequence number is the next of the process. */
int mt_node_new(mt_node **out, const mt_node_ops *ops, int n_edges, int n_saved, int n_inputs, int64_t n_dims);
void mt_node_destroy(mt_node *n);
/* To be called once the fields of its kind are set: anomaly mode takes note. */
int mt_node_created(mt_node *n);

static inline mt_node *mt_node_ref(mt_node *n)
{
    mt_refcount_inc(&n->refs);
    return n;
}

/* Destruction does not recurse: what dies inside a destruction waits in a list of this thread. */
static inline void mt_node_unref(mt_node *n)
{
    if (n && mt_refcount_dec(&n->refs) == 0)
        mt_node_destroy(n);
}

static inline void mt_node_clear(mt_node **n)
{
    mt_node *old = *n;

    *n = NULL;
    mt_node_unref(old);
}

/* After something that may outlive the taker of `survive` became an owner. */
static inline void mt_node_held_again(mt_node *n)
{
    if (MT_UNLIKELY(n->flags & MT_NODE_CUSTOM) && n->ops->held_again)
        n->ops->held_again(n);
}

/* "AddBackward0", "torch::autograd::AccumulateGrad" */
static inline const char *mt_node_name(const mt_node *n)
{
    return n->ops->name(n);
}

/* Metadata of input k from the tensor that the forward op gave; NULL: it takes no gradient. To be
   called for k = 0, 1, ... in this order; the sizes together take the n_dims of mt_node_new. */
static inline void mt_node_set_input(mt_node *n, int k, const mt_tensor *t)
{
    mt_input_meta *m = &n->input[k];

    m->size = k ? m[-1].size + m[-1].ndim : (int64_t *)(n->input + n->n_inputs);
    if (!t)
        return;
    m->ndim = t->ndim;
    m->dtype = t->dtype;
    m->device = t->device;
    m->takes_grad = mt_dtype_is_differentiable((mt_dtype)t->dtype);
    for (int i = 0; i < t->ndim; i++)
        m->size[i] = t->size[i];
}

/* What a gradient for output k must look like; of an accumulator: like its variable, but for the .data setter. */
mt_input_meta mt_node_input(const mt_node *n, int k);
/* n_inputs without the last outputs of the op that take no gradient (indices), which nobody outside is shown. */
int mt_node_differentiable_outputs(const mt_node *n);
/* For nodes whose outputs become known later: replaces all metadata. Elements may be NULL. */
int mt_node_replace_inputs(mt_node *n, mt_tensor *const *tensors, int count);
/* For nodes whose saved values become known later: n empty values, in a block of their own. */
int mt_node_replace_saved(mt_node *n, int count);

/* --- saved values --- */

/* Saves into an empty slot. `is_output`: output number output_nr of n itself. RuntimeError for
 * inference tensors. */
int mt_saved_set_tensor(mt_node *n, int k, mt_tensor *t, bool is_output, uint32_t output_nr);
int mt_saved_set_tensors(mt_node *n, int k, mt_tensors list);
/* Any value; lists and strings are copied. Generators and storages are not kept. */
int mt_saved_set_value(mt_node *n, int k, const mt_value *value);
/* Slot k, or that of element `item` of a saved list. */
mt_saved *mt_saved_slot(mt_node *n, int k, int item);
/* Like mt_saved_tensor; with_history: an output comes back with its history. */
int mt_saved_read(mt_tensor **out, mt_node *n, const mt_saved *s, bool with_history);
/* Gives a saved tensor to the pack hook that is on top now, as register_hooks of a saved tensor does. */
int mt_saved_pack(mt_node *n, mt_saved *s);
/* What the pack hook left, or NULL. */
void *mt_saved_handle(const mt_saved *s);
extern const char mt_text_backward_twice[]; /* what is said of released ones */
/* Drops the tensors of all saved values and marks them released. */
void mt_node_release_saved(mt_node *n);

/* --- per-tensor metadata --- */

struct mt_autograd {
    mt_tensor *grad;
    mt_node *grad_fn;     /* owned; NULL for leaves. Read it through mt_autograd_grad_fn */
    mt_node *accumulator; /* borrowed; cleared by the node when it dies */
    mt_hook *hooks;       /* tensor hooks of a leaf, post-accumulate hooks */
    uint32_t output_nr;
    uint8_t requires_grad; /* the flag of a leaf */
    uint8_t retains_grad;
    uint8_t grad_dtype;             /* dtype that .grad must have; MT_DTYPE_COUNT: that of the tensor; NONE: any */
    uint8_t only_primal : 1;        /* a view that has no part in the tangent of its base */
    uint8_t idle_accumulator : 1;   /* accumulator is dead: a block that the next graph uses again, owned */
    uint8_t shares_accumulator : 1; /* accumulator is that of another leaf, and owned */
    union {
        struct mt_dual *dual; /* the tangent of forward mode, owned; NULL mostly */
        mt_autograd *next;    /* list of metadata about to be destroyed */
    };
};

#endif
