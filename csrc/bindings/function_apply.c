/* SPDX-License-Identifier: BSD-3-Clause */
/* The forward call of a custom Function: forward runs with recording off, then its results get their history, and what ctx
   was given to save is saved. */
#include "bindings/bindings_internal.h"
#include "bindings/function_internal.h"

/* --- inputs --- */

static int note_inputs(mt_py_function *ctx, PyObject *args, bool *recorded, int *n_edges)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *needs = PyTuple_New(n);

    ctx->n_args = n;
    ctx->is_tensor = PyMem_Calloc((size_t)(n ? n : 1), sizeof(bool));
    if (!needs || !ctx->is_tensor) {
        Py_XDECREF(needs);
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(args, i);
        bool needed = false;

        if (mt_py_is_tensor(o)) {
            ctx->is_tensor[i] = true;
            ++*n_edges;
            needed = mt_tensor_requires_grad(mt_py_impl(o));
        }
        *recorded |= needed;
        PyTuple_SET_ITEM(needs, i, PyBool_FromLong(needed));
    }
    Py_XSETREF(ctx->needs_input_grad, needs);
    return 0;
}

static int set_edges(mt_node *n, PyObject *args)
{
    int edge = 0;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *o = PyTuple_GET_ITEM(args, i);

        if (mt_py_is_tensor(o) && mt_autograd_edge(&n->edge[edge++], mt_py_impl(o)) < 0)
            return -1;
    }
    return 0;
}

/* --- forward --- */

