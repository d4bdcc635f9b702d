/* SPDX-License-Identifier: BSD-3-Clause */
/* The override protocol's state of a thread: the stack of modes, and the switches, as `_C` shows them. */
#include "bindings/torch_function.h"

/* --- the stack of modes --- */

/* It never shrinks: what was popped can be pushed back. A capsule in the dictionary of the thread frees it. */
typedef struct mode_stack {
    PyObject **item;
    Py_ssize_t n, max;
} mode_stack;

static __thread mode_stack *stack;

static Py_ssize_t mode_depth(void)
{
    return stack ? stack->n : 0;
}

static void refresh_slow_flag(void)
{
    if (mode_depth() > 0 && !mt_thread.override_disabled)
        mt_thread.slow |= MT_SLOW_MODE;
    else
        mt_thread.slow &= ~(uint32_t)MT_SLOW_MODE;
}

static void free_stack(PyObject *capsule)
{
    mode_stack *s = PyCapsule_GetPointer(capsule, NULL);

    if (s == stack) {
        stack = NULL;
        refresh_slow_flag();
    }
    while (s->n > 0)
        Py_DECREF(s->item[--s->n]);
    PyMem_Free(s->item);
    PyMem_Free(s);
}

static int make_stack(void)
{
    PyObject *dict = PyThreadState_GetDict(), *capsule; /* borrowed */
    mode_stack *s = PyMem_Calloc(1, sizeof(*s));
    int rc;

    if (!s) {
        PyErr_NoMemory();
        return -1;
    }
    capsule = PyCapsule_New(s, NULL, free_stack);
    if (!capsule) {
        PyMem_Free(s);
        return -1;
    }
    if (!dict)
        PyErr_SetString(PyExc_RuntimeError, "a thread without a state has no modes");
    rc = dict ? PyDict_SetItemString(dict, "minitorch.modes", capsule) : -1;
    Py_DECREF(capsule);
    if (rc == 0)
        stack = s;
    return rc;
}

static int push_mode(PyObject *mode)
{
    if (!stack && make_stack() < 0)
        return -1;
    if (stack->n == stack->max) {
        Py_ssize_t max = stack->max ? stack->max * 2 : 8;
        PyObject **item = PyMem_Realloc(stack->item, (size_t)max * sizeof(*item));

        if (!item) {
            PyErr_NoMemory();
            return -1;
        }
        stack->item = item;
        stack->max = max;
    }
    stack->item[stack->n++] = Py_NewRef(mode);
    refresh_slow_flag();
    return 0;
}

PyObject *mt_py_mode_pop(void)
{
    PyObject *mode;

    if (mode_depth() == 0) {
        PyErr_SetString(PyExc_RuntimeError, "trying to pop from empty mode stack");
        return NULL;
    }
    mode = stack->item[--stack->n];
    refresh_slow_flag();
    return mode;
}

