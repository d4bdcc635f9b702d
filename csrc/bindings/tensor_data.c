/* SPDX-License-Identifier: BSD-3-Clause */
/* A tensor from Python data, as torch.tensor makes it: the shape from the first item of every
   depth, then the dtype from all items, then the values. Nests of plain lists and tuples with plain
   numbers take the fast road of fill_fast.c, where no Python code runs; everything else is walked
   here, item by item, trusting no length twice. Sequences may change or lie while they are read:
   every index is checked against the present length. */
#include "bindings/fill_internal.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/parallel.h"
#include "core/iter.h"
#include "core/shape.h"
#include "ops.h"

/* --- conversions between tensors --- */

int mt_py_convert(mt_tensor **out, mt_tensor *t, mt_dtype dtype, mt_device device, bool copy)
{
    bool same = (dtype == MT_DTYPE_NONE || dtype == (mt_dtype)t->dtype) &&
                (mt_device_is_none(device) || mt_device_equal(device, t->device));

    if (same && !copy) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    return mt_to_copy(out, t, dtype, -1, device, NULL, false, -1);
}

static void cast_loop(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    mt_cast_fn *cast = *(mt_cast_fn *const *)params;

    cast(data[0], stride[0], data[1], stride[1], n);
}

static void copy_contiguous(char *dst, mt_dtype to, const char *src, mt_dtype from, int64_t n)
{
    int64_t to_size = (int64_t)mt_dtype_size(to), from_size = (int64_t)mt_dtype_size(from);
    void *token = mt_lock_release_for(0.2 * (double)(to_size + from_size) * (double)n);

    if (from == to)
        memcpy(dst, src, (size_t)(n * to_size));
    else
        mt_cast_table[from][to](dst, to_size, src, from_size, n);
    mt_lock_acquire(token);
}

int mt_py_plain_copy(mt_tensor **out, mt_tensor *t, mt_dtype dtype)
{
    mt_cast_fn *cast = mt_cast_table[t->dtype][dtype];
    mt_tensor *copy = NULL, *operand[2];
    mt_iter it;
    int rc = -1;

    *out = NULL;
    MT_TRY(mt_tensor_new_like(&copy, t, dtype));
    if (t->numel > 0 && mt_tensor_is_contiguous(t)) {
        copy_contiguous(mt_tensor_mutable_data(copy), dtype, mt_tensor_const_data(t), (mt_dtype)t->dtype, t->numel);
    } else if (t->numel > 0) {
        operand[0] = copy;
        operand[1] = t;
        MT_TRY(mt_iter_build(&it, operand, 2, 1, t->ndim, t->size));
        mt_iter_run(&it, cast_loop, &cast, NULL, 1.0);
    }
    *out = mt_tensor_move(&copy);
    rc = 0;
fail:
    mt_tensor_clear(&copy);
    return rc;
}

void mt_py_strided_store(char *dst, mt_dtype dtype, int ndim, const int64_t *size, const void *src, mt_dtype from,
                         const int64_t *stride)
{
    int64_t to_stride[MT_MAX_DIM], step = (int64_t)mt_dtype_size(dtype);
    mt_cast_fn *cast = mt_cast_table[from][dtype];
    mt_iter it;

    for (int i = ndim - 1; i >= 0; i--) {
        to_stride[i] = step;
        step *= size[i];
    }
    mt_iter_init(&it, 2, 1, ndim, size);
    mt_iter_set_operand(&it, 0, dst, dtype, to_stride);
    mt_iter_set_operand(&it, 1, (void *)src, from, stride);
    mt_iter_finish(&it);
    mt_iter_run(&it, cast_loop, &cast, NULL, 1.0);
}

/* --- shape --- */

static int too_deep(PyObject *o)
{
    PyErr_Format(PyExc_ValueError, "too many dimensions '%s'", Py_TYPE(o)->tp_name);
    return -1;
}

static int push_size(mt_data_shape *shape, int64_t n, PyObject *o)
{
    if (shape->ndim == MT_MAX_DIM)
        return too_deep(o);
    shape->size[shape->ndim++] = n;
    return 0;
}

