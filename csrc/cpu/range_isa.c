/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of arange and linspace for every dtype, once per ISA level. All levels give the same points: where the machine
   has no fused multiply-add, the C library computes it. */
#include <math.h>
#include <stdint.h>

#include "cpu/isa.h"
#include "cpu/range.h"
#include "math/scalar.h"

#include "math/dtype/u8.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "cpu/range.tmpl.h"
#include "math/dtype/end.h"

typedef void points_fn(const mt_range *r, int64_t begin, int64_t end);

static points_fn *const arange_table[MT_DTYPE_COUNT] = {
    [MT_DTYPE_u8] = arange_u8,   [MT_DTYPE_i8] = arange_i8,     [MT_DTYPE_i16] = arange_i16,
    [MT_DTYPE_i32] = arange_i32, [MT_DTYPE_i64] = arange_i64,   [MT_DTYPE_f16] = arange_f16,
    [MT_DTYPE_f32] = arange_f32, [MT_DTYPE_bf16] = arange_bf16, [MT_DTYPE_f64] = arange_f64,
};
static points_fn *const linspace_table[MT_DTYPE_COUNT] = {
    [MT_DTYPE_u8] = linspace_u8,   [MT_DTYPE_i8] = linspace_i8,     [MT_DTYPE_i16] = linspace_i16,
    [MT_DTYPE_i32] = linspace_i32, [MT_DTYPE_i64] = linspace_i64,   [MT_DTYPE_f16] = linspace_f16,
    [MT_DTYPE_f32] = linspace_f32, [MT_DTYPE_bf16] = linspace_bf16, [MT_DTYPE_f64] = linspace_f64,
    [MT_DTYPE_c64] = linspace_c64, [MT_DTYPE_c128] = linspace_c128,
};

void MT_ISA_NAME(mt_arange_points)(void *range, int64_t begin, int64_t end)
{
    const mt_range *r = range;

    arange_table[r->dtype](r, begin, end);
}

void MT_ISA_NAME(mt_linspace_points)(void *range, int64_t begin, int64_t end)
{
    const mt_range *r = range;

    linspace_table[r->dtype](r, begin, end);
}