void mt_py_mode_push_back(PyObject *mode)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    if (push_mode(mode) < 0) /* only where the handler itself left the stack fuller than it was */
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static PyObject *push_stack(PyObject *module, PyObject *mode)
{
    (void)module;
    return push_mode(mode) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *pop_stack(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return mt_py_mode_pop();
}

static PyObject *stack_at(PyObject *module, PyObject *index)
{
    Py_ssize_t i = PyLong_AsSsize_t(index);

    (void)module;
    if (i == -1 && PyErr_Occurred())
        return NULL;
    if (i < 0 || i >= mode_depth()) {
        PyErr_SetString(PyExc_RuntimeError, "tried to get a mode of the stack that is not there");
        return NULL;
    }
    return Py_NewRef(stack->item[i]);
}

static PyObject *stack_length(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromSsize_t(mode_depth());
}

/* --- checks --- */

bool mt_py_slow_check(void)
{
    if (mt_thread.slow & MT_SLOW_SKIP) {
        mt_thread.slow &= ~(uint32_t)MT_SLOW_SKIP;
        return false;
    }
    return (mt_thread.slow & MT_SLOW_MODE) != 0;
}

static PyObject *has_any(PyObject *const *args, Py_ssize_t n)
{
    bool yes = false;

    if (MT_UNLIKELY(mt_thread.slow & (MT_SLOW_MODE | MT_SLOW_SKIP))) {
        bool skip = (mt_thread.slow & MT_SLOW_SKIP) != 0;

        yes = mt_py_slow_check() && n > 0;
        if (skip)
            Py_RETURN_FALSE;
    }
    for (Py_ssize_t i = 0; i < n && !yes; i++)
        yes = mt_py_has_torch_function(args[i]);
    return PyBool_FromLong(yes);
}

static PyObject *has_unary(PyObject *module, PyObject *o)
{
    (void)module;
    return has_any(&o, 1);
}

static PyObject *has_variadic(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    (void)module;
    return has_any(args, nargs);
}

static PyObject *has_sequence(PyObject *module, PyObject *sequence)
{
    PyObject *fast = PySequence_Fast(sequence, "expected a sequence"), *held, *result;

    (void)module;
    if (!fast)
        return NULL;
    held = PyList_CheckExact(fast) && fast == sequence ? PyList_AsTuple(fast) : Py_NewRef(fast);
    result = held ? has_any(PySequence_Fast_ITEMS(held), PySequence_Fast_GET_SIZE(held)) : NULL;
    Py_XDECREF(held);
    Py_DECREF(fast);
    return result;
}

/* --- running the implementation --- */

static PyObject *as_tuple(PyObject *args, const char *name)
{
    if (!args)
        return PyTuple_New(0);
    if (PyTuple_Check(args))
        return Py_NewRef(args);
    if (PyList_Check(args))
        return PyList_AsTuple(args);
    return PyErr_Format(PyExc_TypeError, "%s(): args must be a tuple or a list, not %s", name, Py_TYPE(args)->tp_name);
}

static int check_kwargs(PyObject *kwargs, const char *name)
{
    if (!kwargs || kwargs == Py_None || PyDict_Check(kwargs))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s(): kwargs must be a dictionary or None, not %s", name, Py_TYPE(kwargs)->tp_name);
    return -1;
}

static PyObject *disabled_impl_call(PyObject *module, PyObject *args)
{
    PyObject *func, *types, *func_args = NULL, *kwargs = NULL, *result = NULL, *tuple;
    bool old = mt_thread.override_subclass_disabled;
    mt_py_handler_call call;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO|OO:_disabled_torch_function_impl", &func, &types, &func_args, &kwargs) ||
        check_kwargs(kwargs, "_disabled_torch_function_impl") < 0)
        return NULL;
    tuple = as_tuple(func_args, "_disabled_torch_function_impl");
    if (!tuple)
        return NULL;
    call = (mt_py_handler_call){NULL, func, tuple, kwargs};
    if (!mt_py_handler_begins(&call)) {
        Py_DECREF(tuple);
        Py_RETURN_NOTIMPLEMENTED;
    }
    mt_thread.override_subclass_disabled = true;
    result = PyObject_Call(func, tuple, kwargs == Py_None ? NULL : kwargs);
    mt_thread.override_subclass_disabled = old;
    mt_py_handler_ends(&call);
    Py_DECREF(tuple);
    return result;
}

/* Stands for "this class takes no part in __torch_dispatch__". */
static PyObject *disabled_dispatch_call(PyObject *module, PyObject *args)
{
    return disabled_impl_call(module, args);
}

/* The next check of whatever runs is answered with no, and that must happen. */
static PyObject *skip_one_hop(PyObject *module, PyObject *args)
{
    PyObject *func, *types, *func_args, *kwargs, *result, *tuple;
    uint32_t old = mt_thread.slow & MT_SLOW_SKIP;
    bool unused;

    (void)module;
    if (!PyArg_ParseTuple(args, "OOOO:_skip_one_hop_torch_function", &func, &types, &func_args, &kwargs) ||
        check_kwargs(kwargs, "_skip_one_hop_torch_function") < 0)
        return NULL;
    tuple = as_tuple(func_args, "_skip_one_hop_torch_function");
    if (!tuple)
        return NULL;
    mt_thread.slow |= MT_SLOW_SKIP;
    result = PyObject_Call(func, tuple, kwargs == Py_None ? NULL : kwargs);
    unused = (mt_thread.slow & MT_SLOW_SKIP) != 0;
    mt_thread.slow = (mt_thread.slow & ~(uint32_t)MT_SLOW_SKIP) | old;
    Py_DECREF(tuple);
    if (result && unused) {
        Py_CLEAR(result);
        PyErr_Format(PyExc_RuntimeError,
                     "redispatch_function: %R doesn't use has_torch_function, so there was no check to skip", func);
    }
    return result;
}

