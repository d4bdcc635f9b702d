/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffer protocol in both directions. memoryview(t) shares the memory of a CPU tensor that
   needs no gradient; the exported view owns the storage and pins it, so that nothing can resize or
   replace it while the view lives. torch.frombuffer is the way back; there the tensor owns the
   exporter's view. */
#include "bindings/new_internal.h"

#include <string.h>

#include "base/error.h"
#include "core/shape.h"

/* --- export --- */

/* What one exported view keeps. */
typedef struct export {
    mt_storage *s;
    Py_ssize_t dims[]; /* sizes, then strides in bytes */
} export;

static char *format_of(mt_dtype d)
{
    static char b8[] = "?", u8[] = "B", i8[] = "b", i16[] = "h", i32[] = "i", i64[] = "q", i64_long[] = "l",
                f16[] = "e", u16[] = "H", u32[] = "I", u64[] = "Q", u64_long[] = "L", f32[] = "f", f64[] = "d",
                c64[] = "Zf", c128[] = "Zd";

    switch (d) {
    case MT_DTYPE_b8:
        return b8;
    case MT_DTYPE_u8:
        return u8;
    case MT_DTYPE_i8:
        return i8;
    case MT_DTYPE_i16:
        return i16;
    case MT_DTYPE_i32:
        return i32;
    case MT_DTYPE_i64:
        return sizeof(long) == 8 ? i64_long : i64;
    case MT_DTYPE_u16:
        return u16;
    case MT_DTYPE_u32:
        return u32;
    case MT_DTYPE_u64:
        return sizeof(long) == 8 ? u64_long : u64;
    case MT_DTYPE_f16:
        return f16;
    case MT_DTYPE_f32:
        return f32;
    case MT_DTYPE_f64:
        return f64;
    case MT_DTYPE_c64:
        return c64;
    case MT_DTYPE_c128:
        return c128;
    default:
        return NULL;
    }
}

static int refuse(const char *text)
{
    PyErr_SetString(PyExc_BufferError, text);
    return -1;
}

/* A subclass that says itself how it becomes an array is not read behind its back. */
static bool has_own_array(PyObject *o)
{
    static PyObject *name;

    if (mt_py_is_exact(o) || Py_TYPE(o) == mt_parameter_type)
        return false;
    if (!name && !(name = PyUnicode_InternFromString("__array__"))) {
        PyErr_Clear();
        return true;
    }
    return mt_py_needs_override(o) || _PyType_Lookup(Py_TYPE(o), name) != _PyType_Lookup(mt_tensor_type, name);
}

static bool is_fortran(const mt_tensor *t)
{
    int64_t step = 1;

    for (int i = 0; i < t->ndim; i++) {
        if (t->size[i] != 1 && t->stride[i] != step)
            return false;
        step *= t->size[i];
    }
    return true;
}

static int check_export(PyObject *self, mt_tensor *t, int flags)
{
    if (has_own_array(self))
        return refuse("a tensor whose class overrides the conversion to an array has no buffer");
    if (t->device.type != MT_DEVICE_CPU)
        return refuse("only CPU tensors have a buffer; use Tensor.cpu() first");
    if (mt_tensor_requires_grad(t))
        return refuse("a tensor that requires grad has no buffer; use tensor.detach() first");
    if (t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG))
        return refuse("a tensor with the conjugate or negative bit has no buffer; use "
                      "resolve_conj() or resolve_neg() first");
    if (!format_of((mt_dtype)t->dtype) && (flags & PyBUF_FORMAT) == PyBUF_FORMAT)
        return refuse("the buffer protocol has no format for this dtype");
    if ((flags & PyBUF_WRITABLE) && (t->storage->flags & MT_STORAGE_READONLY))
        return refuse("the memory of this tensor is not writable");
    if (mt_tensor_is_contiguous(t))
        return 0;
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
        return refuse("the tensor is not contiguous");
    if (((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS ||
         (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS) &&
        !is_fortran(t))
        return refuse("the tensor is not contiguous");
    return 0;
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    mt_tensor *t = mt_py_impl(self);
    Py_ssize_t itemsize = (Py_ssize_t)mt_tensor_itemsize(t);
    static char nothing;
    export *e;

    view->obj = NULL;
    if (check_export(self, t, flags) < 0)
        return -1;
    if (mt_tensor_check_bounds(t) < 0 || mt_storage_expose(t->storage) < 0) {
        mt_py_raise();
        return -1;
    }
    e = PyMem_Malloc(sizeof(*e) + 2 * t->ndim * sizeof(Py_ssize_t));
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    e->s = mt_storage_ref(t->storage);
    mt_storage_pin(e->s);
    for (int i = 0; i < t->ndim; i++) {
        e->dims[i] = t->size[i];
        e->dims[t->ndim + i] = t->stride[i] * itemsize;
    }
    view->buf = t->storage->data ? (void *)(uintptr_t)mt_tensor_const_data(t) : &nothing;
    view->obj = Py_NewRef(self);
    view->len = t->numel * itemsize;
    view->itemsize = itemsize;
    view->readonly = (t->storage->flags & MT_STORAGE_READONLY) != 0;
    /* Without a shape the memory is one row: the dimensions of a shape that is not there are never read. */
    view->ndim = (flags & PyBUF_ND) == PyBUF_ND ? t->ndim : 1;
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? format_of((mt_dtype)t->dtype) : NULL;
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? e->dims : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->dims + t->ndim : NULL;
    view->suboffsets = NULL;
    view->internal = e;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    export *e = view->internal;

    (void)self;
    mt_storage_unpin(e->s);
    mt_storage_unref(e->s);
    PyMem_Free(e);
}

PyBufferProcs *mt_py_tensor_buffer(void)
{
    static PyBufferProcs procs = {get_buffer, release_buffer};

    return &procs;
}

PyObject *mt_py_tensor_bytes(PyObject *self, PyObject *unused)
{
    mt_tensor *t = mt_py_impl(self);
    PyObject *items, *bytes;
    mt_scalar s;

    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__bytes__");
    if (!mt_dtype_is_integral((mt_dtype)t->dtype, true)) {
        PyObject *view = PyMemoryView_FromObject(self);

        bytes = view ? PyObject_CallMethod(view, "tobytes", NULL) : NULL;
        Py_XDECREF(view);
        return bytes;
    }
    if (t->numel == 1) { /* an index: that many zeros, as for any integer */
        MT_PY_TRY(mt_tensor_item(&s, t));
        if (s.v.i < 0) {
            PyErr_SetString(PyExc_ValueError, "negative count");
            return NULL;
        }
        bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)s.v.i);
        if (bytes)
            memset(PyBytes_AS_STRING(bytes), 0, (size_t)s.v.i);
        return bytes;
    }
    items = mt_py_to_list(t);
    bytes = items ? PyBytes_FromObject(items) : NULL;
    Py_XDECREF(items);
    return bytes;
}

