/* SPDX-License-Identifier: BSD-3-Clause */
/* Graph nodes as Python objects. The class of a node is made at first need (AddBackward0, ...): one per op, or per kind for
   nodes without one, a subclass of _C._NodeBase. A node object owns its node; the node knows its object, so there is one while
   it lives. */
#include "bindings/autograd_internal.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef mt_py_node node_object;

static PyObject *kind_types;    /* dict: name -> class */
static PyTypeObject **op_types; /* by op id */

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

static PyObject *node_call(PyObject *o, PyObject *args, PyObject *kwargs);
static PyGetSetDef leaf_getset[2], no_getset[1];

/* A class that says it is a builtin, as PyTorch's do. It lives for good. */
static PyTypeObject *make_type(const char *name, PyGetSetDef *getset)
{
    PyType_Slot slots[] = {{Py_tp_getset, getset}, {Py_tp_call, (void *)(uintptr_t)node_call}, {0, NULL}};
    PyType_Spec spec = {NULL, 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        slots};                   /* HAVE_GC is inherited */
    char *full = PyMem_Malloc(strlen(name) + 32); /* 3.10 keeps the pointer */
    PyObject *type, *module;

    if (!full)
        return (PyTypeObject *)PyErr_NoMemory();
    sprintf(full, "minitorch.%s", name);
    spec.name = full;
    type = PyType_FromSpecWithBases(&spec, (PyObject *)&mt_NodeBase_Type);
    module = type ? PyUnicode_FromString("builtins") : NULL;
    if (!module || PyObject_SetAttrString(type, "__module__", module) < 0) {
        Py_XDECREF(module);
        Py_XDECREF(type);
        return NULL;
    }
    Py_DECREF(module);
    ((PyTypeObject *)type)->tp_name = strchr(full, '.') + 1;
    ((PyTypeObject *)type)->tp_dealloc = node_dealloc; /* which gives the type back */
    return (PyTypeObject *)type;
}

static PyTypeObject *type_of_kind(const mt_node *n, const char *name)
{
    PyObject *type = PyDict_GetItemString(kind_types, name);
    PyGetSetDef *getset;

    if (type)
        return (PyTypeObject *)type;
    getset = n->flags & MT_NODE_ACCUMULATE   ? leaf_getset
             : n->flags & MT_NODE_RENUMBERED ? mt_py_saved_attributes(n->op)
                                             : no_getset;
    type = getset ? (PyObject *)make_type(name, getset) : NULL;
    if (!type || PyDict_SetItemString(kind_types, name, type) < 0) {
        Py_XDECREF(type);
        return NULL;
    }
    Py_DECREF(type); /* the dictionary keeps it */
    return (PyTypeObject *)type;
}

static PyTypeObject *type_of_node(const mt_node *n)
{
    const char *name = short_name(mt_node_name(n));
    PyGetSetDef *getset;

    if (!n->op || !n->op->grad->backward || (n->flags & MT_NODE_RENUMBERED))
        return type_of_kind(n, name);
    if (!op_types && !(op_types = PyMem_Calloc((size_t)mt_op_count, sizeof(*op_types))))
        return (PyTypeObject *)PyErr_NoMemory();
    if (!op_types[n->op->id]) {
        getset = mt_py_saved_attributes(n->op);
        op_types[n->op->id] = getset ? make_type(name, getset) : NULL;
    }
    return op_types[n->op->id];
}

PyObject *mt_py_node_wrap(mt_node *n)
{
    PyTypeObject *type;
    node_object *self;

    if (!n)
        Py_RETURN_NONE;
    if (n->py)
        return Py_NewRef((PyObject *)n->py);
    type = type_of_node(n);
    self = type ? (node_object *)type->tp_alloc(type, 0) : NULL;
    if (!self)
        return NULL;
    self->n = mt_node_ref(n);
    self->owns = true;
    n->py = self;
    return (PyObject *)self;
}

