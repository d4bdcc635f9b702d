/* SPDX-License-Identifier: BSD-3-Clause */
/* _TensorBase and its metaclass _TensorMeta: object lifetime, the free list of the exact Tensor class,
   identity of wrappers. Slots live in number.c, indexing.c and getset.c; methods are generated.

   See Note [Wrapper identity] in bindings/README.md: the wrapper owns one C reference; while C holds another one, the
   tensor owns one Python reference to the wrapper. */
#include "bindings/bind.h"

#include <stddef.h>

#include "bindings/bindings_internal.h"

PyTypeObject *mt_tensor_type = NULL;
PyTypeObject *mt_parameter_type = NULL;

#define FREE_LIST_MAX 512
static PyObject *free_list[FREE_LIST_MAX];
static int free_count = 0;

/* --- lifetime --- */

static void release_members(mt_py_tensor *self)
{
    mt_tensor *t = self->t;

    if (self->weaklist)
        PyObject_ClearWeakRefs((PyObject *)self);
    Py_CLEAR(self->dict);
    self->t = NULL;
    if (t) {
        t->py = NULL;
        mt_tensor_unref(t);
    }
}

/* Also the deallocator of the exact Tensor class and so of its Python subclasses, whose own deallocator
   (subtype_dealloc) ends here and leaves the type's reference to us, because Tensor is a heap type. */
static void tensor_dealloc(PyObject *o)
{
    PyTypeObject *type = Py_TYPE(o);

    if (PyObject_GC_IsTracked(o))
        PyObject_GC_UnTrack(o);
    release_members((mt_py_tensor *)o);
    if (type == mt_tensor_type && free_count < FREE_LIST_MAX) {
        free_list[free_count++] = o; /* keeps its reference to the type */
        return;
    }
    type->tp_free(o);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        Py_DECREF(type);
}

static int tensor_traverse(PyObject *o, visitproc visit, void *arg)
{
    mt_py_tensor *self = (mt_py_tensor *)o;

    Py_VISIT(self->dict);
    if (self->t && mt_refcount_get(&self->t->refs) == 1 && mt_py_autograd_traverse)
        return mt_py_autograd_traverse(self->t, visit, arg);
    return 0;
}

static int tensor_clear(PyObject *o)
{
    mt_py_tensor *self = (mt_py_tensor *)o;

    Py_CLEAR(self->dict);
    if (self->t && mt_refcount_get(&self->t->refs) == 1 && mt_py_autograd_clear)
        mt_py_autograd_clear(self->t);
    return 0;
}

static PyObject *new_exact(mt_tensor *t)
{
    mt_py_tensor *self;

    if (MT_LIKELY(free_count > 0)) {
        self = (mt_py_tensor *)free_list[--free_count];
        _Py_NewReference((PyObject *)self);
    } else {
        self = PyObject_GC_New(mt_py_tensor, mt_tensor_type);
        if (!self) {
            mt_tensor_unref(t);
            return NULL;
        }
        self->dict = NULL;
        self->weaklist = NULL;
    }
    self->t = t;
    t->py = self;
    return (PyObject *)self;
}

/* Overrides below autograd are not part of this library: a class that relies on them must not run without. */
static int refuse_dispatch(PyTypeObject *type)
{
    static PyTypeObject *accepted;
    static unsigned version;
    static PyObject *name;
    PyObject *own;

    if (MT_LIKELY(type == accepted && type->tp_version_tag == version && version != 0))
        return 0;
    if (!name && !(name = PyUnicode_InternFromString("__torch_dispatch__")))
        return -1;
    own = _PyType_Lookup(type, name);
    if (own != _PyType_Lookup(mt_tensor_type, name)) {
        PyErr_Format(PyExc_NotImplementedError,
                     "%s defines __torch_dispatch__, which is not supported here; use __torch_function__",
                     type->tp_name);
        return -1;
    }
    accepted = type;
    version = type->tp_version_tag;
    return 0;
}

PyObject *mt_py_wrap_as(mt_tensor *t, PyTypeObject *type)
{
    mt_py_tensor *self;

    if (type == mt_tensor_type)
        return new_exact(t);
    if (refuse_dispatch(type) < 0) {
        mt_tensor_unref(t);
        return NULL;
    }
    self = (mt_py_tensor *)type->tp_alloc(type, 0);
    if (!self) {
        mt_tensor_unref(t);
        return NULL;
    }
    self->t = t;
    t->py = self;
    /* The count was above one before there was a wrapper: then the tensor must own its new wrapper. */
    if (mt_refcount_get(&t->refs) > 1)
        Py_INCREF(self);
    return (PyObject *)self;
}

