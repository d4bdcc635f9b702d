/* SPDX-License-Identifier: BSD-3-Clause */
/* x[...] and x[...] = value. Basic indices (int, slice, None, Ellipsis) become one view; when a gradient must be recorded
   they become a chain of select, slice and unsqueeze, so that the graph is PyTorch's. Tensors, masks and sequences
   are collected per dimension and handed to index / index_put_. */
#include <string.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "bindings/bind.h"
#include "bindings/new_internal.h"
#include "core/shape.h"
#include "ops.h"

#define MAX_ITEMS (2 * MT_MAX_DIM)

/* The state of walking an index: the view made so far and the tensor index of each of its dims. */
typedef struct walk {
    mt_tensor *view;              /* owned */
    int dim;                      /* next dimension of view */
    int source;                   /* the same as a dimension of the indexed tensor, for messages */
    mt_tensor *index[MT_MAX_DIM]; /* owned; NULL where the dim is taken whole */
    int n_index;
    bool record; /* go through ops, one by one */
} walk;

static void walk_clear(walk *w)
{
    mt_tensor_clear(&w->view);
    for (int i = 0; i < MT_MAX_DIM; i++)
        mt_tensor_clear(&w->index[i]);
}

static int index_error(const char *text)
{
    PyErr_SetString(PyExc_IndexError, text);
    return -1;
}

/* --- one step of basic indexing --- */

static int replace_view(walk *w, mt_tensor *next)
{
    mt_tensor_unref(w->view);
    w->view = next;
    return 0;
}

static int raise_c(void)
{
    mt_py_raise();
    return -1;
}

static int apply_int(walk *w, int64_t i)
{
    mt_tensor *t = w->view, *next = NULL;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int d = w->dim;

    if (t->ndim == 0)
        return index_error("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                           "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    if (d >= t->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", t->ndim);
        return -1;
    }
    if (i < -t->size[d] || i >= t->size[d]) {
        PyErr_Format(PyExc_IndexError, "index %lld is out of bounds for dimension %d with size %lld", (long long)i,
                     w->source, (long long)t->size[d]);
        return -1;
    }
    w->source++;
    if (i < 0)
        i += t->size[d];
    if (w->record)
        return mt_select(&next, t, d, i) < 0 ? raise_c() : replace_view(w, next);
    for (int k = 0, n = 0; k < t->ndim; k++)
        if (k != d) {
            size[n] = t->size[k];
            stride[n++] = t->stride[k];
        }
    if (mt_tensor_new_view(&next, t, t->ndim - 1, size, stride, t->offset + i * t->stride[d]) < 0)
        return raise_c();
    return replace_view(w, next);
}

/* A bound of a slice: any object with __index__, None gives `missing`. */
static int slice_bound(int64_t *out, PyObject *o, int64_t missing)
{
    PyObject *index;
    int overflow = 0;

    *out = missing;
    if (o == Py_None)
        return 0;
    if (PyLong_CheckExact(o)) {
        index = Py_NewRef(o);
    } else if (!PyIndex_Check(o)) {
        PyErr_SetString(PyExc_TypeError, "slice indices must be integers or None or have an __index__ method");
        return -1;
    } else if (!(index = PyNumber_Index(o))) {
        return -1;
    }
    *out = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (!overflow)
        return 0;
    *out = overflow < 0 ? INT64_MIN : INT64_MAX;
    return overflow > 0 ? 0 : PyErr_WarnEx(PyExc_UserWarning, "Truncating a bound of a slice to 64 bits", 1);
}

static int apply_slice(walk *w, PyObject *o)
{
    PySliceObject *slice = (PySliceObject *)o;
    mt_tensor *t = w->view, *next = NULL;
    int64_t start, stop, step, n, size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int d = w->dim;

    if (d >= t->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", t->ndim);
        return -1;
    }
    if (slice_bound(&step, slice->step, 1) < 0)
        return -1;
    if (step <= 0) {
        PyErr_SetString(PyExc_ValueError, step == 0 ? "step cannot be zero" : "step must be greater than zero");
        return -1;
    }
    if (slice_bound(&start, slice->start, 0) < 0 || slice_bound(&stop, slice->stop, INT64_MAX) < 0)
        return -1;
    n = t->size[d];
    w->dim++;
    w->source++;
    if (start == 0 && stop >= n && step == 1)
        return 0;
    if (start < 0 && (start += n) < 0)
        start = 0;
    if (stop < 0 && (stop += n) < 0)
        stop = 0;
    if (start > n)
        start = n;
    if (stop > n)
        stop = n;
    if (stop < start)
        stop = start;
    if (w->record)
        return mt_slice(&next, t, d, &start, &stop, step) < 0 ? raise_c() : replace_view(w, next);
    memcpy(size, t->size, sizeof(*size) * t->ndim);
    memcpy(stride, t->stride, sizeof(*size) * t->ndim);
    size[d] = (stop - start) / step + ((stop - start) % step != 0);
    if (size[d] > 1 && mt_mul_overflow(stride[d], step, &stride[d]))
        return index_error("slice step is too large");
    if (size[d] <= 1 && step > 1)
        stride[d] = mt_mul_overflow(t->stride[d], step, &stride[d]) ? t->stride[d] : stride[d];
    if (mt_tensor_new_view(&next, t, t->ndim, size, stride, t->offset + start * t->stride[d]) < 0)
        return raise_c();
    return replace_view(w, next);
}

static int apply_none(walk *w)
{
    mt_tensor *t = w->view, *next = NULL;
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM];
    int d = w->dim++;

    if (t->ndim == MT_MAX_DIM || d > t->ndim)
        return index_error("too many dimensions in an index");
    if (w->record)
        return mt_unsqueeze(&next, t, d) < 0 ? raise_c() : replace_view(w, next);
    for (int k = 0; k < t->ndim; k++) {
        size[k + (k >= d)] = t->size[k];
        stride[k + (k >= d)] = t->stride[k];
    }
    size[d] = 1;
    stride[d] = d < t->ndim ? t->size[d] * t->stride[d] : 1;
    if (mt_tensor_new_view(&next, t, t->ndim + 1, size, stride, t->offset) < 0)
        return raise_c();
    return replace_view(w, next);
}

