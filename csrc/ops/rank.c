/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements by their rank along a dimension: kthvalue, median, nanmedian, mode. A line is sorted, and the element at the
   rank is taken. */
#include <stdint.h>
#include <string.h>

#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"

typedef int rank_fn(mt_tensor **out, mt_tensor *sorted, int64_t dim);

/* The words of the reference for dtypes that have no order or no kernel. */
static int check_dtype(const mt_tensor *self, const char *kernel, bool bools)
{
    if (mt_dtype_is_complex((mt_dtype)self->dtype) || (self->dtype == MT_DTYPE_b8 && !bools))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                            mt_dtype_table[self->dtype].legacy);
    return 0;
}

static int check_dim(int64_t *dim, const mt_tensor *self, const char *op)
{
    if (mt_dim_wrap(dim, self->ndim) < 0)
        return -1;
    if (self->ndim > 0 && self->size[*dim] == 0)
        return mt_error_set(MT_ERR_INDEX, "%s(): Expected reduction dim %lld to have non-zero size.", op,
                            (long long)*dim);
    return 0;
}

/* The results of gather lose the dimension, as copies, so that they are no views. */
static int drop_dim(mt_tensor **t, int64_t dim)
{
    mt_tensor *flat = NULL;

    if (mt_squeeze_copy_dim(&flat, *t, dim) < 0)
        return -1;
    mt_tensor_unref(*t);
    *t = flat;
    return 0;
}

/* dim is wrapped. rank NULL: k, counted from zero. */
static int take(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t dim, bool keepdim, rank_fn *rank,
                int64_t k)
{
    mt_tensor *sorted = NULL, *order = NULL, *at = NULL;
    int rc = -1;

    if (self->ndim == 0) {
        MT_TRY(mt_clone(values, self, MT_FORMAT_PRESERVE));
        return mt_tensor_new_zeroed(indices, MT_DTYPE_i64, 0, NULL, self->device);
    }
    MT_TRY(mt_sort(&sorted, &order, self, dim, false));
    if (rank) {
        MT_TRY(rank(&at, sorted, dim));
        MT_TRY(mt_gather(values, sorted, dim, at, false));
        MT_TRY(mt_gather(indices, order, dim, at, false));
    } else {
        MT_TRY(mt_narrow_copy(values, sorted, dim, k, 1));
        MT_TRY(mt_narrow_copy(indices, order, dim, k, 1));
    }
    if (!keepdim) {
        MT_TRY(drop_dim(values, dim));
        MT_TRY(drop_dim(indices, dim));
    }
    rc = 0;
fail:
    mt_tensor_clear(&sorted);
    mt_tensor_clear(&order);
    mt_tensor_clear(&at);
    return rc;
}

int mt_impl_kthvalue(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t k, int64_t dim, bool keepdim)
{
    int rc = -1;

    MT_TRY(check_dim(&dim, self, "kthvalue"));
    MT_REQUIRE(k >= 1 && k <= (self->ndim ? self->size[dim] : 1), MT_ERR_RUNTIME,
               "kthvalue(): selected number k out of range for dimension %lld", (long long)dim);
    if (self->ndim > 0)
        MT_TRY(check_dtype(self, "kthvalue_cpu", false));
    MT_TRY(take(values, indices, self, dim, keepdim, NULL, k - 1));
    rc = 0;
fail:
    return rc;
}

static int along(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t dim, bool keepdim, const char *op,
                 rank_fn *rank)
{
    bool is_mode = strcmp(op, "mode") == 0;

    if (check_dim(&dim, self, op) < 0 || check_dtype(self, is_mode ? "mode_cpu" : "median_cpu", is_mode) < 0)
        return -1;
    return take(values, indices, self, dim, keepdim, rank, 0);
}

int mt_impl_median_dim(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t dim, bool keepdim)
{
    return along(values, indices, self, dim, keepdim, "median", mt_median_rank);
}

int mt_impl_nanmedian_dim(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t dim, bool keepdim)
{
    return along(values, indices, self, dim, keepdim, "nanmedian", mt_nanmedian_rank);
}

int mt_impl_mode(mt_tensor **values, mt_tensor **indices, mt_tensor *self, int64_t dim, bool keepdim)
{
    return along(values, indices, self, dim, keepdim, "mode", mt_mode_rank);
}

/* Of all elements. Of none it is nan, or the least integer. */
static int of_all(mt_tensor **out, mt_tensor *self, rank_fn *rank)
{
    mt_scalar none = mt_dtype_is_float((mt_dtype)self->dtype) ? mt_scalar_from_double(__builtin_nan(""))
                                                              : mt_scalar_from_int(INT64_MIN);
    mt_tensor *flat = NULL, *index = NULL;
    int rc = -1;

    MT_TRY(check_dtype(self, "median_cpu", false));
    if (self->numel == 0)
        return mt_tensor_full_0d(out, none, (mt_dtype)self->dtype, self->device);
    MT_TRY(mt_reshape(&flat, self, (mt_ints){(const int64_t[]){-1}, 1}));
    MT_TRY(take(out, &index, flat, 0, false, rank, 0));
    rc = 0;
fail:
    mt_tensor_clear(&flat);
    mt_tensor_clear(&index);
    return rc;
}

int mt_impl_median(mt_tensor **out, mt_tensor *self)
{
    return of_all(out, self, mt_median_rank);
}

int mt_impl_nanmedian(mt_tensor **out, mt_tensor *self)
{
    return of_all(out, self, mt_nanmedian_rank);
}
