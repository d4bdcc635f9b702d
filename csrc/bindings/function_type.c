/* SPDX-License-Identifier: BSD-3-Clause */
/* Custom Functions: _C._FunctionBase is the ctx of forward and backward and the Python object of the node at the same time.
   The node owns it; what hangs on it lives as long as the graph. When the last owner of the node goes while Python still holds
   ctx, it is the other way round: ctx owns the node, until ctx dies, or finds on its deathbed that others hold the node again.
   Inputs that are no tensors have no edge. */
#include "bindings/autograd_internal.h"
#include "bindings/bindings_internal.h"
#include "bindings/function_internal.h"

#include <string.h>

static PyTypeObject FunctionBase_Type;

mt_py_function *mt_py_function_of(PyObject *o)
{
    return PyObject_TypeCheck(o, &FunctionBase_Type) ? (mt_py_function *)o : NULL;
}

/* --- the node --- */

static const char *function_name(const mt_node *n)
{
    const char *name = n->data ? Py_TYPE((PyObject *)n->data)->tp_name : "Function", *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static void function_release(mt_node *n)
{
    mt_node_release_saved(n);
}

/* Somebody still holds ctx, which keeps its node from now on. */
static bool function_survive(mt_node *n)
{
    mt_py_function *ctx = n->data;

    if (!ctx || Py_REFCNT((PyObject *)ctx) == 1)
        return false;
    mt_refcount_init(&n->refs);
    ctx->node.owns = true;
    Py_DECREF(ctx);
    return true;
}

static void function_held_again(mt_node *n)
{
    mt_py_function *ctx = n->data;

    if (!ctx || !ctx->node.owns || mt_refcount_get(&n->refs) == 1)
        return;
    ctx->node.owns = false;
    Py_INCREF(ctx);
    mt_node_unref(n);
}

static void function_destroy(mt_node *n)
{
    mt_py_function *ctx = n->data;

    n->data = n->py = NULL;
    if (!ctx)
        return;
    ctx->node.n = NULL;
    Py_DECREF(ctx);
}

/* ctx, which had the node, lets go of it. */
static void leave_node(mt_py_function *ctx)
{
    mt_node *n = ctx->node.n;

    ctx->node.n = NULL;
    if (!n || !ctx->node.owns)
        return;
    ctx->node.owns = false;
    n->data = n->py = NULL;
    mt_node_unref(n);
}

/* The gradients that backward gets: one per output of forward, zeros for those that did not arrive. */
static PyObject *pack_gradients(mt_py_function *ctx, mt_node *n, mt_tensor *const *grads)
{
    PyObject *args = PyTuple_New(n->n_inputs);

    for (int i = 0; args && i < n->n_inputs; i++) {
        mt_tensor *g = grads[i] ? mt_tensor_ref(grads[i]) : NULL;
        PyObject *item;

        if (!g && ctx->materialize_grads && (n->input[i].takes_grad || ctx->plain_gets_zeros) &&
            mt_node_zeros(&g, n, i) < 0) {
            mt_py_raise();
            Py_CLEAR(args);
            break;
        }
        item = g ? mt_py_wrap(g) : Py_NewRef(Py_None);
        if (!item)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, item);
    }
    return args;
}

static int take_gradient(mt_tensor **out, const mt_py_function *ctx, PyObject *item, Py_ssize_t at, int edge)
{
    if (edge < 0) {
        if (item == Py_None)
            return 0;
        PyErr_Format(
            PyExc_RuntimeError,
            "function %s returned a gradient different than None at position %zd, but the corresponding forward "
            "input was not a Variable",
            Py_TYPE(ctx)->tp_name, at + 1);
        return -1;
    }
    if (item == Py_None)
        return 0;
    if (!mt_py_is_tensor(item)) {
        PyErr_Format(PyExc_RuntimeError, "expected Variable or None (got %s)", Py_TYPE(item)->tp_name);
        return -1;
    }
    out[edge] = mt_tensor_ref(mt_py_impl(item));
    return 0;
}

