/* SPDX-License-Identifier: BSD-3-Clause */
/* One Python object as one element. Integers must fit (an unsigned dtype also takes negative
   numbers down to minus its greatest value), floats are truncated into integers when they fit, a
   float dtype takes anything with __float__ or
   __index__, an integer dtype anything with __index__. One-element tensors count as numbers. */
#include "bindings/fill_internal.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static int does_not_fit(const char *type)
{
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", type);
    return -1;
}

/* Tensors that need not go through the Python protocol. */
static bool is_plain_tensor(PyObject *o)
{
    return mt_py_is_tensor(o) && !mt_py_needs_override(o) && !mt_tensor_is_tracked(mt_py_impl(o));
}

static int item_of(mt_scalar *out, mt_tensor *t)
{
    if (t->numel != 1) {
        PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
        return -1;
    }
    if (t->device.type == MT_DEVICE_META) {
        PyErr_SetString(PyExc_RuntimeError, "Tensor.item() cannot be called on meta tensors");
        return -1;
    }
    return mt_tensor_item(out, t) < 0 ? mt_py_fail() : 0;
}

/* --- integers --- */

/* The index of an object as a Python int, a new reference. */
static PyObject *index_of(PyObject *o)
{
    mt_scalar s;

    if (PyLong_Check(o))
        return Py_NewRef(o);
    if (!is_plain_tensor(o))
        return PyNumber_Index(o);
    if (mt_py_impl(o)->numel != 1 || !mt_dtype_is_integral((mt_dtype)mt_py_impl(o)->dtype, true)) {
        PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
        return NULL;
    }
    if (item_of(&s, mt_py_impl(o)) < 0)
        return NULL;
    return s.is_unsigned ? PyLong_FromUnsignedLongLong((uint64_t)s.v.i) : PyLong_FromLongLong(s.v.i);
}

static void write_int(char *dst, size_t size, int64_t v)
{
    int8_t v8 = (int8_t)v;
    int16_t v16 = (int16_t)v;
    int32_t v32 = (int32_t)v;

    switch (size) {
    case 1:
        memcpy(dst, &v8, 1);
        break;
    case 2:
        memcpy(dst, &v16, 2);
        break;
    case 4:
        memcpy(dst, &v32, 4);
        break;
    default:
        memcpy(dst, &v, 8);
        break;
    }
}

static int store_truncated(char *dst, mt_dtype dtype, double d)
{
    int bits = (int)mt_dtype_size(dtype) * 8, is_signed = mt_dtype_table[dtype].is_signed;
    double low = is_signed ? -ldexp(1.0, bits - 1) : 0.0, end = ldexp(1.0, bits - is_signed);

    /* up to 32 bits nothing between the greatest value and the end would truncate to it */
    if (isnan(d) || d < low || (bits < 64 ? d > end - 1.0 : d >= end))
        return does_not_fit(mt_dtype_name(dtype));
    write_int(dst, mt_dtype_size(dtype), d >= 0x1p63 ? (int64_t)(uint64_t)d : (int64_t)d);
    return 0;
}

static int store_long(char *dst, mt_dtype dtype, PyObject *o)
{
    size_t size = mt_dtype_size(dtype);
    bool is_signed = mt_dtype_table[dtype].is_signed;
    int overflow;
    int64_t v, high;

    if (size == 8 && !is_signed) {
        uint64_t u = PyLong_AsUnsignedLongLong(o);

        if (u == UINT64_MAX && PyErr_Occurred())
            return -1;
        write_int(dst, 8, (int64_t)u);
        return 0;
    }
    v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    high = (int64_t)(UINT64_MAX >> (64 - (int)size * 8 + is_signed));
    if (v > high || v < (is_signed ? -high - 1 : -high))
        return does_not_fit(mt_dtype_name(dtype));
    write_int(dst, size, v);
    return 0;
}

static int store_int(char *dst, mt_dtype dtype, PyObject *o)
{
    PyObject *index;
    int rc;

    if (dtype == MT_DTYPE_u64 && !PyLong_Check(o) && !mt_py_is_tensor(o)) {
        PyErr_SetString(PyExc_TypeError, "an integer is required");
        return -1;
    }
    if (PyFloat_Check(o))
        return store_truncated(dst, dtype, PyFloat_AS_DOUBLE(o));
    if (PyLong_Check(o))
        return store_long(dst, dtype, o);
    index = index_of(o);
    if (!index)
        return -1;
    rc = store_long(dst, dtype, index);
    Py_DECREF(index);
    return rc;
}

static int store_bool(char *dst, PyObject *o)
{
    PyObject *index;
    bool truth;
    int rc;

    if (PyFloat_Check(o)) {
        *dst = PyFloat_AS_DOUBLE(o) != 0;
        return 0;
    }
    if (PyComplex_Check(o)) {
        Py_complex c = PyComplex_AsCComplex(o);

        *dst = c.real != 0 || c.imag != 0;
        return 0;
    }
    rc = mt_py_to_bool(&truth, o);
    if (rc == 0) {
        index = index_of(o);
        rc = index ? PyObject_IsTrue(index) : -1;
        truth = rc > 0;
        Py_XDECREF(index);
    }
    *dst = truth;
    return rc < 0 ? -1 : 0;
}

/* --- floats and complex numbers --- */

static int store_float(char *dst, mt_dtype dtype, PyObject *o)
{
    mt_scalar s;
    double d;

    if (is_plain_tensor(o)) {
        if (item_of(&s, mt_py_impl(o)) < 0)
            return -1;
        if (s.category == MT_CAT_COMPLEX && s.v.c.im != 0)
            return does_not_fit("double");
        d = mt_scalar_to_double(s);
    } else {
        d = PyFloat_AsDouble(o);
        if (d == -1.0 && PyErr_Occurred())
            return -1;
    }
    mt_scalar_store(dst, dtype, mt_scalar_from_double(d));
    return 0;
}

static int store_complex(char *dst, mt_dtype dtype, PyObject *o)
{
    mt_scalar s;
    Py_complex c;

    if (is_plain_tensor(o)) {
        if (item_of(&s, mt_py_impl(o)) < 0)
            return -1;
    } else {
        c = PyComplex_AsCComplex(o);
        if (c.real == -1.0 && PyErr_Occurred())
            return -1;
        s = mt_scalar_from_complex(c.real, c.imag);
    }
    mt_scalar_store(dst, dtype, s);
    return 0;
}

int mt_py_store_number(char *dst, mt_dtype dtype, PyObject *o)
{
    if (MT_UNLIKELY(dtype == MT_DTYPE_f4e2m1fnx2)) { /* an element is a pair of numbers */
        PyErr_SetString(PyExc_RuntimeError, "store_scalar: invalid type");
        return -1;
    }
    switch (mt_dtype_category(dtype)) {
    case MT_CAT_BOOL:
        return store_bool(dst, o);
    case MT_CAT_INT:
        return store_int(dst, dtype, o);
    case MT_CAT_FLOAT:
        return store_float(dst, dtype, o);
    default:
        return store_complex(dst, dtype, o);
    }
}