static int node_traverse(PyObject *o, visitproc visit, void *arg)
{
    node_object *self = (node_object *)o;

    if (Py_TYPE(o)->tp_traverse == node_traverse) /* else a class made in Python, which visits itself */
        Py_VISIT(Py_TYPE(o));
    Py_VISIT(self->metadata);
    Py_VISIT(self->pre_hooks);
    Py_VISIT(self->post_hooks);
    if (self->n && (!self->owns || mt_refcount_get(&self->n->refs) == 1))
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

static PyObject *node_set_sequence(PyObject *o, PyObject *number)
{
    mt_node *n = live_node(o);
    unsigned long long sequence = n ? PyLong_AsUnsignedLongLong(number) : 0;

    if (!n || (sequence == (unsigned long long)-1 && PyErr_Occurred()))
        return NULL;
    n->sequence = sequence;
    Py_RETURN_NONE;
}

static PyObject *node_requires_grad(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    Py_RETURN_TRUE;
}

/* --- what gradients must look like --- */

typedef struct input_object {
    PyObject_HEAD PyObject *shape, *dtype, *device;
} input_object;

static void input_dealloc(PyObject *o)
{
    input_object *self = (input_object *)o;

    Py_XDECREF(self->shape);
    Py_XDECREF(self->dtype);
    Py_XDECREF(self->device);
    PyObject_Free(o);
}

static PyMemberDef input_members[] = {
    {"shape", T_OBJECT, offsetof(input_object, shape), READONLY, NULL},
    {"dtype", T_OBJECT, offsetof(input_object, dtype), READONLY, NULL},
    {"device", T_OBJECT, offsetof(input_object, device), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *input_false(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    Py_RETURN_FALSE;
}

static PyGetSetDef input_getset[] = {
    {"is_nested_tensor", input_false, NULL, NULL, NULL},
    {"is_cpp_nested_tensor", input_false, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Input_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._autograd._InputMetadata",
    .tp_basicsize = sizeof(input_object),
    .tp_dealloc = input_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_members = input_members,
    .tp_getset = input_getset,
};

static PyObject *input_new(const mt_input_meta *m)
{
    input_object *self = PyObject_New(input_object, &Input_Type);

    if (!self)
        return NULL;
    self->shape = PyList_New(m->ndim);
    self->dtype = m->dtype == MT_DTYPE_NONE ? Py_NewRef(Py_None) : mt_py_dtype_get((mt_dtype)m->dtype);
    self->device = m->dtype == MT_DTYPE_NONE ? Py_NewRef(Py_None) : mt_py_device_new(m->device);
    for (int i = 0; self->shape && i < m->ndim; i++)
        PyList_SET_ITEM(self->shape, i, PyLong_FromLongLong(m->size[i]));
    if (!self->shape || !self->dtype || !self->device)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyObject *node_input_metadata(PyObject *o, void *closure)
{
    mt_node *n = live_node(o);
    int count = n ? mt_node_differentiable_outputs(n) : 0;
    PyObject *tuple = n ? PyTuple_New(count) : NULL;

    (void)closure;
    for (int i = 0; tuple && i < count; i++) {
        mt_input_meta m = mt_node_input(n, i);
        PyObject *item = input_new(&m);

        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

/* --- running the formula by hand --- */

static int take_gradients(mt_tensor **grads, const mt_node *n, PyObject *args)
{
    int defined = 0;

    int count = mt_node_differentiable_outputs(n);

    if (PyTuple_GET_SIZE(args) != count) {
        PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd instead", count, PyTuple_GET_SIZE(args));
        return -1;
    }
    for (int i = 0; i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(args, i);

        grads[i] = NULL;
        if (item == Py_None)
            continue;
        if (!mt_py_is_tensor(item)) {
            PyErr_Format(PyExc_TypeError, "argument %d is not a Variable", i);
            return -1;
        }
        grads[i] = mt_py_impl(item);
        defined++;
    }
    return defined;
}

static PyObject *wrap_gradients(mt_tensor **out, int n)
{
    PyObject *result = n == 1 ? NULL : PyTuple_New(n);

    if (n == 1)
        return mt_py_wrap(mt_tensor_move(&out[0]));
    for (int i = 0; result && i < n; i++) {
        PyObject *item = mt_py_wrap(mt_tensor_move(&out[i]));

        if (!item)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, item);
    }
    return result;
}

/* Neither hooks nor what the engine does to results; recorded as the caller's grad mode says. */
static PyObject *node_call(PyObject *o, PyObject *args, PyObject *kwargs)
{
    mt_node *n = live_node(o);
    mt_tensor **grads, **out;
    PyObject *result = NULL;
    int defined, rc = 0;

    if (!n)
        return NULL;
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_Format(PyExc_TypeError, "%s takes no keyword arguments", Py_TYPE(o)->tp_name);
        return NULL;
    }
    grads = PyMem_Calloc((size_t)n->n_inputs + (size_t)n->n_edges + 1, sizeof(*grads));
    if (!grads)
        return PyErr_NoMemory();
    out = grads + n->n_inputs;
    defined = take_gradients(grads, n, args);
    if (defined > 0) {
        n->busy++;
        rc = n->ops->run(n, grads, out);
        n->busy--;
    }
    if (rc < 0)
        mt_py_raise();
    else if (defined >= 0)
        result = wrap_gradients(out, n->n_edges);
    for (int i = 0; i < n->n_edges; i++)
        mt_tensor_clear(&out[i]);
    PyMem_Free(grads);
    return result;
}

/* --- hooks: an ordered dictionary per kind, made at the first registration --- */

/* The dictionary that an earlier object of the node put there, borrowed, or NULL. */
static PyObject *dict_of_node(const mt_node *n, const mt_hook_ops *ops)
{
    for (const mt_hook *h = n->hooks; h; h = h->next)
        if (h->ops == ops)
            return h->ctx;
    return NULL;
}

static PyObject *register_in(PyObject *o, PyObject **dict, mt_hook_kind kind, const mt_hook_ops *ops, PyObject *hook)
{
    node_object *self = (node_object *)o;
    PyObject *module, *handle;

    if (!live_node(o))
        return NULL;
    module = PyImport_ImportModule("minitorch.utils.hooks");
    if (!module)
        return NULL;
    if (!*dict)
        *dict = Py_XNewRef(dict_of_node(self->n, ops));
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
    (void)o; /* the hooks of a non-leaf already sit on its node */
    if (!mt_py_is_tensor(tensor))
        return PyErr_Format(PyExc_TypeError, "_register_hook_dict expected a variable");
    Py_RETURN_NONE;
}

static PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "name() -> str"},
    {"_sequence_nr", node_sequence, METH_NOARGS, NULL},
    {"_set_sequence_nr", node_set_sequence, METH_O, NULL},
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
    {"requires_grad", node_requires_grad, NULL, NULL, NULL},
    {"_input_metadata", node_input_metadata, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyGetSetDef leaf_getset[2] = {{"variable", node_variable, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyGetSetDef no_getset[1] = {{NULL, NULL, NULL, NULL, NULL}};

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
    .tp_weaklistoffset = offsetof(node_object, weaklist),
    .tp_methods = node_methods,
    .tp_getset = node_getset,
};

int mt_py_node_init(PyObject *module)
{
    if (PyType_Ready(&mt_NodeBase_Type) < 0 || PyType_Ready(&Input_Type) < 0 || !(kind_types = PyDict_New()))
        return -1;
    if (PyModule_AddObjectRef(module, "_InputMetadata", (PyObject *)&Input_Type) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "_NodeBase", (PyObject *)&mt_NodeBase_Type);
}
