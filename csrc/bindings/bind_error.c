/* SPDX-License-Identifier: BSD-3-Clause */
/* The cold side of the binder: why a call fits no overload, in PyTorch's words. Also the struct sequence
   types of multi-output results. */
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "bindings/bind_internal.h"

static const char *kind_text(const mt_arg_spec *spec)
{
    switch (spec->kind) {
    case MT_ARG_TENSOR:
        return "Tensor";
    case MT_ARG_TENSORS:
        return "tuple of Tensors";
    case MT_ARG_SCALAR:
        return "Number";
    case MT_ARG_INT:
        return "int";
    case MT_ARG_FLOAT:
        return "float";
    case MT_ARG_BOOL:
        return "bool";
    case MT_ARG_INTS:
        return "tuple of ints";
    case MT_ARG_FLOATS:
        return "tuple of floats";
    case MT_ARG_SCALARS:
        return "tuple of Scalars";
    case MT_ARG_BOOLS:
        return "tuple of bools";
    case MT_ARG_STR:
        return "str";
    case MT_ARG_DTYPE:
        return "torch.dtype";
    case MT_ARG_LAYOUT:
        return "torch.layout";
    case MT_ARG_DEVICE:
        return "torch.device";
    case MT_ARG_MEMORY_FORMAT:
        return "torch.memory_format";
    case MT_ARG_GENERATOR:
        return "torch.Generator";
    default:
        return "Storage";
    }
}

static const char *shown_name(const mt_py_func *f, const mt_op *op, int k)
{
    return k == 0 && f->kind == MT_PY_FUNCTION && strcmp(op->args[0].name, "self") == 0 ? "input" : op->args[k].name;
}

static const char *shown_type(PyObject *o)
{
    static const char own[] = "minitorch.";
    const char *name = Py_TYPE(o)->tp_name;

    /* messages say torch.Size and torch.dtype, as the words of the signatures do */
    return strncmp(name, own, sizeof(own) - 1) == 0 ? name + sizeof("mini") - 1 : name;
}

/* "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)" */
static void put_signature(mt_strbuf *s, const mt_py_func *f, const mt_op *op)
{
    bool star = false, first = true;

    mt_strbuf_puts(s, "(");
    for (int k = f->kind == MT_PY_METHOD; k < op->n_args; k++) {
        const mt_arg_spec *spec = &op->args[k];

        if ((spec->flags & MT_ARGF_KEYWORD) && !star) {
            mt_strbuf_puts(s, first ? "*" : ", *");
            star = true;
            first = false;
        }
        mt_strbuf_printf(s, "%s%s %s", first ? "" : ", ", kind_text(spec), shown_name(f, op, k));
        if (spec->flags & MT_ARGF_DEFAULT)
            mt_strbuf_printf(s, " = %s", spec->dflt_text);
        first = false;
    }
    if ((f->flags & MT_PY_HAS_OUT) && (op->flags & MT_OPF_OUT_OK))
        mt_strbuf_printf(s, "%s%s out = None",
                         star    ? ", "
                         : first ? "*, "
                                 : ", *, ",
                         op->n_outs == 1 ? "Tensor" : "tuple of Tensors");
    mt_strbuf_puts(s, ")");
}

int mt_py_warn_deprecated(const mt_py_func *f, const mt_op *op)
{
    static bool *done; /* by function */
    mt_strbuf s = MT_STRBUF_INIT;
    int rc = -1;

    if (!done && !(done = PyMem_Calloc((size_t)mt_py_func_count, sizeof(*done))))
        return mt_error_set(MT_ERR_MEMORY, "%s(): out of memory", f->name);
    if (done[f->id] && !mt_warn_get_always())
        return 0;
    mt_strbuf_printf(&s, "This overload of %s is deprecated:\n\t%s", f->name, f->name);
    put_signature(&s, f, op);
    for (int i = 0; i < f->n_overloads; i++)
        if (!(f->overloads[i]->flags & MT_OPF_DEPRECATED)) {
            mt_strbuf_printf(&s, "\nUse\n\t%s", f->name);
            put_signature(&s, f, f->overloads[i]);
            break;
        }
    if (s.failed)
        mt_error_set(MT_ERR_MEMORY, "%s(): out of memory", f->name);
    else
        rc = mt_warn_once(&done[f->id], MT_WARN_USER, s.data);
    mt_strbuf_clear(&s);
    return rc;
}

