/* SPDX-License-Identifier: BSD-3-Clause */
/* Python objects to C values and back. Each converter gives 1 (converted), 0 (not of this kind, nothing set) or -1
   (a Python exception is set). NumPy scalars are recognised without importing NumPy: by __index__, by being a
   float or complex subclass, or by the numbers protocol of their type. */
#include <math.h>
#include <string.h>

#include "bindings/bindings_internal.h"

/* A NumPy scalar is not an int subclass; its type name tells the kind and its slots the value. */
static const char *numpy_scalar_kind(PyObject *o)
{
    const char *name = Py_TYPE(o)->tp_name;

    if (strncmp(name, "numpy.", 6) != 0 || strcmp(name + 6, "ndarray") == 0)
        return NULL;
    return name + 6;
}

static int from_long(mt_scalar *out, PyObject *o)
{
    int overflow = 0;
    int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);

    if (i == -1 && PyErr_Occurred())
        return -1;
    if (overflow) {
        uint64_t u = PyLong_AsUnsignedLongLong(o); /* words the OverflowError of what does not fit either */

        if (u == (uint64_t)-1 && PyErr_Occurred())
            return -1;
        *out = mt_scalar_from_int((int64_t)u);
        out->is_unsigned = 1;
        return 1;
    }
    *out = mt_scalar_from_int(i);
    return 1;
}

PyObject *mt_py_try_index(PyObject *o)
{
    PyObject *index = PyNumber_Index(o);

    if (!index && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return index;
}

static int from_numpy_scalar(mt_scalar *out, PyObject *o, const char *kind)
{
    if (strncmp(kind, "bool", 4) == 0) {
        int truth = PyObject_IsTrue(o);

        if (truth < 0)
            return -1;
        *out = mt_scalar_from_bool(truth);
        return 1;
    }
    if (strncmp(kind, "int", 3) == 0 || strncmp(kind, "uint", 4) == 0 || strncmp(kind, "long", 4) == 0 ||
        strncmp(kind, "ulong", 5) == 0) {
        PyObject *index;
        int rc;

        if (!PyIndex_Check(o))
            return 0;
        index = PyNumber_Index(o);
        if (!index)
            return -1;
        rc = from_long(out, index);
        Py_DECREF(index);
        if (rc == 1 && out->is_unsigned) {
            PyErr_SetString(PyExc_TypeError, "an integer is required"); /* as PyTorch says of what is none of int64 */
            return -1;
        }
        return rc;
    }
    if (strncmp(kind, "float", 5) == 0) {
        double d = PyFloat_AsDouble(o);

        if (d == -1.0 && PyErr_Occurred())
            return -1;
        *out = mt_scalar_from_double(d);
        return 1;
    }
    if (strncmp(kind, "complex", 7) == 0) {
        Py_complex c = PyComplex_AsCComplex(o);

        if (c.real == -1.0 && PyErr_Occurred())
            return -1;
        *out = mt_scalar_from_complex(c.real, c.imag);
        return 1;
    }
    return 0;
}

int mt_py_to_scalar(mt_scalar *out, PyObject *o)
{
    const char *kind;

    if (PyFloat_CheckExact(o)) {
        *out = mt_scalar_from_double(PyFloat_AS_DOUBLE(o));
        return 1;
    }
    if (PyBool_Check(o)) {
        *out = mt_scalar_from_bool(o == Py_True);
        return 1;
    }
    if (PyLong_Check(o))
        return from_long(out, o);
    if (PyFloat_Check(o)) {
        *out = mt_scalar_from_double(PyFloat_AS_DOUBLE(o));
        return 1;
    }
    if (PyComplex_Check(o)) {
        Py_complex c = PyComplex_AsCComplex(o);

        *out = mt_scalar_from_complex(c.real, c.imag);
        return 1;
    }
    kind = numpy_scalar_kind(o);
    return kind ? from_numpy_scalar(out, o, kind) : 0;
}

bool mt_py_is_number(PyObject *o)
{
    return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || numpy_scalar_kind(o);
}

/* The integer in a one-element integer tensor without grad; 0 otherwise. */
static int int_of_tensor(int64_t *out, PyObject *o)
{
    mt_tensor *t = mt_py_impl(o);
    mt_scalar s;

    if (t->numel != 1 || t->ndim != 0 || !mt_dtype_is_integral((mt_dtype)t->dtype, false) || mt_tensor_requires_grad(t))
        return 0;
    if (mt_tensor_item(&s, t) < 0) {
        mt_py_raise();
        return -1;
    }
    *out = s.v.i;
    return 1;
}

int mt_py_to_int(int64_t *out, PyObject *o)
{
    if (PyLong_CheckExact(o) || (PyLong_Check(o) && !PyBool_Check(o))) {
        int overflow = 0;

        *out = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) {
            PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
            return -1;
        }
        return *out == -1 && PyErr_Occurred() ? -1 : 1;
    }
    if (mt_py_is_tensor(o))
        return int_of_tensor(out, o);
    if (!PyFloat_Check(o) && !PyBool_Check(o)) {
        const char *kind = numpy_scalar_kind(o);

        if (kind && PyIndex_Check(o) && strncmp(kind, "bool", 4) != 0) {
            PyObject *index = PyNumber_Index(o);
            int rc = index ? mt_py_to_int(out, index) : -1;

            Py_XDECREF(index);
            return rc;
        }
    }
    return 0;
}

