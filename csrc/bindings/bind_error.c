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

/* A comparison, say, that here is one signature and in PyTorch two: with a Tensor and with a Number. */
static bool is_two(const mt_py_func *f, const mt_op *op)
{
    static const char *const one[] = {"add", "sub", "mul", "div"};
    size_t n = strlen(f->name);

    if (op->n_args < 2 || op->args[1].kind != MT_ARG_TENSOR || !(op->args[1].flags & MT_ARGF_NUMBER))
        return false;
    n -= n > 0 && f->name[n - 1] == '_';
    for (size_t i = 0; i < MT_COUNTOF(one); i++)
        if (strlen(one[i]) == n && strncmp(f->name, one[i], n) == 0)
            return false;
    return true;
}

/* "(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)"; number: the second argument is one. */
static void put_signature(mt_strbuf *s, const mt_py_func *f, const mt_op *op, bool number)
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
        mt_strbuf_printf(s, "%s%s %s", first ? "" : ", ", number && k == 1 ? "Number" : kind_text(spec),
                         shown_name(f, op, k));
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
    static bool done; /* for all functions together, as in PyTorch */
    mt_strbuf s = MT_STRBUF_INIT;
    int rc = -1;

    if (done && !mt_warn_get_always())
        return 0;
    mt_strbuf_printf(&s, "This overload of %s is deprecated:\n\t%s", f->name, f->name);
    put_signature(&s, f, op, false);
    for (int i = 0; i < f->n_overloads; i++)
        if (!(f->overloads[i]->flags & MT_OPF_DEPRECATED)) {
            mt_strbuf_printf(&s, "\nUse\n\t%s", f->name);
            put_signature(&s, f, f->overloads[i], false);
            break;
        }
    if (s.failed)
        mt_error_set(MT_ERR_MEMORY, "%s(): out of memory", f->name);
    else
        rc = mt_warn_once(&done, MT_WARN_USER, s.data);
    mt_strbuf_clear(&s);
    return rc;
}

/* --- what was given --- */

typedef struct given {
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;
} given;

static Py_ssize_t n_keywords(const given *g)
{
    return g->kwnames ? PyTuple_GET_SIZE(g->kwnames) : 0;
}

/* The value for argument k of `op`, by position or keyword; NULL. position: from 1, 0 for a keyword. */
static PyObject *value_for(const mt_py_func *f, const mt_op *op, int k, const given *g, Py_ssize_t *position)
{
    int at = k - (f->kind == MT_PY_METHOD);
    Py_ssize_t i;

    *position = 0;
    if (at < g->nargs && k < op->n_positional) {
        *position = at + 1;
        return g->args[at];
    }
    i = g->kwnames ? mt_py_find_keyword(f, op, k, g->kwnames) : -1;
    return i < 0 ? NULL : g->args[g->nargs + i];
}

/* May the positional arguments be one size list? */
static bool is_spread(const mt_py_func *f, const mt_op *op, const given *g)
{
    int n_own = f->kind == MT_PY_METHOD;

    return op->n_positional - n_own == 1 && op->args[n_own].kind == MT_ARG_INTS && g->nargs > 0 &&
           !PyTuple_Check(g->args[0]) && !PyList_Check(g->args[0]);
}

static int fits(const mt_arg_spec *spec, const mt_op *op, PyObject *value)
{
    mt_bind b;
    int rc;

    b.n_tensors = b.n_objects = b.n_blocks = b.n_ints = 0;
    b.tensor_as_number = false;
    mt_py_overloads_init(&b.overloads);
    mt_call_init(&b.call, op, MT_VARIANT_FUNCTION);
    rc = mt_bind_value(&b, spec, &b.call.arg[spec->index], value);
    mt_bind_clear(&b);
    mt_py_overloads_clear(&b.overloads);
    if (rc < 0 && mt_py_is_range_error()) { /* its type is right */
        PyErr_Clear();
        return 1;
    }
    return rc;
}

/* "str", "list of [int, str]" */
static void put_type(mt_strbuf *s, PyObject *o)
{
    bool list = PyList_Check(o);

    if (!list && !PyTuple_Check(o)) {
        mt_strbuf_puts(s, shown_type(o));
        return;
    }
    mt_strbuf_puts(s, list ? "list of [" : "tuple of (");
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o) && i < 20; i++)
        mt_strbuf_printf(s, "%s%s", i ? ", " : "", shown_type(PySequence_Fast_GET_ITEM(o, i)));
    mt_strbuf_puts(s, list ? "]" : PyTuple_GET_SIZE(o) == 1 ? ",)" : ")");
}

/* --- one signature --- */

