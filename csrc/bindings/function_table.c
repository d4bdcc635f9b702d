/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the namespace are static methods of one type, of which there is one instance; so a function knows where
   it is found (`torch.add.__qualname__`) and pickles by it. */
#include "bindings/bind.h"
#include "bindings/bind_internal.h"

static PyTypeObject VariableFunctions_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._VariableFunctionsClass",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The functions of the namespace.",
};

/* A static method whose function says that it is the package's. */
static int add_function(PyMethodDef *def, PyObject *package)
{
    PyTypeObject *type = &VariableFunctions_Type;
    PyObject *function, *method;
    int rc = -1;

    def->ml_flags |= METH_STATIC;
    function = PyCFunction_NewEx(def, (PyObject *)type, package);
    method = function ? PyStaticMethod_New(function) : NULL;
    if (method)
        rc = PyDict_SetItemString(type->tp_dict, def->ml_name, method);
    Py_XDECREF(function);
    Py_XDECREF(method);
    return rc;
}

static int add_functions(PyMethodDef *defs, PyObject *package)
{
    for (PyMethodDef *def = defs; def->ml_name; def++)
        if (add_function(def, package) < 0)
            return -1;
    return 0;
}

/* All types of named results, also those that no call has made yet: name -> type. */
static PyObject *result_types(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    for (int i = 0; i < mt_op_count; i++) {
        const mt_op *op = &mt_op_table[i];

        if (!op->out_names || !op->struct_name)
            continue;
        if (!mt_py_struct_type(op, false) || ((op->flags & MT_OPF_OUT_OK) && !mt_py_struct_type(op, true)))
            return NULL;
    }
    return mt_py_struct_types();
}

static PyMethodDef functions[] = {
    {"_result_types", result_types, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int mt_py_function_table_init(PyObject *module)
{
    PyTypeObject *type = &VariableFunctions_Type;
    PyObject *package = PyUnicode_InternFromString("minitorch"), *instance;
    int rc = -1;

    if (package && PyType_Ready(type) == 0 && add_functions(mt_py_functions, package) == 0 &&
        add_functions(mt_py_creation_functions, package) == 0) {
        PyType_Modified(type);
        instance = type->tp_alloc(type, 0);
        if (instance && PyModule_AddObjectRef(module, "_VariableFunctions", instance) == 0)
            rc = PyModule_AddObjectRef(module, "_VariableFunctionsClass", (PyObject *)type);
        Py_XDECREF(instance);
    }
    Py_XDECREF(package);
    return rc < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
