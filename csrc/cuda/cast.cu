/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion between any two dtypes, and filling with a number: loops for every dtype of the result. */
#include "cuda/launch.cuh"
#include "math/cast.h"

#include "math/dtype/b8.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "cuda/cast.tmpl.cuh"
#include "math/dtype/end.h"

#define OP fill
#define N_IN 0
#define N_PARAMS 1
#include "math/dtype/b8.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/u8.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i8.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i16.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i32.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/i64.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f16.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/bf16.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f32.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/f64.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/c64.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#include "math/dtype/c128.h"
#include "cuda/loop_pointwise.tmpl.cuh"
#include "math/dtype/end.h"
#undef OP
#undef N_IN
#undef N_PARAMS

extern "C" {
/* By dtype of the result, in the order of core/dtypes.def; shells have none. */
mt_loop_fn *mt_cuda_cast_loops[MT_DTYPE_COUNT] = {
#define MT_DTYPE(token, ...) cast_##token,
#define MT_SHELL(token, ...) NULL,
#include "core/dtypes.def"
#undef MT_DTYPE
};
mt_loop_fn *mt_cuda_fill_loops[MT_DTYPE_COUNT] = {
#define MT_DTYPE(token, ...) fill_##token,
#define MT_SHELL(token, ...) NULL,
#include "core/dtypes.def"
#undef MT_DTYPE
};
}
