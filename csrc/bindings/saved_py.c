/* SPDX-License-Identifier: BSD-3-Clause */
/* Saved values as Python sees them: the stack of pack and unpack hooks of a thread, and SavedTensor, what the _raw_saved
   attributes of a node give. */
#include "bindings/autograd_internal.h"

#include <string.h>

/* --- the stack --- */

/* mt_thread.saved_hooks: a tuple (pack, unpack, the outer ones or None). */
static inline PyObject *top(void)
{
    return mt_thread.saved_hooks;
}

static PyObject *disabled_message; /* NULL: hooks are allowed */

typedef struct hook_handle {
    PyObject *packed, *unpack;
} hook_handle;

static int push(PyObject *pack, PyObject *unpack)
{
    PyObject *outer = top(), *hooks = PyTuple_Pack(3, pack, unpack, outer ? outer : Py_None);

    if (!hooks)
        return -1;
    mt_thread.saved_hooks = hooks;
    mt_thread.slow |= MT_SLOW_SAVED_HOOKS;
    Py_XDECREF(outer);
    return 0;
}

static void pop(void)
{
    PyObject *hooks = top(), *outer = PyTuple_GET_ITEM(hooks, 2);

    if (outer == Py_None) {
        mt_thread.slow &= ~(unsigned)MT_SLOW_SAVED_HOOKS;
        mt_thread.saved_hooks = NULL;
    } else {
        mt_thread.saved_hooks = Py_NewRef(outer);
    }
    Py_DECREF(hooks);
}

static void hold(void *hooks)
{
    Py_INCREF((PyObject *)hooks);
}

static void drop(void *hooks)
{
    Py_DECREF((PyObject *)hooks);
}

static int pack(void **out, mt_tensor *t)
{
    PyObject *pair, *wrapped, *packed = NULL;
    hook_handle *h;
    int rc = -1;

    *out = NULL;
    if (!top())
        return 0;
    pair = Py_NewRef(top());
    wrapped = mt_py_wrap(mt_tensor_ref(t));
    if (wrapped)
        packed = PyObject_CallOneArg(PyTuple_GET_ITEM(pair, 0), wrapped);
    if (packed)
        mt_py_track(wrapped); /* what is kept may lead back to it */
    Py_XDECREF(wrapped);
    h = packed ? PyMem_Malloc(sizeof(*h)) : NULL;
    if (h) {
        *h = (hook_handle){Py_NewRef(packed), Py_NewRef(PyTuple_GET_ITEM(pair, 1))};
        *out = h;
        rc = 0;
    } else if (packed) {
        PyErr_NoMemory();
    }
    Py_XDECREF(packed);
    Py_DECREF(pair);
    return rc < 0 ? mt_py_error() : 0;
}

static int unpack(mt_tensor **out, void *handle)
{
    hook_handle *h = handle;
    PyObject *result, *hook = Py_NewRef(h->unpack), *packed = Py_NewRef(h->packed);
    int rc = -1;

    result = PyObject_CallOneArg(hook, packed);
    if (result && !mt_py_is_tensor(result)) {
        PyErr_Format(PyExc_TypeError,
                     "Output of saved tensor unpack_hook expected to be a Tensor but got result of type %s",
                     Py_TYPE(result)->tp_name);
    } else if (result) {
        *out = mt_tensor_ref(mt_py_impl(result));
        rc = 0;
    }
    Py_XDECREF(result);
    Py_DECREF(packed);
    Py_DECREF(hook);
    return rc < 0 ? mt_py_error() : 0;
}

static void destroy(void *handle)
{
    hook_handle *h = handle;
    PyObject *packed = h->packed, *hook = h->unpack;

    PyMem_Free(h);
    Py_DECREF(packed);
    Py_DECREF(hook);
}

int mt_py_visit_saved_handle(const mt_saved *s, visitproc visit, void *arg)
{
    const hook_handle *h = mt_saved_handle(s);

    Py_VISIT(h->packed);
    Py_VISIT(h->unpack);
    return 0;
}

/* --- what Python calls --- */

static int check_pair(PyObject *args, PyObject **pack_hook, PyObject **unpack_hook, const char *who)
{
    if (PyTuple_GET_SIZE(args) == 2) {
        *pack_hook = PyTuple_GET_ITEM(args, 0);
        *unpack_hook = PyTuple_GET_ITEM(args, 1);
        if (PyCallable_Check(*pack_hook) && PyCallable_Check(*unpack_hook))
            return 0;
    }
    PyErr_Format(PyExc_TypeError,
                 "%s(): incompatible function arguments. It takes two callables, pack_hook and unpack_hook", who);
    return -1;
}

static PyObject *push_hooks(PyObject *module, PyObject *args)
{
    PyObject *pack_hook, *unpack_hook;

    (void)module;
    if (check_pair(args, &pack_hook, &unpack_hook, "_push_saved_tensors_default_hooks") < 0)
        return NULL;
    if (disabled_message) {
        PyErr_SetObject(PyExc_RuntimeError, disabled_message);
        return NULL;
    }
    if (push(pack_hook, unpack_hook) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *pop_hooks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (!top())
        return PyErr_Format(PyExc_RuntimeError, "there are no saved-tensor hooks to take away");
    pop();
    Py_RETURN_NONE;
}

static PyObject *top_hooks(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    return top() ? PyTuple_GetSlice(top(), 0, 2) : Py_NewRef(Py_None);
}

static PyObject *disable_hooks(PyObject *module, PyObject *args)
{
    PyObject *message, *fail_if_any = Py_True;

    (void)module;
    if (!PyArg_ParseTuple(args, "U|O:_saved_tensors_hooks_disable", &message, &fail_if_any))
        return NULL;
    if (top() && PyObject_IsTrue(fail_if_any) == 1) {
        PyErr_SetObject(PyExc_RuntimeError, message);
        return NULL;
    }
    Py_XSETREF(disabled_message, Py_NewRef(message));
    Py_RETURN_NONE;
}

static PyObject *enable_hooks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_CLEAR(disabled_message);
    Py_RETURN_NONE;
}