/* Appends the dims of an array up to the first empty one. */
static int push_array(mt_data_shape *shape, int ndim, const Py_ssize_t *size, PyObject *o)
{
    for (int i = 0; i < ndim; i++) {
        if (push_size(shape, size[i], o) < 0)
            return -1;
        if (size[i] == 0)
            break;
    }
    return 0;
}

/* The first item, a new reference; *done when `o` is no sequence or has none. NULL with an
   exception on failure. */
static PyObject *first_item(bool *done, mt_data_shape *shape, PyObject *o)
{
    const Py_ssize_t *size;
    Py_ssize_t n;
    PyObject *item;
    int ndim;

    *done = true;
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
        n = PySequence_Fast_GET_SIZE(o);
        if (push_size(shape, n, o) < 0 || n == 0)
            return NULL;
        *done = false;
        return Py_NewRef(PySequence_Fast_GET_ITEM(o, 0));
    }
    if (PyFloat_Check(o) || PyLong_Check(o) || mt_py_is_tensor(o) || !PySequence_Check(o))
        return NULL;
    if (mt_py_array_shape(&ndim, &size, o)) {
        push_array(shape, ndim, size, o);
        return NULL;
    }
    n = PySequence_Size(o);
    if (n < 0 || push_size(shape, n, o) < 0 || n == 0)
        return NULL;
    item = PySequence_GetItem(o, 0);
    if (!item) {
        PyErr_Format(PyExc_ValueError, "could not determine the shape of object type '%s'", Py_TYPE(o)->tp_name);
        return NULL;
    }
    *done = false;
    return item;
}

static int find_shape(mt_data_shape *shape, PyObject *data)
{
    PyObject *o = Py_NewRef(data), *next;
    bool done;

    shape->ndim = 0;
    do {
        next = first_item(&done, shape, o);
        Py_DECREF(o);
        o = next;
    } while (!done);
    return PyErr_Occurred() ? -1 : 0;
}

/* --- dtype --- */

static int invalid_type(PyObject *o)
{
    PyErr_Format(PyExc_TypeError, "new(): invalid data type '%s'", Py_TYPE(o)->tp_name);
    return -1;
}

/* M2.01: without a fitting complex dtype there is none for a complex number. */
static int complex_dtype(mt_dtype *out)
{
    if (mt_default_dtype() == MT_DTYPE_bf16) {
        PyErr_SetString(PyExc_RuntimeError, "invalid default scalar type for complex");
        return -1;
    }
    *out = mt_default_complex_dtype();
    return 0;
}

static int infer(mt_dtype *out, PyObject *o);

static int infer_items(mt_dtype *out, PyObject *o)
{
    Py_ssize_t n = PySequence_Size(o);
    mt_dtype all = MT_DTYPE_NONE, one;

    if (n < 0)
        return -1;
    if (n == 0)
        all = mt_default_dtype();
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(o, i);
        int rc;

        if (!item)
            return -1;
        if (item == o) {
            Py_DECREF(item);
            PyErr_SetString(PyExc_TypeError, "new(): self-referential lists are incompatible");
            return -1;
        }
        rc = infer(&one, item);
        Py_DECREF(item);
        if (rc < 0)
            return -1;
        if (all != MT_DTYPE_NONE && mt_dtype_promote(all, one) == MT_DTYPE_NONE) {
            mt_dtype_refuse_promotion(all, one);
            return mt_py_fail();
        }
        all = all == MT_DTYPE_NONE ? one : mt_dtype_promote(all, one);
        if (all == MT_DTYPE_c128)
            break;
    }
    *out = all;
    return 0;
}

