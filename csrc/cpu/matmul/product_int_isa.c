/* SPDX-License-Identifier: BSD-3-Clause */
/* Integer matrix products at one ISA level: two instances of product_int.tmpl.h. Compilers find the multiplications
   of vectors by themselves. */
#include "cpu/matmul/product.h"

#include <string.h>

#include "base/macros.h"
#include "cpu/isa.h"
#include "cpu/matmul/simd.h"
#include "math/dtype/common.h"

typedef uint32_t vec_u32 __attribute__((vector_size(MT_SIMD_BYTES)));
typedef uint64_t vec_u64 __attribute__((vector_size(MT_SIMD_BYTES)));

#define U uint32_t
#define S u32
#define V vec_u32
#define LANES (MT_SIMD_BYTES / 4)
#include "cpu/matmul/product_int.tmpl.h"
#undef U
#undef S
#undef V
#undef LANES

#define U uint64_t
#define S u64
#define V vec_u64
#define LANES (MT_SIMD_BYTES / 8)
#include "cpu/matmul/product_int.tmpl.h"
