/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between any two dtypes that have loops, one table per ISA level. Each pair of the ten computing dtypes
   has a contiguous kernel that the compiler vectorises; float16 and bfloat16 convert to and from
   float, other partners in two steps through a small buffer, and strided operands are gathered and
   scattered around the kernels. Rules: floating point to integer truncates, out of range as x86
   does; to uint8 through 64 bits (PyTorch wraps there); to bool is != 0; complex to real drops the
   imaginary part; to half formats rounds to nearest even. */
#include <string.h>

#include "cpu/cpu_internal.h"
#include "cpu/isa.h"
#include "cpu/vec.h"
#include "math/cast.h"
#include "math/scalar.h"

#define BUFFER_BYTES 4096

typedef void cast_kernel(char *dst, const char *src, int64_t n);

/* --- kernels of the pairs among the ten --- */

#define KERNEL(from, from_type, to, to_type, expression)           \
    static void from##_##to(char *dst, const char *src, int64_t n) \
    {                                                              \
        to_type *d = (to_type *)(void *)dst;                       \
        const from_type *s = (const from_type *)(const void *)src; \
                                                                   \
        MT_IVDEP                                                   \
        for (int64_t i = 0; i < n; i++)                            \
            d[i] = expression;                                     \
    }

#define FROM_REAL(from, from_type, kind, read)                                 \
    KERNEL(from, from_type, b8, uint8_t, mt_cast_##kind##_to_b8(read(s[i])))   \
    KERNEL(from, from_type, u8, uint8_t, mt_cast_##kind##_to_u8(read(s[i])))   \
    KERNEL(from, from_type, i8, int8_t, mt_cast_##kind##_to_i8(read(s[i])))    \
    KERNEL(from, from_type, i16, int16_t, mt_cast_##kind##_to_i16(read(s[i]))) \
    KERNEL(from, from_type, i32, int32_t, mt_cast_##kind##_to_i32(read(s[i]))) \
    KERNEL(from, from_type, i64, int64_t, mt_cast_##kind##_to_i64(read(s[i]))) \
    KERNEL(from, from_type, f32, float, mt_cast_##kind##_to_f32(read(s[i])))   \
    KERNEL(from, from_type, f64, double, mt_cast_##kind##_to_f64(read(s[i])))  \
    KERNEL(from, from_type, c64, mt_c64, mt_cast_##kind##_to_c64(read(s[i])))  \
    KERNEL(from, from_type, c128, mt_c128, mt_cast_##kind##_to_c128(read(s[i])))
#define AS_IS(value) (value)
#define AS_BOOL(value) ((value) != 0)
FROM_REAL(b8, uint8_t, s, AS_BOOL)
FROM_REAL(u8, uint8_t, s, AS_IS)
FROM_REAL(i8, int8_t, s, AS_IS)
FROM_REAL(i16, int16_t, s, AS_IS)
FROM_REAL(i32, int32_t, s, AS_IS)
FROM_REAL(i64, int64_t, i, AS_IS)
FROM_REAL(f32, float, f, AS_IS)
FROM_REAL(f64, double, d, AS_IS)

#define FROM_COMPLEX(from, from_type, kind)                                          \
    KERNEL(from, from_type, b8, uint8_t, (s[i].re != 0) | (s[i].im != 0))            \
    KERNEL(from, from_type, u8, uint8_t, mt_cast_##kind##_to_u8(s[i].re))            \
    KERNEL(from, from_type, i8, int8_t, mt_cast_##kind##_to_i8(s[i].re))             \
    KERNEL(from, from_type, i16, int16_t, mt_cast_##kind##_to_i16(s[i].re))          \
    KERNEL(from, from_type, i32, int32_t, mt_cast_##kind##_to_i32(s[i].re))          \
    KERNEL(from, from_type, i64, int64_t, mt_cast_##kind##_to_i64(s[i].re))          \
    KERNEL(from, from_type, f32, float, (float)s[i].re)                              \
    KERNEL(from, from_type, f64, double, (double)s[i].re)                            \
    KERNEL(from, from_type, c64, mt_c64, ((mt_c64){(float)s[i].re, (float)s[i].im})) \
    KERNEL(from, from_type, c128, mt_c128, ((mt_c128){(double)s[i].re, (double)s[i].im}))
FROM_COMPLEX(c64, mt_c64, f)
FROM_COMPLEX(c128, mt_c128, d)

/* --- half formats, to and from float --- */

static void f16_f32(char *dst, const char *src, int64_t n)
{
    mt_vec_f16_to_f32((float *)(void *)dst, (const uint16_t *)(const void *)src, n);
}

static void f32_f16(char *dst, const char *src, int64_t n)
{
    mt_vec_f32_to_f16((uint16_t *)(void *)dst, (const float *)(const void *)src, n);
}

KERNEL(bf16, uint16_t, f32, float, mt_bf16_to_f32(s[i]))
KERNEL(f32, float, bf16, uint16_t, mt_f32_to_bf16(s[i]))

KERNEL(half, uint16_t, half, uint16_t, s[i])

/* --- any strides --- */

/* first alone, or first into floats and second from floats. */
static inline void run(cast_kernel *first, cast_kernel *second, int from_size, int to_size, char *dst,
                       int64_t dst_stride, const char *src, int64_t src_stride, int64_t n)
{
    MT_ALIGNED(64) char in[BUFFER_BYTES], middle[BUFFER_BYTES], out[BUFFER_BYTES];
    const int64_t block = BUFFER_BYTES / 16;
    bool src_direct = src_stride == from_size, dst_direct = dst_stride == to_size;

    if (src_direct && dst_direct && second == NULL) {
        first(dst, src, n);
        return;
    }
    for (int64_t done = 0; done < n; done += block) {
        int64_t m = n - done < block ? n - done : block;
        const char *s = src + done * src_stride;
        char *d = dst + done * dst_stride, *target = dst_direct ? d : out;

        if (!src_direct) {
            mt_cpu_collect(in, s, src_stride, m, from_size);
            s = in;
        }
        if (second) {
            first(middle, s, m);
            second(target, middle, m);
        } else {
            first(target, s, m);
        }
        if (!dst_direct)
            mt_cpu_spread(d, dst_stride, out, m, to_size);
    }
}

#define CAST(from, from_size, to, to_size, first, second)                                                         \
    static void cast_##from##_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) \
    {                                                                                                             \
        run(first, second, from_size, to_size, dst, dst_stride, src, src_stride, n);                              \
    }
#define TO_ALL(from, from_size)                     \
    CAST(from, from_size, b8, 1, from##_b8, NULL)   \
    CAST(from, from_size, u8, 1, from##_u8, NULL)   \
    CAST(from, from_size, i8, 1, from##_i8, NULL)   \
    CAST(from, from_size, i16, 2, from##_i16, NULL) \
    CAST(from, from_size, i32, 4, from##_i32, NULL) \
    CAST(from, from_size, i64, 8, from##_i64, NULL) \
    CAST(from, from_size, f32, 4, from##_f32, NULL) \
    CAST(from, from_size, f64, 8, from##_f64, NULL) \
    CAST(from, from_size, c64, 8, from##_c64, NULL) \
    CAST(from, from_size, c128, 16, from##_c128, NULL)
#define TO_HALVES(from, from_size)                     \
    CAST(from, from_size, f16, 2, from##_f32, f32_f16) \
    CAST(from, from_size, bf16, 2, from##_f32, f32_bf16)
#define FROM_HALF(from)                        \
    CAST(from, 2, b8, 1, from##_f32, f32_b8)   \
    CAST(from, 2, u8, 1, from##_f32, f32_u8)   \
    CAST(from, 2, i8, 1, from##_f32, f32_i8)   \
    CAST(from, 2, i16, 2, from##_f32, f32_i16) \
    CAST(from, 2, i32, 4, from##_f32, f32_i32) \
    CAST(from, 2, i64, 8, from##_f32, f32_i64) \
    CAST(from, 2, f32, 4, from##_f32, NULL)    \
    CAST(from, 2, f64, 8, from##_f32, f32_f64) \
    CAST(from, 2, c64, 8, from##_f32, f32_c64) \
    CAST(from, 2, c128, 16, from##_f32, f32_c128)

TO_ALL(b8, 1)
TO_HALVES(b8, 1)
TO_ALL(u8, 1)
TO_HALVES(u8, 1)
TO_ALL(i8, 1)
TO_HALVES(i8, 1)
TO_ALL(i16, 2)
TO_HALVES(i16, 2)
TO_ALL(i32, 4)
TO_HALVES(i32, 4)
TO_ALL(i64, 8)
TO_HALVES(i64, 8)
TO_ALL(f64, 8)
TO_HALVES(f64, 8)
TO_ALL(c64, 8)
TO_HALVES(c64, 8)
TO_ALL(c128, 16)
TO_HALVES(c128, 16)
TO_ALL(f32, 4)
CAST(f32, 4, f16, 2, f32_f16, NULL)
CAST(f32, 4, bf16, 2, f32_bf16, NULL)
FROM_HALF(f16)
CAST(f16, 2, f16, 2, half_half, NULL)
CAST(f16, 2, bf16, 2, f16_f32, f32_bf16)
FROM_HALF(bf16)
CAST(bf16, 2, bf16, 2, half_half, NULL)
CAST(bf16, 2, f16, 2, bf16_f32, f32_f16)

#define ROW(from)                                                                    \
    {                                                                                \
        cast_##from##_b8,  cast_##from##_u8,  cast_##from##_i8,  cast_##from##_i16,  \
        cast_##from##_i32, cast_##from##_i64, cast_##from##_f16, cast_##from##_bf16, \
        cast_##from##_f32, cast_##from##_f64, cast_##from##_c64, cast_##from##_c128}
/* In the order of core/dtypes.def. */
mt_cast_fn *const MT_ISA_NAME(mt_casts)[MT_DTYPE_LOOPS][MT_DTYPE_LOOPS] = {
    ROW(b8),  ROW(u8),   ROW(i8),  ROW(i16), ROW(i32), ROW(i64),
    ROW(f16), ROW(bf16), ROW(f32), ROW(f64), ROW(c64), ROW(c128),
};