/* --- tensor indices --- */

static int check_mask(walk *w, mt_tensor *mask)
{
    for (int k = 0; k < mask->ndim; k++) {
        if (w->dim + k >= w->view->ndim) {
            PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", w->view->ndim);
            return -1;
        }
        if (mask->size[k] != w->view->size[w->dim + k]) {
            mt_shape_text a, b;

            PyErr_Format(PyExc_IndexError,
                         "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at "
                         "index %d",
                         mt_shape_format(&a, mask->size, mask->ndim), k,
                         mt_shape_format(&b, w->view->size, w->view->ndim), w->dim + k);
            return -1;
        }
    }
    return 0;
}

static int as_bool(mt_tensor **mask)
{
    mt_tensor *bools = NULL;

    if ((*mask)->dtype == MT_DTYPE_b8)
        return 0;
    if (mt_to_dtype(&bools, *mask, MT_DTYPE_b8, false, false, MT_FORMAT_PRESERVE) < 0)
        return -1;
    mt_tensor_unref(*mask);
    *mask = bools;
    return 0;
}

/* Takes the reference. A 0-d bool adds a dimension; a mask of n dims covers n dimensions of the tensor. */
static int apply_tensor(walk *w, mt_tensor *index)
{
    bool is_mask = index->dtype == MT_DTYPE_b8 || index->dtype == MT_DTYPE_u8;
    int rc = -1, covers = is_mask ? index->ndim : 1;

    if (is_mask && index->ndim == 0) {
        mt_tensor *one = NULL;

        if (apply_none(w) < 0 || mt_unsqueeze(&one, index, 0) < 0 || as_bool(&one) < 0) {
            mt_tensor_clear(&one);
            if (!PyErr_Occurred())
                mt_py_raise();
            goto fail;
        }
        w->dim--;
        w->source--;
        mt_tensor_unref(index);
        index = one;
        covers = 1;
    } else if (is_mask && check_mask(w, index) < 0) {
        goto fail;
    }
    if (w->dim + covers > w->view->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", w->view->ndim);
        goto fail;
    }
    w->index[w->dim] = index;
    w->dim += covers;
    w->source += covers;
    w->n_index++;
    return 0;
fail:
    mt_tensor_unref(index);
    return rc;
}

