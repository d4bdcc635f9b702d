/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of one argument by the kind of its spec. The value borrows from the Python object or from the
   temporaries of the call; a list is held as a tuple so that no other thread can shrink it under a kernel. */
#include <string.h>

#include "bindings/bind_internal.h"

int64_t *mt_bind_ints(mt_bind *b, Py_ssize_t n)
{
    int64_t *room;

    if (n <= MT_BIND_MAX_INTS - b->n_ints) {
        room = b->ints + b->n_ints;
        b->n_ints += (int)n;
        return room;
    }
    if (b->n_blocks == MT_BIND_MAX_TEMPS || n > PY_SSIZE_T_MAX / 16) {
        PyErr_NoMemory();
        return NULL;
    }
    room = PyMem_Malloc((size_t)n * 8);
    if (!room) {
        PyErr_NoMemory();
        return NULL;
    }
    b->block[b->n_blocks++] = room;
    return room;
}

static void set_none(mt_value *out, int kind)
{
    out->kind = MT_ARG_NONE;
    memset(&out->v, 0, sizeof(out->v));
    if (kind == MT_ARG_INTS || kind == MT_ARG_BOOLS)
        out->v.ints.n = -1;
    else if (kind == MT_ARG_FLOATS)
        out->v.floats.n = -1;
    else if (kind == MT_ARG_SCALARS)
        out->v.scalars.n = -1;
    else if (kind == MT_ARG_DTYPE)
        out->v.i = MT_DTYPE_NONE;
    else if (kind == MT_ARG_LAYOUT || kind == MT_ARG_MEMORY_FORMAT)
        out->v.i = -1;
    else if (kind == MT_ARG_DEVICE)
        out->v.device = MT_DEVICE_NONE;
}

/* --- tensors --- */

static int overload_if(mt_bind *b, PyObject *o)
{
    if (!mt_py_has_torch_function(o))
        return 0;
    return mt_py_overload_add(b, o) < 0 ? -1 : 1;
}

static int number_as_tensor(mt_bind *b, mt_value *out, PyObject *value)
{
    mt_scalar s;
    int rc = mt_py_to_scalar(&s, value);

    if (rc != 1)
        return rc;
    if (b->n_tensors == MT_BIND_MAX_TEMPS)
        return 0;
    if (mt_tensor_from_scalar(&b->tensor[b->n_tensors], s) < 0) {
        mt_py_raise();
        return -1;
    }
    out->v.tensor = b->tensor[b->n_tensors++];
    return 1;
}

static int bind_tensor(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value)
{
    out->kind = MT_ARG_TENSOR;
    if (MT_LIKELY(mt_py_is_exact(value))) {
        out->v.tensor = mt_py_impl(value);
        b->numbers_only = false;
        return 1;
    }
    if (PyObject_TypeCheck(value, &mt_TensorBase_Type)) {
        out->v.tensor = mt_py_impl(value);
        b->numbers_only = false;
        return Py_TYPE(value) == mt_parameter_type || overload_if(b, value) >= 0 ? 1 : -1;
    }
    if (value == Py_None) {
        set_none(out, MT_ARG_TENSOR);
        return (spec->flags & MT_ARGF_OPTIONAL) != 0;
    }
    out->v.tensor = NULL;
    if (mt_py_has_torch_function(value)) /* also a number whose class overrides */
        return mt_py_overload_add(b, value);
    if (spec->flags & MT_ARGF_NUMBER) {
        int rc = number_as_tensor(b, out, value);

        return rc;
    }
    return 0;
}

/* A list is kept alive as a tuple of its elements. */
static PyObject *hold_sequence(mt_bind *b, PyObject *value)
{
    PyObject *tuple;

    if (PyTuple_Check(value))
        return value;
    if (b->n_objects == MT_BIND_MAX_TEMPS) {
        PyErr_SetString(PyExc_RuntimeError, "too many list arguments");
        return NULL;
    }
    tuple = PySequence_Tuple(value);
    if (tuple)
        b->object[b->n_objects++] = tuple;
    return tuple;
}