static PyObject *hooks_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(!disabled_message);
}

static PyObject *disabled_text(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return Py_NewRef(disabled_message ? disabled_message : Py_None);
}

static PyMethodDef functions[] = {
    {"_push_saved_tensors_default_hooks", push_hooks, METH_VARARGS,
     "_push_saved_tensors_default_hooks(pack_hook, unpack_hook)"},
    {"_pop_saved_tensors_default_hooks", pop_hooks, METH_NOARGS, "_pop_saved_tensors_default_hooks()"},
    {"_top_saved_tensors_default_hooks", top_hooks, METH_VARARGS,
     "_top_saved_tensors_default_hooks(ignore_is_tracing=False) -> (pack_hook, unpack_hook) or None"},
    {"_saved_tensors_hooks_disable", disable_hooks, METH_VARARGS,
     "_saved_tensors_hooks_disable(message, fail_if_non_empty=True)"},
    {"_saved_tensors_hooks_enable", enable_hooks, METH_NOARGS, "_saved_tensors_hooks_enable()"},
    {"_saved_tensors_hooks_is_enabled", hooks_enabled, METH_NOARGS, "_saved_tensors_hooks_is_enabled() -> bool"},
    {"_saved_tensors_hooks_get_disabled_error_message", disabled_text, METH_NOARGS,
     "_saved_tensors_hooks_get_disabled_error_message() -> str or None"},
    {NULL, NULL, 0, NULL},
};

/* --- SavedTensor: slot k of a node, which it keeps alive --- */

typedef struct saved_tensor {
    PyObject_HEAD mt_node *n;
    int k, item; /* item of a saved list, or -1 */
} saved_tensor;

static PyObject *saved_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type, (void)args, (void)kwargs;
    PyErr_SetString(PyExc_RuntimeError, "Trying to create a SavedTensor object from Python is forbidden.");
    return NULL;
}

static void saved_dealloc(PyObject *o)
{
    mt_node_clear(&((saved_tensor *)o)->n);
    Py_TYPE(o)->tp_free(o);
}

static mt_saved *slot_of(PyObject *o)
{
    const saved_tensor *self = (saved_tensor *)o;

    return mt_saved_slot(self->n, self->k, self->item);
}

static PyObject *saved_register(PyObject *o, PyObject *args)
{
    saved_tensor *self = (saved_tensor *)o;
    PyObject *pack_hook, *unpack_hook;
    int rc;

    if (check_pair(args, &pack_hook, &unpack_hook, "register_hooks") < 0)
        return NULL;
    if (push(pack_hook, unpack_hook) < 0)
        return NULL;
    rc = mt_saved_pack(self->n, slot_of(o));
    pop();
    if (rc < 0)
        return mt_py_raise();
    Py_RETURN_NONE;
}

static hook_handle *handle_of(PyObject *o)
{
    return mt_saved_handle(slot_of(o));
}

static PyObject *saved_unpack(PyObject *o, PyObject *unused)
{
    const saved_tensor *self = (saved_tensor *)o;
    mt_tensor *t = NULL;

    (void)unused;
    if (mt_saved_read(&t, self->n, slot_of(o), true) < 0)
        return mt_py_raise();
    return mt_py_wrap(t);
}

static PyObject *saved_data(PyObject *o, void *closure)
{
    const hook_handle *h = handle_of(o);

    (void)closure;
    return h ? Py_NewRef(h->packed) : saved_unpack(o, NULL);
}

static PyObject *saved_unpack_hook(PyObject *o, void *closure)
{
    const hook_handle *h = handle_of(o);

    (void)closure;
    return Py_NewRef(h ? h->unpack : Py_None);
}

static PyMethodDef saved_methods[] = {
    {"register_hooks", saved_register, METH_VARARGS,
     "register_hooks(pack_hook, unpack_hook): what pack_hook(tensor) returns is kept instead of the tensor, and what "
     "unpack_hook makes of it is given to backward. Once per saved tensor."},
    {"unpack", saved_unpack, METH_NOARGS, "unpack() -> Tensor: the saved value."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef saved_getset[] = {
    {"data", saved_data, NULL, "What is kept: the tensor, or what the pack hook returned.", NULL},
    {"unpack_hook", saved_unpack_hook, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject SavedTensor_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._autograd.SavedTensor",
    .tp_basicsize = sizeof(saved_tensor),
    .tp_new = saved_new,
    .tp_dealloc = saved_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = saved_methods,
    .tp_getset = saved_getset,
    .tp_doc = "A value that a node keeps for its backward.",
};

PyObject *mt_py_saved_wrap(mt_node *n, int k, int item)
{
    saved_tensor *self = (saved_tensor *)SavedTensor_Type.tp_alloc(&SavedTensor_Type, 0);

    if (!self)
        return NULL;
    self->n = mt_node_ref(n);
    mt_node_held_again(n);
    self->k = k;
    self->item = item;
    return (PyObject *)self;
}

int mt_py_saved_init(PyObject *module)
{
    mt_saved_hooks = (mt_saved_hook_table){pack, unpack, destroy, hold, drop};
    if (PyType_Ready(&SavedTensor_Type) < 0 ||
        PyModule_AddObjectRef(module, "_SavedTensor", (PyObject *)&SavedTensor_Type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
