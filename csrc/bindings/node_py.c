/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph nodes as Python objects. The class of a node is made from its name at first need (AddBackward0, ...), a
   subclass of _C._NodeBase. A node object owns its node; the node knows its object, so there is one while it lives. */
#include "bindings/autograd_internal.h"

#include <stddef.h>
#include <string.h>

typedef mt_py_node node_object;

static PyObject *node_types; /* dict: name -> class */

mt_node *mt_py_node_of(PyObject *o)
{
    return PyObject_TypeCheck(o, &mt_NodeBase_Type) ? ((node_object *)o)->n : NULL;
}

static const char *short_name(const char *name)
{
    const char *colons = strrchr(name, ':');

    return colons ? colons + 1 : name;
}

static void node_dealloc(PyObject *o);

static PyObject *type_of_node(const mt_node *n)
{
    const char *name = short_name(mt_node_name(n));
    PyObject *type = PyDict_GetItemString(node_types, name);
    static PyType_Slot slots[] = {{0, NULL}};
    PyType_Spec spec = {NULL, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots}; /* HAVE_GC is inherited */
    char *full;

    if (type)
        return type;
    full = PyMem_Malloc(strlen(name) + 32); /* lives as long as the class: 3.10 keeps the pointer */
    if (!full)
        return PyErr_NoMemory();
    sprintf(full, "minitorch.autograd.%s", name);
    spec.name = full;
    type = PyType_FromSpecWithBases(&spec, (PyObject *)&mt_NodeBase_Type);
    if (!type || PyDict_SetItemString(node_types, name, type) < 0) {
        Py_XDECREF(type);
        return NULL;
    }
    ((PyTypeObject *)type)->tp_dealloc = node_dealloc; /* which gives the type back */
    Py_DECREF(type);                                   /* the dictionary keeps it */
    return type;
}

PyObject *mt_py_node_wrap(mt_node *n)
{
    PyTypeObject *type;
    node_object *self;

    if (!n)
        Py_RETURN_NONE;
    if (n->py)
        return Py_NewRef((PyObject *)n->py);
    type = (PyTypeObject *)type_of_node(n);
    self = type ? (node_object *)type->tp_alloc(type, 0) : NULL;
    if (!self)
        return NULL;
    self->n = mt_node_ref(n);
    n->py = self;
    return (PyObject *)self;
}

static int node_traverse(PyObject *o, visitproc visit, void *arg)
{
    node_object *self = (node_object *)o;

    Py_VISIT(Py_TYPE(o));
    Py_VISIT(self->metadata);
    Py_VISIT(self->pre_hooks);
    Py_VISIT(self->post_hooks);
    if (self->n && (mt_py_function_object(self->n) || mt_refcount_get(&self->n->refs) == 1))
        return mt_py_visit_node(self->n, visit, arg);
    return 0;
}

static int node_clear(PyObject *o)
{
    node_object *self = (node_object *)o;

    Py_CLEAR(self->metadata);
    return 0;
}

/* Called by the deallocator of the classes made above, which gives back the reference to the class. */
static void node_dealloc(PyObject *o)
{
    node_object *self = (node_object *)o;

    PyObject_GC_UnTrack(o);
    if (self->weaklist)
        PyObject_ClearWeakRefs(o);
    Py_CLEAR(self->metadata);
    Py_CLEAR(self->pre_hooks);
    Py_CLEAR(self->post_hooks);
    if (self->n) {
        self->n->py = NULL;
        mt_node_clear(&self->n);
    }
    Py_TYPE(o)->tp_free(o);
}

/* --- attributes --- */

/* NULL with an exception when the node of a custom Function is gone. */
static mt_node *live_node(PyObject *o)
{
    mt_node *n = ((node_object *)o)->n;

    if (!n)
        PyErr_Format(PyExc_RuntimeError, "%s: the graph that this object belonged to has been freed",
                     Py_TYPE(o)->tp_name);
    return n;
}

static PyObject *node_name(PyObject *o, PyObject *unused)
{
    mt_node *n = ((node_object *)o)->n;

    (void)unused;
    return PyUnicode_FromString(n ? mt_node_name(n) : short_name(Py_TYPE(o)->tp_name));
}

static PyObject *node_next_functions(PyObject *o, void *closure)
{
    mt_node *n = ((node_object *)o)->n;
    PyObject *tuple = PyTuple_New(n ? n->n_edges : 0);

    (void)closure;
    for (int i = 0; tuple && n && i < (int)n->n_edges; i++) {
        PyObject *pair = Py_BuildValue("(Nk)", mt_py_node_wrap(n->edge[i].node), (unsigned long)n->edge[i].input);

        if (!pair)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, pair);
    }
    return tuple;
}

static PyObject *node_metadata(PyObject *o, void *closure)
{
    node_object *self = (node_object *)o;
    PyObject *metadata = self->n ? mt_py_node_metadata(self->n) : NULL;

    (void)closure;
    if (!self->n && !self->metadata)
        self->metadata = PyDict_New(); /* an object without a node has its own */
    return Py_XNewRef(self->n ? metadata : self->metadata);
}

static PyObject *node_variable(PyObject *o, void *closure)
{
    mt_node *n = ((node_object *)o)->n;
    mt_tensor *t = n ? mt_node_variable(n) : NULL;

    (void)closure;
    if (!t) {
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", Py_TYPE(o)->tp_name);
        return NULL;
    }
    return mt_py_wrap(mt_tensor_ref(t));
}

