/* SPDX-License-Identifier: BSD-3-Clause */
/* Custom Functions in forward mode: forward runs without tangents, then jvp makes those of the outputs. */
#include "base/strbuf.h"
#include "bindings/bindings_internal.h"
#include "bindings/function_internal.h"
#include "core/shape.h"
#include "ops.h"

/* Tangents of the inputs, one slot per argument; *any: whether there is one. */
int mt_py_function_tangents(mt_tensor ***out, bool *any, PyObject *args)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    mt_tensor **tangents;

    *out = NULL;
    *any = false;
    if (mt_forward_level() < 0 || !mt_forward_is_enabled())
        return 0;
    tangents = PyMem_Calloc((size_t)n + 1, sizeof(*tangents));
    if (!tangents) {
        PyErr_NoMemory();
        return -1;
    }
    *out = tangents;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(args, i);

        if (mt_py_is_tensor(o) && mt_forward_tangent(&tangents[i], mt_py_impl(o)) < 0)
            return mt_py_raise(), -1;
        *any |= tangents[i] != NULL;
    }
    return 0;
}

void mt_py_function_free_tangents(mt_tensor **tangents, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; tangents && i < n; i++)
        mt_tensor_unref(tangents[i]);
    PyMem_Free(tangents);
}

static PyObject *zeros_of(mt_tensor *t)
{
    mt_tensor *zeros = NULL;

    if (mt_tensor_new_like(&zeros, t, (mt_dtype)t->dtype) < 0)
        return mt_py_raise();
    if (mt_zero_inplace(zeros) < 0) {
        mt_tensor_unref(zeros);
        return mt_py_raise();
    }
    return mt_py_wrap(zeros);
}

/* What jvp gets: zeros, or None where the Function wants that, for tensors without a tangent. */
static PyObject *jvp_arguments(const mt_py_function *ctx, PyObject *args, mt_tensor *const *tangents)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *given = PyTuple_New(n);

    for (Py_ssize_t i = 0; given && i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(args, i), *item;

        if (tangents[i])
            item = mt_py_wrap(mt_tensor_ref(tangents[i]));
        else if (mt_py_is_tensor(o) && ctx->materialize_grads)
            item = zeros_of(mt_py_impl(o));
        else
            item = Py_NewRef(Py_None);
        if (!item)
            Py_CLEAR(given);
        else
            PyTuple_SET_ITEM(given, i, item);
    }
    return given;
}

static PyObject *call_jvp(mt_py_function *ctx, PyObject *args, mt_tensor *const *tangents, Py_ssize_t n_outputs)
{
    PyObject *given = jvp_arguments(ctx, args, tangents);
    PyObject *apply = given ? PyObject_GetAttrString((PyObject *)ctx, "apply_jvp") : NULL;
    PyObject *result = apply ? PyObject_CallObject(apply, given) : NULL;

    Py_XDECREF(apply);
    Py_XDECREF(given);
    if (result && !PyTuple_Check(result))
        Py_SETREF(result, PyTuple_Pack(1, result));
    if (result && PyTuple_GET_SIZE(result) != n_outputs) {
        PyErr_Format(PyExc_RuntimeError,
                     "Function's jvp returned an invalid number of forward gradients (expected %zd but got %zd)",
                     n_outputs, PyTuple_GET_SIZE(result));
        Py_CLEAR(result);
    }
    return result;
}

static int check_size(const mt_tensor *t, const mt_tensor *tangent)
{
    mt_shape_text size, other;

    if (mt_shape_equal(t->ndim, t->size, tangent->ndim, tangent->size))
        return 0;
    PyErr_Format(PyExc_RuntimeError,
                 "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                 "not supported. Tensor is of size %s while the given forward gradient is of size %s.",
                 mt_shape_format(&size, t->size, t->ndim), mt_shape_format(&other, tangent->size, tangent->ndim));
    return -1;
}

static int refuse_copy(void)
{
    PyErr_SetString(PyExc_RuntimeError,
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
                    "forward is modifying an input inplace, then the jvp function must modify the corresponding "
                    "gradient inplace.");
    return -1;
}

