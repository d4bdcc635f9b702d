/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.FloatTensor, torch.cuda.LongTensor and so on: types that have no objects of their own. Each
   is an instance of the metaclass torch.tensortype; calling it makes a plain tensor of its dtype,
   isinstance(x, torch.FloatTensor) asks for dtype and device, and names it does not know are looked
   up in the class Tensor. They are made when first asked for and kept for good. */
#include "bindings/new_internal.h"

#include <string.h>

#include "base/error.h"
#include "ops.h"

typedef struct tensor_type {
    PyTypeObject type;
    mt_dtype dtype;
    mt_device device;
    char name[32];
} tensor_type;

static tensor_type types[2][MT_DTYPE_LOOPS]; /* cpu, cuda */

static PyTypeObject TensorType_Meta;

static bool has_type(mt_dtype d)
{
    return !mt_dtype_is_complex(d) && !mt_dtype_is_shell(d);
}

bool mt_py_tensor_type_info(PyObject *o, mt_dtype *dtype, mt_device *device)
{
    if (Py_TYPE(o) != &TensorType_Meta)
        return false;
    *dtype = ((tensor_type *)o)->dtype;
    *device = ((tensor_type *)o)->device;
    return true;
}

/* --- behaviour --- */

static PyObject *call_type(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    tensor_type *self = (tensor_type *)type;
    mt_device device = self->device;
    mt_tensor *t = NULL;

    if (device.type == MT_DEVICE_CUDA && mt_device_check(&device) < 0) {
        mt_error_clear();
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "type %s not available. Torch not compiled with CUDA enabled.", self->name);
        return NULL;
    }
    if (mt_py_legacy_make(&t, self->dtype, device, args, kwargs) < 0)
        return NULL;
    return mt_py_wrap(t);
}

static PyObject *instance_check(PyObject *o, PyObject *x)
{
    tensor_type *self = (tensor_type *)o;
    mt_tensor *t;

    if (!mt_py_is_tensor(x))
        Py_RETURN_FALSE;
    t = mt_py_impl(x);
    return PyBool_FromLong((mt_dtype)t->dtype == self->dtype && t->device.type == self->device.type);
}

static PyObject *get_attribute(PyObject *o, PyObject *name)
{
    PyObject *value = PyType_Type.tp_getattro(o, name);
    const char *text;

    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError) || !mt_tensor_type || !(text = PyUnicode_AsUTF8(name)) ||
        (text[0] == '_' && text[1] == '_'))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr((PyObject *)mt_tensor_type, name);
}

static PyObject *get_dtype(PyObject *o, void *closure)
{
    (void)closure;
    return mt_py_dtype_get(((tensor_type *)o)->dtype);
}

static PyObject *get_layout(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    return mt_py_layout_get(0);
}

static PyObject *get_is_cuda(PyObject *o, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((tensor_type *)o)->device.type == MT_DEVICE_CUDA);
}

static PyObject *get_false(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    Py_RETURN_FALSE;
}

static PyMethodDef meta_methods[] = {
    {"__instancecheck__", instance_check, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef meta_getset[] = {
    {"dtype", get_dtype, NULL, NULL, NULL},     {"layout", get_layout, NULL, NULL, NULL},
    {"is_cuda", get_is_cuda, NULL, NULL, NULL}, {"is_sparse", get_false, NULL, NULL, NULL},
    {"is_xpu", get_false, NULL, NULL, NULL},    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject TensorType_Meta = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torch.tensortype",
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = meta_methods,
    .tp_getset = meta_getset,
    .tp_getattro = get_attribute,
};

/* --- making them --- */

/* Borrowed. */
static PyObject *type_of(mt_dtype dtype, bool cuda)
{
    tensor_type *self = &types[cuda][dtype];

    if (self->name[0])
        return (PyObject *)self;
    memset(self, 0, sizeof(*self));
    Py_SET_REFCNT((PyObject *)self, 1);
    Py_SET_TYPE((PyObject *)self, &TensorType_Meta);
    PyOS_snprintf(self->name, sizeof(self->name), "torch.%s%sTensor", cuda ? "cuda." : "",
                  mt_dtype_table[dtype].legacy);
    self->type.tp_name = self->name;
    self->type.tp_flags = Py_TPFLAGS_DEFAULT;
    self->type.tp_new = call_type;
    self->dtype = dtype;
    self->device = cuda ? (mt_device){MT_DEVICE_CUDA, -1} : MT_CPU;
    if (PyType_Ready(&self->type) < 0) {
        self->name[0] = '\0';
        return NULL;
    }
    return (PyObject *)self;
}

/* "torch.FloatTensor", "torch.cuda.FloatTensor"; the first word may be missing when `loose`. */
static bool parse_name(mt_dtype *dtype, bool *cuda, const char *text, bool loose)
{
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    else if (!loose)
        return false;
    *cuda = strncmp(text, "cuda.", 5) == 0;
    if (*cuda)
        text += 5;
    for (int d = 0; d < MT_DTYPE_COUNT; d++) {
        size_t n = strlen(mt_dtype_table[d].legacy);

        if (strncmp(text, mt_dtype_table[d].legacy, n) == 0 && strcmp(text + n, "Tensor") == 0) {
            *dtype = (mt_dtype)d;
            return true;
        }
    }
    return false;
}

static PyObject *find_type(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    PyObject *type;
    mt_dtype dtype;
    bool cuda;

    (void)module;
    if (!text) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "_tensor_type(): the name must be a str");
        return NULL;
    }
    if (!parse_name(&dtype, &cuda, text, true) || !has_type(dtype)) {
        PyErr_Format(PyExc_ValueError, "invalid type: '%U'", name);
        return NULL;
    }
    type = type_of(dtype, cuda);
    return type ? Py_NewRef(type) : NULL;
}

