/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions that tests and tools ask: which memory tensors share, which graph is being run. Also _add_docstr. */
#include <string.h>

#include "bindings/autograd_internal.h"
#include "core/shape.h"

static int two_tensors(mt_tensor **a, mt_tensor **b, PyObject *const *args, Py_ssize_t n, const char *function)
{
    if (n != 2 || !mt_py_is_tensor(args[0]) || !mt_py_is_tensor(args[1])) {
        PyErr_Format(PyExc_TypeError, "%s(): expected two Tensors", function);
        return -1;
    }
    *a = mt_py_impl(args[0]);
    *b = mt_py_impl(args[1]);
    return 0;
}

static PyObject *is_alias_of(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    mt_tensor *a, *b;

    (void)module;
    if (two_tensors(&a, &b, args, n, "_is_alias_of") < 0)
        return NULL;
    return PyBool_FromLong(a->storage && a->storage == b->storage);
}

/* Whether the ranges from the first to the last byte of two tensors meet. */
static PyObject *overlaps(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    size_t start[2], bytes[2];
    mt_tensor *t[2];

    (void)module;
    if (two_tensors(&t[0], &t[1], args, n, "_overlaps") < 0)
        return NULL;
    if (!t[0]->storage || t[0]->storage != t[1]->storage || t[0]->numel == 0 || t[1]->numel == 0)
        Py_RETURN_FALSE;
    for (int i = 0; i < 2; i++) {
        size_t size = mt_dtype_size((mt_dtype)t[i]->dtype);

        if (mt_shape_storage_bytes(&bytes[i], t[i]->ndim, t[i]->size, t[i]->stride, 0, size) < 0)
            return mt_py_raise();
        start[i] = (size_t)t[i]->offset * size;
    }
    return PyBool_FromLong(start[0] < start[1] + bytes[1] && start[1] < start[0] + bytes[0]);
}

/* --- the running graph --- */

static PyObject *current_node(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return mt_py_node_wrap(mt_engine_current_node());
}

static PyObject *current_run(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLongLong(mt_engine_current_run());
}

static PyObject *will_execute(PyObject *module, PyObject *o)
{
    mt_node *node = mt_py_node_of(o);
    bool will;

    (void)module;
    if (!node)
        return PyErr_Format(PyExc_RuntimeError, "_will_engine_execute_node expects an grad_fn, but got %s",
                            Py_TYPE(o)->tp_name);
    MT_PY_TRY(mt_engine_will_execute(&will, node));
    return PyBool_FromLong(will);
}

static PyObject *roots(PyObject *module, PyObject *unused)
{
    int n;
    const mt_edge *root = mt_engine_roots(&n);
    PyObject *list = PyList_New(0);

    (void)module, (void)unused;
    for (int i = 0; list && i < n; i++) {
        PyObject *node = root[i].node ? mt_py_node_wrap(root[i].node) : NULL;

        if (root[i].node && (!node || PyList_Append(list, node) < 0))
            Py_CLEAR(list);
        Py_XDECREF(node);
    }
    return list;
}

static PyObject *wants(PyObject *module, PyObject *o)
{
    mt_node *node = mt_py_node_of(o);

    (void)module;
    return PyBool_FromLong(node && mt_engine_wants(node));
}

static PyObject *keeps_graph(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_engine_keeps_graph());
}

static PyObject *next_sequence(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLongLong(mt_node_next_sequence());
}

/* --- docstrings --- */

/* Where the docstring of an object implemented in C is kept; NULL for others. */
static const char **doc_of(PyObject *o, const char **kind, const char **name)
{
    if (PyCFunction_Check(o)) {
        PyMethodDef *def = ((PyCFunctionObject *)o)->m_ml;

        *kind = "function";
        *name = def->ml_name;
        return &def->ml_doc;
    }
    if (Py_TYPE(o) == &PyMethodDescr_Type) {
        PyMethodDef *def = ((PyMethodDescrObject *)o)->d_method;

        *kind = "method";
        *name = def->ml_name;
        return &def->ml_doc;
    }
    if (Py_TYPE(o) == &PyGetSetDescr_Type) {
        PyGetSetDef *def = ((PyGetSetDescrObject *)o)->d_getset;

        *kind = "attribute";
        *name = def->name;
        return &def->doc;
    }
    return NULL;
}

static PyObject *set_python_doc(PyObject *o, PyObject *text)
{
    PyObject *old = PyObject_GetAttrString(o, "__doc__");

    if (!old)
        return NULL;
    Py_DECREF(old);
    if (old != Py_None)
        return PyErr_Format(PyExc_RuntimeError, "object '%R' already has a docstring", o);
    return PyObject_SetAttrString(o, "__doc__", text) < 0 ? NULL : Py_NewRef(o);
}

/* The text is kept for good: the object has no place to own it. */
static PyObject *add_docstr(PyObject *module, PyObject *args)
{
    const char **doc, *kind, *name, *text;
    PyObject *o, *words;
    char *copy;
    size_t n;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO!:_add_docstr", &o, &PyUnicode_Type, &words) || !(text = PyUnicode_AsUTF8(words)))
        return NULL;
    doc = doc_of(o, &kind, &name);
    if (!doc)
        return set_python_doc(o, words);
    if (*doc)
        return PyErr_Format(PyExc_RuntimeError, "%s '%s' already has a docstring", kind, name);
    n = strlen(text) + 1;
    if (!(copy = PyMem_Malloc(n)))
        return PyErr_NoMemory();
    memcpy(copy, text, n);
    *doc = copy;
    return Py_NewRef(o);
}

static PyObject *unlisted_methods(PyObject *module, PyObject *unused)
{
    PyObject *found = PySet_New(NULL), *key, *value;
    Py_ssize_t i = 0;

    (void)module, (void)unused;
    while (found && PyDict_Next(mt_TensorBase_Type.tp_dict, &i, &key, &value))
        if (Py_IS_TYPE(value, &PyMethodDescr_Type) &&
            (((PyMethodDescrObject *)value)->d_method->ml_flags & MT_PY_UNLISTED) && PySet_Add(found, value) < 0)
            Py_CLEAR(found);
    return found;
}

static PyMethodDef functions[] = {
    {"_unlisted_methods", unlisted_methods, METH_NOARGS,
     "_unlisted_methods() -> set: methods written by hand that PyTorch's lists of overridable functions leave out"},
    {"_is_alias_of", (PyCFunction)(void (*)(void))is_alias_of, METH_FASTCALL, NULL},
    {"_overlaps", (PyCFunction)(void (*)(void))overlaps, METH_FASTCALL, NULL},
    {"_current_autograd_node", current_node, METH_NOARGS, NULL},
    {"_current_graph_task_id", current_run, METH_NOARGS, NULL},
    {"_engine_roots", roots, METH_NOARGS,
     "_engine_roots() -> list of the nodes where the current run of the graph starts"},
    {"_engine_wants", wants, METH_O, "_engine_wants(node) -> bool: the current run comes to this node"},
    {"_engine_keeps_graph", keeps_graph, METH_NOARGS, NULL},
    {"_next_sequence_nr", next_sequence, METH_NOARGS, NULL},
    {"_will_engine_execute_node", will_execute, METH_O, NULL},
    {"_add_docstr", add_docstr, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int mt_py_inspect_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