/* With setup_context, forward does not get ctx. */
static PyObject *call_forward(PyObject *cls, mt_py_function *ctx, PyObject *args)
{
    PyObject *forward = PyObject_GetAttrString(cls, "forward"), *given = NULL, *result = NULL, *done;
    PyObject *flag = forward ? PyObject_GetAttrString(cls, "_has_setup_context") : NULL;
    int apart = flag ? PyObject_IsTrue(flag) : -1;
    bool grad_mode = mt_thread.grad_mode, tangents = mt_forward_is_enabled();

    Py_XDECREF(flag);
    if (apart < 0)
        goto end;
    mt_thread.grad_mode = false;
    mt_forward_set_enabled(false);
    if (apart) {
        result = PyObject_CallObject(forward, args);
        done = result ? PyObject_CallMethod(cls, "setup_context", "OOO", (PyObject *)ctx, args, result) : NULL;
        if (!done)
            Py_CLEAR(result);
        Py_XDECREF(done);
    } else {
        given = PyTuple_New(PyTuple_GET_SIZE(args) + 1);
        if (given) {
            PyTuple_SET_ITEM(given, 0, Py_NewRef((PyObject *)ctx));
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
                PyTuple_SET_ITEM(given, i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
            result = PyObject_CallObject(forward, given);
        }
    }
    mt_thread.grad_mode = grad_mode;
    mt_forward_set_enabled(tangents);
end:
    Py_XDECREF(given);
    Py_XDECREF(forward);
    return result;
}

/* --- outputs --- */

typedef struct outputs {
    mt_py_function *ctx;
    mt_node *n; /* NULL: nothing is recorded */
    PyObject *args, *result;
    mt_tensor **tangents; /* of args; NULL outside forward mode */
    bool dual;            /* one of them is there */
} outputs;

/* Position of an object (by identity) in a tuple, or -1. */
static Py_ssize_t position(PyObject *tuple, PyObject *o)
{
    for (Py_ssize_t i = 0; tuple && PyTuple_Check(tuple) && i < PyTuple_GET_SIZE(tuple); i++)
        if (PyTuple_GET_ITEM(tuple, i) == o)
            return i;
    return -1;
}

static int edge_of(const mt_py_function *ctx, Py_ssize_t at)
{
    int edge = 0;

    for (Py_ssize_t i = 0; i < at; i++)
        edge += ctx->is_tensor[i];
    return edge;
}

static int check_dirty(const outputs *o)
{
    PyObject *dirty = o->ctx->dirty;

    if (dirty && dirty != Py_None && !PyTuple_Check(dirty)) {
        PyErr_Format(PyExc_RuntimeError,
                     "autograd internal error: dirty_tensors attribute is expected to be a tuple but is %s",
                     Py_TYPE(dirty)->tp_name);
        return -1;
    }
    for (Py_ssize_t i = 0; dirty && dirty != Py_None && i < PyTuple_GET_SIZE(dirty); i++) {
        PyObject *t = PyTuple_GET_ITEM(dirty, i);

        if (!mt_py_is_tensor(t)) {
            PyErr_Format(PyExc_RuntimeError, "mark_dirty can only accept variables, but argument %zd is of type %s", i,
                         Py_TYPE(t)->tp_name);
            return -1;
        }
        if (position(o->result, t) < 0) {
            PyErr_SetString(PyExc_RuntimeError,
                            "Some elements marked as dirty during the forward method were not returned as output. The "
                            "inputs that are modified inplace must all be outputs of the Function.");
            return -1;
        }
    }
    return 0;
}

static int check_plain(const outputs *o)
{
    PyObject *plain = o->ctx->non_differentiable;
    Py_ssize_t n = plain && PyTuple_Check(plain) ? PyTuple_GET_SIZE(plain) : 0;

    for (Py_ssize_t i = 0; i < n; i++)
        if (!mt_py_is_tensor(PyTuple_GET_ITEM(plain, i))) {
            PyErr_Format(PyExc_RuntimeError, "mark_non_differentiable only accepts variable arguments, but got %s",
                         Py_TYPE(PyTuple_GET_ITEM(plain, i))->tp_name);
            return -1;
        }
    if (plain && plain != Py_None && !PyTuple_Check(plain)) {
        PyErr_Format(PyExc_RuntimeError,
                     "autograd internal error: non_differentiable attribute is expected to be a tuple but is %s",
                     Py_TYPE(plain)->tp_name);
        return -1;
    }
    return 0;
}

/* Another tensor over the same memory in place of output i. */
static int replace(const outputs *o, Py_ssize_t i, mt_tensor *t)
{
    PyObject *wrapped = mt_py_wrap(t), *old = PyTuple_GET_ITEM(o->result, i);

    if (!wrapped)
        return -1;
    PyTuple_SET_ITEM(o->result, i, wrapped);
    Py_DECREF(old);
    return 0;
}

/* A subclass makes its view itself, so that it keeps its class. */
static int replace_by_own_view(const outputs *o, Py_ssize_t i)
{
    PyObject *old = PyTuple_GET_ITEM(o->result, i), *view;
    bool grad_mode = mt_thread.grad_mode;

    mt_thread.grad_mode = false;
    view = PyObject_CallMethod(old, "view_as", "O", old);
    mt_thread.grad_mode = grad_mode;
    if (view && !mt_py_is_tensor(view)) {
        PyErr_Format(PyExc_TypeError, "view_as() of a %s gave no tensor", Py_TYPE(old)->tp_name);
        Py_CLEAR(view);
    }
    if (!view)
        return -1;
    PyTuple_SET_ITEM(o->result, i, view);
    Py_DECREF(old);
    return 0;
}

static int replace_by_view(const outputs *o, Py_ssize_t i)
{
    mt_tensor *t = mt_py_impl(PyTuple_GET_ITEM(o->result, i)), *view = NULL;

    if (!mt_py_is_exact(PyTuple_GET_ITEM(o->result, i)) && Py_TYPE(PyTuple_GET_ITEM(o->result, i)) != mt_parameter_type)
        return replace_by_own_view(o, i);

    if (mt_tensor_new_view(&view, t, t->ndim, t->size, t->stride, t->offset) < 0)
        return mt_py_raise(), -1;
    return replace(o, i, view);
}

static int without_gradient(const outputs *o, Py_ssize_t i, bool is_input, bool modified)
{
    mt_tensor *t = mt_py_impl(PyTuple_GET_ITEM(o->result, i)), *alias = NULL;

    if (!mt_tensor_requires_grad(t))
        return is_input && !modified ? replace_by_view(o, i) : 0;
    if (!is_input && t->base)
        return 0;
    if (mt_tensor_new_alias(&alias, t, true) < 0)
        return mt_py_raise(), -1;
    return replace(o, i, alias);
}

static int written_in_place(const outputs *o, Py_ssize_t i, Py_ssize_t input)
{
    mt_tensor *t = mt_py_impl(PyTuple_GET_ITEM(o->result, i));

    if (!o->n)
        return without_gradient(o, i, input >= 0, true);
    if (mt_tensor_requires_grad(t) && !(t->autograd && t->autograd->grad_fn)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a leaf Variable that requires grad has been used in an in-place operation.");
        return -1;
    }
    if (input < 0 &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
                     "been mutated should be passed to ctx.mark_dirty().",
                     1) < 0)
        return -1;
    if (mt_autograd_check_rebase(t, o->n) < 0 || mt_autograd_check_inplace(t, true) < 0)
        return mt_py_raise(), -1;
    if (input < 0 ? mt_autograd_set_history(t, o->n, (uint32_t)i) < 0
                  : mt_autograd_rebase(t, o->n, (uint32_t)i, edge_of(o->ctx, input)) < 0)
        return mt_py_raise(), -1;
    return 0;
}