/* Index of the argument of `op` that a keyword names, or -1. */
static int keyword_index(const mt_py_func *f, const mt_op *op, PyObject *name)
{
    for (int k = f->kind == MT_PY_METHOD; k < op->n_args; k++)
        if (PyUnicode_CompareWithASCIIString(name, shown_name(f, op, k)) == 0)
            return k;
    return -1;
}

/* The element of a list argument that does not fit. */
static bool put_bad_element(mt_strbuf *s, const mt_arg_spec *spec, PyObject *value)
{
    if (!PyTuple_Check(value) && !PyList_Check(value))
        return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(value, i);
        bool fits = spec->kind == MT_ARG_TENSORS ? mt_py_is_tensor(item)
                    : spec->kind == MT_ARG_INTS  ? PyLong_Check(item) && !PyBool_Check(item)
                                                 : PyFloat_Check(item) || PyLong_Check(item);

        if (!fits) {
            mt_strbuf_printf(s, "%s, but found element of type %s at pos %zd", kind_text(spec), shown_type(item), i);
            return true;
        }
    }
    return false;
}

static PyObject *raise_bad_value(const mt_py_func *f, const mt_op *op, int k, Py_ssize_t position, PyObject *value)
{
    mt_strbuf s = MT_STRBUF_INIT;
    const mt_arg_spec *spec = &op->args[k];

    mt_strbuf_printf(&s, "%s(): argument '%s' ", f->name, shown_name(f, op, k));
    if (position > 0)
        mt_strbuf_printf(&s, "(position %zd) ", position);
    mt_strbuf_puts(&s, "must be ");
    if (!put_bad_element(&s, spec, value))
        mt_strbuf_printf(&s, "%s, not %s", kind_text(spec), shown_type(value));
    if (!s.failed)
        PyErr_SetString(PyExc_TypeError, s.data);
    else
        PyErr_NoMemory();
    mt_strbuf_clear(&s);
    return NULL;
}

static PyObject *raise_missing(const mt_py_func *f, const mt_op *op, uint32_t given)
{
    mt_strbuf s = MT_STRBUF_INIT;
    int n = 0;

    for (int k = f->kind == MT_PY_METHOD; k < op->n_args; k++)
        if (!(given >> k & 1) && !(op->args[k].flags & MT_ARGF_DEFAULT)) {
            mt_strbuf_printf(&s, "%s\"%s\"", n ? ", " : "", shown_name(f, op, k));
            n++;
        }
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional arguments: %s", f->name, n,
                 s.data ? s.data : "");
    mt_strbuf_clear(&s);
    return NULL;
}

