/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of named results, torch.return_types.max: struct sequences that print one result a line. */
#include "bindings/bind_internal.h"
#include "bindings/bindings_internal.h"

#include <structmember.h>

static PyObject *struct_types; /* dict: name -> type */

static PyObject *struct_repr(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *text = PyUnicode_FromFormat("%s(", type->tp_name), *item;
    Py_ssize_t n = PyTuple_GET_SIZE(self);

    for (Py_ssize_t i = 0; text && i < n; i++) {
        item = PyUnicode_FromFormat("%U\n%s=%R%s", text, type->tp_members[i].name, PyTuple_GET_ITEM(self, i),
                                    i + 1 < n ? "," : ")");
        Py_SETREF(text, item);
    }
    return text;
}

/* tp_name must hold the whole path, and live as long as the type: 3.10 keeps the pointer. */
static PyObject *new_type(const mt_op *op, const char *name)
{
    PyStructSequence_Field fields[MT_MAX_OUTS + 1] = {{NULL, NULL}};
    PyStructSequence_Desc desc = {NULL, NULL, fields, op->n_outs};
    size_t room = strlen(name) + 32;
    char *path = PyMem_Malloc(room);
    PyObject *type, *module;

    if (!path)
        return PyErr_NoMemory();
    snprintf(path, room, "torch.return_types.%s", name);
    desc.name = path;
    for (int i = 0; i < op->n_outs; i++)
        fields[i].name = op->out_names[i];
    type = (PyObject *)PyStructSequence_NewType(&desc);
    if (!type)
        return NULL;
    ((PyTypeObject *)type)->tp_repr = struct_repr;
    module = PyUnicode_FromString("minitorch.return_types");
    if (!module || PyDict_SetItemString(((PyTypeObject *)type)->tp_dict, "__module__", module) < 0)
        Py_CLEAR(type);
    Py_XDECREF(module);
    return type;
}

PyTypeObject *mt_py_struct_type(const mt_op *op, bool given)
{
    char name[96];
    PyObject *type;

    if (!struct_types && !(struct_types = PyDict_New()))
        return NULL;
    snprintf(name, sizeof(name), "%s%s", op->struct_name, given ? "_out" : "");
    type = PyDict_GetItemString(struct_types, name);
    if (type)
        return (PyTypeObject *)type;
    type = new_type(op, name);
    if (type && PyDict_SetItemString(struct_types, name, type) < 0)
        Py_CLEAR(type);
    Py_XDECREF(type); /* the dictionary keeps it */
    return (PyTypeObject *)type;
}

PyObject *mt_py_struct_types(void)
{
    if (!struct_types && !(struct_types = PyDict_New()))
        return NULL;
    return PyDict_Copy(struct_types);
}
