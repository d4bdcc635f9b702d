/* SPDX-License-Identifier: BSD-3-Clause */
/* Number slots and comparisons. Each slot first tries the short road (exact tensors or a Python number, no
   gradient, no mode), then goes through the binder as the method call would. A TypeError of a binary slot becomes
   NotImplemented, so that Python tries the other operand. */
#include "autograd/autograd.h"
#include "bindings/bind.h"
#include "bindings/new_internal.h"

#include <string.h>

/* A method or function found by name at first use. */
typedef struct lazy_func {
    const char *name;
    uint8_t kind;
    const mt_py_func *func;
} lazy_func;

const mt_py_func *mt_py_find_func(const char *name, int kind)
{
    for (int i = 0; i < mt_py_func_count; i++)
        if (mt_py_func_table[i].kind == kind && strcmp(mt_py_func_table[i].name, name) == 0)
            return &mt_py_func_table[i];
    PyErr_Format(PyExc_NotImplementedError, "no such operation: %s", name);
    return NULL;
}

static inline const mt_py_func *find(lazy_func *lazy)
{
    if (MT_UNLIKELY(!lazy->func))
        lazy->func = mt_py_find_func(lazy->name, lazy->kind);
    return lazy->func;
}

static PyObject *call2(lazy_func *lazy, PyObject *self, PyObject *other)
{
    const mt_py_func *f = find(lazy);

    if (!f)
        return NULL;
    if (f->kind == MT_PY_METHOD)
        return mt_py_call(f, self, &other, 1, NULL);
    return mt_py_call(f, NULL, (PyObject *[]){self, other}, 2, NULL);
}

static PyObject *not_implemented_on_type_error(PyObject *result)
{
    if (!result && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        Py_RETURN_NOTIMPLEMENTED;
    }
    return result;
}

/* What Python does for classes whose operators are written in Python: after NotImplemented from the left operand the
   reflected method of the right one is asked. Slots of C are asked once, since both operands have the same. */
static PyObject *or_reflected(PyObject *result, const char *name, binaryfunc reflected, PyObject *a, PyObject *b)
{
    PyObject *own, *theirs;
    bool same;

    if (result != Py_NotImplemented || Py_TYPE(a) == Py_TYPE(b) || !mt_py_is_tensor(b) || !mt_py_is_override(b))
        return result;
    own = PyObject_GetAttrString((PyObject *)mt_tensor_type, name);
    theirs = PyObject_GetAttrString((PyObject *)Py_TYPE(b), name);
    same = own && own == theirs; /* otherwise the class has its own, and Python asks that */
    Py_XDECREF(own);
    Py_XDECREF(theirs);
    if (PyErr_Occurred())
        Py_CLEAR(result);
    if (!result || !same)
        return result;
    Py_DECREF(result);
    return reflected(a, b);
}

/* --- the short road --- */

static inline bool python_number(mt_scalar *out, PyObject *o)
{
    if (PyFloat_CheckExact(o)) {
        *out = mt_scalar_from_double(PyFloat_AS_DOUBLE(o));
        return true;
    }
    if (PyLong_CheckExact(o)) {
        int overflow = 0;
        int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);

        *out = mt_scalar_from_int(i);
        return overflow == 0;
    }
    return false;
}

/* 1: *result is set (NULL on error); 0: take the general road. */
static inline int short_binary(PyObject **result, const mt_op *op, PyObject *a, PyObject *b)
{
    mt_tensor *out = NULL;
    mt_scalar s;
    int rc;

    if (MT_UNLIKELY(mt_thread.slow))
        return 0;
    if (mt_py_is_exact(a)) {
        if (mt_py_is_exact(b)) {
            rc = mt_fast_binary(&out, op, mt_py_impl(a), mt_py_impl(b));
            if (rc == 0)
                rc = mt_autograd_short(&out, op, mt_py_impl(a), mt_py_impl(b));
        } else if (python_number(&s, b)) {
            rc = mt_fast_binary_scalar(&out, op, mt_py_impl(a), s, false);
        } else {
            return 0;
        }
    } else if (mt_py_is_exact(b) && python_number(&s, a)) {
        rc = mt_fast_binary_scalar(&out, op, mt_py_impl(b), s, true);
    } else {
        return 0;
    }
    if (rc == 0)
        return 0;
    *result = rc < 0 ? mt_py_raise() : mt_py_wrap(out);
    return 1;
}

