/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of normalisation for float32 and float64, once per ISA level. See norm.h for what they compute and
   norm.tmpl.h for how. */
#include <math.h>
#include <string.h>

#include "cpu/isa.h"
#include "cpu/norm.h"
#include "cpu/vec.h"

#if defined(__AVX512F__)
#define MT_NORM_VEC_BYTES 64
#elif defined(__AVX__)
#define MT_NORM_VEC_BYTES 32
#else
#define MT_NORM_VEC_BYTES 16
#endif
#define MT_NORM_BLOCK 4096 /* elements summed in lanes */
#define MT_NORM_TILE 256   /* channels at a time */
#define MT_NORM_ROWS 64    /* rows summed in lanes */
#define MT_NORM_PASTE(stem, s) MT_NORM_PASTE_TOKENS(stem, s)
#define MT_NORM_PASTE_TOKENS(stem, s) stem##_##s
#if defined(__clang__)
#define MT_NORM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MT_NORM_UNROLL _Pragma("GCC unroll 16")
#endif

#include "math/dtype/f32.h"
#include "cpu/norm.tmpl.h"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cpu/norm.tmpl.h"
#include "math/dtype/end.h"

const mt_norm_loops *MT_ISA_NAME(mt_norm_loops_of)(mt_dtype dtype)
{
    return dtype == MT_DTYPE_f64 ? &norm_loops_f64 : &norm_loops_f32;
}
