/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear algebra: shape rules of decompositions, matrix norms. */
#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* --- rules --- */

static int check_matrix(const mt_tensor *a, const char *op)
{
    mt_dtype d = (mt_dtype)a->dtype;

    if (a->ndim < 2)
        return mt_error_set(MT_ERR_RUNTIME, "%s: The input tensor A must have at least 2 dimensions.", op);
    if (!mt_dtype_is_float(d) && !mt_dtype_is_complex(d))
        return mt_error_set(MT_ERR_RUNTIME, "%s: Expected a floating point or complex tensor as input. Got %s", op,
                            mt_dtype_table[d].legacy);
    return 0;
}

/* Half types have no routine; for nothing none is called. */
static int check_lapack(const mt_tensor *a, const char *kernel)
{
    if (a->numel > 0 && (a->dtype == MT_DTYPE_f16 || a->dtype == MT_DTYPE_bf16))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                            mt_dtype_table[a->dtype].legacy);
    return 0;
}

/* Output k: matrices of rows x columns in the batch of a, each with its columns contiguous or row by row. */
static int prepare_matrices(mt_call *call, int k, const mt_tensor *a, int64_t rows, int64_t columns, bool by_column)
{
    int64_t size[MT_MAX_DIM], stride[MT_MAX_DIM], step = 1;
    int n = a->ndim;

    memcpy(size, a->size, (size_t)n * sizeof(size[0]));
    size[n - 2] = rows;
    size[n - 1] = columns;
    stride[n - 1] = by_column ? (rows > 1 ? rows : 1) : 1;
    stride[n - 2] = by_column ? 1 : (columns > 1 ? columns : 1);
    if (__builtin_mul_overflow(rows > 1 ? rows : 1, columns > 1 ? columns : 1, &step))
        return mt_error_set(MT_ERR_RUNTIME, "linalg: the size of the result overflows");
    for (int d = n - 3; d >= 0; d--) {
        stride[d] = step;
        if (__builtin_mul_overflow(step, size[d] > 1 ? size[d] : 1, &step))
            return mt_error_set(MT_ERR_RUNTIME, "linalg: the size of the result overflows");
    }
    return mt_out_prepare(call, k, (mt_dtype)a->dtype, n, size, stride, a->device, false);
}

int mt_meta_linalg_qr(mt_call *call)
{
    mt_tensor *a = mt_arg_tensor(&call->arg[0]);
    const char *mode = call->arg[1].v.str;
    bool complete = strcmp(mode, "complete") == 0, r = strcmp(mode, "r") == 0;
    int64_t m, n, k;
    int rc = -1;

    MT_TRY(check_matrix(a, "linalg.qr"));
    MT_REQUIRE(complete || r || strcmp(mode, "reduced") == 0, MT_ERR_RUNTIME,
               "qr received unrecognized mode '%s' but expected one of 'reduced' (default), 'r', or 'complete'", mode);
    MT_TRY(check_lapack(a, "geqrf_cpu"));
    m = a->size[a->ndim - 2];
    n = a->size[a->ndim - 1];
    k = m < n ? m : n;
    if (r)
        MT_TRY(mt_out_prepare(call, 0, (mt_dtype)a->dtype, 1, (const int64_t[]){0}, NULL, a->device, false));
    else
        MT_TRY(prepare_matrices(call, 0, a, m, complete ? m : k, true));
    MT_TRY(prepare_matrices(call, 1, a, complete ? m : k, n, true));
    rc = 0;
fail:
    return rc;
}

static int prepare_values(mt_call *call, int k, const mt_tensor *a)
{
    int64_t size[MT_MAX_DIM], m = a->size[a->ndim - 2], n = a->size[a->ndim - 1];

    memcpy(size, a->size, (size_t)a->ndim * sizeof(size[0]));
    size[a->ndim - 2] = m < n ? m : n;
    return mt_out_prepare(call, k, mt_dtype_to_real((mt_dtype)a->dtype), a->ndim - 1, size, NULL, a->device, false);
}

int mt_meta_thin_svd(mt_call *call)
{
    mt_tensor *a = mt_arg_tensor(&call->arg[0]);
    int64_t m, n, k;
    int rc = -1;

    MT_TRY(check_matrix(a, "linalg.svd"));
    MT_TRY(check_lapack(a, "linalg_svd_cpu"));
    m = a->size[a->ndim - 2];
    n = a->size[a->ndim - 1];
    k = m < n ? m : n;
    MT_TRY(prepare_matrices(call, 0, a, m, k, true));
    MT_TRY(prepare_values(call, 1, a));
    MT_TRY(prepare_matrices(call, 2, a, k, n, true));
    rc = 0;
fail:
    return rc;
}

int mt_meta_linalg_svdvals(mt_call *call)
{
    mt_tensor *a = mt_arg_tensor(&call->arg[0]);
    int rc = -1;

    MT_TRY(check_matrix(a, "linalg.svd"));
    MT_REQUIRE(call->arg[1].kind == MT_ARG_NONE || !call->arg[1].v.str, MT_ERR_RUNTIME,
               "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend.");
    MT_TRY(check_lapack(a, "linalg_svd_cpu"));
    MT_TRY(prepare_values(call, 0, a));
    rc = 0;
fail:
    return rc;
}

/* --- matrix norms --- */

static int refuse_dims(mt_ints dim)
{
    mt_shape_text text;
    const char *list = mt_shape_format(&text, dim.data, dim.n);

    return mt_error_set(MT_ERR_RUNTIME, "linalg.matrix_norm: dim must be a 2-tuple. Got %.*s", (int)strlen(list) - 2,
                        list + 1);
}

