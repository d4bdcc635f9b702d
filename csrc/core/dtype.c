/* SPDX-License-Identifier: BSD-3-Clause */
/* Dtype traits and type promotion. Two dimensioned operands meet in the lattice of
   mt_dtype_promote; mixtures with 0-d tensors and Python numbers go through mt_promotion, in which
   a lower group counts only when its category is higher. The cast table is a pointer that cpu/isa.c
   sets. */
#include "core/dtype.h"

#include "base/error.h"
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
    return d == MT_DTYPE_c64 ? MT_DTYPE_f32 : d == MT_DTYPE_c128 ? MT_DTYPE_f64 : d == MT_DTYPE_c32 ? MT_DTYPE_f16 : d;
}

mt_dtype mt_dtype_to_complex(mt_dtype d)
{
    switch (d) {
    case MT_DTYPE_f16:
        return MT_DTYPE_c32;
    case MT_DTYPE_bf16:
    case MT_DTYPE_f32:
        return MT_DTYPE_c64;
    case MT_DTYPE_f64:
        return MT_DTYPE_c128;
    default:
        return mt_dtype_is_complex(d) ? d : MT_DTYPE_NONE;
    }
}

/* Shells promote with few others: complex32 as the least of the complex dtypes, unsigned integers
   with floats that have loops. */
static mt_dtype promote_shell(mt_dtype low, mt_dtype high)
{
    if (high == MT_DTYPE_c32 && mt_dtype_is_complex(low))
        return low;
    if (high == MT_DTYPE_c32 && low < MT_DTYPE_LOOPS)
        return mt_dtype_is_float(low) ? mt_dtype_to_complex(low) : MT_DTYPE_c32;
    if (high <= MT_DTYPE_u64 && low < MT_DTYPE_LOOPS && mt_dtype_is_float(low))
        return low;
    return MT_DTYPE_NONE;
}

mt_dtype mt_dtype_promote(mt_dtype a, mt_dtype b)
{
    mt_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == high)
        return a;
    if (MT_UNLIKELY(mt_dtype_is_shell(high)))
        return promote_shell(low, high);
    if (low == MT_DTYPE_u8 && high == MT_DTYPE_i8)
        return MT_DTYPE_i16;
    if (low == MT_DTYPE_f16 && high == MT_DTYPE_bf16)
        return MT_DTYPE_f32;
    if (low == MT_DTYPE_f64 && high == MT_DTYPE_c64)
        return MT_DTYPE_c128;
    return high; /* the enumeration is ordered by category, then by width */
}

int mt_dtype_refuse_promotion(mt_dtype a, mt_dtype b)
{
    mt_dtype high = a > b ? a : b;
    const char *kinds = high == MT_DTYPE_f4e2m1fnx2 ? "Float4 Types"
                        : high >= MT_DTYPE_f8e4m3fn ? "Float8 Types"
                                                    : "uint16, uint32, uint64 types";

    return mt_error_set(MT_ERR_RUNTIME, "Promotion for %s is not supported, attempted to promote %s and %s", kinds,
                        mt_dtype_table[a].legacy, mt_dtype_table[b].legacy);
}

int mt_dtype_refuse_complex(mt_dtype d)
{
    return mt_error_set(MT_ERR_RUNTIME, "Unknown Complex ScalarType for %s", mt_dtype_table[d].legacy);
}

bool mt_dtype_can_cast(mt_dtype from, mt_dtype to)
{
    return mt_dtype_category(from) <= mt_dtype_category(to);
}

/* --- promotion over groups --- */

static uint8_t join(mt_promotion *p, uint8_t a, uint8_t b)
{
    mt_dtype d;

    if (a == MT_DTYPE_NONE)
        return b;
    if (b == MT_DTYPE_NONE)
        return a;
    d = mt_dtype_promote((mt_dtype)a, (mt_dtype)b);
    if (MT_UNLIKELY(d == MT_DTYPE_NONE)) {
        if (p->refused[0] == MT_DTYPE_NONE) {
            p->refused[0] = a;
            p->refused[1] = b;
        }
        return a;
    }
    return (uint8_t)d;
}

void mt_promotion_add(mt_promotion *p, mt_dtype dtype, int ndim, bool is_wrapped_number)
{
    if (is_wrapped_number && mt_dtype_is_complex(dtype))
        dtype = mt_default_complex_dtype();
    else if (is_wrapped_number && mt_dtype_is_float(dtype))
        dtype = mt_default_dtype();
    if (ndim > 0)
        p->dim_dtype = join(p, p->dim_dtype, (uint8_t)dtype);
    else if (is_wrapped_number)
        p->wrapped_dtype = join(p, p->wrapped_dtype, (uint8_t)dtype);
    else
        p->zero_dtype = join(p, p->zero_dtype, (uint8_t)dtype);
}

/* The dtype of a group after a group of lower priority had its say; NONE: `high` has no complex dtype. */
static uint8_t outrank(mt_promotion *p, uint8_t high, uint8_t low)
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
    return low_category == MT_CAT_COMPLEX ? low : join(p, high, low);
}

int mt_promotion_result(mt_dtype *out, mt_promotion *p)
{
    uint8_t low = outrank(p, p->zero_dtype, p->wrapped_dtype), d = outrank(p, p->dim_dtype, low);
    bool is_empty = p->dim_dtype == MT_DTYPE_NONE && p->zero_dtype == MT_DTYPE_NONE;

    *out = d == MT_DTYPE_NONE ? mt_default_dtype() : (mt_dtype)d;
    if (MT_UNLIKELY(p->refused[0] != MT_DTYPE_NONE))
        return mt_dtype_refuse_promotion((mt_dtype)p->refused[0], (mt_dtype)p->refused[1]);
    if (MT_LIKELY(d != MT_DTYPE_NONE) || is_empty)
        return 0;
    return mt_dtype_refuse_complex((mt_dtype)(p->dim_dtype != MT_DTYPE_NONE ? p->dim_dtype : p->zero_dtype));
}
