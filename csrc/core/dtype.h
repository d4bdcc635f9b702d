/* SPDX-License-Identifier: BSD-3-Clause */
/* Dtypes: traits, promotion lattice, casts. */
#ifndef MT_CORE_DTYPE_H
#define MT_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mt_c64 {
    float re, im;
} mt_c64;
typedef struct mt_c128 {
    double re, im;
} mt_c128;

typedef enum mt_dtype {
#define MT_DTYPE(token, name, ctype, size, category, legacy, element) MT_DTYPE_##token,
#include "core/dtypes.def"
#undef MT_DTYPE
    MT_DTYPE_COUNT,
    MT_DTYPE_NONE = 255 /* "not given" */
} mt_dtype;

typedef enum mt_category { MT_CAT_BOOL, MT_CAT_INT, MT_CAT_FLOAT, MT_CAT_COMPLEX } mt_category;

typedef struct mt_dtype_traits {
    const char *name;    /* "float32" */
    const char *legacy;  /* "Float" */
    const char *element; /* "float": as PyTorch's messages name the type of an element */
    uint8_t itemsize;
    uint8_t category; /* mt_category */
    bool is_signed;
} mt_dtype_traits;
extern const mt_dtype_traits mt_dtype_table[MT_DTYPE_COUNT];

static inline size_t mt_dtype_size(mt_dtype d)
{
    return mt_dtype_table[d].itemsize;
}

static inline mt_category mt_dtype_category(mt_dtype d)
{
    return (mt_category)mt_dtype_table[d].category;
}

static inline const char *mt_dtype_name(mt_dtype d)
{
    return mt_dtype_table[d].name;
}

static inline const char *mt_dtype_element(mt_dtype d)
{
    return mt_dtype_table[d].element;
}

static inline bool mt_dtype_is_integral(mt_dtype d, bool include_bool)
{
    return mt_dtype_category(d) == MT_CAT_INT || (include_bool && d == MT_DTYPE_b8);
}

static inline bool mt_dtype_is_float(mt_dtype d)
{
    return mt_dtype_category(d) == MT_CAT_FLOAT;
}

static inline bool mt_dtype_is_complex(mt_dtype d)
{
    return mt_dtype_category(d) == MT_CAT_COMPLEX;
}

static inline bool mt_dtype_is_differentiable(mt_dtype d)
{
    return mt_dtype_category(d) >= MT_CAT_FLOAT;
}

/* c64 -> f32, c128 -> f64, others unchanged; and back (f16, bf16 -> c64). */
mt_dtype mt_dtype_to_real(mt_dtype d);
mt_dtype mt_dtype_to_complex(mt_dtype d);
/* The lattice of two dimensioned operands. */
mt_dtype mt_dtype_promote(mt_dtype a, mt_dtype b);
/* False only when going to a lower category (complex -> float -> int -> bool). */
bool mt_dtype_can_cast(mt_dtype from, mt_dtype to);

mt_dtype mt_default_dtype(void);       /* f32 at start; one per process */
void mt_set_default_dtype(mt_dtype d); /* a float dtype */
mt_dtype mt_default_complex_dtype(void);

/* State of a promotion over operands of the three priority groups (dimensioned tensors, 0-d
   tensors, wrapped numbers). Start from MT_PROMOTION_INIT. */
typedef struct mt_promotion {
    uint8_t dim_dtype, zero_dtype, wrapped_dtype; /* MT_DTYPE_NONE when the group is empty */
} mt_promotion;
#define MT_PROMOTION_INIT {MT_DTYPE_NONE, MT_DTYPE_NONE, MT_DTYPE_NONE}
void mt_promotion_add(mt_promotion *p, mt_dtype dtype, int ndim, bool is_wrapped_number);
mt_dtype mt_promotion_result(const mt_promotion *p); /* default float when all empty */

/* Converts n elements with byte strides between any two dtypes, with C's rules made defined: float
   to int truncates (NaN and out-of-range as x86 does), anything to bool is != 0, complex to real
   drops the imaginary part, to half and bfloat16 rounds to nearest even. Set up by cpu/cast. */
typedef void mt_cast_fn(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);
extern mt_cast_fn *const (*mt_cast_table)[MT_DTYPE_COUNT]; /* [from][to] */

#endif
