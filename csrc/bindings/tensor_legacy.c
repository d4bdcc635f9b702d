/* SPDX-License-Identifier: BSD-3-Clause */
/* The legacy constructors: torch.Tensor(...) and its subclasses, x.new(...), and torch.FloatTensor
   with its like. All take the same forms, tried in this order: nothing, a storage, a tensor, sizes,
   data. A tuple or list as the only positional argument is data, a torch.Size is a shape; so is a
   single integer. The type objects themselves are in tensor_types.c. */
#include "bindings/new_internal.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "ops.h"
#include "core/device_names.h"

/* What a constructor makes. */
typedef struct target {
    mt_dtype dtype;
    mt_device device;
    bool typed;     /* tensors of another dtype are refused */
    bool is_method; /* x.new(...) */
} target;

/* The arguments, sorted. */
typedef struct call {
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *device, *other; /* keywords; other is the value of size, data or storage */
    const char *other_name;
    PyObject *kwargs;
} call;

/* --- complaints --- */

static const char *short_type(PyObject *o)
{
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');

    return dot && strncmp(name, "numpy.", 6) != 0 && !mt_py_is_dtype(o) ? dot + 1 : name;
}

static int invalid_combination(const call *c)
{
    mt_strbuf s = MT_STRBUF_INIT;
    PyObject *name, *value;
    Py_ssize_t at = 0;
    bool first = true;

    mt_strbuf_puts(&s, "new() received an invalid combination of arguments - got (");
    for (Py_ssize_t i = 0; i < c->nargs; i++, first = false)
        mt_strbuf_printf(&s, "%s%s", first ? "" : ", ", short_type(c->args[i]));
    while (c->kwargs && PyDict_Next(c->kwargs, &at, &name, &value)) {
        const char *text = PyUnicode_AsUTF8(name);

        mt_strbuf_printf(&s, "%s%s=%s", first ? "" : ", ", text ? text : "?", short_type(value));
        first = false;
    }
    mt_strbuf_puts(&s, "), but expected one of:\n * (*, torch.device device = None)\n * (torch.Storage storage)\n"
                       " * (Tensor other)\n * (tuple of ints size, *, torch.device device = None)\n"
                       " * (object data, *, torch.device device = None)\n");
    PyErr_Clear();
    if (s.failed)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_TypeError, s.data);
    mt_strbuf_clear(&s);
    return -1;
}

/* --- sizes --- */

/* 1: an integer (not a bool, not a tensor with more than one element), 0: something else,
   -1: exception. */
static int as_size(int64_t *out, PyObject *o)
{
    PyObject *index;
    int rc = mt_py_to_int(out, o);

    if (rc != 0)
        return rc;
    if (PyBool_Check(o) || PyFloat_Check(o) || !PyIndex_Check(o))
        return 0;
    index = PyNumber_Index(o);
    if (!index) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        return 0;
    }
    rc = mt_py_to_int(out, index);
    Py_DECREF(index);
    return rc;
}

static int from_sizes(mt_tensor **out, const target *to, PyObject *const *items, Py_ssize_t n)
{
    int64_t size[MT_MAX_DIM];

    if (n > MT_MAX_DIM) {
        PyErr_SetString(PyExc_ValueError, "too many dimensions");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        int rc = as_size(&size[i], items[i]);

        if (rc < 0 && PyLong_Check(items[i]))
            PyErr_Format(PyExc_TypeError,
                         "new(): argument 'size' failed to unpack the object at pos %zd with error "
                         "\"Overflow when unpacking long long\"",
                         i + 1);
        if (rc == 0)
            PyErr_Format(PyExc_TypeError,
                         "new(): argument 'size' failed to unpack the object at pos %zd with error "
                         "\"type must be tuple of ints,but got %s\"",
                         i + 1, short_type(items[i]));
        if (rc != 1)
            return -1;
    }
    return mt_tensor_new(out, to->dtype, (int)n, size, to->device) < 0 ? mt_py_fail() : 0;
}

