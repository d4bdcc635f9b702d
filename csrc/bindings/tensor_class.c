/* SPDX-License-Identifier: BSD-3-Clause */
/* Tensors as objects of subclasses (_make_subclass, as_subclass), and their memory as an object:
   untyped_storage() and set_(). set_ checks and obtains everything first, so that a refused call
   leaves the tensor as it was. */
#include "bindings/new_internal.h"

#include <string.h>

#include "autograd/autograd.h"
#include "base/error.h"
#include "core/shape.h"
#include "ops.h"

static int check_class(PyObject *cls)
{
    if (!PyType_Check(cls)) {
        PyErr_Format(PyExc_TypeError, "cls must be a type (got %s)", Py_TYPE(cls)->tp_name);
        return -1;
    }
    if (!PyType_IsSubtype((PyTypeObject *)cls, mt_tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "Creating a Tensor subclass from a class that does not inherit from Tensor "
                                         "is not possible. Make sure your class inherits from Tensor.");
        return -1;
    }
    return 0;
}

/* Consumes t. */
static PyObject *wrap_class(mt_tensor *t, PyObject *cls)
{
    return cls == (PyObject *)mt_tensor_type ? mt_py_wrap(t) : mt_py_wrap_as(t, (PyTypeObject *)cls);
}

static PyObject *make_subclass(PyObject *unused, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"_make_subclass", 3, 3, 2, {"cls", "data", "require_grad"}, {NULL}};
    PyObject *value[3];
    mt_tensor *t = NULL;
    bool require_grad = false;

    (void)unused;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || mt_py_scan_bool(&require_grad, &scan, 2, value[2]) < 0)
        return NULL;
    if (!mt_py_is_tensor(value[1])) {
        mt_py_scan_mismatch(&scan, 1, 2, "Tensor", value[1]);
        return NULL;
    }
    if (check_class(value[0]) < 0)
        return NULL;
    if (mt_tensor_new_alias(&t, mt_py_impl(value[1]), true) < 0)
        return mt_py_raise();
    if (require_grad && mt_py_set_requires_grad(t) < 0) {
        mt_tensor_unref(t);
        return mt_py_raise();
    }
    return wrap_class(t, value[0]);
}

/* Wrapper subclasses live on __torch_dispatch__, which this library does not have. */
static PyObject *make_wrapper_subclass(PyObject *unused, PyObject *args, PyObject *kwargs)
{
    PyObject *cls = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL, *own, *base;
    bool same;

    (void)unused, (void)kwargs;
    if (!cls) {
        PyErr_SetString(PyExc_TypeError,
                        "_make_wrapper_subclass() missing 2 required positional argument: \"cls\", \"size\"");
        return NULL;
    }
    if (check_class(cls) < 0)
        return NULL;
    own = PyObject_GetAttrString(cls, "__torch_dispatch__");
    base = PyObject_GetAttrString((PyObject *)mt_tensor_type, "__torch_dispatch__");
    PyErr_Clear();
    same = own == base;
    Py_XDECREF(own);
    Py_XDECREF(base);
    if (same)
        PyErr_Format(PyExc_TypeError, "%s must define __torch_dispatch__", ((PyTypeObject *)cls)->tp_name);
    else
        PyErr_SetString(PyExc_NotImplementedError, "_make_wrapper_subclass(): __torch_dispatch__ is not supported");
    return NULL;
}

PyObject *mt_py_as_subclass(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"as_subclass", 1, 1, 1, {"cls"}, {NULL}};
    PyObject *value[1];
    mt_tensor *t = NULL;

    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || check_class(value[0]) < 0)
        return NULL;
    if (mt_alias(&t, mt_py_impl(self)) < 0)
        return mt_py_raise();
    return wrap_class(t, value[0]);
}

PyObject *mt_py_untyped_storage(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "untyped_storage");
    mt_py_track(self); /* attributes of the storage may lead back to it */
    return mt_py_storage_wrap(mt_storage_ref(mt_py_impl(self)->storage));
}