PyObject *mt_py_wrap(mt_tensor *t)
{
    PyObject *self;

    if (!t)
        Py_RETURN_NONE;
    if (t->py) {
        self = Py_NewRef((PyObject *)t->py);
        mt_tensor_unref(t);
        return self;
    }
    self = new_exact(t);
    if (self && mt_refcount_get(&t->refs) > 1)
        Py_INCREF(self);
    return self;
}

void mt_py_drop_idle_wrapper(mt_tensor *t)
{
    mt_py_tensor *w = t->py;

    if (w && Py_REFCNT((PyObject *)w) == 1 && mt_refcount_get(&t->refs) > 1 &&
        Py_TYPE((PyObject *)w) == mt_tensor_type && !w->dict && !w->weaklist)
        Py_DECREF(w);
}

static void wrapper_incref(void *py)
{
    Py_INCREF((PyObject *)py);
}

static void wrapper_decref(void *py)
{
    Py_DECREF((PyObject *)py);
}

/* --- attributes: an instance is tracked by the collector once it has a dictionary --- */

void mt_py_track(PyObject *o)
{
    if (!PyObject_GC_IsTracked(o))
        PyObject_GC_Track(o);
}

static int set_attribute(PyObject *o, PyObject *name, PyObject *value)
{
    int rc = PyObject_GenericSetAttr(o, name, value);

    if (((mt_py_tensor *)o)->dict) {
        mt_py_track(o);
        if (value && mt_py_is_tensor(value)) /* a view of o leads back to it */
            mt_py_track(value);
    }
    return rc;
}

