/* SPDX-License-Identifier: BSD-3-Clause */
/* Hand-written functions of _C that are no ops: default dtype, promotion queries, grad mode, threads. */
#include <string.h>

#include "base/cpuinfo.h"
#include "base/parallel.h"
#include "bindings/bind.h"

/* --- default dtype and promotion --- */

static PyObject *get_default_dtype(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return mt_py_dtype_get(mt_default_dtype());
}

static PyObject *set_default_dtype(PyObject *module, PyObject *o)
{
    mt_dtype d;

    (void)module;
    if (mt_py_to_dtype(&d, o) != 1) {
        PyErr_Format(PyExc_TypeError, "invalid dtype object: expected torch.dtype, got %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    if (!mt_dtype_is_float(d)) {
        PyErr_SetString(PyExc_TypeError, "only floating-point types are supported as the default type");
        return NULL;
    }
    if (mt_dtype_is_shell(d)) {
        PyErr_Format(PyExc_TypeError, "couldn't find storage object %sStorage", mt_dtype_table[d].legacy);
        return NULL;
    }
    mt_set_default_dtype(d);
    Py_RETURN_NONE;
}

static PyObject *promote_types(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    mt_dtype a, b, promoted;

    (void)module;
    if (nargs != 2 || mt_py_to_dtype(&a, args[0]) != 1 || mt_py_to_dtype(&b, args[1]) != 1) {
        PyErr_SetString(PyExc_TypeError, "promote_types(): arguments 'type1' and 'type2' must be torch.dtype");
        return NULL;
    }
    promoted = mt_dtype_promote(a, b);
    if (promoted == MT_DTYPE_NONE) {
        mt_dtype_refuse_promotion(a, b);
        return mt_py_raise();
    }
    return mt_py_dtype_get(promoted);
}

static PyObject *can_cast(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"from_", "to", NULL};
    PyObject *from, *to;
    mt_dtype a, b;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:can_cast", keywords, &from, &to))
        return NULL;
    if (mt_py_to_dtype(&a, from) != 1 || mt_py_to_dtype(&b, to) != 1) {
        PyErr_SetString(PyExc_TypeError, "can_cast(): arguments 'from_' and 'to' must be torch.dtype");
        return NULL;
    }
    return PyBool_FromLong(mt_dtype_can_cast(a, b));
}

static int add_operand(mt_promotion *p, PyObject *o)
{
    mt_scalar s;

    if (mt_py_is_tensor(o)) {
        mt_tensor *t = mt_py_impl(o);

        mt_promotion_add(p, (mt_dtype)t->dtype, t->ndim, mt_tensor_is_wrapped_number(t));
        return 0;
    }
    if (mt_py_to_scalar(&s, o) == 1) {
        mt_promotion_add(p, mt_scalar_dtype(s), 0, true);
        return 0;
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "result_type(): argument must be Tensor or Number, not %s", Py_TYPE(o)->tp_name);
    return -1;
}

static PyObject *result_type(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"tensor", "other", NULL};
    PyObject *a, *b;
    mt_promotion p = MT_PROMOTION_INIT;
    mt_dtype d;

    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:result_type", keywords, &a, &b))
        return NULL;
    if (add_operand(&p, a) < 0 || add_operand(&p, b) < 0)
        return NULL;
    return mt_promotion_result(&d, &p) < 0 ? mt_py_raise() : mt_py_dtype_get(d);
}

/* --- grad mode --- */

static inline bool get_grad_mode(void)
{
    return MT_UNLIKELY(mt_thread.inference_mode) ? mt_thread.mode_in_inference : mt_thread.grad_mode;
}

static PyObject *module_itself; /* _C, borrowed */

static inline void set_grad_mode(bool on)
{
    if (MT_UNLIKELY(mt_thread.inference_mode))
        mt_thread.mode_in_inference = on;
    else
        mt_thread.grad_mode = on;
}

