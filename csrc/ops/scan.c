/* SPDX-License-Identifier: BSD-3-Clause */
/* Shape rules of scans, and the gradient of cumprod. */
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* What cannot be cast into: a given output has the dtype itself. */
static int exact_out(const mt_call *call, int k, mt_dtype dtype)
{
    if (!call->out[k] || call->out[k]->dtype == (uint8_t)dtype)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "expected scalar_type %s but found %s", mt_dtype_table[dtype].legacy,
                        mt_dtype_table[call->out[k]->dtype].legacy);
}

/* dim is argument 1; an optional dtype is argument 2. Integers and bool become int64. */
int mt_meta_scan(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    mt_dtype dtype = (mt_dtype)call->arg[2].v.i;
    int64_t dim = call->arg[1].v.i;

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (dtype == MT_DTYPE_NONE) {
        if (call->variant == MT_VARIANT_INPLACE)
            dtype = (mt_dtype)self->dtype;
        else
            dtype = mt_dtype_is_integral((mt_dtype)self->dtype, true) ? MT_DTYPE_i64 : (mt_dtype)self->dtype;
    }
    if (mt_dtype_is_shell(dtype))
        return mt_meta_refuse_dtype(call->op, dtype);
    return mt_out_prepare(call, 0, dtype, self->ndim, self->size, NULL, self->device, false);
}

int mt_meta_scan_float(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t dim = call->arg[1].v.i;

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (mt_dtype_is_integral((mt_dtype)self->dtype, true))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"logcumsumexp_out_cpu\" not implemented for '%s'",
                            mt_dtype_table[self->dtype].legacy);
    if (exact_out(call, 0, (mt_dtype)self->dtype) < 0)
        return -1;
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, false);
}

int mt_meta_scan_pair(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t dim = call->arg[1].v.i;

    if (mt_dim_wrap(&dim, self->ndim) < 0)
        return -1;
    if (mt_dtype_is_complex((mt_dtype)self->dtype) && self->ndim > 0 && self->numel > 0)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s_cpu\" not implemented for '%s'", call->op->name,
                            mt_dtype_table[self->dtype].legacy);
    if (exact_out(call, 0, (mt_dtype)self->dtype) < 0 || exact_out(call, 1, MT_DTYPE_i64) < 0 ||
        mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, false) < 0)
        return -1;
    return mt_out_prepare(call, 1, MT_DTYPE_i64, self->ndim, self->size, NULL, self->device, false);
}

/* d/dx_k sum_i g_i prod_{j<=i} x_j: without zeros this is reverse_cumsum(g * y) / x. With zeros the product is split
   at each position: prefix products times what follows, built from ops so that it can be differentiated again. */
static int general_cumprod_backward(mt_tensor **out, mt_tensor *grad, mt_tensor *self, int64_t dim)
{
    /* For each k: grad_k = prefix_{k-1} * sum_{i>=k} g_i * prod_{k<j<=i} x_j, the sum by Horner's rule from the end. */
    int64_t n = self->size[dim];
    mt_tensor_list xs = {NULL, 0}, gs = {NULL, 0}, results = {NULL, 0};
    mt_tensor *prefix = NULL, *suffix = NULL, *next = NULL;
    int rc = -1;

    MT_TRY(mt_unbind(&xs, self, dim));
    MT_TRY(mt_unbind(&gs, grad, dim));
    MT_TRY(mt_tensor_list_new(&results, (int)n));
    for (int64_t k = n - 1; k >= 0; k--) {
        if (!suffix) {
            suffix = mt_tensor_ref(gs.data[k]);
        } else {
            mt_tensor *product = NULL;

            MT_TRY(mt_mul(&product, xs.data[k + 1], suffix));
            rc = mt_add(&next, gs.data[k], product, mt_scalar_from_int(1));
            mt_tensor_clear(&product);
            MT_TRY(rc);
            rc = -1;
            mt_tensor_clear(&suffix);
            suffix = mt_tensor_move(&next);
        }
        results.data[k] = mt_tensor_ref(suffix);
    }
    for (int64_t k = 1; k < n; k++) {
        if (!prefix) {
            prefix = mt_tensor_ref(xs.data[0]);
        } else {
            MT_TRY(mt_mul(&next, prefix, xs.data[k - 1]));
            mt_tensor_clear(&prefix);
            prefix = mt_tensor_move(&next);
        }
        MT_TRY(mt_mul(&next, prefix, results.data[k]));
        mt_tensor_clear(&results.data[k]);
        results.data[k] = mt_tensor_move(&next);
    }
    MT_TRY(mt_stack(out, (mt_tensors){results.data, results.n}, dim));
    rc = 0;
fail:
    mt_tensor_list_clear(&xs);
    mt_tensor_list_clear(&gs);
    mt_tensor_list_clear(&results);
    mt_tensor_clear(&prefix);
    mt_tensor_clear(&suffix);
    mt_tensor_clear(&next);
    return rc;
}

int mt_impl_cumprod_backward(mt_tensor **out, mt_tensor *grad, mt_tensor *self, int64_t dim, mt_tensor *output)
{
    mt_tensor *conj = NULL, *weighted = NULL, *summed = NULL, *zero = NULL;
    bool has_zero = false;
    int rc = -1;

    if (self->numel <= 1 || self->ndim == 0) {
        *out = mt_tensor_ref(grad);
        return 0;
    }
    MT_TRY(mt_dim_wrap(&dim, self->ndim));
    MT_TRY(mt_conj(&conj, self));
    if (self->device.type != MT_DEVICE_META) {
        mt_scalar any;

        MT_TRY(mt_logical_not(&weighted, self));
        MT_TRY(mt_any(&zero, weighted));
        MT_TRY(mt_tensor_item(&any, zero));
        has_zero = mt_scalar_to_double(any) != 0;
        mt_tensor_clear(&weighted);
    }
    if (has_zero && !mt_thread.grad_mode) {
        mt_tensor *output_conj = NULL;

        MT_TRY(mt_conj(&output_conj, output));
        rc = mt_cumprod_backward_zeros(out, grad, conj, dim, output_conj);
        mt_tensor_clear(&output_conj);
        MT_TRY(rc);
    } else if (has_zero) {
        MT_TRY(general_cumprod_backward(out, grad, conj, dim));
    } else {
        mt_tensor *output_conj = NULL;

        MT_TRY(mt_conj(&output_conj, output));
        rc = mt_mul(&weighted, grad, output_conj);
        mt_tensor_clear(&output_conj);
        MT_TRY(rc);
        rc = -1;
        MT_TRY(mt_cumsum_backward(&summed, weighted, dim));
        MT_TRY(mt_div_Tensor(out, summed, conj));
    }
    rc = 0;
fail:
    mt_tensor_clear(&conj);
    mt_tensor_clear(&weighted);
    mt_tensor_clear(&summed);
    mt_tensor_clear(&zero);
    return rc;
}