/* --- page-locked memory: only a CUDA build has it --- */

PyObject *mt_py_is_pinned(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"is_pinned", 1, 1, 0, {"device"}, {NULL}};
    mt_device device = MT_CPU;
    PyObject *value[1];

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "is_pinned", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || mt_py_scan_device(&device, &scan, 0, value[0]) < 0)
        return NULL;
    Py_RETURN_FALSE;
}

PyObject *mt_py_pin_memory(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"pin_memory", 1, 1, 0, {"device"}, {NULL}};
    mt_device device = MT_CPU;
    PyObject *value[1];

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "pin_memory", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || mt_py_scan_device(&device, &scan, 0, value[0]) < 0)
        return mt_py_scan_overrides() ? mt_py_method_override(self, "pin_memory", args, nargs, kwnames) : NULL;
    if (mt_py_impl(self)->device.type != MT_DEVICE_CPU)
        PyErr_SetString(PyExc_RuntimeError, "cannot pin this tensor: only dense CPU tensors can be pinned");
    else
        PyErr_SetString(PyExc_RuntimeError, "Cannot access accelerator device when none is available.");
    return NULL;
}

/* --- set_ --- */

typedef struct geometry {
    mt_storage *s; /* borrowed */
    int64_t offset;
    int ndim;
    const int64_t *size, *stride;
    int64_t room[2 * MT_MAX_DIM];
} geometry;

static PyObject *invalid_set(PyObject *const *args, Py_ssize_t nargs)
{
    char got[256] = "";
    size_t at = 0;

    for (Py_ssize_t i = 0; i < nargs && at < sizeof(got); i++)
        at += (size_t)PyOS_snprintf(got + at, sizeof(got) - at, "%s%s", i ? ", " : "", Py_TYPE(args[i])->tp_name);
    PyErr_Format(PyExc_TypeError,
                 "set_() received an invalid combination of arguments - got (%s), but expected one "
                 "of:\n * ()\n"
                 " * (torch.Storage source)\n * (torch.Storage source, int storage_offset, tuple "
                 "of ints size, tuple of ints stride = None)\n * (Tensor source)\n * (Tensor "
                 "source, int storage_offset, tuple of ints size, tuple of ints stride = None)\n",
                 got);
    return NULL;
}

/* 1, 0 when it is no list of integers, -1. */
static int read_ints(int64_t *out, int *n, PyObject *o)
{
    PyObject *tuple;
    int rc = 1;

    if (!PyTuple_Check(o) && !PyList_Check(o))
        return 0;
    if (!(tuple = PySequence_Tuple(o)))
        return -1;
    if (PyTuple_GET_SIZE(tuple) > MT_MAX_DIM)
        rc = 0;
    *n = (int)PyTuple_GET_SIZE(tuple);
    for (int i = 0; rc == 1 && i < *n; i++)
        rc = mt_py_to_int(&out[i], PyTuple_GET_ITEM(tuple, i));
    Py_DECREF(tuple);
    return rc;
}

/* offset, size and stride as given. */
static int read_geometry(geometry *g, PyObject *const *value)
{
    int n_stride = 0, rc = mt_py_to_int(&g->offset, value[1]);

    if (rc == 1)
        rc = read_ints(g->room, &g->ndim, value[2]);
    if (rc != 1)
        return rc;
    g->size = g->room;
    g->stride = g->room + g->ndim;
    if (!value[3] || value[3] == Py_None) {
        mt_shape_contiguous_strides(g->room + g->ndim, g->ndim, g->size);
        return 1;
    }
    rc = read_ints(g->room + g->ndim, &n_stride, value[3]);
    if (rc != 1 || n_stride == g->ndim)
        return rc;
    PyErr_Format(PyExc_RuntimeError, "unequal size length (%d) and stride length (%d)", g->ndim, n_stride);
    return -1;
}