static int bind_tensors(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value)
{
    PyObject *tuple;
    Py_ssize_t n;
    mt_tensor **room;

    out->kind = MT_ARG_TENSORS;
    if (!PyTuple_Check(value) && !PyList_Check(value))
        return value == Py_None && (spec->flags & MT_ARGF_OPTIONAL) ? (set_none(out, MT_ARG_TENSORS), 1) : 0;
    tuple = hold_sequence(b, value);
    if (!tuple)
        return -1;
    n = PyTuple_GET_SIZE(tuple);
    room = (mt_tensor **)mt_bind_ints(b, n);
    if (!room)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int rc;

        room[i] = NULL;
        if (mt_py_is_tensor(item)) {
            room[i] = mt_py_impl(item);
            b->numbers_only = false;
            rc = mt_py_is_exact(item) || Py_TYPE(item) == mt_parameter_type ? 1 : overload_if(b, item);
            if (rc < 0)
                return -1;
            continue;
        }
        if (item == Py_None && (spec->flags & MT_ARGF_ELEMENT_NONE))
            continue;
        rc = overload_if(b, item);
        if (rc != 1)
            return rc;
    }
    out->v.tensors.data = room;
    out->v.tensors.n = (int)n;
    return n <= INT32_MAX;
}

/* --- numbers and lists of numbers --- */

/* Is it a tensor, or a number whose class overrides? Another overload may take it as a tensor. */
static bool stands_for_tensor(PyObject *value)
{
    return !PyLong_CheckExact(value) && !PyFloat_CheckExact(value) &&
           (mt_py_is_tensor(value) || ((PyLong_Check(value) || PyFloat_Check(value) || PyComplex_Check(value)) &&
                                       mt_py_has_torch_function(value)));
}

static int bind_scalar(mt_bind *b, mt_value *out, PyObject *value)
{
    int rc;

    out->kind = MT_ARG_SCALAR;
    rc = mt_py_to_scalar(&out->v.scalar, value);
    if (rc != 0) {
        b->tensor_as_number |= stands_for_tensor(value);
        return rc;
    }
    if (mt_py_is_tensor(value)) {
        mt_tensor *t = mt_py_impl(value);

        if (t->ndim != 0 || mt_tensor_is_tracked(t))
            return 0;
        if (mt_tensor_item(&out->v.scalar, t) < 0) {
            mt_py_raise();
            return -1;
        }
        b->tensor_as_number = true;
        return 1;
    }
    return overload_if(b, value);
}

static int int_element(mt_bind *b, int64_t *out, PyObject *item)
{
    int rc;

    if (MT_UNLIKELY(!PyLong_CheckExact(item) && mt_py_has_torch_function(item)))
        return mt_py_overload_add(b, item);
    rc = mt_py_to_int(out, item);
    if (rc != 0)
        return rc;
    if (PyBool_Check(item)) {
        *out = item == Py_True;
        return 1;
    }
    if (mt_py_is_tensor(item)) {
        mt_tensor *t = mt_py_impl(item);
        mt_scalar s;

        if (t->numel == 1 && mt_dtype_is_integral((mt_dtype)t->dtype, false)) {
            if (mt_tensor_item(&s, t) < 0) {
                mt_py_raise();
                return -1;
            }
            *out = s.v.i;
            return 1;
        }
    } else if (PyIndex_Check(item) && !PySequence_Check(item)) { /* any object with __index__ */
        PyObject *index = mt_py_try_index(item);

        if (!index)
            return PyErr_Occurred() ? -1 : 0;
        rc = mt_py_to_int(out, index);
        Py_DECREF(index);
        return rc;
    }
    return 0;
}

static int cannot_unpack(const mt_bind *b, const mt_arg_spec *spec, Py_ssize_t i, const char *why, const char *type)
{
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' failed to unpack the object at pos %zd with error \"%s%s\"",
                 b->call.op->name, spec->name, i + 1, why, type);
    return -1;
}

