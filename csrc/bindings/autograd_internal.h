/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by autograd_py.c, node_py.c and hooks_py.c. */
#ifndef MT_BINDINGS_AUTOGRAD_INTERNAL_H
#define MT_BINDINGS_AUTOGRAD_INTERNAL_H

#include "autograd/autograd.h"
#include "bindings/bind.h"

/* The Python object of a node: one per node while it lives. Takes no reference of the caller's. */
PyObject *mt_py_node_wrap(mt_node *n);
mt_node *mt_py_node_of(PyObject *o); /* NULL when o is no node object */
int mt_py_node_init(PyObject *module);

/* A hook whose context is an ordered dictionary of callables (the _backward_hooks of a tensor). */
extern const mt_hook_ops mt_py_tensor_dict_hook, mt_py_accumulate_dict_hook;
/* A hook on a node whose context is such a dictionary. */
extern const mt_hook_ops mt_py_pre_dict_hook, mt_py_post_dict_hook;

#endif
