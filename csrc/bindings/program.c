/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a program for `python -m minitorch`: its first frame is the outermost one, as in a program that python itself runs. */
#include "bindings/bindings_internal.h"

/* The field that leads to the frame that runs. */
static void **current_frame(PyThreadState *thread)
{
#if PY_VERSION_HEX < 0x030B0000
    return (void **)&thread->frame;
#elif PY_VERSION_HEX < 0x030D0000
    return (void **)&thread->cframe->current_frame;
#else
    return (void **)&thread->current_frame;
#endif
}

/* The callers stay where they are, but nobody inside sees them. */
static PyObject *run_outermost(PyObject *module, PyObject *args)
{
    PyObject *code, *names, *result;
    void **place = current_frame(PyThreadState_Get()), *caller = *place;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:_run_outermost", &PyCode_Type, &code, &PyDict_Type, &names))
        return NULL;
    *place = NULL;
    result = PyEval_EvalCode(code, names, names);
    *place = caller;
    return result;
}

static PyMethodDef functions[] = {
    {"_run_outermost", run_outermost, METH_VARARGS,
     "_run_outermost(code, names): runs code as exec does, without a caller that it could see"},
    {NULL, NULL, 0, NULL},
};

int mt_py_program_init(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
