/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by function_type.c (the object and its node) and function_apply.c (the forward call). */
#ifndef MT_BINDINGS_FUNCTION_INTERNAL_H
#define MT_BINDINGS_FUNCTION_INTERNAL_H

#include "bindings/autograd_internal.h"

typedef struct mt_py_function {
    mt_py_node node; /* node.n is borrowed; NULL when nothing is recorded or the graph is gone */
    PyObject *to_save, *saved_for_forward, *non_differentiable, *dirty;
    PyObject *needs_input_grad; /* tuple of bools, one for each input */
    PyObject *kept;             /* tuple of saved tensors, once the node is gone; or NULL */
    bool *is_tensor;            /* likewise */
    bool materialize_grads;
    bool accessed; /* saved tensors have been read, and dropped for that */
} mt_py_function;

/* NULL when o is no ctx. */
mt_py_function *mt_py_function_of(PyObject *o);
/* The node of ctx, which then belongs to it; its edges, outputs and saved values come later. */
int mt_py_function_new_node(mt_node **out, mt_py_function *ctx, int n_edges);
PyObject *mt_py_function_apply(PyObject *cls, PyObject *args);

#endif