static int infer(mt_dtype *out, PyObject *o)
{
    int rc;

    if (PyFloat_CheckExact(o)) {
        *out = mt_default_dtype();
        return 0;
    }
    if (PyLong_CheckExact(o)) {
        *out = MT_DTYPE_i64;
        return 0;
    }
    if (PyBool_Check(o)) {
        *out = MT_DTYPE_b8;
        return 0;
    }
    if (mt_py_is_tensor(o)) {
        *out = (mt_dtype)mt_py_impl(o)->dtype;
        return 0;
    }
    if (PyUnicode_Check(o) || PyBytes_Check(o))
        return invalid_type(o);
    if (mt_py_is_array(o) || mt_py_is_array_scalar(o))
        return mt_py_array_dtype(out, o);
    if (PyFloat_Check(o) || PyLong_Check(o)) {
        *out = PyFloat_Check(o) ? mt_default_dtype() : MT_DTYPE_i64;
        return 0;
    }
    if (PyComplex_Check(o))
        return complex_dtype(out);
    if (!PySequence_Check(o)) {
        PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    if (Py_EnterRecursiveCall(" while looking for the dtype of a sequence"))
        return -1;
    rc = infer_items(out, o);
    Py_LeaveRecursiveCall();
    return rc;
}

/* --- values --- */

typedef struct filler {
    const mt_data_shape *shape;
    int64_t step[MT_MAX_DIM]; /* bytes */
    mt_dtype dtype;
    bool inferred;
} filler;

static int store_items(const filler *f, char *dst, int dim, PyObject *o);

/* A tensor that fills the dimensions from `dim` on at once; false: its items are looked at one by
   one. */
static bool store_tensor(const filler *f, char *dst, int dim, PyObject *o)
{
    mt_tensor *t = mt_py_impl(o);
    int64_t stride[MT_MAX_DIM];

    if (mt_py_needs_override(o) || mt_tensor_requires_grad(t) || t->device.type != MT_DEVICE_CPU ||
        (t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG)) || (t->storage->flags & MT_STORAGE_SHRUNK) ||
        !mt_shape_equal(t->ndim, t->size, f->shape->ndim - dim, f->shape->size + dim) ||
        (!f->inferred && mt_dtype_promote((mt_dtype)t->dtype, f->dtype) != f->dtype))
        return false;
    for (int i = 0; i < t->ndim; i++)
        stride[i] = t->stride[i] * (int64_t)mt_tensor_itemsize(t);
    mt_py_strided_store(dst, f->dtype, t->ndim, t->size, mt_tensor_const_data(t), (mt_dtype)t->dtype, stride);
    return true;
}

/* An item that stands for all the dimensions from `dim` on. */
static int store_item(const filler *f, char *dst, int dim, PyObject *o)
{
    static bool warned;

    if (dim == f->shape->ndim)
        return mt_py_store_number(dst, f->dtype, o);
    if (mt_py_is_array(o)) {
        if (mt_warn_once(&warned, MT_WARN_USER,
                         "Creating a tensor from a list of numpy.ndarrays is extremely slow. "
                         "Please consider converting the list to a single numpy.ndarray with "
                         "numpy.array() before converting to a tensor.") < 0)
            return mt_py_fail();
        if (mt_py_array_store(dst, f->dtype, f->shape->ndim - dim, f->shape->size + dim, o, f->inferred))
            return 0;
    } else if (mt_py_is_tensor(o) && store_tensor(f, dst, dim, o)) {
        return 0;
    }
    return store_items(f, dst, dim, o);
}

/* A list or tuple as it is; of other sequences, which may never end, a list of at most `limit` items. */
static PyObject *first_items(PyObject *o, int64_t limit)
{
    PyObject *list, *iterator, *item;
    bool failed = false;

    if (PyList_CheckExact(o) || PyTuple_CheckExact(o))
        return Py_NewRef(o);
    iterator = PyObject_GetIter(o);
    if (!iterator) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_SetString(PyExc_TypeError, "not a sequence");
        return NULL;
    }
    list = PyList_New(0);
    while (list && !failed && PyList_GET_SIZE(list) < limit && (item = PyIter_Next(iterator))) {
        failed = PyList_Append(list, item) < 0;
        Py_DECREF(item);
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

static int store_items(const filler *f, char *dst, int dim, PyObject *o)
{
    int64_t n = f->shape->size[dim];
    PyObject *items = first_items(o, n + 1);
    Py_ssize_t got;
    int rc = -1;

    if (!items)
        return -1;
    got = PySequence_Fast_GET_SIZE(items);
    if (got != n) {
        if (got > n && (got = PySequence_Size(o)) < 0)
            goto fail;
        PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %zd)", (long long)n, dim, got);
        goto fail;
    }
    for (int64_t i = 0; i < n; i++) {
        PyObject *item;

        if (i >= PySequence_Fast_GET_SIZE(items)) {
            PyErr_SetString(PyExc_RuntimeError, "a list changed its size while a tensor was made of it");
            rc = -1;
            goto fail;
        }
        item = Py_NewRef(PySequence_Fast_GET_ITEM(items, i));
        rc = store_item(f, dst + i * f->step[dim], dim + 1, item);
        Py_DECREF(item);
        if (rc < 0)
            goto fail;
    }
    rc = 0;
fail:
    Py_DECREF(items);
    return rc;
}