/* --- import --- */

static void drop_view(void *ctx)
{
    PyGILState_STATE state;

    if (!Py_IsInitialized())
        return;
    state = PyGILState_Ensure();
    PyBuffer_Release(ctx);
    PyMem_Free(ctx);
    PyGILState_Release(state);
}

static int value_error(const char *format, long long a, long long b, long long c, long long d)
{
    PyErr_Format(PyExc_ValueError, format, a, b, c, d);
    return -1;
}

/* Checks count and offset against the length; *count becomes the number of elements. */
static int check_range(int64_t *count, int64_t offset, int64_t length, int64_t itemsize)
{
    int64_t rest = length - offset;

    if (length == 0 || *count == 0)
        return value_error("both buffer length (%lld) and count (%lld) must not be 0", length, *count, 0, 0);
    if (offset < 0 || offset >= length)
        return value_error("offset (%lld bytes) must be non-negative and no greater than buffer "
                           "length (%lld bytes) minus 1",
                           offset, length, 0, 0);
    if (*count < 0) {
        if (rest % itemsize != 0)
            return value_error("buffer length (%lld bytes) after offset (%lld bytes) must be a "
                               "multiple of element size (%lld)",
                               rest, offset, itemsize, 0);
        *count = rest / itemsize;
        return 0;
    }
    if (*count > rest / itemsize)
        return value_error("requested buffer length (%lld * %lld bytes) after offset (%lld bytes) "
                           "must not be greater than actual buffer length (%lld bytes)",
                           *count, itemsize, offset, length);
    return 0;
}

static int warn_readonly(void)
{
    static bool warned;

    if (mt_warn_once(&warned, MT_WARN_USER,
                     "The given buffer is not writable, and PyTorch does not support non-writable "
                     "tensors. This means you can write to the underlying (supposedly "
                     "non-writable) buffer using the tensor. You may want to copy the buffer to "
                     "protect its data or make it writable before converting it to a tensor. This "
                     "type of warning will be suppressed for the rest of this program.") < 0)
        return mt_py_fail();
    return 0;
}

/* The exporter's view: contiguous bytes, writable when it can be. */
static int get_view(Py_buffer *view, PyObject *o)
{
    if (!PyObject_CheckBuffer(o)) {
        PyErr_SetString(PyExc_ValueError, "object does not implement Python buffer protocol.");
        return -1;
    }
    if (PyObject_GetBuffer(o, view, PyBUF_WRITABLE) == 0)
        return 0;
    PyErr_Clear();
    if (PyObject_GetBuffer(o, view, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        PyErr_SetString(PyExc_RuntimeError, "could not retrieve buffer from object");
        return -1;
    }
    return 0;
}

int mt_py_tensor_from_buffer(mt_tensor **out, PyObject *o, mt_dtype dtype, int64_t count, int64_t offset)
{
    static const int64_t one = 1;
    int64_t itemsize = (int64_t)mt_dtype_size(dtype);
    Py_buffer *view = PyMem_Malloc(sizeof(*view));
    mt_storage *s = NULL;

    *out = NULL;
    if (!view) {
        PyErr_NoMemory();
        return -1;
    }
    if (get_view(view, o) < 0) {
        PyMem_Free(view);
        return -1;
    }
    if ((view->readonly && warn_readonly() < 0) || check_range(&count, offset, view->len, itemsize) < 0)
        goto fail;
    if (mt_storage_from_memory(&s, (char *)view->buf + offset, (size_t)(count * itemsize), MT_CPU, drop_view, view) <
        0) {
        mt_py_fail();
        goto fail;
    }
    if ((view->readonly && mt_storage_protect(s) < 0) || mt_tensor_from_storage(out, s, dtype, 1, &count, &one, 0) < 0)
        mt_py_fail();
    mt_storage_unref(s);
    return *out ? 0 : -1;
fail:
    PyBuffer_Release(view);
    PyMem_Free(view);
    return -1;
}