/* The first element of a list argument, when it is what does not fit. */
static bool put_bad_element(mt_strbuf *s, const mt_arg_spec *spec, PyObject *value)
{
    PyObject *item;
    bool good;

    if ((!PyTuple_Check(value) && !PyList_Check(value)) || PySequence_Fast_GET_SIZE(value) == 0)
        return false;
    item = PySequence_Fast_GET_ITEM(value, 0);
    good = spec->kind == MT_ARG_INTS    ? PyLong_Check(item) && !PyBool_Check(item)
           : spec->kind == MT_ARG_BOOLS ? PyBool_Check(item)
                                        : PyFloat_Check(item) || PyLong_Check(item);
    if (!good)
        mt_strbuf_printf(s, "%s, but found element of type %s at pos 0", kind_text(spec), shown_type(item));
    return !good;
}

static bool is_list_kind(int kind)
{
    return kind == MT_ARG_TENSORS || kind == MT_ARG_INTS || kind == MT_ARG_FLOATS || kind == MT_ARG_BOOLS;
}

/* Unlike numbers, tensors in a list are looked at one by one. */
static PyObject *raise_bad_tensor(const mt_py_func *f, int k, PyObject *list)
{
    Py_ssize_t i = 0, n = PySequence_Fast_GET_SIZE(list);

    while (i < n && mt_py_is_tensor(PySequence_Fast_GET_ITEM(list, i)))
        i++;
    return PyErr_Format(PyExc_TypeError, "%s(): expected Tensor as element %zd in argument %d, but got %s", f->name, i,
                        k - (f->kind == MT_PY_METHOD), i < n ? shown_type(PySequence_Fast_GET_ITEM(list, i)) : "none");
}

static PyObject *raise_bad_value(const mt_py_func *f, const mt_op *op, int k, Py_ssize_t position, PyObject *value)
{
    mt_strbuf s = MT_STRBUF_INIT;
    const mt_arg_spec *spec = &op->args[k];

    if (spec->kind == MT_ARG_TENSORS && (PyList_Check(value) || PyTuple_Check(value)))
        return raise_bad_tensor(f, k, value);
    mt_strbuf_printf(&s, "%s(): argument '%s' ", f->name, shown_name(f, op, k));
    if (position > 0)
        mt_strbuf_printf(&s, "(position %zd) ", position);
    mt_strbuf_puts(&s, "must be ");
    if (!is_list_kind(spec->kind) || !put_bad_element(&s, spec, value))
        mt_strbuf_printf(&s, "%s, not %s", kind_text(spec), shown_type(value));
    if (!s.failed)
        PyErr_SetString(PyExc_TypeError, s.data);
    else
        PyErr_NoMemory();
    mt_strbuf_clear(&s);
    return NULL;
}

/* From argument k on, those that must be given. */
static PyObject *raise_missing(const mt_py_func *f, const mt_op *op, int k)
{
    mt_strbuf s = MT_STRBUF_INIT;
    int n = 0;

    for (; k < op->n_args; k++)
        if (!(op->args[k].flags & MT_ARGF_DEFAULT))
            mt_strbuf_printf(&s, "%s\"%s\"", n++ ? ", " : "", shown_name(f, op, k));
    /* the plural is where PyTorch has it */
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional argument%s: %s", f->name, n, n == 1 ? "s" : "",
                 s.data ? s.data : "");
    mt_strbuf_clear(&s);
    return NULL;
}

static PyObject *raise_too_many(const mt_py_func *f, const mt_op *op, Py_ssize_t nargs)
{
    int least = 0, most = op->n_positional - (f->kind == MT_PY_METHOD);
    const char *were = nargs == 1 ? "was" : "were";

    for (int k = f->kind == MT_PY_METHOD; k < op->n_positional; k++)
        least += !(op->args[k].flags & MT_ARGF_DEFAULT);
    if (least != most)
        return PyErr_Format(PyExc_TypeError, "%s() takes from %d to %d positional arguments but %zd %s given", f->name,
                            least, most, nargs, were);
    return PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", f->name, most,
                        most == 1 ? "" : "s", nargs, were);
}

static PyObject *raise_bad_out(const mt_py_func *f, const mt_op *op, PyObject *out)
{
    if (op->n_outs == 1)
        return PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be Tensor, not %s", f->name, shown_type(out));
    if (!PyTuple_Check(out) && !PyList_Check(out))
        return PyErr_Format(PyExc_TypeError, "%s(): argument 'out' must be tuple of Tensors, not %s", f->name,
                            shown_type(out));
    if (PySequence_Fast_GET_SIZE(out) != op->n_outs)
        return PyErr_Format(PyExc_TypeError, "%s(): argument 'out': expected tuple of %d elements but got %zd", f->name,
                            op->n_outs, PySequence_Fast_GET_SIZE(out));
    for (Py_ssize_t i = 0; i < op->n_outs; i++)
        if (!mt_py_is_tensor(PySequence_Fast_GET_ITEM(out, i)))
            return PyErr_Format(PyExc_TypeError, "%s(): argument 'out': expected Tensor as element %zd, but got %s",
                                f->name, i, shown_type(PySequence_Fast_GET_ITEM(out, i)));
    return NULL;
}