static PyObject *node_sequence(PyObject *o, PyObject *unused)
{
    mt_node *n = live_node(o);

    (void)unused;
    return n ? PyLong_FromUnsignedLongLong(n->sequence) : NULL;
}

/* _saved_self, _saved_result, _saved_dim ... */
static PyObject *saved_value(mt_node *n, const char *name)
{
    const mt_grad *grad = n && n->op ? n->op->grad : NULL;

    for (int k = 0; grad && k < (int)grad->n_saved; k++) {
        const mt_saved_spec *spec = &grad->saved[k];
        mt_tensor *t = NULL;

        if (strcmp(spec->name, name) != 0)
            continue;
        if (n->saved[k].value.kind != MT_ARG_TENSOR)
            return mt_py_from_value(&n->saved[k].value);
        if (mt_saved_unpack(&t, n, (int)k) < 0)
            return mt_py_raise();
        return mt_py_wrap(t);
    }
    return NULL;
}

/* _raw_saved_self: the saved tensor itself, for its hooks. */
static PyObject *raw_saved(mt_node *n, const char *name)
{
    const mt_grad *grad = n && n->op ? n->op->grad : NULL;

    for (int k = 0; grad && k < (int)grad->n_saved; k++)
        if (strcmp(grad->saved[k].name, name) == 0 &&
            (n->saved[k].value.kind == MT_ARG_TENSOR || n->saved[k].value.kind == MT_ARG_NONE))
            return mt_py_saved_wrap(n, k);
    return NULL;
}

static PyObject *node_getattro(PyObject *o, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(o, name), *saved;
    const char *text;

    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    text = PyUnicode_AsUTF8(name);
    if (!text || (strncmp(text, "_saved_", 7) != 0 && strncmp(text, "_raw_saved_", 11) != 0))
        return NULL;
    PyErr_Clear();
    saved = text[1] == 's' ? saved_value(((node_object *)o)->n, text + 7) : raw_saved(((node_object *)o)->n, text + 11);
    if (!saved && !PyErr_Occurred())
        PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(o)->tp_name, name);
    return saved;
}

/* --- hooks: an ordered dictionary per kind, made at the first registration --- */

static PyObject *register_in(PyObject *o, PyObject **dict, mt_hook_kind kind, const mt_hook_ops *ops, PyObject *hook)
{
    node_object *self = (node_object *)o;
    PyObject *module, *handle;

    if (!live_node(o))
        return NULL;
    module = PyImport_ImportModule("minitorch.utils.hooks");
    if (!module)
        return NULL;
    if (!*dict) {
        PyObject *collections = PyImport_ImportModule("collections");

        *dict = collections ? PyObject_CallMethod(collections, "OrderedDict", NULL) : NULL;
        Py_XDECREF(collections);
        if (*dict && mt_node_add_hook(self->n, kind, ops, *dict) < 0) {
            Py_CLEAR(*dict);
            mt_py_raise();
        } else if (*dict) {
            Py_INCREF(*dict); /* the hook owns one reference */
        }
    }
    handle = *dict ? PyObject_CallMethod(module, "RemovableHandle", "O", *dict) : NULL;
    Py_DECREF(module);
    if (handle) {
        PyObject *id = PyObject_GetAttrString(handle, "id");

        if (!id || PyObject_SetItem(*dict, id, hook) < 0)
            Py_CLEAR(handle);
        Py_XDECREF(id);
    }
    return handle;
}

static PyObject *node_register_hook(PyObject *o, PyObject *hook)
{
    return register_in(o, &((node_object *)o)->post_hooks, MT_HOOK_POST, &mt_py_post_dict_hook, hook);
}

static PyObject *node_register_prehook(PyObject *o, PyObject *hook)
{
    return register_in(o, &((node_object *)o)->pre_hooks, MT_HOOK_PRE, &mt_py_pre_dict_hook, hook);
}

static PyObject *node_register_hook_dict(PyObject *o, PyObject *tensor)
{
    (void)o, (void)tensor; /* the hooks of a non-leaf already sit on its node */
    Py_RETURN_NONE;
}

static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "name() -> str"},
    {"_sequence_nr", node_sequence, METH_NOARGS, NULL},
    {"register_hook", node_register_hook, METH_O,
     "register_hook(fn) -> RemovableHandle: fn(grad_inputs, grad_outputs) runs after the node."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook(fn) -> RemovableHandle: fn(grad_outputs) runs before the node."},
    {"_register_hook_dict", node_register_hook_dict, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef node_getset[] = {
    {"next_functions", node_next_functions, NULL, NULL, NULL},
    {"metadata", node_metadata, NULL, NULL, NULL},
    {"variable", node_variable, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *node_repr(PyObject *o)
{
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');

    return PyUnicode_FromFormat("<%s object at %p>", dot ? dot + 1 : name, (void *)o);
}

PyTypeObject mt_NodeBase_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._NodeBase",
    .tp_basicsize = sizeof(node_object),
    .tp_dealloc = node_dealloc,
    .tp_repr = node_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = node_traverse,
    .tp_clear = node_clear,
    .tp_getattro = node_getattro,
    .tp_weaklistoffset = offsetof(node_object, weaklist),
    .tp_methods = node_methods,
    .tp_getset = node_getset,
};

int mt_py_node_init(PyObject *module)
{
    if (PyType_Ready(&mt_NodeBase_Type) < 0 || !(node_types = PyDict_New()))
        return -1;
    return PyModule_AddObjectRef(module, "_NodeBase", (PyObject *)&mt_NodeBase_Type);
}