/* Checks what all orders share; the dims count from zero afterwards, and *out is self in the dtype asked for. */
static int begin_norm(mt_tensor **out, int64_t wrapped[2], mt_tensor *self, mt_ints dim, mt_dtype dtype)
{
    int rc = -1;

    MT_TRY(check_matrix(self, "linalg.matrix_norm"));
    if (dim.n != 2)
        return refuse_dims(dim);
    for (int i = 0; i < 2; i++) {
        wrapped[i] = dim.data[i];
        MT_TRY(mt_dim_wrap(&wrapped[i], self->ndim));
    }
    MT_REQUIRE(wrapped[0] != wrapped[1], MT_ERR_RUNTIME, "linalg.matrix_norm: dims must be different. Got (%lld, %lld)",
               (long long)dim.data[0], (long long)dim.data[1]);
    if (dtype == MT_DTYPE_NONE || dtype == (mt_dtype)self->dtype)
        *out = mt_tensor_ref(self);
    else
        MT_TRY(mt_to_dtype(out, self, dtype, false, false, MT_FORMAT_PRESERVE));
    rc = 0;
fail:
    return rc;
}

static int check_precision(const mt_tensor *t)
{
    if (t->dtype == MT_DTYPE_f16 || t->dtype == MT_DTYPE_bf16)
        return mt_error_set(MT_ERR_RUNTIME, "linalg.matrix_norm: Low precision dtypes not supported. Got %s",
                            mt_dtype_table[t->dtype].legacy);
    return 0;
}

int mt_impl_linalg_matrix_norm(mt_tensor **out, mt_tensor *self, mt_scalar ord, mt_ints dim, bool keepdim,
                               mt_dtype dtype)
{
    double p = mt_scalar_to_double(ord), order = fabs(p);
    mt_tensor *t = NULL;
    int64_t d[2];
    int rc = -1;

    MT_REQUIRE(order == 1 || order == 2 || isinf(order), MT_ERR_RUNTIME, "linalg.matrix_norm: Order %g not supported.",
               p);
    MT_TRY(begin_norm(&t, d, self, dim, dtype));
    if (order == 2) {
        MT_TRY(check_precision(t));
        MT_TRY(mt_matrix_norm_of_values(out, t, p > 0 ? 1 : -1, d[0], d[1], keepdim));
    } else {
        MT_TRY(mt_matrix_norm_of_sums(out, t, p > 0, order == 1 ? d[0] : d[1], order == 1 ? d[1] : d[0], keepdim));
    }
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

int mt_impl_linalg_matrix_norm_named(mt_tensor **out, mt_tensor *self, const char *ord, mt_ints dim, bool keepdim,
                                     mt_dtype dtype)
{
    bool nuclear = strcmp(ord, "nuc") == 0;
    mt_tensor *t = NULL;
    int64_t d[2];
    int rc = -1;

    MT_REQUIRE(nuclear || strcmp(ord, "fro") == 0, MT_ERR_RUNTIME, "linalg.matrix_norm: Order %s not supported.", ord);
    MT_TRY(begin_norm(&t, d, self, dim, dtype));
    if (nuclear) {
        MT_TRY(check_precision(t));
        MT_TRY(mt_matrix_norm_of_values(out, t, 0, d[0], d[1], keepdim));
    } else {
        MT_TRY(mt_linalg_vector_norm(out, t, mt_scalar_from_int(2), (mt_ints){d, 2}, keepdim, MT_DTYPE_NONE));
    }
    rc = 0;
fail:
    mt_tensor_clear(&t);
    return rc;
}

/* --- norms of vectors or matrices --- */

static int check_dims(mt_ints dim)
{
    mt_shape_text text;

    if (dim.n < 0 || dim.n == 1 || dim.n == 2)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "linalg.norm: If dim is specified, it must be of length 1 or 2. Got %s",
                        mt_shape_format(&text, dim.data, dim.n));
}

int mt_impl_linalg_norm(mt_tensor **out, mt_tensor *self, const mt_scalar *ord, mt_ints dim, bool keepdim,
                        mt_dtype dtype)
{
    const int64_t both[2] = {0, 1};
    int n = dim.n >= 0 ? dim.n : self->ndim;

    *out = NULL;
    if (check_dims(dim) < 0)
        return -1;
    if (!ord)
        return mt_linalg_vector_norm(out, self, mt_scalar_from_int(2), dim, keepdim, dtype);
    if (n != 1 && n != 2)
        return mt_error_set(MT_ERR_RUNTIME,
                            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.",
                            self->ndim);
    if (n == 1)
        return mt_linalg_vector_norm(out, self, *ord, dim, keepdim, dtype);
    return mt_linalg_matrix_norm(out, self, *ord, dim.n >= 0 ? dim : (mt_ints){both, 2}, keepdim, dtype);
}

int mt_impl_linalg_norm_named(mt_tensor **out, mt_tensor *self, const char *ord, mt_ints dim, bool keepdim,
                              mt_dtype dtype)
{
    const int64_t both[2] = {0, 1};

    *out = NULL;
    if (check_dims(dim) < 0)
        return -1;
    if (dim.n >= 0)
        return mt_linalg_matrix_norm_str_ord(out, self, ord, dim, keepdim, dtype);
    if (self->ndim != 1 && self->ndim != 2)
        return mt_error_set(MT_ERR_RUNTIME,
                            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got %dD.",
                            self->ndim);
    return mt_linalg_matrix_norm_str_ord(out, self, ord, (mt_ints){both, 2}, keepdim, dtype);
}
