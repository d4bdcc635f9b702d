/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all conversions: those among the dtypes that have loops come from cast_isa.c, those from
   and to shells are made here. A shell has one conversion of its own in each direction, to and from the
   least dtype that holds its values (uint64: two); every other partner is reached through that one, block
   by block. Nothing here depends on the ISA level. */
#include <string.h>

#include "cpu/isa.h"
#include "math/float8.h"
#include "math/scalar.h"

enum { BLOCK = 256 };

static mt_cast_fn *const two_steps[MT_DTYPE_COUNT][MT_DTYPE_COUNT];
static mt_cast_fn *table[MT_DTYPE_COUNT][MT_DTYPE_COUNT];

/* --- one step --- */

#define STEP(from, from_type, to, to_type, expression)                                                     \
    static void from##_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) \
    {                                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                  \
            from_type v;                                                                                   \
            to_type result;                                                                                \
                                                                                                           \
            memcpy(&v, src + i * src_stride, sizeof(v));                                                   \
            result = (to_type)(expression);                                                                \
            memcpy(dst + i * dst_stride, &result, sizeof(result));                                         \
        }                                                                                                  \
    }
STEP(u16, uint16_t, i32, int32_t, v)
STEP(i32, int32_t, u16, uint16_t, v)
STEP(u32, uint32_t, i64, int64_t, v)
STEP(i64, int64_t, u32, uint32_t, v)
STEP(u64, uint64_t, f32, float, v)
STEP(u64, uint64_t, f64, double, v)
STEP(f64, double, u64, uint64_t, mt_f64_to_u64(v))
STEP(bytes1, uint8_t, bytes1, uint8_t, v)
STEP(bytes2, uint16_t, bytes2, uint16_t, v)
STEP(bytes4, uint32_t, bytes4, uint32_t, v)
STEP(bytes8, uint64_t, bytes8, uint64_t, v)

#define FLOAT8(token)                                        \
    STEP(token, uint8_t, f32, float, mt_##token##_to_f32(v)) \
    STEP(f32, float, token, uint8_t, mt_f32_to_##token(v))
FLOAT8(f8e4m3fn)
FLOAT8(f8e5m2)
FLOAT8(f8e4m3fnuz)
FLOAT8(f8e5m2fnuz)
FLOAT8(f8e8m0fnu)

static void c32_c64(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        mt_c32 v;
        mt_c64 result;

        memcpy(&v, src + i * src_stride, sizeof(v));
        result.re = mt_f16_to_f32(v.re);
        result.im = mt_f16_to_f32(v.im);
        memcpy(dst + i * dst_stride, &result, sizeof(result));
    }
}

static void c64_c32(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        mt_c64 v;
        mt_c32 result;

        memcpy(&v, src + i * src_stride, sizeof(v));
        result.re = mt_f32_to_f16(v.re);
        result.im = mt_f32_to_f16(v.im);
        memcpy(dst + i * dst_stride, &result, sizeof(result));
    }
}