/* Which argument of `op` keyword i names, in any spelling; n_args for none. */
static int keyword_argument(const mt_py_func *f, const mt_op *op, const given *g, Py_ssize_t i)
{
    int k = f->kind == MT_PY_METHOD;

    while (k < op->n_args && mt_py_find_keyword(f, op, k, g->kwnames) != i)
        k++;
    return k;
}

/* Keywords that are no argument, or one that is given already; out= and requires_grad= of a wrong type. */
static PyObject *raise_keyword(const mt_py_func *f, const mt_op *op, const given *g)
{
    for (Py_ssize_t i = 0; i < n_keywords(g); i++) {
        PyObject *name = PyTuple_GET_ITEM(g->kwnames, i), *value = g->args[g->nargs + i];
        int k = keyword_argument(f, op, g, i);

        if (k < op->n_args) {
            if (k - (f->kind == MT_PY_METHOD) >= g->nargs || k >= op->n_positional)
                continue;
            if (PyUnicode_CompareWithASCIIString(name, shown_name(f, op, k)) == 0)
                return PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", f->name, name);
        }
        if ((op->flags & MT_OPF_FACTORY) && PyUnicode_CompareWithASCIIString(name, "requires_grad") == 0) {
            if (!PyBool_Check(value) && value != Py_None)
                return PyErr_Format(PyExc_TypeError, "%s(): argument 'requires_grad' must be bool, not %s", f->name,
                                    shown_type(value));
            continue;
        }
        if ((f->flags & MT_PY_HAS_OUT) && (op->flags & MT_OPF_OUT_OK) &&
            PyUnicode_CompareWithASCIIString(name, "out") == 0) {
            if (value != Py_None)
                raise_bad_out(f, op, value);
            if (PyErr_Occurred())
                return NULL;
            continue;
        }
        return PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f->name, name);
    }
    return PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments", f->name);
}

/* Exactly one signature: name the first thing that is wrong with it. */
static PyObject *raise_single(const mt_py_func *f, const mt_op *op, const given *g)
{
    int n_own = f->kind == MT_PY_METHOD;
    bool spread = is_spread(f, op, g);

    if (n_own && op->n_args == 1 && n_keywords(g) > 0)
        return PyErr_Format(PyExc_TypeError, "TensorBase.%s() takes no keyword arguments", f->name);
    if (n_own && op->n_args == 1)
        return PyErr_Format(PyExc_TypeError, "TensorBase.%s() takes no arguments (%zd given)", f->name, g->nargs);
    if (g->nargs > op->n_positional - n_own && !(spread && fits(&op->args[n_own], op, g->args[0]) != 1 &&
                                                 (PyLong_Check(g->args[0]) && !PyBool_Check(g->args[0]))))
        return raise_too_many(f, op, g->nargs);
    for (int k = n_own; k < op->n_args; k++) {
        Py_ssize_t position;
        PyObject *value = value_for(f, op, k, g, &position);
        int rc;

        if (!value && !(op->args[k].flags & MT_ARGF_DEFAULT))
            return raise_missing(f, op, k);
        if (!value || (spread && k == n_own && PyLong_Check(value) && !PyBool_Check(value)))
            continue;
        rc = fits(&op->args[k], op, value);
        if (rc != 1)
            return rc < 0 ? NULL : raise_bad_value(f, op, k, position, value);
    }
    return raise_keyword(f, op, g);
}

/* --- several signatures --- */

/* The types of what was given; with `op`, marked where they do not fit it. */
static void put_given(mt_strbuf *s, const mt_py_func *f, const mt_op *op, const given *g)
{
    int n_own = f->kind == MT_PY_METHOD;

    for (Py_ssize_t i = 0; i < g->nargs + n_keywords(g); i++) {
        PyObject *value = g->args[i];
        const char *mark = "";

        if (i)
            mt_strbuf_puts(s, ", ");
        if (i >= g->nargs) {
            const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(g->kwnames, i - g->nargs));

            mt_strbuf_printf(s, "%s=", name ? name : "?");
        }
        for (int k = n_own; op && k < op->n_args; k++) {
            Py_ssize_t position;

            mark = "!";
            if (value_for(f, op, k, g, &position) == value && fits(&op->args[k], op, value) == 1) {
                mark = "";
                break;
            }
            PyErr_Clear();
        }
        mt_strbuf_puts(s, mark);
        if (op)
            put_type(s, value);
        else
            mt_strbuf_puts(s, shown_type(value));
        mt_strbuf_puts(s, mark);
    }
    PyErr_Clear();
}

