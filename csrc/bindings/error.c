/* SPDX-License-Identifier: BSD-3-Clause */
/* From the C error record to a Python exception: one table. Also the warning handler and the hooks
   that give up the interpreter lock around long kernels. */
#include "bindings/bindings_internal.h"

#include "base/error.h"
#include "base/parallel.h"

static PyObject *accelerator_error, *out_of_memory_error, *linalg_error;

static PyObject *exception_of(mt_error_kind kind)
{
    switch (kind) {
    case MT_ERR_CUDA:
        return accelerator_error;
    case MT_ERR_CUDA_MEMORY:
        return out_of_memory_error;
    case MT_ERR_LINALG:
        return linalg_error;
    case MT_ERR_VALUE:
        return PyExc_ValueError;
    case MT_ERR_TYPE:
        return PyExc_TypeError;
    case MT_ERR_INDEX:
        return PyExc_IndexError;
    case MT_ERR_NOT_IMPLEMENTED:
        return PyExc_NotImplementedError;
    case MT_ERR_OVERFLOW:
        return PyExc_OverflowError;
    case MT_ERR_BUFFER:
        return PyExc_BufferError;
    case MT_ERR_ATTRIBUTE:
        return PyExc_AttributeError;
    default: /* RUNTIME, MEMORY, INTERNAL: PyTorch raises RuntimeError for all of them */
        return PyExc_RuntimeError;
    }
}

PyObject *mt_py_raise(void)
{
    mt_error_kind kind = mt_error_get();

    if (kind == MT_ERR_PYTHON && PyErr_Occurred()) {
        mt_error_clear();
        return NULL;
    }
    if (!PyErr_Occurred())
        PyErr_SetString(exception_of(kind), mt_error_message());
    mt_error_clear();
    return NULL;
}

int mt_py_error(void)
{
    return mt_error_set(MT_ERR_PYTHON, "a Python exception is set");
}

static int warn(mt_warning_kind kind, const char *message)
{
    PyObject *category = kind == MT_WARN_DEPRECATION ? PyExc_DeprecationWarning
                         : kind == MT_WARN_FUTURE    ? PyExc_FutureWarning
                                                     : PyExc_UserWarning;

    if (PyErr_WarnEx(category, message, 1) < 0)
        return mt_py_error();
    return 0;
}

static void *release_lock(void)
{
    return PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

static void acquire_lock(void *token)
{
    if (token)
        PyEval_RestoreThread(token);
}

/* Borrowed from the module. */
static PyObject *add_exception(PyObject *module, const char *path, const char *name, PyObject *base)
{
    PyObject *type = PyErr_NewException(path, base, NULL);

    if (type && PyModule_AddObjectRef(module, name, type) < 0)
        Py_CLEAR(type);
    Py_XDECREF(type);
    return type;
}

int mt_py_error_init(PyObject *module)
{
    static const mt_lock_hooks hooks = {release_lock, acquire_lock};

    if (!add_exception(module, "minitorch.FatalError", "FatalError", PyExc_Exception) ||
        !(accelerator_error =
              add_exception(module, "minitorch.AcceleratorError", "AcceleratorError", PyExc_RuntimeError)) ||
        !(out_of_memory_error =
              add_exception(module, "minitorch.OutOfMemoryError", "OutOfMemoryError", PyExc_RuntimeError)) ||
        !(linalg_error = add_exception(module, "minitorch._C._LinAlgError", "_LinAlgError", PyExc_RuntimeError)))
        return -1;
    mt_warn_install(warn);
    mt_lock_hooks_install(&hooks);
    return 0;
}
