/* SPDX-License-Identifier: BSD-3-Clause */
/* Properties of tensors that need no graph, and small hand-written methods. One getter serves all properties: it
   asks for overrides, then calls the function of the property. Autograd properties are in autograd_py.c. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/bind_internal.h"
#include "core/shape.h"
#include "ops.h"

typedef struct property {
    const char *name;
    PyObject *(*get)(PyObject *self, mt_tensor *t);
} property;

static PyObject *get_property(PyObject *self, void *closure)
{
    const property *p = closure;

    if (MT_UNLIKELY(mt_py_needs_override(self)))
        return mt_py_override_property(self, p->name, NULL, 0);
    return p->get(self, mt_py_impl(self));
}

static PyObject *get_shape(PyObject *self, mt_tensor *t)
{
    (void)self;
    return mt_py_size_new(t->size, t->ndim);
}

static PyObject *get_dtype(PyObject *self, mt_tensor *t)
{
    (void)self;
    return mt_py_dtype_get((mt_dtype)t->dtype);
}

static PyObject *get_device(PyObject *self, mt_tensor *t)
{
    static PyObject *cpu;

    (void)self;
    if (t->device.type == MT_DEVICE_CPU) {
        if (!cpu && !(cpu = mt_py_device_new(MT_CPU)))
            return NULL;
        return Py_NewRef(cpu);
    }
    return mt_py_device_new(t->device);
}

static PyObject *get_layout(PyObject *self, mt_tensor *t)
{
    (void)self, (void)t;
    return mt_py_layout_get(0);
}

static PyObject *get_ndim(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyLong_FromLong(t->ndim);
}

static PyObject *get_itemsize(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyLong_FromSize_t(mt_tensor_itemsize(t));
}

static PyObject *get_nbytes(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyLong_FromLongLong(t->numel * (int64_t)mt_tensor_itemsize(t));
}

static PyObject *get_is_cpu(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyBool_FromLong(t->device.type == MT_DEVICE_CPU);
}

static PyObject *get_is_cuda(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyBool_FromLong(t->device.type == MT_DEVICE_CUDA);
}

static PyObject *get_is_meta(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyBool_FromLong(t->device.type == MT_DEVICE_META);
}

static PyObject *get_false(PyObject *self, mt_tensor *t)
{
    (void)self, (void)t;
    Py_RETURN_FALSE;
}

static PyObject *get_name(PyObject *self, mt_tensor *t)
{
    (void)self, (void)t;
    Py_RETURN_NONE; /* only parameters of tracers have names */
}

static PyObject *get_version(PyObject *self, mt_tensor *t)
{
    (void)self;
    if (t->flags & MT_FLAG_INFERENCE) {
        PyErr_SetString(PyExc_RuntimeError, "Inference tensors do not track version counter.");
        return NULL;
    }
    return PyLong_FromUnsignedLong(mt_tensor_version(t));
}

/* Views of inference tensors have no part in autograd and are none to the user. */
static bool is_view(const mt_tensor *t)
{
    return t->base && !(t->flags & MT_FLAG_INFERENCE);
}

static PyObject *get_base(PyObject *self, mt_tensor *t)
{
    (void)self;
    return mt_py_wrap(is_view(t) ? mt_tensor_ref(t->base) : NULL);
}

static PyObject *get_cdata(PyObject *self, mt_tensor *t)
{
    (void)self;
    return PyLong_FromVoidPtr(t);
}

static PyObject *wrap_op(int rc, mt_tensor *out)
{
    return rc < 0 ? mt_py_raise() : mt_py_wrap(out);
}

static PyObject *reversed_dims(mt_tensor *t)
{
    int64_t dims[MT_MAX_DIM];
    mt_tensor *out = NULL;
    int rc;

    for (int i = 0; i < t->ndim; i++)
        dims[i] = t->ndim - 1 - i;
    rc = mt_permute(&out, t, (mt_ints){dims, t->ndim});
    return wrap_op(rc, out);
}

static PyObject *get_T(PyObject *self, mt_tensor *t)
{
    (void)self;
    if (t->ndim != 2 && t->ndim != 0 &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it "
            "will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
            "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
            1) < 0)
        return NULL;
    return reversed_dims(t);
}