static int set_history(const outputs *o, Py_ssize_t i, Py_ssize_t input, bool modified)
{
    PyObject *item = PyTuple_GET_ITEM(o->result, i);
    bool plain = position(o->ctx->non_differentiable, item) >= 0;
    mt_tensor *t = mt_py_impl(item);

    if (modified)
        mt_tensor_bump_version(t);
    if (modified && !plain)
        return written_in_place(o, i, input);
    if (!o->n || plain || !mt_dtype_is_differentiable((mt_dtype)t->dtype))
        return without_gradient(o, i, input >= 0, modified);
    if (input >= 0 && replace_by_view(o, i) < 0)
        return -1;
    t = mt_py_impl(PyTuple_GET_ITEM(o->result, i));
    if (mt_autograd_set_history(t, o->n, (uint32_t)i) < 0)
        return mt_py_raise(), -1;
    mt_py_track(PyTuple_GET_ITEM(o->result, i)); /* ctx may lead back to it */
    return 0;
}

/* Views are not to be written, recorded or not: the formula of the Function would be left out. */
static int finish_output(const outputs *o, Py_ssize_t i)
{
    PyObject *item = PyTuple_GET_ITEM(o->result, i);
    Py_ssize_t input;
    bool modified;
    mt_tensor *t;

    if (!mt_py_is_tensor(item))
        return 0;
    input = position(o->args, item);
    modified = position(o->ctx->dirty, item) >= 0;
    if (set_history(o, i, input, modified) < 0)
        return -1;
    t = mt_py_impl(PyTuple_GET_ITEM(o->result, i));
    if (t->base && !(t->flags & MT_FLAG_INFERENCE) && !(input >= 0 && modified))
        t->flags = (uint16_t)((t->flags & ~MT_FLAG_GUARDED_VIEW) | MT_FLAG_CUSTOM_VIEW);
    return 0;
}

static int set_metadata(const outputs *o)
{
    Py_ssize_t n = PyTuple_GET_SIZE(o->result);
    mt_tensor **tensors = PyMem_Calloc((size_t)(n ? n : 1), sizeof(*tensors));
    int rc = -1;

    if (!tensors) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (mt_py_is_tensor(PyTuple_GET_ITEM(o->result, i)))
            tensors[i] = mt_py_impl(PyTuple_GET_ITEM(o->result, i));
    rc = mt_node_replace_inputs(o->n, tensors, (int)n);
    if (rc < 0)
        mt_py_raise();
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        if (position(o->ctx->non_differentiable, PyTuple_GET_ITEM(o->result, i)) >= 0)
            o->n->input[i].takes_grad = false;
    PyMem_Free(tensors);
    return rc;
}

