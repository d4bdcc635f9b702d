/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of an op with tangents, shared by forward_jvp.c and forward_rules.c. */
#ifndef MT_AUTOGRAD_FORWARD_INTERNAL_H
#define MT_AUTOGRAD_FORWARD_INTERNAL_H

#include "autograd/autograd_internal.h"

#define MT_FORWARD_EDGES 8

/* One call under way. Edges are the tensor arguments that can have a gradient, elements of lists one by one. */
typedef struct mt_forward {
    mt_call *call;
    mt_call frame; /* its arguments, without tangents when somebody may differentiate the result: what is saved */
    const mt_grad *grad;
    int n_edges;
    bool recorded;
    mt_tensor **primal;  /* of each edge, owned */
    mt_tensor **tangent; /* owned, NULL: none */
    mt_tensor *few[2 * MT_FORWARD_EDGES];
    mt_tensor **lists[MT_MAX_ARGS]; /* list arguments of the frame */
    mt_tensor *self;                /* what an in-place form writes */
    mt_node *node;                  /* the formulas and what they read */
    mt_node *mark;                  /* the end of the node's edges: says which gradients are wanted */
    mt_tensor *result[MT_MAX_OUTS];
    mt_tensor **results; /* owned tangents of the outputs */
    int n_results;
} mt_forward;

/* forward_rules.c: the tangents of the outputs, from the node and the tangents of the arguments. */
int mt_forward_compute(mt_forward *f);

#endif
