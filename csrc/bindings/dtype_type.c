/* SPDX-License-Identifier: BSD-3-Clause */
/* torch.dtype, torch.layout, torch.memory_format: singletons, printed with the `torch.` prefix. Also finfo and iinfo. */
#include <float.h>
#include <string.h>

#include "bindings/bindings_internal.h"
#include "core/layout.h"

static PyObject *dtype_objects[MT_DTYPE_COUNT];

static const char *const dtype_aliases[MT_DTYPE_COUNT] = {
    [MT_DTYPE_i16] = "short", [MT_DTYPE_i32] = "int",    [MT_DTYPE_i64] = "long",
    [MT_DTYPE_f16] = "half",  [MT_DTYPE_f32] = "float",  [MT_DTYPE_f64] = "double",
    [MT_DTYPE_c32] = "chalf", [MT_DTYPE_c64] = "cfloat", [MT_DTYPE_c128] = "cdouble",
};

/* Dtypes of quantized tensors exist as names only: objects behind the dtypes of the core. */
static const struct {
    const char *name;
    int itemsize;
} quantized[] = {{"quint8", 1}, {"qint8", 1}, {"qint32", 4}, {"quint4x2", 1}, {"quint2x4", 1}};

static bool is_quantized(PyObject *o)
{
    return mt_py_dtype_of(o) >= MT_DTYPE_COUNT;
}

static const char *name_of(PyObject *o)
{
    return is_quantized(o) ? quantized[mt_py_dtype_of(o) - MT_DTYPE_COUNT].name : mt_dtype_name(mt_py_dtype_of(o));
}

/* "f32", "b8", "f8e4m3fn": the letter of the kind, the bits, and what else the name says. */
static PyObject *dtype_short_name(PyObject *o)
{
    mt_dtype d = mt_py_dtype_of(o);
    const char *name = name_of(o), *rest = strchr(name, '_');
    char letter, text[32];
    size_t n = 0;

    if (is_quantized(o))
        return PyUnicode_FromString(name);
    letter = d == MT_DTYPE_b8               ? 'b'
             : mt_dtype_is_complex(d)       ? 'c'
             : mt_dtype_is_float(d) || rest ? 'f'
             : mt_dtype_table[d].is_signed  ? 'i'
                                            : 'u';
    if (!rest)
        return PyUnicode_FromFormat("%s%c%d", d == MT_DTYPE_bf16 ? "b" : "", letter, (int)mt_dtype_size(d) * 8);
    text[n++] = letter;
    for (name += strlen("float"); *name && n + 1 < sizeof(text); name++)
        if (*name != '_')
            text[n++] = *name;
    text[n] = '\0';
    return PyUnicode_FromString(text);
}

PyObject *mt_py_dtype_get(mt_dtype d)
{
    if ((unsigned)d >= MT_DTYPE_COUNT)
        Py_RETURN_NONE;
    return Py_NewRef(dtype_objects[d]);
}

static PyObject *dtype_repr(PyObject *o)
{
    return PyUnicode_FromFormat("torch.%s", name_of(o));
}

static PyObject *dtype_reduce(PyObject *o, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(name_of(o));
}

static PyObject *quantized_get(PyObject *o, intptr_t which)
{
    if (which == 3)
        return PyLong_FromLong(quantized[mt_py_dtype_of(o) - MT_DTYPE_COUNT].itemsize);
    if (which == 2)
        return PyErr_Format(PyExc_RuntimeError, "isSignedType not supported for quantized types");
    Py_RETURN_FALSE;
}

static PyObject *dtype_get(PyObject *o, void *closure)
{
    mt_dtype d = mt_py_dtype_of(o);

    if (is_quantized(o) && (intptr_t)closure < 4)
        return quantized_get(o, (intptr_t)closure);
    switch ((intptr_t)closure) {
    case 0:
        return PyBool_FromLong(mt_dtype_is_float(d));
    case 1:
        return PyBool_FromLong(mt_dtype_is_complex(d));
    case 2:
        return PyBool_FromLong(mt_dtype_table[d].is_signed);
    case 3:
        return PyLong_FromSize_t(mt_dtype_size(d));
    case 4:
        return dtype_short_name(o);
    default:
        return PyUnicode_FromString("minitorch");
    }
}