/* Superfluous results must be None. */
static int unpack_gradients(mt_tensor **out, const mt_py_function *ctx, PyObject *result)
{
    Py_ssize_t n = PyTuple_GET_SIZE(result), wanted = ctx->n_args, kept = n;
    int edge = 0;

    while (kept > wanted && PyTuple_GET_ITEM(result, kept - 1) == Py_None)
        kept--;
    if (kept != wanted) {
        PyErr_Format(PyExc_RuntimeError,
                     "function %s returned an incorrect number of gradients (expected %zd, got %zd)",
                     Py_TYPE(ctx)->tp_name, wanted, n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < wanted; i++)
        if (take_gradient(out, ctx, PyTuple_GET_ITEM(result, i), i, ctx->is_tensor[i] ? edge++ : -1) < 0)
            return -1;
    return 0;
}

/* A flag of the class that the user wrote: 0, 1, or -1 with an exception. */
static int class_flag(mt_py_function *ctx, const char *name)
{
    PyObject *cls = PyObject_GetAttrString((PyObject *)ctx, "_forward_cls");
    PyObject *flag = cls ? PyObject_GetAttrString(cls, name) : NULL;
    int on = flag == Py_True;

    if (flag && !PyBool_Check(flag))
        PyErr_Format(PyExc_RuntimeError, "%s must be a bool, got %s", name, Py_TYPE(flag)->tp_name);
    if (!flag || !PyBool_Check(flag))
        on = -1;
    Py_XDECREF(flag);
    Py_XDECREF(cls);
    return on;
}

/* Boxed: one list, the only owner of the gradients, so that backward can free them one by one. Consumes args. */
static PyObject *call_backward(mt_py_function *ctx, PyObject *args)
{
    int boxed = class_flag(ctx, "boxed_grads_call");
    PyObject *apply = boxed < 0 ? NULL : PyObject_GetAttrString((PyObject *)ctx, boxed ? "apply_boxed" : "apply");
    PyObject *list = apply && boxed ? PySequence_List(args) : NULL, *result = NULL;

    if (boxed) {
        Py_DECREF(args);
        if (list)
            result = PyObject_CallFunctionObjArgs(apply, list, NULL);
        Py_XDECREF(list);
    } else {
        result = apply ? PyObject_CallObject(apply, args) : NULL;
        Py_DECREF(args);
    }
    Py_XDECREF(apply);
    return result;
}

static int function_run(mt_node *n, mt_tensor *const *grads, mt_tensor **out)
{
    mt_py_function *ctx = n->data;
    PyObject *args, *result = NULL;
    int rc = -1;

    if (!ctx)
        return mt_error_set(MT_ERR_RUNTIME, "the context of this Function is gone");
    Py_INCREF(ctx);
    args = pack_gradients(ctx, n, grads);
    if (args)
        result = call_backward(ctx, args);
    if (result && !PyTuple_Check(result))
        Py_SETREF(result, PyTuple_Pack(1, result));
    if (result)
        rc = unpack_gradients(out, ctx, result);
    Py_XDECREF(result);
    Py_DECREF(ctx);
    for (int i = 0; i < n->n_edges; i++) /* so that the engine may hand them on without a copy */
        if (out[i])
            mt_py_drop_idle_wrapper(out[i]);
    return rc < 0 ? mt_py_error() : 0;
}

static const mt_node_ops function_ops = {function_name,    function_run,     function_release,
                                         function_destroy, function_survive, function_held_again};

PyObject *mt_py_function_object(const mt_node *n)
{
    return n->ops == &function_ops ? n->data : NULL;
}

int mt_py_function_new_node(mt_node **out, mt_py_function *ctx, int n_edges)
{
    if (mt_node_new(out, &function_ops, n_edges, 0, 0, 0) < 0)
        return -1;
    (*out)->flags |= MT_NODE_CUSTOM;
    (*out)->data = Py_NewRef((PyObject *)ctx);
    (*out)->py = ctx;
    ctx->node.n = *out; /* borrowed: the node owns its object */
    return mt_node_created(*out);
}

/* --- the object --- */

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mt_py_function *self = (mt_py_function *)type->tp_alloc(type, 0);

    (void)args, (void)kwargs;
    if (self)
        self->materialize_grads = self->plain_gets_zeros = true;
    return (PyObject *)self;
}

