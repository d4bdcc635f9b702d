/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a reduction, made by reduce_plan.c (dtypes, shape, checks, outputs) and carried out
   by reduce.c. */
#ifndef MT_OPS_REDUCE_INTERNAL_H
#define MT_OPS_REDUCE_INTERNAL_H

#include "ops/meta.h"

typedef struct mt_reduce_plan {
    const mt_tensor *self;
    bool is_reduced[MT_MAX_DIM]; /* by dim of self */
    bool has_dims;               /* some dims were named */
    bool keepdim;
    mt_dtype row;  /* the dtype asked for, or that of self */
    mt_dtype loop; /* dtype in which elements are read; self is cast to it first */
    int n_outs;
    mt_dtype natural[2]; /* what the loop writes */
    mt_dtype result[2];  /* what the caller gets */
    mt_shape shape;      /* of every output */
    int64_t count;       /* elements reduced into each output */
    double params[MT_MAX_PARAMS];
} mt_reduce_plan;

/* Everything but the outputs; errors for dims, dtypes and empty input. */
int mt_reduce_plan_make(mt_reduce_plan *p, const mt_call *call);
/* Allocates or checks all outputs. */
int mt_reduce_plan_outputs(mt_call *call, const mt_reduce_plan *p);

#endif
