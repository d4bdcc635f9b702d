/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.tensor, as_tensor, asarray, frombuffer and Tensor.new_tensor: arguments, modes, and what
   happens to requires_grad. Making the tensor itself is tensor_data.c. Here are also the tables of
   everything that makes tensors by hand, which module.c puts into _VariableFunctions and
   tensor_type.c into _TensorBase. */
#include "bindings/new_internal.h"

#include "base/error.h"
#include "autograd/autograd.h"
#include "ops.h"

static PyObject *finish(mt_tensor *t, bool requires_grad)
{
    if (requires_grad && mt_py_set_requires_grad(t) < 0) {
        mt_tensor_unref(t);
        return mt_py_raise();
    }
    return mt_py_wrap(t);
}

/* Page-locked memory belongs to a CUDA build; what cannot be pinned at all is said first. */
static PyObject *refuse_pinning(PyObject *data)
{
    if (mt_py_is_tensor(data))
        PyErr_SetString(PyExc_RuntimeError, "Can't pin tensor constructed from a variable");
    else if (mt_py_is_array(data))
        PyErr_SetString(PyExc_RuntimeError, "Can't pin tensor constructed from numpy");
    else
        PyErr_SetString(PyExc_RuntimeError, "pin_memory=True requires a CUDA or other accelerator backend; no pinned "
                                            "memory allocator is available on this system.");
    return NULL;
}

static int warn_copy_construct(const char *call)
{
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
                            "or sourceTensor.detach().clone().requires_grad_(True), rather than %s(sourceTensor).",
                            call);
}

/* --- torch.tensor --- */

static PyObject *py_tensor(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { DATA, DTYPE, DEVICE, PIN_MEMORY, REQUIRES_GRAD, COUNT };
    static mt_scan scan = {"tensor", COUNT, 1, 1, {"data", "dtype", "device", "pin_memory", "requires_grad"}, {NULL}};
    PyObject *value[COUNT];
    mt_dtype dtype = MT_DTYPE_NONE;
    mt_device device = MT_DEVICE_NONE;
    bool pin_memory = false, requires_grad = false;
    mt_tensor *t = NULL;

    (void)module;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0)
        return NULL;
    if (kwnames && (mt_py_scan_dtype(&dtype, &scan, DTYPE, value[DTYPE]) < 0 ||
                    mt_py_scan_device(&device, &scan, DEVICE, value[DEVICE]) < 0 ||
                    mt_py_scan_bool(&pin_memory, &scan, PIN_MEMORY, value[PIN_MEMORY]) < 0 ||
                    mt_py_scan_bool(&requires_grad, &scan, REQUIRES_GRAD, value[REQUIRES_GRAD]) < 0))
        return mt_py_scan_failed("tensor", args, nargs, kwnames);
    if (mt_py_mode_is_active())
        return mt_py_function_override("tensor", args, nargs, kwnames);
    if (mt_py_is_tensor(value[DATA]) && warn_copy_construct("torch.tensor") < 0)
        return NULL;
    if (pin_memory)
        return refuse_pinning(value[DATA]);
    if (mt_py_tensor_from_data(&t, value[DATA], dtype, device, true) < 0)
        return mt_py_raise();
    return finish(t, requires_grad);
}

/* --- as_tensor, new_tensor --- */

static PyObject *py_as_tensor(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { DATA, DTYPE, DEVICE, COUNT };
    static mt_scan scan = {"as_tensor", COUNT, 1, 1, {"data", "dtype", "device"}, {NULL}};
    PyObject *value[COUNT];
    mt_dtype dtype = MT_DTYPE_NONE;
    mt_device device = MT_DEVICE_NONE;
    mt_tensor *t = NULL;

    (void)module;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 ||
        mt_py_scan_dtype(&dtype, &scan, DTYPE, value[DTYPE]) < 0 ||
        mt_py_scan_device(&device, &scan, DEVICE, value[DEVICE]) < 0)
        return mt_py_scan_failed("as_tensor", args, nargs, kwnames);
    if (mt_py_mode_is_active())
        return mt_py_function_override("as_tensor", args, nargs, kwnames);
    if (mt_py_tensor_from_data(&t, value[DATA], dtype, device, false) < 0)
        return mt_py_raise();
    return mt_py_wrap(t);
}