static mt_tensor *root_of(mt_tensor *t)
{
    return t->base ? t->base : t;
}

/* The tangent of the input that t is a view of, or NULL. */
static mt_tensor *tangent_below(const mt_tensor *t, PyObject *args, mt_tensor *const *tangents)
{
    for (Py_ssize_t i = 0; t->base && i < PyTuple_GET_SIZE(args); i++)
        if (tangents[i] && root_of(mt_py_impl(PyTuple_GET_ITEM(args, i))) == t->base)
            return tangents[i];
    return NULL;
}

/* A view needs the same view of the tangent, what was written in place needs its own tangent. */
static int check_kind(mt_tensor *t, mt_tensor *tangent, mt_tensor *of_input, mt_tensor *below, bool written)
{
    if (written && of_input && of_input != tangent)
        return refuse_copy();
    if (!written && t->base && !tangent->base) {
        PyErr_SetString(PyExc_RuntimeError, "A custom Function's forward is returning a view (or an input as-is) but "
                                            "the jvp is not returning a view.");
        return -1;
    }
    if (!written && below && root_of(below) != root_of(tangent)) {
        PyErr_SetString(PyExc_RuntimeError, "A custom Function is returning a view but the jvp is not returning a view "
                                            "of the given grad input.");
        return -1;
    }
    if (!mt_dtype_is_differentiable((mt_dtype)tangent->dtype)) {
        PyErr_Format(PyExc_RuntimeError, "Expected tangent to be floating point or complex, but jvp returned one of %s",
                     mt_dtype_table[tangent->dtype].name);
        return -1;
    }
    return check_size(t, tangent);
}

static int set_tangent(PyObject *output, PyObject *item, mt_tensor *of_input, mt_tensor *below, bool written,
                       bool constant, Py_ssize_t at)
{
    mt_tensor *t, *tangent;
    int rc;

    if (item != Py_None && !mt_py_is_tensor(item)) {
        PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s) for grad output %zd.",
                     Py_TYPE(item)->tp_name, at);
        return -1;
    }
    if (!mt_py_is_tensor(output) || (item == Py_None && !(written && of_input)))
        return 0;
    if (item == Py_None)
        return refuse_copy();
    t = mt_py_impl(output);
    tangent = mt_py_impl(item);
    if (constant || !mt_dtype_is_differentiable((mt_dtype)t->dtype)) {
        PyErr_Format(
            PyExc_RuntimeError,
            "Function's jvp returned a gradient at position %zd, but  the corresponding forward output is not a "
            "differentiable Tensor.You should return None at that position instead.",
            at);
        return -1;
    }
    if (check_kind(t, tangent, of_input, below, written) < 0)
        return -1;
    if (written && of_input)
        return 0;
    tangent = mt_tensor_ref(tangent);
    rc = mt_forward_set(t, &tangent);
    mt_tensor_clear(&tangent);
    return rc < 0 ? (mt_py_raise(), -1) : 0;
}

static Py_ssize_t position(PyObject *tuple, PyObject *o)
{
    for (Py_ssize_t i = 0; tuple && PyTuple_Check(tuple) && i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == o)
            return i;
    return -1;
}

int mt_py_function_forward_mode(mt_py_function *ctx, PyObject *args, PyObject *outputs, mt_tensor *const *tangents)
{
    Py_ssize_t n = PyTuple_GET_SIZE(outputs);
    PyObject *result;
    int rc = 0;

    mt_forward_set_enabled(false);
    result = call_jvp(ctx, args, tangents, n);
    for (Py_ssize_t i = 0; result && rc == 0 && i < n; i++) {
        PyObject *output = PyTuple_GET_ITEM(outputs, i);
        Py_ssize_t input = position(args, output);

        rc = set_tangent(output, PyTuple_GET_ITEM(result, i), input < 0 ? NULL : tangents[input],
                         mt_py_is_tensor(output) ? tangent_below(mt_py_impl(output), args, tangents) : NULL,
                         position(ctx->dirty, output) >= 0, position(ctx->non_differentiable, output) >= 0, i);
    }
    mt_forward_set_enabled(true);
    Py_XDECREF(result);
    return result ? rc : -1;
}
