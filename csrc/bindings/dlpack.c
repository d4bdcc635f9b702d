/* SPDX-License-Identifier: BSD-3-Clause */
/* DLPack capsules, unversioned and of version 1, both ways: _C._to_dlpack, _C._dlpack_export
   and _C._from_dlpack. The protocol around them (__dlpack__, streams, from_dlpack) is
   minitorch/utils/dlpack.py.

   Who calls the deleter: the capsule's destructor while the capsule has its first name; once a
   consumer has renamed it ("used_..."), the consumer does, exactly once. An exported tensor pins
   its storage until then. */
#include "bindings/dlpack_internal.h"

#include <string.h>

#include "base/error.h"
#include "core/shape.h"
#include "ops.h"

enum {
    DL_INT,
    DL_UINT,
    DL_FLOAT,
    DL_HANDLE,
    DL_BFLOAT,
    DL_COMPLEX,
    DL_BOOL,
    DL_FLOAT8_E4M3FN = 10,
    DL_FLOAT8_E4M3FNUZ,
    DL_FLOAT8_E5M2,
    DL_FLOAT8_E5M2FNUZ,
    DL_FLOAT8_E8M0FNU,
    DL_FLOAT4_E2M1FN = 17
};

static const char plain_name[] = "dltensor", plain_used[] = "used_dltensor", versioned_name[] = "dltensor_versioned",
                  versioned_used[] = "used_dltensor_versioned";

/* --- dtypes --- */

static void code_of(dl_tensor *out, mt_dtype d)
{
    out->bits = (uint8_t)(mt_dtype_size(d) * 8);
    out->lanes = 1;
    switch (mt_dtype_category(d)) {
    case MT_CAT_BOOL:
        out->code = DL_BOOL;
        break;
    case MT_CAT_INT:
        out->code = mt_dtype_table[d].is_signed ? DL_INT : DL_UINT;
        break;
    case MT_CAT_FLOAT:
        out->code = d == MT_DTYPE_bf16         ? DL_BFLOAT
                    : d == MT_DTYPE_f8e4m3fn   ? DL_FLOAT8_E4M3FN
                    : d == MT_DTYPE_f8e4m3fnuz ? DL_FLOAT8_E4M3FNUZ
                    : d == MT_DTYPE_f8e5m2     ? DL_FLOAT8_E5M2
                    : d == MT_DTYPE_f8e5m2fnuz ? DL_FLOAT8_E5M2FNUZ
                    : d == MT_DTYPE_f8e8m0fnu  ? DL_FLOAT8_E8M0FNU
                    : d == MT_DTYPE_f4e2m1fnx2 ? DL_FLOAT4_E2M1FN
                                               : DL_FLOAT;
        if (d == MT_DTYPE_f4e2m1fnx2) { /* an element is a pair */
            out->bits = 4;
            out->lanes = 2;
        }
        break;
    default:
        out->code = DL_COMPLEX;
        break;
    }
}

mt_dtype mt_dl_dtype(const dl_tensor *t)
{
    dl_tensor own;

    for (int d = 0; d < MT_DTYPE_COUNT; d++) {
        code_of(&own, (mt_dtype)d);
        if (own.code == t->code && own.bits == t->bits && own.lanes == t->lanes)
            return (mt_dtype)d;
    }
    return MT_DTYPE_NONE;
}

static int buffer_error(const char *text)
{
    PyErr_SetString(PyExc_BufferError, text);
    return -1;
}

/* --- export --- */

typedef struct export {
    union {
        dl_managed plain;
        dl_versioned versioned;
    } dl;
    mt_storage *s;  /* owned, pinned */
    int64_t dims[]; /* sizes, then strides */
} export;

static void drop_export(export *e)
{
    PyGILState_STATE state;

    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    mt_storage_unpin(e->s);
    mt_storage_unref(e->s);
    PyMem_Free(e);
    PyGILState_Release(state);
}

static void delete_plain(dl_managed *self)
{
    drop_export(self->ctx);
}

static void delete_versioned(dl_versioned *self)
{
    drop_export(self->ctx);
}

