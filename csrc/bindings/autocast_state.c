/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of autocast, per thread: on or off and the dtype by device type, the cache's switch, the depth of nesting. */
#include "autograd/autocast.h"
#include "bindings/bindings_internal.h"

/* --- arguments --- */

static int device_type(int *out, PyObject *o, const char *function)
{
    mt_device d;

    if (!PyUnicode_Check(o)) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'device_type' (position 1) must be str, not %s", function,
                     Py_TYPE(o)->tp_name);
        return -1;
    }
    if (mt_py_to_device(&d, o) != 1)
        return -1;
    if (d.type == MT_DEVICE_META) {
        PyErr_Format(PyExc_RuntimeError, "%s(): there is no autocast for the device type meta", function);
        return -1;
    }
    *out = d.type;
    return 0;
}

static int bool_at(bool *out, PyObject *o, const char *function, int position)
{
    if (!PyBool_Check(o)) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'enabled' (position %d) must be bool, not %s", function, position,
                     Py_TYPE(o)->tp_name);
        return -1;
    }
    *out = o == Py_True;
    return 0;
}

static PyObject *count_error(const char *function, Py_ssize_t n)
{
    return PyErr_Format(PyExc_TypeError, "%s() received an invalid combination of arguments - got %zd", function, n);
}

/* --- on and off --- */

static PyObject *is_enabled(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    int type = MT_DEVICE_CUDA;

    (void)module;
    if (n > 1)
        return count_error("is_autocast_enabled", n);
    if (n == 1 && device_type(&type, args[0], "is_autocast_enabled") < 0)
        return NULL;
    return PyBool_FromLong(mt_autocast_is_on(type));
}

static PyObject *set_enabled(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    int type = MT_DEVICE_CUDA;
    bool on;

    (void)module;
    if (n != 1 && n != 2)
        return count_error("set_autocast_enabled", n);
    if ((n == 2 && device_type(&type, args[0], "set_autocast_enabled") < 0) ||
        bool_at(&on, args[n - 1], "set_autocast_enabled", (int)n) < 0)
        return NULL;
    mt_autocast_set(type, on);
    Py_RETURN_NONE;
}

static PyObject *is_cpu_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_autocast_is_on(MT_DEVICE_CPU));
}

static PyObject *set_cpu_enabled(PyObject *module, PyObject *o)
{
    bool on;

    (void)module;
    if (bool_at(&on, o, "set_autocast_cpu_enabled", 1) < 0)
        return NULL;
    mt_autocast_set(MT_DEVICE_CPU, on);
    Py_RETURN_NONE;
}

/* --- dtypes --- */

static PyObject *get_dtype(PyObject *module, PyObject *o)
{
    int type;

    (void)module;
    if (device_type(&type, o, "get_autocast_dtype") < 0)
        return NULL;
    return mt_py_dtype_get((mt_dtype)mt_autocast()->dtype[type]);
}

static PyObject *set_dtype(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    int type;

    (void)module;
    if (n != 2)
        return count_error("set_autocast_dtype", n);
    if (device_type(&type, args[0], "set_autocast_dtype") < 0)
        return NULL;
    if (!mt_py_is_dtype(args[1]))
        return PyErr_Format(PyExc_TypeError,
                            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not %s",
                            Py_TYPE(args[1])->tp_name);
    mt_autocast()->dtype[type] = (uint8_t)mt_py_dtype_of(args[1]);
    Py_RETURN_NONE;
}

static PyObject *set_dtype_of(mt_device_type type, PyObject *o)
{
    if (!mt_py_is_dtype(o))
        return PyErr_Format(PyExc_TypeError, "dtype must be a torch.dtype (got %s)", Py_TYPE(o)->tp_name);
    mt_autocast()->dtype[type] = (uint8_t)mt_py_dtype_of(o);
    Py_RETURN_NONE;
}

static PyObject *set_cpu_dtype(PyObject *module, PyObject *o)
{
    (void)module;
    return set_dtype_of(MT_DEVICE_CPU, o);
}

static PyObject *set_gpu_dtype(PyObject *module, PyObject *o)
{
    (void)module;
    return set_dtype_of(MT_DEVICE_CUDA, o);
}