static int int_of(PyObject *o, int64_t *out)
{
    int overflow = 0;

    *out = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int bad_index(PyObject *o)
{
    PyErr_Format(PyExc_IndexError,
                 "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                 "(got %s)",
                 Py_TYPE(o)->tp_name);
    return -1;
}

static int apply_tensor_object(walk *w, PyObject *o)
{
    mt_tensor *t = mt_py_impl(o);
    mt_scalar s;

    if (t->ndim == 0 && mt_dtype_is_integral((mt_dtype)t->dtype, false) && t->dtype != MT_DTYPE_u8 &&
        t->device.type != MT_DEVICE_META) {
        if (mt_tensor_item(&s, t) < 0)
            return raise_c();
        return apply_int(w, s.v.i);
    }
    if (t->dtype != MT_DTYPE_i64 && t->dtype != MT_DTYPE_i32 && t->dtype != MT_DTYPE_b8 && t->dtype != MT_DTYPE_u8)
        return index_error("tensors used as indices must be long, int, byte or bool tensors");
    return apply_tensor(w, mt_tensor_ref(t));
}

/* A sequence is an index of integers, whatever its numbers are, unless they are bools or bytes. */
static int apply_data(walk *w, PyObject *o)
{
    mt_tensor *t = NULL;

    if (mt_py_tensor_from_data(&t, o, MT_DTYPE_NONE, MT_CPU, true) < 0)
        return raise_c();
    if (t->dtype != MT_DTYPE_i64 && t->dtype != MT_DTYPE_b8 && t->dtype != MT_DTYPE_u8) {
        mt_tensor_clear(&t);
        if (mt_py_tensor_from_data(&t, o, MT_DTYPE_i64, MT_CPU, true) < 0)
            return raise_c();
    }
    return apply_tensor(w, t);
}

static int apply_bool(walk *w, bool value)
{
    mt_tensor *t = NULL;

    if (mt_tensor_full_0d(&t, mt_scalar_from_bool(value), MT_DTYPE_b8, w->view->device) < 0)
        return raise_c();
    return apply_tensor(w, t);
}

static bool is_numpy_bool(PyObject *o)
{
    return strncmp(Py_TYPE(o)->tp_name, "numpy.bool", 10) == 0;
}

static int apply_item(walk *w, PyObject *o)
{
    int64_t i;

    if (PyLong_CheckExact(o))
        return int_of(o, &i) < 0 ? -1 : apply_int(w, i);
    if (PySlice_Check(o))
        return apply_slice(w, o);
    if (o == Py_None)
        return apply_none(w);
    if (PyBool_Check(o))
        return apply_bool(w, o == Py_True);
    if (mt_py_is_tensor(o))
        return apply_tensor_object(w, o);
    if (PyLong_Check(o))
        return int_of(o, &i) < 0 ? -1 : apply_int(w, i);
    if (PyUnicode_Check(o) || PyBytes_Check(o)) {
        PyErr_Format(PyExc_TypeError, "indexing: invalid data type '%s'", Py_TYPE(o)->tp_name);
        return -1;
    }
    if (PyFloat_Check(o) || PyDict_Check(o) || PyComplex_Check(o) || is_numpy_bool(o) ||
        (mt_py_is_array_scalar(o) && !PyIndex_Check(o)))
        return bad_index(o);
    if (PyIndex_Check(o) && !PySequence_Check(o)) {
        PyObject *index = mt_py_try_index(o);
        int rc = index ? int_of(index, &i) : -1;

        if (!index)
            return PyErr_Occurred() ? -1 : bad_index(o);
        Py_DECREF(index);
        return rc < 0 ? -1 : apply_int(w, i);
    }
    if (PySequence_Check(o) || PyObject_CheckBuffer(o))
        return apply_data(w, o);
    return bad_index(o);
}

/* Dimensions that an item consumes. */
static int covered_dims(PyObject *o)
{
    if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o))
        return 0;
    if (mt_py_is_tensor(o)) {
        mt_tensor *t = mt_py_impl(o);

        if (t->dtype == MT_DTYPE_b8 || t->dtype == MT_DTYPE_u8)
            return t->ndim;
    }
    return 1;
}