static int save(const outputs *o)
{
    PyObject *list = o->ctx->to_save;
    Py_ssize_t n;

    if (!list || list == Py_None)
        return 0;
    if (!PyTuple_Check(list)) {
        PyErr_Format(PyExc_RuntimeError,
                     "autograd internal error: to_save attribute is expected to be a tuple but is %s",
                     Py_TYPE(list)->tp_name);
        return -1;
    }
    n = PyTuple_GET_SIZE(list);
    if (mt_node_replace_saved(o->n, (int)n) < 0)
        return mt_py_raise(), -1;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *item = PyTuple_GET_ITEM(list, k);
        Py_ssize_t at = position(o->result, item);

        if (item == Py_None)
            continue;
        if (!mt_py_is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "save_for_backward can only save variables, but argument %zd is of type %s",
                         k, Py_TYPE(item)->tp_name);
            return -1;
        }
        if (mt_saved_set_tensor(o->n, (int)k, mt_py_impl(item), at >= 0, at >= 0 ? (uint32_t)at : 0) < 0)
            return mt_py_raise(), -1;
    }
    return 0;
}

/* A tuple of its own, whose items may be replaced. */
static PyObject *own_tuple(PyObject *result)
{
    PyObject *tuple;

    if (!PyTuple_Check(result))
        return PyTuple_Pack(1, result);
    tuple = PyTuple_New(PyTuple_GET_SIZE(result));
    for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(result); i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(PyTuple_GET_ITEM(result, i)));
    return tuple;
}

/* Views among several outputs with gradients are not to be written, as those of split. */
static void guard_views(const outputs *o)
{
    Py_ssize_t n = PyTuple_GET_SIZE(o->result), with_gradient = 0;

    for (Py_ssize_t i = 0; i < n; i++)
        with_gradient += o->n->input[i].takes_grad;
    for (Py_ssize_t i = 0; i < n && with_gradient > 1; i++) {
        mt_tensor *t =
            mt_py_is_tensor(PyTuple_GET_ITEM(o->result, i)) ? mt_py_impl(PyTuple_GET_ITEM(o->result, i)) : NULL;

        if (t && t->base)
            t->flags = (uint16_t)((t->flags & ~MT_FLAG_GUARDED_VIEW) | MT_FLAG_MULTI_VIEW);
    }
}

static int finish(const outputs *o)
{
    if (check_dirty(o) < 0 || check_plain(o) < 0)
        return -1;
    if (o->n && set_metadata(o) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o->result); i++)
        if (finish_output(o, i) < 0)
            return -1;
    if (o->n)
        guard_views(o);
    if (o->n && save(o) < 0)
        return -1;
    if (o->dual && mt_py_function_forward_mode(o->ctx, o->args, o->result, o->tangents) < 0)
        return -1;
    Py_CLEAR(o->ctx->saved_for_forward);
    Py_CLEAR(o->ctx->to_save);
    Py_CLEAR(o->ctx->dirty);
    Py_CLEAR(o->ctx->non_differentiable);
    return 0;
}

PyObject *mt_py_function_apply(PyObject *cls, PyObject *args)
{
    PyObject *made = PyObject_CallMethod(cls, "_backward_cls", NULL), *result = NULL, *returned = NULL;
    outputs o = {made ? mt_py_function_of(made) : NULL, NULL, args, NULL, NULL, false};
    bool recorded = false;
    int n_edges = 0;

    if (!o.ctx) {
        if (made)
            PyErr_SetString(PyExc_TypeError, "Function.apply: _backward_cls is no class of contexts");
        goto end;
    }
    if (o.ctx->is_tensor) {
        PyErr_SetString(PyExc_RuntimeError, "Function.apply: a context serves one call");
        goto end;
    }
    if (note_inputs(o.ctx, args, &recorded, &n_edges) < 0)
        goto end;
    if (recorded && mt_thread.grad_mode &&
        (mt_py_function_new_node(&o.n, o.ctx, n_edges) < 0 || set_edges(o.n, args) < 0)) {
        mt_py_raise();
        goto end;
    }
    if (mt_py_function_tangents(&o.tangents, &o.dual, args) < 0)
        goto end;
    result = call_forward(cls, o.ctx, args);
    o.result = result ? own_tuple(result) : NULL;
    if (!o.result || finish(&o) < 0)
        goto end;
    returned = PyTuple_Check(result) ? Py_NewRef(o.result) : Py_NewRef(PyTuple_GET_ITEM(o.result, 0));
end:
    mt_node_clear(&o.n);
    mt_py_function_free_tangents(o.tangents, PyTuple_GET_SIZE(args));
    Py_XDECREF(o.result);
    Py_XDECREF(result);
    Py_XDECREF(made);
    return returned;
}