static PyObject *matrix_transpose(mt_tensor *t, const char *name, bool conj)
{
    mt_tensor *out = NULL, *flipped = NULL;
    int rc;

    if (t->ndim < 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.", name, t->ndim);
        return NULL;
    }
    rc = mt_transpose(&out, t, -2, -1);
    if (rc == 0 && conj && mt_dtype_is_complex((mt_dtype)t->dtype)) {
        rc = mt_conj(&flipped, out);
        mt_tensor_unref(out);
        out = flipped;
    }
    return wrap_op(rc, out);
}

static PyObject *get_mT(PyObject *self, mt_tensor *t)
{
    (void)self;
    return matrix_transpose(t, "mT", false);
}

static PyObject *get_mH(PyObject *self, mt_tensor *t)
{
    (void)self;
    return matrix_transpose(t, "mH", true);
}

static PyObject *get_H(PyObject *self, mt_tensor *t)
{
    (void)self;
    if (t->ndim != 0 && t->ndim != 2) {
        PyErr_Format(PyExc_RuntimeError,
                     "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor. For batches of matrices, "
                     "consider using tensor.mH",
                     t->ndim);
        return NULL;
    }
    return t->ndim == 0 ? reversed_dims(t) : matrix_transpose(t, "H", true);
}

static PyObject *get_real(PyObject *self, mt_tensor *t)
{
    mt_tensor *out = NULL;
    int rc;

    if (!mt_dtype_is_complex((mt_dtype)t->dtype))
        return Py_NewRef(self);
    rc = mt_real(&out, t);
    return wrap_op(rc, out);
}

static PyObject *get_imag(PyObject *self, mt_tensor *t)
{
    mt_tensor *out = NULL;
    int rc = mt_imag(&out, t);

    (void)self;
    return wrap_op(rc, out);
}

