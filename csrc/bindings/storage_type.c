/* SPDX-License-Identifier: BSD-3-Clause */
/* _C.StorageBase: a block of bytes as a Python object. The class users see,
   minitorch.storage.UntypedStorage, is written in Python on top of it and registered here. There is
   one object per storage: like the wrapper of a tensor, it owns one C reference, and while C holds
   another one the storage owns one Python reference to it, so that identity and attributes stay.
   Elements and methods are in storage_items.c, files in storage_io.c, shared memory in
   storage_share.c. */
#include "bindings/new_internal.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* --- lifetime --- */

PyObject *mt_py_storage_wrap_as(mt_storage *s, PyTypeObject *type)
{
    mt_py_storage *self = (mt_py_storage *)type->tp_alloc(type, 0);

    if (!self) {
        mt_storage_unref(s);
        return NULL;
    }
    self->s = s;
    s->py = self;
    if (mt_refcount_get(&s->refs) > 1)
        Py_INCREF(self); /* the storage's own reference to its object */
    return (PyObject *)self;
}

static PyTypeObject *registered; /* minitorch.storage.UntypedStorage */

static PyObject *register_class(PyObject *module, PyObject *cls)
{
    (void)module;
    if (!PyType_Check(cls) || !PyType_IsSubtype((PyTypeObject *)cls, &mt_Storage_Type)) {
        PyErr_SetString(PyExc_TypeError, "_register_storage_class(): argument must be a subclass of StorageBase");
        return NULL;
    }
    Py_XSETREF(registered, (PyTypeObject *)Py_NewRef(cls));
    Py_RETURN_NONE;
}

/* Borrowed. The Python module registers its class when it is loaded, which happens here at the
   latest. */
static PyTypeObject *storage_class(void)
{
    PyObject *module;

    if (registered)
        return registered;
    module = PyImport_ImportModule("minitorch.storage");
    Py_XDECREF(module);
    if (module && !registered)
        PyErr_SetString(PyExc_RuntimeError, "minitorch.storage has not registered its class");
    return module ? registered : NULL;
}

PyObject *mt_py_storage_wrap(mt_storage *s)
{
    PyTypeObject *cls;
    PyObject *self;

    if (s->py) {
        self = Py_NewRef((PyObject *)s->py);
        mt_storage_unref(s);
        return self;
    }
    cls = storage_class();
    if (!cls) {
        mt_storage_unref(s);
        return NULL;
    }
    return mt_py_storage_wrap_as(s, cls);
}

static void storage_dealloc(PyObject *o)
{
    mt_py_storage *self = (mt_py_storage *)o;
    mt_storage *s = self->s;

    PyObject_GC_UnTrack(o);
    if (self->weaklist)
        PyObject_ClearWeakRefs(o);
    Py_CLEAR(self->dict);
    self->s = NULL;
    if (s) {
        s->py = NULL;
        mt_storage_unref(s);
    }
    Py_TYPE(o)->tp_free(o);
}

static int storage_traverse(PyObject *o, visitproc visit, void *arg)
{
    Py_VISIT(((mt_py_storage *)o)->dict);
    return 0;
}

static int storage_clear(PyObject *o)
{
    Py_CLEAR(((mt_py_storage *)o)->dict);
    return 0;
}

/* --- typed storages: Python objects around an untyped one --- */

/* The attribute of a TypedStorage, a new reference; NULL without an exception when o is none. */
static PyObject *typed_attribute(PyObject *o, const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "minitorch.storage") : NULL, *cls;
    int rc;

    if (!module || !(cls = PyObject_GetAttrString(module, "TypedStorage"))) {
        PyErr_Clear();
        return NULL;
    }
    rc = PyType_Check(cls) ? PyObject_TypeCheck(o, (PyTypeObject *)cls) : 0;
    Py_DECREF(cls);
    return rc ? PyObject_GetAttrString(o, name) : NULL;
}

bool mt_py_is_storage(PyObject *o)
{
    PyObject *untyped;
    bool yes;

    if (PyObject_TypeCheck(o, &mt_Storage_Type))
        return true;
    if (!(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) || mt_py_is_tensor(o))
        return false;
    untyped = typed_attribute(o, "_untyped_storage");
    yes = untyped && PyObject_TypeCheck(untyped, &mt_Storage_Type);
    PyErr_Clear();
    Py_XDECREF(untyped);
    return yes;
}

/* Borrowed: the object keeps it. */
mt_storage *mt_py_storage_of(PyObject *o)
{
    PyObject *untyped;
    mt_storage *s;

    if (PyObject_TypeCheck(o, &mt_Storage_Type))
        return ((mt_py_storage *)o)->s;
    untyped = typed_attribute(o, "_untyped_storage");
    if (!untyped || !PyObject_TypeCheck(untyped, &mt_Storage_Type)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "expected a storage, got %s", Py_TYPE(o)->tp_name);
        Py_XDECREF(untyped);
        return NULL;
    }
    s = ((mt_py_storage *)untyped)->s;
    Py_DECREF(untyped);
    return s;
}

