/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry to the engine: tuples of tensors and gradient edges become endpoints of a run, its results tensors. */
#include "bindings/autograd_internal.h"

#include <string.h>

static bool is_edge(PyObject *o)
{
    return PyTuple_Check(o) && strcmp(Py_TYPE(o)->tp_name, "GradientEdge") == 0 && PyTuple_GET_SIZE(o) >= 2;
}

/* A node may come without outputs: an instance of a Function that ran in no graph. */
static int endpoint_of_edge(mt_endpoint *out, PyObject *node, PyObject *number, bool is_output)
{
    int overflow;
    long long nr;

    if (!PyObject_TypeCheck(node, &mt_NodeBase_Type)) {
        PyErr_Format(PyExc_RuntimeError, "GradientEdge's first object must be an autograd.graph.Node but got %s",
                     Py_TYPE(node)->tp_name);
        return -1;
    }
    nr = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (nr == -1 && PyErr_Occurred())
        return -1;
    out->node = mt_py_node_of(node);
    if (overflow || nr < 0 || !out->node || nr >= out->node->n_inputs) {
        PyErr_Format(is_output ? PyExc_IndexError : PyExc_RuntimeError,
                     "GradientEdge: output number %S is out of range", number);
        return -1;
    }
    out->input = (uint32_t)nr;
    return 0;
}

/* A tensor, or a GradientEdge (node, output_nr). */
static int endpoint_of(mt_endpoint *out, PyObject *o, bool is_output)
{
    memset(out, 0, sizeof(*out));
    if (mt_py_is_tensor(o)) {
        out->tensor = mt_py_impl(o);
        return 0;
    }
    if (is_edge(o))
        return endpoint_of_edge(out, PyTuple_GET_ITEM(o, 0), PyTuple_GET_ITEM(o, 1), is_output);
    if (is_output)
        PyErr_Format(PyExc_AssertionError, "Expected output to be a torch.Tensor, but got %s", Py_TYPE(o)->tp_name);
    else
        PyErr_Format(PyExc_RuntimeError, "all inputs have to be Tensors or GradientEdges, but got %s",
                     Py_TYPE(o)->tp_name);
    return -1;
}

typedef struct run_lists {
    mt_endpoint *output, *input;
    mt_tensor **grad, **result;
} run_lists;

static int fill_lists(run_lists *l, PyObject *tensors, PyObject *grads, PyObject *inputs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tensors), n_in = inputs ? PyTuple_GET_SIZE(inputs) : 0;

    l->output = PyMem_Calloc((size_t)n + 1, sizeof(*l->output));
    l->grad = PyMem_Calloc((size_t)n + 1, sizeof(*l->grad));
    l->input = PyMem_Calloc((size_t)n_in + 1, sizeof(*l->input));
    l->result = PyMem_Calloc((size_t)n_in + 1, sizeof(*l->result));
    if (!l->output || !l->grad || !l->input || !l->result) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *grad = grads ? PyTuple_GET_ITEM(grads, i) : Py_None;

        if (endpoint_of(&l->output[i], PyTuple_GET_ITEM(tensors, i), true) < 0)
            return -1;
        if (grad != Py_None && !mt_py_is_tensor(grad)) {
            PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %s",
                         Py_TYPE(grad)->tp_name);
            return -1;
        }
        l->grad[i] = grad == Py_None ? NULL : mt_py_impl(grad);
    }
    for (Py_ssize_t i = 0; i < n_in; i++)
        if (endpoint_of(&l->input[i], PyTuple_GET_ITEM(inputs, i), false) < 0)
            return -1;
    return 0;
}

static void free_lists(run_lists *l)
{
    PyMem_Free(l->output);
    PyMem_Free(l->grad);
    PyMem_Free(l->input);
    PyMem_Free(l->result);
}

static PyObject *wrap_results(mt_tensor **result, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = tuple ? mt_py_wrap(mt_tensor_move(&result[i])) : NULL;

        if (!item) {
            mt_tensor_clear(&result[i]);
            Py_CLEAR(tuple);
        } else {
            PyTuple_SET_ITEM(tuple, i, item);
        }
    }
    return tuple;
}

/* _engine_run(outputs: tuple, grads: tuple or None, retain_graph, create_graph, inputs: tuple or None, accumulate,
   allow_unused, materialize): the checks and texts of torch.autograd are in the engine. */
PyObject *mt_py_engine_run(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static const unsigned flag_of[] = {
        0, 0, MT_RUN_RETAIN_GRAPH, MT_RUN_CREATE_GRAPH, 0, MT_RUN_ACCUMULATE, MT_RUN_ALLOW_UNUSED, MT_RUN_MATERIALIZE};
    PyObject *tensors, *grads, *inputs, *answer = NULL;
    run_lists lists = {NULL, NULL, NULL, NULL};
    unsigned flags = 0;
    int rc;

    (void)module;
    if (nargs != 8 || !PyTuple_Check(args[0]) || (args[1] != Py_None && !PyTuple_Check(args[1])) ||
        (args[4] != Py_None && !PyTuple_Check(args[4]))) {
        PyErr_SetString(PyExc_TypeError, "_engine_run(outputs, grads, retain_graph, create_graph, inputs, accumulate, "
                                         "allow_unused, materialize)");
        return NULL;
    }
    tensors = args[0];
    grads = args[1] == Py_None ? NULL : args[1];
    inputs = args[4] == Py_None ? NULL : args[4];
    if (grads && PyTuple_GET_SIZE(grads) < PyTuple_GET_SIZE(tensors)) {
        PyErr_Format(PyExc_RuntimeError, "got %zd tensors and %zd gradients", PyTuple_GET_SIZE(tensors),
                     PyTuple_GET_SIZE(grads));
        return NULL;
    }
    for (Py_ssize_t i = 2; i < 8; i++)
        if (flag_of[i]) {
            long truth = PyLong_AsLong(args[i]); /* TypeError for what is neither bool nor int */

            if (truth == -1 && PyErr_Occurred())
                return NULL;
            flags |= truth ? flag_of[i] : 0;
        }
    if ((flags & MT_RUN_ACCUMULATE) && mt_thread.transforms) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad "
            "or functorch.vjp instead or call backward() outside of functorch transforms.");
        return NULL;
    }
    if (fill_lists(&lists, tensors, grads, inputs) == 0) {
        Py_ssize_t n_in = inputs ? PyTuple_GET_SIZE(inputs) : 0;

        rc = mt_engine_run(lists.result, lists.output, lists.grad, (int)PyTuple_GET_SIZE(tensors), lists.input,
                           inputs ? (int)n_in : -1, flags);
        if (rc < 0)
            mt_py_raise();
        else if (flags & MT_RUN_ACCUMULATE)
            answer = Py_NewRef(Py_None);
        else
            answer = wrap_results(lists.result, n_in);
    }
    free_lists(&lists);
    return answer;
}