static int store_all(mt_tensor *t, const mt_data_shape *shape, PyObject *data, bool inferred)
{
    filler f = {shape, {0}, (mt_dtype)t->dtype, inferred};
    int64_t step = (int64_t)mt_tensor_itemsize(t);

    if (t->numel == 0)
        return 0;
    for (int i = shape->ndim - 1; i >= 0; i--) {
        f.step[i] = step;
        step *= shape->size[i];
    }
    return store_item(&f, mt_tensor_mutable_data(t), 0, data);
}

/* --- the whole --- */

/* Values are read into host memory; a CUDA tensor is a copy of that. */
static int to_device(mt_tensor **inout, mt_device device)
{
    mt_tensor *host = *inout, *t = NULL;

    if (device.type == MT_DEVICE_CPU)
        return 0;
    if (mt_tensor_new(&t, (mt_dtype)host->dtype, host->ndim, host->size, device) < 0)
        return mt_py_fail();
    if (t->numel > 0 && mt_device_table[device.type]->copy_bytes(t->storage->data, device, host->storage->data, MT_CPU,
                                                                 (size_t)host->numel * mt_tensor_itemsize(t)) < 0) {
        mt_tensor_unref(t);
        return mt_py_fail();
    }
    mt_tensor_unref(host);
    *inout = t;
    return 0;
}

static int from_sequence(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device)
{
    bool inferred = dtype == MT_DTYPE_NONE, meta = device.type == MT_DEVICE_META;
    mt_data_shape shape;
    int rc;

    if (mt_device_is_none(device))
        device = mt_py_default_device();
    meta = device.type == MT_DEVICE_META;
    if (find_shape(&shape, data) < 0)
        return -1;
    if (!meta) {
        rc = mt_py_fill_fast(out, &shape, data, dtype);
        if (rc != 0)
            return rc < 0 ? -1 : to_device(out, device);
    }
    if (inferred && infer(&dtype, data) < 0)
        return -1;
    if (mt_tensor_new(out, dtype, shape.ndim, shape.size, meta ? device : MT_CPU) < 0)
        return mt_py_fail();
    if (meta || store_all(*out, &shape, data, inferred) == 0)
        return meta ? 0 : to_device(out, device);
    return -1;
}

static int from_tensor(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device, bool copy)
{
    mt_tensor *t = mt_py_impl(data), *detached = NULL;
    int rc;

    if (!copy)
        return mt_py_convert(out, t, dtype, device, false) < 0 ? mt_py_fail() : 0;
    if (mt_tensor_new_alias(&detached, t, true) < 0)
        return mt_py_fail();
    rc = mt_py_convert(out, detached, dtype, device, true);
    mt_tensor_unref(detached);
    return rc < 0 ? mt_py_fail() : 0;
}

static int from_array(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device, bool copy)
{
    mt_tensor *alias = NULL, *host = NULL;
    int rc = -1;

    if (mt_py_tensor_from_array(&alias, data, !copy) < 0)
        return -1;
    if (dtype == MT_DTYPE_NONE)
        dtype = (mt_dtype)alias->dtype;
    if (mt_device_is_none(device))
        device = mt_py_default_device();
    if (device.type == MT_DEVICE_META) {
        rc = mt_py_convert(out, alias, dtype, device, copy);
    } else if (copy || dtype != (mt_dtype)alias->dtype) {
        rc = mt_py_plain_copy(&host, alias, dtype);
        if (rc == 0)
            rc = mt_py_convert(out, host, MT_DTYPE_NONE, device, false);
    } else {
        rc = mt_py_convert(out, alias, MT_DTYPE_NONE, device, false);
    }
    mt_tensor_unref(alias);
    mt_tensor_unref(host);
    return rc < 0 ? mt_py_fail() : 0;
}