int mt_py_storage_dtype(mt_dtype *out, PyObject *o)
{
    PyObject *dtype;
    int rc;

    *out = MT_DTYPE_NONE;
    if (PyObject_TypeCheck(o, &mt_Storage_Type))
        return 0;
    dtype = typed_attribute(o, "_dtype");
    if (!dtype)
        return PyErr_Occurred() ? -1 : 0;
    rc = mt_py_to_dtype(out, dtype);
    Py_DECREF(dtype);
    return rc < 0 ? -1 : 0;
}

/* --- construction --- */

static PyObject *from_size(PyTypeObject *type, PyObject *size, mt_device device)
{
    mt_storage *s = NULL;
    int64_t n = 0;
    int rc = size ? mt_py_to_int(&n, size) : 1;

    if (rc != 1)
        return NULL;
    if (n < 0) {
        PyErr_Format(PyExc_RuntimeError, "torch.UntypedStorage(): the size must not be negative, got %lld",
                     (long long)n);
        return NULL;
    }
    MT_PY_TRY(mt_storage_new(&s, (size_t)n, device));
    return mt_py_storage_wrap_as(s, type);
}

static PyObject *from_sequence(PyTypeObject *type, PyObject *data, mt_device device)
{
    mt_storage *s = NULL;
    Py_ssize_t n;

    if (!PySequence_Check(data) || mt_py_is_tensor(data)) {
        PyErr_Format(PyExc_RuntimeError, "torch.UntypedStorage(): Expected a sequence type, but got %s",
                     Py_TYPE(data)->tp_name);
        return NULL;
    }
    n = PySequence_Size(data); /* the sequence may be one that never ends: it is read by index */
    if (n < 0)
        return NULL;
    MT_PY_TRY(mt_storage_new(&s, (size_t)n, device));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(data, i);
        uint8_t byte = 0;
        int rc = item ? mt_py_to_byte(&byte, item) : -1;

        if (rc == 0)
            PyErr_Format(PyExc_RuntimeError,
                         "torch.UntypedStorage(): tried to construct a storage from a sequence "
                         "(%s), but one of the items was of type %s instead of int",
                         Py_TYPE(data)->tp_name, Py_TYPE(item)->tp_name);
        Py_XDECREF(item);
        if (rc != 1 || mt_py_storage_set_byte(s, i, byte) < 0) {
            mt_storage_unref(s);
            return NULL;
        }
    }
    return mt_py_storage_wrap_as(s, type);
}

static bool is_size(PyObject *o)
{
    int64_t n;
    int rc;

    if (PyBool_Check(o) || PyFloat_Check(o))
        return false;
    rc = mt_py_to_int(&n, o);
    if (rc < 0 && !PyLong_Check(o))
        PyErr_Clear();
    return rc != 0;
}

static PyObject *storage_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"size", "allocator", "device", NULL},
                *other[] = {"sequence", "allocator", "device", NULL};
    PyObject *data = NULL, *allocator = NULL, *where = NULL;
    mt_device device = MT_CPU;
    int rc;

    if (type == &mt_Storage_Type) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Cannot directly construct StorageBase; subclass it and then construct that");
        return NULL;
    }
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$OO", keywords, &data, &allocator, &where)) {
        PyErr_Clear();
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$OO", other, &data, &allocator, &where)) {
            PyErr_SetString(PyExc_TypeError,
                            "torch.UntypedStorage() received an invalid combination of arguments, expected one "
                            "of:\n"
                            " * (*, int allocator = None, torch.device device = None)\n"
                            " * (int size, *, int allocator = None, torch.device device = None)\n"
                            " * (object sequence, *, int allocator = None, torch.device device = None)\n");
            return NULL;
        }
    }
    if (where && where != Py_None) {
        rc = mt_py_to_device(&device, where);
        if (rc == 0)
            PyErr_Format(PyExc_TypeError, "torch.UntypedStorage(): argument 'device' must be torch.device, not %s",
                         Py_TYPE(where)->tp_name);
        if (rc != 1)
            return NULL;
        MT_PY_TRY(mt_device_check(&device));
    }
    if (!data || is_size(data))
        return from_size(type, data, device);
    return PyErr_Occurred() ? NULL : from_sequence(type, data, device);
}

/* --- the type --- */

static PyObject *get_device(PyObject *o, void *closure)
{
    (void)closure;
    return mt_py_device_new(((mt_py_storage *)o)->s->device);
}