/* These are methods and no slots, because object.__setattr__(tensor, name, value) is refused beside a slot in C. */
static PyObject *tensor_setattr(PyObject *o, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "__setattr__() takes a name and a value, but %zd arguments were given",
                            nargs);
    return set_attribute(o, args[0], args[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *tensor_delattr(PyObject *o, PyObject *name)
{
    return set_attribute(o, name, NULL) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *get_dict(PyObject *o, void *closure)
{
    PyObject *dict = PyObject_GenericGetDict(o, closure);

    if (dict)
        mt_py_track(o);
    return dict;
}

static int set_dict(PyObject *o, PyObject *value, void *closure)
{
    int rc = PyObject_GenericSetDict(o, value, closure);

    if (rc == 0)
        mt_py_track(o);
    return rc;
}

static Py_hash_t tensor_hash(PyObject *o)
{
    return (Py_hash_t)(intptr_t)o; /* id(o) */
}

static const char loaded_already[] = "minitorch is loaded already; one interpreter of a process can import it";
static PyInterpreterState *home; /* where Tensor is */

static PyObject *base_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    if (!mt_tensor_type || !PyType_IsSubtype(type, mt_tensor_type)) {
        PyErr_SetString(PyExc_RuntimeError,
                        "Cannot directly construct TensorBase; subclass it and then construct that");
        return NULL;
    }
    return mt_py_legacy_new(type, args, kwargs);
}

static PyMethodDef base_methods[] = {
    {"__setattr__", (PyCFunction)(void (*)(void))tensor_setattr, METH_FASTCALL | MT_PY_GENERIC | MT_PY_UNLISTED,
     "__setattr__($self, name, value, /)\n--\n\nImplement setattr(self, name, value)."},
    {"__delattr__", tensor_delattr, METH_O | MT_PY_UNLISTED,
     "__delattr__($self, name, /)\n--\n\nImplement delattr(self, name)."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef dict_getset[] = {
    {"__dict__", get_dict, set_dict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Members of Tensor named after slots: functions in Python, which take whatever overrides, and methods that give what an override
   gives. Python fills the slots of a class with calls of them. While a class has those that Tensor was made with, the base's slots
   do the same faster. */
static struct kept_slot {
    const char *names[2];
    size_t number, sequence, mapping; /* offsets in the tables of slots, plus one */
    PyObject *members[2];
} kept_slots[] = {
#define NUMBER(slot, ...)                                         \
    {                                                             \
        {__VA_ARGS__}, offsetof(PyNumberMethods, slot) + 1, 0, 0, \
        {                                                         \
            NULL, NULL                                            \
        }                                                         \
    }
    NUMBER(nb_subtract, "__sub__", "__rsub__"),
    NUMBER(nb_true_divide, "__truediv__", "__rtruediv__"),
    NUMBER(nb_floor_divide, "__floordiv__", "__rfloordiv__"),
    NUMBER(nb_remainder, "__mod__", "__rmod__"),
    NUMBER(nb_power, "__pow__", "__rpow__"),
    NUMBER(nb_inplace_power, "__ipow__", NULL),
    NUMBER(nb_lshift, "__lshift__", "__rlshift__"),
    NUMBER(nb_rshift, "__rshift__", "__rrshift__"),
    NUMBER(nb_matrix_multiply, "__matmul__", "__rmatmul__"),
    NUMBER(nb_negative, "__neg__", NULL),
    NUMBER(nb_positive, "__pos__", NULL),
    NUMBER(nb_absolute, "__abs__", NULL),
    NUMBER(nb_bool, "__bool__", NULL),
#undef NUMBER
    {{"__len__", NULL},
     0,
     offsetof(PySequenceMethods, sq_length) + 1,
     offsetof(PyMappingMethods, mp_length) + 1,
     {NULL, NULL}},
};

static void copy_slot(void *to, const void *from, size_t offset)
{
    if (offset)
        *(void **)((char *)to + offset - 1) = *(void *const *)((const char *)from + offset - 1);
}

/* Does cls have the members? The first class to come is Tensor: they are noted. -1 on an error. */
static int has_kept_members(PyTypeObject *cls, struct kept_slot *slot)
{
    for (int i = 0; i < 2 && slot->names[i]; i++) {
        PyObject *key = PyUnicode_InternFromString(slot->names[i]), *member;

        if (!key)
            return -1;
        member = _PyType_Lookup(cls, key);
        Py_DECREF(key);
        if (!mt_tensor_type)
            Py_XSETREF(slot->members[i], Py_XNewRef(member));
        else if (member != slot->members[i])
            return 0;
    }
    return 1;
}

static int keep_slots(PyTypeObject *cls)
{
    for (size_t i = 0; i < sizeof(kept_slots) / sizeof(*kept_slots); i++) {
        struct kept_slot *slot = &kept_slots[i];
        int rc = has_kept_members(cls, slot);

        if (rc < 0)
            return -1;
        if (rc == 0)
            continue;
        copy_slot(cls->tp_as_number, &mt_py_tensor_number, slot->number);
        copy_slot(cls->tp_as_sequence, &mt_py_tensor_sequence, slot->sequence);
        copy_slot(cls->tp_as_mapping, &mt_py_tensor_mapping, slot->mapping);
    }
    return 0;
}

/* The base has one subclass, Tensor; all others derive from that.
   Python fills sq_inplace_concat of a new class from the base's __iadd__, and `t += "a"` would take what it returns,
   NotImplemented, for the result.
   This is no tp_new: another metaclass may come before this one, as in class Meta(ABCMeta, type(Tensor)). */
static int meta_init(PyObject *cls, PyObject *args, PyObject *kwargs)
{
    PySequenceMethods *sequence = ((PyTypeObject *)cls)->tp_as_sequence;

    if (mt_tensor_type && ((PyTypeObject *)cls)->tp_base == &mt_TensorBase_Type) {
        if (PyInterpreterState_Get() != home)
            PyErr_SetString(PyExc_ImportError, loaded_already);
        else
            PyErr_SetString(PyExc_RuntimeError, "Cannot subclass _TensorBase directly");
        return -1;
    }
    if (sequence && sequence->sq_inplace_concat == mt_py_tensor_number.nb_inplace_add)
        sequence->sq_inplace_concat = NULL;
    if (PyType_HasFeature((PyTypeObject *)cls, Py_TPFLAGS_HEAPTYPE) && keep_slots((PyTypeObject *)cls) < 0)
        return -1;
    return PyType_Type.tp_init(cls, args, kwargs);
}

PyTypeObject mt_TensorMeta_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._TensorMeta",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_init = meta_init,
    .tp_doc = "Metaclass of tensors.",
};

PyTypeObject mt_TensorBase_Type = {
    PyVarObject_HEAD_INIT(&mt_TensorMeta_Type, 0).tp_name = "minitorch._C.TensorBase",
    .tp_basicsize = sizeof(mt_py_tensor),
    .tp_dealloc = tensor_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_traverse = tensor_traverse,
    .tp_clear = tensor_clear,
    .tp_hash = tensor_hash,
    .tp_dictoffset = offsetof(mt_py_tensor, dict),
    .tp_weaklistoffset = offsetof(mt_py_tensor, weaklist),
    .tp_new = base_new,
    .tp_doc = "Base of torch.Tensor, implemented in C.",
};

/* --- registration of the Python class --- */

static PyObject *register_tensor_class(PyObject *module, PyObject *cls)
{
    PyTypeObject *type = (PyTypeObject *)cls;

    (void)module;
    if (!PyType_Check(cls) || type->tp_base != &mt_TensorBase_Type || type->tp_basicsize != sizeof(mt_py_tensor)) {
        PyErr_SetString(PyExc_TypeError, "_register_tensor_class(): argument must be the class Tensor(_TensorBase)");
        return NULL;
    }
    if (mt_tensor_type) {
        PyErr_SetString(PyExc_ImportError, loaded_already);
        return NULL;
    }
    Py_INCREF(cls);
    mt_tensor_type = type;
    home = PyInterpreterState_Get();
    type->tp_dealloc = tensor_dealloc;
    Py_RETURN_NONE;
}

static PyObject *register_parameter_class(PyObject *module, PyObject *cls)
{
    (void)module;
    if (!PyType_Check(cls)) {
        PyErr_SetString(PyExc_TypeError, "_register_parameter_class(): argument must be a class");
        return NULL;
    }
    Py_XSETREF(mt_parameter_type, (PyTypeObject *)Py_NewRef(cls));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_register_tensor_class", register_tensor_class, METH_O, NULL},
    {"_register_parameter_class", register_parameter_class, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* Methods: the generated table, then the hand-written ones, which win. */
static int add_methods(PyTypeObject *type, PyMethodDef *defs)
{
    for (PyMethodDef *def = defs; def->ml_name; def++) {
        PyObject *method;
        int rc;

        mt_py_set_generic(def);
        method = PyDescr_NewMethod(type, def);
        rc = method ? PyDict_SetItemString(type->tp_dict, def->ml_name, method) : -1;

        Py_XDECREF(method);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int add_getset(PyTypeObject *type, PyGetSetDef *defs)
{
    for (PyGetSetDef *def = defs; def->name; def++) {
        PyObject *descr = PyDescr_NewGetSet(type, def);
        int rc = descr ? PyDict_SetItemString(type->tp_dict, def->name, descr) : -1;

        Py_XDECREF(descr);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int mt_py_tensor_type_init(PyObject *module)
{
    PyTypeObject *type = &mt_TensorBase_Type;

    mt_TensorMeta_Type.tp_base = &PyType_Type;
    if (PyType_Ready(&mt_TensorMeta_Type) < 0)
        return -1;
    mt_wrapper.incref = wrapper_incref;
    mt_wrapper.decref = wrapper_decref;
    type->tp_as_number = &mt_py_tensor_number;
    type->tp_as_mapping = &mt_py_tensor_mapping;
    type->tp_as_sequence = &mt_py_tensor_sequence;
    type->tp_as_buffer = mt_py_tensor_buffer();
    type->tp_richcompare = mt_py_tensor_richcompare;
    type->tp_getset = dict_getset;
    type->tp_methods = base_methods;
    if (PyType_Ready(type) < 0)
        return -1;
    mt_py_getset_fill();
    if (add_methods(type, mt_py_methods) < 0 || add_methods(type, mt_py_tensor_extra_methods) < 0 ||
        add_methods(type, mt_py_creation_methods) < 0 || add_methods(type, mt_py_autograd_methods) < 0 ||
        add_getset(type, mt_py_autograd_getset) < 0 || add_getset(type, mt_py_tensor_getset) < 0)
        return -1;
    PyType_Modified(type);
    if (PyModule_AddObjectRef(module, "_TensorMeta", (PyObject *)&mt_TensorMeta_Type) < 0 ||
        PyModule_AddObjectRef(module, "_TensorBase", (PyObject *)type) < 0 ||
        PyModule_AddObjectRef(module, "TensorBase", (PyObject *)type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
