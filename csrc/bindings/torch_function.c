/* SPDX-License-Identifier: BSD-3-Clause */
/* __torch_function__: who takes part, in which order, and the call. Also the stack of modes and the guards that
   switch the protocol off, all per thread. */
#include "bindings/bind.h"

static PyObject *name_torch_function;
static PyObject *disabled_impl; /* _disabled_torch_function_impl */
static PyObject *space_object(const char *space);
static PyObject **func_objects; /* one public function object per mt_py_func, made at first need */
static PyObject *module_object;

/* --- who takes part --- */

bool mt_py_has_torch_function(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    PyObject *attr;

    if (type == mt_tensor_type || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return false; /* built-in types have no handler */
    if (mt_thread.override_disabled || mt_thread.override_subclass_disabled)
        return false;
    attr = _PyType_Lookup(type, name_torch_function);
    return attr && attr != disabled_impl;
}

static int insert_overloaded(PyObject **list, int *n, int max, PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);
    int at = *n;

    for (int i = 0; i < *n; i++)
        if (Py_TYPE(list[i]) == type)
            return 0;
    if (*n == max) {
        PyErr_SetString(PyExc_RuntimeError, "too many overloaded arguments");
        return -1;
    }
    for (int i = 0; i < *n && at == *n; i++)
        if (PyType_IsSubtype(type, Py_TYPE(list[i])))
            at = i;
    for (int i = *n; i > at; i--)
        list[i] = list[i - 1];
    list[at] = o;
    ++*n;
    return 0;
}

int mt_py_overload_add(mt_bind *b, PyObject *o)
{
    return insert_overloaded(b->overloaded, &b->n_overloaded, MT_BIND_MAX_OVERLOADED, o) < 0 ? -1 : 1;
}

/* --- mode stack --- */

static __thread PyObject *mode_stack; /* list, NULL when empty: nobody would free that of a thread that ends */
static PyObject *spare_stack;         /* an empty list for the next thread that needs one */

static Py_ssize_t mode_depth(void)
{
    return mode_stack ? PyList_GET_SIZE(mode_stack) : 0;
}

static void refresh_slow_flag(void)
{
    if (mode_depth() > 0 && !mt_thread.override_disabled)
        mt_thread.slow |= MT_SLOW_MODE;
    else
        mt_thread.slow &= ~(uint32_t)MT_SLOW_MODE;
}

static PyObject *pop_mode(void)
{
    Py_ssize_t n = mode_depth();
    PyObject *mode;

    if (n == 0) {
        PyErr_SetString(PyExc_RuntimeError, "the stack of torch function modes is empty");
        return NULL;
    }
    mode = Py_NewRef(PyList_GET_ITEM(mode_stack, n - 1));
    if (PyList_SetSlice(mode_stack, n - 1, n, NULL) < 0)
        Py_CLEAR(mode);
    if (mode_depth() == 0) {
        Py_XSETREF(spare_stack, mode_stack);
        mode_stack = NULL;
    }
    refresh_slow_flag();
    return mode;
}

static int push_mode(PyObject *mode)
{
    if (!mode_stack) {
        mode_stack = spare_stack ? spare_stack : PyList_New(0);
        spare_stack = NULL;
    }
    if (!mode_stack || PyList_Append(mode_stack, mode) < 0)
        return -1;
    refresh_slow_flag();
    return 0;
}

/* --- the call --- */

/* A handler bound to the operand itself, no class method. Modes are called so; operands should not be. */
static int warn_of_plain_method(PyObject *owner, PyObject *handler)
{
    if (!PyMethod_Check(handler) || PyMethod_GET_SELF(handler) != owner)
        return 0;
    return PyErr_WarnEx(PyExc_UserWarning,
                        "Defining your `__torch_function__` as a plain method is deprecated and will be an error in "
                        "future, please define it as a classmethod.",
                        1);
}

static int refuse_class_method(PyObject *handler)
{
    if (!PyMethod_Check(handler) || !PyType_Check(PyMethod_GET_SELF(handler)))
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "Defining your mode's `__torch_function__` as a classmethod is not supported, "
                                        "please make it a plain method");
    return -1;
}

