/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the binder: bind.c, bind_value.c, bind_error.c. */
#ifndef MT_BINDINGS_BIND_INTERNAL_H
#define MT_BINDINGS_BIND_INTERNAL_H

#include "bindings/bind.h"

void mt_bind_clear(mt_bind *b);
/* Converts one argument: 1, 0 (does not fit) or -1 (Python exception). */
int mt_bind_value(mt_bind *b, const mt_arg_spec *spec, mt_value *out, PyObject *value);
/* A size list spread over positional arguments; writes the frame slot spec->index. */
int mt_bind_spread(mt_bind *b, const mt_arg_spec *spec, PyObject *const *args, Py_ssize_t n);
/* Room for n integers or doubles that lives as long as the call. */
int64_t *mt_bind_ints(mt_bind *b, Py_ssize_t n);
/* Calls without keywords that need no binder. 1: *result is set (NULL on error); 0: bind. */
int mt_bind_short(PyObject **result, const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs);
/* The TypeError for a call that fits no overload; NULL. */
/* Is the exception that is set about a number of a fitting type whose value is out of range? */
bool mt_py_is_range_error(void);
PyObject *mt_py_bind_error(const mt_py_func *f, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
/* Once per function: the signature that was used is an old one. C error. */
int mt_py_warn_deprecated(const mt_py_func *f, const mt_op *op);
/* Index into kwnames of the keyword for argument k, or -1. */
Py_ssize_t mt_py_find_keyword(const mt_py_func *f, const mt_op *op, int k, PyObject *kwnames);
PyObject *mt_py_arg_name(const mt_op *op, int k);
/* Struct sequence type of a multi-output op, made at first use; borrowed. */
PyTypeObject *mt_py_struct_type(const mt_op *op, bool given);
PyObject *mt_py_struct_types(void); /* name -> type of those made so far; a new reference */
int mt_py_set_requires_grad(mt_tensor *t);
/* A leaf that a factory has filled has the flag that the factory was given. */
int mt_py_give_requires_grad(mt_tensor *t, bool on);
int mt_py_bind_init(void);

/* An op with tensor parameters that was given numbers only, and is not one of those that allow it. */
static inline bool mt_py_needs_a_tensor(const mt_op *op)
{
    return op->n_args > 0 && op->args[0].kind == MT_ARG_TENSOR && (op->args[0].flags & MT_ARGF_NUMBER) &&
           !(op->flags & MT_OPF_SCALARS_OK);
}

#endif