static int function_traverse(PyObject *o, visitproc visit, void *arg)
{
    mt_py_function *self = (mt_py_function *)o;

    Py_VISIT(self->to_save);
    Py_VISIT(self->saved_for_forward);
    Py_VISIT(self->non_differentiable);
    Py_VISIT(self->dirty);
    Py_VISIT(self->needs_input_grad);
    return mt_NodeBase_Type.tp_traverse(o, visit, arg);
}

static int function_clear(PyObject *o)
{
    mt_py_function *self = (mt_py_function *)o;

    Py_CLEAR(self->to_save);
    Py_CLEAR(self->saved_for_forward);
    Py_CLEAR(self->non_differentiable);
    Py_CLEAR(self->dirty);
    if (self->node.owns && mt_refcount_get(&self->node.n->refs) == 1)
        leave_node(self);
    return mt_NodeBase_Type.tp_clear(o);
}

/* Others may hold the node again, which owns this object then. */
static void function_finalize(PyObject *o)
{
    mt_py_function *self = (mt_py_function *)o;

    if (self->node.owns)
        function_held_again(self->node.n);
}

/* Classes made in Python call this for their base; they give back the reference to the class themselves. */
static void function_dealloc(PyObject *o)
{
    mt_py_function *self = (mt_py_function *)o;

    PyObject_GC_UnTrack(o);
    function_clear(o);
    leave_node(self);
    Py_CLEAR(self->needs_input_grad);
    PyMem_Free(self->is_tensor);
    mt_NodeBase_Type.tp_dealloc(o);
}

/* --- attributes --- */

static mt_node *live_node(PyObject *o)
{
    mt_py_function *self = (mt_py_function *)o;

    if (!self->accessed)
        return self->node.n;
    PyErr_SetString(PyExc_RuntimeError,
                    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                    "autograd.Function. Either access saved_tensors only once, or set "
                    "clear_saved_tensors_on_access=False.");
    return NULL;
}

static PyObject *unpack_saved(mt_node *n)
{
    PyObject *tuple = PyTuple_New(n ? n->n_saved : 0);

    for (int k = 0; tuple && n && k < n->n_saved; k++) {
        mt_tensor *t = NULL;
        PyObject *item;

        if (mt_saved_check(n) < 0 || mt_saved_read(&t, n, &n->saved[k], true) < 0) {
            Py_DECREF(tuple);
            return mt_py_raise();
        }
        item = t ? mt_py_wrap(t) : Py_NewRef(Py_None);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, k, item);
    }
    return tuple;
}

static PyObject *clear_if_asked(PyObject *o, PyObject *unused)
{
    mt_py_function *self = (mt_py_function *)o;
    int clear = self->node.n ? class_flag(self, "clear_saved_tensors_on_access") : 0;

    (void)unused;
    if (clear < 0 && PyErr_ExceptionMatches(PyExc_RuntimeError))
        return NULL;
    PyErr_Clear(); /* a flag that cannot be read is off */
    if (clear == 1 && self->node.n) {
        mt_node_release_saved(self->node.n);
        self->accessed = true;
    }
    Py_RETURN_NONE;
}

static PyObject *saved_tensors(PyObject *o, void *closure)
{
    PyObject *tuple, *for_jvp = ((mt_py_function *)o)->saved_for_forward;
    mt_node *n;

    (void)closure;
    if (for_jvp && for_jvp != Py_None) /* only until apply is over */
        return Py_NewRef(for_jvp);
    n = live_node(o);
    if (!n && PyErr_Occurred())
        return NULL;
    tuple = unpack_saved(n);
    if (tuple && n && n->n_saved) {
        PyObject *done = clear_if_asked(o, NULL);

        if (!done)
            Py_CLEAR(tuple);
        Py_XDECREF(done);
    }
    return tuple;
}

static PyObject *raw_saved_tensors(PyObject *o, void *closure)
{
    mt_node *n = live_node(o);
    PyObject *tuple;

    (void)closure;
    if (!n && PyErr_Occurred())
        return NULL;
    if (n && mt_saved_check(n) < 0)
        return mt_py_raise();
    tuple = PyTuple_New(n ? n->n_saved : 0);
    for (int k = 0; tuple && n && k < n->n_saved; k++) {
        PyObject *item = mt_py_saved_wrap(n, k, -1);

        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, k, item);
    }
    return tuple;
}

