/* SPDX-License-Identifier: BSD-3-Clause */
/* _C._testing: what the tests need to see and to break: allocation counters, failing the n-th allocation, choosing the
   ISA level of the loops at run time. */
#include <string.h>

#include "base/alloc.h"
#include "bindings/bindings_internal.h"
#include "cpu/isa.h"

static PyObject *alloc_stats(PyObject *module, PyObject *unused)
{
    mt_alloc_stats s;

    (void)module, (void)unused;
    mt_alloc_get_stats(&s);
    return Py_BuildValue("{sKsKsKsKsK}", "live_bytes", s.live_bytes, "live_blocks", s.live_blocks, "peak_bytes",
                         s.peak_bytes, "cached_bytes", s.cached_bytes, "requests", s.requests);
}

static PyObject *fail_at(PyObject *module, PyObject *n)
{
    unsigned long long value = PyLong_AsUnsignedLongLong(n);

    (void)module;
    if (value == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    mt_alloc_fail_at(value);
    Py_RETURN_NONE;
}

static PyObject *failed(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_alloc_failed());
}

/* set_isa("v2"): the loops, reductions and casts of this level from now on; False when the machine lacks it. */
static PyObject *set_isa(PyObject *module, PyObject *name)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    (void)module;
    for (int level = 0; text && level < MT_ISA_COUNT; level++) {
        if (strcmp(text, mt_isa_name((mt_isa)level)) != 0)
            continue;
        if (!mt_cpu_loops_at((mt_isa)level, MT_FAMILY_UNARY))
            Py_RETURN_FALSE;
        for (int family = 0; family < MT_FAMILY_COUNT; family++)
            mt_loop_tables[MT_DEVICE_CPU][family] = mt_cpu_loops_at((mt_isa)level, (mt_family)family);
        mt_reduce_tables[MT_DEVICE_CPU] = mt_cpu_reduce_at((mt_isa)level);
        mt_cpu_use_casts(mt_cpu_casts_at((mt_isa)level));
        Py_RETURN_TRUE;
    }
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "set_isa(): expected 'v2', 'v3' or 'v4'");
    return NULL;
}

/* Counts of references to the tensor of an object, for tests of ownership. */
static PyObject *tensor_refs(PyObject *module, PyObject *o)
{
    (void)module;
    if (!mt_py_is_tensor(o)) {
        PyErr_SetString(PyExc_TypeError, "tensor_refs(): expected a Tensor");
        return NULL;
    }
    return PyLong_FromUnsignedLong(mt_refcount_get(&mt_py_impl(o)->refs));
}

/* How often a writer took an address without mt_storage_own. */
static PyObject *late_copies(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromUnsignedLong(mt_storage_late_count);
}

static PyMethodDef functions[] = {
    {"alloc_stats", alloc_stats, METH_NOARGS, "alloc_stats() -> dict"},
    {"fail_at", fail_at, METH_O, "fail_at(n): the n-th allocation from now fails once; 0 disarms."},
    {"failed", failed, METH_NOARGS, "failed() -> bool: whether an allocation was made to fail."},
    {"set_isa", set_isa, METH_O, "set_isa(name) -> bool"},
    {"late_copies", late_copies, METH_NOARGS,
     "late_copies() -> int: writers that forgot to ask for bytes of their own."},
    {"tensor_refs", tensor_refs, METH_O, "tensor_refs(t) -> int"},
    {NULL, NULL, 0, NULL},
};

int mt_py_testing_init(PyObject *module)
{
    PyObject *space = PyModule_New("_testing");
    int rc = -1;

    if (!space)
        return -1;
    if (PyModule_AddFunctions(space, functions) == 0)
        rc = PyModule_AddObjectRef(module, "_testing", space);
    Py_DECREF(space);
    return rc;
}
