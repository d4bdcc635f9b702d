/* SPDX-License-Identifier: BSD-3-Clause */
/* The C exchange table of DLPack 1.3: Tensor.__dlpack_c_exchange_api__ is a capsule of a static table of functions, with which libraries in C
   exchange tensors without a Python call. None of them synchronises streams. */
#include "bindings/dlpack_internal.h"

#include <string.h>

#include "base/error.h"

typedef void set_error_fn(void *ctx, const char *kind, const char *message);

typedef struct exchange_header {
    uint32_t major, minor;
    struct exchange_header *previous; /* a table of an older version, if there is one */
} exchange_header;

typedef struct exchange_table {
    exchange_header header;
    int (*allocate)(dl_tensor *prototype, dl_versioned **out, void *ctx, set_error_fn *set_error);
    int (*from_object)(void *object, dl_versioned **out);
    int (*to_object)(dl_versioned *tensor, void **out);
    int (*borrow)(void *object, dl_tensor *out);
    int (*current_stream)(int device_type, int32_t device_id, void **out);
} exchange_table;

static const char capsule_name[] = "dlpack_exchange_api";

/* A new tensor of the prototype's dtype, shape and device. Errors go to the caller's function, never to Python. */
static int allocate(dl_tensor *prototype, dl_versioned **out, void *ctx, set_error_fn *set_error)
{
    PyGILState_STATE state = PyGILState_Ensure();
    mt_dtype dtype = mt_dl_dtype(prototype);
    mt_tensor *t = NULL;
    mt_device device;
    const char *complaint = NULL;

    *out = NULL;
    if (dtype == MT_DTYPE_NONE)
        complaint = "no dtype of minitorch has this DLPack type";
    else if (prototype->ndim < 0 || prototype->ndim > MT_MAX_DIM || (prototype->ndim > 0 && !prototype->shape))
        complaint = "bad number of dimensions";
    else if (mt_dl_device(&device, prototype) < 0)
        complaint = "no such device";
    else if (mt_tensor_new(&t, dtype, prototype->ndim, prototype->shape, device) < 0)
        complaint = "the tensor cannot be allocated";
    else if (!(*out = mt_dl_export(t, false)))
        complaint = "the tensor cannot be exported";
    mt_tensor_clear(&t);
    mt_error_clear();
    PyErr_Clear();
    PyGILState_Release(state);
    if (complaint && set_error)
        set_error(ctx, "RuntimeError", complaint);
    return complaint ? -1 : 0;
}

static mt_tensor *tensor_of(void *object)
{
    if (!object || !mt_py_is_tensor((PyObject *)object)) {
        PyErr_SetString(PyExc_TypeError, "DLPack exchange: the object is no tensor");
        return NULL;
    }
    return mt_py_impl((PyObject *)object);
}

static int from_object(void *object, dl_versioned **out)
{
    mt_tensor *t = tensor_of(object);

    *out = NULL;
    if (!t || mt_dl_check(t, true) < 0)
        return -1;
    *out = mt_dl_export(t, false);
    return *out ? 0 : -1;
}

static int to_object(dl_versioned *tensor, void **out)
{
    mt_tensor *t = NULL;

    *out = mt_dl_import(&t, tensor) < 0 ? NULL : mt_py_wrap(t);
    return *out ? 0 : -1;
}

/* Valid as long as the object lives and keeps its geometry: sizes and strides are the tensor's own. */
static int borrow(void *object, dl_tensor *out)
{
    mt_tensor *t = tensor_of(object);

    if (!t || mt_dl_check(t, true) < 0 || mt_dl_describe(out, t) < 0)
        return -1;
    out->shape = (int64_t *)(uintptr_t)t->size;
    out->strides = (int64_t *)(uintptr_t)t->stride;
    return 0;
}

/* The processor has no streams; on CUDA the legacy default stream, which the other streams wait for, is NULL as well. */
static int current_stream(int device_type, int32_t device_id, void **out)
{
    (void)device_id;
    *out = NULL;
    if (device_type == DL_CPU || device_type == DL_CUDA || device_type == DL_CUDA_HOST)
        return 0;
    PyErr_Format(PyExc_ValueError, "DLPack exchange: unknown device type %d", device_type);
    return -1;
}

static exchange_table table = {
    {DL_MAJOR, DL_MINOR, NULL}, allocate, from_object, to_object, borrow, current_stream,
};

int mt_py_dlpack_table_init(PyObject *type)
{
    PyObject *capsule = PyCapsule_New(&table, capsule_name, NULL);
    int rc = capsule ? PyDict_SetItemString(((PyTypeObject *)type)->tp_dict, "__dlpack_c_exchange_api__", capsule) : -1;

    Py_XDECREF(capsule);
    if (rc == 0)
        PyType_Modified((PyTypeObject *)type);
    return rc;
}