static PyObject *get_cdata(PyObject *o, void *closure)
{
    (void)closure;
    return PyLong_FromVoidPtr(((mt_py_storage *)o)->s);
}

static PyGetSetDef storage_getset[] = {
    {"device", get_device, NULL, NULL, NULL},
    {"_cdata", get_cdata, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject mt_Storage_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C.StorageBase",
    .tp_basicsize = sizeof(mt_py_storage),
    .tp_dealloc = storage_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = storage_traverse,
    .tp_clear = storage_clear,
    .tp_as_sequence = &mt_py_storage_sequence,
    .tp_as_mapping = &mt_py_storage_mapping,
    .tp_methods = mt_py_storage_methods,
    .tp_getset = storage_getset,
    .tp_dictoffset = offsetof(mt_py_storage, dict),
    .tp_weaklistoffset = offsetof(mt_py_storage, weaklist),
    .tp_new = storage_new,
    .tp_doc = "Base of minitorch.storage.UntypedStorage, implemented in C.",
};

/* --- functions of _C --- */

/* The number of owners: tensors and the Python object. cdata is the number that _cdata gave. */
static PyObject *use_count(PyObject *module, PyObject *cdata)
{
    mt_storage *s = PyLong_AsVoidPtr(cdata);

    (void)module;
    if (!s) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "_storage_Use_Count(): no storage");
        return NULL;
    }
    return PyLong_FromUnsignedLong(mt_refcount_get(&s->refs));
}

static PyObject *storage_address(PyObject *module, PyObject *o)
{
    (void)module;
    if (!mt_py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_storage_address(): argument must be Tensor, not %s",
                            Py_TYPE(o)->tp_name);
    return PyLong_FromVoidPtr(mt_py_impl(o)->storage);
}

static PyObject *data_address(PyObject *module, PyObject *o)
{
    (void)module;
    if (!mt_py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_data_address(): argument must be Tensor, not %s", Py_TYPE(o)->tp_name);
    return PyLong_FromVoidPtr(mt_py_impl(o)->storage->data);
}

static PyObject *is_cow_tensor(PyObject *module, PyObject *o)
{
    (void)module;
    if (!mt_py_is_tensor(o))
        return PyErr_Format(PyExc_TypeError, "_is_cow_tensor(): argument must be Tensor, not %s", Py_TYPE(o)->tp_name);
    return PyBool_FromLong((mt_py_impl(o)->storage->flags & (MT_STORAGE_COW | MT_STORAGE_READONLY)) == MT_STORAGE_COW);
}

static PyObject *is_alias_of(PyObject *module, PyObject *args)
{
    PyObject *a, *b;

    (void)module;
    if (!PyArg_ParseTuple(args, "OO:_is_alias_of", &a, &b))
        return NULL;
    if (!mt_py_is_tensor(a) || !mt_py_is_tensor(b)) {
        PyErr_SetString(PyExc_TypeError, "_is_alias_of(): arguments must be Tensors");
        return NULL;
    }
    return PyBool_FromLong(mt_py_impl(a)->storage == mt_py_impl(b)->storage);
}

static PyObject *has_storage(PyObject *module, PyObject *o)
{
    (void)module;
    return PyBool_FromLong(mt_py_is_tensor(o));
}

static PyMethodDef functions[] = {
    {"_storage_address", storage_address, METH_O, NULL},
    {"_data_address", data_address, METH_O, NULL},
    {"_is_cow_tensor", is_cow_tensor, METH_O, NULL},
    {"_is_alias_of", is_alias_of, METH_VARARGS, NULL},
    {"_has_storage", has_storage, METH_O, NULL},
    {"_storage_Use_Count", use_count, METH_O, NULL},
    {"_register_storage_class", register_class, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int add_all(PyMethodDef *defs)
{
    for (PyMethodDef *def = defs; def->ml_name; def++) {
        PyObject *o;
        int rc = -1;

        if (def->ml_flags & METH_STATIC) {
            PyObject *function = PyCFunction_New(def, NULL);

            o = function ? PyStaticMethod_New(function) : NULL;
            Py_XDECREF(function);
        } else {
            mt_py_set_generic(def);
            o = PyDescr_NewMethod(&mt_Storage_Type, def);
        }
        if (o)
            rc = PyDict_SetItemString(mt_Storage_Type.tp_dict, def->ml_name, o);
        Py_XDECREF(o);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int mt_py_storage_init(PyObject *module)
{
    if (PyType_Ready(&mt_Storage_Type) < 0 || add_all(mt_py_storage_io_methods) < 0 ||
        add_all(mt_py_storage_share_methods) < 0)
        return -1;
    PyType_Modified(&mt_Storage_Type);
    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "StorageBase", (PyObject *)&mt_Storage_Type);
}
