/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of ops by name, in host code over the loops: filling and comparison of tensors. */
#include <string.h>

#include "core/shape.h"
#include "cuda/copy.h"
#include "cuda/iterate.h"
#include "cuda/link.h"
#include "ops.h"

static int run_fill(mt_tensor *self, mt_scalar value)
{
    static const mt_dtype compute[MT_DTYPE_LOOPS] = {
        MT_DTYPE_b8,  MT_DTYPE_u8,  MT_DTYPE_i8,  MT_DTYPE_i16, MT_DTYPE_i32, MT_DTYPE_i64,
        MT_DTYPE_f32, MT_DTYPE_f32, MT_DTYPE_f32, MT_DTYPE_f64, MT_DTYPE_c64, MT_DTYPE_c128,
    };
    MT_ALIGNED(16) char element[16];
    mt_iter it;
    int rc = -1;

    if (self->numel == 0)
        return 0;
    MT_REQUIRE(!mt_dtype_is_shell((mt_dtype)self->dtype), MT_ERR_NOT_IMPLEMENTED,
               "\"fill_cuda\" not implemented for '%s'", mt_dtype_table[self->dtype].legacy);
    mt_scalar_store(element, compute[self->dtype], value);
    MT_TRY(mt_iter_build(&it, &self, 1, 1, self->ndim, self->size));
    rc = mt_cuda_run_iter(&it, self->device, mt_cuda_fill_loops[self->dtype], element, sizeof element, it.dtype, 0);
fail:
    return rc;
}

int mt_cuda_fill_scalar(mt_tensor *self, mt_scalar value)
{
    MT_ALIGNED(16) char element[16];

    if (mt_scalar_store_checked(element, (mt_dtype)self->dtype, value) < 0)
        return -1;
    return run_fill(self, value);
}

int mt_cuda_zero(mt_tensor *self)
{
    return run_fill(self, mt_scalar_from_int(0));
}

/* --- equal --- */

/* One byte per element: are they equal? */
static int compare(mt_tensor *same, mt_tensor *self, mt_tensor *other, mt_dtype dtype)
{
    const mt_pointwise_spec *spec = mt_op_table_of(MT_OP_eq)->pointwise;
    uint8_t loop_dtype[3] = {MT_DTYPE_b8, (uint8_t)dtype, (uint8_t)dtype};
    mt_tensor *operands[3] = {same, self, other};
    MT_ALIGNED(16) char none[16] = {0};
    mt_iter it;

    if (mt_iter_build(&it, operands, 3, 1, self->ndim, self->size) < 0)
        return -1;
    return mt_cuda_run_iter(&it, self->device, mt_cuda_loop(spec, dtype), none, sizeof none, loop_dtype, 0);
}

static int all_true(bool *out, mt_tensor *flat)
{
    static const double params[MT_MAX_PARAMS];
    int64_t stride = 1, none = 0;
    bool reduced = true;
    mt_tensor *result = NULL;
    mt_scalar value;
    mt_reduce_job j = {.params = params,
                       .n_outs = 1,
                       .ndim = 1,
                       .size = &flat->numel,
                       .stride = &stride,
                       .out_stride = {&none, &none},
                       .is_reduced = &reduced,
                       .count = flat->numel};
    int rc = -1;

    MT_TRY(mt_tensor_new(&result, MT_DTYPE_b8, 0, NULL, flat->device));
    j.loops = mt_cuda_reduction(mt_op_table_of(MT_OP_all)->reduce, MT_DTYPE_b8);
    j.in = mt_tensor_const_data(flat);
    j.out[0] = mt_tensor_mutable_data(result);
    MT_TRY(mt_cuda_run_reduce(&j, flat->device));
    MT_TRY(mt_tensor_item(&value, result));
    *out = mt_scalar_is_true(value);
    rc = 0;
fail:
    mt_tensor_clear(&result);
    return rc;
}

int mt_cuda_equal(bool *out, mt_tensor *self, mt_tensor *other)
{
    mt_dtype dtype = mt_dtype_promote((mt_dtype)self->dtype, (mt_dtype)other->dtype);
    mt_tensor *same = NULL;
    int rc = -1;

    *out = false;
    if (dtype == MT_DTYPE_NONE)
        return mt_error_set(MT_ERR_RUNTIME, "Cannot compare tensors of %s and %s", mt_dtype_table[self->dtype].legacy,
                            mt_dtype_table[other->dtype].legacy);
    MT_REQUIRE(mt_device_equal(self->device, other->device), MT_ERR_RUNTIME,
               "Cannot compare two tensors on different devices");
    if (!mt_shape_equal(self->ndim, self->size, other->ndim, other->size))
        return 0;
    *out = true;
    if (self->numel == 0)
        return 0;
    MT_TRY(mt_tensor_new(&same, MT_DTYPE_b8, self->ndim, self->size, self->device));
    MT_TRY(compare(same, self, other, dtype));
    MT_TRY(all_true(out, same));
    rc = 0;
fail:
    mt_tensor_clear(&same);
    return rc;
}
