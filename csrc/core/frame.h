/* SPDX-License-Identifier: BSD-3-Clause */
/* Typed reading and writing of the arguments of a call frame. Generated code uses nothing else, so
   the way in which "None" is stored is known here only: kind MT_ARG_NONE, and the neutral value of the type (NULL,
   n = -1, MT_DTYPE_NONE, ...) behind it. Optional numbers travel as pointers, NULL for None. */
#ifndef MT_CORE_FRAME_H
#define MT_CORE_FRAME_H

#include "core/op.h"

/* --- reading --- */

static inline mt_tensor *mt_arg_tensor(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : a->v.tensor;
}

static inline mt_tensors mt_arg_tensors(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? (mt_tensors){NULL, -1} : a->v.tensors;
}

static inline mt_scalar mt_arg_scalar(const mt_value *a)
{
    return a->v.scalar;
}

static inline const mt_scalar *mt_arg_scalar_opt(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : &a->v.scalar;
}

static inline int64_t mt_arg_int(const mt_value *a)
{
    return a->v.i;
}

static inline const int64_t *mt_arg_int_opt(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : &a->v.i;
}

static inline double mt_arg_float(const mt_value *a)
{
    return a->v.d;
}

static inline const double *mt_arg_float_opt(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : &a->v.d;
}

static inline bool mt_arg_bool(const mt_value *a)
{
    return a->v.b;
}

static inline const bool *mt_arg_bool_opt(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : &a->v.b;
}

static inline mt_ints mt_arg_ints(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? (mt_ints){NULL, -1} : a->v.ints;
}

static inline mt_floats mt_arg_floats(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? (mt_floats){NULL, -1} : a->v.floats;
}

static inline mt_scalars mt_arg_scalars(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? (mt_scalars){NULL, -1} : a->v.scalars;
}

static inline const char *mt_arg_str(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : a->v.str;
}

static inline mt_dtype mt_arg_dtype(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? MT_DTYPE_NONE : (mt_dtype)a->v.i;
}

static inline int mt_arg_enum(const mt_value *a) /* layout, memory format */
{
    return a->kind == MT_ARG_NONE ? -1 : (int)a->v.i;
}

static inline mt_device mt_arg_device(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? MT_DEVICE_NONE : a->v.device;
}

static inline mt_generator *mt_arg_generator(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : a->v.generator;
}

static inline mt_storage *mt_arg_storage(const mt_value *a)
{
    return a->kind == MT_ARG_NONE ? NULL : a->v.storage;
}

/* --- writing --- */

static inline void mt_arg_set_tensor(mt_value *a, mt_tensor *t)
{
    a->kind = t ? MT_ARG_TENSOR : MT_ARG_NONE;
    a->v.tensor = t;
}

static inline void mt_arg_set_tensors(mt_value *a, mt_tensors list)
{
    a->kind = list.n < 0 ? MT_ARG_NONE : MT_ARG_TENSORS;
    a->v.tensors = list;
}

static inline void mt_arg_set_scalar(mt_value *a, mt_scalar s)
{
    a->kind = MT_ARG_SCALAR;
    a->v.scalar = s;
}

static inline void mt_arg_set_scalar_opt(mt_value *a, const mt_scalar *s)
{
    a->kind = s ? MT_ARG_SCALAR : MT_ARG_NONE;
    a->v.scalar = s ? *s : mt_scalar_from_int(0);
}

static inline void mt_arg_set_int(mt_value *a, int64_t i)
{
    a->kind = MT_ARG_INT;
    a->v.i = i;
}

static inline void mt_arg_set_int_opt(mt_value *a, const int64_t *i)
{
    a->kind = i ? MT_ARG_INT : MT_ARG_NONE;
    a->v.i = i ? *i : 0;
}

static inline void mt_arg_set_float(mt_value *a, double d)
{
    a->kind = MT_ARG_FLOAT;
    a->v.d = d;
}

static inline void mt_arg_set_float_opt(mt_value *a, const double *d)
{
    a->kind = d ? MT_ARG_FLOAT : MT_ARG_NONE;
    a->v.d = d ? *d : 0.0;
}

static inline void mt_arg_set_bool(mt_value *a, bool b)
{
    a->kind = MT_ARG_BOOL;
    a->v.b = b;
}

static inline void mt_arg_set_bool_opt(mt_value *a, const bool *b)
{
    a->kind = b ? MT_ARG_BOOL : MT_ARG_NONE;
    a->v.b = b && *b;
}

static inline void mt_arg_set_ints(mt_value *a, mt_ints list)
{
    a->kind = list.n < 0 ? MT_ARG_NONE : MT_ARG_INTS;
    a->v.ints = list;
}

static inline void mt_arg_set_bools(mt_value *a, mt_ints list)
{
    a->kind = list.n < 0 ? MT_ARG_NONE : MT_ARG_BOOLS;
    a->v.ints = list;
}

static inline void mt_arg_set_floats(mt_value *a, mt_floats list)
{
    a->kind = list.n < 0 ? MT_ARG_NONE : MT_ARG_FLOATS;
    a->v.floats = list;
}

static inline void mt_arg_set_scalars(mt_value *a, mt_scalars list)
{
    a->kind = list.n < 0 ? MT_ARG_NONE : MT_ARG_SCALARS;
    a->v.scalars = list;
}

static inline void mt_arg_set_str(mt_value *a, const char *s)
{
    a->kind = s ? MT_ARG_STR : MT_ARG_NONE;
    a->v.str = s;
}

static inline void mt_arg_set_dtype(mt_value *a, mt_dtype d)
{
    a->kind = d == MT_DTYPE_NONE ? MT_ARG_NONE : MT_ARG_DTYPE;
    a->v.i = d;
}

static inline void mt_arg_set_layout(mt_value *a, int layout)
{
    a->kind = layout < 0 ? MT_ARG_NONE : MT_ARG_LAYOUT;
    a->v.i = layout;
}

static inline void mt_arg_set_memory_format(mt_value *a, int format)
{
    a->kind = format < 0 ? MT_ARG_NONE : MT_ARG_MEMORY_FORMAT;
    a->v.i = format;
}

static inline void mt_arg_set_device(mt_value *a, mt_device d)
{
    a->kind = mt_device_is_none(d) ? MT_ARG_NONE : MT_ARG_DEVICE;
    a->v.device = d;
}

static inline void mt_arg_set_generator(mt_value *a, mt_generator *g)
{
    a->kind = g ? MT_ARG_GENERATOR : MT_ARG_NONE;
    a->v.generator = g;
}

static inline void mt_arg_set_storage(mt_value *a, mt_storage *s)
{
    a->kind = s ? MT_ARG_STORAGE : MT_ARG_NONE;
    a->v.storage = s;
}

#endif
