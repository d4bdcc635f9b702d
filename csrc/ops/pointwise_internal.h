/* SPDX-License-Identifier: BSD-3-Clause */
/* What the three pointwise files share: the plan of a call (dtypes, shape, device) made by
   pointwise_plan.c and carried out by pointwise.c, and the direct call of a loop on contiguous
   memory used by pointwise.c and pointwise_fast.c. */
#ifndef MT_OPS_POINTWISE_INTERNAL_H
#define MT_OPS_POINTWISE_INTERNAL_H

#include "ops/meta.h"

enum { MT_POINTWISE_MAX_IN = 4 };

/* 16 bytes hold one element of any dtype. */
typedef struct mt_element {
    MT_ALIGNED(16) char bytes[16];
} mt_element;

typedef struct mt_pointwise_plan {
    int n_in;
    const mt_tensor *in[MT_POINTWISE_MAX_IN]; /* NULL: a number */
    mt_scalar number[MT_POINTWISE_MAX_IN];
    mt_device device;
    mt_dtype row;    /* the common dtype, which has or borrows a loop */
    mt_dtype loop;   /* dtype index of the loop: row, or what serves a shell */
    mt_dtype result; /* dtype of the result as promotion gives it */
    /* what the loop reads and writes, output first */
    uint8_t loop_dtype[1 + MT_POINTWISE_MAX_IN];
    /* a number that the dtype cannot hold is an error */
    bool numbers_must_fit;
    mt_shape shape;
} mt_pointwise_plan;

/* Operands, device, shape and dtypes of a call. */
int mt_pointwise_plan_make(mt_pointwise_plan *p, const mt_call *call);
/* Allocates or checks output 0. `cast_in_loop`: the given tensor may keep another dtype than the
   result; the iterator casts. Otherwise it is replaced by a temporary. */
int mt_pointwise_plan_output(mt_call *call, const mt_pointwise_plan *p, bool cast_in_loop);

/* The numbers of a loop: up to MT_MAX_PARAMS values of the compute type of `row`, checked as the op says against it or
   against `element`. args NULL: the defaults, which fit. */
typedef struct mt_loop_params {
    MT_ALIGNED(16) char bytes[MT_MAX_PARAMS * 16];
} mt_loop_params;
int mt_pointwise_params(mt_loop_params *out, const mt_op *op, const mt_value *args, mt_dtype row, mt_dtype element);
/* The type a loop computes in: float for half and bfloat16. */
static inline mt_dtype mt_compute_dtype(mt_dtype row)
{
    return row == MT_DTYPE_f16 || row == MT_DTYPE_bf16 ? MT_DTYPE_f32 : row;
}

/* Ops whose second operand, when it is a number or one element, enters half and bfloat16 arithmetic
   unrounded (add, sub, mul, div and its rounded forms). */
bool mt_pointwise_keeps_number(const mt_op *op);

/* Calls a loop on n elements in a row, in parallel when worth it. `pinned` are storages that must
   stay put meanwhile. */
void mt_pointwise_run_flat(mt_loop_fn *loop, int n_operands, char *const *data, const int64_t *stride, int64_t n,
                           const void *params, double ns_per_element);

/* Below this estimate (ns) nothing is pinned and nothing is split. */
#define MT_POINTWISE_SMALL_NS 20000.0

#endif
