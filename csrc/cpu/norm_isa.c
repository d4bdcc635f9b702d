/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes of normalisation at one ISA level: two instances of norm.tmpl.h. */
#include "cpu/norm.h"

#include <stddef.h>
#include <string.h>

#include "cpu/isa.h"
#include "cpu/matmul/simd.h"
#include "cpu/vec.h"
#include "math/dtype/common.h"

#define T float
#define S f32
#define V mt_vf32
#define LANES MT_SIMD_F32
#include "cpu/norm.tmpl.h"
#undef T
#undef S
#undef V
#undef LANES

#define T double
#define S f64
#define V mt_vf64
#define LANES MT_SIMD_F64
#include "cpu/norm.tmpl.h"
