/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta rules of the factories that compute points or coordinates: dtype, length, and the checks of the bounds. The
   keyword arguments dtype, layout, device and pin_memory follow the positional ones in every signature. A given out
   keeps its dtype, and its shape when the number of elements is right. */
#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "base/strbuf.h"
#include "core/frame.h"
#include "core/shape.h"
#include "ops.h"
#include "ops/create.h"

typedef struct range_plan {
    mt_dtype dtype;
    mt_device device;
} range_plan;

static int plan_options(range_plan *plan, const mt_call *call, mt_dtype inferred)
{
    const mt_value *option = call->arg + call->op->n_positional;

    if (call->out[0]) {
        plan->dtype = (mt_dtype)call->out[0]->dtype;
        plan->device = call->out[0]->device;
        return 0;
    }
    plan->dtype = mt_arg_dtype(&option[0]) == MT_DTYPE_NONE ? inferred : mt_arg_dtype(&option[0]);
    return mt_factory_device(&plan->device, mt_arg_device(&option[2]), MT_CPU, mt_arg_enum(&option[1]),
                             mt_arg_bool_opt(&option[3]));
}

static int not_implemented(const char *kernel, mt_dtype dtype)
{
    return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "\"%s\" not implemented for '%s'", kernel,
                        mt_dtype_table[dtype].legacy);
}

/* A 1-D output of n elements. */
static int prepare_points(mt_call *call, const range_plan *plan, int64_t n)
{
    mt_tensor *out = call->out[0];

    if (out && out->numel == n)
        return mt_out_prepare(call, 0, plan->dtype, out->ndim, out->size, NULL, plan->device, true);
    if (out && mt_tensor_resize(out, 1, &n) < 0)
        return -1;
    return mt_out_prepare(call, 0, plan->dtype, 1, &n, NULL, plan->device, true);
}

/* --- arange and range --- */

typedef struct bounds {
    mt_scalar start, end, step;
} bounds;

/* (end), (start, end) or (start, end, step) */
static bounds read_bounds(const mt_call *call)
{
    bounds b = {mt_scalar_from_int(0), mt_scalar_from_int(0), mt_scalar_from_int(1)};
    int n = call->op->n_positional;

    if (n > 1)
        b.start = mt_arg_scalar(&call->arg[0]);
    b.end = mt_arg_scalar(&call->arg[n > 1 ? 1 : 0]);
    if (n > 2)
        b.step = mt_arg_scalar(&call->arg[2]);
    return b;
}

static int to_double(double *out, mt_scalar s)
{
    return mt_scalar_store_checked(out, MT_DTYPE_f64, s);
}

static int check_bounds(double *start, double *end, double *step, const bounds *b)
{
    if (to_double(start, b->start) < 0 || to_double(end, b->end) < 0 || to_double(step, b->step) < 0)
        return -1;
    if (!(*step > 0 || *step < 0))
        return mt_error_set(MT_ERR_RUNTIME, "step must be nonzero");
    if (!isfinite(*start) || !isfinite(*end))
        return mt_error_set(MT_ERR_RUNTIME, "unsupported range: %g -> %g", *start, *end);
    if (*step > 0 ? *end < *start : *end > *start)
        return mt_error_set(MT_ERR_RUNTIME, "upper bound and lower bound inconsistent with step sign");
    return 0;
}

/* Integers are counted exactly. */
static int integer_length(int64_t *out, const bounds *b)
{
    int64_t start, end, step;
    uint64_t distance, pace, n;

    if (mt_scalar_store_checked(&start, MT_DTYPE_i64, b->start) < 0 ||
        mt_scalar_store_checked(&end, MT_DTYPE_i64, b->end) < 0 ||
        mt_scalar_store_checked(&step, MT_DTYPE_i64, b->step) < 0)
        return -1;
    if (step == 0)
        return mt_error_set(MT_ERR_VALUE, "step must be nonzero");
    if (step > 0 ? end < start : end > start)
        return mt_error_set(MT_ERR_RUNTIME, "upper bound and lower bound inconsistent with step sign");
    distance = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    pace = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    n = distance / pace + (distance % pace != 0);
    if (n > INT64_MAX)
        return mt_error_set(MT_ERR_RUNTIME, "invalid size, possible overflow?");
    *out = (int64_t)n;
    return 0;
}

static int length_of(int64_t *out, double length)
{
    if (!(length >= 0 && length < 0x1p63))
        return mt_error_set(MT_ERR_RUNTIME, "invalid size, possible overflow?");
    *out = (int64_t)length;
    return 0;
}

static int warn_resize(const mt_tensor *out, int64_t n)
{
    mt_shape_text text;

    if (!out || out->numel == 0 || out->numel == n)
        return 0;
    return mt_warn(
        MT_WARN_USER,
        "The number of elements in the out tensor of shape %s is %lld which does not match the computed number "
        "of elements %lld. Note that this may occur as a result of rounding error. The out tensor will be "
        "resized to a tensor of shape (%lld,).",
        mt_shape_format(&text, out->size, out->ndim), (long long)out->numel, (long long)n, (long long)n);
}

