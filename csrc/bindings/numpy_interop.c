/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays and tensors share memory here. NumPy is never imported by this library before somebody
   asks for an array; until then no object can be one. Its C API is fetched once, through the
   capsule that NumPy's headers know how to find, and serves NumPy 1.23 and later. A tensor made of
   an array owns the array; an array made of a tensor owns the tensor's storage, which from then on
   cannot be resized. */
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION

#include "bindings/new_internal.h"

#include <numpy/arrayobject.h>
#include <string.h>

#include "base/error.h"
#include "core/shape.h"
#include "ops.h"
#include "core/device_names.h"

static bool ready; /* the C API is at hand */

/* --- the C API --- */

static int load_api(void)
{
    if (_import_array() < 0) { /* the documented macros print the exception */
        if (PyErr_ExceptionMatches(PyExc_ImportError)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_RuntimeError, "Numpy is not available");
        }
        return -1;
    }
    ready = true;
    return 0;
}

static int need_api(void)
{
    return ready ? 0 : load_api();
}

/* Has somebody imported NumPy? Then fetches the API. */
static MT_NOINLINE bool look_for_numpy(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *numpy = modules ? PyDict_GetItemString(modules, "numpy") : NULL;

    if (!numpy || !PyObject_HasAttrString(numpy, "ndarray"))
        return false; /* absent, or still being imported */
    if (load_api() < 0) {
        PyErr_Clear();
        return false;
    }
    return true;
}

static inline bool have_numpy(void)
{
    return ready || look_for_numpy();
}

bool mt_py_is_array(PyObject *o)
{
    return have_numpy() && PyArray_Check(o);
}

bool mt_py_is_array_scalar(PyObject *o)
{
    return have_numpy() && PyArray_IsScalar(o, Generic);
}

/* --- dtypes --- */

static const struct {
    const char *name;
    int type_num;
} dtype_pairs[] = {
    {"bool", NPY_BOOL},           {"uint8", NPY_UINT8},           {"int8", NPY_INT8},
    {"int16", NPY_INT16},         {"int32", NPY_INT32},           {"int64", NPY_INT64},
    {"float16", NPY_FLOAT16},     {"float32", NPY_FLOAT32},       {"float64", NPY_FLOAT64},
    {"complex64", NPY_COMPLEX64}, {"complex128", NPY_COMPLEX128}, {"uint16", NPY_UINT16},
    {"uint32", NPY_UINT32},       {"uint64", NPY_UINT64},
};

static mt_dtype dtype_named(const char *name)
{
    for (int d = 0; d < MT_DTYPE_COUNT; d++)
        if (strcmp(mt_dtype_name((mt_dtype)d), name) == 0)
            return (mt_dtype)d;
    return MT_DTYPE_NONE;
}

static uint8_t dtype_of_num[NPY_NTYPES_LEGACY];
static int num_of_dtype[MT_DTYPE_COUNT];

static void fill_tables(void)
{
    static bool done;

    if (done)
        return;
    memset(dtype_of_num, MT_DTYPE_NONE, sizeof(dtype_of_num));
    for (int d = 0; d < MT_DTYPE_COUNT; d++)
        num_of_dtype[d] = NPY_NOTYPE;
    for (size_t i = 0; i < MT_COUNTOF(dtype_pairs); i++) {
        mt_dtype d = dtype_named(dtype_pairs[i].name);

        dtype_of_num[dtype_pairs[i].type_num] = (uint8_t)d;
        if (d != MT_DTYPE_NONE)
            num_of_dtype[d] = dtype_pairs[i].type_num;
    }
    /* two C types of one size */
    dtype_of_num[NPY_LONGLONG] = dtype_of_num[NPY_INT64];
    dtype_of_num[NPY_ULONGLONG] = dtype_of_num[NPY_UINT64];
    if (sizeof(long) == sizeof(int)) {
        dtype_of_num[NPY_LONG] = dtype_of_num[NPY_INT];
        dtype_of_num[NPY_ULONG] = dtype_of_num[NPY_UINT];
    }
    done = true;
}

