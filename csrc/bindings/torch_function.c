/* SPDX-License-Identifier: BSD-3-Clause */
/* __torch_function__: who takes part, in which order, and the call. The stack of modes and the switches are in
   torch_function_state.c. */
#include "bindings/torch_function.h"

#include <string.h>

static PyObject *name_torch_function;
static PyObject *disabled_impl; /* _disabled_torch_function_impl */
static PyObject **func_objects; /* one public function object per mt_py_func, made at first need */
static PyObject *module_object;

/* --- who takes part --- */

/* Does o have the attribute, of its own or by descriptor? What raises counts as absent, as it does for hasattr. */
static bool has_attribute(PyObject *o)
{
    PyObject *type, *value, *traceback, *attr;
    bool has;

    PyErr_Fetch(&type, &value, &traceback);
    Py_INCREF(o); /* what runs may drop it from the list it stands in */
    attr = PyObject_GetAttr(o, name_torch_function);
    Py_DECREF(o);
    has = attr && attr != disabled_impl;
    Py_XDECREF(attr);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return has;
}

/* Objects of built-in types have no attributes of their own, but for classes, functions and the like. */
static bool may_have_attributes(PyTypeObject *type)
{
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_dictoffset != 0 || PyType_IsSubtype(type, &PyType_Type);
}

static bool is_plain_attribute(PyObject *attr)
{
    return Py_TYPE(attr) == &PyClassMethod_Type || Py_TYPE(attr) == &PyStaticMethod_Type || PyFunction_Check(attr) ||
           PyCFunction_Check(attr);
}

bool mt_py_has_torch_function(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    PyObject *attr;

    if (type == mt_tensor_type || !may_have_attributes(type) || PyModule_Check(o))
        return false;
    if (mt_thread.override_disabled || mt_thread.override_subclass_disabled)
        return false;
    attr = _PyType_Lookup(type, name_torch_function);
    if (MT_LIKELY(attr && attr != disabled_impl && is_plain_attribute(attr)))
        return true;
    if (attr == disabled_impl && mt_py_is_tensor(o) && !((mt_py_tensor *)o)->dict)
        return false;
    return has_attribute(o);
}

/* A class among the arguments takes part as itself. */
static PyTypeObject *kind_of(PyObject *o)
{
    return PyType_Check(o) ? (PyTypeObject *)o : Py_TYPE(o);
}

/* 1 or 0; -1 on error. The metaclass of a class may say more than inheritance does. */
static int is_subclass(PyTypeObject *type, PyTypeObject *of)
{
    if (Py_TYPE(of) == &PyType_Type || Py_TYPE(of) == &mt_TensorMeta_Type)
        return PyType_IsSubtype(type, of);
    return PyObject_IsSubclass((PyObject *)type, (PyObject *)of);
}

int mt_py_overloads_add(mt_py_overloads *list, PyObject *o)
{
    PyTypeObject *type = kind_of(o);
    int at = list->n;

    for (int i = 0; i < list->n; i++)
        if (kind_of(list->item[i]) == type)
            return 0;
    if (list->n == list->max) {
        int max = list->max * 2;
        PyObject **item = max > 1 << 20 ? NULL : PyMem_Malloc((size_t)max * sizeof(*item));

        if (!item) {
            PyErr_NoMemory();
            return -1;
        }
        memcpy(item, list->item, (size_t)list->n * sizeof(*item));
        mt_py_overloads_clear(list);
        list->item = item;
        list->max = max;
    }
    for (int i = 0; i < list->n && at == list->n; i++) {
        int before = is_subclass(type, kind_of(list->item[i]));

        if (before < 0)
            return -1;
        if (before)
            at = i;
    }
    memmove(list->item + at + 1, list->item + at, (size_t)(list->n - at) * sizeof(*list->item));
    list->item[at] = o;
    list->n++;
    return 0;
}

int mt_py_overload_add(mt_bind *b, PyObject *o)
{
    return mt_py_overloads_add(&b->overloads, o) < 0 ? -1 : 1;
}

/* --- the names in messages --- */

