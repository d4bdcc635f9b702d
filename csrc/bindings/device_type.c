/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.device: type and index, from a string, a number or both. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "bindings/torch_function.h"
#include "core/device_names.h"

typedef struct device_object {
    PyObject_HEAD mt_device device;
} device_object;

static mt_device default_device = {MT_DEVICE_CPU, -1};

mt_device mt_py_default_device(void)
{
    return default_device;
}

PyObject *mt_py_device_new(mt_device d)
{
    device_object *self;

    if (mt_device_is_none(d))
        Py_RETURN_NONE;
    self = PyObject_New(device_object, &mt_Device_Type);
    if (self)
        self->device = d;
    return (PyObject *)self;
}

mt_device mt_py_device_of(PyObject *o)
{
    return ((device_object *)o)->device;
}

static int parse_index(mt_device *out, const char *text, const char *digits)
{
    char *end;
    long index = strtol(digits, &end, 10);

    if (digits[0] < '0' || digits[0] > '9' || *end || (digits[0] == '0' && digits[1])) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
        return -1;
    }
    if (index > 127) {
        PyErr_Format(PyExc_RuntimeError, "Device index must be between 0 and 127, got %ld", index);
        return -1;
    }
    out->index = (int8_t)index;
    return 1;
}

static int raise_unknown_type(const char *text, size_t n)
{
    mt_strbuf s = MT_STRBUF_INIT;

    mt_strbuf_puts(&s, "Expected one of ");
    for (int i = 0; i < MT_DEVICE_NAME_COUNT; i++) {
        if (i == MT_DEVICE_META)
            continue; /* PyTorch's list has it behind mps */
        mt_strbuf_printf(&s, "%s%s", i ? ", " : "", mt_device_names[i]);
        if (strcmp(mt_device_names[i], "mps") == 0)
            mt_strbuf_printf(&s, ", %s", mt_device_names[MT_DEVICE_META]);
    }
    mt_strbuf_printf(&s, " device type at start of device string: %.*s", (int)(n < 64 ? n : 64), text);
    if (s.failed)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_RuntimeError, s.data);
    mt_strbuf_clear(&s);
    return -1;
}

static int parse(mt_device *out, const char *text)
{
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);

    if (!*text) {
        PyErr_SetString(PyExc_RuntimeError, "Device string must not be empty");
        return -1;
    }
    if (n == 0 || strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") < n) {
        PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%s'", text);
        return -1;
    }
    for (int i = 0; i < MT_DEVICE_NAME_COUNT; i++)
        if (strlen(mt_device_names[i]) == n && strncmp(text, mt_device_names[i], n) == 0) {
            out->type = (int8_t)i;
            out->index = -1;
            return colon ? parse_index(out, text, colon + 1) : 1;
        }
    return raise_unknown_type(text, n);
}

/* A bare number is a device of the accelerator, and there must be one. */
static int accelerator(mt_device *out, PyObject *number)
{
    long index = PyLong_AsLong(number);

    if (index == -1 && PyErr_Occurred())
        return -1;
    if (index < 0 || index > 127) {
        PyErr_Format(PyExc_RuntimeError, "Device index must be between 0 and 127, got %ld", index);
        return -1;
    }
    out->type = MT_DEVICE_CUDA;
    out->index = -1;
    if (mt_device_check(out) < 0) {
        mt_error_clear();
        PyErr_Clear();
        PyErr_Format(PyExc_RuntimeError, "device %ld: there is no accelerator here", index);
        return -1;
    }
    out->index = (int8_t)index;
    return 1;
}

int mt_py_to_device(mt_device *out, PyObject *o)
{
    if (Py_TYPE(o) == &mt_Device_Type) {
        *out = mt_py_device_of(o);
        return 1;
    }
    if (PyUnicode_Check(o)) {
        const char *text = PyUnicode_AsUTF8(o);

        return text ? parse(out, text) : -1;
    }
    return PyLong_Check(o) && !PyBool_Check(o) ? accelerator(out, o) : 0;
}

/* Adds what stands for a type, a device or an index without being one. */
static int ask(mt_py_overloads *list, PyObject *o)
{
    if (!o || PyUnicode_Check(o) || PyLong_Check(o) || Py_TYPE(o) == &mt_Device_Type || !mt_py_has_torch_function(o))
        return 0;
    return mt_py_overloads_add(list, o);
}

