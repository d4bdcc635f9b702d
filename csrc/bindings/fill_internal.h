/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by tensor_data.c (walks any object) and fill_fast.c (plain lists, single numbers). */
#ifndef MT_BINDINGS_FILL_INTERNAL_H
#define MT_BINDINGS_FILL_INTERNAL_H

#include "bindings/new_internal.h"

typedef struct mt_data_shape {
    int ndim;
    int64_t size[MT_MAX_DIM];
} mt_data_shape;

/* Nests of plain lists and tuples that hold plain numbers only. 1: *out is a contiguous CPU tensor;
   0: something else was met, nothing is set; -1: exception. dtype NONE: inferred. No Python code
   runs. */
int mt_py_fill_fast(mt_tensor **out, const mt_data_shape *shape, PyObject *data, mt_dtype dtype);

/* Writes one number (anything that can be taken for one) as an element. -1: exception. */
int mt_py_store_number(char *dst, mt_dtype dtype, PyObject *o);

#endif
