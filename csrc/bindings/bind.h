/* SPDX-License-Identifier: BSD-3-Clause */
/* The call binder: from Python arguments to a call frame, and back. Generated trampolines call mt_py_call; nothing
   else parses arguments of ops. */
#ifndef MT_BINDINGS_BIND_H
#define MT_BINDINGS_BIND_H

#include "bindings/bindings_internal.h"

/* One Python-visible name: its overloads in the order they are tried. */
typedef struct mt_py_func {
    const char *name; /* "add", "add_" */
    const mt_op *const *overloads;
    uint8_t n_overloads;
    uint8_t variant;   /* mt_variant: FUNCTION or INPLACE */
    uint8_t kind;      /* 0 function, 1 method */
    uint8_t flags;     /* 1: has out= */
    const char *space; /* "", "nn", "linalg", "fft", "special" */
    uint16_t id;       /* index into mt_py_func_table */
} mt_py_func;

enum { MT_PY_FUNCTION, MT_PY_METHOD };
enum { MT_PY_HAS_OUT = 1 };

extern const mt_py_func mt_py_func_table[];
extern const int mt_py_func_count;
extern PyMethodDef mt_py_methods[], mt_py_functions[], mt_py_nn[], mt_py_linalg[], mt_py_fft[], mt_py_special[];

/* Binds, checks overrides, dispatches, wraps. */
PyObject *mt_py_call(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* The operands of one call that override, in calling order: subclasses first, each type once. Borrowed. */
#define MT_PY_OVERLOADS_ROOM 4
typedef struct mt_py_overloads {
    PyObject **item;
    int n, max;
    PyObject *self; /* whose type stands in `types` although it may not override; or NULL */
    PyObject *room[MT_PY_OVERLOADS_ROOM];
} mt_py_overloads;

static inline void mt_py_overloads_init(mt_py_overloads *list)
{
    list->item = list->room;
    list->n = 0;
    list->max = MT_PY_OVERLOADS_ROOM;
    list->self = NULL;
}

static inline void mt_py_overloads_clear(mt_py_overloads *list)
{
    if (MT_UNLIKELY(list->item != list->room))
        PyMem_Free(list->item);
}

/* Temporaries of one call: everything the frame borrows from. */
#define MT_BIND_MAX_TEMPS 8
#define MT_BIND_MAX_INTS 96
typedef struct mt_bind {
    mt_call call;
    int n_tensors, n_objects, n_ints, n_blocks;
    bool numbers_only;                    /* no tensor among the tensor arguments */
    bool tensor_as_number;                /* a tensor, or a number that overrides, for a number */
    int requires_grad;                    /* factories: -1 not given */
    PyObject *out;                        /* the out= argument, borrowed */
    mt_tensor *tensor[MT_BIND_MAX_TEMPS]; /* owned: wrapped numbers */
    PyObject *object[MT_BIND_MAX_TEMPS];  /* owned: tuples made of lists */
    void *block[MT_BIND_MAX_TEMPS];       /* owned: long lists */
    mt_py_overloads overloads;
    int64_t ints[MT_BIND_MAX_INTS];
} mt_bind;

/* --- overrides (torch_function.c) --- */

/* Does this object take part in __torch_function__ with an implementation of its own? */
bool mt_py_has_torch_function(PyObject *o);
/* Inserts o in calling order (subclasses first), each type once. -1 on error. */
int mt_py_overloads_add(mt_py_overloads *list, PyObject *o);
int mt_py_overload_add(mt_bind *b, PyObject *o); /* 1 or -1 */
/* Out of line: a mode is active, or the next check is to be skipped. Is the call to be handed on? */
bool mt_py_slow_check(void);
/* For functions without operands: is a mode active? */
static inline bool mt_py_mode_is_active(void)
{
    return MT_UNLIKELY(mt_thread.slow & (MT_SLOW_MODE | MT_SLOW_SKIP)) && mt_py_slow_check();
}
static inline bool mt_py_is_override(PyObject *o)
{
    return !mt_py_is_exact(o) && Py_TYPE(o) != mt_parameter_type && mt_py_has_torch_function(o);
}
/* For slots, properties and methods with one operand: it overrides or a mode is active. A check is asked once per call. */
static inline bool mt_py_needs_override(PyObject *o)
{
    if (MT_UNLIKELY(mt_thread.slow & (MT_SLOW_MODE | MT_SLOW_SKIP)))
        return mt_py_slow_check();
    return mt_py_is_override(o);
}
/* The same before a method of the receiver that asks again: a check to be skipped is left to that. */
static inline bool mt_py_asks_first(PyObject *o)
{
    return !(mt_thread.slow & MT_SLOW_SKIP) && mt_py_needs_override(o);
}
/* The same for two. */
static inline bool mt_py_either_needs_override(PyObject *a, PyObject *b)
{
    if (MT_UNLIKELY(mt_thread.slow & (MT_SLOW_MODE | MT_SLOW_SKIP)))
        return mt_py_slow_check();
    return mt_py_is_override(a) || mt_py_is_override(b);
}

/* Hands a bound call on. */
PyObject *mt_py_torch_function_call(const mt_py_func *f, mt_py_overloads *list, PyObject *self, PyObject *const *args,
                                    Py_ssize_t nargs, PyObject *kwnames);
/* The same for hand-written entry points. A function of _VariableFunctions without operands: */
PyObject *mt_py_function_override(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* The same with those among the arguments that override, whatever the function takes them for. */
PyObject *mt_py_late_override(const char *name, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* Any callable without operands; args is a tuple, consumed, or NULL with an exception set. */
PyObject *mt_py_object_override(PyObject *func, PyObject *args, PyObject *kwargs);
/* A method with its arguments; one without, whose receiver's type always stands in `types`; x[key] and x[key] = value. */
PyObject *mt_py_method_override(PyObject *self, const char *name, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames);
PyObject *mt_py_noargs_override(PyObject *self, const char *name);
PyObject *mt_py_equal_override(PyObject *self, PyObject *other);
PyObject *mt_py_index_override(PyObject *self, PyObject *key, PyObject *value);
#define MT_PY_INDEX_DEPTH 8 /* of containers in an index */
/* func(self, *args, **kwargs) with a tuple and a dictionary, or NULL, of arguments. */
PyObject *mt_py_receiver_override(PyObject *func, PyObject *self, PyObject *args, PyObject *kwargs);
/* action: 0 __get__, 1 __set__, 2 __delete__ of a property. */
PyObject *mt_py_override_property(PyObject *self, const char *name, PyObject *value, int action);
/* Operators that PyTorch writes in Python: the call of handle_torch_function. other may be NULL. */
PyObject *mt_py_python_override(const char *name, PyObject *self, PyObject *other);

/* --- autograd hooks of the tensor type --- */
extern int (*mt_py_autograd_traverse)(mt_tensor *t, visitproc visit, void *arg);
extern void (*mt_py_autograd_clear)(mt_tensor *t);
PyObject *mt_py_legacy_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
void mt_py_track(PyObject *o);

#endif
