/* SPDX-License-Identifier: BSD-3-Clause */
/* Switches of the process and of a thread that programs set and read: warnings, inter-op threads, denormals. What acts on them lives elsewhere. */
#include "base/cpuinfo.h"
#include "base/error.h"
#include "bindings/bindings_internal.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* --- arguments --- */

static int switch_of(bool *out, PyObject *o, const char *who)
{
    if (!PyBool_Check(o)) {
        PyErr_Format(PyExc_RuntimeError, "%s expects a bool, but got %s", who, Py_TYPE(o)->tp_name);
        return -1;
    }
    *out = o == Py_True;
    return 0;
}

/* --- warnings --- */

static PyObject *set_warn_always(PyObject *module, PyObject *o)
{
    bool on;

    (void)module;
    if (switch_of(&on, o, "setWarnOnlyOnce") < 0)
        return NULL;
    mt_warn_set_always(on);
    Py_RETURN_NONE;
}

static PyObject *get_warn_always(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_warn_get_always());
}

static PyObject *log_api_usage(PyObject *module, PyObject *o)
{
    (void)module, (void)o;
    Py_RETURN_NONE;
}

/* C frames are not recorded here: the text is empty. */
static PyObject *cpp_backtrace(PyObject *module, PyObject *args)
{
    Py_ssize_t skip, most;

    (void)module;
    if (!PyArg_ParseTuple(args, "nn:_get_cpp_backtrace", &skip, &most))
        return NULL;
    return PyUnicode_FromString("");
}

/* --- inter-op threads: a number that is kept; there is one pool --- */

static int interop_threads;

static PyObject *get_interop(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(interop_threads > 0 ? interop_threads : mt_cpu_count());
}

static PyObject *set_interop(PyObject *module, PyObject *o)
{
    int64_t n;
    int rc = mt_py_to_int(&n, o);

    (void)module;
    if (rc < 0)
        return NULL;
    if (rc == 0)
        return PyErr_Format(PyExc_RuntimeError, "set_num_interop_threads expects an int, but got %s",
                            Py_TYPE(o)->tp_name);
    if (n <= 0 || n > 4096)
        return PyErr_Format(PyExc_RuntimeError, "set_num_interop_threads expects a positive integer");
    if (interop_threads > 0)
        return PyErr_Format(PyExc_RuntimeError, "the number of interop threads can be set once, it is %d",
                            interop_threads);
    interop_threads = (int)n;
    Py_RETURN_NONE;
}

static PyObject *nothing(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    Py_RETURN_NONE;
}

/* --- denormals: bits 15 (results) and 6 (operands) of the control register of this thread --- */

static PyObject *set_flush_denormal(PyObject *module, PyObject *o)
{
    bool on;

    (void)module;
    if (switch_of(&on, o, "flush_denormal") < 0)
        return NULL;
#if defined(__SSE__)
    _mm_setcsr(on ? _mm_getcsr() | 0x8040u : _mm_getcsr() & ~0x8040u);
    Py_RETURN_TRUE;
#else
    Py_RETURN_FALSE;
#endif
}

static PyMethodDef functions[] = {
    {"set_warn_always", set_warn_always, METH_O,
     "set_warn_always(b)\n--\n\n"
     "set_warn_always(b): whether notices that come once per process come every time."},
    {"is_warn_always_enabled", get_warn_always, METH_NOARGS,
     "is_warn_always_enabled()\n--\n\n"
     "is_warn_always_enabled() -> bool"},
    {"_set_warnAlways", set_warn_always, METH_O, NULL},
    {"_get_warnAlways", get_warn_always, METH_NOARGS, NULL},
    {"_log_api_usage_once", log_api_usage, METH_O, NULL},
    {"_get_cpp_backtrace", cpp_backtrace, METH_VARARGS, NULL},
    {"get_num_interop_threads", get_interop, METH_NOARGS,
     "get_num_interop_threads()\n--\n\n"
     "get_num_interop_threads() -> int"},
    {"set_num_interop_threads", set_interop, METH_O,
     "set_num_interop_threads(num)\n--\n\n"
     "set_num_interop_threads(int): accepted once; operations run one after the other in any case."},
    {"init_num_threads", nothing, METH_NOARGS,
     "init_num_threads()\n--\n\n"
     "init_num_threads()"},
    {"set_flush_denormal", set_flush_denormal, METH_O,
     "set_flush_denormal(mode)\n--\n\n"
     "set_flush_denormal(mode) -> bool: whether denormal numbers count as zero on this thread; False when the "
     "processor "
     "cannot."},
    {NULL, NULL, 0, NULL},
};

int mt_py_state_init(PyObject *module)
{
    static const struct {
        const char *name;
        bool value;
    } flags[] = {
        {"_has_cudnn", false}, {"_has_mkldnn", false}, {"_has_mps", false},
        {"_has_xpu", false},   {"_has_magma", false},  {"has_openmp", false},
        {"has_mkl", false},    {"has_lapack", true},   {"has_spectral", true},
    };

    for (size_t i = 0; i < MT_COUNTOF(flags); i++)
        if (PyModule_AddObjectRef(module, flags[i].name, flags[i].value ? Py_True : Py_False) < 0)
            return -1;
    return PyModule_AddFunctions(module, functions);
}
