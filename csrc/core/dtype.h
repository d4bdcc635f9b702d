/* SPDX-License-Identifier: BSD-3-Clause */
/* Dtypes: traits, promotion lattice, casts. */
#ifndef MT_CORE_DTYPE_H
#define MT_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mt_c32 {
    uint16_t re, im; /* bits of float16 */
} mt_c32;
typedef struct mt_c64 {
    float re, im;
} mt_c64;
typedef struct mt_c128 {
    double re, im;
} mt_c128;

typedef enum mt_dtype {
#define MT_DTYPE(token, ...) MT_DTYPE_##token,
#include "core/dtypes.def"
#undef MT_DTYPE
    MT_DTYPE_COUNT,
    MT_DTYPE_LOOPS = MT_DTYPE_c128 + 1, /* from here on: shells, without loops of their own */
    MT_DTYPE_NONE = 255                 /* "not given" */
} mt_dtype;

typedef enum mt_category { MT_CAT_BOOL, MT_CAT_INT, MT_CAT_FLOAT, MT_CAT_COMPLEX } mt_category;

typedef struct mt_dtype_traits {
    const char *name;    /* "float32" */
    const char *legacy;  /* "Float" */
    const char *element; /* "float": as PyTorch's messages name the type of an element */
    uint8_t itemsize;
    uint8_t category; /* mt_category */
    bool is_signed;
    uint8_t loop; /* mt_dtype whose loops serve it: its own, but of a shell */
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

static inline bool mt_dtype_is_shell(mt_dtype d)
{
    return d >= MT_DTYPE_LOOPS;
}

/* A shell whose elements its loop dtype reads as they are: unsigned integers, and float4, of which only
   equality can be asked. The elements of others are cast. */
static inline bool mt_dtype_shares_bits(mt_dtype d)
{
    return mt_dtype_category(d) == MT_CAT_INT || d == MT_DTYPE_f4e2m1fnx2;
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

/* c32 -> f16, c64 -> f32, c128 -> f64, others unchanged; and back (bf16 -> c64; NONE: it has no complex dtype). */
mt_dtype mt_dtype_to_real(mt_dtype d);
mt_dtype mt_dtype_to_complex(mt_dtype d);
/* The lattice of two dimensioned operands; NONE when the two have no common dtype, for which
   mt_dtype_refuse_promotion words the error (-1). */
mt_dtype mt_dtype_promote(mt_dtype a, mt_dtype b);
int mt_dtype_refuse_promotion(mt_dtype a, mt_dtype b);
int mt_dtype_refuse_complex(mt_dtype d);
/* False only when going to a lower category (complex -> float -> int -> bool). */
bool mt_dtype_can_cast(mt_dtype from, mt_dtype to);

mt_dtype mt_default_dtype(void);       /* f32 at start; one per process */
void mt_set_default_dtype(mt_dtype d); /* a float dtype */
mt_dtype mt_default_complex_dtype(void);

/* State of a promotion over operands of the three priority groups (dimensioned tensors, 0-d
   tensors, wrapped numbers). Start from MT_PROMOTION_INIT. */
typedef struct mt_promotion {
    uint8_t dim_dtype, zero_dtype, wrapped_dtype; /* MT_DTYPE_NONE when the group is empty */
    uint8_t refused[2];                           /* the first pair without a common dtype, else NONE */
} mt_promotion;
#define MT_PROMOTION_INIT                            \
    {                                                \
        MT_DTYPE_NONE, MT_DTYPE_NONE, MT_DTYPE_NONE, \
        {                                            \
            MT_DTYPE_NONE, MT_DTYPE_NONE             \
        }                                            \
    }
void mt_promotion_add(mt_promotion *p, mt_dtype dtype, int ndim, bool is_wrapped_number);
/* The default float when all groups are empty; -1 with an error when there is no common dtype. */
int mt_promotion_result(mt_dtype *out, mt_promotion *p);

/* Converts n elements with byte strides between any two dtypes, with C's rules made defined: float
   to int truncates (NaN and out-of-range as x86 does), anything to bool is != 0, complex to real
   drops the imaginary part, to floats of 8 and 16 bits rounds to nearest even. Set up by cpu/cast.
   Elements of float4_e2m1fn_x2 are only copied: mt_cast_exists says so before anything is done. */
typedef void mt_cast_fn(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n);
extern mt_cast_fn *const (*mt_cast_table)[MT_DTYPE_COUNT]; /* [from][to] */

static inline bool mt_cast_exists(mt_dtype from, mt_dtype to)
{
    return from == to || (from != MT_DTYPE_f4e2m1fnx2 && to != MT_DTYPE_f4e2m1fnx2);
}

#endif
