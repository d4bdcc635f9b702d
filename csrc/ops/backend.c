/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of what the core lends to backends. */
#include "core/backend.h"

#include "core/shape.h"
#include "ops.h"

const mt_backend_api mt_backend = {
    .nbytes = sizeof(mt_backend_api),
    .n_ops = MT_OP_COUNT,
#define MT_BACKEND_FN(result, name, params, args) .name = name,
#define MT_BACKEND_VOID(name, params, args) .name = name,
#include "core/backend.def"
#undef MT_BACKEND_FN
#undef MT_BACKEND_VOID
    .error_set = mt_error_set,
    .op_table = mt_op_table,
    .device_table = mt_device_table,
    .iter_runners = mt_iter_runners,
    .reduce_runners = mt_reduce_runners,
    .loop_tables = mt_loop_tables,
    .reduce_tables = mt_reduce_tables,
    .assign_hook = &mt_tensor_assign_hook,
    .cuda_kernels = mt_cuda_kernels,
    .cast_table = &mt_cast_table,
    .wrapper = &mt_wrapper,
};
