/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks: C callbacks whose context is the ordered dictionary that Python code registers its callables in. The
   dictionary is copied before it is walked, so that hooks may remove themselves and others. */
#include "bindings/autograd_internal.h"

#include <pthread.h>
#include <stdio.h>

#include "core/shape.h"

static void destroy_dict(void *ctx)
{
    Py_DECREF((PyObject *)ctx);
}

static void hold_dict(void *ctx)
{
    Py_INCREF((PyObject *)ctx);
}

/* --- what a hook gives back --- */

/* The name of a hook for messages, a new reference; never an error. */
static PyObject *name_of(PyObject *callable)
{
    PyObject *name = PyObject_GetAttrString(callable, "__name__");

    if (name && PyUnicode_Check(name))
        return name;
    PyErr_Clear();
    Py_XDECREF(name);
    return PyUnicode_FromString("<unknown>");
}

/* torch.FloatTensor, CPUComplexFloatType, MetaFloatType */
static const char *type_text(char *out, size_t size, const mt_tensor *t)
{
    const char *legacy = mt_dtype_table[t->dtype].legacy;

    if (t->device.type == MT_DEVICE_META || mt_dtype_is_complex((mt_dtype)t->dtype))
        snprintf(out, size, "%s%sType",
                 t->device.type == MT_DEVICE_META   ? "Meta"
                 : t->device.type == MT_DEVICE_CUDA ? "CUDA"
                                                    : "CPU",
                 legacy);
    else
        snprintf(out, size, "torch.%s%sTensor", t->device.type == MT_DEVICE_CUDA ? "cuda." : "", legacy);
    return out;
}

static int refuse(PyObject *callable, const char *what)
{
    PyObject *name = name_of(callable);

    if (name)
        PyErr_Format(PyExc_RuntimeError, "hook '%U' %s", name, what);
    Py_XDECREF(name);
    return -1;
}

/* Whether `result` can stand for `old`, which may be missing. */
static int check_result(PyObject *callable, const mt_tensor *old, PyObject *result)
{
    char what[160], was[48], got[48];
    const mt_tensor *t;

    if (!mt_py_is_tensor(result)) {
        PyErr_Format(PyExc_TypeError, "expected Variable, but hook returned '%s'", Py_TYPE(result)->tp_name);
        return -1;
    }
    if (!old) {
        PyErr_SetString(PyExc_RuntimeError, "can't replace a None gradient with a non-None value");
        return -1;
    }
    t = mt_py_impl(result);
    if (old->dtype != t->dtype || old->device.type != t->device.type) {
        snprintf(what, sizeof(what), "has changed the type of value (was %s got %s)", type_text(was, sizeof(was), old),
                 type_text(got, sizeof(got), t));
        return refuse(callable, what);
    }
    if (!mt_device_equal(old->device, t->device))
        return refuse(callable, "has changed the device of value");
    if (!mt_shape_equal(old->ndim, old->size, t->ndim, t->size))
        return refuse(callable, "has changed the size of value");
    return 0;
}

static int replace(PyObject *callable, mt_tensor **slot, PyObject *result)
{
    mt_tensor *old = *slot;

    if (check_result(callable, old, result) < 0)
        return -1;
    *slot = mt_tensor_ref(mt_py_impl(result));
    mt_tensor_unref(old);
    return 0;
}

/* Calls each of the callables with `call`; stops at the first error. */
typedef int hook_call(PyObject *callable, mt_hook_frame *frame);

static int for_each(void *ctx, mt_hook_frame *frame, hook_call *call)
{
    PyObject *hooks = PyMapping_Values((PyObject *)ctx);
    int rc = hooks ? 0 : -1;

    for (Py_ssize_t i = 0; rc == 0 && i < PyList_GET_SIZE(hooks); i++)
        rc = call(PyList_GET_ITEM(hooks, i), frame);
    Py_XDECREF(hooks);
    return rc < 0 ? mt_py_error() : 0;
}

static PyObject *wrap_borrowed(mt_tensor *t)
{
    return mt_py_wrap(t ? mt_tensor_ref(t) : NULL);
}

static int call_tensor_hook(PyObject *callable, mt_hook_frame *frame)
{
    mt_tensor **slot = &frame->grads[frame->input];
    PyObject *grad, *result;
    int rc = 0;

    grad = wrap_borrowed(*slot);
    result = grad ? PyObject_CallOneArg(callable, grad) : NULL;
    Py_XDECREF(grad);
    if (!result)
        return -1;
    if (result != Py_None)
        rc = replace(callable, slot, result);
    Py_DECREF(result);
    return rc;
}

static int call_accumulate_hook(PyObject *callable, mt_hook_frame *frame)
{
    PyObject *variable = wrap_borrowed(frame->variable), *result;
    int rc = 0;

    result = variable ? PyObject_CallOneArg(callable, variable) : NULL;
    Py_XDECREF(variable);
    if (!result)
        return -1;
    if (result != Py_None && (rc = check_result(callable, frame->variable, result)) == 0 &&
        mt_py_impl(result) != frame->variable) { /* the variable itself counts as None */
        PyErr_SetString(PyExc_RuntimeError, "Tensor post accumulate grad hooks should return None.");
        rc = -1;
    }
    Py_DECREF(result);
    return rc;
}