static PyObject *dtype_to_real(PyObject *o, PyObject *unused)
{
    (void)unused;
    return is_quantized(o) ? Py_NewRef(o) : mt_py_dtype_get(mt_dtype_to_real(mt_py_dtype_of(o)));
}

static PyObject *dtype_to_complex(PyObject *o, PyObject *unused)
{
    mt_dtype d = is_quantized(o) ? MT_DTYPE_NONE : mt_dtype_to_complex(mt_py_dtype_of(o));

    (void)unused;
    if (is_quantized(o))
        return PyErr_Format(PyExc_RuntimeError, "Unknown Complex ScalarType for %s", name_of(o));
    if (d == MT_DTYPE_NONE) {
        mt_dtype_refuse_complex(mt_py_dtype_of(o));
        return mt_py_raise();
    }
    return mt_py_dtype_get(d);
}

static PyGetSetDef dtype_getset[] = {
    {"is_floating_point", dtype_get, NULL, NULL, (void *)0},
    {"is_complex", dtype_get, NULL, NULL, (void *)1},
    {"is_signed", dtype_get, NULL, NULL, (void *)2},
    {"itemsize", dtype_get, NULL, NULL, (void *)3},
    {"abbr", dtype_get, NULL, NULL, (void *)4},
    {"__module__", dtype_get, NULL, NULL, (void *)5},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {"to_real", dtype_to_real, METH_NOARGS, NULL},
    {"to_complex", dtype_to_complex, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject mt_Dtype_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.dtype",
    .tp_basicsize = sizeof(mt_py_dtype),
    .tp_repr = dtype_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_getset = dtype_getset,
    .tp_methods = dtype_methods,
    .tp_doc = "Type of the elements of a tensor.",
};

/* --- layout, memory_format, qscheme: named singletons --- */

typedef struct named {
    PyObject_HEAD const char *name;
    int value;
} named;

static PyObject *layout_objects[MT_LAYOUT_COUNT], *format_objects[4];

static PyObject *named_repr(PyObject *o)
{
    return PyUnicode_FromFormat("torch.%s", ((named *)o)->name);
}

static PyObject *named_reduce(PyObject *o, PyObject *unused)
{
    (void)unused;
    return PyUnicode_FromString(((named *)o)->name);
}

static PyObject *named_module(PyObject *o, void *closure)
{
    (void)o, (void)closure;
    return PyUnicode_FromString("minitorch");
}

static PyMethodDef named_methods[] = {
    {"__reduce__", named_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef named_getset[] = {
    {"__module__", named_module, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject mt_Layout_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.layout",
    .tp_basicsize = sizeof(named),
    .tp_repr = named_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = named_methods,
    .tp_getset = named_getset,
};

PyTypeObject mt_MemoryFormat_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.memory_format",
    .tp_basicsize = sizeof(named),
    .tp_repr = named_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = named_methods,
    .tp_getset = named_getset,
};

/* Quantized tensors do not exist here; programs compare and pickle the names. */
static PyTypeObject QScheme_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "minitorch.qscheme",
    .tp_basicsize = sizeof(named),
    .tp_repr = named_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = named_methods,
    .tp_getset = named_getset,
};

PyObject *mt_py_layout_get(int layout)
{
    return Py_NewRef(layout_objects[layout]);
}

PyObject *mt_py_memory_format_get(int format)
{
    return Py_NewRef(format_objects[format]);
}

int mt_py_layout_of(PyObject *o)
{
    return Py_TYPE(o) == &mt_Layout_Type ? ((named *)o)->value : -1;
}

int mt_py_memory_format_of(PyObject *o)
{
    return Py_TYPE(o) == &mt_MemoryFormat_Type ? ((named *)o)->value : -1;
}

static PyObject *named_new(PyTypeObject *type, const char *name, int value)
{
    named *o = PyObject_New(named, type);

    if (o) {
        o->name = name;
        o->value = value;
    }
    return (PyObject *)o;
}

/* --- finfo and iinfo --- */

typedef struct info {
    PyObject_HEAD mt_dtype dtype;
} info;

typedef struct float_facts {
    double eps, max, min_normal, smallest_subnormal, resolution;
    int bits;
    bool is_positive; /* no number below zero: the least one is the normal one */
} float_facts;

static const float_facts facts[MT_DTYPE_COUNT] = {
    [MT_DTYPE_f16] = {0x1p-10, 65504.0, 0x1p-14, 0x1p-24, 1e-3, 16, false},
    [MT_DTYPE_bf16] = {0x1p-7, 0x1.fep127, 0x1p-126, 0x1p-133, 1e-2, 16, false},
    [MT_DTYPE_f32] = {FLT_EPSILON, FLT_MAX, FLT_MIN, 0x1p-149, 1e-6, 32, false},
    [MT_DTYPE_f64] = {DBL_EPSILON, DBL_MAX, DBL_MIN, 0x1p-1074, 1e-15, 64, false},
    [MT_DTYPE_f8e4m3fn] = {0x1p-3, 448.0, 0x1p-6, 0x1p-9, 1.0, 8, false},
    [MT_DTYPE_f8e5m2] = {0x1p-2, 57344.0, 0x1p-14, 0x1p-16, 1.0, 8, false},
    [MT_DTYPE_f8e4m3fnuz] = {0x1p-3, 240.0, 0x1p-7, 0x1p-10, 1.0, 8, false},
    [MT_DTYPE_f8e5m2fnuz] = {0x1p-3, 57344.0, 0x1p-15, 0x1p-17, 1.0, 8, false},
    [MT_DTYPE_f8e8m0fnu] = {1.0, 0x1p127, 0x1p-127, 0x1p-127, 1.0, 8, true},
    [MT_DTYPE_f4e2m1fnx2] = {.bits = 8}, /* two numbers in one element: it has no such facts */
};

static const float_facts *facts_of(mt_dtype d)
{
    return &facts[mt_dtype_to_real(d)];
}

static double least_of(const float_facts *f)
{
    return f->is_positive ? f->min_normal : -f->max;
}

/* NULL with an exception for a dtype without the fact asked for. */
static PyObject *no_fact(mt_dtype d, intptr_t which)
{
    static const char *const names[] = {"bits", "epsilon", "max", "lowest", "min", "min", "digits10", "dtype"};

    return PyErr_Format(PyExc_NotImplementedError, "\"%s\" not implemented for '%s'", names[which],
                        mt_dtype_table[d].legacy);
}

static int info_dtype(mt_dtype *out, PyObject *args, PyObject *kwargs, const char *name, bool is_float)
{
    static char *keywords[] = {"type", NULL};
    PyObject *o = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", keywords, &o))
        return -1;
    if (!o && is_float) {
        *out = mt_default_dtype();
        return 0;
    }
    if (!o || mt_py_to_dtype(out, o) != 1) {
        PyErr_Format(PyExc_TypeError, "%s(): argument 'type' (position 1) must be torch.dtype, not %s", name,
                     o ? Py_TYPE(o)->tp_name : "nothing");
        return -1;
    }
    if (is_float && !mt_dtype_is_differentiable(*out)) {
        PyErr_Format(PyExc_TypeError,
                     "torch.finfo() requires a floating point dtype, not torch.%s; torch.iinfo describes integers",
                     mt_dtype_name(*out));
        return -1;
    }
    if (!is_float && !mt_dtype_is_integral(*out, false)) {
        PyErr_Format(PyExc_TypeError,
                     "torch.iinfo() requires an integer dtype, not torch.%s; torch.finfo describes floating point",
                     mt_dtype_name(*out));
        return -1;
    }
    return 0;
}

static PyObject *info_make(PyTypeObject *type, mt_dtype d)
{
    info *self = (info *)type->tp_alloc(type, 0);

    if (self)
        self->dtype = d;
    return (PyObject *)self;
}

static PyObject *finfo_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mt_dtype d;

    return info_dtype(&d, args, kwargs, "finfo", true) < 0 ? NULL : info_make(type, d);
}

static PyObject *iinfo_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    mt_dtype d;

    return info_dtype(&d, args, kwargs, "iinfo", false) < 0 ? NULL : info_make(type, d);
}