/* A list counts as a tuple when it holds a slice, None, Ellipsis, a tensor or a sequence, and is short. */
static PyObject *as_tuple(PyObject *key)
{
    Py_ssize_t n;

    if (PyTuple_Check(key))
        return Py_NewRef(key);
    if (!PyList_Check(key))
        return PyTuple_Pack(1, key);
    n = PyList_GET_SIZE(key);
    for (Py_ssize_t i = 0; n < 32 && i < n; i++) {
        PyObject *o = PyList_GET_ITEM(key, i);

        if (mt_py_is_tensor(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None || PySequence_Check(o)) {
            if (PyErr_WarnEx(PyExc_UserWarning,
                             "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
                             "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq].",
                             1) < 0)
                return NULL;
            return PyList_AsTuple(key);
        }
    }
    return PyTuple_Pack(1, key);
}

static int walk_index(walk *w, mt_tensor *self, PyObject *key)
{
    PyObject *items = as_tuple(key);
    Py_ssize_t n;
    int covered = 0, rc = -1;

    memset(w, 0, sizeof(*w));
    if (!items)
        return -1;
    n = PyTuple_GET_SIZE(items);
    w->view = mt_tensor_ref(self);
    w->record = mt_tensor_is_tracked(self) || mt_thread.slow;
    for (Py_ssize_t i = 0; i < n; i++)
        covered += covered_dims(PyTuple_GET_ITEM(items, i));
    if (n > MAX_ITEMS || covered > self->ndim) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d", self->ndim);
        if (self->ndim == 0 && n == 1 && PyLong_Check(PyTuple_GET_ITEM(items, 0))) {
            PyErr_Clear();
            apply_int(w, 0);
        }
        goto fail;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GET_ITEM(items, i);

        if (o == Py_Ellipsis) {
            w->dim += self->ndim - covered;
            w->source += self->ndim - covered;
        } else if (apply_item(w, o) < 0) {
            goto fail;
        }
    }
    rc = 0;
fail:
    Py_DECREF(items);
    if (rc < 0)
        walk_clear(w);
    return rc;
}

/* The list for index and index_put_: up to the last dim that has an index. */
static mt_tensors index_list(walk *w)
{
    mt_tensors list = {w->index, 0};

    for (int i = 0; i < w->view->ndim; i++)
        if (w->index[i])
            list.n = i + 1;
    return list;
}

/* --- reading --- */

/* Does an item of the index override (behaviour M6.03)? Any object can, also inside tuples and lists. */
static bool item_overrides(PyObject *o)
{
    return !PyLong_CheckExact(o) && !PySlice_Check(o) && o != Py_None && mt_py_has_torch_function(o);
}

static bool key_overrides(PyObject *key, int depth)
{
    if ((!PyTuple_CheckExact(key) && !PyList_CheckExact(key)) || depth == 0)
        return item_overrides(key);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); i++)
        if (key_overrides(PySequence_Fast_GET_ITEM(key, i), depth - 1))
            return true;
    return false;
}

/* The check of x[key], and of x[key] = value. */
static inline bool is_overridden(PyObject *self, PyObject *key, PyObject *value)
{
    if (MT_UNLIKELY(mt_thread.slow & (MT_SLOW_MODE | MT_SLOW_SKIP)))
        return mt_py_slow_check();
    return mt_py_is_override(self) || (!PyLong_CheckExact(key) && key_overrides(key, MT_PY_INDEX_DEPTH)) ||
           (value && item_overrides(value));
}