/* The namespace of a function: "linalg." for one of the module _linalg. */
static PyObject *space_of(PyObject *func)
{
    PyObject *self = PyCFunction_Check(func) ? PyCFunction_GET_SELF(func) : NULL;
    const char *name = self && PyModule_Check(self) ? PyModule_GetName(self) : NULL;
    const char *dot = name ? strrchr(name, '.') : NULL, *last = dot ? dot + 1 : name;

    if (!last) {
        PyErr_Clear();
        return PyUnicode_FromString("");
    }
    return PyUnicode_FromString(*last == '_' && strcmp(last, "_C") != 0 ? last + 1 : last);
}

/* "Tensor.add", "Tensor.shape.__get__", "linalg.linalg_inv", "add" */
static PyObject *dotted_name(PyObject *func)
{
    PyObject *name = PyObject_GetAttrString(func, "__name__"), *space = NULL, *result = NULL;
    PyObject *owner = name ? PyObject_GetAttrString(func, "__self__") : NULL;

    if (Py_IS_TYPE(func, &PyMethodDescr_Type) || Py_IS_TYPE(func, &PyWrapperDescr_Type)) {
        result = PyUnicode_FromFormat("Tensor.%S", name);
    } else if (owner && Py_IS_TYPE(owner, &PyGetSetDescr_Type)) {
        result = PyUnicode_FromFormat("Tensor.%S.%S", ((PyDescrObject *)owner)->d_name, name);
    } else if (name && (space = space_of(func))) {
        result = PyUnicode_FromFormat(PyUnicode_GET_LENGTH(space) ? "%U.%S" : "%U%S", space, name);
    }
    if (!result) {
        PyErr_Clear();
        result = PyObject_Repr(func);
    }
    Py_XDECREF(name);
    Py_XDECREF(owner);
    Py_XDECREF(space);
    PyErr_Clear();
    return result;
}

static void raise_no_handler(PyObject *func, PyObject *mode, PyObject *types, int n)
{
    PyObject *lines = mode ? PyUnicode_FromFormat("  - mode object %R\n", mode) : PyUnicode_FromString("");
    PyObject *name = lines ? dotted_name(func) : NULL;

    for (int i = 0; lines && i < n; i++)
        Py_SETREF(lines, PyUnicode_FromFormat("%U  - tensor subclass %R\n", lines, PyTuple_GET_ITEM(types, i)));
    if (lines && name)
        PyErr_Format(PyExc_TypeError,
                     "Multiple dispatch failed for 'torch.%U'; all __torch_function__ handlers returned "
                     "NotImplemented:\n\n%U\nFor more information, try re-running with TORCH_LOGS=not_implemented",
                     name, lines);
    Py_XDECREF(lines);
    Py_XDECREF(name);
}

/* --- the call --- */

