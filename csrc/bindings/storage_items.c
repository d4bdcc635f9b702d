/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of a storage as items, and the methods of StorageBase that work on one storage in memory. A
   slice shares the memory of the whole, owns it and pins it. Weak references (_weak_ref and its
   kin, for multiprocessing) are Python weak references to the storage's object, which lives as long
   as the storage. */
#include "bindings/new_internal.h"

#include <string.h>

#include "base/error.h"

int mt_py_storage_set_byte(mt_storage *s, int64_t i, uint8_t value)
{
    mt_device d = s->device;

    if (d.type == MT_DEVICE_META)
        return 0;
    if (mt_storage_own(s) < 0)
        return mt_py_fail();
    if (d.type == MT_DEVICE_CPU) {
        ((uint8_t *)mt_storage_mutable_data(s))[i] = value;
        return 0;
    }
    return mt_device_table[d.type]->copy_bytes((char *)s->data + i, d, &value, MT_CPU, 1) < 0 ? mt_py_fail() : 0;
}

/* An int, taken modulo 256; 0 when it is none. */
int mt_py_to_byte(uint8_t *out, PyObject *o)
{
    unsigned long bits;

    if (!PyLong_Check(o))
        return 0;
    bits = PyLong_AsUnsignedLongMask(o);
    if (bits == (unsigned long)-1 && PyErr_Occurred())
        return -1;
    *out = (uint8_t)bits;
    return 1;
}

/* --- elements --- */

static PyObject *no_meta(void)
{
    PyErr_SetString(PyExc_NotImplementedError, "Not available for 'meta' device type");
    return NULL;
}

/* 1, 0 when the index is no integer, -1. */
static int to_index(int64_t *out, PyObject *o)
{
    if (PyBool_Check(o) || mt_py_is_tensor(o))
        return 0;
    return mt_py_to_int(out, o);
}

static int slice_range(Py_ssize_t *start, Py_ssize_t *n, PyObject *slice, mt_storage *s)
{
    Py_ssize_t stop, step;

    if (PySlice_Unpack(slice, start, &stop, &step) < 0)
        return -1;
    *n = PySlice_AdjustIndices((Py_ssize_t)s->nbytes, start, &stop, step);
    if (step != 1) {
        PyErr_Format(PyExc_RuntimeError, "Trying to slice with a step of %zd, but only a step of 1 is supported", step);
        return -1;
    }
    return 0;
}

/* A part of a storage keeps the whole, and keeps it from being resized. */
static void drop_whole(void *ctx)
{
    mt_storage *whole = ctx;

    mt_storage_unpin(whole);
    mt_storage_unref(whole);
}

static PyObject *part_of(PyObject *o, Py_ssize_t start, Py_ssize_t n, bool read_only)
{
    mt_storage *part = NULL, *s = ((mt_py_storage *)o)->s;

    MT_PY_TRY(
        mt_storage_from_memory(&part, s->data ? (char *)s->data + start : NULL, (size_t)n, s->device, drop_whole, s));
    mt_storage_ref(s);
    mt_storage_pin(s);
    if (read_only && mt_storage_protect(part) < 0) {
        mt_storage_unref(part);
        return mt_py_raise();
    }
    return mt_py_storage_wrap_as(part, Py_TYPE(o));
}

static PyObject *get_slice(PyObject *o, PyObject *slice)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    Py_ssize_t start, n;

    if (s->device.type == MT_DEVICE_META)
        return no_meta();
    if (slice_range(&start, &n, slice, s) < 0)
        return NULL;
    MT_PY_TRY(mt_storage_own(s));
    return part_of(o, start, n, false);
}

/* All of it for reading: a lazy clone stays one. */
static PyObject *py_read_only(PyObject *o, PyObject *unused)
{
    (void)unused;
    return part_of(o, 0, (Py_ssize_t)((mt_py_storage *)o)->s->nbytes, true);
}

static PyObject *storage_get(PyObject *o, PyObject *index)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    uint8_t value;
    int64_t i;
    int rc;

    if (PySlice_Check(index))
        return get_slice(o, index);
    rc = to_index(&i, index);
    if (rc == 0)
        PyErr_Format(PyExc_TypeError, "can't index a torch.UntypedStorage with %s", Py_TYPE(index)->tp_name);
    if (rc != 1)
        return NULL;
    if (i < 0)
        i += (int64_t)s->nbytes;
    if (i < 0 || i >= (int64_t)s->nbytes) {
        PyErr_Format(PyExc_IndexError, "index %lld out of range for storage of size %zu", (long long)i, s->nbytes);
        return NULL;
    }
    if (s->device.type == MT_DEVICE_META)
        return no_meta();
    if (s->device.type == MT_DEVICE_CPU)
        return PyLong_FromLong(((const uint8_t *)mt_storage_const_data(s))[i]);
    MT_PY_TRY(mt_device_table[s->device.type]->copy_bytes(&value, MT_CPU, (const char *)s->data + i, s->device, 1));
    return PyLong_FromLong(value);
}