static PyObject *py_new_tensor(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { DATA, DTYPE, DEVICE, REQUIRES_GRAD, COUNT };
    static mt_scan scan = {"new_tensor", COUNT, 1, 1, {"data", "dtype", "device", "requires_grad"}, {NULL}};
    PyObject *value[COUNT];
    mt_tensor *own = mt_py_impl(self), *t = NULL;
    mt_dtype dtype = (mt_dtype)own->dtype;
    mt_device device = own->device;
    bool requires_grad = false;

    if (mt_py_needs_override(self))
        return mt_py_method_override(self, "new_tensor", args, nargs, kwnames);
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 ||
        mt_py_scan_dtype(&dtype, &scan, DTYPE, value[DTYPE]) < 0 ||
        mt_py_scan_device(&device, &scan, DEVICE, value[DEVICE]) < 0 ||
        mt_py_scan_bool(&requires_grad, &scan, REQUIRES_GRAD, value[REQUIRES_GRAD]) < 0)
        return NULL;
    if (mt_py_is_tensor(value[DATA]) && warn_copy_construct("tensor.new_tensor") < 0)
        return NULL;
    if (mt_py_tensor_from_data(&t, value[DATA], dtype, device, true) < 0)
        return mt_py_raise();
    return finish(t, requires_grad);
}

/* --- asarray --- */

typedef struct wish {
    mt_dtype dtype;
    mt_device device;
    int copy;          /* -1: only when needed */
    int requires_grad; /* -1: as it is */
} wish;

/* How an object becomes a tensor without a copy: 1 made, 0 it cannot be aliased, -1 exception. */
static int alias_object(mt_tensor **out, PyObject *o, const wish *w)
{
    mt_dtype dtype = w->dtype == MT_DTYPE_NONE ? mt_default_dtype() : w->dtype;

    if (mt_py_is_tensor(o)) {
        *out = mt_tensor_ref(mt_py_impl(o));
        return 1;
    }
    if (mt_py_is_array(o))
        return mt_py_tensor_from_array(out, o, true) < 0 ? -1 : 1;
    if (mt_py_is_array_scalar(o)) {
        if (w->copy != 0)
            return 0;
        PyErr_SetString(PyExc_RuntimeError,
                        "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ");
        return -1;
    }
    if (mt_py_is_dlpack_capsule(o))
        return mt_py_tensor_from_capsule(out, o) < 0 ? -1 : 1;
    if (PyObject_CheckBuffer(o))
        return mt_py_tensor_from_buffer(out, o, dtype, -1, 0) < 0 ? -1 : 1;
    return 0;
}

static int refuse_alias(const mt_tensor *t, const wish *w)
{
    char from[24], to[24];

    if (!mt_device_is_none(w->device) && !mt_device_equal(w->device, t->device))
        PyErr_Format(PyExc_ValueError, "can't alias tensor from device '%s' to '%s'.",
                     mt_device_format(from, t->device), mt_device_format(to, w->device));
    else
        PyErr_Format(PyExc_ValueError, "can't alias tensor with dtype '%s' into dtype '%s'.",
                     mt_dtype_table[t->dtype].legacy, mt_dtype_table[w->dtype].legacy);
    return -1;
}

/* Copies and converts an aliasing tensor as asked; consumes it. */
static int adapt(mt_tensor **inout, const wish *w)
{
    mt_tensor *t = *inout, *result = NULL;
    bool differs = (w->dtype != MT_DTYPE_NONE && w->dtype != (mt_dtype)t->dtype) ||
                   (!mt_device_is_none(w->device) && !mt_device_equal(w->device, t->device));
    int rc;

    if (!differs && w->copy != 1)
        return 0;
    if (w->copy == 0)
        return refuse_alias(t, w);
    rc = mt_py_convert(&result, t, w->dtype, w->device, true);
    mt_tensor_unref(t);
    *inout = result;
    return rc < 0 ? mt_py_fail() : 0;
}

/* An explicit wish is set on a leaf, even when the leaf is the object itself; other tensors are
   detached for False. */