static int ints_from(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *const *items, Py_ssize_t n)
{
    int64_t *room = mt_bind_ints(b, n);

    if (!room)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int rc = i == 0 && PyBool_Check(items[0]) ? 0 : int_element(b, &room[i], items[i]);

        if (rc < 0 && PyErr_ExceptionMatches(PyExc_ValueError))
            cannot_unpack(b, spec, i, "Overflow when unpacking long long", "");
        if (rc == 0 && i > 0) /* the first element decides whether it is a list of numbers */
            rc = cannot_unpack(b, spec, i, "type must be tuple of ints,but got ", Py_TYPE(items[i])->tp_name);
        if (rc != 1)
            return rc;
    }
    out->v.ints.data = room;
    out->v.ints.n = (int)n;
    return n <= INT32_MAX;
}

static int bind_ints(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value)
{
    PyObject *tuple;
    int64_t *room, one;
    int rc;

    out->kind = MT_ARG_INTS;
    if (PyTuple_Check(value) || PyList_Check(value)) {
        tuple = hold_sequence(b, value);
        return tuple ? ints_from(b, spec, out, &PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple)) : -1;
    }
    if (spec->fixed > 0) {
        rc = mt_py_to_int(&one, value);
        if (rc != 1)
            return rc;
        room = mt_bind_ints(b, spec->fixed);
        if (!room)
            return -1;
        for (int i = 0; i < spec->fixed; i++)
            room[i] = one;
        out->v.ints.data = room;
        out->v.ints.n = spec->fixed;
        return 1;
    }
    return 0;
}

int mt_bind_spread(mt_bind *b, const mt_arg_spec *spec, PyObject *const *args, Py_ssize_t n)
{
    mt_value *out = &b->call.arg[spec->index];

    out->kind = MT_ARG_INTS;
    return ints_from(b, spec, out, args, n);
}

static int bind_floats(mt_bind *b, mt_value *out, PyObject *value)
{
    PyObject *tuple;
    double *room;
    Py_ssize_t n;

    out->kind = MT_ARG_FLOATS;
    if (!PyTuple_Check(value) && !PyList_Check(value))
        return 0;
    tuple = hold_sequence(b, value);
    if (!tuple)
        return -1;
    n = PyTuple_GET_SIZE(tuple);
    room = (double *)mt_bind_ints(b, n);
    if (!room)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int rc = mt_py_to_double(&room[i], item);

        if (rc == 0)
            rc = overload_if(b, item);
        if (rc != 1)
            return rc;
    }
    out->v.floats.data = room;
    out->v.floats.n = (int)n;
    return 1;
}

static int bind_scalars(mt_bind *b, mt_value *out, PyObject *value)
{
    PyObject *tuple;
    mt_scalar *room;
    Py_ssize_t n;

    if (!PyTuple_Check(value) && !PyList_Check(value))
        return 0;
    tuple = hold_sequence(b, value);
    if (!tuple)
        return -1;
    n = PyTuple_GET_SIZE(tuple);
    room = n > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(*room)
               ? NULL
               : (mt_scalar *)mt_bind_ints(b, n * (Py_ssize_t)(sizeof(*room) / sizeof(int64_t)));
    if (!room)
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        int rc = mt_py_to_scalar(&room[i], item);

        if (rc == 0)
            rc = overload_if(b, item);
        if (rc != 1)
            return rc;
    }
    out->v.scalars.data = room;
    out->v.scalars.n = (int)n;
    return n <= INT32_MAX;
}