/* --- the forms --- */

static void options_text(char text[200], mt_dtype dtype, mt_device device)
{
    char where[24];

    PyOS_snprintf(text, 200,
                  "TensorOptions(dtype=%s, device=%s, layout=Strided, requires_grad=false "
                  "(default), pinned_memory=false (default), memory_format=(nullopt))",
                  mt_dtype_element(dtype), mt_device_format(where, device));
}

static int from_other_tensor(mt_tensor **out, const target *to, const call *c, PyObject *o)
{
    mt_tensor *t = mt_py_impl(o);

    if (c->device && c->device != Py_None) {
        PyErr_SetString(PyExc_RuntimeError,
                        to->is_method ? "Legacy tensor new of the form tensor.new(tensor, device=device) is not "
                                        "supported.  Use torch.as_tensor(...) instead."
                                      : "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is "
                                        "not supported.  Use torch.tensor(...) or torch.as_tensor(...) instead.");
        return -1;
    }
    if (to->typed && ((mt_dtype)t->dtype != to->dtype || t->device.type != to->device.type)) {
        char wanted[200], got[200];

        options_text(wanted, to->dtype, to->device);
        options_text(got, (mt_dtype)t->dtype, t->device);
        PyErr_Format(PyExc_TypeError, "expected %s (got %s)", wanted, got);
        return -1;
    }
    return mt_alias(out, t) < 0 ? mt_py_fail() : 0;
}

static int from_storage(mt_tensor **out, const target *to, PyObject *o)
{
    mt_dtype own;

    if (mt_py_storage_dtype(&own, o) < 0)
        return -1;
    if (own != MT_DTYPE_NONE && own != to->dtype) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected a Storage of type %s or an UntypedStorage, but got type %s for "
                     "argument 1 'storage'",
                     mt_dtype_table[to->dtype].legacy, mt_dtype_table[own].legacy);
        return -1;
    }
    return mt_py_tensor_from_storage(out, o, to->dtype);
}

static int from_data(mt_tensor **out, const target *to, PyObject *o)
{
    if (!PyUnicode_Check(o) && !PyBytes_Check(o) && !PySequence_Check(o)) {
        PyErr_Format(PyExc_TypeError, "new(): data must be a sequence (got %s)", Py_TYPE(o)->tp_name);
        return -1;
    }
    return mt_py_tensor_from_data(out, o, to->dtype, to->device, false) < 0 ? mt_py_fail() : 0;
}

static int check_device(const target *to, const call *c)
{
    mt_device d;
    int rc;

    if (!c->device || c->device == Py_None)
        return 0;
    rc = mt_py_to_device(&d, c->device);
    if (rc == 0)
        return invalid_combination(c);
    if (rc < 0)
        return -1;
    if (d.type == to->device.type)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "legacy constructor expects device type: %s but device type: %s was passed",
                 mt_device_names[to->device.type], mt_device_names[d.type]);
    return -1;
}

/* One value, positional or as data=. */
static int from_one(mt_tensor **out, const target *to, const call *c, PyObject *o, bool positional)
{
    int64_t n;
    int rc;

    if (mt_py_is_storage(o))
        return from_storage(out, to, o);
    if (mt_py_is_tensor(o))
        return from_other_tensor(out, to, c, o);
    if (check_device(to, c) < 0)
        return -1;
    if (Py_TYPE(o) == &mt_Size_Type)
        return from_sizes(out, to, &PyTuple_GET_ITEM(o, 0), PyTuple_GET_SIZE(o));
    if (positional && !PyList_CheckExact(o) && !PyTuple_Check(o)) {
        rc = PyLong_Check(o) && !PyBool_Check(o) ? 1 : as_size(&n, o);
        if (rc < 0)
            return -1;
        if (rc == 1)
            return from_sizes(out, to, &o, 1);
    }
    return from_data(out, to, o);
}