/* sq_item: iteration by index. */
static PyObject *storage_item(PyObject *o, Py_ssize_t i)
{
    PyObject *index = PyLong_FromSsize_t(i), *result = index ? storage_get(o, index) : NULL;

    Py_XDECREF(index);
    return result;
}

static int fill_range(mt_storage *s, Py_ssize_t start, Py_ssize_t n, uint8_t value)
{
    if (s->device.type == MT_DEVICE_CPU && n > 0) {
        if (mt_storage_own(s) < 0)
            return mt_py_fail();
        memset((char *)mt_storage_mutable_data(s) + start, value, (size_t)n);
        return 0;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (mt_py_storage_set_byte(s, start + i, value) < 0)
            return -1;
    return 0;
}

static int storage_set(PyObject *o, PyObject *index, PyObject *value)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    Py_ssize_t start, n;
    uint8_t byte;
    int64_t i;
    int rc;

    if (!value) {
        PyErr_SetString(PyExc_TypeError, "'UntypedStorage' object doesn't support item deletion");
        return -1;
    }
    rc = mt_py_to_byte(&byte, value);
    if (rc == 0)
        PyErr_Format(PyExc_RuntimeError, "can only set storage content with a int types, but got %s instead",
                     Py_TYPE(value)->tp_name);
    if (rc != 1)
        return -1;
    if (PySlice_Check(index))
        return slice_range(&start, &n, index, s) < 0 ? -1 : fill_range(s, start, n, byte);
    rc = to_index(&i, index);
    if (rc == 0)
        PyErr_Format(PyExc_RuntimeError, "can't index a torch.UntypedStorage with %s", Py_TYPE(index)->tp_name);
    if (rc != 1)
        return -1;
    if (i < 0 || i >= (int64_t)s->nbytes) {
        PyErr_SetString(PyExc_RuntimeError, "out of bounds");
        return -1;
    }
    return mt_py_storage_set_byte(s, i, byte);
}

static Py_ssize_t storage_length(PyObject *o)
{
    return (Py_ssize_t)((mt_py_storage *)o)->s->nbytes;
}

/* --- methods --- */

static PyObject *py_nbytes(PyObject *o, PyObject *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((mt_py_storage *)o)->s->nbytes);
}

static PyObject *py_element_size(PyObject *o, PyObject *unused)
{
    (void)o, (void)unused;
    return PyLong_FromLong(1);
}

static PyObject *py_data_ptr(PyObject *o, PyObject *unused)
{
    (void)unused;
    MT_PY_TRY(mt_storage_expose(((mt_py_storage *)o)->s));
    return PyLong_FromVoidPtr((void *)(uintptr_t)mt_storage_const_data(((mt_py_storage *)o)->s));
}

static PyObject *py_const_data_ptr(PyObject *o, PyObject *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr((void *)(uintptr_t)mt_storage_const_data(((mt_py_storage *)o)->s));
}

static PyObject *py_resizable(PyObject *o, PyObject *unused)
{
    uint16_t flags = ((mt_py_storage *)o)->s->flags;

    (void)unused;
    return PyBool_FromLong((flags & MT_STORAGE_RESIZABLE) && !(flags & MT_STORAGE_FIXED));
}

static PyObject *py_new(PyObject *o, PyObject *unused)
{
    mt_storage *s = NULL;

    (void)unused;
    MT_PY_TRY(mt_storage_new(&s, 0, ((mt_py_storage *)o)->s->device));
    return mt_py_storage_wrap(s);
}

static PyObject *py_fill(PyObject *o, PyObject *value)
{
    mt_storage *s = ((mt_py_storage *)o)->s;
    uint8_t byte;
    int rc = mt_py_to_byte(&byte, value);

    if (rc == 0)
        PyErr_Format(PyExc_RuntimeError, "fill_ expects int, but got %s", Py_TYPE(value)->tp_name);
    if (rc != 1 || fill_range(s, 0, (Py_ssize_t)s->nbytes, byte) < 0)
        return NULL;
    return Py_NewRef(o);
}

static PyObject *py_resize(PyObject *o, PyObject *size)
{
    int64_t n;
    int rc = to_index(&n, size);

    if (rc == 0)
        PyErr_Format(PyExc_RuntimeError, "resize_ expects an int, but got %s", Py_TYPE(size)->tp_name);
    if (rc != 1)
        return NULL;
    if (n < 0) {
        PyErr_Format(PyExc_RuntimeError, "resize_: the size must not be negative, got %lld", (long long)n);
        return NULL;
    }
    MT_PY_TRY(mt_storage_resize(((mt_py_storage *)o)->s, (size_t)n));
    return Py_NewRef(o);
}