static int bind_bools(mt_bind *b, mt_value *out, PyObject *value)
{
    PyObject *tuple;
    int64_t *room;

    out->kind = MT_ARG_BOOLS;
    if (!PyTuple_Check(value) && !PyList_Check(value))
        return 0;
    tuple = hold_sequence(b, value);
    room = tuple ? mt_bind_ints(b, PyTuple_GET_SIZE(tuple)) : NULL;
    if (!room)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        int rc = PyBool_Check(PyTuple_GET_ITEM(tuple, i)) ? 1 : overload_if(b, PyTuple_GET_ITEM(tuple, i));

        if (rc != 1)
            return rc;
        room[i] = PyTuple_GET_ITEM(tuple, i) == Py_True;
    }
    out->v.ints.data = room;
    out->v.ints.n = (int)PyTuple_GET_SIZE(tuple);
    return 1;
}

/* --- the rest --- */

static int bind_object(mt_value *out, int kind, PyObject *value)
{
    int rc;

    out->kind = (uint8_t)kind;
    switch (kind) {
    case MT_ARG_STR:
        if (!PyUnicode_Check(value))
            return 0;
        out->v.str = PyUnicode_AsUTF8(value);
        return out->v.str ? 1 : -1;
    case MT_ARG_DTYPE: {
        mt_dtype d;

        rc = mt_py_to_dtype(&d, value);
        out->v.i = rc == 1 ? (int64_t)d : MT_DTYPE_NONE;
        return rc;
    }
    case MT_ARG_LAYOUT:
        out->v.i = mt_py_layout_of(value);
        return out->v.i >= 0;
    case MT_ARG_MEMORY_FORMAT:
        out->v.i = mt_py_memory_format_of(value);
        return out->v.i >= 0;
    case MT_ARG_DEVICE:
        return mt_py_to_device(&out->v.device, value);
    case MT_ARG_GENERATOR:
        out->v.generator = mt_py_generator_of(value);
        return out->v.generator != NULL;
    case MT_ARG_STORAGE:
        if (!mt_py_is_storage(value))
            return 0;
        out->v.storage = mt_py_storage_of(value);
        return 1;
    default:
        return 0;
    }
}

/* What no object that overrides stands for. */
static int bind_plain(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value)
{
    if (value == Py_None) {
        if (spec->kind == MT_ARG_INTS && (spec->flags & MT_ARGF_DEFAULT) && !(spec->flags & MT_ARGF_OPTIONAL) &&
            spec->dflt.v.ints.n == 0) { /* dim=[] may be written dim=None */
            *out = spec->dflt;
            return 1;
        }
        set_none(out, spec->kind);
        return (spec->flags & MT_ARGF_OPTIONAL) != 0;
    }
    out->kind = spec->kind;
    switch (spec->kind) {
    case MT_ARG_TENSORS:
        return bind_tensors(b, spec, out, value);
    case MT_ARG_SCALAR:
        return bind_scalar(b, out, value);
    case MT_ARG_INT:
        b->tensor_as_number |= stands_for_tensor(value);
        return mt_py_to_int(&out->v.i, value);
    case MT_ARG_FLOAT:
        b->tensor_as_number |= stands_for_tensor(value);
        return mt_py_to_double(&out->v.d, value);
    case MT_ARG_BOOL:
        out->v.b = value == Py_True;
        return PyBool_Check(value);
    case MT_ARG_INTS:
        return bind_ints(b, spec, out, value);
    case MT_ARG_FLOATS:
        return bind_floats(b, out, value);
    case MT_ARG_BOOLS:
        return bind_bools(b, out, value);
    case MT_ARG_SCALARS:
        return bind_scalars(b, out, value);
    default:
        return bind_object(out, spec->kind, value);
    }
}

int mt_bind_value(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value)
{
    int rc;

    if (spec->kind == MT_ARG_TENSOR)
        return bind_tensor(b, spec, out, value);
    rc = bind_plain(b, spec, out, value);
    if (MT_LIKELY(rc != 0) ||
        mt_py_is_tensor(value)) /* a tensor for a number is a number, or wrong, whatever its class is */
        return rc;
    b->tensor_as_number |= stands_for_tensor(value); /* no better here than as the number it is */
    return overload_if(b, value);
}
