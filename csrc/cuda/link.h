/* SPDX-License-Identifier: BSD-3-Clause */
/* What link.c knows beside the functions of the core: its op records, and the loops of this module. */
#ifndef MT_CUDA_LINK_H
#define MT_CUDA_LINK_H

#include "core/op.h"

const mt_op *mt_op_table_of(int id);
mt_loop_fn *mt_cuda_loop(const mt_pointwise_spec *spec, mt_dtype dtype);
const mt_reduce_loops *mt_cuda_reduction(const mt_reduce_spec *spec, mt_dtype dtype);

#endif