static PyObject *py_copy(PyObject *o, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static mt_scan scan = {"copy_", 2, 2, 1, {"src", "non_blocking"}, {NULL}};
    mt_storage *to = ((mt_py_storage *)o)->s, *from;
    PyObject *value[2];
    const mt_device_ops *ops;

    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0)
        return NULL;
    if (!mt_py_is_storage(value[0])) {
        mt_py_scan_mismatch(&scan, 0, 1, "torch.Storage", value[0]);
        return NULL;
    }
    if (!(from = mt_py_storage_of(value[0])))
        return NULL;
    if (from->nbytes != to->nbytes) {
        PyErr_Format(PyExc_RuntimeError, "size does not match, self was %zu bytes but src was %zu bytes", to->nbytes,
                     from->nbytes);
        return NULL;
    }
    ops = mt_device_table[from->device.type != MT_DEVICE_CPU ? from->device.type : to->device.type];
    if (to->device.type == MT_DEVICE_META)
        ops = mt_device_table[MT_DEVICE_META];
    MT_PY_TRY(mt_storage_own(to));
    MT_PY_TRY(ops->copy_bytes(mt_storage_mutable_data(to), to->device, mt_storage_const_data(from), from->device,
                              to->nbytes));
    return Py_NewRef(o);
}

/* --- weak references: to the object, which lives as long as the storage --- */

static PyObject *py_weak_ref(PyObject *o, PyObject *unused)
{
    PyObject *weak = PyWeakref_NewRef(o, NULL);

    (void)unused;
    return weak ? PyLong_FromVoidPtr(weak) : NULL; /* owned by whoever has the number */
}

static PyObject *weak_of(PyObject *number)
{
    PyObject *weak = PyLong_AsVoidPtr(number);

    if (!weak && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "expected the number of a weak reference to a storage");
    return weak;
}

static PyObject *py_free_weak_ref(PyObject *unused, PyObject *number)
{
    (void)unused;
    if (number != Py_None) {
        PyObject *weak = weak_of(number);

        if (!weak)
            return NULL;
        Py_DECREF(weak);
    }
    Py_RETURN_NONE;
}

/* The object of a weak reference, or None: a new reference. */
static PyObject *referent(PyObject *weak)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *o = NULL;

    if (PyWeakref_GetRef(weak, &o) < 0)
        return NULL;
    return o ? o : Py_NewRef(Py_None);
#else
    return Py_NewRef(PyWeakref_GET_OBJECT(weak));
#endif
}

static PyObject *py_expired(PyObject *unused, PyObject *number)
{
    PyObject *weak = weak_of(number), *o = weak ? referent(weak) : NULL;

    (void)unused;
    Py_XDECREF(o); /* None, or alive elsewhere too */
    return o ? PyBool_FromLong(o == Py_None) : NULL;
}

static PyObject *py_new_with_weak_ptr(PyObject *unused, PyObject *number)
{
    PyObject *weak = weak_of(number);

    (void)unused;
    return weak ? referent(weak) : NULL;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS | MT_PY_GENERIC

PyMethodDef mt_py_storage_methods[] = {
    {"nbytes", py_nbytes, METH_NOARGS, "nbytes() -> int"},
    {"size", py_nbytes, METH_NOARGS, "size() -> int: the number of bytes."},
    {"element_size", py_element_size, METH_NOARGS, "element_size() -> int: 1."},
    {"data_ptr", py_data_ptr, METH_NOARGS, "data_ptr() -> int: the address."},
    {"_read_only", py_read_only, METH_NOARGS, "The same bytes as a storage that exports read-only buffers."},
    {"_const_data_ptr", py_const_data_ptr, METH_NOARGS, "The address, for reading: a lazy clone stays one."},
    {"resizable", py_resizable, METH_NOARGS, "resizable() -> bool"},
    {"new", py_new, METH_NOARGS, "new() -> UntypedStorage: an empty one on the same device."},
    {"fill_", py_fill, METH_O, "fill_(value): sets every byte."},
    {"resize_", py_resize, METH_O, "resize_(nbytes): keeps the first bytes."},
    {"copy_", FAST(py_copy), "copy_(src, non_blocking=None): copies the bytes of a storage of the same size."},
    {"_weak_ref", py_weak_ref, METH_NOARGS, NULL},
    {"_free_weak_ref", py_free_weak_ref, METH_O | METH_STATIC, NULL},
    {"_expired", py_expired, METH_O | METH_STATIC, NULL},
    {"_new_with_weak_ptr", py_new_with_weak_ptr, METH_O | METH_STATIC, NULL},
    {NULL, NULL, 0, NULL},
};

PySequenceMethods mt_py_storage_sequence = {.sq_length = storage_length, .sq_item = storage_item};
PyMappingMethods mt_py_storage_mapping = {storage_length, storage_get, storage_set};