static mt_dtype dtype_of_array(PyArrayObject *a)
{
    int num = PyArray_TYPE(a);

    fill_tables();
    return num >= 0 && num < NPY_NTYPES_LEGACY ? (mt_dtype)dtype_of_num[num] : MT_DTYPE_NONE;
}

static int unsupported(PyArray_Descr *descr)
{
    PyErr_Format(PyExc_TypeError,
                 "can't convert np.ndarray of type %s. The only supported types are: float64, "
                 "float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
                 "uint32, uint16, uint8, and bool.",
                 descr->typeobj->tp_name);
    return -1;
}

int mt_py_array_dtype(mt_dtype *out, PyObject *o)
{
    PyArray_Descr *descr;
    int num;

    if (PyArray_Check(o)) {
        *out = dtype_of_array((PyArrayObject *)o);
        return *out == MT_DTYPE_NONE ? unsupported(PyArray_DESCR((PyArrayObject *)o)) : 0;
    }
    descr = PyArray_DescrFromScalar(o);
    if (!descr)
        return -1;
    fill_tables();
    num = descr->type_num;
    *out = num >= 0 && num < NPY_NTYPES_LEGACY ? (mt_dtype)dtype_of_num[num] : MT_DTYPE_NONE;
    if (*out == MT_DTYPE_NONE)
        unsupported(descr);
    Py_DECREF(descr);
    return *out == MT_DTYPE_NONE ? -1 : 0;
}

/* --- from an array --- */

void mt_py_drop_reference(void *o)
{
    PyGILState_STATE state;

    if (!Py_IsInitialized())
        return; /* the interpreter is gone, and the object with it */
    state = PyGILState_Ensure();
    Py_DECREF((PyObject *)o);
    PyGILState_Release(state);
}

static int value_error(const char *text)
{
    PyErr_SetString(PyExc_ValueError, text);
    return -1;
}

static int warn_readonly(void)
{
    static bool warned;

    if (mt_warn_once(&warned, MT_WARN_USER,
                     "The given NumPy array is not writable, and PyTorch does not support non-writable "
                     "tensors. This means writing to this tensor will result in undefined behavior. You may "
                     "want to copy the array to protect its data or make it writable before converting it "
                     "to a tensor. This type of warning will be suppressed for the rest of this program.") < 0)
        return mt_py_fail();
    return 0;
}

/* Strides in elements; refuses what a tensor cannot say. */
static int element_strides(int64_t *stride, PyArrayObject *a)
{
    npy_intp itemsize = PyArray_ITEMSIZE(a);

    for (int i = 0; i < PyArray_NDIM(a); i++) {
        npy_intp bytes = PyArray_STRIDE(a, i);

        if (itemsize == 0 || bytes % itemsize != 0)
            return value_error("given numpy array strides not a multiple of the element byte size. "
                               "Copy the numpy array to reallocate the memory.");
        stride[i] = bytes / itemsize;
    }
    for (int i = 0; i < PyArray_NDIM(a); i++)
        if (stride[i] < 0)
            return value_error("At least one stride in the given numpy array is negative, and tensors with "
                               "negative strides are not currently supported. (You can probably work around this "
                               "by making a copy of your array  with array.copy().) ");
    if (PyArray_ISBYTESWAPPED(a))
        return value_error("given numpy array has byte order different from the native byte order. "
                           "Conversion between byte orders is currently not supported.");
    return 0;
}