static PyObject *is_grad_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(get_grad_mode());
}

/* Modes of the override protocol see every switch as a call of this function. */
static PyObject *switch_grad_mode(bool on)
{
    PyObject *func, *result;

    if (!mt_py_mode_is_active()) {
        set_grad_mode(on);
        Py_RETURN_NONE;
    }
    func = PyObject_GetAttrString(module_itself, "_set_grad_enabled");
    result = func ? mt_py_object_override(func, PyTuple_Pack(1, on ? Py_True : Py_False), NULL) : NULL;
    Py_XDECREF(func);
    return result;
}

static PyObject *set_grad_enabled(PyObject *module, PyObject *o)
{
    (void)module;
    if (!PyBool_Check(o))
        return PyErr_Format(PyExc_TypeError, "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not %s",
                            Py_TYPE(o)->tp_name);
    return switch_grad_mode(o == Py_True);
}

static PyObject *is_inference_mode_enabled(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_thread.inference_mode);
}

/* Context managers that set grad mode on entry and put the old one back; nested uses of one object stack. */
typedef struct grad_guard {
    PyObject_HEAD uint64_t saved; /* bit stack of previous modes */
    uint8_t depth, value;
} grad_guard;

static PyObject *guard_enter(PyObject *o, PyObject *unused)
{
    grad_guard *g = (grad_guard *)o;
    PyObject *result;

    (void)unused;
    if (g->depth == 64) {
        PyErr_SetString(PyExc_RuntimeError, "a grad mode object is entered too often");
        return NULL;
    }
    g->saved = g->saved << 1 | get_grad_mode();
    g->depth++;
    result = switch_grad_mode(g->value);
    if (MT_UNLIKELY(!result)) {
        g->saved >>= 1;
        g->depth--;
        return NULL;
    }
    Py_DECREF(result);
    Py_RETURN_NONE;
}

static PyObject *guard_exit(PyObject *o, PyObject *const *args, Py_ssize_t nargs)
{
    grad_guard *g = (grad_guard *)o;
    PyObject *result;

    (void)args, (void)nargs;
    if (g->depth == 0) {
        PyErr_SetString(PyExc_RuntimeError, "a grad mode object is left without having been entered");
        return NULL;
    }
    result = switch_grad_mode(g->saved & 1);
    g->saved >>= 1;
    g->depth--;
    Py_XDECREF(result);
    return result ? Py_NewRef(Py_None) : NULL;
}

/* Copies and pickles are new ones, not entered. */
static PyObject *guard_reduce(PyObject *o, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("O()", Py_TYPE(o));
}

static PyMethodDef guard_methods[] = {
    {"__reduce__", guard_reduce, METH_NOARGS, NULL},
    {"__enter__", guard_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))guard_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject NoGrad_Type, EnableGrad_Type;

/* With a function as argument: the decorated function. */
static PyObject *guard_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    grad_guard *g = (grad_guard *)type->tp_alloc(type, 0);
    PyObject *function = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : Py_None, *decorated;

    if (!g)
        return NULL;
    g->value = !PyType_IsSubtype(type, &NoGrad_Type);
    if (kwargs && PyDict_GET_SIZE(kwargs))
        function = PyDict_GetItemString(kwargs, "orig_func");
    if (!function || PyTuple_GET_SIZE(args) > 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes one optional argument 'orig_func'", type->tp_name);
        Py_DECREF(g);
        return NULL;
    }
    if (function == Py_None)
        return (PyObject *)g;
    decorated = PyObject_CallOneArg((PyObject *)g, function);
    Py_DECREF(g);
    return decorated;
}

static PyTypeObject NoGrad_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._NoGrad",
    .tp_basicsize = sizeof(grad_guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "_NoGrad()\n--\n\nThe base of torch.no_grad.",
    .tp_methods = guard_methods,
    .tp_new = guard_new,
};