static PyObject *call_handler(PyObject *owner, bool is_mode, PyObject *func, PyObject *types, PyObject *args,
                              PyObject *kwargs)
{
    PyObject *handler = PyObject_GetAttr(owner, name_torch_function), *result;

    if (!handler)
        return NULL;
    if (is_mode ? refuse_class_method(handler) < 0 : warn_of_plain_method(owner, handler) < 0)
        result = NULL;
    else
        result = PyObject_CallFunctionObjArgs(handler, func, types, args, kwargs, NULL);
    Py_DECREF(handler);
    return result;
}

static PyObject *call_mode(PyObject *func, PyObject *types, PyObject *args, PyObject *kwargs)
{
    PyObject *mode = pop_mode(), *result, *type, *value, *traceback;

    if (!mode)
        return NULL;
    result = call_handler(mode, true, func, types, args, kwargs);
    PyErr_Fetch(&type, &value, &traceback);
    if (push_mode(mode) < 0 && !type) {
        Py_CLEAR(result);
        Py_DECREF(mode);
        return NULL;
    }
    Py_DECREF(mode);
    PyErr_Restore(type, value, traceback);
    return result;
}

static void raise_no_handler(PyObject *func, PyObject *const *overloaded, int n)
{
    PyObject *name = PyObject_GetAttrString(func, "__name__"), *lines = PyUnicode_FromString("");

    if (!name)
        PyErr_Clear();
    for (int i = 0; lines && i < n; i++)
        Py_SETREF(lines, PyUnicode_FromFormat("%U  - tensor subclass %R\n", lines, (PyObject *)Py_TYPE(overloaded[i])));
    if (lines)
        PyErr_Format(PyExc_TypeError,
                     "Multiple dispatch failed for 'torch.%S'; all __torch_function__ handlers returned "
                     "NotImplemented:\n\n%U\nFor more information, try re-running with TORCH_LOGS=not_implemented",
                     name ? name : func, lines);
    Py_XDECREF(lines);
    Py_XDECREF(name);
}

PyObject *mt_py_handle_override(PyObject *func, PyObject *const *overloaded, int n, PyObject *args, PyObject *kwargs)
{
    PyObject *types = PyTuple_New(n), *result = NULL, *held[MT_BIND_MAX_OVERLOADED];

    if (!types)
        return NULL;
    if (kwargs && PyDict_GET_SIZE(kwargs) == 0)
        kwargs = NULL;
    for (int i = 0; i < n; i++) {
        PyTuple_SET_ITEM(types, i, Py_NewRef((PyObject *)Py_TYPE(overloaded[i])));
        held[i] = Py_NewRef(overloaded[i]);
    }
    if (mt_thread.slow & MT_SLOW_MODE)
        result = call_mode(func, types, args, kwargs);
    if (!PyErr_Occurred() && (!result || result == Py_NotImplemented)) {
        for (int i = 0; i < n; i++) {
            Py_XDECREF(result);
            result = call_handler(held[i], false, func, types, args, kwargs);
            if (result != Py_NotImplemented)
                break;
        }
        if (result == Py_NotImplemented || (!result && !PyErr_Occurred())) {
            Py_CLEAR(result);
            raise_no_handler(func, held, n);
        }
    }
    for (int i = 0; i < n; i++)
        Py_DECREF(held[i]);
    Py_DECREF(types);
    return result;
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

PyObject *mt_py_torch_function_call(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames, PyObject *const *overloaded, int n_overloaded)
{
    int own = f->kind == MT_PY_METHOD;
    PyObject *func = func_object(f), *tuple = NULL, *kwargs = NULL, *result = NULL;

    if (!func || !(tuple = PyTuple_New(nargs + own)))
        return NULL;
    if (own)
        PyTuple_SET_ITEM(tuple, 0, Py_NewRef(self));
    for (Py_ssize_t i = 0; i < nargs; i++)
        PyTuple_SET_ITEM(tuple, i + own, Py_NewRef(args[i]));
    if (kwnames && PyTuple_GET_SIZE(kwnames)) {
        kwargs = PyDict_New();
        for (Py_ssize_t i = 0; kwargs && i < PyTuple_GET_SIZE(kwnames); i++)
            if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, i), args[nargs + i]) < 0)
                Py_CLEAR(kwargs);
        if (!kwargs)
            goto done;
    }
    result = mt_py_handle_override(func, overloaded, n_overloaded, tuple, kwargs);