/* A handler bound to the operand itself, no class method. Modes are called so; operands should not be. */
static int warn_of_plain_method(PyObject *owner, PyObject *handler)
{
    static bool warned;

    if (!PyMethod_Check(handler) || PyMethod_GET_SELF(handler) != owner)
        return 0;
    if (mt_warn_once(&warned, MT_WARN_USER,
                     "Defining your `__torch_function__` as a plain method is deprecated and will be an error in "
                     "future, please define it as a classmethod.") < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

static PyObject *call_operand(PyObject *owner, PyObject *func, PyObject *types, PyObject *args, PyObject *kwargs)
{
    PyObject *handler = PyObject_GetAttr(owner, name_torch_function), *result = NULL;

    if (handler && warn_of_plain_method(owner, handler) == 0)
        result = mt_py_call_handler(owner, handler, func, types, args, kwargs);
    Py_XDECREF(handler);
    return result;
}

static PyObject *call_mode(PyObject *mode, PyObject *func, PyObject *types, PyObject *args, PyObject *kwargs)
{
    PyObject *handler = PyObject_GetAttr(mode, name_torch_function), *result = NULL;

    if (handler && (!PyMethod_Check(handler) || PyMethod_GET_SELF(handler) != mode))
        PyErr_SetString(PyExc_RuntimeError, "Defining your mode's `__torch_function__` as a classmethod is not "
                                            "supported, please make it a plain method");
    else if (handler)
        result = PyObject_CallFunctionObjArgs(handler, func, types, args, kwargs, NULL);
    Py_XDECREF(handler);
    return result;
}

/* The first answer of the held operands; a borrowed NotImplemented stays when all of them refuse. */
static PyObject *ask_operands(PyObject *const *held, int n, PyObject *func, PyObject *types, PyObject *args,
                              PyObject *kwargs)
{
    PyObject *result = Py_NewRef(Py_NotImplemented);

    for (int i = 0; i < n && result == Py_NotImplemented; i++)
        Py_SETREF(result, call_operand(held[i], func, types, args, kwargs));
    return result;
}

PyObject *mt_py_handle_override(PyObject *func, const mt_py_overloads *list, PyObject *args, PyObject *kwargs)
{
    PyObject *types = NULL, *result = NULL, *room[MT_PY_OVERLOADS_ROOM], **held = room, *mode = NULL;
    int n = list->n, n_types = n + (list->self != NULL);

    if (n > MT_PY_OVERLOADS_ROOM && !(held = PyMem_Malloc((size_t)n * sizeof(*held))))
        return PyErr_NoMemory();
    for (int i = 0; i < n; i++) /* a handler may change the lists that hold them */
        held[i] = Py_NewRef(list->item[i]);
    types = PyTuple_New(n_types);
    if (!types)
        goto done;
    for (int i = 0; i < n_types; i++)
        PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)kind_of(i < n ? held[i] : list->self)));
    if (kwargs && PyDict_GET_SIZE(kwargs) == 0)
        kwargs = NULL;
    result = Py_NewRef(Py_NotImplemented);
    if (mt_thread.slow & MT_SLOW_MODE) {
        mode = mt_py_mode_pop();
        Py_SETREF(result, mode ? call_mode(mode, func, types, args, kwargs) : NULL);
        if (mode)
            mt_py_mode_push_back(mode);
    }
    if (result == Py_NotImplemented)
        Py_SETREF(result, ask_operands(held, n, func, types, args, kwargs));
    if (result == Py_NotImplemented) {
        Py_CLEAR(result);
        raise_no_handler(func, mode, types, n);
    }
done:
    for (int i = 0; i < n; i++)
        Py_DECREF(held[i]);
    if (held != room)
        PyMem_Free(held);
    Py_XDECREF(mode);
    Py_XDECREF(types);
    return result;
}

/* --- entries: what is called, and with what --- */

static PyObject *space_object(const char *space)
{
    PyObject *name = *space ? PyUnicode_FromFormat("_%s", space) : PyUnicode_FromString("_VariableFunctions");
    PyObject *o = name ? PyObject_GetAttr(module_object, name) : NULL;

    Py_XDECREF(name);
    Py_XDECREF(o); /* the module keeps it */
    return o;
}

static PyObject *func_object(const mt_py_func *f)
{
    PyObject *owner, *o;

    if (!func_objects && !(func_objects = PyMem_Calloc((size_t)mt_py_func_count, sizeof(*func_objects))))
        return PyErr_NoMemory();
    if (func_objects[f->id])
        return func_objects[f->id];
    owner = f->kind == MT_PY_METHOD ? (PyObject *)&mt_TensorBase_Type : space_object(f->space);
    o = owner ? PyObject_GetAttrString(owner, f->name) : NULL;
    func_objects[f->id] = o; /* kept for good: the same object every time */
    return o;
}

static PyObject *pack_args(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int own = self != NULL;
    PyObject *tuple = PyTuple_New(nargs + own);

    if (!tuple)
        return NULL;
    if (own)
        PyTuple_SET_ITEM(tuple, 0, Py_NewRef(self));
    for (Py_ssize_t i = 0; i < nargs; i++)
        PyTuple_SET_ITEM(tuple, i + own, Py_NewRef(args[i]));
    return tuple;
}