static int set_geometry(mt_tensor *t, const geometry *g)
{
    bool same = mt_shape_equal(g->ndim, g->size, t->ndim, t->size) &&
                memcmp(g->stride, t->stride, (size_t)g->ndim * sizeof(int64_t)) == 0;
    char own[24], other[24];
    int64_t numel;
    size_t nbytes;
    int rc = -1;

    MT_REQUIRE(mt_device_equal(t->device, g->s->device), MT_ERR_RUNTIME,
               "Attempted to set the storage of a tensor on device \"%s\" to a storage on "
               "different device \"%s\".  This is no longer allowed; the devices must match.",
               mt_device_format(own, t->device), mt_device_format(other, g->s->device));
    MT_REQUIRE(g->offset >= 0, MT_ERR_RUNTIME, "Tensor: invalid storage offset %lld", (long long)g->offset);
    MT_REQUIRE(g->s == t->storage || t->storage->pins == 0, MT_ERR_RUNTIME,
               "Trying to replace storage that is in use elsewhere");
    MT_TRY(mt_shape_numel(&numel, g->ndim, g->size, 1));
    MT_TRY(mt_shape_storage_bytes(&nbytes, g->ndim, g->size, g->stride, g->offset, mt_tensor_itemsize(t)));
    if (same)
        MT_TRY(mt_storage_check_bounds(g->s, (mt_dtype)t->dtype, g->ndim, g->size, g->stride, g->offset));
    else if (nbytes > g->s->nbytes)
        MT_TRY(mt_storage_resize(g->s, nbytes));
    MT_TRY(mt_tensor_set_geometry(t, g->ndim, g->size, g->stride, g->offset));
    MT_TRY(mt_tensor_set_storage(t, g->s));
    mt_tensor_bump_version(t);
    rc = 0;
fail:
    return rc;
}

/* Whole storage, whole tensor, nothing. */
static int whole_storage(geometry *g, mt_tensor *t, PyObject *o)
{
    mt_dtype own;

    if (mt_py_storage_dtype(&own, o) < 0)
        return -1;
    if (own != MT_DTYPE_NONE && own != (mt_dtype)t->dtype) {
        PyErr_Format(PyExc_RuntimeError,
                     "Expected a Storage of type %s or an UntypedStorage, but got type %s for "
                     "argument 1 'storage'",
                     mt_dtype_table[t->dtype].legacy, mt_dtype_table[own].legacy);
        return -1;
    }
    g->s = mt_py_storage_of(o);
    if (!g->s)
        return -1;
    g->ndim = 1;
    g->room[0] = (int64_t)(g->s->nbytes / mt_tensor_itemsize(t));
    g->room[1] = 1;
    return 0;
}

static int source_tensor(geometry *g, mt_tensor *t, PyObject *o, bool whole)
{
    mt_tensor *from = mt_py_impl(o);

    if (from->dtype != t->dtype) {
        PyErr_Format(PyExc_RuntimeError, "Could not set tensor of type %s to a tensor of type %s",
                     mt_dtype_name((mt_dtype)from->dtype), mt_dtype_name((mt_dtype)t->dtype));
        return -1;
    }
    if (!whole && !mt_tensor_is_contiguous(from)) {
        PyErr_SetString(PyExc_RuntimeError, "passed in tensor to be used as storage must be contiguous");
        return -1;
    }
    g->s = from->storage;
    g->offset = from->offset;
    if (whole) {
        g->ndim = from->ndim;
        g->size = from->size;
        g->stride = from->stride;
    }
    return 0;
}

static int empty_storage(mt_tensor *t)
{
    geometry g = {NULL, 0, 1, g.room, g.room + 1, {0, 1}};
    int rc;

    if (mt_storage_new(&g.s, 0, t->device) < 0)
        return -1;
    rc = set_geometry(t, &g);
    mt_storage_unref(g.s);
    return rc;
}

