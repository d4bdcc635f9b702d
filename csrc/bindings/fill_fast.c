/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain nests of numbers in one pass: the dtype is guessed from the first number and the values are
   written at once; a number of a higher category (a float among integers) starts the pass again
   with that one, three times at most. Only objects of exactly the built-in types are touched, so
   that nothing can change underneath; whatever else turns up, ragged rows and overflows included,
   is left to the careful walk of tensor_data.c, which words the complaints. */
#include "bindings/fill_internal.h"

#include <string.h>

#include "base/error.h"

#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

typedef enum outcome { DONE, HIGHER, OTHER } outcome;

typedef struct job {
    const mt_data_shape *shape;
    int64_t step[MT_MAX_DIM]; /* bytes */
    mt_dtype dtype;
    bool inferred;
    mt_category met; /* with HIGHER: what was met */
} job;

/* --- plain numbers --- */

#if PY_VERSION_HEX >= 0x030C0000
static inline bool short_long(int64_t *out, PyObject *o)
{
    if (!PyUnstable_Long_IsCompact((PyLongObject *)o))
        return false;
    *out = PyUnstable_Long_CompactValue((PyLongObject *)o);
    return true;
}
#else
static inline bool short_long(int64_t *out, PyObject *o)
{
    Py_ssize_t n = Py_SIZE(o);

    if (n > 1 || n < -1)
        return false;
    *out = n == 0 ? 0 : n * (int64_t)((PyLongObject *)o)->ob_digit[0];
    return true;
}
#endif

static inline bool plain_long(int64_t *out, PyObject *o)
{
    int overflow;

    if (MT_LIKELY(short_long(out, o)))
        return true;
    *out = PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow == 0;
}

static inline bool is_plain(PyObject *o, mt_category *category)
{
    if (PyFloat_CheckExact(o))
        *category = MT_CAT_FLOAT;
    else if (PyLong_CheckExact(o))
        *category = MT_CAT_INT;
    else if (PyBool_Check(o))
        *category = MT_CAT_BOOL;
    else if (PyComplex_CheckExact(o))
        *category = MT_CAT_COMPLEX;
    else
        return false;
    return true;
}

/* An item that does not fit the guess. */
static outcome misfit(job *j, PyObject *o)
{
    mt_category category;

    if (!j->inferred || !is_plain(o, &category) || category <= mt_dtype_category(j->dtype))
        return OTHER;
    j->met = category;
    return HIGHER;
}

/* Integers and truth values among floats. */
static inline bool plain_double(double *out, PyObject *o)
{
    int64_t i;

    if (PyLong_CheckExact(o)) {
        if (short_long(&i, o)) {
            *out = (double)i;
            return true;
        }
        *out = PyLong_AsDouble(o);
        if (*out == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return false;
        }
        return true;
    }
    *out = o == Py_True;
    return PyBool_Check(o);
}

/* --- rows --- */

static outcome row_f32(job *j, float *dst, PyObject *const *item, Py_ssize_t n)
{
    double d;

    for (Py_ssize_t i = 0; i < n; i++) {
        if (MT_LIKELY(PyFloat_CheckExact(item[i])))
            dst[i] = (float)PyFloat_AS_DOUBLE(item[i]);
        else if (plain_double(&d, item[i]))
            dst[i] = (float)d;
        else
            return misfit(j, item[i]);
    }
    return DONE;
}

static outcome row_f64(job *j, double *dst, PyObject *const *item, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (MT_LIKELY(PyFloat_CheckExact(item[i])))
            dst[i] = PyFloat_AS_DOUBLE(item[i]);
        else if (!plain_double(&dst[i], item[i]))
            return misfit(j, item[i]);
    }
    return DONE;
}

static outcome row_any(job *j, char *dst, PyObject *const *item, Py_ssize_t n)
{
    int64_t size = (int64_t)mt_dtype_size(j->dtype);
    mt_category category;

    for (Py_ssize_t i = 0; i < n; i++) {
        if (!is_plain(item[i], &category))
            return OTHER;
        if (j->inferred && category > mt_dtype_category(j->dtype))
            return misfit(j, item[i]);
        if (mt_py_store_number(dst + i * size, j->dtype, item[i]) < 0) {
            PyErr_Clear();
            return OTHER;
        }
    }
    return DONE;
}