static int from_size_keyword(mt_tensor **out, const target *to, const call *c)
{
    PyObject *tuple;
    int rc;

    if (!PyTuple_Check(c->other) && !PyList_Check(c->other))
        return invalid_combination(c);
    if (check_device(to, c) < 0 || !(tuple = PySequence_Tuple(c->other)))
        return -1;
    rc = from_sizes(out, to, &PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple));
    Py_DECREF(tuple);
    return rc;
}

static int construct(mt_tensor **out, const target *to, const call *c)
{
    static const int64_t zero = 0;
    int64_t n;
    int rc;

    if (c->other && c->nargs > 0)
        return invalid_combination(c);
    if (c->other)
        return strcmp(c->other_name, "size") == 0 ? from_size_keyword(out, to, c)
                                                  : from_one(out, to, c, c->other, false);
    if (c->nargs == 1)
        return from_one(out, to, c, c->args[0], true);
    if (check_device(to, c) < 0)
        return -1;
    if (c->nargs == 0)
        return mt_tensor_new(out, to->dtype, 1, &zero, to->device) < 0 ? mt_py_fail() : 0;
    rc = as_size(&n, c->args[0]);
    if (rc != 1)
        return rc < 0 ? -1 : invalid_combination(c);
    return from_sizes(out, to, c->args, c->nargs);
}

/* --- sorting the arguments --- */

static int sort_arguments(call *c, PyObject *args, PyObject *kwargs)
{
    static const char *const others[] = {"size", "data", "other", "storage"};
    Py_ssize_t at = 0;
    PyObject *name, *value;

    memset(c, 0, sizeof(*c));
    c->args = &PyTuple_GET_ITEM(args, 0);
    c->nargs = PyTuple_GET_SIZE(args);
    c->kwargs = kwargs;
    while (kwargs && PyDict_Next(kwargs, &at, &name, &value)) {
        if (PyUnicode_CompareWithASCIIString(name, "device") == 0) {
            c->device = value;
            continue;
        }
        if (c->other)
            return invalid_combination(c);
        for (size_t i = 0; i < MT_COUNTOF(others) && !c->other; i++)
            if (PyUnicode_CompareWithASCIIString(name, others[i]) == 0) {
                c->other = value;
                c->other_name = others[i];
            }
        if (!c->other)
            return invalid_combination(c);
    }
    return 0;
}

static int make(mt_tensor **out, const target *to, PyObject *args, PyObject *kwargs)
{
    call c;

    *out = NULL;
    return sort_arguments(&c, args, kwargs) < 0 ? -1 : construct(out, to, &c);
}

PyObject *mt_py_legacy_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    target to = {mt_default_dtype(), MT_CPU, false, false};
    mt_tensor *t = NULL;

    if (make(&t, &to, args, kwargs) < 0)
        return NULL;
    return type == mt_tensor_type ? mt_py_wrap(t) : mt_py_wrap_as(t, type);
}

int mt_py_legacy_make(mt_tensor **out, mt_dtype dtype, mt_device device, PyObject *args, PyObject *kwargs)
{
    target to = {dtype, device, true, false};

    return make(out, &to, args, kwargs);
}

PyObject *mt_py_method_new(PyObject *self, PyObject *args, PyObject *kwargs)
{
    mt_tensor *own = mt_py_impl(self), *t = NULL;
    target to = {(mt_dtype)own->dtype, own->device, true, true};

    if (mt_py_needs_override(self)) {
        PyObject *func = PyObject_GetAttrString((PyObject *)&mt_TensorBase_Type, "new"), *result;

        result = func ? mt_py_receiver_override(func, self, args, kwargs) : NULL;
        Py_XDECREF(func);
        return result;
    }
    return make(&t, &to, args, kwargs) < 0 ? NULL : mt_py_wrap(t);
}
