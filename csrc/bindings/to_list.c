/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensor.tolist: nested lists of Python numbers, a single number for a 0-d tensor. The walk is over
   a private copy of the geometry and a pinned storage, because making lists can start the
   collector, and with it any Python code. */
#include "bindings/new_internal.h"

#include <string.h>

#include "base/error.h"
#include "math/scalar.h"
#include "ops.h"

typedef struct walk {
    int ndim;
    mt_dtype dtype;
    const int64_t *size;
    int64_t stride[MT_MAX_DIM]; /* bytes */
} walk;

/* One element of a dtype as a new Python number. */
static inline PyObject *number(const char *p, mt_dtype dtype)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint16_t half;
        float f32;
        double f64;
    } v;

    switch (dtype) {
    case MT_DTYPE_b8:
        return Py_NewRef(*p ? Py_True : Py_False);
    case MT_DTYPE_u8:
        return PyLong_FromLong((uint8_t)*p);
    case MT_DTYPE_i8:
        return PyLong_FromLong((int8_t)*p);
    case MT_DTYPE_i16:
        memcpy(&v.i16, p, 2);
        return PyLong_FromLong(v.i16);
    case MT_DTYPE_i32:
        memcpy(&v.i32, p, 4);
        return PyLong_FromLong(v.i32);
    case MT_DTYPE_i64:
        memcpy(&v.i64, p, 8);
        return PyLong_FromLongLong(v.i64);
    case MT_DTYPE_f16:
        memcpy(&v.half, p, 2);
        return PyFloat_FromDouble((double)mt_f16_to_f32(v.half));
    case MT_DTYPE_bf16:
        memcpy(&v.half, p, 2);
        return PyFloat_FromDouble((double)mt_bf16_to_f32(v.half));
    case MT_DTYPE_f32:
        memcpy(&v.f32, p, 4);
        return PyFloat_FromDouble((double)v.f32);
    case MT_DTYPE_f64:
        memcpy(&v.f64, p, 8);
        return PyFloat_FromDouble(v.f64);
    default:
        return mt_py_from_scalar(mt_scalar_load(p, dtype));
    }
}

/* The switch on the dtype stands outside of the loop for the common ones. */
#define FILL_ROW(token)                                \
    case MT_DTYPE_##token:                             \
        for (int64_t i = 0; i < n; i++, p += stride) { \
            if (!(item = number(p, MT_DTYPE_##token))) \
                return -1;                             \
            PyList_SET_ITEM(list, i, item);            \
        }                                              \
        return 0;

static int fill_row(PyObject *list, const char *p, int64_t stride, int64_t n, mt_dtype dtype)
{
    PyObject *item;

    switch (dtype) {
        FILL_ROW(f32)
        FILL_ROW(f64)
        FILL_ROW(i64)
        FILL_ROW(i32)
        FILL_ROW(b8)
    default:
        break;
    }
    for (int64_t i = 0; i < n; i++, p += stride) {
        if (!(item = number(p, dtype)))
            return -1;
        PyList_SET_ITEM(list, i, item);
    }
    return 0;
}

static PyObject *list_of(const walk *w, const char *p, int dim)
{
    int64_t n = w->size[dim], stride = w->stride[dim];
    PyObject *list = PyList_New((Py_ssize_t)n), *item;

    if (!list)
        return NULL;
    if (dim == w->ndim - 1) {
        if (fill_row(list, p, stride, n, w->dtype) < 0)
            Py_CLEAR(list);
        return list;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(item = list_of(w, p + i * stride, dim + 1))) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* A CPU tensor without the conjugate and negative bits; a new reference. */
static int readable(mt_tensor **out, mt_tensor *t)
{
    mt_tensor *next = NULL;

    *out = NULL;
    if (t->device.type == MT_DEVICE_META)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Cannot copy out of meta tensor; no data!");
    if (t->device.type == MT_DEVICE_CPU) {
        *out = mt_tensor_ref(t);
    } else {
        if (mt_tensor_new_alias(&next, t, true) < 0 || mt_py_convert(out, next, MT_DTYPE_NONE, MT_CPU, false) < 0) {
            mt_tensor_unref(next);
            return -1;
        }
        mt_tensor_clear(&next);
    }
    if ((*out)->flags & MT_FLAG_CONJ) {
        if (mt_resolve_conj(&next, *out) < 0)
            return -1;
        mt_tensor_unref(*out);
        *out = next;
    }
    if ((*out)->flags & MT_FLAG_NEG) {
        if (mt_resolve_neg(&next, *out) < 0)
            return -1;
        mt_tensor_unref(*out);
        *out = next;
    }
    return mt_tensor_check_bounds(*out);
}

static PyObject *convert(mt_tensor *t)
{
    mt_storage *s = t->storage;
    int64_t size[MT_MAX_DIM], itemsize = (int64_t)mt_tensor_itemsize(t);
    static const char nothing;
    PyObject *result;
    walk w;

    if (t->ndim == 0)
        return number(mt_tensor_const_data(t), (mt_dtype)t->dtype);
    w.ndim = t->ndim;
    w.dtype = (mt_dtype)t->dtype;
    w.size = size;
    for (int i = 0; i < t->ndim; i++) {
        size[i] = t->size[i];
        w.stride[i] = t->stride[i] * itemsize;
    }
    mt_storage_ref(s);
    mt_storage_pin(s);
    result = list_of(&w, s->data ? mt_tensor_const_data(t) : &nothing, 0);
    mt_storage_unpin(s);
    mt_storage_unref(s);
    return result;
}

PyObject *mt_py_to_list(mt_tensor *t)
{
    mt_tensor *plain = NULL;
    PyObject *result = NULL;

    if (MT_UNLIKELY(t->dtype == MT_DTYPE_f4e2m1fnx2)) { /* its elements are pairs of numbers */
        PyErr_SetString(PyExc_RuntimeError, "load_scalar: invalid type");
        return NULL;
    }
    if (MT_LIKELY(t->device.type == MT_DEVICE_CPU && !(t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) &&
                  !(t->storage->flags & MT_STORAGE_SHRUNK)))
        return convert(t);
    if (readable(&plain, t) < 0)
        mt_py_raise();
    else
        result = convert(plain);
    mt_tensor_unref(plain);
    return result;
}