static PyObject *get_int(mt_tensor *t, int64_t i)
{
    walk w;

    w.view = mt_tensor_ref(t);
    w.dim = w.source = 0;
    w.record = false;
    if (apply_int(&w, i) < 0) {
        mt_tensor_unref(w.view);
        return NULL;
    }
    return mt_py_wrap(w.view);
}

/* x[...] and x[:] give a new view object. */
static int whole(mt_tensor **out, mt_tensor *t, PyObject *key)
{
    Py_ssize_t start, stop, step;
    int64_t first, end;

    if (!PySlice_Check(key))
        return mt_alias(out, t);
    if (PySlice_Unpack(key, &start, &stop, &step) < 0)
        return -1;
    first = start;
    end = stop;
    return mt_slice(out, t, 0, &first, &end, step);
}

static PyObject *tensor_getitem(PyObject *self, PyObject *key)
{
    mt_tensor *t = mt_py_impl(self), *out = NULL;
    walk w;
    int rc;

    if (MT_UNLIKELY(is_overridden(self, key, NULL)))
        return mt_py_index_override(self, key, NULL);
    if (PyLong_CheckExact(key) && !mt_tensor_is_tracked(t) && !mt_thread.slow) {
        int64_t i;

        return int_of(key, &i) < 0 ? NULL : get_int(t, i);
    }
    if (walk_index(&w, t, key) < 0)
        return NULL;
    if (w.n_index == 0) {
        if (w.view == t) {
            rc = whole(&out, t, key);
            walk_clear(&w);
            return rc < 0 ? mt_py_raise() : mt_py_wrap(out);
        }
        out = mt_tensor_move(&w.view);
        return mt_py_wrap(out);
    }
    rc = mt_index(&out, w.view, index_list(&w));
    walk_clear(&w);
    return rc < 0 ? mt_py_raise() : mt_py_wrap(out);
}

/* --- writing --- */

/* The value as a tensor; numbers take the dtype of self. */
static int value_tensor(mt_tensor **out, mt_tensor *self, PyObject *value)
{
    MT_ALIGNED(16) char element[16];
    mt_scalar s;
    int rc;

    *out = NULL;
    if (mt_py_is_tensor(value)) {
        *out = mt_tensor_ref(mt_py_impl(value));
        return 0;
    }
    if (is_numpy_bool(value) ||
        (mt_py_is_array_scalar(value) && !PyIndex_Check(value) && !PyFloat_Check(value) && !PyComplex_Check(value)))
        rc = 0; /* only the scalars of NumPy that are numbers of Python, and its integers */
    else
        rc = mt_py_to_scalar(&s, value);
    if (rc < 0) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    if (rc == 0) {
        PyErr_Format(PyExc_TypeError, "can't assign a %s to a torch.%sTensor", Py_TYPE(value)->tp_name,
                     mt_dtype_table[self->dtype].legacy);
        return -1;
    }
    if (s.is_unsigned) {
        PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
        return -1;
    }
    /* The floats of 16 bits take infinity for what they cannot hold, here and nowhere else. */
    if ((self->dtype != MT_DTYPE_f16 && self->dtype != MT_DTYPE_bf16 &&
         mt_scalar_store_checked(element, (mt_dtype)self->dtype, s) < 0) ||
        mt_tensor_full_0d(out, s, (mt_dtype)self->dtype, self->device) < 0)
        return raise_c();
    return 0;
}

/* Leading dims of size 1 beyond those of the target are dropped. */
static int drop_leading_ones(mt_tensor **value, int ndim)
{
    mt_tensor *next = NULL;
    int lead = 0;

    while ((*value)->ndim - lead > ndim && (*value)->size[lead] == 1)
        lead++;
    if (lead == 0)
        return 0;
    if (mt_view(&next, *value, (mt_ints){(*value)->size + lead, (*value)->ndim - lead}) < 0 &&
        (mt_error_clear(), mt_reshape(&next, *value, (mt_ints){(*value)->size + lead, (*value)->ndim - lead})) < 0)
        return -1;
    mt_tensor_unref(*value);
    *value = next;
    return 0;
}

