/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.Size: a tuple of integers that prints as torch.Size([...]) and stays a Size under slicing, + and *. */
#include "bindings/bindings_internal.h"

#include "base/checked.h"

PyObject *mt_py_size_new(const int64_t *size, int ndim)
{
    PyObject *self = mt_Size_Type.tp_alloc(&mt_Size_Type, ndim);

    for (int i = 0; self && i < ndim; i++) {
        PyObject *item = PyLong_FromLongLong(size[i]);

        if (!item) {
            Py_CLEAR(self);
            break;
        }
        PyTuple_SET_ITEM(self, i, item);
    }
    return self;
}

/* An entry: whatever is an index, as an int of 64 bits; also an integer tensor with one element. */
static int entry(int64_t *out, PyObject *item)
{
    PyObject *index;
    int rc;

    if (PyBool_Check(item)) {
        *out = item == Py_True;
        return 1;
    }
    if (PyLong_Check(item) || !PyIndex_Check(item))
        return mt_py_to_int(out, item);
    index = PyNumber_Index(item);
    if (!index && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    rc = index ? mt_py_to_int(out, index) : 0;
    Py_XDECREF(index);
    return rc;
}

static PyObject *size_make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = PyTuple_Type.tp_new(type, args, kwargs);

    for (Py_ssize_t i = 0; self && i < PyTuple_GET_SIZE(self); i++) {
        PyObject *item = PyTuple_GET_ITEM(self, i);
        int64_t value;
        int rc = entry(&value, item);

        if (rc == 1 && PyLong_CheckExact(item))
            continue;
        if (rc == 0)
            PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of 'int' (item %zd is '%s')", i,
                         Py_TYPE(item)->tp_name);
        if (rc != 1 || !(item = PyLong_FromLongLong(value))) {
            Py_DECREF(self);
            return NULL;
        }
        Py_SETREF(PyTuple_GET_ITEM(self, i), item);
    }
    return self;
}

static PyObject *size_repr(PyObject *self)
{
    PyObject *list = PySequence_List(self), *text;

    if (!list)
        return NULL;
    text = PyUnicode_FromFormat("torch.Size(%R)", list);
    Py_DECREF(list);
    return text;
}

static PyObject *as_size(PyObject *tuple)
{
    PyObject *self;

    if (!tuple || !PyTuple_CheckExact(tuple))
        return tuple;
    self = PyObject_CallFunctionObjArgs((PyObject *)&mt_Size_Type, tuple, NULL);
    Py_DECREF(tuple);
    return self;
}

static PyObject *size_subscript(PyObject *self, PyObject *key)
{
    return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}

static PyObject *size_concat(PyObject *a, PyObject *b)
{
    if (!PyTuple_Check(a) || !PyTuple_Check(b)) {
        PyErr_Format(PyExc_TypeError, "can only concatenate tuple (not \"%s\") to torch.Size",
                     Py_TYPE(PyTuple_Check(a) ? b : a)->tp_name);
        return NULL;
    }
    return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}

static PyObject *size_add(PyObject *a, PyObject *b)
{
    if (!PyTuple_Check(a) || !PyTuple_Check(b))
        Py_RETURN_NOTIMPLEMENTED;
    return size_concat(a, b);
}

static PyObject *size_repeat(PyObject *a, Py_ssize_t n)
{
    return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n));
}

static PyObject *size_numel(PyObject *self, PyObject *unused)
{
    int64_t numel = 1;

    (void)unused;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); i++) {
        int64_t n = PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));

        if (n == -1 && PyErr_Occurred())
            return NULL;
        if (mt_mul_overflow(numel, n, &numel)) {
            PyErr_SetString(PyExc_RuntimeError, "numel: integer multiplication overflow");
            return NULL;
        }
    }
    return PyLong_FromLongLong(numel);
}

static PyObject *size_reduce(PyObject *self, PyObject *unused)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self);
    PyObject *plain = PyTuple_New(n);

    (void)unused;
    for (Py_ssize_t i = 0; plain && i < n; i++)
        PyTuple_SET_ITEM(plain, i, Py_NewRef(PyTuple_GET_ITEM(self, i)));
    return plain ? Py_BuildValue("O(N)", &mt_Size_Type, plain) : NULL;
}

static PyObject *size_module(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    return PyUnicode_FromString("minitorch");
}

static PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "numel() -> int: product of the sizes."},
    {"__reduce__", size_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef size_getset[] = {
    {"__module__", size_module, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PySequenceMethods size_sequence = {.sq_concat = size_concat, .sq_repeat = size_repeat};
static PyMappingMethods size_mapping = {.mp_subscript = size_subscript};
static PyNumberMethods size_number = {.nb_add = size_add};

PyTypeObject mt_Size_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.Size",
    .tp_base = &PyTuple_Type,
    .tp_repr = size_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_as_sequence = &size_sequence,
    .tp_as_mapping = &size_mapping,
    .tp_as_number = &size_number,
    .tp_methods = size_methods,
    .tp_getset = size_getset,
    .tp_new = size_make,
    .tp_doc = "Size(iterable): the sizes of a tensor, a tuple of int.",
};

int mt_py_size_init(PyObject *module)
{
    size_sequence.sq_length = PyTuple_Type.tp_as_sequence->sq_length;
    size_sequence.sq_item = PyTuple_Type.tp_as_sequence->sq_item;
    size_sequence.sq_contains = PyTuple_Type.tp_as_sequence->sq_contains;
    size_mapping.mp_length = PyTuple_Type.tp_as_mapping->mp_length;
    if (PyType_Ready(&mt_Size_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Size", (PyObject *)&mt_Size_Type);
}
