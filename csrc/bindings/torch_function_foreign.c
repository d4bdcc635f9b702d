/* SPDX-License-Identifier: BSD-3-Clause */
/* PyTorch's own tensors beside ours, in one process. Either library sees the other's tensors as objects that override, and the
   handler that tensors inherit calls the function again: without end, were nobody to notice that the call is the same. */
#include "bindings/torch_function.h"

#include <string.h>

/* Calls of handlers that run, the innermost first. */
static MT_THREAD_LOCAL_FAST mt_py_handler_call *innermost;

static bool same_items(PyObject *a, PyObject *b)
{
    bool same = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);

    for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(a); i++)
        same = PyTuple_GET_ITEM(a, i) == PyTuple_GET_ITEM(b, i);
    return same;
}

static bool same_keywords(PyObject *a, PyObject *b)
{
    Py_ssize_t n_a = a && PyDict_Check(a) ? PyDict_GET_SIZE(a) : 0, n_b = b && PyDict_Check(b) ? PyDict_GET_SIZE(b) : 0;
    PyObject *key, *value;
    Py_ssize_t i = 0;

    if (n_a != n_b)
        return false;
    while (n_a && PyDict_Next(a, &i, &key, &value))
        if (PyDict_GetItem(b, key) != value)
            return false;
    return true;
}

bool mt_py_handler_begins(mt_py_handler_call *call)
{
    const mt_py_handler_call *outer = innermost;

    if (outer && outer->func == call->func && PyTuple_Check(call->args) && PyTuple_Check(outer->args) &&
        same_items(outer->args, call->args) && same_keywords(outer->kwargs, call->kwargs))
        return false;
    call->outer = innermost;
    innermost = call;
    return true;
}

void mt_py_handler_ends(mt_py_handler_call *call)
{
    innermost = call->outer;
}

/* Tensors of PyTorch: the metaclass tells them from most objects at once. */
static bool is_foreign_tensor(PyObject *o)
{
    PyTypeObject *meta = Py_TYPE(Py_TYPE(o));
    PyObject *torch, *tensor;
    bool is;

    if (meta == &PyType_Type || PyType_IsSubtype(meta, &mt_TensorMeta_Type))
        return false;
    torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch"); /* borrowed */
    tensor = torch ? PyObject_GetAttrString(torch, "Tensor") : NULL;
    PyErr_Clear();
    is = tensor && PyType_Check(tensor) && PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)tensor);
    Py_XDECREF(tensor);
    return is;
}

static PyObject *refuse(PyObject *func, PyObject *tensor)
{
    PyObject *name = PyObject_GetAttrString(func, "__name__");

    if (!name)
        return NULL;
    PyErr_Format(
        PyExc_TypeError,
        "%S(): arguments must be tensors of minitorch, not %R; torch.from_dlpack() takes over the memory of others",
        name, Py_TYPE(tensor));
    Py_DECREF(name);
    return NULL;
}

PyObject *mt_py_call_handler(PyObject *owner, PyObject *handler, PyObject *func, PyObject *types, PyObject *args,
                             PyObject *kwargs)
{
    mt_py_handler_call call = {NULL, func, args, kwargs};
    PyObject *result;

    if (!is_foreign_tensor(owner))
        return PyObject_CallFunctionObjArgs(handler, func, types, args, kwargs, NULL);
    if (!mt_py_handler_begins(&call))
        return refuse(func, owner);
    result = PyObject_CallFunctionObjArgs(handler, func, types, args, kwargs, NULL);
    mt_py_handler_ends(&call);
    return result;
}

static PyObject *call_handler(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    if (nargs != 6)
        return PyErr_Format(PyExc_TypeError, "_call_handler() takes 6 arguments, %zd given", nargs);
    return mt_py_call_handler(args[0], args[1], args[2], args[3], args[4], args[5]);
}

static PyMethodDef functions[] = {
    {"_call_handler", (PyCFunction)(void (*)(void))call_handler, METH_FASTCALL,
     "_call_handler(owner, handler, func, types, args, kwargs): what the handler of an argument answers"},
    {NULL, NULL, 0, NULL},
};

int mt_py_torch_function_foreign_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
