/* SPDX-License-Identifier: BSD-3-Clause */
/* The binder: overloads are tried in table order; positional slots, then keywords by pointer equality of
   interned names (by value as a fallback). Arguments whose type has a __torch_function__ of its own are collected in
   the same scan. When nothing fits, bind_error.c words the complaint. */
#include "bindings/bind.h"

#include <string.h>

#include "bindings/bind_internal.h"

static PyObject **arg_names; /* interned names of all argument specs, by op and argument */
static int *arg_names_start; /* first name of each op */
static PyObject *name_input, *name_out, *name_requires_grad, *name_axis, *name_dim, *name_keepdims, *name_keepdim,
    *name_x, *name_x1, *name_x2, *name_a, *name_other;

int mt_py_bind_init(void)
{
    int total = 0, at = 0;

    for (int i = 0; i < mt_op_count; i++)
        total += mt_op_table[i].n_args;
    arg_names = PyMem_Calloc((size_t)total + 1, sizeof(*arg_names));
    arg_names_start = PyMem_Calloc((size_t)mt_op_count + 1, sizeof(*arg_names_start));
    if (!arg_names || !arg_names_start) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < mt_op_count; i++) {
        arg_names_start[i] = at;
        for (int k = 0; k < mt_op_table[i].n_args; k++)
            if (!(arg_names[at++] = PyUnicode_InternFromString(mt_op_table[i].args[k].name)))
                return -1;
    }
    name_input = PyUnicode_InternFromString("input");
    name_out = PyUnicode_InternFromString("out");
    name_requires_grad = PyUnicode_InternFromString("requires_grad");
    name_axis = PyUnicode_InternFromString("axis");
    name_dim = PyUnicode_InternFromString("dim");
    name_keepdims = PyUnicode_InternFromString("keepdims");
    name_keepdim = PyUnicode_InternFromString("keepdim");
    name_x = PyUnicode_InternFromString("x");
    name_x1 = PyUnicode_InternFromString("x1");
    name_x2 = PyUnicode_InternFromString("x2");
    name_a = PyUnicode_InternFromString("a");
    name_other = PyUnicode_InternFromString("other");
    return name_other ? 0 : -1;
}

PyObject *mt_py_arg_name(const mt_op *op, int k)
{
    return arg_names[arg_names_start[op->id] + k];
}

void mt_bind_clear(mt_bind *b)
{
    mt_call *call = &b->call;

    if (call->n_outs != 1 || call->out != call->out_inline || call->out[0] || call->user_out[0])
        mt_call_clear(call);
    if (MT_LIKELY(!(b->n_tensors | b->n_objects | b->n_blocks)))
        return;
    for (int i = 0; i < b->n_tensors; i++)
        mt_tensor_clear(&b->tensor[i]);
    for (int i = 0; i < b->n_objects; i++)
        Py_CLEAR(b->object[i]);
    for (int i = 0; i < b->n_blocks; i++)
        PyMem_Free(b->block[i]);
    b->n_tensors = b->n_objects = b->n_blocks = 0;
}

/* --- keyword lookup --- */

static bool same_name(PyObject *a, PyObject *b)
{
    return a == b || (PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_Compare(a, b) == 0);
}

/* NumPy's spellings. */
static bool is_alias(PyObject *given, PyObject *name)
{
    if (name == name_dim)
        return same_name(given, name_axis);
    if (name == name_keepdim)
        return same_name(given, name_keepdims);
    if (name == name_input)
        return same_name(given, name_x) || same_name(given, name_a) || same_name(given, name_x1);
    if (name == name_other)
        return same_name(given, name_x2);
    return false;
}

static PyObject *spec_name(const mt_py_func *f, const mt_op *op, int k)
{
    /* The first tensor of a function is called `input` in Python. */
    if (k == 0 && f->kind == MT_PY_FUNCTION && strcmp(op->args[0].name, "self") == 0)
        return name_input;
    return mt_py_arg_name(op, k);
}

/* Index into kwnames of the keyword for argument k, or -1. */
Py_ssize_t mt_py_find_keyword(const mt_py_func *f, const mt_op *op, int k, PyObject *kwnames)
{
    Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
    PyObject *name = spec_name(f, op, k);

    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GET_ITEM(kwnames, i) == name)
            return i;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *given = PyTuple_GET_ITEM(kwnames, i);

        if (same_name(given, name) || is_alias(given, name))
            return i;
    }
    return -1;
}

/* --- one overload --- */

static bool takes_numbers(const mt_op *op)
{
    for (int i = 0; i < op->n_args; i++)
        if (op->args[i].flags & MT_ARGF_NUMBER)
            return true;
    return false;
}