/* x.real = value, x.imag = value */
static int set_part(PyObject *self, PyObject *value, void *closure)
{
    const property *p = closure;
    PyObject *part, *result;

    if (mt_py_needs_override(self)) {
        result = mt_py_override_property(self, p->name, value, value ? 1 : 2);
        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    if (!value) {
        PyErr_Format(PyExc_RuntimeError, "cannot delete the %s part of a tensor", p->name);
        return -1;
    }
    part = p->get(self, mt_py_impl(self));
    if (!part)
        return -1;
    if (mt_py_is_tensor(value) || mt_py_is_number(value))
        result = PyObject_CallMethod(part, mt_py_is_tensor(value) ? "copy_" : "fill_", "O", value);
    else
        result = PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name,
                              mt_dtype_table[mt_py_impl(part)->dtype].legacy);
    Py_DECREF(part);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* --- methods --- */

static bool overrides_method(PyObject *self, const char *name, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames, PyObject **result)
{
    bool given = nargs > 0 || (kwnames && PyTuple_GET_SIZE(kwnames) > 0);
    bool any = mt_py_either_needs_override(
        self, given && !PyLong_CheckExact(args[0]) && !mt_py_is_tensor(args[0]) ? args[0] : self);

    if (MT_UNLIKELY(any))
        *result = mt_py_method_override(self, name, args, nargs, kwnames);
    return any;
}

/* The one optional argument `dim`, by position or name: 1 given, 0 absent, -1 error. */
static int optional_dim(int64_t *dim, const char *name, int ndim, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames)
{
    Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    int rc;

    if (nargs > 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes from 0 to 1 positional arguments but %zd were given", name, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_kw; i++) {
        PyObject *given = PyTuple_GET_ITEM(kwnames, i);
        bool known = PyUnicode_CompareWithASCIIString(given, "dim") == 0;

        if (!known || nargs + n_kw > 1) {
            PyErr_Format(PyExc_TypeError,
                         known ? "%s() got multiple values for argument '%U'"
                               : "%s() got an unexpected keyword argument '%U'",
                         name, given);
            return -1;
        }
    }
    if (nargs + n_kw == 0 || args[0] == Py_None)
        return 0;
    rc = mt_py_to_int(dim, args[0]);
    if (rc == 0)
        PyErr_Format(PyExc_TypeError, "%s(): argument 'dim' (position 1) must be int, not %s", name,
                     Py_TYPE(args[0])->tp_name);
    if (rc != 1)
        return -1;
    if (ndim == 0) {
        PyErr_Format(PyExc_IndexError, "Dimension specified as %lld but tensor has no dimensions", (long long)*dim);
        return -1;
    }
    if (mt_dim_wrap(dim, ndim) < 0) {
        mt_py_raise();
        return -1;
    }
    return 1;
}

static PyObject *method_size(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    mt_tensor *t = mt_py_impl(self);
    PyObject *result;
    int64_t dim;
    int rc;

    if (overrides_method(self, "size", args, nargs, kwnames, &result))
        return result;
    rc = optional_dim(&dim, "size", t->ndim, args, nargs, kwnames);
    if (rc < 0)
        return NULL;
    return rc ? PyLong_FromLongLong(t->size[dim]) : mt_py_size_new(t->size, t->ndim);
}

static PyObject *method_stride(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    mt_tensor *t = mt_py_impl(self);
    PyObject *result;
    int64_t dim;
    int rc;

    if (overrides_method(self, "stride", args, nargs, kwnames, &result))
        return result;
    rc = optional_dim(&dim, "stride", t->ndim, args, nargs, kwnames);
    if (rc < 0)
        return NULL;
    if (rc)
        return PyLong_FromLongLong(t->stride[dim]);
    result = PyTuple_New(t->ndim);
    for (int i = 0; result && i < t->ndim; i++)
        PyTuple_SET_ITEM(result, i, PyLong_FromLongLong(t->stride[i]));
    return result;
}

#define NOARGS_AS(name, public, expression)                          \
    static PyObject *method_##name(PyObject *self, PyObject *unused) \
    {                                                                \
        mt_tensor *t = mt_py_impl(self);                             \
                                                                     \
        (void)unused, (void)t;                                       \
        if (mt_py_needs_override(self))                              \
            return mt_py_noargs_override(self, public);              \
        return expression;                                           \
    }
#define NOARGS(name, expression) NOARGS_AS(name, #name, expression)

static PyObject *address_of(const mt_tensor *t)
{
    bool none = t->numel == 0 || !t->storage->data;

    return PyLong_FromVoidPtr(none ? NULL : (void *)(uintptr_t)mt_tensor_const_data(t));
}

NOARGS(dim, PyLong_FromLong(t->ndim))
NOARGS_AS(ndimension, "dim", PyLong_FromLong(t->ndim))
NOARGS(numel, PyLong_FromLongLong(t->numel))
NOARGS_AS(nelement, "numel", PyLong_FromLongLong(t->numel))
NOARGS(element_size, PyLong_FromSize_t(mt_tensor_itemsize(t)))
NOARGS(storage_offset, PyLong_FromLongLong(t->offset))
NOARGS(const_data_ptr, address_of(t))
NOARGS(data_ptr, mt_storage_expose(t->storage) < 0 ? mt_py_raise() : address_of(t))
NOARGS(is_complex, PyBool_FromLong(mt_dtype_is_complex((mt_dtype)t->dtype)))
NOARGS(is_floating_point, PyBool_FromLong(mt_dtype_is_float((mt_dtype)t->dtype)))
NOARGS(is_signed, PyBool_FromLong(mt_dtype_table[t->dtype].is_signed))
NOARGS(is_conj, PyBool_FromLong((t->flags & MT_FLAG_CONJ) != 0))
NOARGS(is_neg, PyBool_FromLong((t->flags & MT_FLAG_NEG) != 0))
NOARGS(is_inference, PyBool_FromLong((t->flags & MT_FLAG_INFERENCE) != 0))
NOARGS(get_device, PyLong_FromLong(t->device.type == MT_DEVICE_CUDA ? t->device.index : -1))
NOARGS(tolist, mt_py_to_list(t))

static PyObject *method_item(PyObject *self, PyObject *unused)
{
    mt_tensor *t = mt_py_impl(self);
    mt_scalar s;

    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "item");
    if (t->numel != 1) {
        PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to Scalar",
                     (long long)t->numel);
        return NULL;
    }
    if (mt_tensor_item(&s, t) < 0)
        return mt_py_raise();
    return mt_py_from_scalar(s);
}

