/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node has saved, as attributes of its Python object: _saved_x gives the value, _raw_saved_x a handle that lets a pair
   of hooks keep the value in another form. The attributes come from the record of the op. */
#include "bindings/autograd_internal.h"

#include <string.h>

/* --- values --- */

/* PyTorch shows negative integers of formulas as unsigned ones; programs that look at them expect that. */
static PyObject *from_int(int64_t i)
{
    return PyLong_FromUnsignedLongLong((unsigned long long)i);
}

static PyObject *from_numbers(const mt_value *v)
{
    int n = v->kind == MT_ARG_FLOATS ? v->v.floats.n : v->v.ints.n;
    PyObject *tuple;

    if (n < 0)
        Py_RETURN_NONE;
    tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
        PyObject *item = v->kind == MT_ARG_FLOATS  ? PyFloat_FromDouble(v->v.floats.data[i])
                         : v->kind == MT_ARG_BOOLS ? PyBool_FromLong(v->v.ints.data[i] != 0)
                                                   : from_int(v->v.ints.data[i]);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

static PyObject *read_slot(mt_node *n, int k, int item)
{
    mt_tensor *t = NULL;

    MT_PY_TRY(mt_saved_read(&t, n, mt_saved_slot(n, k, item), true));
    return mt_py_wrap(t);
}

/* raw: handles instead of tensors. */
static PyObject *from_tensors(mt_node *n, int k, bool raw)
{
    const mt_saved *s = &n->saved[k];
    int count = s->value.v.tensors.n;
    PyObject *tuple;

    if (count < 0)
        return read_slot(n, k, -1); /* freed: its error */
    tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        PyObject *item = raw ? mt_py_saved_wrap(n, k, i) : read_slot(n, k, i);

        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

static PyObject *from_saved(mt_node *n, int k)
{
    const mt_value *v = &n->saved[k].value;

    switch (v->kind) {
    case MT_ARG_TENSOR:
        return read_slot(n, k, -1);
    case MT_ARG_TENSORS:
        return from_tensors(n, k, false);
    case MT_ARG_INT:
        return from_int(v->v.i);
    case MT_ARG_INTS:
    case MT_ARG_BOOLS:
    case MT_ARG_FLOATS:
        return from_numbers(v);
    default:
        return mt_py_from_value(v);
    }
}

/* --- attributes --- */

/* The closure of an attribute is the number of the slot. */
static PyObject *get_saved(PyObject *o, void *slot)
{
    mt_node *n = mt_py_node_of(o);
    int k = (int)(uintptr_t)slot;

    if (!n || k >= n->n_saved)
        return PyErr_Format(PyExc_RuntimeError, "%s has no saved values", Py_TYPE(o)->tp_name);
    return from_saved(n, k);
}

static PyObject *get_raw(PyObject *o, void *slot)
{
    mt_node *n = mt_py_node_of(o);
    int k = (int)(uintptr_t)slot;

    if (!n || k >= n->n_saved)
        return PyErr_Format(PyExc_RuntimeError, "%s has no saved values", Py_TYPE(o)->tp_name);
    if (n->saved[k].value.kind == MT_ARG_TENSORS)
        return from_tensors(n, k, true);
    return mt_py_saved_wrap(n, k, -1);
}

static char *joined(const char *a, const char *b)
{
    char *text = PyMem_Malloc(strlen(a) + strlen(b) + 1);

    if (text)
        strcat(strcpy(text, a), b);
    else
        PyErr_NoMemory();
    return text;
}

static bool is_tensor_slot(const mt_op *op, const mt_saved_spec *spec)
{
    if (spec->kind == MT_SAVE_RESULT)
        return true;
    for (int i = 0; spec->kind == MT_SAVE_ARG && i < op->n_args; i++)
        if (op->args[i].index == spec->index)
            return op->args[i].kind == MT_ARG_TENSOR || op->args[i].kind == MT_ARG_TENSORS;
    return false;
}

/* What only formulas of ours ask for. */
static bool is_private(const mt_saved_spec *spec)
{
    return spec->kind == MT_SAVE_DTYPE || spec->kind == MT_SAVE_DEVICE || spec->kind == MT_SAVE_LIST_SIZES;
}

PyGetSetDef *mt_py_saved_attributes(const mt_op *op)
{
    int n = op && op->grad ? op->grad->n_saved : 0, at = 0;
    PyGetSetDef *list = PyMem_Calloc((size_t)(2 * n + 1), sizeof(PyGetSetDef));

    if (!list)
        PyErr_NoMemory();
    for (int k = 0; list && k < n; k++) {
        const mt_saved_spec *spec = &op->grad->saved[k];
        const char *name, *raw;

        if (is_private(spec))
            continue;
        name = joined("_saved_", spec->name);
        raw = is_tensor_slot(op, spec) ? joined("_raw_saved_", spec->name) : "";

        if (!name || !raw)
            return NULL;
        list[at++] = (PyGetSetDef){name, get_saved, NULL, NULL, (void *)(uintptr_t)k};
        if (*raw)
            list[at++] = (PyGetSetDef){raw, get_raw, NULL, NULL, (void *)(uintptr_t)k};
    }
    return list;
}