static PyObject *get_cpu_dtype(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return mt_py_dtype_get((mt_dtype)mt_autocast()->dtype[MT_DEVICE_CPU]);
}

static PyObject *get_gpu_dtype(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return mt_py_dtype_get((mt_dtype)mt_autocast()->dtype[MT_DEVICE_CUDA]);
}

/* --- cache and nesting --- */

static PyObject *is_cache_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_autocast()->cache);
}

static PyObject *set_cache_enabled(PyObject *module, PyObject *o)
{
    (void)module;
    if (!PyBool_Check(o))
        return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(o)->tp_name);
    mt_autocast()->cache = o == Py_True;
    Py_RETURN_NONE;
}

static PyObject *clear_cache(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    mt_autocast_clear();
    Py_RETURN_NONE;
}

static PyObject *increment(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(++mt_autocast()->depth);
}

static PyObject *decrement(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(--mt_autocast()->depth);
}

static PyMethodDef functions[] = {
    {"is_autocast_enabled", (PyCFunction)(void (*)(void))is_enabled, METH_FASTCALL,
     "is_autocast_enabled(device_type=None)\n--\n\n"
     "is_autocast_enabled(device_type='cuda') -> bool"},
    {"set_autocast_enabled", (PyCFunction)(void (*)(void))set_enabled, METH_FASTCALL,
     "set_autocast_enabled(device_type, enabled)\n--\n\n"
     "set_autocast_enabled(device_type='cuda', enabled)"},
    {"is_autocast_cpu_enabled", is_cpu_enabled, METH_NOARGS,
     "is_autocast_cpu_enabled()\n--\n\n"
     "is_autocast_cpu_enabled() -> bool"},
    {"set_autocast_cpu_enabled", set_cpu_enabled, METH_O,
     "set_autocast_cpu_enabled(enabled)\n--\n\n"
     "set_autocast_cpu_enabled(enabled)"},
    {"get_autocast_dtype", get_dtype, METH_O,
     "get_autocast_dtype(device_type)\n--\n\n"
     "get_autocast_dtype(device_type) -> dtype"},
    {"set_autocast_dtype", (PyCFunction)(void (*)(void))set_dtype, METH_FASTCALL,
     "set_autocast_dtype(device_type, dtype)\n--\n\n"
     "set_autocast_dtype(device_type, dtype)"},
    {"get_autocast_cpu_dtype", get_cpu_dtype, METH_NOARGS,
     "get_autocast_cpu_dtype()\n--\n\n"
     "get_autocast_cpu_dtype() -> dtype"},
    {"set_autocast_cpu_dtype", set_cpu_dtype, METH_O,
     "set_autocast_cpu_dtype(dtype)\n--\n\n"
     "set_autocast_cpu_dtype(dtype)"},
    {"get_autocast_gpu_dtype", get_gpu_dtype, METH_NOARGS,
     "get_autocast_gpu_dtype()\n--\n\n"
     "get_autocast_gpu_dtype() -> dtype"},
    {"set_autocast_gpu_dtype", set_gpu_dtype, METH_O,
     "set_autocast_gpu_dtype(dtype)\n--\n\n"
     "set_autocast_gpu_dtype(dtype)"},
    {"is_autocast_cache_enabled", is_cache_enabled, METH_NOARGS,
     "is_autocast_cache_enabled()\n--\n\n"
     "is_autocast_cache_enabled() -> bool"},
    {"set_autocast_cache_enabled", set_cache_enabled, METH_O,
     "set_autocast_cache_enabled(enabled)\n--\n\n"
     "set_autocast_cache_enabled(enabled)"},
    {"clear_autocast_cache", clear_cache, METH_NOARGS,
     "clear_autocast_cache()\n--\n\n"
     "clear_autocast_cache()"},
    {"autocast_increment_nesting", increment, METH_NOARGS,
     "autocast_increment_nesting()\n--\n\n"
     "autocast_increment_nesting() -> int"},
    {"autocast_decrement_nesting", decrement, METH_NOARGS,
     "autocast_decrement_nesting()\n--\n\n"
     "autocast_decrement_nesting() -> int"},
    {NULL, NULL, 0, NULL},
};

int mt_py_autocast_state_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
