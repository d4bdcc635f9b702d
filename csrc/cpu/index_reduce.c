/* SPDX-License-Identifier: BSD-3-Clause */
/* The combinations of index_reduce.tmpl.h for every dtype: sums with a factor, products, maxima and minima. */
#include "cpu/index_move.h"
#include "cpu/vec.h"
#include "math/binary.h"
#include "math/complex.h"

#define STEP add
#define COMBINE(a, b) FN(add)((a), (b), alpha)
#include "math/dtype/b8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#undef STEP
#undef COMBINE

#define STEP mul
#define COMBINE(a, b) FN(mul)((a), (b))
#include "math/dtype/b8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#undef STEP
#undef COMBINE

#define STEP max
#define COMBINE(a, b) FN(maximum)((a), (b))
#include "math/dtype/b8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#undef STEP
#undef COMBINE

#define STEP min
#define COMBINE(a, b) FN(minimum)((a), (b))
#include "math/dtype/b8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/index_reduce.tmpl.h"
#include "math/dtype/end.h"
#undef STEP
#undef COMBINE

/* Sums of shells, each step in the dtype that serves them. */
#define ADD_SHELL(token, wide, ctype, plus)                                                                       \
    static void add_at_##token(char *const *data, const int64_t *stride, int64_t n, const void *params)           \
    {                                                                                                             \
        const mt_index_params *p = params;                                                                        \
        mt_cast_fn *load = mt_cast_table[MT_DTYPE_##token][wide], *store = mt_cast_table[wide][MT_DTYPE_##token]; \
        ctype alpha, a, b;                                                                                        \
                                                                                                                  \
        load((char *)&alpha, 0, p->alpha, 0, 1);                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                         \
            int64_t v = *(const int64_t *)(const void *)(data[1] + i * stride[1]);                                \
            char *target = data[0] + i * stride[0] + (v + (v >> 63 & p->wrap)) * p->step;                         \
                                                                                                                  \
            load((char *)&a, 0, target, 0, 1);                                                                    \
            load((char *)&b, 0, data[2] + i * stride[2], 0, 1);                                                   \
            a = plus(a, b, alpha);                                                                                \
            store(target, 0, (const char *)&a, 0, 1);                                                             \
        }                                                                                                         \
    }
ADD_SHELL(c32, MT_DTYPE_c64, mt_c64, mt_add_c64)
ADD_SHELL(f8e4m3fn, MT_DTYPE_f32, float, mt_add_f32)
ADD_SHELL(f8e5m2, MT_DTYPE_f32, float, mt_add_f32)
ADD_SHELL(f8e4m3fnuz, MT_DTYPE_f32, float, mt_add_f32)
ADD_SHELL(f8e5m2fnuz, MT_DTYPE_f32, float, mt_add_f32)

mt_loop_fn *mt_index_loop(mt_index_op op, mt_dtype dtype)
{
    static mt_loop_fn *const loops[4][MT_DTYPE_COUNT] = {
        [MT_INDEX_ADD] =
            {
                [MT_DTYPE_b8] = add_at_b8,
                [MT_DTYPE_u8] = add_at_u8,
                [MT_DTYPE_i8] = add_at_i8,
                [MT_DTYPE_i16] = add_at_i16,
                [MT_DTYPE_i32] = add_at_i32,
                [MT_DTYPE_i64] = add_at_i64,
                [MT_DTYPE_f16] = add_at_f16,
                [MT_DTYPE_bf16] = add_at_bf16,
                [MT_DTYPE_f32] = add_at_f32,
                [MT_DTYPE_f64] = add_at_f64,
                [MT_DTYPE_c64] = add_at_c64,
                [MT_DTYPE_c128] = add_at_c128,
                [MT_DTYPE_c32] = add_at_c32,
                [MT_DTYPE_f8e4m3fn] = add_at_f8e4m3fn,
                [MT_DTYPE_f8e5m2] = add_at_f8e5m2,
                [MT_DTYPE_f8e4m3fnuz] = add_at_f8e4m3fnuz,
                [MT_DTYPE_f8e5m2fnuz] = add_at_f8e5m2fnuz,
            },
        [MT_INDEX_MUL] =
            {
                [MT_DTYPE_b8] = mul_at_b8,
                [MT_DTYPE_u8] = mul_at_u8,
                [MT_DTYPE_i8] = mul_at_i8,
                [MT_DTYPE_i16] = mul_at_i16,
                [MT_DTYPE_i32] = mul_at_i32,
                [MT_DTYPE_i64] = mul_at_i64,
                [MT_DTYPE_f16] = mul_at_f16,
                [MT_DTYPE_bf16] = mul_at_bf16,
                [MT_DTYPE_f32] = mul_at_f32,
                [MT_DTYPE_f64] = mul_at_f64,
                [MT_DTYPE_c64] = mul_at_c64,
                [MT_DTYPE_c128] = mul_at_c128,
            },
        [MT_INDEX_MAX] =
            {
                [MT_DTYPE_b8] = max_at_b8,
                [MT_DTYPE_u8] = max_at_u8,
                [MT_DTYPE_i8] = max_at_i8,
                [MT_DTYPE_i16] = max_at_i16,
                [MT_DTYPE_i32] = max_at_i32,
                [MT_DTYPE_i64] = max_at_i64,
                [MT_DTYPE_f16] = max_at_f16,
                [MT_DTYPE_bf16] = max_at_bf16,
                [MT_DTYPE_f32] = max_at_f32,
                [MT_DTYPE_f64] = max_at_f64,
            },
        [MT_INDEX_MIN] =
            {
                [MT_DTYPE_b8] = min_at_b8,
                [MT_DTYPE_u8] = min_at_u8,
                [MT_DTYPE_i8] = min_at_i8,
                [MT_DTYPE_i16] = min_at_i16,
                [MT_DTYPE_i32] = min_at_i32,
                [MT_DTYPE_i64] = min_at_i64,
                [MT_DTYPE_f16] = min_at_f16,
                [MT_DTYPE_bf16] = min_at_bf16,
                [MT_DTYPE_f32] = min_at_f32,
                [MT_DTYPE_f64] = min_at_f64,
            },
    };

    return loops[op][dtype];
}

int mt_index_set_alpha(mt_index_params *params, mt_dtype dtype, mt_scalar alpha)
{
    mt_dtype compute = dtype == MT_DTYPE_f16 || dtype == MT_DTYPE_bf16 ? MT_DTYPE_f32 : dtype;

    return mt_scalar_store_checked(params->alpha, compute, alpha);
}