/* The same for tensor indices, whose result has more dims than the view when an index has several. */
static int drop_beyond_index(mt_tensor **value, const walk *w)
{
    int ndim = w->view->ndim, widest = 0;

    for (int i = 0; i < w->view->ndim; i++)
        if (w->index[i]) {
            bool is_mask = w->index[i]->dtype == MT_DTYPE_b8 || w->index[i]->dtype == MT_DTYPE_u8;
            int own = is_mask ? 1 : w->index[i]->ndim;

            ndim -= is_mask ? w->index[i]->ndim : 1;
            widest = own > widest ? own : widest;
        }
    return drop_leading_ones(value, ndim + widest);
}

/* A part of the target itself takes the target's shape first: only so do the checks of overlap let it pass. */
static int spread_own_part(mt_tensor **value, const mt_tensor *target)
{
    mt_tensor *wide = NULL;

    if (mt_shape_equal(target->ndim, target->size, (*value)->ndim, (*value)->size) ||
        mt_overlap_between(target, *value) != MT_OVERLAP_YES)
        return 0;
    if (mt_expand(&wide, *value, (mt_ints){target->size, target->ndim}, false) < 0)
        return -1;
    mt_tensor_unref(*value);
    *value = wide;
    return 0;
}

static int assign(PyObject *self, PyObject *key, PyObject *value)
{
    mt_tensor *t = mt_py_impl(self), *v = NULL;
    walk w;
    int rc = -1;

    if (walk_index(&w, t, key) < 0)
        return -1;
    if (value_tensor(&v, t, value) < 0)
        goto fail;
    if (w.n_index == 0) {
        if (drop_leading_ones(&v, w.view->ndim) < 0 || spread_own_part(&v, w.view) < 0 ||
            mt_copy_inplace(w.view, v, false) < 0) {
            raise_c();
            goto fail;
        }
    } else {
        if (drop_beyond_index(&v, &w) < 0 || mt_index_put_inplace(w.view, index_list(&w), v, false) < 0) {
            raise_c();
            goto fail;
        }
    }
    rc = 0;
fail:
    mt_tensor_clear(&v);
    walk_clear(&w);
    return rc;
}

static int tensor_setitem(PyObject *self, PyObject *key, PyObject *value)
{
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items");
        return -1;
    }
    if (MT_UNLIKELY(is_overridden(self, key, value))) {
        PyObject *result = mt_py_index_override(self, key, value);

        Py_XDECREF(result);
        return result ? 0 : -1;
    }
    if (key == Py_False)
        return 0;
    return assign(self, key, value);
}

static Py_ssize_t tensor_length(PyObject *self)
{
    mt_tensor *t = mt_py_impl(self);

    if (mt_py_needs_override(self)) {
        PyObject *result = mt_py_python_override("__len__", self, NULL);
        Py_ssize_t n = result ? PyNumber_AsSsize_t(result, PyExc_OverflowError) : -1;

        Py_XDECREF(result);
        if (n < 0 && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "__len__() should return >= 0");
        return n;
    }
    if (t->ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
        return -1;
    }
    return (Py_ssize_t)t->size[0];
}

/* `Tensor.__len__`: unlike len(), it gives whatever an override gives. */
PyObject *mt_py_tensor_len(PyObject *self, PyObject *unused)
{
    Py_ssize_t n;

    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_python_override("__len__", self, NULL);
    n = tensor_length(self);
    return n < 0 ? NULL : PyLong_FromSsize_t(n);
}

PyMappingMethods mt_py_tensor_mapping = {tensor_length, tensor_getitem, tensor_setitem};
PySequenceMethods mt_py_tensor_sequence = {.sq_length = tensor_length};