static PyTypeObject EnableGrad_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._EnableGrad",
    .tp_basicsize = sizeof(grad_guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "_EnableGrad(orig_func=None)\n--\n\nThe base of torch.enable_grad.",
    .tp_methods = guard_methods,
    .tp_new = guard_new,
};

/* Inference mode: gradients are off and is_inference_mode_enabled() says so, from the making of the object until it is left or
   freed. */
typedef struct inference_guard {
    PyObject_HEAD bool active, old_inference, old_grad;
    void *thread; /* whose state it changed */
} inference_guard;

static PyObject *inference_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int mode = 1;
    inference_guard *g;

    (void)kwargs;
    if (!PyArg_ParseTuple(args, "|p:_InferenceMode", &mode))
        return NULL;
    g = (inference_guard *)type->tp_alloc(type, 0);
    if (!g)
        return NULL;
    *g = (inference_guard){g->ob_base, true, mt_thread.inference_mode, get_grad_mode(), &mt_thread};
    mt_thread.inference_mode = mode;
    mt_thread.mode_in_inference = false;
    mt_thread.grad_mode = !mode;
    return (PyObject *)g;
}

static void inference_end(inference_guard *g)
{
    if (!g->active || g->thread != &mt_thread)
        return;
    g->active = false;
    mt_thread.inference_mode = g->old_inference;
    mt_thread.grad_mode = false;
    set_grad_mode(g->old_grad);
}

static PyObject *inference_enter(PyObject *o, PyObject *unused)
{
    (void)o, (void)unused;
    Py_RETURN_NONE;
}

static PyObject *inference_exit(PyObject *o, PyObject *const *args, Py_ssize_t nargs)
{
    (void)args, (void)nargs;
    inference_end((inference_guard *)o);
    Py_RETURN_NONE;
}

static void inference_dealloc(PyObject *o)
{
    inference_end((inference_guard *)o);
    Py_TYPE(o)->tp_free(o);
}

static PyMethodDef inference_methods[] = {
    {"__enter__", inference_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))inference_exit, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject InferenceMode_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch._C._InferenceMode",
    .tp_basicsize = sizeof(inference_guard),
    .tp_dealloc = inference_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = inference_methods,
    .tp_new = inference_new,
};

/* _unsafe_set_version_counter(tensors, versions): puts version counters back to what they were. */
static PyObject *set_version_counter(PyObject *module, PyObject *args)
{
    PyObject *tensors, *versions;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:_unsafe_set_version_counter", &PyTuple_Type, &tensors, &PyTuple_Type, &versions))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors) && i < PyTuple_GET_SIZE(versions); i++) {
        PyObject *o = PyTuple_GET_ITEM(tensors, i);
        long long version = PyLong_AsLongLong(PyTuple_GET_ITEM(versions, i));
        mt_tensor *t;

        if (version == -1 && PyErr_Occurred())
            return NULL;
        if (version < 0 || version > UINT32_MAX)
            return PyErr_Format(PyExc_RuntimeError, "Cannot set a version_counter to a value outside of 32 bits: %lld",
                                version);
        if (!mt_py_is_tensor(o)) {
            PyErr_SetString(PyExc_TypeError, "_unsafe_set_version_counter(): expected a tuple of Tensors");
            return NULL;
        }
        t = mt_py_impl(o);
        if (t->version)
            t->version->value = (uint32_t)version;
        else
            t->own_version = (uint32_t)version;
    }
    Py_RETURN_NONE;
}

static PyObject *default_device(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString("cpu");
}

/* --- threads and the machine --- */

static PyObject *get_num_threads(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(mt_get_num_threads());
}