static PyObject *method_is_contiguous(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    mt_tensor *t = mt_py_impl(self);
    int format = MT_FORMAT_CONTIGUOUS;
    PyObject *result;

    if (overrides_method(self, "is_contiguous", args, nargs, kwnames, &result))
        return result;
    if (nargs > 0)
        return PyErr_Format(PyExc_TypeError, "is_contiguous() takes 0 positional arguments but %zd %s given", nargs,
                            nargs == 1 ? "was" : "were");
    if (kwnames && (PyTuple_GET_SIZE(kwnames) > 1 ||
                    PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "memory_format") != 0))
        return PyErr_Format(PyExc_TypeError, "is_contiguous() got an unexpected keyword argument '%U'",
                            PyTuple_GET_ITEM(kwnames, PyTuple_GET_SIZE(kwnames) - 1));
    if (kwnames) {
        format = mt_py_memory_format_of(args[0]);
        if (format < 0) {
            PyErr_Format(PyExc_TypeError,
                         "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s",
                         Py_TYPE(args[0])->tp_name);
            return NULL;
        }
    }
    switch (format) {
    case MT_FORMAT_CHANNELS_LAST:
        return PyBool_FromLong((t->flags & MT_FLAG_CHANNELS_LAST) != 0);
    case MT_FORMAT_CHANNELS_LAST_3D:
        return PyBool_FromLong((t->flags & MT_FLAG_CHANNELS_LAST_3D) != 0);
    default: /* the format that is preserved counts as the plain one */
        return PyBool_FromLong(mt_tensor_is_contiguous(t));
    }
}

static PyObject *method_is_view(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "_is_view");
    return PyBool_FromLong(is_view(mt_py_impl(self)));
}

static PyObject *method_use_count(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong((long)mt_refcount_get(&mt_py_impl(self)->refs));
}

static PyObject *method_is_same_size(PyObject *self, PyObject *other)
{
    mt_tensor *a = mt_py_impl(self), *b;

    if (mt_py_either_needs_override(self, other))
        return mt_py_method_override(self, "is_same_size", &other, 1, NULL);
    if (!mt_py_is_tensor(other)) {
        PyErr_Format(PyExc_TypeError, "is_same_size(): argument 'other' (position 1) must be Tensor, not %s",
                     Py_TYPE(other)->tp_name);
        return NULL;
    }
    b = mt_py_impl(other);
    return PyBool_FromLong(mt_shape_equal(a->ndim, a->size, b->ndim, b->size));
}

static PyObject *method_is_set_to(PyObject *self, PyObject *other)
{
    mt_tensor *a = mt_py_impl(self), *b;

    if (mt_py_either_needs_override(self, other))
        return mt_py_method_override(self, "is_set_to", &other, 1, NULL);
    if (!mt_py_is_tensor(other)) {
        PyErr_Format(PyExc_TypeError, "is_set_to(): argument 'tensor' (position 1) must be Tensor, not %s",
                     Py_TYPE(other)->tp_name);
        return NULL;
    }
    b = mt_py_impl(other);
    return PyBool_FromLong(a->storage == b->storage && a->offset == b->offset &&
                           mt_shape_equal(a->ndim, a->size, b->ndim, b->size) &&
                           mt_shape_equal(a->ndim, a->stride, b->ndim, b->stride));
}