static PyObject *finfo_get(PyObject *o, void *closure)
{
    const float_facts *f = facts_of(((info *)o)->dtype);

    if (f->max == 0 && closure)
        return no_fact(((info *)o)->dtype, (intptr_t)closure);
    switch ((intptr_t)closure) {
    case 0:
        return PyLong_FromLong(f->bits);
    case 1:
        return PyFloat_FromDouble(f->eps);
    case 2:
        return PyFloat_FromDouble(f->max);
    case 3:
        return PyFloat_FromDouble(least_of(f));
    case 4:
        return PyFloat_FromDouble(f->min_normal);
    case 5:
        return PyFloat_FromDouble(f->smallest_subnormal);
    case 6:
        return PyFloat_FromDouble(f->resolution);
    default:
        return PyUnicode_FromString(mt_dtype_name(mt_dtype_to_real(((info *)o)->dtype)));
    }
}

static PyObject *iinfo_get(PyObject *o, void *closure)
{
    mt_dtype d = ((info *)o)->dtype;
    int bits = (int)mt_dtype_size(d) * 8;
    bool is_signed = mt_dtype_table[d].is_signed;

    switch ((intptr_t)closure) {
    case 0:
        return PyLong_FromLong(bits);
    case 1:
        return PyLong_FromUnsignedLongLong(UINT64_MAX >> (64 - bits + is_signed));
    case 2:
        return PyLong_FromLongLong(is_signed ? -(int64_t)(((uint64_t)1 << (bits - 1)) - 1) - 1 : 0);
    default:
        return PyUnicode_FromString(mt_dtype_name(d));
    }
}