/* Functions that take numbers for tensors take one for out= too: it becomes the tensor that is written. */
static int out_of_number(mt_bind *b, PyObject *value)
{
    mt_scalar s;
    int rc = mt_py_to_scalar(&s, value);

    b->out = NULL;
    if (rc == 1 && mt_tensor_full_0d(&b->call.out[0], s, mt_scalar_dtype(s), MT_CPU) < 0) {
        mt_py_raise();
        return -1;
    }
    return rc;
}

static int bind_out(mt_bind *b, PyObject *value)
{
    mt_call *call = &b->call;

    b->out = NULL;
    if (value == Py_None)
        return 1;
    call->variant = MT_VARIANT_OUT;
    b->out = value;
    if (mt_py_is_tensor(value)) {
        if (call->op->n_outs != 1)
            return 0;
        call->out[0] = mt_tensor_ref(mt_py_impl(value));
        return mt_py_is_override(value) ? mt_py_overload_add(b, value) : 1;
    }
    if ((PyTuple_Check(value) || PyList_Check(value)) && call->op->n_outs > 1) {
        if (PySequence_Fast_GET_SIZE(value) != call->op->n_outs)
            return 0;
        for (int i = 0; i < call->op->n_outs; i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(value, i);

            if (mt_py_is_override(item) && mt_py_overload_add(b, item) < 0)
                return -1;
            if (mt_py_is_tensor(item))
                call->out[i] = mt_tensor_ref(mt_py_impl(item));
            else if (!mt_py_has_torch_function(item))
                return 0;
        }
        return 1;
    }
    if (mt_py_has_torch_function(value))
        return mt_py_overload_add(b, value);
    return call->op->n_outs == 1 && takes_numbers(call->op) ? out_of_number(b, value) : 0;
}

/* Keywords that are no argument of the schema: out= and, for factories, requires_grad=. */
static int bind_extra(mt_bind *b, const mt_py_func *f, PyObject *name, PyObject *value)
{
    if ((f->flags & MT_PY_HAS_OUT) && (b->call.op->flags & MT_OPF_OUT_OK) && same_name(name, name_out))
        return bind_out(b, value);
    if ((b->call.op->flags & MT_OPF_FACTORY) && same_name(name, name_requires_grad)) {
        bool on = false;
        int rc = value == Py_None ? 1 : mt_py_to_bool(&on, value);

        b->requires_grad = on;
        if (rc == 0 && !mt_py_is_tensor(value) && mt_py_has_torch_function(value))
            return mt_py_overload_add(b, value);
        return rc;
    }
    return 0;
}

/* May the positional arguments from `first` on be one spread size list? Where they may, a list that overrides is asked. */
static bool is_spread(const mt_op *op, int k, PyObject *const *args, Py_ssize_t first, Py_ssize_t nargs, int n_own)
{
    return op->args[k].kind == MT_ARG_INTS && op->n_positional - n_own == 1 && k == n_own && nargs > first &&
           args[first] != Py_None && !PyTuple_CheckExact(args[first]) && !PyList_CheckExact(args[first]) &&
           ((!PyTuple_Check(args[first]) && !PyList_Check(args[first])) || mt_py_has_torch_function(args[first]));
}

/* 1: bound, 0: does not fit, -1: Python exception. */
static int bind_overload(mt_bind *b, const mt_py_func *f, const mt_op *op, PyObject *self, PyObject *const *args,
                         Py_ssize_t nargs, PyObject *kwnames)
{
    mt_call *call = &b->call;
    Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, kw_used = 0, at = 0;
    int n_own = f->kind == MT_PY_METHOD, rc;

    mt_call_init(call, op, (mt_variant)f->variant);
    if (n_own) {
        call->arg[0].kind = MT_ARG_TENSOR;
        call->arg[0].v.tensor = mt_py_impl(self);
    }
    for (int k = n_own; k < op->n_args; k++) {
        const mt_arg_spec *spec = &op->args[k];
        PyObject *value = NULL;

        if (k < op->n_positional && at < nargs) {
            if (is_spread(op, k, args, at, nargs, n_own)) {
                rc = PyTuple_Check(args[at]) || PyList_Check(args[at]) ? mt_py_overload_add(b, args[at])
                                                                       : mt_bind_spread(b, spec, args + at, nargs - at);
                if (rc != 1)
                    return rc;
                at = nargs;
                continue;
            }
            value = args[at++];
        } else if (kw_used < n_kw) {
            Py_ssize_t i = mt_py_find_keyword(f, op, k, kwnames);

            if (i >= 0) {
                value = args[nargs + i];
                kw_used++;
            }
        }
        if (!value) {
            if (!(spec->flags & MT_ARGF_DEFAULT))
                return 0;
            call->arg[spec->index] = spec->dflt;
            continue;
        }
        rc = mt_bind_value(b, spec, &call->arg[spec->index], value);
        if (rc != 1)
            return rc;
    }
    if (at < nargs)
        return 0;
    for (Py_ssize_t i = 0; kw_used < n_kw && i < n_kw; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        bool known = false;

        for (int k = n_own; k < op->n_args && !known; k++) {
            PyObject *own = spec_name(f, op, k);

            known = same_name(name, own) || is_alias(name, own);
        }
        if (known)
            continue;
        rc = bind_extra(b, f, name, args[nargs + i]);
        if (rc != 1)
            return rc;
        kw_used++;
    }
    return kw_used == n_kw;
}