static int settle_grad(mt_tensor **inout, PyObject *o, const wish *w)
{
    static bool warned;
    mt_tensor *t = *inout, *detached = NULL;
    bool has = mt_tensor_requires_grad(t), leaf;

    if (mt_autograd_is_leaf(&leaf, t) < 0)
        return mt_py_fail();
    if (w->requires_grad < 0) {
        if (has && leaf && mt_py_is_tensor(o) && t == mt_py_impl(o) &&
            mt_warn_once(&warned, MT_WARN_USER,
                         "torch.asarray: unspecified requires_grad now defaults to "
                         "obj.requires_grad instead of False. Pass requires_grad=False explicitly "
                         "to get the old behavior and silence this warning.") < 0)
            return mt_py_fail();
        return 0;
    }
    if (has == (w->requires_grad == 1))
        return 0;
    if (w->requires_grad == 1)
        return mt_py_set_requires_grad(t) < 0 ? mt_py_fail() : 0;
    if (leaf)
        return mt_autograd_set_requires_grad(t, false) < 0 ? mt_py_fail() : 0;
    if (mt_detach(&detached, t) < 0)
        return mt_py_fail();
    mt_tensor_unref(t);
    *inout = detached;
    return 0;
}

static int from_anything(mt_tensor **out, PyObject *o, const wish *w)
{
    int rc = alias_object(out, o, w);

    if (rc < 0)
        return -1;
    if (rc == 1)
        return adapt(out, w);
    if (w->copy == 0) {
        PyErr_SetString(PyExc_ValueError, "can't alias arbitrary sequence into a tensor.");
        return -1;
    }
    return mt_py_tensor_from_data(out, o, w->dtype, w->device, false) < 0 ? mt_py_fail() : 0;
}

static PyObject *py_asarray(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { OBJ, DTYPE, DEVICE, COPY, REQUIRES_GRAD, COUNT };
    static mt_scan scan = {"asarray", COUNT, 1, 1, {"obj", "dtype", "device", "copy", "requires_grad"}, {NULL}};
    PyObject *value[COUNT];
    wish w = {MT_DTYPE_NONE, MT_DEVICE_NONE, -1, -1};
    bool flag = false;
    mt_tensor *t = NULL;

    (void)module;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 ||
        mt_py_scan_dtype(&w.dtype, &scan, DTYPE, value[DTYPE]) < 0 ||
        mt_py_scan_device(&w.device, &scan, DEVICE, value[DEVICE]) < 0)
        return mt_py_scan_failed("asarray", args, nargs, kwnames);
    if (value[COPY] && value[COPY] != Py_None) {
        if (mt_py_scan_bool(&flag, &scan, COPY, value[COPY]) < 0)
            return mt_py_scan_failed("asarray", args, nargs, kwnames);
        w.copy = flag;
    }
    if (value[REQUIRES_GRAD] && value[REQUIRES_GRAD] != Py_None) {
        if (mt_py_scan_bool(&flag, &scan, REQUIRES_GRAD, value[REQUIRES_GRAD]) < 0)
            return mt_py_scan_failed("asarray", args, nargs, kwnames);
        w.requires_grad = flag;
    }
    if (mt_py_mode_is_active())
        return mt_py_function_override("asarray", args, nargs, kwnames);
    if (from_anything(&t, value[OBJ], &w) < 0 || settle_grad(&t, value[OBJ], &w) < 0) {
        mt_tensor_unref(t);
        return NULL;
    }
    return mt_py_wrap(t);
}

/* --- frombuffer --- */

static PyObject *py_frombuffer(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    enum { BUFFER, DTYPE, N, OFFSET, REQUIRES_GRAD, COUNT };
    static mt_scan scan = {"frombuffer", COUNT, 1, 2, {"buffer", "dtype", "count", "offset", "requires_grad"}, {NULL}};
    PyObject *value[COUNT];
    mt_dtype dtype = MT_DTYPE_NONE;
    int64_t count = -1, offset = 0;
    bool requires_grad = false;
    mt_tensor *t = NULL;

    (void)module;
    if (mt_py_scan(value, &scan, args, nargs, kwnames) < 0 ||
        mt_py_scan_dtype(&dtype, &scan, DTYPE, value[DTYPE]) < 0 || mt_py_scan_int(&count, &scan, N, value[N]) < 0 ||
        mt_py_scan_int(&offset, &scan, OFFSET, value[OFFSET]) < 0 ||
        mt_py_scan_bool(&requires_grad, &scan, REQUIRES_GRAD, value[REQUIRES_GRAD]) < 0)
        return NULL;
    if (dtype == MT_DTYPE_NONE) {
        mt_py_scan_mismatch(&scan, DTYPE, 0, "torch.dtype", value[DTYPE]);
        return NULL;
    }
    if (mt_py_tensor_from_buffer(&t, value[BUFFER], dtype, count, offset) < 0)
        return NULL;
    return finish(t, requires_grad);
}