#define BOTH(shell, middle)                                   \
    {MT_DTYPE_##shell, MT_DTYPE_##middle, shell##_##middle},  \
    {                                                         \
        MT_DTYPE_##middle, MT_DTYPE_##shell, middle##_##shell \
    }
#define SAME(shell, size) {MT_DTYPE_##shell, MT_DTYPE_##shell, size##_##size}
static const struct {
    uint8_t from, to;
    mt_cast_fn *cast;
} steps[] = {
    BOTH(u16, i32),
    BOTH(u32, i64),
    BOTH(u64, f64),
    {MT_DTYPE_u64, MT_DTYPE_f32, u64_f32},
    {MT_DTYPE_u64, MT_DTYPE_i64, bytes8_bytes8},
    {MT_DTYPE_i64, MT_DTYPE_u64, bytes8_bytes8},
    BOTH(c32, c64),
    BOTH(f8e4m3fn, f32),
    BOTH(f8e5m2, f32),
    BOTH(f8e4m3fnuz, f32),
    BOTH(f8e5m2fnuz, f32),
    BOTH(f8e8m0fnu, f32),
    SAME(u16, bytes2),
    SAME(u32, bytes4),
    SAME(u64, bytes8),
    SAME(c32, bytes4),
    SAME(f8e4m3fn, bytes1),
    SAME(f8e5m2, bytes1),
    SAME(f8e4m3fnuz, bytes1),
    SAME(f8e5m2fnuz, bytes1),
    SAME(f8e8m0fnu, bytes1),
    SAME(f4e2m1fnx2, bytes1),
};

/* --- two steps --- */

/* What stands between a shell and another dtype. uint64 goes to the floats it is rounded to at once. */
static mt_dtype middle_of(mt_dtype shell, mt_dtype other, bool is_source)
{
    bool is_wide = other == MT_DTYPE_f64 || other == MT_DTYPE_c128;

    switch (shell) {
    case MT_DTYPE_u16:
        return MT_DTYPE_i32;
    case MT_DTYPE_u32:
        return MT_DTYPE_i64;
    case MT_DTYPE_u64:
        if (mt_dtype_category(other) <= MT_CAT_INT)
            return MT_DTYPE_i64;
        return is_wide || !is_source ? MT_DTYPE_f64 : MT_DTYPE_f32;
    case MT_DTYPE_c32:
        return MT_DTYPE_c64;
    default:
        return MT_DTYPE_f32;
    }
}

static void convert(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, mt_dtype from,
                    mt_dtype to)
{
    MT_ALIGNED(64) char block[BLOCK * 16];
    mt_dtype middle = mt_dtype_is_shell(to) ? middle_of(to, from, false) : middle_of(from, to, true);
    int64_t size = (int64_t)mt_dtype_size(middle);

    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t m = n - done < BLOCK ? n - done : BLOCK;

        table[from][middle](block, size, src + done * src_stride, src_stride, m);
        table[middle][to](dst + done * dst_stride, dst_stride, block, size, m);
    }
}

#define PAIR(from, to)                                                                                        \
    static void from##_to_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) \
    {                                                                                                         \
        convert(dst, dst_stride, src, src_stride, n, MT_DTYPE_##from, MT_DTYPE_##to);                         \
    }
#define PLACE(from, to) [MT_DTYPE_##from][MT_DTYPE_##to] = from##_to_##to,
#define EACH_LOOP(apply, shell)                                                                                       \
    apply(shell, b8) apply(shell, u8) apply(shell, i8) apply(shell, i16) apply(shell, i32) apply(shell, i64)          \
        apply(shell, f16) apply(shell, bf16) apply(shell, f32) apply(shell, f64) apply(shell, c64) apply(shell, c128) \
            apply(b8, shell) apply(u8, shell) apply(i8, shell) apply(i16, shell) apply(i32, shell) apply(i64, shell)  \
                apply(f16, shell) apply(bf16, shell) apply(f32, shell) apply(f64, shell) apply(c64, shell)            \
                    apply(c128, shell)
#define EACH_SHELL(apply, shell)                                                                   \
    apply(shell, u16) apply(shell, u32) apply(shell, u64) apply(shell, c32) apply(shell, f8e4m3fn) \
        apply(shell, f8e5m2) apply(shell, f8e4m3fnuz) apply(shell, f8e5m2fnuz) apply(shell, f8e8m0fnu)
#define EACH(apply, shell) EACH_LOOP(apply, shell) EACH_SHELL(apply, shell)
/* clang-format off */
#define EACH_PAIR(apply)                                            \
    EACH(apply, u16) EACH(apply, u32) EACH(apply, u64)              \
    EACH(apply, c32) EACH(apply, f8e4m3fn) EACH(apply, f8e5m2)      \
    EACH(apply, f8e4m3fnuz) EACH(apply, f8e5m2fnuz) EACH(apply, f8e8m0fnu)
/* clang-format on */

EACH_PAIR(PAIR)

static mt_cast_fn *const two_steps[MT_DTYPE_COUNT][MT_DTYPE_COUNT] = {EACH_PAIR(PLACE)};

void mt_cpu_use_casts(const mt_cast_row *casts)
{
    for (int from = 0; from < MT_DTYPE_COUNT; from++)
        for (int to = 0; to < MT_DTYPE_COUNT; to++)
            table[from][to] = from < MT_DTYPE_LOOPS && to < MT_DTYPE_LOOPS ? casts[from][to] : two_steps[from][to];
    for (size_t i = 0; i < MT_COUNTOF(steps); i++)
        table[steps[i].from][steps[i].to] = steps[i].cast;
    mt_cast_table = (mt_cast_fn *const(*)[MT_DTYPE_COUNT])table;
}