/* --- results --- */

static PyObject *wrap_list(mt_call *call)
{
    /* A list op gives a tuple, as PyTorch's bindings do. */
    PyObject *result = PyTuple_New(call->n_outs);

    for (int i = 0; result && i < call->n_outs; i++) {
        PyObject *item = mt_py_wrap(mt_tensor_move(&call->out[i]));

        if (!item)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, item);
    }
    return result;
}

static PyObject *wrap_struct(mt_call *call)
{
    PyTypeObject *type = mt_py_struct_type(call->op, call->variant == MT_VARIANT_OUT);
    PyObject *result = type ? PyStructSequence_New(type) : NULL;

    for (int i = 0; result && i < call->n_outs; i++) {
        PyObject *item = mt_py_wrap(mt_tensor_move(&call->out[i]));

        if (!item)
            Py_CLEAR(result);
        else
            PyStructSequence_SetItem(result, i, item);
    }
    return result;
}

static PyObject *wrap_result(mt_bind *b, const mt_py_func *f, PyObject *self, PyObject *const *args)
{
    mt_call *call = &b->call;

    if (f->variant == MT_VARIANT_INPLACE || (call->op->flags & MT_OPF_MUTATES_SELF))
        return f->kind == MT_PY_METHOD ? Py_NewRef(self) : mt_py_wrap(mt_tensor_ref(call->arg[0].v.tensor));
    if (call->op->flags & MT_OPF_RETURNS_LIST) /* not the first of args where that is given by keyword */
        return Py_NewRef(PyTuple_Check(args[0]) || PyList_Check(args[0]) ? args[0] : Py_None);
    if (b->out && call->n_outs == 1) {
        if ((call->op->flags & MT_OPF_FACTORY) && mt_py_give_requires_grad(call->out[0], b->requires_grad > 0) < 0)
            return mt_py_raise();
        return Py_NewRef(b->out);
    }
    if (call->op->flags & MT_OPF_VALUE_OUT)
        return call->has_result ? mt_py_from_value(&call->result) : Py_NewRef(Py_None);
    if (call->op->flags & MT_OPF_LIST_OUT)
        return wrap_list(call);
    if (call->n_outs == 1) {
        if ((call->op->flags & MT_OPF_FACTORY) && call->variant == MT_VARIANT_FUNCTION)
            *(call->out[0]->version ? &call->out[0]->version->value : &call->out[0]->own_version) = 0; /* it is new */
        if (b->requires_grad > 0 && mt_py_set_requires_grad(call->out[0]) < 0)
            return mt_py_raise();
        return mt_py_wrap(mt_tensor_move(&call->out[0]));
    }
    if (call->op->out_names && call->op->struct_name)
        return wrap_struct(call);
    if (call->n_outs == 0)
        Py_RETURN_NONE;
    return wrap_list(call);
}

static PyObject *run(mt_bind *b, const mt_py_func *f, PyObject *self, PyObject *const *args)
{
    mt_call *call = &b->call;

    if (call->variant == MT_VARIANT_INPLACE || (call->op->flags & MT_OPF_MUTATES_SELF))
        call->out[0] = mt_tensor_ref(call->arg[0].v.tensor);
    if (mt_dispatch(call) < 0)
        return mt_py_raise();
    return wrap_result(b, f, self, args);
}

bool mt_py_is_range_error(void)
{
    return PyErr_ExceptionMatches(PyExc_OverflowError) || PyErr_ExceptionMatches(PyExc_ValueError);
}

/* Would the overload fit if its integers beyond 64 bits were small? Types are looked at before values. The exception
   about the value is set on entry; 0: it does not fit, and the exception is gone. */