static inline int short_inplace(PyObject **result, const mt_op *op, PyObject *a, PyObject *b)
{
    mt_tensor *out, *t;
    mt_scalar s;
    int rc;

    if (MT_UNLIKELY(mt_thread.slow) || !mt_py_is_exact(a))
        return 0;
    t = out = mt_py_impl(a);
    if (t->flags & MT_FLAG_VIEW)
        return 0;
    if (mt_py_is_exact(b))
        rc = mt_fast_binary(&out, op, t, mt_py_impl(b));
    else if (python_number(&s, b))
        rc = mt_fast_binary_scalar(&out, op, t, s, false);
    else
        return 0;
    if (rc == 0)
        return 0;
    *result = rc < 0 ? mt_py_raise() : Py_NewRef(a);
    return 1;
}

#define SHORT(slot) (find(&slot) ? slot.func->overloads[0] : NULL)

/* --- overrides of slots that are no plain methods --- */

/* What __torch_function__ is told of a slot where that is not the method of its op: the attribute of Tensor by this name.
   The operators that PyTorch has in Python go through handle_torch_function. */
typedef struct public_name {
    const char *name;
    bool python;
} public_name;

static PyObject *call_public(public_name public, PyObject *self, PyObject *other)
{
    if (public.python)
        return mt_py_python_override(public.name, self, other);
    return mt_py_method_override(self, public.name, &other, 1, NULL);
}

/* The slot with the tensor `self`: handed on under its public name, if it has one, or a call of the method. */
static PyObject *call_slot(lazy_func *lazy, public_name public, PyObject *self, PyObject *other)
{
    /* The method asks again: a check to be skipped is left to it. */
    if (public.name && (public.python || !(mt_thread.slow & MT_SLOW_SKIP)) &&
        MT_UNLIKELY(mt_py_either_needs_override(self, other)))
        return not_implemented_on_type_error(call_public(public, self, other));
    return not_implemented_on_type_error(call2(lazy, self, other));
}

#define NO_NAME ((public_name){NULL, false})
#define C_NAME(name) ((public_name){name, false})
#define PYTHON_NAME(name) ((public_name){name, true})

