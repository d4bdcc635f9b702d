/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.Generator. One object per generator; the default one is made once and kept. */
#include "bindings/bindings_internal.h"
#include "core/device_names.h"

typedef struct generator_object {
    PyObject_HEAD mt_generator *g;
} generator_object;

mt_generator *mt_py_generator_of(PyObject *o)
{
    return PyObject_TypeCheck(o, &mt_Generator_Type) ? ((generator_object *)o)->g : NULL;
}

PyObject *mt_py_generator_wrap(mt_generator *g)
{
    generator_object *self = (generator_object *)mt_Generator_Type.tp_alloc(&mt_Generator_Type, 0);

    if (!self) {
        mt_generator_unref(g);
        return NULL;
    }
    self->g = g;
    g->py = self;
    return (PyObject *)self;
}

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"device", NULL};
    PyObject *where = NULL;
    mt_device device = MT_CPU;
    generator_object *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", keywords, &where))
        return NULL;
    if (where && where != Py_None) {
        int rc = mt_py_to_device(&device, where);

        if (rc == 0)
            PyErr_Format(PyExc_TypeError, "Generator(): argument 'device' (position 1) must be torch.device, not %s",
                         Py_TYPE(where)->tp_name);
        if (rc != 1)
            return NULL;
    }
    if (device.type >= MT_DEVICE_META)
        return PyErr_Format(PyExc_RuntimeError, "Generator(): the device type %s has no generator",
                            mt_device_names[device.type]);
    self = (generator_object *)type->tp_alloc(type, 0);
    if (self && mt_generator_new(&self->g, device) < 0) {
        Py_DECREF(self);
        return mt_py_raise();
    }
    if (self)
        self->g->py = self;
    return (PyObject *)self;
}

static void generator_dealloc(PyObject *o)
{
    generator_object *self = (generator_object *)o;

    if (self->g) {
        self->g->py = NULL;
        mt_generator_unref(self->g);
    }
    Py_TYPE(o)->tp_free(o);
}

/* -2^63 <= n < 2^64; negatives are taken modulo 2^64. */
static int seed_of(uint64_t *out, PyObject *o)
{
    int overflow = 0;
    int64_t value;

    if (!PyLong_Check(o) && PyIndex_Check(o)) {
        PyObject *index = PyNumber_Index(o);
        int rc = index ? seed_of(out, index) : -1;

        Py_XDECREF(index);
        return rc;
    }
    if (!PyLong_Check(o) || PyBool_Check(o)) {
        PyErr_Format(PyExc_RuntimeError, "manual_seed(): expected an int, but got %s", Py_TYPE(o)->tp_name);
        return -1;
    }
    value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) {
        *out = (uint64_t)value;
        return 0;
    }
    if (overflow > 0) {
        *out = PyLong_AsUnsignedLongLong(o);
        if (*out != (uint64_t)-1 || !PyErr_Occurred())
            return 0;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_ValueError, "manual_seed(): Overflow, a seed is from -2**63 to 2**64 - 1");
    return -1;
}

static PyObject *manual_seed(PyObject *o, PyObject *seed)
{
    uint64_t value;

    if (seed_of(&value, seed) < 0)
        return NULL;
    mt_generator_seed(((generator_object *)o)->g, value);
    return Py_NewRef(o);
}

static PyObject *seed(PyObject *o, PyObject *unused)
{
    uint64_t value = mt_generator_random_seed();

    (void)unused;
    mt_generator_seed(((generator_object *)o)->g, value);
    return PyLong_FromUnsignedLongLong(value);
}

static PyObject *initial_seed(PyObject *o, PyObject *unused)
{
    (void)unused;
    return PyLong_FromUnsignedLongLong(((generator_object *)o)->g->seed);
}

static PyObject *get_state(PyObject *o, PyObject *unused)
{
    int64_t size = MT_GENERATOR_STATE_BYTES;
    mt_tensor *t = NULL;

    (void)unused;
    MT_PY_TRY(mt_tensor_new(&t, MT_DTYPE_u8, 1, &size, MT_CPU));
    mt_generator_get_state(((generator_object *)o)->g, (uint8_t *)mt_tensor_mutable_data(t));
    return mt_py_wrap(t);
}

static PyObject *set_state(PyObject *o, PyObject *state)
{
    mt_tensor *t;

    if (!mt_py_is_tensor(state)) {
        PyErr_Format(PyExc_TypeError, "expected a torch.ByteTensor, but got %s", Py_TYPE(state)->tp_name);
        return NULL;
    }
    t = mt_py_impl(state);
    if (t->dtype != MT_DTYPE_u8 || !mt_tensor_is_contiguous(t) || t->device.type != MT_DEVICE_CPU) {
        PyErr_SetString(PyExc_TypeError, "RNG state must be a torch.ByteTensor");
        return NULL;
    }
    MT_PY_TRY(
        mt_generator_set_state(((generator_object *)o)->g, (const uint8_t *)mt_tensor_const_data(t), (size_t)t->numel));
    return Py_NewRef(o);
}