static PyObject *all_types(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);

    (void)module, (void)unused;
    for (int d = 0; list && d < MT_DTYPE_COUNT; d++)
        for (int cuda = 0; list && has_type((mt_dtype)d) && cuda < 2; cuda++) {
            PyObject *type = type_of((mt_dtype)d, cuda);

            if (!type || PyList_Append(list, type) < 0)
                Py_CLEAR(list);
        }
    return list;
}

/* --- Tensor.type --- */

static PyObject *type_name(const mt_tensor *t)
{
    static const char *const places[MT_DEVICE_TYPE_COUNT] = {"", "cuda.", "meta."};

    return PyUnicode_FromFormat("torch.%s%sTensor", places[t->device.type], mt_dtype_table[t->dtype].legacy);
}

/* A dtype, a type object, the class Tensor (the default dtype), or a name. */
static int wanted_type(mt_dtype *dtype, mt_device *device, PyObject *o)
{
    const char *name = NULL;
    bool cuda;

    if (mt_py_is_dtype(o) && mt_py_dtype_of(o) < MT_DTYPE_COUNT) {
        *dtype = mt_py_dtype_of(o);
        return 0;
    }
    if (mt_py_tensor_type_info(o, dtype, device))
        return mt_device_check(device) < 0 ? mt_py_fail() : 0;
    if (o == (PyObject *)mt_tensor_type) {
        *dtype = mt_default_dtype();
        *device = MT_CPU;
        return 0;
    }
    if (PyType_Check(o)) {
        name = ((PyTypeObject *)o)->tp_name;
    } else if (!PyUnicode_Check(o)) {
        PyErr_SetString(PyExc_TypeError, "dtype must be a type, str, or dtype object");
        return -1;
    } else if (!(name = PyUnicode_AsUTF8(o))) {
        return -1;
    }
    if (PyType_Check(o) || !parse_name(dtype, &cuda, name, false)) {
        PyErr_Format(PyExc_ValueError, "invalid type: '%s'", name);
        return -1;
    }
    *device = cuda ? (mt_device){MT_DEVICE_CUDA, -1} : MT_CPU;
    return mt_device_check(device) < 0 ? mt_py_fail() : 0;
}

PyObject *mt_py_type(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"type", 3, 2, 0, {"dtype", "non_blocking", "memory_format"}, {NULL}};
    mt_tensor *t = mt_py_impl(self), *result = NULL;
    mt_device device = t->device;
    PyObject *value[3];
    mt_dtype dtype;
    bool non_blocking = false;
    int format = -1;

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "type", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || mt_py_scan_bool(&non_blocking, &scan, 1, value[1]) < 0)
        return NULL;
    if (!value[0] || value[0] == Py_None)
        return type_name(t);
    if (wanted_type(&dtype, &device, value[0]) < 0)
        return NULL;
    if (value[2] && value[2] != Py_None && (format = mt_py_memory_format_of(value[2])) < 0) {
        mt_py_scan_mismatch(&scan, 2, 0, "torch.memory_format", value[2]);
        return NULL;
    }
    MT_PY_TRY(mt_to_device(&result, t, device, dtype, non_blocking, false, format));
    return mt_py_wrap(result);
}

static PyMethodDef functions[] = {
    {"_tensor_type", find_type, METH_O, "_tensor_type(name): the type object torch.FloatTensor and its like, by name."},
    {"_tensor_types", all_types, METH_NOARGS, "_tensor_types(): all of them."},
    {NULL, NULL, 0, NULL},
};

int mt_py_tensor_types_init(PyObject *module)
{
    TensorType_Meta.tp_base = &PyType_Type;
    if (PyType_Ready(&TensorType_Meta) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
