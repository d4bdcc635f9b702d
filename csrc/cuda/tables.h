/* SPDX-License-Identifier: BSD-3-Clause */
/* The generated tables of loops, reductions and kernels (cuda_tables.c). */
#ifndef MT_CUDA_TABLES_H
#define MT_CUDA_TABLES_H

#include "core/op.h"

/* loops: a table per family; kernels: by op id. */
void mt_cuda_tables_fill(const mt_loop_row **loops, const mt_reduce_row **reductions, mt_any_fn **kernels);

#endif