/* Exactly one signature: name the first thing that is wrong with it. */
static PyObject *raise_single(const mt_py_func *f, const mt_op *op, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    int n_own = f->kind == MT_PY_METHOD, n_slots = op->n_positional - n_own;
    uint32_t given = 0;
    mt_bind b;
    bool spread = n_slots == 1 && op->args[n_own].kind == MT_ARG_INTS && nargs > 0 && !PyTuple_Check(args[0]) &&
                  !PyList_Check(args[0]);

    if (nargs > n_slots && !spread) {
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", f->name, n_slots,
                     n_slots == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
        return NULL;
    }
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int k = keyword_index(f, op, name);

        if (k >= 0 && k < n_own + nargs && k < op->n_positional) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", f->name, name);
            return NULL;
        }
        if (k >= 0)
            given |= 1u << k;
    }
    for (Py_ssize_t i = 0; i < nargs && i < n_slots; i++)
        given |= 1u << (n_own + i);
    for (int k = n_own; k < op->n_args; k++)
        if (!(given >> k & 1) && !(op->args[k].flags & MT_ARGF_DEFAULT))
            return raise_missing(f, op, given);
    b.n_tensors = b.n_objects = b.n_blocks = b.n_ints = b.n_overloaded = 0;
    mt_call_init(&b.call, op, MT_VARIANT_FUNCTION);
    for (int k = n_own; k < op->n_args; k++) {
        PyObject *value = NULL;
        Py_ssize_t position = 0;
        int rc;

        if (k - n_own < nargs && k < op->n_positional) {
            value = args[k - n_own];
            position = k - n_own + 1;
        }
        for (Py_ssize_t i = 0; !value && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
            if (keyword_index(f, op, PyTuple_GET_ITEM(kwnames, i)) == k)
                value = args[nargs + i];
        if (!value)
            continue;
        if (spread && k == n_own)
            rc = mt_bind_spread(&b, &op->args[k], args, nargs);
        else
            rc = mt_bind_value(&b, &op->args[k], &b.call.arg[k], value);
        if (rc != 1) {
            mt_bind_clear(&b);
            return rc < 0 ? NULL : raise_bad_value(f, op, k, position, value);
        }
    }
    mt_bind_clear(&b);
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);

        if (keyword_index(f, op, name) < 0 && PyUnicode_CompareWithASCIIString(name, "out") != 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, name);
            return NULL;
        }
    }
    PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments", f->name);
    return NULL;
}

/* The one overload that takes so many arguments, deprecated ones aside; NULL when there are more or none. */
static const mt_op *plausible(const mt_py_func *f, Py_ssize_t n)
{
    const mt_op *found = NULL;

    for (int i = 0; i < f->n_overloads; i++) {
        const mt_op *op = f->overloads[i];
        int least = 0, most = op->n_args - (f->kind == MT_PY_METHOD);

        if (op->flags & MT_OPF_DEPRECATED)
            continue;
        for (int k = f->kind == MT_PY_METHOD; k < op->n_args; k++)
            least += !(op->args[k].flags & MT_ARGF_DEFAULT);
        most += (f->flags & MT_PY_HAS_OUT) && (op->flags & MT_OPF_OUT_OK);
        if (n < least || n > most)
            continue;
        if (found)
            return NULL;
        found = op;
    }
    return found;
}

PyObject *mt_py_bind_error(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    mt_strbuf s = MT_STRBUF_INIT;
    Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    int n_shown = 0;

    (void)self;
    if (PyErr_Occurred())
        return NULL;
    if (f->n_overloads == 1)
        return raise_single(f, f->overloads[0], args, nargs, kwnames);
    if (plausible(f, nargs + n_kw))
        return raise_single(f, plausible(f, nargs + n_kw), args, nargs, kwnames);
    mt_strbuf_printf(&s, "%s() received an invalid combination of arguments - got (", f->name);
    for (Py_ssize_t i = 0; i < nargs; i++)
        mt_strbuf_printf(&s, "%s%s", i ? ", " : "", shown_type(args[i]));
    for (Py_ssize_t i = 0; i < n_kw; i++) {
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i));

        mt_strbuf_printf(&s, "%s%s=%s", i || nargs ? ", " : "", name ? name : "?", shown_type(args[nargs + i]));
    }
    PyErr_Clear();
    for (int i = 0; i < f->n_overloads; i++)
        n_shown += !(f->overloads[i]->flags & MT_OPF_DEPRECATED);
    mt_strbuf_puts(&s, n_shown == 1 ? "), but expected " : "), but expected one of:");
    for (int i = 0; i < f->n_overloads; i++) {
        if (f->overloads[i]->flags & MT_OPF_DEPRECATED)
            continue;
        mt_strbuf_puts(&s, n_shown == 1 ? "" : "\n * ");
        put_signature(&s, f, f->overloads[i]);
    }
    mt_strbuf_puts(&s, n_shown == 1 ? "" : "\n");
    if (s.failed)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_TypeError, s.data);
    mt_strbuf_clear(&s);
    return NULL;
}
