/* SPDX-License-Identifier: BSD-3-Clause */
/* The override protocol: what its files share, and what binders and hand-written functions ask of it. */
#ifndef MT_BINDINGS_TORCH_FUNCTION_H
#define MT_BINDINGS_TORCH_FUNCTION_H

#include "bindings/bind.h"

/* The call of func by the mode and the operands of the list. args is a tuple, kwargs a dictionary or NULL. */
PyObject *mt_py_handle_override(PyObject *func, const mt_py_overloads *list, PyObject *args, PyObject *kwargs);
/* The innermost mode leaves the stack while it runs, and comes back, which cannot fail. */
PyObject *mt_py_mode_pop(void);
void mt_py_mode_push_back(PyObject *mode);
int mt_py_torch_function_state_init(PyObject *module);

/* --- tensors of PyTorch itself (torch_function_foreign.c) --- */

typedef struct mt_py_handler_call {
    struct mt_py_handler_call *outer;
    PyObject *func, *args, *kwargs; /* borrowed */
} mt_py_handler_call;

/* Notes that a handler runs, until mt_py_handler_ends. False: it is the call that runs already, whose library came back. */
bool mt_py_handler_begins(mt_py_handler_call *call);
void mt_py_handler_ends(mt_py_handler_call *call);
/* handler(func, types, args, kwargs), the handler of `owner`; kwargs may be NULL. */
PyObject *mt_py_call_handler(PyObject *owner, PyObject *handler, PyObject *func, PyObject *types, PyObject *args,
                             PyObject *kwargs);
int mt_py_torch_function_foreign_init(PyObject *module);

#endif
