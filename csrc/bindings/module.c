/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module _C: types, function tables, sub-objects. One interpreter only: the state is the process's. */
#include "base/error.h"
#include "bindings/bind.h"
#include "bindings/bind_internal.h"
#include "core/backend.h"
#include "cpu/isa.h"

static int add_space(PyObject *module, const char *name, PyMethodDef *functions)
{
    PyObject *full = PyUnicode_FromFormat("minitorch._C.%s", name), *space = full ? PyModule_NewObject(full) : NULL;
    int rc = -1;

    if (space && PyModule_AddFunctions(space, functions) == 0 && PyModule_AddObjectRef(module, name, space) == 0)
        rc = PyDict_SetItem(PyImport_GetModuleDict(), full, space); /* import minitorch._C._nn */
    Py_XDECREF(space);
    Py_XDECREF(full);
    return rc;
}

/* --- CUDA: a module of its own, imported when a CUDA device is first needed --- */

/* No such module: not built. A module without a device: no driver or no GPU. */
static int load_device(mt_device_type type)
{
    PyObject *module, *why = NULL;

    if (type != MT_DEVICE_CUDA)
        return 0;
    module = PyImport_ImportModule("minitorch._C_cuda");
    if (!module && PyErr_ExceptionMatches(PyExc_ModuleNotFoundError)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_AssertionError, "Torch not compiled with CUDA enabled");
    }
    if (!module)
        return mt_py_error();
    if (!mt_device_table[type])
        why = PyObject_CallMethod(module, "why_none", NULL);
    Py_DECREF(module);
    if (mt_device_table[type])
        return 0;
    if (why)
        PyErr_SetObject(PyExc_RuntimeError, why);
    Py_XDECREF(why);
    return mt_py_error();
}

static int add_backend(PyObject *module)
{
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&mt_backend, "minitorch._C._backend", NULL);
    int rc = capsule ? PyModule_AddObjectRef(module, "_backend", capsule) : -1;

    Py_XDECREF(capsule);
    mt_device_loader = load_device;
    return rc;
}

static bool other_interpreter(void)
{
    static PyInterpreterState *owner;
    PyInterpreterState *here = PyInterpreterState_Get();

    if (!owner)
        owner = here;
    return owner != here;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "minitorch._C", "Core of minitorch, in C.", -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__C(void);

MT_EXPORT PyMODINIT_FUNC PyInit__C(void)
{
    typedef int init_function(PyObject *);
    static init_function *const inits[] = {
        mt_py_error_init,          mt_py_small_types_init,    mt_py_device_init,
        mt_py_size_init,           mt_py_generator_init,      mt_py_storage_init,
        mt_py_tensor_type_init,    mt_py_torch_function_init, mt_py_torch_function_default_init,
        mt_py_tensor_new_init,     mt_py_autograd_init,       mt_py_module_functions_init,
        mt_py_numpy_init,          mt_py_state_init,          mt_py_forward_init,
        mt_py_autocast_state_init, mt_py_inspect_init,        mt_py_program_init,
        mt_py_function_table_init, mt_py_testing_init,
    };
    PyObject *module;

    if (other_interpreter()) {
        PyErr_SetString(PyExc_ImportError, "minitorch._C can be loaded by one interpreter of a process only");
        return NULL;
    }
    if (mt_cpu_init() < 0)
        return mt_py_raise();
    module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    for (size_t i = 0; i < MT_COUNTOF(inits); i++)
        if (inits[i](module) < 0)
            goto fail;
    if (add_backend(module) < 0 || mt_py_bind_init() < 0 || add_space(module, "_nn", mt_py_nn) < 0 ||
        add_space(module, "_linalg", mt_py_linalg) < 0 || add_space(module, "_fft", mt_py_fft) < 0 ||
        add_space(module, "_special", mt_py_special) < 0)
        goto fail;
    return module;
fail:
    Py_DECREF(module);
    return NULL;
}