done:
    Py_DECREF(tuple);
    Py_XDECREF(kwargs);
    return result;
}

static int collect(PyObject **overloaded, int *n, PyObject *o)
{
    if (!mt_py_has_torch_function(o))
        return 0;
    return insert_overloaded(overloaded, n, MT_BIND_MAX_OVERLOADED, o) < 0 ? -1 : 0;
}

static PyObject *override_with(PyObject *self, PyObject *func, PyObject *args, PyObject *kwargs)
{
    PyObject *overloaded[MT_BIND_MAX_OVERLOADED], *result = NULL;
    int n = 0;

    if (func && args && collect(overloaded, &n, self) == 0) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
            PyObject *o = PyTuple_GET_ITEM(args, i);
            bool is_tuple = PyTuple_CheckExact(o); /* an index of several items */

            for (Py_ssize_t k = 0; k < (is_tuple ? PyTuple_GET_SIZE(o) : 1); k++)
                if (collect(overloaded, &n, is_tuple ? PyTuple_GET_ITEM(o, k) : o) < 0)
                    goto done;
        }
        result = mt_py_handle_override(func, overloaded, n, args, kwargs);
    }
done:
    Py_XDECREF(func);
    return result;
}

PyObject *mt_py_override_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs)
{
    return override_with(self, PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, name), args, kwargs);
}

PyObject *mt_py_override_unary(PyObject *self, const char *name)
{
    PyObject *args = PyTuple_Pack(1, self), *result = args ? mt_py_override_method(self, name, args, NULL) : NULL;

    Py_XDECREF(args);
    return result;
}

/* action: 0 get, 1 set, 2 delete. func is the bound __get__, __set__ or __delete__ of the property. */
PyObject *mt_py_override_property(PyObject *self, const char *name, PyObject *value, int action)
{
    static const char *const methods[] = {"__get__", "__set__", "__delete__"};
    PyObject *descr = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, name), *func, *args, *result;

    func = descr ? PyObject_GetAttrString(descr, methods[action]) : NULL;
    Py_XDECREF(descr);
    args = action == 1 ? PyTuple_Pack(2, self, value) : PyTuple_Pack(1, self);
    if (!func || !args) {
        Py_XDECREF(func);
        Py_XDECREF(args);
        return NULL;
    }
    result = override_with(self, func, args, NULL);
    Py_DECREF(args);
    return result;
}

/* --- functions of _C --- */

static PyObject *has_unary(PyObject *module, PyObject *o)
{
    (void)module;
    return PyBool_FromLong((mt_thread.slow & MT_SLOW_MODE) || mt_py_has_torch_function(o));
}

static PyObject *has_variadic(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    bool yes = (mt_thread.slow & MT_SLOW_MODE) != 0;

    (void)module;
    for (Py_ssize_t i = 0; i < nargs && !yes; i++)
        yes = mt_py_has_torch_function(args[i]);
    return PyBool_FromLong(yes);
}

static PyObject *has_sequence(PyObject *module, PyObject *sequence)
{
    PyObject *fast = PySequence_Fast(sequence, "expected a sequence"), *result;

    if (!fast)
        return NULL;
    result = has_variadic(module, PySequence_Fast_ITEMS(fast), PySequence_Fast_GET_SIZE(fast));
    Py_DECREF(fast);
    return result;
}