static PyObject *set_num_threads(PyObject *module, PyObject *o)
{
    int64_t n;
    int rc = mt_py_to_int(&n, o);

    (void)module;
    if (rc < 0)
        return NULL;
    if (rc == 0) {
        PyErr_Format(PyExc_TypeError, "set_num_threads expects an int, but got %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    if (n <= 0 || n > 4096) {
        PyErr_SetString(PyExc_RuntimeError, "set_num_threads expects a positive integer");
        return NULL;
    }
    mt_set_num_threads((int)n);
    Py_RETURN_NONE;
}

static PyObject *cpu_capability(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyUnicode_FromString(mt_isa_name(mt_cpu_isa()));
}

static PyObject *cuda_available(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(mt_device_table[MT_DEVICE_CUDA] != NULL);
}

/* Names of all catalog ops: (name, overload, schema, flags, where, doc), for coverage, tests and overrides. */
static PyObject *op_records(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(mt_op_count);

    (void)module, (void)unused;
    for (int i = 0; list && i < mt_op_count; i++) {
        const mt_op *op = &mt_op_table[i];
        PyObject *row = Py_BuildValue("(sssIss)", op->name, op->overload, op->schema, (unsigned)op->flags, op->where,
                                      op->doc ? op->doc : "");

        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

/* Python-visible names: (space, kind, name, in-place?, has out=, [op ids]). */
static PyObject *func_records(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(mt_py_func_count);

    (void)module, (void)unused;
    for (int i = 0; list && i < mt_py_func_count; i++) {
        const mt_py_func *f = &mt_py_func_table[i];
        PyObject *ids = PyTuple_New(f->n_overloads), *row;

        for (int k = 0; ids && k < f->n_overloads; k++)
            PyTuple_SET_ITEM(ids, k, PyLong_FromLong(f->overloads[k]->id));
        row = ids ? Py_BuildValue("(sssOON)", f->space, f->kind == MT_PY_METHOD ? "method" : "function", f->name,
                                  f->variant == MT_VARIANT_INPLACE ? Py_True : Py_False,
                                  f->flags & MT_PY_HAS_OUT ? Py_True : Py_False, ids)
                  : NULL;
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    return list;
}

static int metadata_flag(PyObject *metadata, const char *name)
{
    PyObject *value = PyDict_GetItemString(metadata, name); /* borrowed */

    return value ? PyObject_IsTrue(value) : 0;
}

/* The lazy bits of a tensor that was put together from its memory. */
static PyObject *set_tensor_metadata(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    mt_tensor *t;
    int conj, neg;

    (void)module;
    if (nargs != 2 || !mt_py_is_tensor(args[0]) || !PyDict_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "_set_tensor_metadata(tensor, metadata): expected a tensor and a dict");
        return NULL;
    }
    conj = metadata_flag(args[1], "conj");
    neg = metadata_flag(args[1], "neg");
    if (conj < 0 || neg < 0)
        return NULL;
    t = mt_py_impl(args[0]);
    if (conj && !mt_dtype_is_complex((mt_dtype)t->dtype)) {
        PyErr_SetString(PyExc_RuntimeError, "only complex tensors have a conjugate bit");
        return NULL;
    }
    t->flags |= (conj ? MT_FLAG_CONJ : 0) | (neg ? MT_FLAG_NEG : 0);
    Py_RETURN_NONE;
}

/* Names of ops of which no overload has an implementation. */
static PyObject *unimplemented(PyObject *module, PyObject *unused)
{
    PyObject *names = PySet_New(NULL), *done = PySet_New(NULL), *left = NULL;

    (void)module, (void)unused;
    for (int i = 0; names && done && i < mt_op_count; i++) {
        const mt_op *op = &mt_op_table[i];
        PyObject *name = PyUnicode_FromString(op->name);
        int rc = name ? PySet_Add(op->flags & MT_OPF_NO_IMPL ? names : done, name) : -1;

        Py_XDECREF(name);
        if (rc < 0)
            goto fail;
    }
    left = names && done ? PyNumber_Subtract(names, done) : NULL;
fail:
    Py_XDECREF(names);
    Py_XDECREF(done);
    return left;
}

/* _swap_tensor_impl(t1, t2): each object stands for the tensor of the other. A tensor that C holds owns a reference to its
   object, see Note [Wrapper identity]. */
static PyObject *swap_impl(PyObject *module, PyObject *args)
{
    PyObject *o[2];
    mt_tensor *t[2];

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!:_swap_tensor_impl", &mt_TensorBase_Type, &o[0], &mt_TensorBase_Type, &o[1]))
        return NULL;
    for (int i = 0; i < 2; i++)
        t[i] = mt_py_impl(o[i]);
    for (int i = 0; i < 2; i++) {
        ((mt_py_tensor *)o[i])->t = t[1 - i];
        t[1 - i]->py = o[i];
        if (mt_refcount_get(&t[1 - i]->refs) > 1)
            Py_INCREF(o[i]);
        mt_py_track(o[i]);
    }
    for (int i = 0; i < 2; i++)
        if (mt_refcount_get(&t[i]->refs) > 1)
            Py_DECREF(o[i]);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_swap_tensor_impl", swap_impl, METH_VARARGS, NULL},
    {"_unimplemented_ops", unimplemented, METH_NOARGS,
     "_unimplemented_ops() -> set of str: ops that raise NotImplementedError"},
    {"_set_tensor_metadata", (PyCFunction)(void (*)(void))set_tensor_metadata, METH_FASTCALL, NULL},
    {"get_default_dtype", get_default_dtype, METH_NOARGS,
     "get_default_dtype()\n--\n\n"
     "get_default_dtype() -> dtype"},
    {"_set_default_dtype", set_default_dtype, METH_O, NULL},
    {"promote_types", (PyCFunction)(void (*)(void))promote_types, METH_FASTCALL,
     "promote_types(type1, type2)\n--\n\n"
     "promote_types(type1, type2) -> dtype"},
    {"can_cast", (PyCFunction)(void (*)(void))can_cast, METH_VARARGS | METH_KEYWORDS,
     "can_cast(from_, to)\n--\n\n"
     "can_cast(from_, to) -> bool"},
    {"result_type", (PyCFunction)(void (*)(void))result_type, METH_VARARGS | METH_KEYWORDS,
     "result_type(tensor1, tensor2)\n--\n\n"
     "result_type(tensor1, tensor2) -> dtype"},
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\n"
     "is_grad_enabled() -> bool"},
    {"_set_grad_enabled", set_grad_enabled, METH_O, NULL},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS,
     "is_inference_mode_enabled()\n--\n\nis_inference_mode_enabled()"},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads()\n--\n\n"
     "get_num_threads() -> int"},
    {"set_num_threads", set_num_threads, METH_O,
     "set_num_threads(num)\n--\n\n"
     "set_num_threads(int)"},
    {"_get_cpu_capability", cpu_capability, METH_NOARGS, NULL},
    {"_cuda_isAvailable", cuda_available, METH_NOARGS, NULL},
    {"_unsafe_set_version_counter", set_version_counter, METH_VARARGS, NULL},
    {"_get_default_device", default_device, METH_NOARGS, NULL},
    {"_op_records", op_records, METH_NOARGS, NULL},
    {"_func_records", func_records, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int mt_py_module_functions_init(PyObject *module)
{
    module_itself = module;
    if (PyType_Ready(&NoGrad_Type) < 0 || PyType_Ready(&EnableGrad_Type) < 0 || PyType_Ready(&InferenceMode_Type) < 0)
        return -1;
    if (PyModule_AddObjectRef(module, "_InferenceMode", (PyObject *)&InferenceMode_Type) < 0)
        return -1;
    if (PyModule_AddObjectRef(module, "_NoGrad", (PyObject *)&NoGrad_Type) < 0 ||
        PyModule_AddObjectRef(module, "_EnableGrad", (PyObject *)&EnableGrad_Type) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