static void drop_plain_capsule(PyObject *capsule)
{
    PyObject *type, *value, *traceback; /* of an exception that is on its way */
    dl_managed *m;

    if (!PyCapsule_IsValid(capsule, plain_name))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    m = PyCapsule_GetPointer(capsule, plain_name);
    if (m->deleter)
        m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

static void drop_versioned_capsule(PyObject *capsule)
{
    PyObject *type, *value, *traceback; /* of an exception that is on its way */
    dl_versioned *m;

    if (!PyCapsule_IsValid(capsule, versioned_name))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    m = PyCapsule_GetPointer(capsule, versioned_name);
    if (m->deleter)
        m->deleter(m);
    PyErr_Restore(type, value, traceback);
}

int mt_dl_check(mt_tensor *t, bool grad_ok)
{
    if (!grad_ok && mt_tensor_requires_grad(t))
        return buffer_error("Can't export tensors that require gradient, use tensor.detach()");
    if (t->flags & MT_FLAG_CONJ)
        return buffer_error("Can't export tensors with the conjugate bit set");
    if (t->flags & MT_FLAG_NEG)
        return buffer_error("Can't export tensors with the negative bit set");
    if (t->device.type == MT_DEVICE_META)
        return buffer_error("Can't export tensors without memory (device meta)");
    return 0;
}

int mt_dl_describe(dl_tensor *out, mt_tensor *t)
{
    if (mt_tensor_check_bounds(t) < 0 || mt_storage_expose(t->storage) < 0)
        return mt_py_fail();
    out->data = t->storage->data ? (void *)(uintptr_t)mt_tensor_const_data(t) : NULL;
    out->device_type = t->device.type == MT_DEVICE_CUDA ? DL_CUDA : DL_CPU;
    out->device_id = t->device.index < 0 ? 0 : t->device.index;
    out->ndim = t->ndim;
    code_of(out, (mt_dtype)t->dtype);
    out->byte_offset = 0;
    return 0;
}

/* The record of an export, with the description at `where` filled in. The storage is pinned. */
static export *export_new(mt_tensor *t, size_t where)
{
    export *e = PyMem_Calloc(1, sizeof(*e) + 2 * t->ndim * sizeof(int64_t));
    dl_tensor *dl;

    if (!e) {
        PyErr_NoMemory();
        return NULL;
    }
    dl = (dl_tensor *)((char *)e + where);
    if (mt_dl_describe(dl, t) < 0) {
        PyMem_Free(e);
        return NULL;
    }
    for (int i = 0; i < t->ndim; i++) {
        e->dims[i] = t->size[i];
        e->dims[t->ndim + i] = t->size[i] < 2 ? 1 : t->stride[i];
    }
    dl->shape = e->dims;
    dl->strides = e->dims + t->ndim;
    e->s = mt_storage_ref(t->storage);
    mt_storage_pin(e->s);
    return e;
}

dl_versioned *mt_dl_export(mt_tensor *t, bool copied)
{
    export *e = export_new(t, offsetof(export, dl.versioned.tensor));
    dl_versioned *m;

    if (!e)
        return NULL;
    m = &e->dl.versioned;
    m->major = DL_MAJOR;
    m->minor = DL_MINOR;
    m->ctx = e;
    m->deleter = delete_versioned;
    m->flags = (copied ? DL_IS_COPIED : 0) | (t->storage->flags & MT_STORAGE_READONLY ? DL_READ_ONLY : 0);
    return m;
}

static PyObject *versioned_capsule(mt_tensor *t, bool copied)
{
    dl_versioned *m = mt_dl_export(t, copied);
    PyObject *capsule = m ? PyCapsule_New(m, versioned_name, drop_versioned_capsule) : NULL;

    if (m && !capsule)
        m->deleter(m);
    return capsule;
}

static PyObject *plain_capsule(mt_tensor *t)
{
    dl_managed *m;
    PyObject *capsule;
    export *e;

    MT_PY_TRY(mt_tensor_own(t)); /* the old structure cannot say that memory is read-only */
    e = export_new(t, offsetof(export, dl.plain.tensor));
    if (!e)
        return NULL;
    m = &e->dl.plain;
    m->ctx = e;
    m->deleter = delete_plain;
    capsule = PyCapsule_New(m, plain_name, drop_plain_capsule);
    if (!capsule)
        m->deleter(m);
    return capsule;
}

/* (device type, device id), as DLPack numbers them. */
static int wanted_device(mt_device *out, PyObject *o)
{
    int type, id;

    if (!PyTuple_Check(o)) {
        PyErr_Format(PyExc_TypeError, "dl_device must be a pair of integers, not %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    if (!PyArg_ParseTuple(o, "ii;dl_device must be a pair of integers", &type, &id))
        return -1;
    if (type != DL_CPU && type != DL_CUDA) {
        PyErr_Format(PyExc_ValueError, "unsupported device type for DLPack: %d", type);
        return -1;
    }
    out->type = type == DL_CPU ? MT_DEVICE_CPU : MT_DEVICE_CUDA;
    out->index = (int8_t)(type == DL_CPU ? -1 : id);
    return mt_device_check(out) < 0 ? mt_py_fail() : 0;
}

/* A capsule of a tensor, of its copy, or of its copy on another device; NULL and None leave a choice open. */
static PyObject *export_as(mt_tensor *t, bool versioned, PyObject *dl_device, PyObject *wanted_copy)
{
    PyObject *capsule;
    mt_tensor *copy = NULL;
    mt_device device = t->device;
    int wants_copy = -1;

    if (mt_dl_check(t, false) < 0)
        return NULL;
    if (dl_device && dl_device != Py_None && wanted_device(&device, dl_device) < 0)
        return NULL;
    if (wanted_copy && wanted_copy != Py_None) {
        if (!PyBool_Check(wanted_copy))
            return PyErr_Format(PyExc_TypeError, "_to_dlpack(): argument 'copy' must be bool, not %s",
                                Py_TYPE(wanted_copy)->tp_name);
        wants_copy = wanted_copy == Py_True;
    }
    if (wants_copy == 0 && !mt_device_equal(device, t->device)) {
        PyErr_SetString(PyExc_ValueError, "cannot move DLTensor across devices without copying");
        return NULL;
    }
    if (mt_py_convert(&copy, t, MT_DTYPE_NONE, device, wants_copy == 1) < 0)
        return mt_py_raise();
    capsule = versioned ? versioned_capsule(copy, copy != t) : plain_capsule(copy);
    mt_tensor_unref(copy);
    return capsule;
}

static PyObject *py_to_dlpack(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"_to_dlpack", 3, 1, 1, {"data", "dl_device", "copy"}, {NULL}};
    PyObject *value[3];

    (void)module;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0)
        return NULL;
    if (!mt_py_is_tensor(value[0])) {
        mt_py_scan_mismatch(&scan, 0, 1, "Tensor", value[0]);
        return NULL;
    }
    return export_as(mt_py_impl(value[0]), false, value[1], value[2]);
}

/* _dlpack_export(tensor, max_version, dl_device, copy): the part of __dlpack__ that is no affair of streams. */
static PyObject *py_dlpack_export(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *major;
    bool versioned = false;

    (void)module;
    if (nargs != 4 || !mt_py_is_tensor(args[0])) {
        PyErr_SetString(PyExc_TypeError, "_dlpack_export(): four arguments are expected, the first a tensor");
        return NULL;
    }
    if (args[1] != Py_None) {
        major = PySequence_GetItem(args[1], 0);
        versioned = major && PyLong_AsLong(major) >= 1;
        Py_XDECREF(major);
        if (PyErr_Occurred())
            return NULL;
    }
    return export_as(mt_py_impl(args[0]), versioned, args[2], args[3]);
}

/* --- import --- */

static void release_plain(void *ctx)
{
    dl_managed *m = ctx;

    if (m->deleter)
        m->deleter(m);
}

static void release_versioned(void *ctx)
{
    dl_versioned *m = ctx;

    if (m->deleter)
        m->deleter(m);
}

int mt_dl_device(mt_device *out, const dl_tensor *dl)
{
    switch (dl->device_type) {
    case DL_CPU:
    case DL_CUDA_HOST:
        *out = MT_CPU;
        return 0;
    case DL_CUDA:
    case DL_CUDA_MANAGED:
        if (dl->device_id < 0 || dl->device_id > INT8_MAX)
            return buffer_error("a DLPack tensor with a bad device index");
        out->type = MT_DEVICE_CUDA;
        out->index = (int8_t)dl->device_id;
        return mt_device_check(out) < 0 ? mt_py_fail() : 0;
    default:
        return buffer_error("Unsupported device_type of a DLPack tensor");
    }
}

/* Sizes and strides as given, checked; a negative stride cannot be said by a tensor. */
static int geometry_of(int64_t *size, int64_t *stride, size_t *nbytes, const dl_tensor *dl, mt_dtype dtype)
{
    int ndim = dl->ndim;

    if (ndim < 0 || ndim > MT_MAX_DIM || (ndim > 0 && !dl->shape))
        return buffer_error("a DLPack tensor with a bad number of dimensions");
    for (int i = 0; i < ndim; i++) {
        size[i] = dl->shape[i];
        if (size[i] < 0)
            return buffer_error("a DLPack tensor with a negative size");
    }
    if (!dl->strides) {
        mt_shape_contiguous_strides(stride, ndim, size);
    } else {
        for (int i = 0; i < ndim; i++) {
            stride[i] = dl->strides[i];
            if (stride[i] < 0 && size[i] > 1)
                return buffer_error("a DLPack tensor with a negative stride cannot be imported; copy it first");
            if (stride[i] < 0)
                stride[i] = 1;
        }
    }
    return mt_shape_storage_bytes(nbytes, ndim, size, stride, 0, mt_dtype_size(dtype)) < 0 ? mt_py_fail() : 0;
}

/* Does not own the structure until it succeeds. */
static int import(mt_tensor **out, const dl_tensor *dl, mt_deleter *deleter, void *ctx, bool readonly)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_dtype dtype = mt_dl_dtype(dl);
    mt_storage *s = NULL;
    mt_device device;
    size_t nbytes;

    if (dtype == MT_DTYPE_NONE) {
        PyErr_Format(PyExc_BufferError, "Unsupported DLPack dtype: code %d, %d bits, %d lanes", dl->code, dl->bits,
                     dl->lanes);
        return -1;
    }
    if (mt_dl_device(&device, dl) < 0 || geometry_of(size, stride, &nbytes, dl, dtype) < 0)
        return -1;
    if (nbytes > 0 && !dl->data)
        return buffer_error("a DLPack tensor without memory");
    if (mt_storage_from_memory(&s, dl->data ? (char *)dl->data + dl->byte_offset : NULL, nbytes, device, NULL, NULL) <
        0)
        return mt_py_fail();
    if (mt_tensor_from_storage(out, s, dtype, dl->ndim, size, stride, 0) < 0 ||
        (readonly && mt_storage_protect_with(s, deleter, ctx) < 0)) {
        mt_tensor_clear(out);
        mt_storage_unref(s);
        return mt_py_fail();
    }
    if (!readonly) {
        s->deleter = deleter;
        s->ctx = ctx;
    }
    mt_storage_unref(s);
    return 0;
}