/* --- tables --- */

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

PyMethodDef mt_py_creation_functions[] = {
    {"tensor", FAST(py_tensor),
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor\n\n"
     "A tensor without history that holds a copy of data: a number, a nest of sequences, an array, "
     "a tensor."},
    {"as_tensor", FAST(py_as_tensor),
     "as_tensor(data, dtype=None, device=None)\n--\n\n"
     "as_tensor(data, dtype=None, device=None) -> Tensor\n\n"
     "The data as a tensor. Tensors that fit come back as they are, arrays share their memory when "
     "they can."},
    {"asarray", FAST(py_asarray),
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False)\n--\n\n"
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False) -> Tensor\n\n"
     "The object as a tensor: a tensor, an array, a DLPack capsule, a buffer, a sequence or a "
     "number. copy=False refuses to copy, copy=True always copies."},
    {"frombuffer", FAST(py_frombuffer),
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False)\n--\n\n"
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor\n\n"
     "A 1-D tensor over the memory of an object with the buffer protocol. offset counts bytes, "
     "count elements."},
    {"from_numpy", mt_py_from_numpy, METH_O,
     "from_numpy(ndarray)\n--\n\n"
     "from_numpy(ndarray) -> Tensor\n\nA tensor over the memory of an array. It cannot be "
     "resized."},
    {"from_file", FAST(mt_py_from_file),
     "from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=None, "
     "requires_grad=False)\n--\n\n"
     "from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, "
     "pin_memory=False) -> Tensor\n\n"
     "A 1-D tensor over a mapped file. With shared=True writes reach the file, which grows as "
     "needed."},
    {NULL, NULL, 0, NULL},
};

PyMethodDef mt_py_creation_methods[] = {
    {"new_tensor", FAST(py_new_tensor) | MT_PY_UNLISTED,
     "new_tensor($self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False)\n--\n\n"
     "new_tensor(data, *, dtype=None, device=None, requires_grad=False) -> Tensor\n\n"
     "torch.tensor with the dtype and device of this tensor unless others are given."},
    {"new", (PyCFunction)(void (*)(void))mt_py_method_new, METH_VARARGS | METH_KEYWORDS | MT_PY_UNLISTED,
     "new($self, *args, device=None)\n--\n\nnew(*args, device=None)"},
    {"as_subclass", FAST(mt_py_as_subclass) | MT_PY_UNLISTED,
     "as_subclass($self, cls)\n--\n\n"
     "as_subclass(cls) -> Tensor\n\nThis tensor as an object of a subclass: same memory, same "
     "history."},
    {"untyped_storage", mt_py_untyped_storage, METH_NOARGS,
     "untyped_storage($self)\n--\n\n"
     "untyped_storage() -> UntypedStorage\n\nThe memory."},
    {"type", FAST(mt_py_type),
     "type($self, dtype=None, non_blocking=False)\n--\n\n"
     "type(dtype=None, non_blocking=False, **kwargs) -> str or Tensor\n\n"
     "The name of the legacy type, or this tensor as another dtype, type object or type name."},
    {"__bytes__", mt_py_tensor_bytes, METH_NOARGS, "__bytes__($self)\n--\n\n__bytes__()"},
    {"is_pinned", FAST(mt_py_is_pinned),
     "is_pinned($self, device=None)\n--\n\n"
     "is_pinned() -> bool: is the memory page-locked?"},
    {"pin_memory", FAST(mt_py_pin_memory),
     "pin_memory($self, device=None)\n--\n\n"
     "pin_memory() -> Tensor: a copy in page-locked memory."},
    {"set_", FAST(mt_py_set),
     "set_($self, source=None, storage_offset=0, size=None, stride=())\n--\n\n"
     "set_(source=None, storage_offset=0, size=None, stride=None) -> Tensor\n\n"
     "Takes over the memory of a storage or tensor, and its geometry or the one given."},
    {"numpy", FAST(mt_py_numpy),
     "numpy($self, *, force=False)\n--\n\n"
     "numpy(*, force=False) -> numpy.ndarray\n\nAn array over the memory of this tensor. "
     "force=True detaches, moves and resolves first."},
    {NULL, NULL, 0, NULL},
};
