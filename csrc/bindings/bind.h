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

/* Temporaries of one call: everything the frame borrows from. */
#define MT_BIND_MAX_TEMPS 8
#define MT_BIND_MAX_INTS 96
#define MT_BIND_MAX_OVERLOADED 16
typedef struct mt_bind {
    mt_call call;
    int n_tensors, n_objects, n_ints, n_overloaded, n_blocks;
    bool numbers_only;                            /* no tensor among the tensor arguments */
    int requires_grad;                            /* factories: -1 not given */
    PyObject *out;                                /* the out= argument, borrowed */
    mt_tensor *tensor[MT_BIND_MAX_TEMPS];         /* owned: wrapped numbers */
    PyObject *object[MT_BIND_MAX_TEMPS];          /* owned: tuples made of lists */
    void *block[MT_BIND_MAX_TEMPS];               /* owned: long lists */
    PyObject *overloaded[MT_BIND_MAX_OVERLOADED]; /* borrowed, in calling order */
    int64_t ints[MT_BIND_MAX_INTS];
} mt_bind;

/* --- overrides (torch_function.c) --- */

/* Does the type of this object take part in __torch_function__ with an implementation of its own? */
bool mt_py_has_torch_function(PyObject *o);
/* Inserts o in calling order (subclasses first), each type once. -1 on error. */
int mt_py_overload_add(mt_bind *b, PyObject *o);
/* Packs the arguments and calls the handlers. */
PyObject *mt_py_torch_function_call(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames, PyObject *const *overloaded, int n_overloaded);
/* The same for hand-written entry points; func is the public function object. */
PyObject *mt_py_handle_override(PyObject *func, PyObject *const *overloaded, int n, PyObject *args, PyObject *kwargs);
/* For slots and properties with one tensor operand: true when the object overrides or a mode is active. */
static inline bool mt_py_needs_override(PyObject *o)
{
    return MT_UNLIKELY(mt_thread.slow & MT_SLOW_MODE) ||
           (!mt_py_is_exact(o) && Py_TYPE(o) != mt_parameter_type && mt_py_has_torch_function(o));
}
/* func = getattr of the class by name ("__getitem__") or the __get__ of a property. */
PyObject *mt_py_override_method(PyObject *self, const char *name, PyObject *args, PyObject *kwargs);
PyObject *mt_py_override_unary(PyObject *self, const char *name); /* without further arguments */
PyObject *mt_py_override_property(PyObject *self, const char *name, PyObject *value, int action);

/* --- autograd hooks of the tensor type --- */
extern int (*mt_py_autograd_traverse)(mt_tensor *t, visitproc visit, void *arg);
extern void (*mt_py_autograd_clear)(mt_tensor *t);
PyObject *mt_py_legacy_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
void mt_py_track(PyObject *o);

#endif