int mt_py_tensor_from_array(mt_tensor **out, PyObject *array, bool warn)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    mt_dtype dtype = dtype_of_array(a);
    int ndim = PyArray_NDIM(a);
    mt_storage *s = NULL;
    size_t nbytes;
    int rc = -1;

    *out = NULL;
    if (!PyArray_ISWRITEABLE(a) && warn && warn_readonly() < 0)
        return -1;
    if (ndim > MT_MAX_DIM)
        return value_error("too many dimensions");
    if (dtype == MT_DTYPE_NONE && PyArray_ITEMSIZE(a) == 0)
        return unsupported(PyArray_DESCR(a));
    if (element_strides(stride, a) < 0)
        return -1;
    if (dtype == MT_DTYPE_NONE)
        return unsupported(PyArray_DESCR(a));
    for (int i = 0; i < ndim; i++)
        size[i] = PyArray_DIM(a, i);
    if (mt_shape_storage_bytes(&nbytes, ndim, size, stride, 0, mt_dtype_size(dtype)) < 0 ||
        mt_storage_from_memory(&s, PyArray_DATA(a), nbytes, MT_CPU, mt_py_drop_reference, array) < 0)
        return mt_py_fail();
    Py_INCREF(array);
    rc = PyArray_ISWRITEABLE(a) ? 0 : mt_storage_protect(s);
    rc = rc < 0 ? -1 : mt_tensor_from_storage(out, s, dtype, ndim, size, stride, 0);
    mt_storage_unref(s);
    return rc < 0 ? mt_py_fail() : 0;
}

PyObject *mt_py_from_numpy(PyObject *unused, PyObject *array)
{
    mt_tensor *t = NULL;

    (void)unused;
    if (!mt_py_is_array(array)) {
        PyErr_Format(PyExc_TypeError, "expected np.ndarray (got %s)", Py_TYPE(array)->tp_name);
        return NULL;
    }
    return mt_py_tensor_from_array(&t, array, true) < 0 ? NULL : mt_py_wrap(t);
}

/* --- arrays inside sequences --- */

static bool is_readable(PyArrayObject *a)
{
    return dtype_of_array(a) != MT_DTYPE_NONE && PyArray_ISNOTSWAPPED(a) && PyArray_ISALIGNED(a);
}

bool mt_py_array_shape(int *ndim, const Py_ssize_t **size, PyObject *o)
{
    if (!have_numpy() || !PyArray_CheckExact(o) || !is_readable((PyArrayObject *)o))
        return false;
    *ndim = PyArray_NDIM((PyArrayObject *)o);
    *size = PyArray_DIMS((PyArrayObject *)o);
    return true;
}

int mt_py_array_store(char *dst, mt_dtype dtype, int ndim, const int64_t *size, PyObject *array, bool lossy)
{
    PyArrayObject *a = (PyArrayObject *)array;
    int64_t stride[MT_MAX_DIM];
    mt_dtype from;

    if (!PyArray_CheckExact(array) || !is_readable(a) || PyArray_NDIM(a) != ndim)
        return 0;
    from = dtype_of_array(a);
    if (!lossy && mt_dtype_promote(from, dtype) != dtype)
        return 0;
    for (int i = 0; i < ndim; i++) {
        if (PyArray_DIM(a, i) != size[i])
            return 0;
        stride[i] = PyArray_STRIDE(a, i);
    }
    mt_py_strided_store(dst, dtype, ndim, size, PyArray_DATA(a), from, stride);
    return 1;
}

/* --- to an array --- */

static void drop_storage(PyObject *capsule)
{
    mt_storage_unref(PyCapsule_GetPointer(capsule, "minitorch.storage"));
}

/* What the array owns: the storage, whatever becomes of the tensor. */
static PyObject *hold_storage(mt_storage *s)
{
    PyObject *capsule = PyCapsule_New(s, "minitorch.storage", drop_storage);

    if (capsule) {
        mt_storage_ref(s);
        s->flags |= MT_STORAGE_FIXED;
    }
    return capsule;
}

