/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of the hand-written functions: one pass over positions and keywords (by pointer
   equality of interned names first), conversions of single values, and the packing of a call for
   __torch_function__. The words of the complaints are PyTorch's. */
#include "bindings/new_internal.h"

#include "base/error.h"

int mt_py_fail(void)
{
    mt_py_raise();
    return -1;
}

static int intern_names(mt_scan *scan)
{
    for (int k = 0; k < scan->n; k++)
        if (!scan->interned[k] && !(scan->interned[k] = PyUnicode_InternFromString(scan->name[k])))
            return -1;
    return 0;
}

static int find_name(const mt_scan *scan, PyObject *name)
{
    for (int k = 0; k < scan->n; k++)
        if (scan->interned[k] == name)
            return k;
    for (int k = 0; k < scan->n; k++)
        if (PyUnicode_Compare(scan->interned[k], name) == 0)
            return k;
    return -1;
}

/* Was the last value that did not fit an object that overrides? */
static MT_THREAD_LOCAL_FAST bool mismatch_overrides;

static MT_COLD int too_many(const mt_scan *scan, Py_ssize_t nargs)
{
    mismatch_overrides = false;
    if (scan->n_required > scan->n_positional)
        PyErr_Format(PyExc_TypeError, "%s() takes from %d to %d positional arguments but %zd %s given", scan->func,
                     scan->n_required, scan->n_positional, nargs, nargs == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", scan->func,
                     scan->n_positional, scan->n_positional == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
    return -1;
}

static MT_COLD int missing(const mt_scan *scan, PyObject *const *values)
{
    char names[256];
    size_t at = 0;
    int n = 0;

    mismatch_overrides = false;
    names[0] = '\0';
    for (int k = 0; k < scan->n_required; k++)
        if (!values[k] && at < sizeof(names)) {
            at += (size_t)PyOS_snprintf(names + at, sizeof(names) - at, "%s\"%s\"", n ? ", " : "", scan->name[k]);
            n++;
        }
    PyErr_Format(PyExc_TypeError, "%s() missing %d required positional argument%s: %s", scan->func, n,
                 n == 1 ? "s" : "", names);
    return -1;
}

int mt_py_scan(PyObject **out, mt_scan *scan, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t n_kw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;

    if (MT_UNLIKELY(nargs > scan->n_positional))
        return too_many(scan, nargs);
    for (int k = 0; k < scan->n; k++)
        out[k] = k < nargs ? args[k] : NULL;
    if (n_kw > 0 && MT_UNLIKELY(!scan->interned[scan->n - 1]) && intern_names(scan) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n_kw; i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        int k = find_name(scan, name);

        mismatch_overrides = false;
        if (k < 0) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", scan->func, name);
            return -1;
        }
        if (out[k]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", scan->func, name);
            return -1;
        }
        out[k] = args[nargs + i];
    }
    for (int k = 0; k < scan->n_required; k++)
        if (MT_UNLIKELY(!out[k]))
            return missing(scan, out);
    return 0;
}

int mt_py_scan_mismatch(const mt_scan *scan, int k, int position, const char *wanted, PyObject *value)
{
    char where[32] = "";

    mismatch_overrides = !mt_py_is_tensor(value) && mt_py_has_torch_function(value);
    if (position > 0)
        PyOS_snprintf(where, sizeof(where), "(position %d) ", position);
    PyErr_Format(PyExc_TypeError, "%s(): argument '%s' %smust be %s, not %s", scan->func, scan->name[k], where, wanted,
                 Py_TYPE(value)->tp_name);
    return -1;
}

bool mt_py_scan_overrides(void)
{
    if (!mismatch_overrides || !PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    mismatch_overrides = false;
    PyErr_Clear();
    return true;
}

MT_COLD PyObject *mt_py_scan_failed(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    return mt_py_scan_overrides() ? mt_py_late_override(name, args, nargs, kwnames) : NULL;
}

int mt_py_scan_dtype(mt_dtype *out, const mt_scan *scan, int k, PyObject *value)
{
    int rc;

    if (!value || value == Py_None)
        return 0;
    rc = mt_py_to_dtype(out, value);
    return rc == 0 ? mt_py_scan_mismatch(scan, k, 0, "torch.dtype", value) : rc < 0 ? -1 : 0;
}

int mt_py_scan_device(mt_device *out, const mt_scan *scan, int k, PyObject *value)
{
    int rc;

    if (!value || value == Py_None)
        return 0;
    rc = mt_py_to_device(out, value);
    if (rc == 0)
        return mt_py_scan_mismatch(scan, k, 0, "torch.device", value);
    if (rc < 0)
        return -1;
    return mt_device_check(out) < 0 ? mt_py_fail() : 0;
}

int mt_py_scan_bool(bool *out, const mt_scan *scan, int k, PyObject *value)
{
    if (!value)
        return 0;
    if (!PyBool_Check(value))
        return mt_py_scan_mismatch(scan, k, 0, "bool", value);
    *out = value == Py_True;
    return 0;
}

int mt_py_scan_int(int64_t *out, const mt_scan *scan, int k, PyObject *value)
{
    int rc;

    if (!value)
        return 0;
    rc = mt_py_to_int(out, value);
    return rc == 0 ? mt_py_scan_mismatch(scan, k, 0, "int", value) : rc < 0 ? -1 : 0;
}

int mt_py_tensor_new_init(PyObject *module)
{
    if (mt_py_tensor_class_init() < 0 || mt_py_dlpack_init(module) < 0)
        return -1;
    return mt_py_tensor_types_init(module);
}