static PyObject *disabled_impl_call(PyObject *module, PyObject *args)
{
    PyObject *func, *types, *func_args = NULL, *kwargs = NULL, *result, *empty = NULL;
    bool old = mt_thread.override_subclass_disabled;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO|OO", &func, &types, &func_args, &kwargs))
        return NULL;
    if (!func_args && !(func_args = empty = PyTuple_New(0)))
        return NULL;
    mt_thread.override_subclass_disabled = true;
    result = PyObject_Call(func, func_args, kwargs == Py_None ? NULL : kwargs);
    mt_thread.override_subclass_disabled = old;
    Py_XDECREF(empty);
    return result;
}

static PyObject *push_stack(PyObject *module, PyObject *mode)
{
    (void)module;
    return push_mode(mode) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *pop_stack(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return pop_mode();
}

static PyObject *stack_at(PyObject *module, PyObject *index)
{
    Py_ssize_t i = PyLong_AsSsize_t(index);

    (void)module;
    if (i == -1 && PyErr_Occurred())
        return NULL;
    if (i < 0 || i >= mode_depth()) {
        PyErr_SetString(PyExc_IndexError, "torch function mode stack index out of range");
        return NULL;
    }
    return Py_NewRef(PyList_GET_ITEM(mode_stack, i));
}

static PyObject *stack_length(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromSsize_t(mode_depth());
}

static PyObject *is_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(!mt_thread.override_disabled && !mt_thread.override_subclass_disabled);
}

static PyObject *all_disabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_thread.override_disabled);
}

static PyObject *mode_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong((mt_thread.slow & MT_SLOW_MODE) != 0);
}

/* Stands for "this class takes no part in __torch_dispatch__". */
static PyObject *disabled_dispatch_call(PyObject *module, PyObject *args)
{
    return disabled_impl_call(module, args);
}

/* States as numbers: 0 enabled, 1 subclasses disabled, 2 all disabled. */
static PyObject *get_state(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(mt_thread.override_disabled ? 2 : mt_thread.override_subclass_disabled ? 1 : 0);
}

static PyObject *set_state(PyObject *module, PyObject *state)
{
    long value = PyLong_AsLong(state);

    (void)module;
    if (value == -1 && PyErr_Occurred())
        return NULL;
    if (value < 0 || value > 2) {
        PyErr_SetString(PyExc_ValueError, "unknown state of the override protocol");
        return NULL;
    }
    mt_thread.override_disabled = value == 2;
    mt_thread.override_subclass_disabled = value == 1;
    refresh_slow_flag();
    Py_RETURN_NONE;
}

static int add_states(PyObject *module)
{
    PyObject *states = PyModule_New("_TorchFunctionState");
    int rc = -1;

    if (states && PyModule_AddIntConstant(states, "ENABLED", 0) == 0 &&
        PyModule_AddIntConstant(states, "SUBCLASSES_DISABLED", 1) == 0 &&
        PyModule_AddIntConstant(states, "ALL_DISABLED", 2) == 0)
        rc = PyModule_AddObjectRef(module, "_TorchFunctionState", states);
    Py_XDECREF(states);
    return rc;
}

