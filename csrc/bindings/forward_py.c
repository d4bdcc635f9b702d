/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of `_C` about forward mode: levels, and whether this thread looks at tangents. Dual tensors themselves are
   made by ops of the catalog. */
#include "autograd/autograd.h"
#include "bindings/bindings_internal.h"

static PyObject *enter_level(PyObject *module, PyObject *unused)
{
    int64_t level;

    (void)module, (void)unused;
    return mt_forward_enter(&level) < 0 ? mt_py_raise() : PyLong_FromLongLong(level);
}

static PyObject *exit_level(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"level", NULL};
    long long level;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "L:_exit_dual_level", names, &level))
        return NULL;
    if (mt_forward_exit(level) < 0)
        return mt_py_raise();
    Py_RETURN_NONE;
}

static PyObject *is_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_forward_is_enabled());
}

static PyObject *set_enabled(PyObject *module, PyObject *o)
{
    (void)module;
    if (!PyBool_Check(o))
        return PyErr_Format(PyExc_TypeError, "_set_fwd_grad_enabled(): argument 'enabled' must be bool, not %s",
                            Py_TYPE(o)->tp_name);
    mt_forward_set_enabled(o == Py_True);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_enter_dual_level", enter_level, METH_NOARGS,
     "_enter_dual_level()\n--\n\nOpens the level of forward mode and gives its number; RuntimeError when one is open."},
    {"_exit_dual_level", (PyCFunction)(void (*)(void))exit_level, METH_VARARGS | METH_KEYWORDS,
     "_exit_dual_level(level)\n--\n\nCloses the level: all tensors lose their tangents."},
    {"_is_fwd_grad_enabled", is_enabled, METH_NOARGS,
     "_is_fwd_grad_enabled()\n--\n\nWhether operations of this thread compute tangents."},
    {"_set_fwd_grad_enabled", set_enabled, METH_O,
     "_set_fwd_grad_enabled(enabled)\n--\n\nWhether operations of this thread compute tangents."},
    {NULL, NULL, 0, NULL},
};

int mt_py_forward_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