/* Somebody must hear of it, a graph or a transform: through the dispatcher. `from`: NULL for a storage. */
static bool is_heard_of(const mt_tensor *t, const mt_tensor *from)
{
    return mt_thread.captured ||
           (mt_thread.grad_mode && (mt_tensor_requires_grad(t) || (from && mt_tensor_requires_grad(from))));
}

static int dispatch_set(mt_tensor *t, mt_tensor *from, const geometry *g)
{
    mt_ints size = {g->size, g->ndim}, stride = {g->stride, g->ndim};

    if (from)
        return mt_set_inplace_source_Tensor_storage_offset(t, from, g->offset, size, stride);
    return mt_set_inplace_source_Storage_storage_offset(t, g->s, g->offset, size, stride);
}

PyObject *mt_py_set(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"set_", 4, 4, 0, {"source", "storage_offset", "size", "stride"}, {NULL}};
    PyObject *value[4];
    mt_tensor *t = mt_py_impl(self), *from;
    geometry g;
    int64_t base;
    int rc;

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "set_", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0)
        return NULL;
    if (!value[1] != !value[2] || (value[3] && !value[2]) || (value[1] && !value[0]))
        return invalid_set(args, nargs);
    if (mt_tensor_check_written(t) < 0 ||
        (mt_thread.grad_mode && mt_autograd_check_inplace(t, mt_tensor_requires_grad(t)) < 0))
        return mt_py_raise();
    if (t->keys & MT_KEYS_DUAL)
        return PyErr_Format(PyExc_NotImplementedError, "Trying to use forward AD with set_ that does not support it "
                                                       "because it has not been implemented yet.");
    if (!value[0])
        return (is_heard_of(t, NULL) ? mt_set_inplace(t) : empty_storage(t)) < 0 ? mt_py_raise() : Py_NewRef(self);
    g.offset = 0;
    g.size = g.room;
    g.stride = g.room + 1;
    if (mt_py_is_storage(value[0]))
        rc = whole_storage(&g, t, value[0]);
    else if (mt_py_is_tensor(value[0]))
        rc = source_tensor(&g, t, value[0], !value[1]);
    else
        return invalid_set(args, nargs);
    if (rc < 0)
        return NULL;
    if (value[1]) {
        base = g.offset;
        rc = read_geometry(&g, value);
        if (rc != 1)
            return rc < 0 ? NULL : invalid_set(args, nargs);
        if (g.offset >= 0 && g.offset <= INT64_MAX - base)
            g.offset += base;
    }
    from = mt_py_is_tensor(value[0]) ? mt_py_impl(value[0]) : NULL;
    mt_storage_ref(g.s); /* t may own the last reference */
    if (is_heard_of(t, from))
        rc = from && !value[1] ? mt_set_inplace_source_Tensor(t, from) : dispatch_set(t, from, &g);
    else
        rc = set_geometry(t, &g);
    mt_storage_unref(g.s);
    return rc < 0 ? mt_py_raise() : Py_NewRef(self);
}

/* --- static methods --- */

static PyMethodDef statics[] = {
    {"_make_subclass", (PyCFunction)(void (*)(void))make_subclass, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_make_wrapper_subclass", (PyCFunction)(void (*)(void))make_wrapper_subclass, METH_VARARGS | METH_KEYWORDS, NULL},
};

int mt_py_tensor_class_init(void)
{
    PyTypeObject *type = &mt_TensorBase_Type;

    for (size_t i = 0; i < MT_COUNTOF(statics); i++) {
        PyObject *function = PyCFunction_New(&statics[i], NULL), *method;
        int rc = -1;

        method = function ? PyStaticMethod_New(function) : NULL;
        if (method)
            rc = PyDict_SetItemString(type->tp_dict, statics[i].ml_name, method);
        Py_XDECREF(method);
        Py_XDECREF(function);
        if (rc < 0)
            return -1;
    }
    PyType_Modified(type);
    return 0;
}