static int pack_kwargs(PyObject **out, PyObject *const *values, PyObject *kwnames)
{
    *out = NULL;
    if (!kwnames || PyTuple_GET_SIZE(kwnames) == 0)
        return 0;
    *out = PyDict_New();
    for (Py_ssize_t i = 0; *out && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyDict_SetItem(*out, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0)
            Py_CLEAR(*out);
    return *out ? 0 : -1;
}

/* Packs and calls; func is borrowed, and NULL with an exception set where it was not found. */
static PyObject *call_packed(PyObject *func, const mt_py_overloads *list, PyObject *self, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *tuple = func ? pack_args(self, args, nargs) : NULL, *kwargs = NULL, *result = NULL;

    if (tuple && pack_kwargs(&kwargs, args + nargs, kwnames) == 0)
        result = mt_py_handle_override(func, list, tuple, kwargs);
    Py_XDECREF(tuple);
    Py_XDECREF(kwargs);
    return result;
}

PyObject *mt_py_torch_function_call(const mt_py_func *f, mt_py_overloads *list, PyObject *self, PyObject *const *args,
                                    Py_ssize_t nargs, PyObject *kwnames)
{
    bool own = f->kind == MT_PY_METHOD;

    if (own && list->n == 0 && f->n_overloads == 1 && f->overloads[0]->n_args == 1)
        list->self = self; /* a method without arguments */
    return call_packed(func_object(f), list, own ? self : NULL, args, nargs, kwnames);
}

PyObject *mt_py_function_override(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    mt_py_overloads list;
    PyObject *space = space_object(""), *func = space ? PyObject_GetAttrString(space, name) : NULL, *result;

    mt_py_overloads_init(&list);
    result = call_packed(func, &list, NULL, args, nargs, kwnames);
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_late_override(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), i = 0;
    PyObject *space = space_object(""), *func = space ? PyObject_GetAttrString(space, name) : NULL, *result = NULL;
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    while (func && i < n && (!mt_py_has_torch_function(args[i]) || mt_py_overloads_add(&list, args[i]) == 0))
        i++;
    if (func && i == n)
        result = call_packed(func, &list, NULL, args, nargs, kwnames);
    mt_py_overloads_clear(&list);
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_object_override(PyObject *func, PyObject *args, PyObject *kwargs)
{
    mt_py_overloads list;
    PyObject *result = NULL;

    mt_py_overloads_init(&list);
    if (args)
        result = mt_py_handle_override(func, &list, args, kwargs);
    Py_XDECREF(args);
    return result;
}

static int collect(mt_py_overloads *list, PyObject *o)
{
    return mt_py_has_torch_function(o) ? mt_py_overloads_add(list, o) : 0;
}

/* _override_as_given(func, args, kwargs): for functions that PyTorch has in C. */
static PyObject *override_as_given(PyObject *module, PyObject *call)
{
    PyObject *func, *args, *kwargs, *key, *value, *result = NULL;
    mt_py_overloads list;
    Py_ssize_t at = 0;
    int rc = 0;

    (void)module;
    if (!PyArg_ParseTuple(call, "OO!O!:_override_as_given", &func, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return NULL;
    mt_py_overloads_init(&list);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args) && rc == 0; i++)
        rc = collect(&list, PyTuple_GET_ITEM(args, i));
    while (rc == 0 && PyDict_Next(kwargs, &at, &key, &value))
        rc = collect(&list, value);
    if (rc == 0)
        result = mt_py_handle_override(func, &list, args, kwargs);
    mt_py_overloads_clear(&list);
    return result;
}

/* Objects inside tuples and lists count as well: indices may be such. `held` keeps what was seen, because code of a metaclass
   may empty the lists meanwhile. */
static int collect_nested(mt_py_overloads *list, PyObject *held, PyObject *o, int depth)
{
    PyObject *items;
    int rc;

    if ((!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) || depth == 0)
        return collect(list, o);
    items = PyTuple_CheckExact(o) ? Py_NewRef(o) : PyList_AsTuple(o);
    rc = items ? PyList_Append(held, items) : -1;
    for (Py_ssize_t i = 0; rc == 0 && i < PyTuple_GET_SIZE(items); i++)
        rc = collect_nested(list, held, PyTuple_GET_ITEM(items, i), depth - 1);
    Py_XDECREF(items);
    return rc;
}

PyObject *mt_py_method_override(PyObject *self, const char *name, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    PyObject *func = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, name), *result = NULL;
    Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), i = 0;
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    if (func && collect(&list, self) == 0) {
        while (i < n && collect(&list, args[i]) == 0)
            i++;
        if (i == n)
            result = call_packed(func, &list, self, args, nargs, kwnames);
    }
    mt_py_overloads_clear(&list);
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_index_override(PyObject *self, PyObject *key, PyObject *value)
{
    PyObject *func = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, value ? "__setitem__" : "__getitem__");
    PyObject *args[] = {key, value}, *result = NULL, *held = PyList_New(0);
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    if (func && held && collect(&list, self) == 0 && collect_nested(&list, held, key, MT_PY_INDEX_DEPTH) == 0 &&
        (!value || collect(&list, value) == 0))
        result = call_packed(func, &list, self, args, value ? 2 : 1, NULL);
    mt_py_overloads_clear(&list);
    Py_XDECREF(held);
    Py_XDECREF(func);
    return result;
}

