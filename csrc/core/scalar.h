/* SPDX-License-Identifier: BSD-3-Clause */
/* A tagged number, as Python gives it, with exact conversions. */
#ifndef MT_CORE_SCALAR_H
#define MT_CORE_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/dtype.h"

typedef struct mt_scalar {
    uint8_t category;    /* mt_category */
    uint8_t is_unsigned; /* an integer in [2^63, 2^64), bits in i */
    union {
        int64_t i; /* BOOL and INT */
        double d;
        mt_c128 c;
    } v;
} mt_scalar;

static inline mt_scalar mt_scalar_from_int(int64_t i)
{
    mt_scalar s = {MT_CAT_INT, 0, {0}};
    s.v.i = i;
    return s;
}

static inline mt_scalar mt_scalar_from_bool(bool b)
{
    mt_scalar s = {MT_CAT_BOOL, 0, {0}};
    s.v.i = b;
    return s;
}

static inline mt_scalar mt_scalar_from_double(double d)
{
    mt_scalar s = {MT_CAT_FLOAT, 0, {0}};
    s.v.d = d;
    return s;
}

static inline mt_scalar mt_scalar_from_complex(double re, double im)
{
    mt_scalar s = {MT_CAT_COMPLEX, 0, {0}};
    s.v.c.re = re;
    s.v.c.im = im;
    return s;
}

double mt_scalar_to_double(mt_scalar s); /* real part of a complex number */
int64_t mt_scalar_to_int(mt_scalar s);   /* truncates; saturates beyond int64 */
mt_c128 mt_scalar_to_complex(mt_scalar s);
bool mt_scalar_is_true(mt_scalar s);
bool mt_scalar_equals_int(mt_scalar s, int64_t i);
/* The dtype of a number on its own: bool, int64 (uint64 from 2^63 on), default float, default complex. */
mt_dtype mt_scalar_dtype(mt_scalar s);

/* RuntimeError "value cannot be converted to type T without overflow" when it does not fit. */
int mt_scalar_check(mt_dtype dtype, mt_scalar s);
/* Writes the number as one element of a dtype. The checked form asks mt_scalar_check first; the other wraps as a cast
   does. */
void mt_scalar_store(void *dst, mt_dtype dtype, mt_scalar s);
int mt_scalar_store_checked(void *dst, mt_dtype dtype, mt_scalar s);
mt_scalar mt_scalar_load(const void *src, mt_dtype dtype);

#endif