/* NULL without an exception where neither overrides. */
static PyObject *device_override(PyTypeObject *type, PyObject *first, PyObject *index, PyObject *args, PyObject *kwargs)
{
    PyObject *result = NULL;
    mt_py_overloads list;

    mt_py_overloads_init(&list);
    if (ask(&list, first) == 0 && ask(&list, index) == 0 && list.n > 0)
        result = mt_py_handle_override((PyObject *)type, &list, args, kwargs);
    mt_py_overloads_clear(&list);
    return result;
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *with_type[] = {"type", "index", NULL}, *with_device[] = {"device", NULL};
    PyObject *first = NULL, *index = NULL, *answer;
    mt_device d;
    int rc;

    if (mt_py_mode_is_active())
        return mt_py_object_override((PyObject *)type, Py_NewRef(args), kwargs);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O", with_type, &first, &index)) {
        PyErr_Clear();
        index = NULL;
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", with_device, &first))
            return NULL;
    }
    answer = device_override(type, first, index, args, kwargs);
    if (answer || PyErr_Occurred())
        return answer;
    rc = mt_py_to_device(&d, first);
    if (rc < 0)
        return NULL;
    if (rc == 0) {
        PyErr_Format(PyExc_TypeError, "device(): argument 'type' (position 1) must be str, not %s",
                     Py_TYPE(first)->tp_name);
        return NULL;
    }
    if (index && index != Py_None) {
        int64_t i;

        if (d.index >= 0) {
            PyErr_Format(PyExc_RuntimeError,
                         "type (string) must not include an index because index was passed "
                         "explicitly: %S",
                         first);
            return NULL;
        }
        rc = mt_py_to_int(&i, index);
        if (rc < 0)
            return NULL;
        if (rc == 0) {
            PyErr_Format(PyExc_TypeError, "device(): argument 'index' (position 2) must be int, not %s",
                         Py_TYPE(index)->tp_name);
            return NULL;
        }
        if (i < 0 || i > 127) {
            PyErr_SetString(PyExc_RuntimeError, "Device index must not be negative");
            return NULL;
        }
        d.index = (int8_t)i;
    }
    return mt_py_device_new(d);
}

static PyObject *device_repr(PyObject *o)
{
    mt_device d = mt_py_device_of(o);

    if (d.index >= 0)
        return PyUnicode_FromFormat("device(type='%s', index=%d)", mt_device_names[d.type], d.index);
    return PyUnicode_FromFormat("device(type='%s')", mt_device_names[d.type]);
}

static PyObject *device_str(PyObject *o)
{
    char text[24];

    return PyUnicode_FromString(mt_device_format(text, mt_py_device_of(o)));
}

static Py_hash_t device_hash(PyObject *o)
{
    mt_device d = mt_py_device_of(o);

    return d.type * 1000 + d.index + 7;
}

static PyObject *device_compare(PyObject *a, PyObject *b, int op)
{
    bool same;

    if (Py_TYPE(a) != &mt_Device_Type || Py_TYPE(b) != &mt_Device_Type || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    same = mt_device_equal(mt_py_device_of(a), mt_py_device_of(b));
    return PyBool_FromLong(same == (op == Py_EQ));
}

static PyObject *device_type(PyObject *o, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(mt_device_names[mt_py_device_of(o).type]);
}

static PyObject *device_index(PyObject *o, void *closure)
{
    int index = mt_py_device_of(o).index;

    (void)closure;
    if (index < 0)
        Py_RETURN_NONE;
    return PyLong_FromLong(index);
}

static PyObject *device_reduce(PyObject *o, PyObject *unused)
{
    mt_device d = mt_py_device_of(o);

    (void)unused;
    if (d.index < 0)
        return Py_BuildValue("O(s)", &mt_Device_Type, mt_device_names[d.type]);
    return Py_BuildValue("O(si)", &mt_Device_Type, mt_device_names[d.type], (int)d.index);
}

static PyObject *device_module(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    return PyUnicode_FromString("minitorch");
}

/* As a context manager a device is the default of factories inside; the mode itself is Python. */
static PyObject *device_context(PyObject *o, const char *action)
{
    PyObject *module = PyImport_ImportModule("minitorch.utils._device"), *result;

    if (!module)
        return NULL;
    result = PyObject_CallMethod(module, action, "O", o);
    Py_DECREF(module);
    return result;
}

static PyObject *device_enter(PyObject *o, PyObject *unused)
{
    (void)unused;
    return device_context(o, "_enter_device");
}

static PyObject *device_exit(PyObject *o, PyObject *args)
{
    (void)args;
    return device_context(o, "_exit_device");
}

static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {"__enter__", device_enter, METH_NOARGS, NULL},
    {"__exit__", device_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef device_getset[] = {
    {"type", device_type, NULL, NULL, NULL},
    {"index", device_index, NULL, NULL, NULL},
    {"__module__", device_module, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject mt_Device_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.device",
    .tp_basicsize = sizeof(device_object),
    .tp_repr = device_repr,
    .tp_str = device_str,
    .tp_hash = device_hash,
    .tp_richcompare = device_compare,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = device_methods,
    .tp_getset = device_getset,
    .tp_new = device_new,
    .tp_doc = "device(type, index=None): where a tensor's memory is.",
};

int mt_py_device_init(PyObject *module)
{
    if (PyType_Ready(&mt_Device_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "device", (PyObject *)&mt_Device_Type);
}
