/* SPDX-License-Identifier: BSD-3-Clause */
/* cross_entropy: log_softmax and nll_loss, or a weighted sum of log probabilities. */
#include "core/dispatch.h"
#include "core/shape.h"
#include "kernels.h"
#include "ops.h"

static int64_t class_dim_of(const mt_tensor *self)
{
    return self->ndim == 1 ? 0 : 1;
}

/* weight of shape (C), shaped to broadcast along the class dimension. */
static int spread_weight(mt_tensor **out, mt_tensor *weight, const mt_tensor *self)
{
    int64_t shape[MT_MAX_DIM];

    for (int i = 0; i < self->ndim; i++)
        shape[i] = 1;
    shape[class_dim_of(self)] = weight->numel;
    return mt_view(out, weight, (mt_ints){shape, self->ndim});
}

static int number(mt_tensor **out, double value)
{
    return mt_tensor_from_scalar(out, mt_scalar_from_double(value));
}

static int times(mt_tensor **out, mt_tensor *t, double value)
{
    mt_tensor *n = NULL;
    int rc = number(&n, value);

    if (rc == 0)
        rc = mt_mul(out, t, n);
    mt_tensor_clear(&n);
    return rc;
}

static int divide(mt_tensor **out, mt_tensor *t, double value)
{
    return mt_div_by_number(out, t, mt_scalar_from_double(value));
}

/* -sum(input * target * weight) over the classes, reduced; the mean divides by the batch. */
static int with_probabilities(mt_tensor **out, mt_tensor *self, mt_tensor *target, mt_tensor *weight, int64_t reduction,
                              double smoothing)
{
    int64_t dim = class_dim_of(self), classes = self->size[dim];
    mt_tensor *log_p = NULL, *smooth = NULL, *product = NULL, *w = NULL, *sum = NULL, *n = NULL;
    int rc = -1;

    MT_TRY(mt_log_softmax(&log_p, self, dim, MT_DTYPE_NONE));
    if (smoothing > 0) {
        MT_TRY(times(&product, target, 1 - smoothing));
        MT_TRY(number(&n, smoothing / (double)classes));
        MT_TRY(mt_add(&smooth, product, n, mt_scalar_from_int(1)));
        mt_tensor_clear(&product);
    } else {
        smooth = mt_tensor_ref(target);
    }
    MT_TRY(mt_mul(&product, log_p, smooth));
    if (weight) {
        mt_tensor *weighted = NULL;

        MT_TRY(spread_weight(&w, weight, self));
        MT_TRY(mt_mul(&weighted, product, w));
        mt_tensor_clear(&product);
        product = weighted;
    }
    mt_tensor_clear(&n);
    if (reduction == 0) {
        MT_TRY(mt_sum_dim_IntList(&sum, product, (mt_ints){&dim, 1}, false, MT_DTYPE_NONE));
        MT_TRY(mt_neg(out, sum));
    } else {
        MT_TRY(mt_sum(&sum, product, MT_DTYPE_NONE));
        MT_TRY(mt_neg(&n, sum));
        if (reduction == 1)
            MT_TRY(divide(out, n, (double)self->numel / (double)classes));
        else
            *out = mt_tensor_move(&n);
    }
    rc = 0;
fail:
    mt_tensor_clear(&log_p);
    mt_tensor_clear(&smooth);
    mt_tensor_clear(&product);
    mt_tensor_clear(&w);
    mt_tensor_clear(&sum);
    mt_tensor_clear(&n);
    return rc;
}