/* --- switches --- */

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

static mt_py_override_state get_switches(void)
{
    return (mt_py_override_state){mt_thread.override_disabled, mt_thread.override_subclass_disabled};
}

static void set_switches(mt_py_override_state s)
{
    mt_thread.override_disabled = s.all;
    mt_thread.override_subclass_disabled = s.subclass;
    refresh_slow_flag();
}

mt_py_override_state mt_py_override_disable_subclass(void)
{
    mt_py_override_state old = get_switches();

    set_switches((mt_py_override_state){old.all, true});
    return old;
}

void mt_py_override_restore(mt_py_override_state old)
{
    set_switches(old);
}

/* --- the states as objects: _TorchFunctionState.ENABLED and its like --- */

typedef struct state_object {
    PyObject_HEAD const char *name;
    mt_py_override_state s;
} state_object;

enum { ENABLED, SUBCLASSES_DISABLED, ALL_DISABLED, N_STATES };
static PyObject *state_objects[N_STATES];

static int state_value(PyObject *o)
{
    const state_object *state = (state_object *)o;

    return state->s.all ? ALL_DISABLED : state->s.subclass ? SUBCLASSES_DISABLED : ENABLED;
}

static PyObject *state_repr(PyObject *o)
{
    return PyUnicode_FromFormat("<_TorchFunctionState.%s: %d>", ((state_object *)o)->name, state_value(o));
}

static PyObject *state_str(PyObject *o)
{
    return PyUnicode_FromFormat("_TorchFunctionState.%s", ((state_object *)o)->name);
}

static PyObject *state_name(PyObject *o, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((state_object *)o)->name);
}

static PyObject *state_number(PyObject *o, void *closure)
{
    (void)closure;
    return PyLong_FromLong(state_value(o));
}

static PyObject *state_int(PyObject *o)
{
    return state_number(o, NULL);
}