static outcome row_i64(job *j, int64_t *dst, PyObject *const *item, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (MT_LIKELY(PyLong_CheckExact(item[i]))) {
            if (!plain_long(&dst[i], item[i]))
                return OTHER;
        } else if (PyBool_Check(item[i])) {
            dst[i] = item[i] == Py_True;
        } else if (j->inferred || row_any(j, (char *)&dst[i], &item[i], 1) != DONE) {
            return misfit(j, item[i]);
        }
    }
    return DONE;
}

static outcome row_bool(job *j, uint8_t *dst, PyObject *const *item, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyBool_Check(item[i]))
            return misfit(j, item[i]);
        dst[i] = item[i] == Py_True;
    }
    return DONE;
}

static outcome row(job *j, char *dst, PyObject *const *item, Py_ssize_t n)
{
    switch (j->dtype) {
    case MT_DTYPE_f32:
        return row_f32(j, (float *)dst, item, n);
    case MT_DTYPE_f64:
        return row_f64(j, (double *)dst, item, n);
    case MT_DTYPE_i64:
        return row_i64(j, (int64_t *)dst, item, n);
    case MT_DTYPE_b8:
        if (j->inferred)
            return row_bool(j, (uint8_t *)dst, item, n);
        break;
    default:
        break;
    }
    return row_any(j, dst, item, n);
}

static inline bool is_plain_sequence(PyObject *o)
{
    return PyList_CheckExact(o) || PyTuple_CheckExact(o);
}

static outcome fill(job *j, char *dst, int dim, PyObject *o)
{
    int64_t n = j->shape->size[dim];
    PyObject **item;

    if (!is_plain_sequence(o) || PySequence_Fast_GET_SIZE(o) != n)
        return OTHER;
    item = PySequence_Fast_ITEMS(o);
    if (dim == j->shape->ndim - 1)
        return row(j, dst, item, n);
    for (int64_t i = 0; i < n; i++) {
        outcome rc = fill(j, dst + i * j->step[dim], dim + 1, item[i]);

        if (rc != DONE)
            return rc;
    }
    return DONE;
}

/* The category of the first number; false when the nest is not plain on the way there. */
static bool first_category(mt_category *out, const mt_data_shape *shape, PyObject *o)
{
    for (int dim = 0; dim < shape->ndim; dim++) {
        if (!is_plain_sequence(o) || PySequence_Fast_GET_SIZE(o) == 0)
            return false;
        o = PySequence_Fast_GET_ITEM(o, 0);
    }
    return is_plain(o, out);
}

static mt_dtype dtype_of(mt_category category)
{
    switch (category) {
    case MT_CAT_BOOL:
        return MT_DTYPE_b8;
    case MT_CAT_INT:
        return MT_DTYPE_i64;
    case MT_CAT_FLOAT:
        return mt_default_dtype();
    default: /* bfloat16 has no complex dtype: the careful walk says so */
        return mt_default_dtype() == MT_DTYPE_bf16 ? MT_DTYPE_NONE : mt_default_complex_dtype();
    }
}

static void set_steps(job *j)
{
    int64_t step = (int64_t)mt_dtype_size(j->dtype);

    for (int i = j->shape->ndim - 1; i >= 0; i--) {
        j->step[i] = step;
        step *= j->shape->size[i];
    }
}

int mt_py_fill_fast(mt_tensor **out, const mt_data_shape *shape, PyObject *data, mt_dtype dtype)
{
    job j;
    outcome rc;

    *out = NULL;
    if (!first_category(&j.met, shape, data))
        return 0;
    j.shape = shape;
    j.inferred = dtype == MT_DTYPE_NONE;
    do {
        mt_tensor_clear(out);
        j.dtype = j.inferred ? dtype_of(j.met) : dtype;
        if (j.dtype == MT_DTYPE_NONE)
            return 0;
        if (mt_tensor_new(out, j.dtype, shape->ndim, shape->size, MT_CPU) < 0)
            return mt_py_fail();
        set_steps(&j);
        if (shape->ndim == 0)
            rc = row(&j, mt_tensor_mutable_data(*out), &data, 1);
        else
            rc = fill(&j, mt_tensor_mutable_data(*out), 0, data);
    } while (rc == HIGHER);
    if (rc == DONE)
        return 1;
    mt_tensor_clear(out);
    return 0;
}