/* Keywords the signature does not know, or else which arguments have a wrong type; only where the number of arguments is
   that of the signature. */
static void put_hint(mt_strbuf *s, const mt_py_func *f, const mt_op *op, const given *g)
{
    int expected = op->n_args - (f->kind == MT_PY_METHOD), n_wrong = 0;

    if (g->nargs + n_keywords(g) != expected)
        return;
    for (Py_ssize_t i = 0; i < n_keywords(g); i++) {
        if (keyword_argument(f, op, g, i) < op->n_args)
            continue;
        mt_strbuf_puts(s, n_wrong++ ? ", " : "\n      didn't match because some of the keywords were incorrect: ");
        mt_strbuf_puts(s, PyUnicode_AsUTF8(PyTuple_GET_ITEM(g->kwnames, i)));
    }
    if (n_wrong)
        return;
    mt_strbuf_puts(s, "\n      didn't match because some of the arguments have invalid types: (");
    put_given(s, f, op, g);
    mt_strbuf_puts(s, ")");
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
        if (found || is_two(f, op))
            return NULL;
        found = op;
    }
    return found;
}

/* One signature in all, and a keyword that it does not have: its name. NULL: none. */
static PyObject *unknown_keyword(const mt_py_func *f, const mt_op *op, const given *g)
{
    for (Py_ssize_t i = 0; i < n_keywords(g); i++) {
        PyObject *name = PyTuple_GET_ITEM(g->kwnames, i);

        if (keyword_argument(f, op, g, i) == op->n_args && PyUnicode_CompareWithASCIIString(name, "out") != 0)
            return name;
    }
    return NULL;
}

/* out= is a tuple, and there is a signature with several results. */
static bool raise_out_tuple(const mt_py_func *f, const given *g)
{
    for (Py_ssize_t i = 0; i < n_keywords(g); i++) {
        PyObject *value = g->args[g->nargs + i];

        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(g->kwnames, i), "out") != 0 ||
            !(PyTuple_Check(value) || PyList_Check(value)) || !(f->flags & MT_PY_HAS_OUT))
            continue;
        for (int k = 0; k < f->n_overloads && !PyErr_Occurred(); k++)
            if (f->overloads[k]->n_outs > 1)
                raise_bad_out(f, f->overloads[k], value);
    }
    return PyErr_Occurred() != NULL;
}

static PyObject *raise_no_match(const mt_py_func *f, const given *g)
{
    mt_strbuf s = MT_STRBUF_INIT;
    const mt_op *shown = NULL;
    int n_shown = 0;

    for (int i = 0; i < f->n_overloads; i++)
        if (!(f->overloads[i]->flags & MT_OPF_DEPRECATED)) {
            shown = f->overloads[i];
            n_shown += 1 + is_two(f, shown);
        }
    if (n_shown == 1 && unknown_keyword(f, shown, g))
        return PyErr_Format(
            PyExc_TypeError,
            "%s() received an invalid combination of arguments - got unrecognized keyword arguments: %U", f->name,
            unknown_keyword(f, shown, g));
    mt_strbuf_printf(&s, "%s() received an invalid combination of arguments - got (", f->name);
    put_given(&s, f,
              n_shown == 1 && g->nargs + n_keywords(g) == shown->n_args + 1 - (f->kind == MT_PY_METHOD) ? shown : NULL,
              g);
    mt_strbuf_puts(&s, n_shown == 1 ? "), but expected " : "), but expected one of:");
    for (int i = 0; i < f->n_overloads; i++) {
        const mt_op *op = f->overloads[i];

        if (op->flags & MT_OPF_DEPRECATED)
            continue;
        for (int number = 0; number <= is_two(f, op); number++) {
            mt_strbuf_puts(&s, n_shown == 1 ? "" : "\n * ");
            put_signature(&s, f, op, number);
            if (n_shown > 1)
                put_hint(&s, f, op, g);
        }
    }
    mt_strbuf_puts(&s, n_shown == 1 ? "" : "\n");
    if (s.failed)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_TypeError, s.data);
    mt_strbuf_clear(&s);
    return NULL;
}

PyObject *mt_py_bind_error(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames)
{
    given g = {args, nargs, kwnames};
    const mt_op *only;

    (void)self;
    if (PyErr_Occurred())
        return NULL;
    only = f->n_overloads == 1 && !is_two(f, f->overloads[0]) ? f->overloads[0] : plausible(f, nargs + n_keywords(&g));
    if (only)
        return raise_single(f, only, &g);
    return raise_out_tuple(f, &g) ? NULL : raise_no_match(f, &g);
}