int mt_meta_arange(mt_call *call)
{
    bounds b = read_bounds(call);
    bool integral = b.start.category <= MT_CAT_INT && b.end.category <= MT_CAT_INT && b.step.category <= MT_CAT_INT;
    double start, end, step;
    range_plan plan;
    int64_t n = 0;

    if (plan_options(&plan, call, integral ? MT_DTYPE_i64 : mt_default_dtype()) < 0)
        return -1;
    if (plan.dtype == MT_DTYPE_b8 || mt_dtype_is_complex(plan.dtype) || mt_dtype_is_shell(plan.dtype))
        return not_implemented("arange_cpu", plan.dtype);
    if (check_bounds(&start, &end, &step, &b) < 0)
        return -1;
    if (plan.dtype == MT_DTYPE_i64) {
        if (integer_length(&n, &b) < 0)
            return -1;
    } else if (length_of(&n, ceil((end - start) / step)) < 0) {
        return -1;
    }
    return warn_resize(call->out[0], n) < 0 ? -1 : prepare_points(call, &plan, n);
}

int mt_meta_range(mt_call *call)
{
    bounds b = read_bounds(call);
    double start, end, step;
    range_plan plan;
    int64_t n = 0;

    if (mt_warn(MT_WARN_USER,
                "torch.range is deprecated and will be removed in a future release because its behavior is "
                "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values "
                "in [start, end).") < 0 ||
        plan_options(&plan, call, mt_default_dtype()) < 0)
        return -1;
    if (plan.dtype == MT_DTYPE_b8 || mt_dtype_is_complex(plan.dtype) || mt_dtype_is_shell(plan.dtype))
        return not_implemented("range_cpu", plan.dtype);
    if (check_bounds(&start, &end, &step, &b) < 0 || length_of(&n, (end - start) / step + 1) < 0)
        return -1;
    return warn_resize(call->out[0], n) < 0 ? -1 : prepare_points(call, &plan, n);
}

/* --- linspace and logspace: (start, end, steps, ...) --- */

static int points_between(mt_call *call, const char *name)
{
    mt_scalar start = mt_arg_scalar(&call->arg[0]), end = mt_arg_scalar(&call->arg[1]);
    int64_t steps = mt_arg_int(&call->arg[2]);
    bool is_complex = start.category == MT_CAT_COMPLEX || end.category == MT_CAT_COMPLEX;
    char kernel[24];
    range_plan plan;

    if (plan_options(&plan, call, is_complex ? mt_default_complex_dtype() : mt_default_dtype()) < 0)
        return -1;
    if (is_complex && !mt_dtype_is_complex(plan.dtype))
        return mt_error_set(MT_ERR_RUNTIME,
                            "torch.%s(): inferred dtype c10::complex<%s> can't be safely cast to passed "
                            "dtype %s",
                            name, mt_default_complex_dtype() == MT_DTYPE_c64 ? "float" : "double",
                            mt_dtype_table[plan.dtype].legacy);
    if (steps < 0)
        return mt_error_set(MT_ERR_RUNTIME, "number of steps must be non-negative");
    if (plan.dtype == MT_DTYPE_b8 || mt_dtype_is_shell(plan.dtype)) {
        snprintf(kernel, sizeof(kernel), "%s_cpu", name);
        return not_implemented(kernel, plan.dtype);
    }
    return prepare_points(call, &plan, steps);
}

int mt_meta_linspace(mt_call *call)
{
    return points_between(call, "linspace");
}

int mt_meta_logspace(mt_call *call)
{
    return points_between(call, "logspace");
}

/* An end given as a tensor. */
static int bound_of(mt_scalar *out, mt_tensor *t, const char *op, const char *name)
{
    if (t->ndim != 0)
        return mt_error_set(MT_ERR_RUNTIME,
                            "%s only supports 0-dimensional start and end tensors, but got %s with %d dimension(s).",
                            op, name, t->ndim);
    return mt_item(out, t);
}

int mt_impl_linspace_tensors(mt_tensor **out, mt_tensor *start, mt_tensor *end, int64_t steps, mt_dtype dtype,
                             int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar a, b;

    *out = NULL;
    if (bound_of(&a, start, "linspace", "start") < 0 || bound_of(&b, end, "linspace", "end") < 0)
        return -1;
    return mt_linspace(out, a, b, steps, dtype, layout, device, pin_memory);
}

int mt_impl_linspace_tensor_number(mt_tensor **out, mt_tensor *start, mt_scalar end, int64_t steps, mt_dtype dtype,
                                   int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar a;

    *out = NULL;
    if (bound_of(&a, start, "linspace", "start") < 0)
        return -1;
    return mt_linspace(out, a, end, steps, dtype, layout, device, pin_memory);
}

