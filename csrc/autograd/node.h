/* SPDX-License-Identifier: BSD-3-Clause */
/* The graph: nodes, edges, saved values, per-tensor metadata. Nodes are C objects; a Python object is
   made only when one is asked for. */
#ifndef MT_AUTOGRAD_NODE_H
#define MT_AUTOGRAD_NODE_H

#include "core/dispatch.h"

typedef struct mt_node mt_node;

typedef struct mt_edge {
    mt_node *node;   /* owned; NULL: this input needs no gradient */
    uint32_t input;  /* which output of the forward op that node belongs to */
} mt_edge;

/* A saved value. Tensors keep the version they had; an output of the node itself is kept as a detached alias so
   that the graph has no cycle. */
typedef struct mt_saved {
    mt_value value;        /* lists are copied into owned memory */
    uint32_t version;
    uint32_t output_nr;
    bool is_output, is_leaf;
    void *pack;            /* Python hooks, installed by bindings */
} mt_saved;

typedef struct mt_input_meta { /* of each forward output: what gradients must look like */
    int64_t *size;
    uint8_t ndim, dtype;
    mt_device device;
} mt_input_meta;

typedef struct mt_node_ops {
    const char *(*name)(const mt_node *n);
    int (*run)(mt_node *n, mt_tensor *const *grads, mt_tensor **out);
    void (*release)(mt_node *n);  /* drops saved values; idempotent */
    void (*destroy)(mt_node *n);  /* before the node's memory goes */
} mt_node_ops;

struct mt_node {
    mt_refcount refs;
    uint16_t n_edges, n_inputs;  /* n_inputs: number of forward outputs */
    uint16_t n_saved;
    uint16_t flags;
    uint64_t sequence;
    const mt_node_ops *ops;
    const mt_op *op;             /* NULL for AccumulateGrad, CopySlices, custom functions */
    mt_edge *edge;
    mt_saved *saved;
    mt_input_meta *input;
    void *hooks;                 /* NULL or the hook lists */
    void *py;                    /* the Python object, borrowed */
    uint64_t task;               /* id of the engine run that claims the node */
    uint32_t dependencies;
    void *next;                  /* engine and destruction lists */
    void *buffer;                /* gradients arrived so far in the claiming run */
    void *anomaly;
};

/* For generated gradient code. */
static inline bool mt_node_needs(const mt_node *n, int edge)
{
    return n->edge[edge].node != NULL;
}
/* The saved tensor, a new reference, after the version check; NULL value for an absent optional tensor. Error when
   the buffers were freed ("Trying to backward through the graph a second time ..."). */
int mt_saved_tensor(mt_tensor **out, mt_node *n, int k);
/* Error when freed. Plain values (numbers, sizes, dtypes, strings) outlive the release of the node and are read
   straight from n->saved[k].value without it. */
int mt_saved_check(mt_node *n);
/* A saved list of tensors, borrowed, after the version check; elements may be NULL. */
int mt_saved_tensors(mt_tensors *out, mt_node *n, int k);
/* Zeros that look like output k of the forward op, for a gradient that did not arrive. */
int mt_node_zeros(mt_tensor **out, mt_node *n, int k);

/* The AUTOGRAD slot of every op that has a gradient, an in-place, out= or view form. */
int mt_autograd_kernel(mt_call *call);

#endif
