/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by function_type.c (the object and its node), function_apply.c (the forward call) and function_jvp.c. */
#ifndef MT_BINDINGS_FUNCTION_INTERNAL_H
#define MT_BINDINGS_FUNCTION_INTERNAL_H

#include "bindings/autograd_internal.h"

typedef struct mt_py_function {
    mt_py_node node; /* node.n is borrowed unless node.owns; NULL when nothing is recorded */
    PyObject *to_save, *saved_for_forward, *non_differentiable, *dirty;
    PyObject *needs_input_grad; /* tuple of bools, one for each input, unless the user puts something else there */
    bool *is_tensor;            /* n_args of them */
    Py_ssize_t n_args;
    bool materialize_grads;
    bool plain_gets_zeros; /* _materialize_non_diff_grads: so do outputs that take no gradient */
    bool accessed;         /* saved tensors have been read, and dropped for that */
} mt_py_function;

/* NULL when o is no ctx. */
mt_py_function *mt_py_function_of(PyObject *o);
/* The node of ctx, which then belongs to it; its edges, outputs and saved values come later. */
int mt_py_function_new_node(mt_node **out, mt_py_function *ctx, int n_edges);
PyObject *mt_py_function_apply(PyObject *cls, PyObject *args);

/* function_jvp.c: forward mode. The tangents of the arguments, NULL outside a level; -1 with an exception. */
int mt_py_function_tangents(mt_tensor ***out, bool *any, PyObject *args);
void mt_py_function_free_tangents(mt_tensor **tangents, Py_ssize_t n);
/* Runs jvp and gives the outputs their tangents. */
int mt_py_function_forward_mode(mt_py_function *ctx, PyObject *args, PyObject *outputs, mt_tensor *const *tangents);

#endif