int mt_dl_import(mt_tensor **out, dl_versioned *m)
{
    *out = NULL;
    if (m->major > DL_MAJOR)
        return buffer_error("a DLPack structure of a newer major version");
    return import(out, &m->tensor, release_versioned, m, (m->flags & DL_READ_ONLY) != 0);
}

bool mt_py_is_dlpack_capsule(PyObject *o)
{
    return PyCapsule_IsValid(o, plain_name) || PyCapsule_IsValid(o, versioned_name);
}

int mt_py_tensor_from_capsule(mt_tensor **out, PyObject *capsule)
{
    *out = NULL;
    if (PyCapsule_IsValid(capsule, versioned_name)) {
        dl_versioned *m = PyCapsule_GetPointer(capsule, versioned_name);

        if (mt_dl_import(out, m) < 0)
            return -1;
        PyCapsule_SetName(capsule, versioned_used);
        return 0;
    }
    if (PyCapsule_IsValid(capsule, plain_name)) {
        dl_managed *m = PyCapsule_GetPointer(capsule, plain_name);

        if (import(out, &m->tensor, release_plain, m, false) < 0)
            return -1;
        PyCapsule_SetName(capsule, plain_used);
        return 0;
    }
    PyErr_SetString(PyExc_RuntimeError,
                    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
                    "once, so you might have already constructed a tensor from it once.");
    return -1;
}

static PyObject *py_from_dlpack(PyObject *module, PyObject *capsule)
{
    mt_tensor *t = NULL;

    (void)module;
    return mt_py_tensor_from_capsule(&t, capsule) < 0 ? NULL : mt_py_wrap(t);
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"_to_dlpack", FAST(py_to_dlpack),
     "_to_dlpack(tensor, *, dl_device=None, copy=None)\n--\n\n"
     "_to_dlpack(tensor, *, dl_device=None, copy=None): a capsule \"dltensor\"."},
    {"_dlpack_export", (PyCFunction)(void (*)(void))py_dlpack_export, METH_FASTCALL, NULL},
    {"_from_dlpack", py_from_dlpack, METH_O, "_from_dlpack(capsule) -> Tensor"},
    {NULL, NULL, 0, NULL},
};

int mt_py_dlpack_init(PyObject *module)
{
    if (mt_py_dlpack_table_init((PyObject *)&mt_TensorBase_Type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
