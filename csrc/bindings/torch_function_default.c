/* SPDX-License-Identifier: BSD-3-Clause */
/* What Tensor.__torch_function__ does for subclasses: runs the function with the handlers of subclasses off and turns every
   exact tensor of the result into the subclass. */
#include "bindings/bindings_internal.h"

#include "bindings/new_internal.h"
#include "bindings/torch_function.h"

static PyObject *convert(PyObject *result, PyObject *cls);

/* type(result)([...]): lists, tuples, named results. A list may change while the class is asked about its items. */
static PyObject *convert_items(PyObject *result, PyObject *cls)
{
    PyObject *items = PyList_New(0), *whole = NULL;

    for (Py_ssize_t i = 0; items && i < PySequence_Fast_GET_SIZE(result); i++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(result, i)), *converted = convert(item, cls);

        if (!converted || PyList_Append(items, converted) < 0)
            Py_CLEAR(items);
        Py_XDECREF(converted);
        Py_DECREF(item);
    }
    if (items)
        whole = PyObject_CallOneArg((PyObject *)Py_TYPE(result), items);
    Py_XDECREF(items);
    return whole;
}

static PyObject *convert(PyObject *result, PyObject *cls)
{
    PyObject *converted;

    if (mt_py_is_tensor(result)) {
        int rc = PyObject_IsInstance(result, cls);

        if (rc < 0)
            return NULL;
        return rc ? Py_NewRef(result) : mt_py_as_subclass(result, &cls, 1, NULL);
    }
    if (!PyTuple_Check(result) && !PyList_Check(result))
        return Py_NewRef(result);
    if (Py_EnterRecursiveCall(" in Tensor.__torch_function__"))
        return NULL;
    converted = convert_items(result, cls);
    Py_LeaveRecursiveCall();
    return converted;
}

/* 1 when cls descends from all types, 0 when one of them is unrelated, -1 on error. Iterates, because what lies about its
   length must not get that much memory; what has no end can be interrupted. */
static int knows_all(PyObject *cls, PyObject *types)
{
    PyObject *it = PyObject_GetIter(types), *type;
    int rc = 1;

    while (it && rc > 0 && (type = PyIter_Next(it))) {
        rc = PyErr_CheckSignals() < 0 ? -1 : type == cls ? 1 : PyObject_IsSubclass(cls, type);
        Py_DECREF(type);
    }
    Py_XDECREF(it);
    return PyErr_Occurred() ? -1 : rc;
}

static PyObject *tuple_of(PyObject *iterable)
{
    PyObject *it, *item, *list, *tuple = NULL;

    if (PyTuple_CheckExact(iterable))
        return Py_NewRef(iterable);
    it = PyObject_GetIter(iterable);
    list = it ? PyList_New(0) : NULL;
    while (list && (item = PyIter_Next(it))) {
        int rc = PyList_Append(list, item);

        Py_DECREF(item);
        if (rc < 0 || PyErr_CheckSignals() < 0)
            break;
    }
    if (list && !PyErr_Occurred())
        tuple = PyList_AsTuple(list);
    Py_XDECREF(it);
    Py_XDECREF(list);
    return tuple;
}

static PyObject *call(PyObject *func, PyObject *args, PyObject *kwargs)
{
    PyObject *tuple = tuple_of(args), *result;
    mt_py_handler_call call = {NULL, func, tuple, kwargs};

    if (!tuple)
        return NULL;
    if (mt_py_handler_begins(&call)) {
        result = PyObject_Call(func, tuple, kwargs == Py_None ? NULL : kwargs);
        mt_py_handler_ends(&call);
    } else {
        result = Py_NewRef(Py_NotImplemented);
    }
    Py_DECREF(tuple);
    return result;
}

/* _torch_function_default(cls, func, types, args, kwargs, unwrapped): results of functions in `unwrapped` stay as they are. */
static PyObject *run_default(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *result, *converted = NULL;
    mt_py_override_state old;
    int rc;

    (void)module;
    if (nargs != 6 || (args[4] != Py_None && !PyDict_Check(args[4]))) {
        PyErr_SetString(PyExc_TypeError,
                        "Tensor.__torch_function__(): expected (func, types, args=(), kwargs=None), where kwargs "
                        "must be a dict");
        return NULL;
    }
    rc = knows_all(args[0], args[2]);
    if (rc <= 0)
        return rc ? NULL : Py_NewRef(Py_NotImplemented);
    old = mt_py_override_disable_subclass();
    result = call(args[1], args[3], args[4]);
    if (result && args[0] != (PyObject *)mt_tensor_type) {
        rc = PySet_Contains(args[5], args[1]);
        if (rc < 0 && PyErr_ExceptionMatches(PyExc_TypeError)) { /* a function that cannot be hashed is no property */
            PyErr_Clear();
            rc = 0;
        }
        converted = rc < 0 ? NULL : rc ? Py_NewRef(result) : convert(result, args[0]);
        Py_DECREF(result);
        result = converted;
    }
    mt_py_override_restore(old);
    return result;
}

static PyMethodDef functions[] = {
    {"_torch_function_default", (PyCFunction)(void (*)(void))run_default, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

int mt_py_torch_function_default_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
