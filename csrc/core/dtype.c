/* SPDX-License-Identifier: BSD-3-Clause */
/* Dtype traits and type promotion. Two dimensioned operands meet in the lattice of
   mt_dtype_promote; mixtures with 0-d tensors and Python numbers go through mt_promotion, in which
   a lower group counts only when its category is higher. The cast table is a pointer that cpu/isa.c
   sets. */
#include "core/dtype.h"

#include "core/dtype_table.h"

mt_cast_fn *const (*mt_cast_table)[MT_DTYPE_COUNT];

static mt_dtype default_dtype = MT_DTYPE_f32;

mt_dtype mt_default_dtype(void)
{
    return default_dtype;
}

void mt_set_default_dtype(mt_dtype d)
{
    default_dtype = d;
}

mt_dtype mt_default_complex_dtype(void)
{
    return mt_dtype_to_complex(default_dtype);
}

mt_dtype mt_dtype_to_real(mt_dtype d)
{
    return d == MT_DTYPE_c64 ? MT_DTYPE_f32 : d == MT_DTYPE_c128 ? MT_DTYPE_f64 : d;
}

mt_dtype mt_dtype_to_complex(mt_dtype d)
{
    switch (d) {
    case MT_DTYPE_f16:
    case MT_DTYPE_bf16:
    case MT_DTYPE_f32:
        return MT_DTYPE_c64;
    case MT_DTYPE_f64:
        return MT_DTYPE_c128;
    default:
        return d;
    }
}

mt_dtype mt_dtype_promote(mt_dtype a, mt_dtype b)
{
    mt_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == high)
        return a;
    if (low == MT_DTYPE_u8 && high == MT_DTYPE_i8)
        return MT_DTYPE_i16;
    if (low == MT_DTYPE_f16 && high == MT_DTYPE_bf16)
        return MT_DTYPE_f32;
    if (low == MT_DTYPE_f64 && high == MT_DTYPE_c64)
        return MT_DTYPE_c128;
    return high; /* the enumeration is ordered by category, then by width */
}

bool mt_dtype_can_cast(mt_dtype from, mt_dtype to)
{
    return mt_dtype_category(from) <= mt_dtype_category(to);
}

/* --- promotion over groups --- */

static uint8_t join(uint8_t a, uint8_t b)
{
    if (a == MT_DTYPE_NONE)
        return b;
    if (b == MT_DTYPE_NONE)
        return a;
    return (uint8_t)mt_dtype_promote((mt_dtype)a, (mt_dtype)b);
}

void mt_promotion_add(mt_promotion *p, mt_dtype dtype, int ndim, bool is_wrapped_number)
{
    if (is_wrapped_number && mt_dtype_is_complex(dtype))
        dtype = mt_default_complex_dtype();
    else if (is_wrapped_number && mt_dtype_is_float(dtype))
        dtype = mt_default_dtype();
    if (ndim > 0)
        p->dim_dtype = join(p->dim_dtype, (uint8_t)dtype);
    else if (is_wrapped_number)
        p->wrapped_dtype = join(p->wrapped_dtype, (uint8_t)dtype);
    else
        p->zero_dtype = join(p->zero_dtype, (uint8_t)dtype);
}

/* The dtype of a group after a group of lower priority had its say. */
static uint8_t outrank(uint8_t high, uint8_t low)
{
    mt_category high_category, low_category;

    if (high == MT_DTYPE_NONE || low == MT_DTYPE_NONE)
        return high == MT_DTYPE_NONE ? low : high;
    high_category = mt_dtype_category((mt_dtype)high);
    low_category = mt_dtype_category((mt_dtype)low);
    if (high_category >= low_category)
        return high;
    if (high_category == MT_CAT_FLOAT) /* below a complex number: keep the width */
        return (uint8_t)mt_dtype_to_complex((mt_dtype)high);
    return low;
}

mt_dtype mt_promotion_result(const mt_promotion *p)
{
    uint8_t d = outrank(p->dim_dtype, outrank(p->zero_dtype, p->wrapped_dtype));

    return d == MT_DTYPE_NONE ? mt_default_dtype() : (mt_dtype)d;
}
