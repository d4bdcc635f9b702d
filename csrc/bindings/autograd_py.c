/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradient state of tensors as Python sees it. */
#include "bindings/autograd_internal.h"

#include <string.h>

#include "bindings/bind_internal.h"
#include "ops.h"

int (*mt_py_autograd_traverse)(mt_tensor *t, visitproc visit, void *arg);
void (*mt_py_autograd_clear)(mt_tensor *t);

/* requires_grad=True of constructors; its complaint differs from that of the property. */
int mt_py_set_requires_grad(mt_tensor *t)
{
    if (!mt_dtype_is_differentiable((mt_dtype)t->dtype))
        return mt_error_set(MT_ERR_RUNTIME, "Only Tensors of floating point and complex dtype can require gradients");
    return mt_autograd_set_requires_grad(t, true);
}

int mt_py_give_requires_grad(mt_tensor *t, bool on)
{
    if (on)
        return mt_py_set_requires_grad(t);
    if (t->autograd && t->autograd->grad_fn)
        return 0;
    return mt_autograd_set_requires_grad(t, false);
}

/* --- properties --- */

#define OVERRIDE_GET(name)          \
    if (mt_py_needs_override(self)) \
    return mt_py_override_property(self, name, NULL, 0)

static int override_set(PyObject *self, const char *name, PyObject *value)
{
    PyObject *result = mt_py_override_property(self, name, value, value ? 1 : 2);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int no_delete(const char *text)
{
    PyErr_SetString(PyExc_RuntimeError, text);
    return -1;
}

static PyObject *get_requires_grad(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("requires_grad");
    return PyBool_FromLong(mt_tensor_requires_grad(mt_py_impl(self)));
}

static int set_requires_grad(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "requires_grad", value);
    if (!value)
        return no_delete("requires_grad must be a bool");
    if (!PyBool_Check(value)) {
        PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
        return -1;
    }
    if (mt_autograd_set_requires_grad(mt_py_impl(self), value == Py_True) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

static PyObject *get_grad(PyObject *self, void *closure)
{
    mt_tensor *t = mt_py_impl(self), *grad;

    (void)closure;
    OVERRIDE_GET("grad");
    grad = mt_autograd_grad(t);
    if (!grad && mt_tensor_requires_grad(t) && t->autograd && t->autograd->grad_fn && !t->autograd->retains_grad &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
            "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
            "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
            "by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 "
            "for more information.",
            1) < 0)
        return NULL;
    return mt_py_wrap(grad ? mt_tensor_ref(grad) : NULL);
}

static int set_grad(PyObject *self, PyObject *value, void *closure)
{
    mt_tensor *grad = NULL;

    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "grad", value);
    if (value && value != Py_None) {
        if (!mt_py_is_tensor(value)) {
            PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s",
                         Py_TYPE(value)->tp_name);
            return -1;
        }
        if (value == self) {
            PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
            return -1;
        }
        grad = mt_py_impl(value);
    }
    if (mt_autograd_set_grad(mt_py_impl(self), grad) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

static PyObject *get_grad_fn(PyObject *self, void *closure)
{
    mt_node *n = NULL;

    (void)closure;
    OVERRIDE_GET("grad_fn");
    MT_PY_TRY(mt_autograd_grad_fn(&n, mt_py_impl(self)));
    return mt_py_node_wrap(n);
}

/* The old way to detach_. */
static int set_grad_fn(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "_grad_fn", value);
    if (value != Py_None) {
        PyErr_SetString(PyExc_RuntimeError, value ? "_grad_fn can be only set to None"
                                                  : "Deletion of _grad_fn not allowed. Detach tensor instead!");
        return -1;
    }
    if (mt_autograd_detach_inplace(mt_py_impl(self)) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

static PyObject *get_volatile(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("volatile");
    return PyErr_WarnEx(PyExc_UserWarning, "volatile was removed (Variable.volatile is always False)", 1) < 0
               ? NULL
               : Py_NewRef(Py_False);
}

static int set_volatile(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "volatile", value);
    return PyErr_WarnEx(PyExc_UserWarning,
                        "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", 1);
}

static PyObject *get_is_leaf(PyObject *self, void *closure)
{
    bool leaf = true;

    (void)closure;
    OVERRIDE_GET("is_leaf");
    MT_PY_TRY(mt_autograd_is_leaf(&leaf, mt_py_impl(self)));
    return PyBool_FromLong(leaf);
}

static PyObject *get_output_nr(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("output_nr");
    return PyLong_FromUnsignedLong(mt_autograd_output_nr(mt_py_impl(self)));
}

static PyObject *get_retains_grad(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("retains_grad");
    return PyBool_FromLong(mt_autograd_retains_grad(mt_py_impl(self)));
}

static PyObject *get_grad_dtype(PyObject *self, void *closure)
{
    mt_dtype dtype;
    bool leaf;

    (void)closure;
    OVERRIDE_GET("grad_dtype");
    MT_PY_TRY(mt_autograd_is_leaf(&leaf, mt_py_impl(self)));
    if (!leaf)
        return PyErr_Format(PyExc_RuntimeError, "grad_dtype can only be accessed on leaf tensors.");
    dtype = mt_autograd_grad_dtype(mt_py_impl(self));
    return dtype == MT_DTYPE_NONE ? Py_NewRef(Py_None) : mt_py_dtype_get(dtype);
}

static int set_grad_dtype(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "grad_dtype", value);
    if (!value)
        return no_delete("cannot delete grad_dtype");
    if (value != Py_None && (!mt_py_is_dtype(value) || mt_py_dtype_of(value) >= MT_DTYPE_COUNT)) {
        PyErr_Format(PyExc_RuntimeError, "grad_dtype must be a torch.dtype or None, but got %s",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    if (mt_autograd_set_grad_dtype(mt_py_impl(self), value == Py_None ? MT_DTYPE_NONE : mt_py_dtype_of(value)) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

static PyObject *get_data(PyObject *self, void *closure)
{
    mt_tensor *out = NULL;

    (void)closure;
    OVERRIDE_GET("data");
    MT_PY_TRY(mt_tensor_new_alias(&out, mt_py_impl(self), false));
    return mt_py_wrap(out);
}

/* The contents of another tensor move in; the object stays. */
static int set_data(PyObject *self, PyObject *value, void *closure)
{
    mt_tensor *t = mt_py_impl(self), *from;

    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "data", value);
    if (!value)
        return no_delete("Deleting tensor data is not allowed. Delete tensor instead!");
    if (!mt_py_is_tensor(value)) {
        PyErr_Format(PyExc_TypeError, "Variable data has to be a tensor, but got %s", Py_TYPE(value)->tp_name);
        return -1;
    }
    from = mt_py_impl(value);
    if (from->device.type != t->device.type &&
        (from->device.type == MT_DEVICE_META || t->device.type == MT_DEVICE_META)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible "
                        "tensor type.");
        return -1;
    }
    if (mt_tensor_requires_grad(t) && !mt_dtype_is_differentiable((mt_dtype)from->dtype)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "data set to a tensor that requires gradients must be floating point or complex dtype");
        return -1;
    }
    if (t->storage->pins) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the memory of this tensor is in use by another thread or an exported buffer");
        return -1;
    }
    if (mt_autograd_before_set_data(t, from) < 0 || mt_tensor_set_data(t, from) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

/* --- hook dictionaries --- */

static mt_hook **hook_list(mt_tensor *t, uint32_t *input)
{
    mt_node *n = NULL;

    *input = 0;
    if (!t->autograd)
        return NULL;
    if (mt_autograd_grad_fn(&n, t) < 0)
        mt_error_clear(); /* a view whose history is gone has no hooks to show */
    if (n) {
        *input = t->autograd->output_nr;
        return &n->hooks;
    }
    return &t->autograd->hooks;
}

static mt_hook *find_dict_hook(mt_tensor *t, mt_hook_kind kind, const mt_hook_ops *ops)
{
    uint32_t input;
    mt_hook **list = hook_list(t, &input);

    for (mt_hook *h = list ? mt_hook_find(*list, NULL, kind, input) : NULL; h; h = mt_hook_find(*list, h, kind, input))
        if (h->ops == ops)
            return h;
    return NULL;
}

static PyObject *get_hooks(mt_tensor *t, mt_hook_kind kind, const mt_hook_ops *ops)
{
    mt_hook *h = find_dict_hook(t, kind, ops);

    return Py_NewRef(h ? (PyObject *)h->ctx : Py_None);
}

/* The setters take hooks of tensors that do not require grad yet: copies of tensors are made up like this. */
static int add_hooks(mt_tensor *t, PyObject *value, mt_hook_kind kind, const mt_hook_ops *ops)
{
    if (!mt_tensor_requires_grad(t))
        return mt_autograd_add_idle_hook(t, kind, ops, value);
    return kind == MT_HOOK_TENSOR ? mt_autograd_add_tensor_hook(t, ops, value)
                                  : mt_autograd_add_post_accumulate_hook(t, ops, value);
}

static int set_hooks(PyObject *self, PyObject *value, mt_hook_kind kind, const mt_hook_ops *ops)
{
    mt_tensor *t = mt_py_impl(self);
    mt_hook *old = find_dict_hook(t, kind, ops);
    uint32_t input;

    if (value != Py_None) {
        if (!PyDict_Check(value)) {
            PyErr_Format(PyExc_TypeError, "hooks must be a dictionary or None, not %s", Py_TYPE(value)->tp_name);
            return -1;
        }
        if (add_hooks(t, value, kind, ops) < 0) {
            mt_py_raise();
            return -1;
        }
        Py_INCREF(value);
        mt_py_track(self);
    }
    if (old)
        mt_hook_remove(hook_list(t, &input), old->ctx);
    return 0;
}

static PyObject *get_backward_hooks(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("_backward_hooks");
    return get_hooks(mt_py_impl(self), MT_HOOK_TENSOR, &mt_py_tensor_dict_hook);
}

static int set_backward_hooks(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "_backward_hooks", value);
    if (!value)
        return no_delete("Deletion of _backwards_hooks not allowed!");
    return set_hooks(self, value, MT_HOOK_TENSOR, &mt_py_tensor_dict_hook);
}

static PyObject *get_accumulate_hooks(PyObject *self, void *closure)
{
    (void)closure;
    OVERRIDE_GET("_post_accumulate_grad_hooks");
    return get_hooks(mt_py_impl(self), MT_HOOK_POST_ACCUMULATE, &mt_py_accumulate_dict_hook);
}

static int set_accumulate_hooks(PyObject *self, PyObject *value, void *closure)
{
    (void)closure;
    if (mt_py_needs_override(self))
        return override_set(self, "_post_accumulate_grad_hooks", value);
    if (!value)
        return no_delete("Deletion of _post_accumulate_grad_hooks not allowed!");
    return set_hooks(self, value, MT_HOOK_POST_ACCUMULATE, &mt_py_accumulate_dict_hook);
}

PyGetSetDef mt_py_autograd_getset[] = {
    {"requires_grad", get_requires_grad, set_requires_grad, NULL, NULL},
    {"grad", get_grad, set_grad, NULL, NULL},
    {"_grad", get_grad, set_grad, NULL, NULL},
    {"grad_fn", get_grad_fn, NULL, NULL, NULL},
    {"_grad_fn", get_grad_fn, set_grad_fn, NULL, NULL},
    {"volatile", get_volatile, set_volatile, NULL, NULL},
    {"is_leaf", get_is_leaf, NULL, NULL, NULL},
    {"output_nr", get_output_nr, NULL, NULL, NULL},
    {"retains_grad", get_retains_grad, NULL, NULL, NULL},
    {"grad_dtype", get_grad_dtype, set_grad_dtype, NULL, NULL},
    {"data", get_data, set_data, NULL, NULL},
    {"_backward_hooks", get_backward_hooks, set_backward_hooks, NULL, NULL},
    {"_post_accumulate_grad_hooks", get_accumulate_hooks, set_accumulate_hooks, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* --- methods --- */

/* The one optional argument, by position or name; *value stays when it is absent. */
static int optional_argument(PyObject **value, const char *name, const char *argument, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t nargs = PyTuple_GET_SIZE(args), at = 0;
    PyObject *key, *given;

    if (nargs > 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes from 0 to 1 positional arguments but %zd were given", name, nargs);
        return -1;
    }
    if (nargs)
        *value = PyTuple_GET_ITEM(args, 0);
    while (kwargs && PyDict_Next(kwargs, &at, &key, &given)) {
        bool known = PyUnicode_CompareWithASCIIString(key, argument) == 0;

        if (!known || nargs) {
            PyErr_Format(PyExc_TypeError,
                         known ? "%s() got multiple values for argument '%U'"
                               : "%s() got an unexpected keyword argument '%U'",
                         name, key);
            return -1;
        }
        *value = given;
    }
    return 0;
}

static PyObject *requires_grad_inplace(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *on = Py_True;

    if (optional_argument(&on, "requires_grad_", "requires_grad", args, kwargs) < 0)
        return NULL;
    if (!PyBool_Check(on) && !mt_py_is_tensor(on) && mt_py_has_torch_function(on)) {
        PyObject *names = PyTuple_GET_SIZE(args) ? NULL : PySequence_Tuple(kwargs), *result = NULL;

        if (!PyErr_Occurred())
            result = mt_py_method_override(self, "requires_grad_", &on, PyTuple_GET_SIZE(args), names);
        Py_XDECREF(names);
        return result;
    }
    if (!PyBool_Check(on))
        return PyErr_Format(PyExc_TypeError,
                            "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not %s",
                            Py_TYPE(on)->tp_name);
    if (mt_py_needs_override(self)) {
        PyObject *func = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, "requires_grad_");
        PyObject *result = func ? mt_py_receiver_override(func, self, args, kwargs) : NULL;

        Py_XDECREF(func);
        return result;
    }
    if (mt_thread.transforms && on == Py_True) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* "
            "APIs) inside of a function being transformed by a functorch transform. This is unsupported, "
            "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
            "requires_grad_() outside of a function being transformed instead.");
        return NULL;
    }
    MT_PY_TRY(mt_autograd_requires_grad_inplace(mt_py_impl(self), on == Py_True));
    return Py_NewRef(self);
}