static PyMethodDef functions[] = {
    {"_get_torch_function_state", get_state, METH_NOARGS, NULL},
    {"_set_torch_function_state", set_state, METH_O, NULL},
    {"_is_torch_function_mode_enabled", mode_enabled, METH_NOARGS, NULL},
    {"_disabled_torch_dispatch_impl", disabled_dispatch_call, METH_VARARGS,
     "_disabled_torch_dispatch_impl(*args)\n--\n\n_disabled_torch_dispatch_impl(*args)"},
    {"_has_torch_function_unary", has_unary, METH_O,
     "_has_torch_function_unary(arg)\n--\n\n_has_torch_function_unary(arg)"},
    {"_has_torch_function_variadic", (PyCFunction)(void (*)(void))has_variadic, METH_FASTCALL,
     "_has_torch_function_variadic(*args)\n--\n\n_has_torch_function_variadic(*args)"},
    {"_has_torch_function", has_sequence, METH_O,
     "_has_torch_function(relevant_args)\n--\n\n_has_torch_function(relevant_args)"},
    {"_disabled_torch_function_impl", disabled_impl_call, METH_VARARGS,
     "_disabled_torch_function_impl(*args)\n--\n\n_disabled_torch_function_impl(*args)"},
    {"_push_on_torch_function_stack", push_stack, METH_O, NULL},
    {"_pop_torch_function_stack", pop_stack, METH_NOARGS, NULL},
    {"_get_function_stack_at", stack_at, METH_O, NULL},
    {"_len_torch_function_stack", stack_length, METH_NOARGS, NULL},
    {"_is_torch_function_enabled", is_enabled, METH_NOARGS, NULL},
    {"_is_torch_function_all_disabled", all_disabled, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* --- guards: DisableTorchFunctionSubclass and DisableTorchFunction --- */

typedef struct guard {
    PyObject_HEAD bool all, old_all, old_subclass;
} guard;

mt_py_override_state mt_py_override_disable_subclass(void)
{
    mt_py_override_state old = {mt_thread.override_disabled, mt_thread.override_subclass_disabled};

    mt_thread.override_subclass_disabled = true;
    refresh_slow_flag();
    return old;
}

void mt_py_override_restore(mt_py_override_state old)
{
    mt_thread.override_disabled = old.all;
    mt_thread.override_subclass_disabled = old.subclass;
    refresh_slow_flag();
}

static PyObject *guard_enter(PyObject *o, PyObject *unused)
{
    guard *g = (guard *)o;

    (void)unused;
    g->old_all = mt_thread.override_disabled;
    g->old_subclass = mt_thread.override_subclass_disabled;
    if (g->all)
        mt_thread.override_disabled = true;
    else
        mt_thread.override_subclass_disabled = true;
    refresh_slow_flag();
    Py_RETURN_NONE;
}

static PyObject *guard_exit(PyObject *o, PyObject *args)
{
    guard *g = (guard *)o;

    (void)args;
    mt_thread.override_disabled = g->old_all;
    mt_thread.override_subclass_disabled = g->old_subclass;
    refresh_slow_flag();
    Py_RETURN_NONE;
}

static PyMethodDef guard_methods[] = {
    {"__enter__", guard_enter, METH_NOARGS, NULL},
    {"__exit__", guard_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject DisableAll_Type;

static PyObject *guard_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    guard *g = (guard *)type->tp_alloc(type, 0);

    (void)args, (void)kwargs;
    if (g)
        g->all = PyType_IsSubtype(type, &DisableAll_Type);
    return (PyObject *)g;
}

static PyTypeObject DisableSubclass_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C.DisableTorchFunctionSubclass",
    .tp_basicsize = sizeof(guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = guard_methods,
    .tp_new = guard_new,
    .tp_doc = "Context: handlers of tensor subclasses are not called.",
};

static PyTypeObject DisableAll_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C.DisableTorchFunction",
    .tp_basicsize = sizeof(guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = guard_methods,
    .tp_new = guard_new,
    .tp_doc = "Context: neither handlers nor modes are called.",
};

static PyObject *space_object(const char *space)
{
    PyObject *name = *space ? PyUnicode_FromFormat("_%s", space) : PyUnicode_FromString("_VariableFunctions");
    PyObject *o = name ? PyObject_GetAttr(module_object, name) : NULL;

    Py_XDECREF(name);
    Py_XDECREF(o); /* the module keeps it */
    return o;
}

int mt_py_torch_function_init(PyObject *module)
{
    module_object = module;
    name_torch_function = PyUnicode_InternFromString("__torch_function__");
    if (!name_torch_function || PyModule_AddFunctions(module, functions) < 0 || add_states(module) < 0)
        return -1;
    disabled_impl = PyObject_GetAttrString(module, "_disabled_torch_function_impl");
    if (!disabled_impl || PyType_Ready(&DisableSubclass_Type) < 0 || PyType_Ready(&DisableAll_Type) < 0)
        return -1;
    if (PyModule_AddObjectRef(module, "DisableTorchFunctionSubclass", (PyObject *)&DisableSubclass_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "DisableTorchFunction", (PyObject *)&DisableAll_Type);
}