static PyObject *finfo_repr(PyObject *o)
{
    const float_facts *f = facts_of(((info *)o)->dtype);
    char text[256];

    if (f->max == 0)
        return no_fact(((info *)o)->dtype, 6);
    snprintf(text, sizeof(text),
             "finfo(resolution=%.6g, min=%.6g, max=%.6g, eps=%.6g, smallest_normal=%.6g, tiny=%.6g, dtype=%s)",
             f->resolution, least_of(f), f->max, f->eps, f->min_normal, f->min_normal,
             mt_dtype_name(mt_dtype_to_real(((info *)o)->dtype)));
    return PyUnicode_FromString(text);
}

static PyObject *iinfo_repr(PyObject *o)
{
    PyObject *min = iinfo_get(o, (void *)2), *max = iinfo_get(o, (void *)1), *result = NULL;
    char text[128];

    if (min && max) {
        snprintf(text, sizeof(text), "iinfo(min=%.6g, max=%.6g, dtype=%s)", PyLong_AsDouble(min), PyLong_AsDouble(max),
                 mt_dtype_name(((info *)o)->dtype));
        result = PyUnicode_FromString(text);
    }
    Py_XDECREF(min);
    Py_XDECREF(max);
    return result;
}

static PyObject *info_compare(PyObject *a, PyObject *b, int op)
{
    bool same = Py_TYPE(a) == Py_TYPE(b) && ((info *)a)->dtype == ((info *)b)->dtype;

    if (op != Py_EQ && op != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(same == (op == Py_EQ));
}

static PyGetSetDef finfo_getset[] = {
    {"bits", finfo_get, NULL, NULL, (void *)0},
    {"eps", finfo_get, NULL, NULL, (void *)1},
    {"max", finfo_get, NULL, NULL, (void *)2},
    {"min", finfo_get, NULL, NULL, (void *)3},
    {"smallest_normal", finfo_get, NULL, NULL, (void *)4},
    {"tiny", finfo_get, NULL, NULL, (void *)4},
    {"smallest_subnormal", finfo_get, NULL, NULL, (void *)5},
    {"resolution", finfo_get, NULL, NULL, (void *)6},
    {"dtype", finfo_get, NULL, NULL, (void *)7},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef iinfo_getset[] = {
    {"bits", iinfo_get, NULL, NULL, (void *)0},
    {"max", iinfo_get, NULL, NULL, (void *)1},
    {"min", iinfo_get, NULL, NULL, (void *)2},
    {"dtype", iinfo_get, NULL, NULL, (void *)3},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject mt_Finfo_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torch.finfo",
    .tp_basicsize = sizeof(info),
    .tp_repr = finfo_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_richcompare = info_compare,
    .tp_getset = finfo_getset,
    .tp_new = finfo_new,
    .tp_doc = "finfo(dtype): the numerical properties of a floating point dtype.",
};

PyTypeObject mt_Iinfo_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torch.iinfo",
    .tp_basicsize = sizeof(info),
    .tp_repr = iinfo_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_richcompare = info_compare,
    .tp_getset = iinfo_getset,
    .tp_new = iinfo_new,
    .tp_doc = "iinfo(dtype): the limits of an integer dtype.",
};

/* --- set-up --- */

static int add(PyObject *module, const char *name, PyObject *o)
{
    return o ? PyModule_AddObjectRef(module, name, o) : -1;
}

/* Singletons cannot be made by calling their type. */
static int ready(PyObject *module, const char *name, PyTypeObject *type)
{
    if (!type->tp_new)
        type->tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION;
    if (PyType_Ready(type) < 0)
        return -1;
    return add(module, name, (PyObject *)type);
}

int mt_py_small_types_init(PyObject *module)
{
    static const char *const formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
    static const char *const schemes[] = {"per_tensor_affine", "per_channel_affine", "per_tensor_symmetric",
                                          "per_channel_symmetric", "per_channel_affine_float_qparams"};

    if (ready(module, "dtype", &mt_Dtype_Type) < 0 || ready(module, "layout", &mt_Layout_Type) < 0 ||
        ready(module, "memory_format", &mt_MemoryFormat_Type) < 0 || ready(module, "finfo", &mt_Finfo_Type) < 0 ||
        ready(module, "iinfo", &mt_Iinfo_Type) < 0 || ready(module, "qscheme", &QScheme_Type) < 0)
        return -1;
    for (int i = 0; i < MT_DTYPE_COUNT; i++) {
        mt_py_dtype *o = PyObject_New(mt_py_dtype, &mt_Dtype_Type);

        if (!o)
            return -1;
        o->dtype = (mt_dtype)i;
        dtype_objects[i] = (PyObject *)o;
        if (add(module, mt_dtype_name((mt_dtype)i), (PyObject *)o) < 0)
            return -1;
        if (dtype_aliases[i] && add(module, dtype_aliases[i], (PyObject *)o) < 0)
            return -1;
    }
    for (size_t i = 0; i < MT_COUNTOF(quantized); i++) {
        mt_py_dtype *o = PyObject_New(mt_py_dtype, &mt_Dtype_Type);

        if (!o)
            return -1;
        o->dtype = (mt_dtype)(MT_DTYPE_COUNT + i);
        if (add(module, quantized[i].name, (PyObject *)o) < 0)
            return -1;
    }
    for (int i = 0; i < MT_LAYOUT_COUNT; i++) {
        layout_objects[i] = named_new(&mt_Layout_Type, mt_layout_names[i], i);
        if (add(module, mt_layout_names[i], layout_objects[i]) < 0)
            return -1;
    }
    for (size_t i = 0; i < MT_COUNTOF(schemes); i++) {
        PyObject *scheme = named_new(&QScheme_Type, schemes[i], (int)i);
        int rc = add(module, schemes[i], scheme);

        Py_XDECREF(scheme);
        if (rc < 0)
            return -1;
    }
    for (int i = 0; i < 4; i++) {
        format_objects[i] = named_new(&mt_MemoryFormat_Type, formats[i], i);
        if (add(module, formats[i], format_objects[i]) < 0)
            return -1;
    }
    return add(module, "legacy_contiguous_format", format_objects[0]);
}