int mt_impl_linspace_number_tensor(mt_tensor **out, mt_scalar start, mt_tensor *end, int64_t steps, mt_dtype dtype,
                                   int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar b;

    *out = NULL;
    if (bound_of(&b, end, "linspace", "end") < 0)
        return -1;
    return mt_linspace(out, start, b, steps, dtype, layout, device, pin_memory);
}

int mt_impl_logspace_tensors(mt_tensor **out, mt_tensor *start, mt_tensor *end, int64_t steps, double base,
                             mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar a, b;

    *out = NULL;
    if (bound_of(&a, start, "logspace", "start") < 0 || bound_of(&b, end, "logspace", "end") < 0)
        return -1;
    return mt_logspace(out, a, b, steps, base, dtype, layout, device, pin_memory);
}

int mt_impl_logspace_tensor_number(mt_tensor **out, mt_tensor *start, mt_scalar end, int64_t steps, double base,
                                   mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar a;

    *out = NULL;
    if (bound_of(&a, start, "logspace", "start") < 0)
        return -1;
    return mt_logspace(out, a, end, steps, base, dtype, layout, device, pin_memory);
}

int mt_impl_logspace_number_tensor(mt_tensor **out, mt_scalar start, mt_tensor *end, int64_t steps, double base,
                                   mt_dtype dtype, int layout, mt_device device, const bool *pin_memory)
{
    mt_scalar b;

    *out = NULL;
    if (bound_of(&b, end, "logspace", "end") < 0)
        return -1;
    return mt_logspace(out, start, b, steps, base, dtype, layout, device, pin_memory);
}

/* --- triangles: (row, col, offset, ...) --- */

/* sum of the integers a .. b - 1, a >= 0; true: overflow */
static bool sum_of_range(int64_t *out, int64_t a, int64_t b)
{
    int64_t n = b - a, twice = a + b - 1;

    if (n <= 0) {
        *out = 0;
        return false;
    }
    return n % 2 == 0 ? mt_mul_overflow(n / 2, twice, out) : mt_mul_overflow(n, twice / 2, out);
}

/* Elements (i, j) with j <= i + offset. */
static bool count_lower(int64_t *out, int64_t row, int64_t col, int64_t offset)
{
    int64_t shift, first, full, slope, rest;

    if (offset < -row)
        offset = -row;
    if (offset > col)
        offset = col;
    shift = offset + 1; /* row i has clamp(i + shift, 0, col) of them */
    first = shift < 0 ? -shift : 0;
    full = col - shift < first ? first : col - shift; /* from here on every row is full */
    if (full > row)
        full = row;
    if (first > full)
        first = full;
    return sum_of_range(&slope, first + shift, full + shift) || mt_mul_overflow(row - full, col, &rest) ||
           mt_add_overflow(slope, rest, out);
}

static int prepare_triangle(mt_call *call, bool lower)
{
    int64_t row = mt_arg_int(&call->arg[0]), col = mt_arg_int(&call->arg[1]), offset = mt_arg_int(&call->arg[2]);
    int64_t n = 0, below = 0;
    range_plan plan;
    bool overflow;

    if (plan_options(&plan, call, MT_DTYPE_i64) < 0)
        return -1;
    if (row < 0)
        return mt_error_set(MT_ERR_RUNTIME, "row must be non-negative, got%lld", (long long)row);
    if (col < 0)
        return mt_error_set(MT_ERR_RUNTIME, "col must be non-negative, got%lld", (long long)col);
    if (!mt_dtype_is_integral(plan.dtype, false) || mt_dtype_is_shell(plan.dtype))
        return not_implemented(lower ? "tril_indices" : "triu_indices", plan.dtype);
    if (row > INT64_MAX / 4 || col > INT64_MAX / 4)
        overflow = true;
    else if (lower)
        overflow = count_lower(&n, row, col, offset);
    else
        overflow =
            mt_mul_overflow(row, col, &n) || count_lower(&below, row, col, offset > INT64_MIN ? offset - 1 : offset);
    if (overflow)
        return mt_error_set(MT_ERR_RUNTIME, "numel: integer multiplication overflow");
    n -= below;
    return mt_out_prepare(call, 0, plan.dtype, 2, (const int64_t[]){2, n}, NULL, plan.device, true);
}

int mt_meta_tril_indices(mt_call *call)
{
    return prepare_triangle(call, true);
}

int mt_meta_triu_indices(mt_call *call)
{
    return prepare_triangle(call, false);
}

/* tril and triu themselves: contiguous results. */
int mt_meta_tril(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]);

    if (self->ndim < 2)
        return mt_error_set(MT_ERR_RUNTIME, "%s: input tensor must have at least 2 dimensions", call->op->name);
    return mt_out_prepare(call, 0, (mt_dtype)self->dtype, self->ndim, self->size, NULL, self->device, true);
}