int mt_py_to_double(double *out, PyObject *o)
{
    mt_scalar s;
    int rc;

    if (PyFloat_CheckExact(o)) {
        *out = PyFloat_AS_DOUBLE(o);
        return 1;
    }
    if (mt_py_is_tensor(o)) {
        mt_tensor *t = mt_py_impl(o);

        if (t->ndim != 0 || mt_tensor_requires_grad(t) || mt_dtype_is_complex((mt_dtype)t->dtype))
            return 0;
        if (mt_tensor_item(&s, t) < 0) {
            mt_py_raise();
            return -1;
        }
        *out = mt_scalar_to_double(s);
        return 1;
    }
    if (PyLong_Check(o)) { /* of any size that a double holds */
        *out = PyLong_AsDouble(o);
        return *out == -1.0 && PyErr_Occurred() ? -1 : 1;
    }
    rc = mt_py_to_scalar(&s, o);
    if (rc != 1 || s.category == MT_CAT_COMPLEX)
        return rc < 0 ? -1 : 0;
    *out = mt_scalar_to_double(s);
    return 1;
}

int mt_py_to_bool(bool *out, PyObject *o)
{
    const char *kind;

    if (PyBool_Check(o)) {
        *out = o == Py_True;
        return 1;
    }
    kind = numpy_scalar_kind(o);
    if (kind && strncmp(kind, "bool", 4) == 0) {
        int truth = PyObject_IsTrue(o);

        *out = truth > 0;
        return truth < 0 ? -1 : 1;
    }
    return 0;
}

int mt_py_to_dtype(mt_dtype *out, PyObject *o)
{
    if (mt_py_is_dtype(o)) {
        *out = mt_py_dtype_of(o);
        if (MT_LIKELY(*out < MT_DTYPE_COUNT))
            return 1;
        PyErr_SetString(PyExc_NotImplementedError, "quantized tensors are not available");
        return -1;
    }
    if (o == (PyObject *)&PyFloat_Type)
        *out = MT_DTYPE_f64;
    else if (o == (PyObject *)&PyLong_Type)
        *out = MT_DTYPE_i64;
    else if (o == (PyObject *)&PyBool_Type)
        *out = MT_DTYPE_b8;
    else if (o == (PyObject *)&PyComplex_Type)
        *out = MT_DTYPE_c128;
    else
        return 0;
    return 1;
}

PyObject *mt_py_from_scalar(mt_scalar s)
{
    switch (s.category) {
    case MT_CAT_BOOL:
        return PyBool_FromLong(s.v.i != 0);
    case MT_CAT_INT:
        return s.is_unsigned ? PyLong_FromUnsignedLongLong((uint64_t)s.v.i) : PyLong_FromLongLong(s.v.i);
    case MT_CAT_FLOAT:
        return PyFloat_FromDouble(s.v.d);
    default:
        return PyComplex_FromDoubles(s.v.c.re, s.v.c.im);
    }
}

static PyObject *from_ints(mt_ints ints)
{
    PyObject *list = PyList_New(ints.n);

    for (int i = 0; list && i < ints.n; i++) {
        PyObject *item = PyLong_FromLongLong(ints.data[i]);

        if (!item)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

PyObject *mt_py_from_value(const mt_value *v)
{
    switch (v->kind) {
    case MT_ARG_SCALAR:
        return mt_py_from_scalar(v->v.scalar);
    case MT_ARG_INT:
        return PyLong_FromLongLong(v->v.i);
    case MT_ARG_FLOAT:
        return PyFloat_FromDouble(v->v.d);
    case MT_ARG_BOOL:
        return PyBool_FromLong(v->v.b);
    case MT_ARG_INTS:
        return from_ints(v->v.ints);
    case MT_ARG_STR:
        return PyUnicode_FromString(v->v.str);
    case MT_ARG_DTYPE:
        return mt_py_dtype_get((mt_dtype)v->v.i);
    case MT_ARG_DEVICE:
        return mt_py_device_new(v->v.device);
    case MT_ARG_TENSOR:
        return mt_py_wrap(v->v.tensor ? mt_tensor_ref(v->v.tensor) : NULL);
    default:
        Py_RETURN_NONE;
    }
}
