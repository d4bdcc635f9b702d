/* SPDX-License-Identifier: BSD-3-Clause */
/* The seam between this module and the core: functions of the core, by their own names, through the record that it lends
   (core/backend.h); and the tables of the core, filled when there is a device. */
#include "cuda/link.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/backend.h"
#include "core/dtype_table.h"
#include "core/shape.h"
#include "cuda/copy.h"
#include "cuda/iterate.h"
#include "cuda/tables.h"
#include "ops.h"

static const mt_backend_api *core;
static const mt_loop_row *loop_tables[MT_FAMILY_COUNT];
static const mt_reduce_row *reduce_table;

mt_wrapper_hooks mt_wrapper;
mt_cast_fn *const (*mt_cast_table)[MT_DTYPE_COUNT];

#define MT_BACKEND_FN(result, name, params, args) \
    result name params                            \
    {                                             \
        return core->name args;                   \
    }
#define MT_BACKEND_VOID(name, params, args) \
    void name params                        \
    {                                       \
        core->name args;                    \
    }
#include "core/backend.def"
#undef MT_BACKEND_FN
#undef MT_BACKEND_VOID

int mt_error_set(mt_error_kind kind, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return core->error_set(kind, "%s", text);
}

const mt_op *mt_op_table_of(int id)
{
    return &core->op_table[id];
}

mt_loop_fn *mt_cuda_loop(const mt_pointwise_spec *spec, mt_dtype dtype)
{
    return mt_dtype_is_shell(dtype) ? NULL : loop_tables[spec->family][spec->row][dtype];
}

const mt_reduce_loops *mt_cuda_reduction(const mt_reduce_spec *spec, mt_dtype dtype)
{
    return mt_dtype_is_shell(dtype) ? NULL : reduce_table[spec->row][dtype];
}

int mt_cuda_attach(const mt_backend_api *api)
{
    if (api->nbytes != sizeof *api || api->n_ops != MT_OP_COUNT)
        return -1;
    core = api;
    mt_wrapper = *api->wrapper;
    mt_cast_table = *api->cast_table;
    if (mt_cuda_device_count() == 0)
        return 0;
    mt_cuda_tables_fill(loop_tables, &reduce_table, api->cuda_kernels);
    for (int family = 0; family < MT_FAMILY_COUNT; family++)
        api->loop_tables[MT_DEVICE_CUDA][family] = loop_tables[family];
    api->reduce_tables[MT_DEVICE_CUDA] = reduce_table;
    api->iter_runners[MT_DEVICE_CUDA] = mt_cuda_run_iter;
    api->reduce_runners[MT_DEVICE_CUDA] = mt_cuda_run_reduce;
    *api->assign_hook = mt_cuda_assign;
    api->device_table[MT_DEVICE_CUDA] = &mt_cuda_device_ops;
    return 0;
}