/* A slot of two operands: METHOD of the left tensor; REFLECTED of the right one when the left is no tensor. */
#define BINARY(slot, method, public, reflected, dunder)                                                 \
    static lazy_func lazy_##slot = {method, MT_PY_METHOD, NULL};                                        \
    static lazy_func lazy_r##slot = {reflected, MT_PY_METHOD, NULL};                                    \
    static PyObject *reflected_##slot(PyObject *a, PyObject *b)                                         \
    {                                                                                                   \
        return not_implemented_on_type_error(call2(&lazy_r##slot, b, a));                               \
    }                                                                                                   \
    static PyObject *tensor_##slot(PyObject *a, PyObject *b)                                            \
    {                                                                                                   \
        PyObject *result = NULL;                                                                        \
        const mt_op *op = SHORT(lazy_##slot);                                                           \
                                                                                                        \
        if (!op)                                                                                        \
            return NULL;                                                                                \
        if (short_binary(&result, op, a, b))                                                            \
            return result;                                                                              \
        if (mt_py_is_tensor(a))                                                                         \
            return or_reflected(call_slot(&lazy_##slot, public, a, b), dunder, reflected_##slot, a, b); \
        return reflected_##slot(a, b);                                                                  \
    }
#define INPLACE(slot, method, public)                            \
    static lazy_func lazy_##slot = {method, MT_PY_METHOD, NULL}; \
    static PyObject *tensor_##slot(PyObject *a, PyObject *b)     \
    {                                                            \
        PyObject *result = NULL;                                 \
        const mt_op *op = SHORT(lazy_##slot);                    \
                                                                 \
        if (!op)                                                 \
            return NULL;                                         \
        if (short_inplace(&result, op, a, b))                    \
            return result;                                       \
        return call_slot(&lazy_##slot, public, a, b);            \
    }
static PyObject *reflected_call(lazy_func *lazy, const char *name, PyObject *a, PyObject *b);

/* The left operand is no tensor and the op does not commute: a function of both. */
#define BINARY_FUNCTION(slot, method, public, function, dunder)                                         \
    static lazy_func lazy_##slot = {method, MT_PY_METHOD, NULL};                                        \
    static lazy_func lazy_r##slot = {function, MT_PY_FUNCTION, NULL};                                   \
    static PyObject *reflected_##slot(PyObject *a, PyObject *b)                                         \
    {                                                                                                   \
        return not_implemented_on_type_error(reflected_call(&lazy_r##slot, dunder, a, b));              \
    }                                                                                                   \
    static PyObject *tensor_##slot(PyObject *a, PyObject *b)                                            \
    {                                                                                                   \
        PyObject *result = NULL;                                                                        \
        const mt_op *op = SHORT(lazy_##slot);                                                           \
                                                                                                        \
        if (!op)                                                                                        \
            return NULL;                                                                                \
        if (mt_py_is_exact(a) && short_binary(&result, op, a, b))                                       \
            return result;                                                                              \
        if (mt_py_is_tensor(a))                                                                         \
            return or_reflected(call_slot(&lazy_##slot, public, a, b), dunder, reflected_##slot, a, b); \
        return reflected_##slot(a, b);                                                                  \
    }

static PyObject *reflected_function(lazy_func *lazy, PyObject *a, PyObject *b)
{
    const mt_py_func *f = find(lazy);
    PyObject *number = NULL, *result;

    if (!f)
        return NULL;
    result = mt_py_call(f, NULL, (PyObject *[]){a, b}, 2, NULL);
    if (!result && mt_py_is_number(a) && f->overloads[0]->pointwise && PyErr_ExceptionMatches(PyExc_TypeError)) {
        /* Functions without a number overload on the left take the number as a tensor of its own. */
        mt_scalar s;
        mt_tensor *t = NULL;

        PyErr_Clear();
        if (mt_py_to_scalar(&s, a) != 1)
            return NULL;
        if (mt_tensor_from_scalar(&t, s) < 0)
            return mt_py_raise();
        number = mt_py_wrap(t);
        if (!number)
            return NULL;
        result = mt_py_call(f, NULL, (PyObject *[]){number, b}, 2, NULL);
        Py_DECREF(number);
    }
    return result;
}

static PyObject *reflected_call(lazy_func *lazy, const char *name, PyObject *a, PyObject *b)
{
    if (MT_UNLIKELY(mt_py_either_needs_override(b, a)))
        return mt_py_python_override(name, b, a);
    return reflected_function(lazy, a, b);
}

BINARY(add, "add", NO_NAME, "add", "__radd__")
BINARY(mul, "mul", NO_NAME, "mul", "__rmul__")
BINARY(and, "bitwise_and", C_NAME("__and__"), "bitwise_and", "__rand__")
BINARY(or, "bitwise_or", C_NAME("__or__"), "bitwise_or", "__ror__")
BINARY(xor, "bitwise_xor", C_NAME("__xor__"), "bitwise_xor", "__rxor__")
BINARY_FUNCTION(floordiv, "floor_divide", PYTHON_NAME("__floordiv__"), "floor_divide", "__rfloordiv__")
BINARY_FUNCTION(remainder, "remainder", NO_NAME, "remainder", "__rmod__")
BINARY_FUNCTION(matmul, "matmul", NO_NAME, "matmul", "__rmatmul__")
BINARY_FUNCTION(lshift, "bitwise_left_shift", C_NAME("__lshift__"), "bitwise_left_shift", "__rlshift__")
BINARY_FUNCTION(rshift, "bitwise_right_shift", C_NAME("__rshift__"), "bitwise_right_shift", "__rrshift__")

static lazy_func lazy_sub = {"sub", MT_PY_METHOD, NULL}, lazy_rsub = {"rsub", MT_PY_FUNCTION, NULL};

static PyObject *reflected_sub(PyObject *a, PyObject *b)
{
    return call_slot(&lazy_rsub, PYTHON_NAME("__rsub__"), b, a);
}

static PyObject *tensor_sub(PyObject *a, PyObject *b)
{
    PyObject *result = NULL;
    const mt_op *op = SHORT(lazy_sub);

    if (!op)
        return NULL;
    if (short_binary(&result, op, a, b))
        return result;
    if (mt_py_is_tensor(a))
        return or_reflected(call_slot(&lazy_sub, NO_NAME, a, b), "__rsub__", reflected_sub, a, b);
    return reflected_sub(a, b);
}

static lazy_func lazy_truediv = {"div", MT_PY_METHOD, NULL}, lazy_reciprocal = {"reciprocal", MT_PY_METHOD, NULL};

/* A number or an array divided by a tensor multiplies the reciprocal, which rounds in its own way. */
static PyObject *divide_by_tensor(PyObject *a, PyObject *b)
{
    PyObject *reciprocal, *result;

    if (MT_UNLIKELY(mt_py_either_needs_override(b, a)))
        return not_implemented_on_type_error(mt_py_python_override("__rtruediv__", b, a));
    reciprocal = find(&lazy_reciprocal) ? mt_py_call(lazy_reciprocal.func, b, NULL, 0, NULL) : NULL;
    result = reciprocal ? PyNumber_Multiply(reciprocal, a) : NULL;
    Py_XDECREF(reciprocal);
    return not_implemented_on_type_error(result);
}

static PyObject *tensor_truediv(PyObject *a, PyObject *b)
{
    PyObject *result = NULL;

    if (!mt_py_is_tensor(a))
        return divide_by_tensor(a, b);
    if (!find(&lazy_truediv))
        return NULL;
    if (short_binary(&result, lazy_truediv.func->overloads[0], a, b))
        return result;
    return or_reflected(call_slot(&lazy_truediv, NO_NAME, a, b), "__rtruediv__", divide_by_tensor, a, b);
}

INPLACE(iadd, "add_", NO_NAME)
INPLACE(isub, "sub_", NO_NAME)
INPLACE(imul, "mul_", NO_NAME)
INPLACE(itruediv, "div_", NO_NAME)
INPLACE(ifloordiv, "floor_divide_", NO_NAME)
INPLACE(iremainder, "remainder_", NO_NAME)
INPLACE(iand, "bitwise_and_", C_NAME("__iand__"))
INPLACE(ior, "bitwise_or_", C_NAME("__ior__"))
INPLACE(ixor, "bitwise_xor_", C_NAME("__ixor__"))
INPLACE(ilshift, "bitwise_left_shift_", C_NAME("__ilshift__"))
INPLACE(irshift, "bitwise_right_shift_", C_NAME("__irshift__"))

static lazy_func lazy_pow = {"pow", MT_PY_METHOD, NULL}, lazy_rpow = {"pow", MT_PY_FUNCTION, NULL},
                 lazy_ipow = {"pow_", MT_PY_METHOD, NULL};

static PyObject *reflected_pow(PyObject *a, PyObject *b)
{
    if (MT_UNLIKELY(mt_py_either_needs_override(b, a)))
        return not_implemented_on_type_error(mt_py_python_override("__rpow__", b, a));
    return not_implemented_on_type_error(call2(&lazy_rpow, a, b));
}

static PyObject *tensor_pow(PyObject *a, PyObject *b, PyObject *modulo)
{
    if (modulo != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    if (mt_py_is_tensor(a))
        return or_reflected(call_slot(&lazy_pow, PYTHON_NAME("__pow__"), a, b), "__rpow__", reflected_pow, a, b);
    return reflected_pow(a, b);
}

static PyObject *tensor_ipow(PyObject *a, PyObject *b, PyObject *modulo)
{
    (void)modulo; /* CPython passes no third operand to **= */
    return call_slot(&lazy_ipow, PYTHON_NAME("__ipow__"), a, b);
}

/* --- unary --- */

#define UNARY(slot, method)                                        \
    static lazy_func lazy_##slot = {method, MT_PY_METHOD, NULL};   \
    static PyObject *tensor_##slot(PyObject *a)                    \
    {                                                              \
        const mt_op *op = SHORT(lazy_##slot);                      \
        mt_tensor *out = NULL;                                     \
        int rc = 0;                                                \
                                                                   \
        if (!op)                                                   \
            return NULL;                                           \
        if (!mt_thread.slow && mt_py_is_exact(a) && op->pointwise) \
            rc = mt_fast_unary(&out, op, mt_py_impl(a));           \
        if (rc)                                                    \
            return rc < 0 ? mt_py_raise() : mt_py_wrap(out);       \
        return mt_py_call(lazy_##slot.func, a, NULL, 0, NULL);     \
    }

UNARY(neg, "neg")
UNARY(abs, "abs")
UNARY(pos, "positive")
UNARY(bitwise_not, "bitwise_not")

static PyObject *tensor_invert(PyObject *a)
{
    mt_dtype d = (mt_dtype)mt_py_impl(a)->dtype;

    if (mt_py_asks_first(a))
        return mt_py_noargs_override(a, "__invert__");
    if (MT_UNLIKELY(!mt_dtype_is_integral(d, true)))
        return PyErr_Format(PyExc_TypeError,
                            "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return tensor_bitwise_not(a);
}

/* --- conversions --- */

static int one_element(mt_scalar *out, PyObject *self)
{
    mt_tensor *t = mt_py_impl(self);

    if (t->numel != 1) {
        PyErr_SetString(PyExc_ValueError, "only one element tensors can be converted to Python scalars");
        return -1;
    }
    if (mt_tensor_item(out, t) < 0) {
        mt_py_raise();
        return -1;
    }
    return 0;
}

/* float and complex leave the graph, once in a process with a word about it. */
static int warn_leaving(PyObject *self)
{
    static bool done;

    if (MT_LIKELY(!mt_thread.grad_mode || !mt_tensor_requires_grad(mt_py_impl(self))))
        return 0;
    if (mt_warn_once(&done, MT_WARN_USER,
                     "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                     "Consider using tensor.detach() first.") == 0)
        return 0;
    mt_py_raise();
    return -1;
}

static PyObject *tensor_float(PyObject *self)
{
    mt_scalar s;

    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__float__");
    if (warn_leaving(self) < 0 || one_element(&s, self) < 0)
        return NULL;
    if (s.category == MT_CAT_COMPLEX && s.v.c.im != 0) {
        PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type double without overflow");
        return NULL;
    }
    return PyFloat_FromDouble(mt_scalar_to_double(s));
}

static PyObject *tensor_int(PyObject *self)
{
    mt_scalar s;

    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__int__");
    if (one_element(&s, self) < 0)
        return NULL;
    if (s.category == MT_CAT_COMPLEX && s.v.c.im != 0) {
        PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type int64_t without overflow");
        return NULL;
    }
    if (s.category >= MT_CAT_FLOAT)
        return PyLong_FromDouble(mt_scalar_to_double(s));
    return PyLong_FromLongLong(s.v.i);
}

static PyObject *tensor_index(PyObject *self)
{
    mt_tensor *t = mt_py_impl(self);
    mt_scalar s;

    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__index__");
    if (t->numel != 1 || !mt_dtype_is_integral((mt_dtype)t->dtype, true)) {
        PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
        return NULL;
    }
    if (one_element(&s, self) < 0)
        return NULL;
    return PyLong_FromLongLong(s.v.i);
}

static int tensor_bool(PyObject *self)
{
    mt_tensor *t = mt_py_impl(self);
    mt_scalar s;

    if (mt_py_needs_override(self)) {
        PyObject *result = mt_py_noargs_override(self, "__bool__");
        int truth = result && PyBool_Check(result) ? result == Py_True : -1;

        if (result && truth < 0)
            PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %s", Py_TYPE(result)->tp_name);
        Py_XDECREF(result);
        return truth;
    }
    if (t->numel != 1) {
        PyErr_SetString(PyExc_RuntimeError, t->numel == 0
                                                ? "Boolean value of Tensor with no values is ambiguous"
                                                : "Boolean value of Tensor with more than one value is ambiguous");
        return -1;
    }
    if (mt_tensor_item(&s, t) < 0) {
        mt_py_raise();
        return -1;
    }
    return mt_scalar_is_true(s);
}

/* `Tensor.__bool__`: unlike bool(), it gives whatever an override gives. */
PyObject *mt_py_tensor_bool(PyObject *self, PyObject *unused)
{
    int truth;

    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__bool__");
    truth = tensor_bool(self);
    return truth < 0 ? NULL : PyBool_FromLong(truth);
}

PyObject *mt_py_tensor_complex(PyObject *self, PyObject *unused)
{
    mt_scalar s;
    mt_c128 c;

    (void)unused;
    if (mt_py_needs_override(self))
        return mt_py_noargs_override(self, "__complex__");
    if (warn_leaving(self) < 0 || one_element(&s, self) < 0)
        return NULL;
    c = mt_scalar_to_complex(s);
    return PyComplex_FromDoubles(c.re, c.im);
}

PyNumberMethods mt_py_tensor_number = {
    .nb_add = tensor_add,
    .nb_subtract = tensor_sub,
    .nb_multiply = tensor_mul,
    .nb_remainder = tensor_remainder,
    .nb_power = tensor_pow,
    .nb_negative = tensor_neg,
    .nb_positive = tensor_pos,
    .nb_absolute = tensor_abs,
    .nb_bool = tensor_bool,
    .nb_invert = tensor_invert,
    .nb_lshift = tensor_lshift,
    .nb_rshift = tensor_rshift,
    .nb_and = tensor_and,
    .nb_xor = tensor_xor,
    .nb_or = tensor_or,
    .nb_int = tensor_int,
    .nb_float = tensor_float,
    .nb_inplace_add = tensor_iadd,
    .nb_inplace_subtract = tensor_isub,
    .nb_inplace_multiply = tensor_imul,
    .nb_inplace_remainder = tensor_iremainder,
    .nb_inplace_power = tensor_ipow,
    .nb_inplace_lshift = tensor_ilshift,
    .nb_inplace_rshift = tensor_irshift,
    .nb_inplace_and = tensor_iand,
    .nb_inplace_xor = tensor_ixor,
    .nb_inplace_or = tensor_ior,
    .nb_floor_divide = tensor_floordiv,
    .nb_true_divide = tensor_truediv,
    .nb_inplace_floor_divide = tensor_ifloordiv,
    .nb_inplace_true_divide = tensor_itruediv,
    .nb_index = tensor_index,
    .nb_matrix_multiply = tensor_matmul,
};

/* --- comparisons --- */

static lazy_func compare_funcs[] = {
    [Py_LT] = {"lt", MT_PY_METHOD, NULL}, [Py_LE] = {"le", MT_PY_METHOD, NULL}, [Py_EQ] = {"eq", MT_PY_METHOD, NULL},
    [Py_NE] = {"ne", MT_PY_METHOD, NULL}, [Py_GT] = {"gt", MT_PY_METHOD, NULL}, [Py_GE] = {"ge", MT_PY_METHOD, NULL},
};

/* An array on the right is compared as the tensor it makes; without one of its dtype Python asks the array. */
static PyObject *equal_array(lazy_func *lazy, PyObject *a, PyObject *array)
{
    mt_tensor *t = NULL;
    PyObject *other, *result;

    if (mt_py_tensor_from_array(&t, array, true) < 0)
        return not_implemented_on_type_error(NULL);
    other = mt_py_wrap(t);
    if (!other)
        return NULL;
    result = not_implemented_on_type_error(call2(lazy, a, other));
    Py_DECREF(other);
    return result;
}

PyObject *mt_py_tensor_richcompare(PyObject *a, PyObject *b, int op)
{
    lazy_func *lazy = &compare_funcs[op];
    PyObject *result = NULL;

    if (!find(lazy))
        return NULL;
    if (short_binary(&result, lazy->func->overloads[0], a, b))
        return result;
    if (op == Py_EQ && mt_py_asks_first(a)) /* the receiver alone is asked */
        return not_implemented_on_type_error(mt_py_equal_override(a, b));
    if (op == Py_EQ && mt_py_is_array(b))
        return equal_array(lazy, a, b);
    return not_implemented_on_type_error(call2(lazy, a, b));
}
