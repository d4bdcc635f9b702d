/* SPDX-License-Identifier: BSD-3-Clause */
/* The short roads around the binder and the dispatcher: plain pointwise calls on exact tensors, and views of an exact
   tensor by plain integers. Nothing here is a rule of its own: whatever does not fit exactly answers 0 and takes the
   general road, with the same result. */
#include "autograd/autograd.h"
#include "bindings/bind_internal.h"

/* --- pointwise --- */

static inline int short_pointwise(PyObject **result, const mt_py_func *f, PyObject *self, PyObject *const *args,
                                  Py_ssize_t nargs)
{
    const mt_op *op = f->overloads[0];
    const mt_pointwise_spec *spec = op->pointwise;
    bool method = f->kind == MT_PY_METHOD;
    PyObject *a = method ? self : args[0], *b;
    mt_tensor *out = NULL;
    int rc;

    if (!spec || nargs + method != spec->n_in || !mt_py_is_exact(a) || spec->in[0] != 0 ||
        (spec->n_in == 2 && spec->in[1] != 1) ||
        (spec->n_params &&
         ((spec->n_in == 1 && (op->flags & MT_OPF_CHECKED)) || !(op->args[spec->n_in].flags & MT_ARGF_DEFAULT))))
        return 0;
    if (f->variant == MT_VARIANT_INPLACE) {
        out = mt_py_impl(a);
        if (out->flags & MT_FLAG_VIEW)
            return 0;
    }
    if (spec->n_in == 1) {
        rc = mt_fast_unary(&out, op, mt_py_impl(a));
        if (rc == 0 && f->variant == MT_VARIANT_FUNCTION)
            rc = mt_autograd_short(&out, op, mt_py_impl(a), NULL);
    } else if (spec->n_in == 2) {
        b = method ? args[0] : args[1];
        if (mt_py_is_exact(b)) {
            rc = mt_fast_binary(&out, op, mt_py_impl(a), mt_py_impl(b));
            if (rc == 0 && f->variant == MT_VARIANT_FUNCTION)
                rc = mt_autograd_short(&out, op, mt_py_impl(a), mt_py_impl(b));
        } else if (PyFloat_CheckExact(b) && (op->args[1].flags & MT_ARGF_NUMBER))
            rc = mt_fast_binary_scalar(&out, op, mt_py_impl(a), mt_scalar_from_double(PyFloat_AS_DOUBLE(b)), false);
        else
            return 0;
    } else {
        return 0;
    }
    if (rc == 0)
        return 0;
    if (rc < 0)
        *result = mt_py_raise();
    else
        *result = f->variant == MT_VARIANT_INPLACE ? Py_NewRef(a) : mt_py_wrap(out);
    return 1;
}

/* --- views --- */

#define MOST_INTS 8

/* Nothing but recording happens between the call and the view. */
static inline bool is_plain_source(uint32_t *keys, const mt_tensor *t)
{
    *keys = mt_tensor_keys(t);
    return !(*keys & ~(MT_KEY_BIT(MT_KEY_CPU) | MT_KEY_BIT(MT_KEY_AUTOGRAD))) && !mt_tensor_needs_care(t) &&
           !(mt_thread.include | mt_thread.exclude);
}

/* The arguments of a view as plain integers; false when they are anything else. */
static inline bool read_ints(int64_t *out, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        int overflow;

        if (!PyLong_CheckExact(args[i]))
            return false;
        out[i] = PyLong_AsLongLongAndOverflow(args[i], &overflow);
        if (overflow)
            return false;
    }
    return true;
}

/* view(2, 3), transpose(0, 1), unsqueeze(0): one spread size list, or integers only. */
static inline bool bind_ints(mt_call *call, int64_t *ints, Py_ssize_t n)
{
    const mt_op *op = call->op;
    int k = 1;

    if (op->n_args > 1 && op->args[1].kind == MT_ARG_INTS) {
        if (op->n_positional != 2 || op->args[1].index != 1)
            return false;
        call->arg[1].kind = MT_ARG_INTS;
        call->arg[1].v.ints = (mt_ints){ints, (int)n};
        k = 2;
    } else {
        for (; k <= n; k++) {
            if (k >= op->n_positional || op->args[k].kind != MT_ARG_INT)
                return false;
            call->arg[op->args[k].index].kind = MT_ARG_INT;
            call->arg[op->args[k].index].v.i = ints[k - 1];
        }
    }
    for (; k < op->n_args; k++) {
        if (!(op->args[k].flags & MT_ARGF_DEFAULT))
            return false;
        call->arg[op->args[k].index] = op->args[k].dflt;
    }
    return true;
}

static int short_view(PyObject **result, const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    const mt_op *op = f->overloads[0];
    int64_t ints[MOST_INTS];
    uint32_t keys;
    mt_call call;
    int rc;

    if (nargs < 1 || nargs > MOST_INTS || !mt_py_is_exact(self) || !is_plain_source(&keys, mt_py_impl(self)) ||
        op->kernel[MT_KEY_AUTOGRAD] != mt_autograd_kernel || !op->grad || !op->kernel[MT_KEY_CPU] ||
        !read_ints(ints, args, nargs))
        return 0;
    mt_call_init(&call, op, MT_VARIANT_FUNCTION);
    if (!bind_ints(&call, ints, nargs))
        return 0;
    call.keys = keys;
    call.arg[0].kind = MT_ARG_TENSOR;
    call.arg[0].v.tensor = mt_py_impl(self);
    rc = keys & MT_KEY_BIT(MT_KEY_AUTOGRAD) ? mt_autograd_short_view(&call) : op->kernel[MT_KEY_CPU](&call);
    if (rc < 0) {
        mt_call_clear(&call);
        *result = mt_py_raise();
    } else {
        *result = mt_py_wrap(call.out_inline[0]);
    }
    return 1;
}

int mt_bind_short(PyObject **result, const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    const uint32_t care = MT_OPF_VIEW | MT_OPF_LIST_OUT | MT_OPF_COMPOSITE | MT_OPF_MUTATES_SELF | MT_OPF_NO_IMPL;
    const mt_op *op = f->overloads[0];

    if (op->pointwise)
        return short_pointwise(result, f, self, args, nargs);
    if ((op->flags & care) == MT_OPF_VIEW && f->kind == MT_PY_METHOD && f->variant == MT_VARIANT_FUNCTION)
        return short_view(result, f, self, args, nargs);
    return 0;
}