PyObject *mt_py_tensor_complex(PyObject *self, PyObject *unused);
PyObject *mt_py_tensor_bool(PyObject *self, PyObject *unused);
PyObject *mt_py_tensor_len(PyObject *self, PyObject *unused);

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS
PyMethodDef mt_py_tensor_extra_methods[] = {
    {"size", FAST(method_size),
     "size($self, dim=None)\n--\n\n"
     "size(dim=None) -> torch.Size or int"},
    {"stride", FAST(method_stride) | MT_PY_UNLISTED,
     "stride($self, dim=None)\n--\n\n"
     "stride(dim=None) -> tuple or int"},
    {"is_contiguous", FAST(method_is_contiguous),
     "is_contiguous($self, *, memory_format=...)\n--\n\n"
     "is_contiguous(memory_format=torch.contiguous_format) -> bool"},
    {"dim", method_dim, METH_NOARGS,
     "dim($self)\n--\n\n"
     "dim() -> int: number of dimensions."},
    {"ndimension", method_ndimension, METH_NOARGS,
     "ndimension($self)\n--\n\n"
     "ndimension() -> int: alias of dim()."},
    {"numel", method_numel, METH_NOARGS,
     "numel($self)\n--\n\n"
     "numel() -> int: number of elements."},
    {"nelement", method_nelement, METH_NOARGS,
     "nelement($self)\n--\n\n"
     "nelement() -> int: alias of numel()."},
    {"element_size", method_element_size, METH_NOARGS,
     "element_size($self)\n--\n\n"
     "element_size() -> int: bytes of one element."},
    {"storage_offset", method_storage_offset, METH_NOARGS,
     "storage_offset($self)\n--\n\n"
     "storage_offset() -> int: in elements."},
    {"data_ptr", method_data_ptr, METH_NOARGS,
     "data_ptr($self)\n--\n\n"
     "data_ptr() -> int: address of the first element, 0 of an empty tensor."},
    {"const_data_ptr", method_const_data_ptr, METH_NOARGS,
     "const_data_ptr($self)\n--\n\n"
     "const_data_ptr() -> int: the same for reading: a lazy clone stays one."},
    {"is_complex", method_is_complex, METH_NOARGS,
     "is_complex($self)\n--\n\n"
     "is_complex() -> bool"},
    {"is_floating_point", method_is_floating_point, METH_NOARGS,
     "is_floating_point($self)\n--\n\n"
     "is_floating_point() -> bool"},
    {"is_signed", method_is_signed, METH_NOARGS,
     "is_signed($self)\n--\n\n"
     "is_signed() -> bool"},
    {"is_conj", method_is_conj, METH_NOARGS,
     "is_conj($self)\n--\n\n"
     "is_conj() -> bool"},
    {"is_neg", method_is_neg, METH_NOARGS,
     "is_neg($self)\n--\n\n"
     "is_neg() -> bool"},
    {"is_inference", method_is_inference, METH_NOARGS,
     "is_inference($self)\n--\n\n"
     "is_inference() -> bool"},
    {"get_device", method_get_device, METH_NOARGS,
     "get_device($self)\n--\n\n"
     "get_device() -> int: index of the CUDA device, -1 on the CPU."},
    {"item", method_item, METH_NOARGS,
     "item($self)\n--\n\n"
     "item() -> number: the value of a one-element tensor."},
    {"tolist", method_tolist, METH_NOARGS,
     "tolist($self)\n--\n\n"
     "tolist() -> list or number"},
    {"_is_view", method_is_view, METH_NOARGS, "_is_view($self)\n--\n\n_is_view() -> bool"},
    {"_use_count", method_use_count, METH_NOARGS | MT_PY_UNLISTED,
     "_use_count($self)\n--\n\n_use_count() -> int: how many hold the tensor, this object being one."},
    {"is_same_size", method_is_same_size, METH_O,
     "is_same_size($self, other)\n--\n\n"
     "is_same_size(other) -> bool"},
    {"is_set_to", method_is_set_to, METH_O,
     "is_set_to($self, tensor)\n--\n\n"
     "is_set_to(tensor) -> bool: the same memory and geometry."},
    {"__bool__", mt_py_tensor_bool, METH_NOARGS | METH_COEXIST,
     "__bool__($self)\n--\n\nTrue unless the element is zero."},
    {"__len__", mt_py_tensor_len, METH_NOARGS | METH_COEXIST, "__len__($self)\n--\n\nThe size of the first dimension."},
    {"__complex__", mt_py_tensor_complex, METH_NOARGS, "__complex__($self)\n--\n\n__complex__()"},
    {NULL, NULL, 0, NULL},
};

static const property properties[] = {
    {"shape", get_shape},
    {"dtype", get_dtype},
    {"device", get_device},
    {"layout", get_layout},
    {"ndim", get_ndim},
    {"itemsize", get_itemsize},
    {"nbytes", get_nbytes},
    {"is_cpu", get_is_cpu},
    {"is_cuda", get_is_cuda},
    {"is_meta", get_is_meta},
    {"is_sparse", get_false},
    {"is_quantized", get_false},
    {"_version", get_version},
    {"_base", get_base},
    {"_cdata", get_cdata},
    {"T", get_T},
    {"mT", get_mT},
    {"mH", get_mH},
    {"H", get_H},
    {"real", get_real},
    {"imag", get_imag},
    {"is_sparse_csr", get_false},
    {"name", get_name},
    {"is_mkldnn", get_false},
    {"is_nested", get_false},
    {"is_xpu", get_false},
    {"is_mps", get_false},
    {"is_vulkan", get_false},
    {"is_ipu", get_false},
    {"is_xla", get_false},
    {"is_mtia", get_false},
    {"is_maia", get_false},
};

PyGetSetDef mt_py_tensor_getset[MT_COUNTOF(properties) + 1];

void mt_py_getset_fill(void)
{
    for (size_t i = 0; i < MT_COUNTOF(properties); i++) {
        PyGetSetDef *def = &mt_py_tensor_getset[i];
        bool settable = strcmp(properties[i].name, "real") == 0 || strcmp(properties[i].name, "imag") == 0;

        def->name = properties[i].name;
        def->get = get_property;
        def->set = settable ? set_part : NULL;
        def->closure = (void *)&properties[i];
    }
}