static PyObject *retain_grad(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "retain_grad");
    MT_PY_TRY(mt_autograd_retain_grad(mt_py_impl(self)));
    Py_RETURN_NONE;
}

static PyObject *detach_inplace(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "detach_");
    MT_PY_TRY(mt_autograd_detach_inplace(mt_py_impl(self)));
    return Py_NewRef(self);
}

PyMethodDef mt_py_autograd_methods[] = {
    {"requires_grad_", (PyCFunction)(void (*)(void))requires_grad_inplace, METH_VARARGS | METH_KEYWORDS,
     "requires_grad_($self, requires_grad=True)\n--\n\n"
     "requires_grad_(requires_grad=True) -> Tensor: sets whether operations on this leaf are recorded."},
    {"retain_grad", retain_grad, METH_NOARGS,
     "retain_grad($self)\n--\n\n"
     "retain_grad(): keeps .grad of a non-leaf tensor."},
    {"detach_", detach_inplace, METH_NOARGS,
     "detach_($self)\n--\n\n"
     "detach_() -> Tensor: becomes a leaf."},
    {NULL, NULL, 0, NULL},
};

static PyObject *is_checkpoint_valid(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_engine_is_unrestricted());
}

static PyMethodDef functions[] = {
    {"_is_checkpoint_valid", is_checkpoint_valid, METH_NOARGS, NULL},
    {"_engine_run", (PyCFunction)(void (*)(void))mt_py_engine_run, METH_FASTCALL, NULL},
    {"_engine_queue_callback", mt_py_queue_callback, METH_O,
     "_engine_queue_callback(fn): fn() runs when the backward pass of this thread ends."},
    {NULL, NULL, 0, NULL},
};

int mt_py_autograd_init(PyObject *module)
{
    mt_autograd_init();
    mt_engine_hop = mt_py_engine_hop;
    mt_py_autograd_traverse = mt_py_visit_tensor;
    mt_py_autograd_clear = mt_py_clear_tensor;
    if (mt_py_node_init(module) < 0 || mt_py_function_init(module) < 0 || mt_py_saved_init(module) < 0 ||
        mt_py_anomaly_init(module) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
