/* SPDX-License-Identifier: BSD-3-Clause */
/* What the core lends to a backend that lives in a module of its own (_C_cuda): functions, and the tables to fill. The
   backend defines functions of the same names that go through this record (cuda/link.c), so its other files use the
   ordinary headers. */
#ifndef MT_CORE_BACKEND_H
#define MT_CORE_BACKEND_H

#include "core/op.h"

typedef struct mt_backend_api {
    size_t nbytes, n_ops; /* of this record; of the op table: a module of another build is refused */
#define MT_BACKEND_FN(result, name, params, args) result(*name) params;
#define MT_BACKEND_VOID(name, params, args) void(*name) params;
#include "core/backend.def"
#undef MT_BACKEND_FN
#undef MT_BACKEND_VOID
    int (*error_set)(mt_error_kind kind, const char *format, ...);
    /* filled by the backend */
    const mt_device_ops **device_table;
    mt_iter_runner **iter_runners;
    mt_reduce_runner **reduce_runners;
    const mt_loop_row *(*loop_tables)[MT_FAMILY_COUNT];
    const mt_reduce_row **reduce_tables;
    int (**assign_hook)(mt_tensor *dst, const mt_tensor *src, unsigned parts);
    mt_any_fn **cuda_kernels;
    /* read by it */
    const mt_op *op_table;
    mt_cast_fn *const (**cast_table)[MT_DTYPE_COUNT];
    const mt_wrapper_hooks *wrapper;
} mt_backend_api;
extern const mt_backend_api mt_backend;

#endif