/* func is consumed. */
static PyObject *self_override(PyObject *self, PyObject *func, PyObject *const *args, Py_ssize_t nargs)
{
    mt_py_overloads list;
    PyObject *result = NULL;

    mt_py_overloads_init(&list);
    if (func && collect(&list, self) == 0) {
        if (list.n == 0)
            list.self = self;
        result = call_packed(func, &list, self, args, nargs, NULL);
    }
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_receiver_override(PyObject *func, PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *all = pack_args(self, PySequence_Fast_ITEMS(args), PyTuple_GET_SIZE(args)), *result = NULL;
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    if (all && collect(&list, self) == 0)
        result = mt_py_handle_override(func, &list, all, kwargs);
    Py_XDECREF(all);
    return result;
}

PyObject *mt_py_equal_override(PyObject *self, PyObject *other)
{
    PyObject *func = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, "__eq__"), *result = NULL;
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    if (func && collect(&list, self) == 0)
        result = call_packed(func, &list, self, &other, 1, NULL);
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_noargs_override(PyObject *self, const char *name)
{
    return self_override(self, PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, name), NULL, 0);
}

/* action: 0 get, 1 set, 2 delete. func is the bound __get__, __set__ or __delete__ of the property. */
PyObject *mt_py_override_property(PyObject *self, const char *name, PyObject *value, int action)
{
    static const char *const methods[] = {"__get__", "__set__", "__delete__"};
    PyObject *descr = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, name), *func;

    func = descr ? PyObject_GetAttrString(descr, methods[action]) : NULL;
    Py_XDECREF(descr);
    return self_override(self, func, &value, action == 1);
}

/* --- operators that PyTorch has in Python --- */

PyObject *mt_py_python_override(const char *name, PyObject *self, PyObject *other)
{
    static PyObject *handle;
    PyObject *func, *operands, *result = NULL;

    if (!handle) {
        PyObject *module = PyImport_ImportModule("minitorch.overrides");

        handle = module ? PyObject_GetAttrString(module, "handle_torch_function") : NULL;
        Py_XDECREF(module);
        if (!handle)
            return NULL;
    }
    func = PyObject_GetAttrString((PyObject *)mt_tensor_type, name);
    operands = other ? PyTuple_Pack(2, self, other) : PyTuple_Pack(1, self);
    if (func && operands)
        result = PyObject_CallFunctionObjArgs(handle, func, operands, self, other, NULL);
    Py_XDECREF(func);
    Py_XDECREF(operands);
    return result;
}

static PyMethodDef functions[] = {
    {"_override_as_given", override_as_given, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int mt_py_torch_function_init(PyObject *module)
{
    module_object = module;
    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    name_torch_function = PyUnicode_InternFromString("__torch_function__");
    if (!name_torch_function || mt_py_torch_function_state_init(module) < 0 ||
        mt_py_torch_function_foreign_init(module) < 0)
        return -1;
    disabled_impl = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
    return disabled_impl ? 0 : -1;
}