static PyObject *wrap_all(mt_tensor **list, uint32_t n)
{
    PyObject *tuple = PyTuple_New(n);

    for (uint32_t i = 0; tuple && i < n; i++) {
        PyObject *item = wrap_borrowed(list[i]);

        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

static int replace_all(PyObject *callable, mt_tensor **list, uint32_t n, PyObject *result)
{
    char what[100];
    int rc = 0;

    if (result == Py_None)
        return 0;
    if (!PyTuple_Check(result)) {
        PyErr_Format(PyExc_TypeError, "expected tuple, but hook returned '%s'", Py_TYPE(result)->tp_name);
        return -1;
    }
    if (PyTuple_GET_SIZE(result) != (Py_ssize_t)n) {
        snprintf(what, sizeof(what), "has returned an incorrect number of values (got %zd, but expected %u)",
                 PyTuple_GET_SIZE(result), (unsigned)n);
        return refuse(callable, what);
    }
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(result, i);

        if (item == Py_None)
            mt_tensor_clear(&list[i]);
        else
            rc = replace(callable, &list[i], item);
    }
    return rc;
}

static int call_pre_hook(PyObject *callable, mt_hook_frame *frame)
{
    uint32_t n = (uint32_t)mt_node_differentiable_outputs(frame->node);
    PyObject *grads = wrap_all(frame->grads, n), *result;
    int rc;

    result = grads ? PyObject_CallOneArg(callable, grads) : NULL;
    Py_XDECREF(grads);
    rc = result ? replace_all(callable, frame->grads, n, result) : -1;
    Py_XDECREF(result);
    return rc;
}

static int call_post_hook(PyObject *callable, mt_hook_frame *frame)
{
    PyObject *results = wrap_all(frame->results, frame->n_results), *grads, *result;
    int rc;

    grads = results ? wrap_all(frame->grads, (uint32_t)mt_node_differentiable_outputs(frame->node)) : NULL;
    result = grads ? PyObject_CallFunctionObjArgs(callable, results, grads, NULL) : NULL;
    Py_XDECREF(results);
    Py_XDECREF(grads);
    rc = result ? replace_all(callable, frame->results, frame->n_results, result) : -1;
    Py_XDECREF(result);
    return rc;
}

static int run_tensor(void *ctx, mt_hook_frame *frame)
{
    return for_each(ctx, frame, call_tensor_hook);
}

static int run_accumulate(void *ctx, mt_hook_frame *frame)
{
    return for_each(ctx, frame, call_accumulate_hook);
}

static int run_pre(void *ctx, mt_hook_frame *frame)
{
    return for_each(ctx, frame, call_pre_hook);
}

static int run_post(void *ctx, mt_hook_frame *frame)
{
    return for_each(ctx, frame, call_post_hook);
}

const mt_hook_ops mt_py_tensor_dict_hook = {run_tensor, destroy_dict, hold_dict};
const mt_hook_ops mt_py_accumulate_dict_hook = {run_accumulate, destroy_dict, hold_dict};
const mt_hook_ops mt_py_pre_dict_hook = {run_pre, destroy_dict, hold_dict};
const mt_hook_ops mt_py_post_dict_hook = {run_post, destroy_dict, hold_dict};

/* --- callbacks at the end of a run --- */

static int run_callback(void *callable)
{
    PyObject *result = PyObject_CallNoArgs(callable);

    Py_XDECREF(result);
    return result ? 0 : mt_py_error();
}

static void drop_callback(void *callable)
{
    Py_DECREF((PyObject *)callable);
}

PyObject *mt_py_queue_callback(PyObject *module, PyObject *callable)
{
    (void)module;
    if (mt_engine_queue_callback(run_callback, drop_callback, callable) < 0)
        return mt_py_raise();
    Py_INCREF(callable);
    Py_RETURN_NONE;
}

/* --- deeply nested runs --- */

typedef struct hop {
    int (*body)(void *);
    void *arg;
    PyObject *type, *value, *traceback;
    int rc;
} hop;

static void *hop_thread(void *p)
{
    hop *h = p;
    PyGILState_STATE state = PyGILState_Ensure();

    h->rc = h->body(h->arg);
    PyErr_Fetch(&h->type, &h->value, &h->traceback);
    PyGILState_Release(state);
    return NULL;
}

/* Deeper is a recursion without end: every thread has a recursion limit of its own. */
#define MAX_NESTED 9000

int mt_py_engine_hop(int (*body)(void *arg), void *arg, int nested)
{
    hop h = {body, arg, NULL, NULL, NULL, -1};
    pthread_t thread;
    int failed;

    if (nested > MAX_NESTED) {
        PyErr_SetString(PyExc_RecursionError, "maximum depth of nested runs of backward exceeded");
        return mt_py_error();
    }
    Py_BEGIN_ALLOW_THREADS failed = pthread_create(&thread, NULL, hop_thread, &h);
    if (!failed)
        pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS if (failed) return mt_error_set(
        MT_ERR_RUNTIME, "backward is nested too deeply, and no further thread can be started");
    PyErr_Restore(h.type, h.value, h.traceback);
    return h.rc;
}
