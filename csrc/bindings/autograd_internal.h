/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the autograd bindings. */
#ifndef MT_BINDINGS_AUTOGRAD_INTERNAL_H
#define MT_BINDINGS_AUTOGRAD_INTERNAL_H

#include "autograd/autograd.h"
#include "bindings/bind.h"

/* A node as a Python object. It owns its node; that of a custom Function (function_type.c) is owned by its node instead, until
   nobody else holds the node. */
typedef struct mt_py_node {
    PyObject_HEAD mt_node *n;
    bool owns;
    PyObject *metadata, *pre_hooks, *post_hooks, *weaklist;
} mt_py_node;
extern PyTypeObject mt_NodeBase_Type;

/* The Python object of a node: one per node while it lives. Takes no reference of the caller's. */
PyObject *mt_py_node_wrap(mt_node *n);
mt_node *mt_py_node_of(PyObject *o); /* NULL when o is no node object */
int mt_py_node_init(PyObject *module);
/* The dictionary `metadata`, which the node keeps; borrowed. */
PyObject *mt_py_node_metadata(mt_node *n);
/* For the collector (gc.c): the Python objects that a node, or a tensor, alone keeps alive. */
int mt_py_visit_node(mt_node *n, visitproc visit, void *arg);
int mt_py_visit_tensor(mt_tensor *t, visitproc visit, void *arg);
void mt_py_clear_tensor(mt_tensor *t);
/* The ctx that is the data of a node of a custom Function, borrowed, or NULL. */
PyObject *mt_py_function_object(const mt_node *n);
int mt_py_function_init(PyObject *module);

/* Saved value k of a node, or an item of that list (else -1), as an object (saved_py.c). */
PyObject *mt_py_saved_wrap(mt_node *n, int k, int item);
int mt_py_saved_init(PyObject *module);
int mt_py_visit_saved_handle(const mt_saved *s, visitproc visit, void *arg);
/* Anomaly mode: tables of the autograd core, and its switch (anomaly.c). */
int mt_py_anomaly_init(PyObject *module);
/* node_saved.c: the attributes _saved_x and _raw_saved_x of the nodes of an op, a list that lives for good. */
PyGetSetDef *mt_py_saved_attributes(const mt_op *op);

/* _C._engine_run (engine_py.c). */
PyObject *mt_py_engine_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
/* A callable that runs when the current run ends. */
PyObject *mt_py_queue_callback(PyObject *module, PyObject *callable);
/* mt_engine_hop: another thread with a stack of its own runs body. */
int mt_py_engine_hop(int (*body)(void *arg), void *arg, int nested);

/* A hook whose context is an ordered dictionary of callables (the _backward_hooks of a tensor). */
extern const mt_hook_ops mt_py_tensor_dict_hook, mt_py_accumulate_dict_hook;
/* A hook on a node whose context is such a dictionary. */
extern const mt_hook_ops mt_py_pre_dict_hook, mt_py_post_dict_hook;

#endif
