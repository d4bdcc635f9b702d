/* SPDX-License-Identifier: BSD-3-Clause */
/* searchsorted and bincount. */
#include <string.h>

#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"
#include "ops/meta.h"

/* --- searchsorted --- */

static bool goes_right(double at, double x, bool right)
{
    /* NaN sorts last */
    if (x != x)
        return right || at == at;
    return right ? at <= x : at < x;
}

static bool goes_right_int(int64_t at, int64_t x, bool right)
{
    return right ? at <= x : at < x;
}

static int check_search(const mt_tensor *sequence, const mt_tensor *values, bool right, const char *side,
                        const mt_tensor *sorter)
{
    int rc = -1;

    MT_REQUIRE(!side || strcmp(side, "left") == 0 || strcmp(side, "right") == 0, MT_ERR_RUNTIME,
               "torch.searchsorted(): side can only be 'left' or 'right' but got %s", side);
    MT_REQUIRE(!(side && right && strcmp(side, "left") == 0), MT_ERR_RUNTIME,
               "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True");
    MT_REQUIRE(
        sequence->ndim > 0, MT_ERR_RUNTIME,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(0)");
    MT_REQUIRE(sequence->dtype == values->dtype, MT_ERR_RUNTIME,
               "torch.searchsorted(): boundary tensor and input value tensor should have same dtype, but got boundary "
               "tensor dtype %s and input value tensor dtype %s",
               mt_dtype_table[sequence->dtype].legacy, mt_dtype_table[values->dtype].legacy);
    MT_REQUIRE(!mt_dtype_is_complex((mt_dtype)sequence->dtype) && sequence->dtype != MT_DTYPE_b8,
               MT_ERR_NOT_IMPLEMENTED, "\"searchsorted_out_cpu\" not implemented for '%s'",
               mt_dtype_table[sequence->dtype].legacy);
    MT_REQUIRE(!sorter || (sorter->dtype == MT_DTYPE_i64 &&
                           mt_shape_equal(sorter->ndim, sorter->size, sequence->ndim, sequence->size)),
               MT_ERR_RUNTIME,
               "torch.searchsorted(): boundary and sorter must have the same size, and the sorter must be int64");
    if (sequence->ndim > 1) {
        MT_REQUIRE(sequence->ndim == values->ndim &&
                       memcmp(sequence->size, values->size, (size_t)(sequence->ndim - 1) * 8) == 0,
                   MT_ERR_RUNTIME,
                   "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                   "boundaries tensor and input value tensor must match");
    }
    rc = 0;
fail:
    return rc;
}

/* Lines of the sequence in float64 or int64, which hold every value of the dtypes they stand for. */
static int widen(mt_tensor **out, mt_tensor *t)
{
    mt_dtype d = mt_dtype_is_float((mt_dtype)t->dtype) ? MT_DTYPE_f64 : MT_DTYPE_i64;

    if (mt_tensor_new(out, d, t->ndim, t->size, t->device) < 0)
        return -1;
    return mt_copy_inplace(*out, t, false);
}

static int64_t position(const void *line, bool is_float, const int64_t *sorter, int64_t n, const void *x, bool right)
{
    int64_t low = 0, high = n;

    while (low < high) {
        int64_t middle = low + (high - low) / 2, at = sorter ? sorter[middle] : middle;
        bool after = is_float ? goes_right(((const double *)line)[at], *(const double *)x, right)
                              : goes_right_int(((const int64_t *)line)[at], *(const int64_t *)x, right);

        if (after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool sorter_in_range(const int64_t *sorter, int64_t count, int64_t n)
{
    for (int64_t i = 0; i < count; i++)
        if (sorter[i] < 0 || sorter[i] >= n)
            return false;
    return true;
}

int mt_impl_searchsorted(mt_tensor **out, mt_tensor *sorted_sequence, mt_tensor *self, bool out_int32, bool right,
                         const char *side, mt_tensor *sorter)
{
    mt_tensor *lines = NULL, *values = NULL, *order = NULL;
    bool is_float, after = right || (side && strcmp(side, "right") == 0), grad_mode = mt_thread.grad_mode;
    int64_t n, per_line;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_need_host_data(self, "searchsorted"));
    MT_TRY(mt_need_host_data(sorted_sequence, "searchsorted"));
    MT_TRY(mt_need_host_data(sorter, "searchsorted"));
    MT_TRY(check_search(sorted_sequence, self, right, side, sorter));
    MT_TRY(widen(&lines, sorted_sequence));
    MT_TRY(widen(&values, self));
    if (sorter)
        MT_TRY(mt_contiguous(&order, sorter, MT_FORMAT_CONTIGUOUS));
    n = lines->size[lines->ndim - 1];
    per_line = lines->ndim > 1 ? values->size[values->ndim - 1] : values->numel;
    MT_REQUIRE(!order || sorter_in_range((const int64_t *)mt_tensor_const_data(order), order->numel, n), MT_ERR_RUNTIME,
               "torch.searchsorted(): sorter index out of range");
    MT_REQUIRE(
        !out_int32 || n < INT32_MAX, MT_ERR_RUNTIME,
        "torch.searchsorted(): the size of boundaries' last dimension should be less than 2147483647, but we got "
        "%lld",
        (long long)n);
    is_float = lines->dtype == MT_DTYPE_f64;
    MT_TRY(mt_tensor_new(out, out_int32 ? MT_DTYPE_i32 : MT_DTYPE_i64, self->ndim, self->size, self->device));
    for (int64_t i = 0; i < values->numel; i++) {
        int64_t line = sorted_sequence->ndim > 1 ? i / per_line : 0;
        int64_t at = position(mt_tensor_const_data(lines) + line * n * 8, is_float,
                              order ? (const int64_t *)mt_tensor_const_data(order) + line * n : NULL, n,
                              mt_tensor_const_data(values) + i * 8, after);

        if (out_int32)
            ((int32_t *)mt_tensor_mutable_data(*out))[i] = (int32_t)at;
        else
            ((int64_t *)mt_tensor_mutable_data(*out))[i] = at;
    }
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_tensor_clear(&lines);
    mt_tensor_clear(&values);
    mt_tensor_clear(&order);
    return rc;
}

int mt_impl_searchsorted_number(mt_tensor **out, mt_tensor *sorted_sequence, mt_scalar self, bool out_int32, bool right,
                                const char *side, mt_tensor *sorter)
{
    mt_tensor *value = NULL;
    int rc = -1;

    MT_REQUIRE(
        sorted_sequence->ndim == 1, MT_ERR_RUNTIME,
        "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
        "boundaries tensor dim(%d)",
        sorted_sequence->ndim);
    MT_TRY(mt_tensor_full_0d(&value, self, (mt_dtype)sorted_sequence->dtype, sorted_sequence->device));
    MT_TRY(mt_impl_searchsorted(out, sorted_sequence, value, out_int32, right, side, sorter));
    rc = 0;
fail:
    mt_tensor_clear(&value);
    return rc;
}

/* --- bincount --- */

static int count_range(int64_t *largest, const int64_t *x, int64_t n)
{
    *largest = -1;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "bincount only supports 1-d non-negative integral inputs.");
        if (x[i] > *largest)
            *largest = x[i];
    }
    return 0;
}

static int add_weights(mt_tensor **out, const int64_t *x, int64_t n, int64_t size, mt_tensor *weights)
{
    mt_dtype d = weights->dtype == MT_DTYPE_f32 ? MT_DTYPE_f32 : MT_DTYPE_f64;
    mt_tensor *w = NULL;
    int rc = -1;

    MT_TRY(mt_tensor_new(&w, d, 1, &n, weights->device));
    MT_TRY(mt_copy_inplace(w, weights, false));
    MT_TRY(mt_tensor_new_zeroed(out, d, 1, &size, weights->device));
    for (int64_t i = 0; i < n; i++) {
        if (d == MT_DTYPE_f32)
            ((float *)mt_tensor_mutable_data(*out))[x[i]] += ((const float *)mt_tensor_const_data(w))[i];
        else
            ((double *)mt_tensor_mutable_data(*out))[x[i]] += ((const double *)mt_tensor_const_data(w))[i];
    }
    rc = 0;
fail:
    mt_tensor_clear(&w);
    return rc;
}

int mt_impl_bincount(mt_tensor **out, mt_tensor *self, mt_tensor *weights, int64_t minlength)
{
    mt_tensor *x = NULL;
    int64_t largest, size, n = self->numel;
    bool grad_mode = mt_thread.grad_mode;
    int rc = -1;

    mt_thread.grad_mode = false;
    MT_TRY(mt_need_host_data(self, "bincount"));
    MT_TRY(mt_need_host_data(weights, "bincount"));
    MT_REQUIRE(minlength >= 0, MT_ERR_RUNTIME, "minlength should be >= 0");
    MT_REQUIRE(mt_dtype_category((mt_dtype)self->dtype) == MT_CAT_INT, MT_ERR_NOT_IMPLEMENTED,
               "\"bincount_cpu\" not implemented for '%s'", mt_dtype_table[self->dtype].legacy);
    MT_REQUIRE(self->ndim == 1 || n == 0, MT_ERR_RUNTIME, "bincount only supports 1-d non-negative integral inputs.");
    MT_REQUIRE(!weights || (weights->ndim == 1 && weights->numel == n), MT_ERR_RUNTIME,
               "weights should be 1-d and have the same length as input");
    MT_TRY(mt_tensor_new(&x, MT_DTYPE_i64, 1, &n, self->device));
    if (n > 0)
        MT_TRY(mt_copy_inplace(x, self, false));
    MT_TRY(count_range(&largest, (const int64_t *)mt_tensor_const_data(x), n));
    MT_REQUIRE(largest < INT64_MAX, MT_ERR_RUNTIME,
               "maximum value of input overflowed, it should be < 9223372036854775807");
    size = largest + 1 > minlength ? largest + 1 : minlength;
    if (weights) {
        MT_TRY(add_weights(out, (const int64_t *)mt_tensor_const_data(x), n, size, weights));
    } else {
        MT_TRY(mt_tensor_new_zeroed(out, MT_DTYPE_i64, 1, &size, self->device));
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)mt_tensor_mutable_data(*out))[((const int64_t *)mt_tensor_const_data(x))[i]]++;
    }
    rc = 0;
fail:
    mt_thread.grad_mode = grad_mode;
    mt_tensor_clear(&x);
    return rc;
}

int mt_check_bucketize(mt_call *call)
{
    const mt_tensor *boundaries = call->arg[1].v.tensor;

    if (boundaries->ndim == 1)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME, "boundaries tensor must be 1 dimension, but got dim(%d)", boundaries->ndim);
}