static PyObject *saved_variables(PyObject *o, void *closure)
{
    if (PyErr_WarnEx(PyExc_DeprecationWarning, "'saved_variables' is deprecated; use 'saved_tensors'", 1) < 0)
        return NULL;
    return saved_tensors(o, closure);
}

static PyObject *requires_grad(PyObject *o, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((mt_py_function *)o)->node.n != NULL);
}

/* The closure of a switch is its name. */
static bool *switch_of(PyObject *o, const char *name)
{
    mt_py_function *self = (mt_py_function *)o;

    return *name == '_' ? &self->plain_gets_zeros : &self->materialize_grads;
}

static PyObject *get_switch(PyObject *o, void *name)
{
    return PyBool_FromLong(*switch_of(o, name));
}

static int set_switch(PyObject *o, PyObject *value, void *name)
{
    if (!value || !PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s must be a bool", (const char *)name);
        return -1;
    }
    *switch_of(o, name) = value == Py_True;
    return 0;
}

/* to_save, non_differentiable, ...: objects at an offset. */
static PyObject *get_slot(PyObject *o, void *offset)
{
    PyObject *value = *(PyObject **)((char *)o + (size_t)offset);

    return Py_NewRef(value ? value : Py_None);
}

static int set_slot(PyObject *o, PyObject *value, void *offset)
{
    PyObject **slot = (PyObject **)((char *)o + (size_t)offset);

    Py_XSETREF(*slot, Py_XNewRef(value));
    return 0;
}

#define SLOT(name, field) {name, get_slot, set_slot, NULL, (void *)offsetof(mt_py_function, field)}

static PyGetSetDef function_getset[] = {
    {"saved_tensors", saved_tensors, NULL, "The tensors that save_for_backward was given.", NULL},
    {"_raw_saved_tensors", raw_saved_tensors, NULL, NULL, NULL},
    {"saved_variables", saved_variables, NULL, NULL, NULL},
    {"requires_grad", requires_grad, NULL, NULL, NULL},
    {"materialize_grads", NULL, set_switch, NULL, "materialize_grads"},
    {"_materialize_non_diff_grads", get_switch, set_switch, NULL, "_materialize_non_diff_grads"},
    SLOT("to_save", to_save),
    SLOT("saved_for_forward", saved_for_forward),
    SLOT("non_differentiable", non_differentiable),
    SLOT("dirty_tensors", dirty),
    {"needs_input_grad", get_slot, set_slot, "For each input: does backward have to give a gradient?",
     (void *)offsetof(mt_py_function, needs_input_grad)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *register_hook_dict(PyObject *o, PyObject *tensor)
{
    (void)o; /* as for other nodes, in other words */
    if (!mt_py_is_tensor(tensor))
        return PyErr_Format(PyExc_RuntimeError, "_register_hook_dict expected a Tensor");
    Py_RETURN_NONE;
}

static PyMethodDef function_methods[] = {
    {"apply", (PyCFunction)(void (*)(void))mt_py_function_apply, METH_VARARGS | METH_CLASS,
     "apply(*args): runs forward and puts the node of backward on its results."},
    {"_register_hook_dict", register_hook_dict, METH_O, "_register_hook_dict(tensor)"},
    {"maybe_clear_saved_tensors", clear_if_asked, METH_NOARGS,
     "maybe_clear_saved_tensors(): drops the saved tensors of a Function with clear_saved_tensors_on_access."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject FunctionBase_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._FunctionBase",
    .tp_basicsize = sizeof(mt_py_function),
    .tp_base = &mt_NodeBase_Type,
    .tp_new = function_new,
    .tp_dealloc = function_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = function_traverse,
    .tp_clear = function_clear,
    .tp_finalize = function_finalize,
    .tp_methods = function_methods,
    .tp_getset = function_getset,
};

int mt_py_function_init(PyObject *module)
{
    FunctionBase_Type.tp_repr = PyBaseObject_Type.tp_repr; /* with the module, unlike other nodes */
    if (PyType_Ready(&FunctionBase_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "_FunctionBase", (PyObject *)&FunctionBase_Type);
}
