/* SPDX-License-Identifier: BSD-3-Clause */
/* What compiled formulas need beside ops: arithmetic on tagged numbers and on integers, and elements of
   integer lists. Everything is defined: integer arithmetic wraps, a zero divisor is an error. */
#ifndef MT_CORE_FORMULA_H
#define MT_CORE_FORMULA_H

#include <math.h>
#include <string.h>

#include "core/op.h"

/* Forward mode runs the formulas to transpose them: the factor of the gradient must be finite on its own, since what a
   mask hides behind it becomes a factor too. */
extern MT_THREAD_LOCAL_FAST bool mt_transposing;

/* --- tagged numbers: the category of the result is the higher one, bool counts as integer --- */

static inline mt_scalar mt_scalar_neg(mt_scalar a)
{
    if (a.category == MT_CAT_COMPLEX)
        return mt_scalar_from_complex(-a.v.c.re, -a.v.c.im);
    if (a.category == MT_CAT_FLOAT)
        return mt_scalar_from_double(-a.v.d);
    return mt_scalar_from_int((int64_t)(0 - (uint64_t)a.v.i));
}

static inline mt_scalar mt_scalar_conj(mt_scalar a)
{
    return a.category == MT_CAT_COMPLEX ? mt_scalar_from_complex(a.v.c.re, -a.v.c.im) : a;
}

static inline mt_scalar mt_scalar_add(mt_scalar a, mt_scalar b)
{
    if (a.category == MT_CAT_COMPLEX || b.category == MT_CAT_COMPLEX) {
        mt_c128 x = mt_scalar_to_complex(a), y = mt_scalar_to_complex(b);

        return mt_scalar_from_complex(x.re + y.re, x.im + y.im);
    }
    if (a.category == MT_CAT_FLOAT || b.category == MT_CAT_FLOAT)
        return mt_scalar_from_double(mt_scalar_to_double(a) + mt_scalar_to_double(b));
    return mt_scalar_from_int((int64_t)((uint64_t)a.v.i + (uint64_t)b.v.i));
}

static inline mt_scalar mt_scalar_sub(mt_scalar a, mt_scalar b)
{
    return mt_scalar_add(a, mt_scalar_neg(b));
}

static inline mt_scalar mt_scalar_mul(mt_scalar a, mt_scalar b)
{
    if (a.category == MT_CAT_COMPLEX || b.category == MT_CAT_COMPLEX) {
        mt_c128 x = mt_scalar_to_complex(a), y = mt_scalar_to_complex(b);

        return mt_scalar_from_complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);
    }
    if (a.category == MT_CAT_FLOAT || b.category == MT_CAT_FLOAT)
        return mt_scalar_from_double(mt_scalar_to_double(a) * mt_scalar_to_double(b));
    return mt_scalar_from_int((int64_t)((uint64_t)a.v.i * (uint64_t)b.v.i));
}

/* True division: integers give a float. */
static inline mt_scalar mt_scalar_div(mt_scalar a, mt_scalar b)
{
    if (a.category == MT_CAT_COMPLEX || b.category == MT_CAT_COMPLEX) {
        mt_c128 x = mt_scalar_to_complex(a), y = mt_scalar_to_complex(b);
        double square = y.re * y.re + y.im * y.im;

        return mt_scalar_from_complex((x.re * y.re + x.im * y.im) / square, (x.im * y.re - x.re * y.im) / square);
    }
    return mt_scalar_from_double(mt_scalar_to_double(a) / mt_scalar_to_double(b));
}

/* A negative number has a logarithm among the complex ones only. */
static inline mt_scalar mt_scalar_log(mt_scalar a)
{
    if (a.category == MT_CAT_COMPLEX)
        return mt_scalar_from_complex(log(hypot(a.v.c.re, a.v.c.im)), atan2(a.v.c.im, a.v.c.re));
    return mt_scalar_from_double(log(mt_scalar_to_double(a)));
}

static inline bool mt_scalar_equal(mt_scalar a, mt_scalar b)
{
    mt_c128 x, y;

    if (a.category <= MT_CAT_INT && b.category <= MT_CAT_INT)
        return a.v.i == b.v.i && a.is_unsigned == b.is_unsigned;
    x = mt_scalar_to_complex(a);
    y = mt_scalar_to_complex(b);
    return x.re == y.re && x.im == y.im;
}

static inline bool mt_scalar_is_complex(mt_scalar a)
{
    return a.category == MT_CAT_COMPLEX;
}

/* --- integers --- */

static inline int64_t mt_int_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t mt_int_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t mt_int_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* Floor division and its remainder, as in Python. */
static inline int mt_int_floordiv(int64_t *out, int64_t a, int64_t b)
{
    if (b == 0)
        return mt_error_set(MT_ERR_RUNTIME, "ZeroDivisionError");
    if (b == -1)
        *out = mt_int_sub(0, a);
    else
        *out = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return 0;
}

static inline int mt_int_mod(int64_t *out, int64_t a, int64_t b)
{
    if (b == 0)
        return mt_error_set(MT_ERR_RUNTIME, "ZeroDivisionError");
    *out = b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return 0;
}

/* --- lists --- */

/* Element i, counted from the end when negative. */
static inline int mt_ints_at(int64_t *out, mt_ints list, int64_t i)
{
    if (i < -(int64_t)list.n || i >= list.n || list.n <= 0)
        return mt_error_set(MT_ERR_INDEX, "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                            list.n > 0 ? -list.n : -1, list.n > 0 ? list.n - 1 : 0, (long long)i);
    *out = list.data[i < 0 ? i + list.n : i];
    return 0;
}

static inline int mt_floats_at(double *out, mt_floats list, int64_t i)
{
    if (i < -(int64_t)list.n || i >= list.n || list.n <= 0)
        return mt_error_set(MT_ERR_INDEX, "list index out of range");
    *out = list.data[i < 0 ? i + list.n : i];
    return 0;
}

static inline int mt_tensors_at(mt_tensor **out, mt_tensors list, int64_t i) /* borrowed */
{
    if (i < -(int64_t)list.n || i >= list.n || list.n <= 0)
        return mt_error_set(MT_ERR_INDEX, "list index out of range");
    *out = list.data[i < 0 ? i + list.n : i];
    return 0;
}

/* Product of sizes of an existing tensor, so it cannot overflow; 1 for an empty list. */
static inline int64_t mt_ints_product(mt_ints list)
{
    int64_t product = 1;

    for (int i = 0; i < list.n; i++)
        product *= list.data[i];
    return product;
}

static inline mt_ints mt_sizes_of(const mt_tensor *t)
{
    return (mt_ints){t->size, t->ndim};
}

static inline mt_ints mt_strides_of(const mt_tensor *t)
{
    return (mt_ints){t->stride, t->ndim};
}

static inline bool mt_ints_equal(mt_ints a, mt_ints b)
{
    return a.n == b.n && (a.n <= 0 || memcmp(a.data, b.data, (size_t)a.n * sizeof(*a.data)) == 0);
}

/* NULL (None) equals only itself. */
static inline bool mt_str_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

#endif