static PyObject *clone_state(PyObject *o, PyObject *unused)
{
    uint8_t state[MT_GENERATOR_STATE_BYTES];
    mt_generator *g = NULL;

    (void)unused;
    MT_PY_TRY(mt_generator_new(&g, ((generator_object *)o)->g->device));
    mt_generator_get_state(((generator_object *)o)->g, state);
    if (mt_generator_set_state(g, state, sizeof(state)) < 0) {
        mt_generator_unref(g);
        return mt_py_raise();
    }
    return mt_py_generator_wrap(g);
}

static PyObject *get_device(PyObject *o, void *closure)
{
    (void)closure;
    return mt_py_device_new(((generator_object *)o)->g->device);
}

/* CPU streams have no offset and are not captured in graphs. */
static PyObject *no_offset(PyObject *o, PyObject *args)
{
    (void)o, (void)args;
    PyErr_SetString(PyExc_RuntimeError, "a generator of the CPU has no offset");
    return NULL;
}

static PyObject *no_graph(PyObject *o, PyObject *args)
{
    (void)o, (void)args;
    PyErr_SetString(PyExc_NotImplementedError, "graph-safe state is not there for a generator of the CPU");
    return NULL;
}

/* (Generator, (device,), (seed, offset, state)), as PyTorch pickles it. */
static PyObject *reduce(PyObject *o, PyObject *unused)
{
    PyObject *device = get_device(o, NULL), *seed_value = initial_seed(o, NULL), *state = get_state(o, NULL);

    (void)unused;
    if (device && seed_value && state)
        return Py_BuildValue("(O(N)(NON))", &mt_Generator_Type, device, seed_value, Py_None, state);
    Py_XDECREF(device);
    Py_XDECREF(seed_value);
    Py_XDECREF(state);
    return NULL;
}

static PyObject *set_pickled(PyObject *o, PyObject *pickled)
{
    PyObject *seed_value, *offset, *state, *done;

    if (!PyTuple_Check(pickled) || !PyArg_ParseTuple(pickled, "OOO:__setstate__", &seed_value, &offset, &state))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "__setstate__(): expected a tuple of three");
    if (!(done = manual_seed(o, seed_value)))
        return NULL;
    Py_DECREF(done);
    if (!(done = set_state(o, state)))
        return NULL;
    Py_DECREF(done);
    Py_RETURN_NONE;
}

static PyObject *get_default(void)
{
    mt_generator *g = mt_generator_default();

    if (!g)
        return mt_py_raise();
    if (!g->py) {
        mt_refcount_inc(&g->refs);
        Py_XINCREF(mt_py_generator_wrap(g)); /* the default generator's object is kept for good */
    }
    return g->py ? Py_NewRef((PyObject *)g->py) : NULL;
}

static PyMethodDef generator_methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed) -> Generator: starts the stream of this seed."},
    {"seed", seed, METH_NOARGS, "seed() -> int: seeds from the system."},
    {"initial_seed", initial_seed, METH_NOARGS, "initial_seed() -> int"},
    {"get_state", get_state, METH_NOARGS, "get_state() -> Tensor: 5056 bytes, uint8."},
    {"set_state", set_state, METH_O, "set_state(state)"},
    {"clone_state", clone_state, METH_NOARGS,
     "clone_state() -> Generator: another one, from here on with the same stream."},
    {"get_offset", no_offset, METH_NOARGS, "get_offset(): only for CUDA; RuntimeError here."},
    {"set_offset", no_offset, METH_O, "set_offset(offset): only for CUDA; RuntimeError here."},
    {"graphsafe_get_state", no_graph, METH_NOARGS, "graphsafe_get_state(): only for CUDA; NotImplementedError here."},
    {"graphsafe_set_state", no_graph, METH_O, "graphsafe_set_state(state): only for CUDA; NotImplementedError here."},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {"__setstate__", set_pickled, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef generator_getset[] = {
    {"device", get_device, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject mt_Generator_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C.Generator",
    .tp_basicsize = sizeof(generator_object),
    .tp_dealloc = generator_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_methods = generator_methods,
    .tp_getset = generator_getset,
    .tp_new = generator_new,
    .tp_doc = "Generator(device='cpu'): a stream of random numbers.",
};

int mt_py_generator_init(PyObject *module)
{
    PyObject *standard;
    int rc;

    if (PyType_Ready(&mt_Generator_Type) < 0 || !(standard = get_default()))
        return -1;
    rc = PyModule_AddObjectRef(module, "default_generator", standard);
    Py_DECREF(standard);
    if (rc < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Generator", (PyObject *)&mt_Generator_Type);
}