static PyObject *array_over(mt_tensor *t)
{
    npy_intp size[MT_MAX_DIM], stride[MT_MAX_DIM];
    npy_intp itemsize = (npy_intp)mt_tensor_itemsize(t);
    static char nothing; /* the address of arrays without elements */
    PyObject *array, *owner;
    int num;

    fill_tables();
    num = num_of_dtype[t->dtype];
    if (num == NPY_NOTYPE) {
        PyErr_Format(PyExc_TypeError, "Got unsupported ScalarType %s", mt_dtype_table[t->dtype].legacy);
        return NULL;
    }
    for (int i = 0; i < t->ndim; i++) {
        size[i] = t->size[i];
        stride[i] = t->stride[i] * itemsize;
    }
    if (mt_tensor_check_bounds(t) < 0)
        return mt_py_raise();
    MT_PY_TRY(mt_storage_expose(t->storage));
    owner = hold_storage(t->storage);
    if (!owner)
        return NULL;
    array = PyArray_New(&PyArray_Type, t->ndim, size, num, stride,
                        t->storage->data ? (void *)(uintptr_t)mt_tensor_const_data(t) : &nothing, 0,
                        NPY_ARRAY_ALIGNED | (t->storage->flags & MT_STORAGE_READONLY ? 0 : NPY_ARRAY_WRITEABLE), NULL);
    if (!array) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

/* force=True: whatever stands in the way is removed by a copy. A new reference. */
static int make_exportable(mt_tensor **out, mt_tensor *t)
{
    mt_tensor *next = NULL;

    if (mt_tensor_new_alias(out, t, true) < 0)
        return -1;
    if (t->device.type != MT_DEVICE_CPU) {
        if (t->device.type == MT_DEVICE_META)
            return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "Cannot copy out of meta tensor; no data!");
        if (mt_py_convert(&next, *out, MT_DTYPE_NONE, MT_CPU, false) < 0)
            return -1;
        mt_tensor_unref(*out);
        *out = next;
    }
    if ((*out)->flags & MT_FLAG_CONJ) {
        if (mt_resolve_conj(&next, *out) < 0)
            return -1;
        mt_tensor_unref(*out);
        *out = next;
    }
    if ((*out)->flags & MT_FLAG_NEG) {
        if (mt_resolve_neg(&next, *out) < 0)
            return -1;
        mt_tensor_unref(*out);
        *out = next;
    }
    return 0;
}

static int refuse_export(mt_tensor *t)
{
    if (t->device.type != MT_DEVICE_CPU)
        PyErr_Format(PyExc_TypeError,
                     "can't convert %s%s device type tensor to numpy. Use Tensor.cpu() to copy the "
                     "tensor to host memory first.",
                     mt_device_names[t->device.type], t->device.type == MT_DEVICE_CUDA ? ":0" : "");
    else if (mt_thread.grad_mode && mt_tensor_requires_grad(t))
        PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that requires grad. Use "
                                            "tensor.detach().numpy() instead.");
    else if (t->flags & MT_FLAG_CONJ)
        PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that has conjugate bit "
                                            "set. Use tensor.resolve_conj().numpy() instead.");
    else if (t->flags & MT_FLAG_NEG)
        PyErr_SetString(PyExc_RuntimeError, "Can't call numpy() on Tensor that has negative bit "
                                            "set. Use tensor.resolve_neg().numpy() instead.");
    else
        return 0;
    return -1;
}

PyObject *mt_py_array_from_tensor(mt_tensor *t, bool force)
{
    mt_tensor *plain = NULL;
    PyObject *array = NULL;

    if (need_api() < 0)
        return NULL;
    if (!force)
        return refuse_export(t) < 0 ? NULL : array_over(t);
    if (make_exportable(&plain, t) < 0)
        mt_py_raise();
    else
        array = array_over(plain);
    mt_tensor_unref(plain);
    return array;
}

PyObject *mt_py_numpy(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"numpy", 1, 0, 0, {"force"}, {NULL}};
    PyObject *value[1];
    bool force = false;

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "numpy", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 || mt_py_scan_bool(&force, &scan, 0, value[0]) < 0)
        return mt_py_scan_overrides() ? mt_py_method_override(self, "numpy", args, nargs, kwnames) : NULL;
    return mt_py_array_from_tensor(mt_py_impl(self), force);
}

int mt_py_numpy_init(PyObject *module)
{
    (void)module; /* NumPy waits for its first use */
    return 0;
}