int mt_py_tensor_from_storage(mt_tensor **out, PyObject *o, mt_dtype dtype)
{
    static const int64_t one = 1;
    mt_storage *s = mt_py_storage_of(o);
    mt_dtype own, wanted = dtype == MT_DTYPE_NONE ? mt_default_dtype() : dtype;
    int64_t n;

    if (!s || mt_py_storage_dtype(&own, o) < 0)
        return -1;
    if (own != MT_DTYPE_NONE && own != wanted) {
        PyErr_Format(PyExc_RuntimeError, "Expected a Storage of type %s or an UntypedStorage, but got %s",
                     mt_dtype_table[wanted].legacy, mt_dtype_table[own].legacy);
        return -1;
    }
    if (own == MT_DTYPE_NONE && dtype == MT_DTYPE_NONE)
        wanted = MT_DTYPE_i64; /* the items of an untyped storage are integers */
    n = (int64_t)(s->nbytes / mt_dtype_size(wanted));
    return mt_tensor_from_storage(out, s, wanted, 1, &n, &one, 0) < 0 ? mt_py_fail() : 0;
}

/* An object that offers CUDA memory: without a CUDA build there is nothing to do with it. */
static int refuse_cuda_memory(PyObject *interface)
{
    static const char *const needed[] = {"shape", "typestr", "data"};

    if (!PyDict_Check(interface)) {
        PyErr_SetString(PyExc_TypeError, "`__cuda_array_interface__` must be a dict");
        return -1;
    }
    for (size_t i = 0; i < MT_COUNTOF(needed); i++) {
        PyObject *value = PyDict_GetItemString(interface, needed[i]);

        if (!value) {
            PyErr_Format(PyExc_TypeError, "attribute `%s` must exist", needed[i]);
            return -1;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "Cannot access accelerator device when none is available.");
    return -1;
}

/* 0: it offers none. An attribute that cannot be read is none. */
static int from_cuda_interface(PyObject *data)
{
    PyObject *interface = PyObject_GetAttrString(data, "__cuda_array_interface__");
    int rc;

    if (!interface) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
        return 0;
    }
    rc = refuse_cuda_memory(interface);
    Py_DECREF(interface);
    return rc;
}

/* 1: made, 0: an ordinary object, -1: exception. */
static int from_object(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device, bool copy)
{
    int rc;

    if (PyUnicode_Check(data) || PyBytes_Check(data))
        return invalid_type(data);
    if (mt_py_is_tensor(data))
        return from_tensor(out, data, dtype, device, copy) < 0 ? -1 : 1;
    if (mt_py_is_array(data)) {
        if ((Py_TYPE(data)->tp_flags & Py_TPFLAGS_HEAPTYPE) && (rc = from_cuda_interface(data)) != 0)
            return rc; /* of an array's subclass */
        return from_array(out, data, dtype, device, copy) < 0 ? -1 : 1;
    }
    if (mt_py_is_array_scalar(data) || PyFloat_Check(data) || PyLong_Check(data))
        return 0;
    if ((rc = from_cuda_interface(data)) != 0)
        return rc;
    if (mt_py_is_storage(data))
        return mt_py_tensor_from_storage(out, data, dtype) < 0 ? -1 : 1;
    return 0;
}

int mt_py_tensor_from_data(mt_tensor **out, PyObject *data, mt_dtype dtype, mt_device device, bool copy)
{
    int rc = 0;

    *out = NULL;
    if (!PyList_CheckExact(data) && !PyFloat_CheckExact(data) && !PyLong_CheckExact(data) && !PyTuple_CheckExact(data))
        rc = from_object(out, data, dtype, device, copy);
    if (rc == 0)
        rc = from_sequence(out, data, dtype, device);
    if (rc >= 0)
        return 0;
    mt_tensor_clear(out);
    return mt_py_error();
}
