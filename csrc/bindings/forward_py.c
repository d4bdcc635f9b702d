/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of `_C` about forward mode: levels, and whether this thread looks at tangents. Dual tensors themselves are
   made by ops of the catalog. And the guard around functions that torch.func transforms. */
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

/* --- transforms --- */

typedef struct transform_guard {
    PyObject_HEAD uint32_t outer;
    bool is_loop;
} transform_guard;

static PyObject *transform_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int is_loop = 0;
    transform_guard *g;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "|p:_Transform", &is_loop))
        return NULL;
    g = (transform_guard *)type->tp_alloc(type, 0);
    if (g)
        g->is_loop = is_loop;
    return (PyObject *)g;
}

static PyObject *transform_enter(PyObject *o, PyObject *unused)
{
    (void)unused;
    ((transform_guard *)o)->outer = mt_transform_enter(((transform_guard *)o)->is_loop);
    Py_RETURN_NONE;
}

static PyObject *transform_exit(PyObject *o, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args, (void)nargs;
    mt_transform_leave(((transform_guard *)o)->outer);
    Py_RETURN_NONE;
}

static PyMethodDef transform_methods[] = {
    {"__enter__", transform_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))transform_exit, METH_FASTCALL | MT_PY_GENERIC, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Transform_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._Transform",
    .tp_basicsize = sizeof(transform_guard),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc =
        "Around the function that is transformed, which must not write in place what it captured, except in a loop.",
    .tp_methods = transform_methods,
    .tp_new = transform_new,
};

static PyObject *transforms_active(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_thread.transforms != 0);
}

/* An argument of the function: a view or an alias that it may write. */
static PyObject *adopt(PyObject *module, PyObject *o)
{
    (void)module;
    if (!mt_py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_adopt(): argument must be Tensor, not %s", Py_TYPE(o)->tp_name);
    mt_tensor_adopt(mt_py_impl(o));
    return Py_NewRef(o);
}

static PyMethodDef functions[] = {
    {"_adopt", adopt, METH_O, "_adopt(tensor)\n--\n\nThe tensor, as one that the transform under way has made."},
    {"_are_functorch_transforms_active", transforms_active, METH_NOARGS,
     "_are_functorch_transforms_active()\n--\n\nWhether the function of a transform runs in this thread."},
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
    if (PyModule_AddType(module, &Transform_Type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
