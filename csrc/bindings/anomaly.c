/* SPDX-License-Identifier: BSD-3-Clause */
/* Anomaly mode: every node keeps, in its metadata, the Python stack that made it ("traceback_") and the node under whose
   execution that happened ("parent_"); an error of backward is told with both. */
#include "bindings/autograd_internal.h"

#include "bindings/bindings_internal.h"
#include "ops.h"

PyObject *mt_py_node_metadata(mt_node *n)
{
    if (!n->anomaly)
        n->anomaly = PyDict_New();
    return n->anomaly;
}

/* --- a node is made --- */

static int store_stack(PyObject *metadata)
{
    PyObject *module = PyImport_ImportModule("traceback");
    PyObject *lines = module ? PyObject_CallMethod(module, "format_stack", NULL) : NULL;
    int rc = lines ? PyDict_SetItemString(metadata, "traceback_", lines) : -1;

    Py_XDECREF(lines);
    Py_XDECREF(module);
    return rc;
}

static int created(mt_node *n)
{
    mt_node *parent = mt_engine_current_node();
    PyObject *metadata = mt_py_node_metadata(n), *object;
    int rc = metadata ? store_stack(metadata) : -1;

    if (rc == 0 && parent) {
        object = mt_py_node_wrap(parent);
        rc = object ? PyDict_SetItemString(metadata, "parent_", object) : -1;
        Py_XDECREF(object);
    }
    return rc < 0 ? mt_py_error() : 0;
}

/* --- nan --- */

static int has_nan(bool *out, mt_tensor *t)
{
    mt_tensor *each = NULL, *any = NULL;
    bool grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_isnan(&each, t));
    MT_TRY(mt_any(&any, each));
    MT_TRY(mt_is_nonzero(out, any));
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_tensor_clear(&each);
    mt_tensor_clear(&any);
    return rc;
}

static int check(mt_node *n, mt_tensor *const *results, int n_results)
{
    for (int i = 0; i < n_results; i++) {
        bool nan = false;

        if (!results[i] || results[i]->device.type == MT_DEVICE_META)
            continue;
        if (has_nan(&nan, results[i]) < 0)
            return -1;
        if (nan)
            return mt_error_set(MT_ERR_RUNTIME, "Function '%s' returned nan values in its %dth output.",
                                mt_node_name(n), i);
    }
    return 0;
}

/* --- a node has failed --- */

/* The parts of the warning about this node. */
static PyObject *describe(PyObject *metadata, PyObject *name, bool first)
{
    PyObject *lines = metadata ? PyDict_GetItemString(metadata, "traceback_") : NULL, *text, *empty, *joined;
    const char *lead = first ? "Error detected in " : "\n\nPrevious calculation was induced by ";

    if (!lines)
        return PyUnicode_FromFormat("%s%U. No forward pass information available. Enable detect anomaly during forward "
                                    "pass for more information.",
                                    lead, name);
    empty = PyUnicode_FromString("");
    joined = empty ? PyUnicode_Join(empty, lines) : NULL;
    text = joined ? PyUnicode_FromFormat("%s%U. Traceback of forward call that %s:\n%U", lead, name,
                                         first ? "caused the error" : "induced the previous calculation", joined)
                  : NULL;
    Py_XDECREF(joined);
    Py_XDECREF(empty);
    return text;
}

static int warn_about(PyObject *metadata, PyObject *name, bool first)
{
    PyObject *text = name ? describe(metadata, name, first) : NULL;
    int rc = text ? PyErr_WarnEx(PyExc_UserWarning, PyUnicode_AsUTF8(text), 1) : -1;

    Py_XDECREF(text);
    return rc;
}

static int warn_all(mt_node *n)
{
    PyObject *name = PyUnicode_FromString(mt_node_name(n)), *object, *metadata = n->anomaly;
    int rc = warn_about(metadata, name, true);

    Py_XDECREF(name);
    object = metadata ? PyDict_GetItemString(metadata, "parent_") : NULL;
    for (int depth = 0; rc == 0 && object && depth < 10000; depth++) {
        Py_INCREF(object);
        name = PyObject_CallMethod(object, "name", NULL);
        metadata = name ? PyObject_GetAttrString(object, "metadata") : NULL;
        rc = metadata && PyDict_Check(metadata) ? warn_about(metadata, name, false) : -1;
        Py_XDECREF(name);
        Py_DECREF(object);
        object = rc == 0 ? PyDict_GetItemString(metadata, "parent_") : NULL;
        Py_XDECREF(metadata); /* which the node keeps */
    }
    return rc;
}

/* The error that stands goes on, whatever comes of the warnings. */
static void failed(mt_node *n)
{
    PyObject *type, *value, *traceback;
    mt_error_kind kind = mt_error_get();
    char message[2048];

    PyOS_snprintf(message, sizeof(message), "%s", mt_error_message());
    PyErr_Fetch(&type, &value, &traceback);
    if (warn_all(n) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    mt_error_set(kind, "%s", message);
}

static void destroy(void *metadata)
{
    Py_DECREF((PyObject *)metadata);
}

/* --- the switch --- */

static PyObject *set_anomaly(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"enabled", "check_nan", NULL};
    PyObject *given[] = {NULL, Py_True};

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:set_anomaly_enabled", keywords, &given[0], &given[1]))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (!PyBool_Check(given[i]))
            return PyErr_Format(PyExc_TypeError,
                                "set_anomaly_enabled(): argument '%s' (position %d) must be bool, not %s", keywords[i],
                                i + 1, Py_TYPE(given[i])->tp_name);
    mt_anomaly.enabled = given[0] == Py_True;
    mt_anomaly.check_nan = given[1] == Py_True;
    Py_RETURN_NONE;
}

static PyObject *is_anomaly(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_anomaly.enabled);
}

static PyObject *is_check_nan(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_anomaly.check_nan);
}

static PyMethodDef functions[] = {
    {"set_anomaly_enabled", (PyCFunction)(void (*)(void))set_anomaly, METH_VARARGS | METH_KEYWORDS,
     "set_anomaly_enabled(mode, check_nan=True)\n--\n\n"
     "set_anomaly_enabled(enabled, check_nan=True)"},
    {"is_anomaly_enabled", is_anomaly, METH_NOARGS,
     "is_anomaly_enabled()\n--\n\n"
     "is_anomaly_enabled() -> bool"},
    {"is_anomaly_check_nan_enabled", is_check_nan, METH_NOARGS,
     "is_anomaly_check_nan_enabled()\n--\n\n"
     "is_anomaly_check_nan_enabled() -> bool"},
    {NULL, NULL, 0, NULL},
};

int mt_py_anomaly_init(PyObject *module)
{
    mt_anomaly = (mt_anomaly_table){false, true, created, check, failed, destroy};
    return PyModule_AddFunctions(module, functions);
}