/* The uniform part of label smoothing, reduced as nll_loss is: ignored targets count neither above nor below. */
static int smooth_part(mt_tensor **out, mt_tensor *log_p, mt_tensor *target, mt_tensor *weight, int64_t reduction,
                       int64_t ignore_index)
{
    int64_t dim = class_dim_of(log_p);
    mt_tensor *w = NULL, *weighted = NULL, *sum = NULL, *loss = NULL, *mask = NULL, *ignore = NULL, *kept = NULL,
              *total = NULL, *zero = NULL, *count = NULL;
    int rc = -1;

    if (weight) {
        MT_TRY(spread_weight(&w, weight, log_p));
        MT_TRY(mt_mul(&weighted, log_p, w));
    } else {
        weighted = mt_tensor_ref(log_p);
    }
    MT_TRY(mt_sum_dim_IntList(&sum, weighted, (mt_ints){&dim, 1}, false, MT_DTYPE_NONE));
    MT_TRY(mt_neg(&loss, sum));
    MT_TRY(mt_tensor_from_scalar(&ignore, mt_scalar_from_int(ignore_index)));
    MT_TRY(mt_eq(&mask, target, ignore));
    MT_TRY(mt_tensor_full_0d(&zero, mt_scalar_from_int(0), (mt_dtype)loss->dtype, loss->device));
    MT_TRY(mt_where_self(&kept, mask, zero, loss));
    if (reduction == 0) {
        *out = mt_tensor_move(&kept);
    } else if (reduction == 2) {
        MT_TRY(mt_sum(out, kept, MT_DTYPE_NONE));
    } else {
        mt_tensor *one = NULL, *each = NULL, *safe = NULL;

        MT_TRY(mt_sum(&total, kept, MT_DTYPE_NONE));
        MT_TRY(mt_tensor_full_0d(&one, mt_scalar_from_int(1), (mt_dtype)loss->dtype, loss->device));
        if (weight) {
            rc = mt_where_self(&safe, mask, zero, target);
            if (rc == 0) {
                mt_tensor *index = NULL, *picked = NULL;

                rc = mt_to_dtype(&index, safe, MT_DTYPE_i64, false, false, -1);
                if (rc == 0)
                    rc = mt_take(&picked, weight, index);
                if (rc == 0)
                    rc = mt_where_self(&each, mask, zero, picked);
                mt_tensor_clear(&index);
                mt_tensor_clear(&picked);
            }
        } else {
            rc = mt_where_self(&each, mask, zero, one);
        }
        mt_tensor_clear(&one);
        mt_tensor_clear(&safe);
        if (rc == 0)
            rc = mt_sum(&count, each, MT_DTYPE_NONE);
        mt_tensor_clear(&each);
        MT_TRY(rc);
        rc = -1;
        MT_TRY(mt_div_Tensor(out, total, count));
    }
    rc = 0;
fail:
    mt_tensor_clear(&w);
    mt_tensor_clear(&weighted);
    mt_tensor_clear(&sum);
    mt_tensor_clear(&loss);
    mt_tensor_clear(&mask);
    mt_tensor_clear(&ignore);
    mt_tensor_clear(&kept);
    mt_tensor_clear(&total);
    mt_tensor_clear(&zero);
    mt_tensor_clear(&count);
    return rc;
}

static int with_indices(mt_tensor **out, mt_tensor *self, mt_tensor *target, mt_tensor *weight, int64_t reduction,
                        int64_t ignore_index, double smoothing)
{
    mt_tensor *log_p = NULL, *nll = NULL, *smooth = NULL, *a = NULL, *b = NULL;
    int64_t classes = self->size[class_dim_of(self)];
    int rc = -1;

    MT_TRY(mt_log_softmax(&log_p, self, class_dim_of(self), MT_DTYPE_NONE));
    if (smoothing == 0) {
        MT_TRY(mt_nll_loss_nd(out, log_p, target, weight, reduction, ignore_index));
    } else {
        MT_TRY(mt_nll_loss_nd(&nll, log_p, target, weight, reduction, ignore_index));
        MT_TRY(smooth_part(&smooth, log_p, target, weight, reduction, ignore_index));
        MT_TRY(times(&a, nll, 1 - smoothing));
        MT_TRY(times(&b, smooth, smoothing / (double)classes));
        MT_TRY(mt_add(out, a, b, mt_scalar_from_int(1)));
    }
    rc = 0;
fail:
    mt_tensor_clear(&log_p);
    mt_tensor_clear(&nll);
    mt_tensor_clear(&smooth);
    mt_tensor_clear(&a);
    mt_tensor_clear(&b);
    return rc;
}

int mt_impl_cross_entropy_loss(mt_tensor **out, mt_tensor *self, mt_tensor *target, mt_tensor *weight,
                               int64_t reduction, int64_t ignore_index, double label_smoothing)
{
    int rc = -1;

    MT_REQUIRE(self->ndim >= 1, MT_ERR_INDEX, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    MT_REQUIRE(label_smoothing >= 0 && label_smoothing <= 1, MT_ERR_RUNTIME,
               "label_smoothing must be between 0.0 and 1.0. Got: %g", label_smoothing);
    if (mt_shape_equal(self->ndim, self->size, target->ndim, target->size)) {
        MT_REQUIRE(mt_dtype_is_float((mt_dtype)target->dtype), MT_ERR_RUNTIME,
                   "Expected floating point type for target with class probabilities, got %s",
                   mt_dtype_table[target->dtype].legacy);
        MT_REQUIRE(ignore_index < 0, MT_ERR_RUNTIME, "ignore_index is not supported for floating point target");
        return with_probabilities(out, self, target, weight, reduction, label_smoothing);
    }
    MT_TRY(with_indices(out, self, target, weight, reduction, ignore_index, label_smoothing));
    rc = 0;
fail:
    return rc;
}