static int fits_but_for_range(mt_bind *b, const mt_py_func *f, const mt_op *op, PyObject *self, PyObject *const *args,
                              Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **small = PyMem_Malloc((size_t)n * sizeof(*small) + 1), *zero = PyLong_FromLong(0);
    PyObject *type, *value, *traceback;
    int overflow, rc = -1;

    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; small && zero && i < n; i++) {
        small[i] = args[i];
        overflow = 0;
        if (PyLong_Check(args[i]))
            (void)PyLong_AsLongLongAndOverflow(args[i], &overflow);
        if (overflow)
            small[i] = zero;
    }
    mt_bind_clear(b);
    b->n_ints = b->overloads.n = 0;
    if (small && zero)
        rc = bind_overload(b, f, op, self, small, nargs, kwnames);
    if (rc == 0)
        Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(traceback);
    else
        PyErr_Restore(type, value, traceback); /* replaces another one */
    Py_XDECREF(zero);
    PyMem_Free(small);
    return rc == 0 ? 0 : -1;
}

/* 1: it fits; 0: it does not; -1 on an error. */
static int try_overload(mt_bind *b, const mt_py_func *f, int i, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    int rc;

    b->n_ints = b->overloads.n = 0;
    b->numbers_only = true;
    b->tensor_as_number = false;
    b->requires_grad = -1;
    b->out = NULL;
    if (f->kind == MT_PY_METHOD && mt_py_is_override(self) && mt_py_overload_add(b, self) < 0)
        return -1;
    rc = bind_overload(b, f, f->overloads[i], self, args, nargs, kwnames);
    if (MT_UNLIKELY(rc < 0) && mt_py_is_range_error())
        rc = fits_but_for_range(b, f, f->overloads[i], self, args, nargs, kwnames);
    if (rc == 1 && b->numbers_only && b->overloads.n == 0 && f->kind == MT_PY_FUNCTION &&
        mt_py_needs_a_tensor(f->overloads[i]))
        rc = 0;
    return rc;
}

/* The first overload that fits; one that takes a tensor, or a number that overrides, for a number only if no other of as many
   arguments takes it as a tensor. */
static int choose_overload(mt_bind *b, const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    int rc = 0, second_best = -1;

    for (int i = 0; i < f->n_overloads; i++) {
        if (second_best >= 0 && (f->overloads[i]->n_args != f->overloads[second_best]->n_args ||
                                 (f->overloads[i]->flags & MT_OPF_DEPRECATED)))
            continue;
        rc = try_overload(b, f, i, self, args, nargs, kwnames);
        if (MT_UNLIKELY(rc == 1 && b->tensor_as_number) && i + 1 < f->n_overloads && second_best < 0) {
            second_best = i;
        } else if (rc < 0 && second_best >= 0) {
            PyErr_Clear();
        } else if (rc != 0 && (second_best < 0 || !b->tensor_as_number)) {
            return rc;
        }
        mt_bind_clear(b);
    }
    return second_best < 0 ? 0 : try_overload(b, f, second_best, self, args, nargs, kwnames);
}

static MT_NOINLINE PyObject *call_bound(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    mt_bind b;
    PyObject *result = NULL;
    bool skip = (mt_thread.slow & MT_SLOW_SKIP) || (f->overloads[0]->flags & MT_OPF_SILENT);
    bool disabled = mt_thread.override_disabled;
    int rc;

    b.n_tensors = b.n_objects = b.n_blocks = 0;
    mt_py_overloads_init(&b.overloads);
    if (skip) { /* the arguments are bound as if nothing overrode */
        mt_thread.slow &= ~(uint32_t)MT_SLOW_SKIP;
        mt_thread.override_disabled = true;
    }
    rc = choose_overload(&b, f, self, args, nargs, kwnames);
    mt_thread.override_disabled = disabled;
    if (rc == 1 && MT_UNLIKELY(b.call.op->flags & MT_OPF_DEPRECATED) && mt_py_warn_deprecated(f, b.call.op) < 0) {
        mt_bind_clear(&b);
        return mt_py_raise();
    }
    if (rc == 1) {
        if (MT_UNLIKELY(b.overloads.n > 0 || ((mt_thread.slow & MT_SLOW_MODE) && !skip)))
            result = mt_py_torch_function_call(f, &b.overloads, self, args, nargs, kwnames);
        else
            result = run(&b, f, self, args);
    } else if (rc == 0) {
        result = mt_py_bind_error(f, self, args, nargs, kwnames);
    }
    mt_bind_clear(&b);
    mt_py_overloads_clear(&b.overloads);
    return result;
}

PyObject *mt_py_call(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *result;

    if (!kwnames && !mt_thread.slow && nargs + (f->kind == MT_PY_METHOD) > 0 &&
        (f->overloads[0]->pointwise || (f->overloads[0]->flags & MT_OPF_VIEW)) &&
        mt_bind_short(&result, f, self, args, nargs))
        return result;
    return call_bound(f, self, args, nargs, kwnames);
}