static PyGetSetDef state_getset[] = {
    {"name", state_name, NULL, NULL, NULL},
    {"value", state_number, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyNumberMethods state_as_number = {.nb_int = state_int, .nb_index = state_int};

static PyTypeObject State_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._TorchFunctionState",
    .tp_basicsize = sizeof(state_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_repr = state_repr,
    .tp_str = state_str,
    .tp_as_number = &state_as_number,
    .tp_getset = state_getset,
    .tp_doc = "Which overrides a thread calls: ENABLED, SUBCLASSES_DISABLED or ALL_DISABLED.",
};

static int add_states(PyObject *module)
{
    static const char *const names[] = {"ENABLED", "SUBCLASSES_DISABLED", "ALL_DISABLED"};

    if (PyType_Ready(&State_Type) < 0)
        return -1;
    for (int i = 0; i < N_STATES; i++) {
        state_object *state = PyObject_New(state_object, &State_Type);

        if (!state)
            return -1;
        state->name = names[i];
        state->s = (mt_py_override_state){i == ALL_DISABLED, i == SUBCLASSES_DISABLED};
        state_objects[i] = (PyObject *)state;
        if (PyDict_SetItemString(State_Type.tp_dict, names[i], state_objects[i]) < 0)
            return -1;
    }
    PyType_Modified(&State_Type);
    return PyModule_AddObjectRef(module, "_TorchFunctionState", (PyObject *)&State_Type);
}

static PyObject *get_state(PyObject *module, PyObject *unused)
{
    mt_py_override_state s = get_switches();

    (void)module, (void)unused;
    return Py_NewRef(state_objects[s.all ? ALL_DISABLED : s.subclass ? SUBCLASSES_DISABLED : ENABLED]);
}

static PyObject *set_state(PyObject *module, PyObject *state)
{
    (void)module;
    if (!Py_IS_TYPE(state, &State_Type))
        return PyErr_Format(PyExc_TypeError, "_set_torch_function_state(): a _TorchFunctionState is expected, not %s",
                            Py_TYPE(state)->tp_name);
    set_switches(((state_object *)state)->s);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_get_torch_function_state", get_state, METH_NOARGS, NULL},
    {"_set_torch_function_state", set_state, METH_O, NULL},
    {"_is_torch_function_mode_enabled", mode_enabled, METH_NOARGS, NULL},
    {"_skip_one_hop_torch_function", skip_one_hop, METH_VARARGS,
     "_skip_one_hop_torch_function(func, types, args, kwargs)\n--\n\n_skip_one_hop_torch_function(func, types, args, "
     "kwargs)"},
    {"_disabled_torch_dispatch_impl", disabled_dispatch_call, METH_VARARGS,
     "_disabled_torch_dispatch_impl(*args)\n--\n\n_disabled_torch_dispatch_impl(*args)"},
    {"_has_torch_function_unary", has_unary, METH_O,
     "_has_torch_function_unary(arg)\n--\n\n_has_torch_function_unary(arg) -> bool: has_torch_function of one "
     "argument."},
    {"_has_torch_function_variadic", (PyCFunction)(void (*)(void))has_variadic, METH_FASTCALL,
     "_has_torch_function_variadic(*args)\n--\n\n_has_torch_function_variadic(*args) -> bool: has_torch_function of "
     "arguments that are not in a sequence."},
    {"_has_torch_function", has_sequence, METH_O,
     "_has_torch_function(relevant_args)\n--\n\n_has_torch_function(relevant_args) -> bool\n\nDoes one of the "
     "arguments, "
     "the elements of a sequence, override functions by `__torch_function__`, or is a mode\nactive? A function written "
     "in "
     "Python asks this first, and leaves the call to `handle_torch_function` when the answer is True.\n\nExample::\n\n"
     "    >>> from minitorch.overrides import has_torch_function\n"
     "    >>> class Quantity:\n"
     "    ...     @classmethod\n"
     "    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
     "    ...         return NotImplemented\n"
     "    >>> has_torch_function((torch.ones(1), 2)), has_torch_function((torch.ones(1), Quantity()))\n"
     "    (False, True)"},
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

/* --- guards --- */

typedef struct guard {
    PyObject_HEAD mt_py_override_state old;
} guard;

static PyTypeObject DisableSubclass_Type, DisableAll_Type, Enable_Type;

static PyObject *guard_enter(PyObject *o, PyObject *unused)
{
    guard *g = (guard *)o;
    bool all = PyObject_TypeCheck(o, &DisableAll_Type);

    (void)unused;
    g->old = get_switches();
    set_switches((mt_py_override_state){g->old.all || all, g->old.subclass || !all});
    Py_RETURN_NONE;
}

static PyObject *guard_exit(PyObject *o, PyObject *args)
{
    (void)args;
    set_switches(((guard *)o)->old);
    Py_RETURN_NONE;
}

static PyMethodDef guard_methods[] = {
    {"__enter__", guard_enter, METH_NOARGS, NULL},
    {"__exit__", guard_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *guard_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    guard *g = (guard *)type->tp_alloc(type, 0);

    (void)args, (void)kwargs;
    if (g)
        g->old = get_switches();
    if (g && PyType_IsSubtype(type, &Enable_Type))
        set_switches((mt_py_override_state){false, false});
    return (PyObject *)g;
}

static void enable_dealloc(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);

    set_switches(((guard *)o)->old);
    type->tp_free(o);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        Py_DECREF(type);
}

#define GUARD(type, name, doc, ...)                                                   \
    static PyTypeObject type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = name,        \
                                .tp_basicsize = sizeof(guard),                        \
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, \
                                .tp_new = guard_new,                                  \
                                .tp_doc = doc,                                        \
                                __VA_ARGS__}

GUARD(DisableSubclass_Type, "minitorch._C.DisableTorchFunctionSubclass",
      "Context: handlers of tensor subclasses are not called.", .tp_methods = guard_methods);
GUARD(DisableAll_Type, "minitorch._C.DisableTorchFunction", "Context: neither handlers nor modes are called.",
      .tp_methods = guard_methods);
GUARD(Enable_Type, "minitorch._C._EnableTorchFunction", "While the object lives, handlers and modes are called.",
      .tp_dealloc = enable_dealloc);

static int add_type(PyObject *module, const char *name, PyTypeObject *type)
{
    return PyType_Ready(type) < 0 ? -1 : PyModule_AddObjectRef(module, name, (PyObject *)type);
}

int mt_py_torch_function_state_init(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0 || add_states(module) < 0 ||
        add_type(module, "DisableTorchFunctionSubclass", &DisableSubclass_Type) < 0 ||
        add_type(module, "DisableTorchFunction", &DisableAll_Type) < 0)
        return -1;
    return add_type(module, "_EnableTorchFunction", &Enable_Type);
}
