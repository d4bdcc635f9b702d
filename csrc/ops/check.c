/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks in front of pointwise kernels (`check:` in the catalog): what the arguments must be beyond their types. They
   run before the first write, read values only to find zero divisors, and change nothing. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/dispatch.h"
#include "core/frame.h"
#include "core/shape.h"
#include "cpu/copy.h"
#include "create.h"
#include "kernels.h"
#include "ops.h"

/* The common dtype of the operands at the given argument positions; numbers count as wrapped numbers. */
static int common_dtype(mt_dtype *out, const mt_call *call, int first, int last)
{
    mt_promotion p = MT_PROMOTION_INIT;

    for (int i = first; i <= last; i++) {
        const mt_value *a = &call->arg[i];

        if (a->kind == MT_ARG_TENSOR)
            mt_promotion_add(&p, (mt_dtype)a->v.tensor->dtype, a->v.tensor->ndim,
                             mt_tensor_is_wrapped_number(a->v.tensor));
        else if (a->kind == MT_ARG_SCALAR)
            mt_promotion_add(&p, mt_scalar_dtype(a->v.scalar), 0, true);
    }
    return mt_promotion_result(out, &p);
}

static mt_dtype operand_dtype(const mt_value *a)
{
    return a->kind == MT_ARG_TENSOR ? (mt_dtype)a->v.tensor->dtype : mt_scalar_dtype(a->v.scalar);
}

/* --- what differentiation forbids --- */

/* The tensors that the gradient lines do not name are constants. */
int mt_check_constants(mt_call *call)
{
    const mt_grad *grad = call->op->grad;
    int rc = -1;

    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        bool named = false;

        for (int k = 0; k < grad->n_inputs; k++)
            named |= grad->input[k] == i;
        MT_REQUIRE(named || a->kind != MT_ARG_TENSOR || !mt_thread.grad_mode || !mt_tensor_requires_grad(a->v.tensor),
                   MT_ERR_RUNTIME,
                   "The function '%s' is not differentiable with respect to argument '%s'. This input cannot have "
                   "requires_grad True.",
                   call->op->name, call->op->args[i].name);
    }
    rc = 0;
fail:
    return rc;
}

int mt_check_no_complex_gradient(mt_call *call)
{
    const mt_tensor *t = mt_arg_tensor(&call->arg[0]);
    int rc = -1;

    MT_REQUIRE(!mt_thread.grad_mode || !mt_dtype_is_complex((mt_dtype)t->dtype) || !mt_tensor_requires_grad(t),
               MT_ERR_RUNTIME, "%s does not support automatic differentiation for outputs with complex dtype.",
               call->op->name);
    rc = 0;
fail:
    return rc;
}

static int check_alpha(const mt_call *call)
{
    mt_scalar alpha = call->arg[2].v.scalar;
    mt_dtype d;
    int rc = -1;

    if (alpha.category == MT_CAT_INT)
        return 0;
    MT_TRY(common_dtype(&d, call, 0, 1));
    MT_REQUIRE(alpha.category != MT_CAT_BOOL || d == MT_DTYPE_b8, MT_ERR_RUNTIME,
               "Boolean alpha only supported for Boolean results.");
    MT_REQUIRE(alpha.category != MT_CAT_FLOAT || !mt_dtype_is_integral(d, true), MT_ERR_RUNTIME,
               "For integral input tensors, argument alpha must not be a floating point number.");
    MT_REQUIRE(alpha.category != MT_CAT_COMPLEX || mt_dtype_is_complex(d), MT_ERR_RUNTIME,
               "For non-complex input tensors, argument alpha must not be a complex number.");
    rc = 0;
fail:
    return rc;
}

int mt_check_add(mt_call *call)
{
    return check_alpha(call);
}

int mt_check_sub(mt_call *call)
{
    bool a = operand_dtype(&call->arg[0]) == MT_DTYPE_b8, b = operand_dtype(&call->arg[1]) == MT_DTYPE_b8;
    int rc = -1;

    MT_REQUIRE(!(a && b), MT_ERR_RUNTIME,
               "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
               "operator instead.");
    MT_REQUIRE(
        !a && !b, MT_ERR_RUNTIME,
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, "
        "use the `~` or `logical_not()` operator instead.");
    MT_TRY(check_alpha(call));
    rc = 0;
fail:
    return rc;
}

/* A number or a tensor without dimensions may lose all its bits on the way to a narrow dtype. */
static bool is_zero_as(mt_dtype d, const mt_value *number)
{
    char element[16];
    mt_scalar s = number->kind == MT_ARG_SCALAR
                      ? number->v.scalar
                      : mt_scalar_load(mt_tensor_const_data(number->v.tensor), (mt_dtype)number->v.tensor->dtype);

    mt_scalar_store(element, d, s);
    return !mt_scalar_is_true(mt_scalar_load(element, d));
}

/* A zero among the divisors of an integer division. The divisor is argument 1. Bools have no division at all, and without
   elements there is nothing to divide. */
int mt_check_integer_division(mt_call *call)
{
    const mt_value *divisor = &call->arg[1];
    mt_dtype d;
    bool zero;

    if (common_dtype(&d, call, 0, 1) < 0)
        return -1;
    if (!mt_dtype_is_integral(d, false))
        return 0;
    for (int i = 0; i < 2; i++)
        if (call->arg[i].kind == MT_ARG_TENSOR && call->arg[i].v.tensor->numel == 0)
            return 0;
    if (divisor->kind == MT_ARG_TENSOR && divisor->v.tensor->device.type != MT_DEVICE_CPU)
        return 0;
    if (divisor->kind == MT_ARG_TENSOR && divisor->v.tensor->ndim > 0)
        zero = mt_cpu_any_zero(divisor->v.tensor);
    else
        zero = is_zero_as(d, divisor);
    return zero ? mt_error_set(MT_ERR_RUNTIME, "ZeroDivisionError") : 0;
}

int mt_check_pow(mt_call *call)
{
    const mt_value *base = &call->arg[0], *exponent = &call->arg[1];
    mt_dtype d;

    if (exponent->kind == MT_ARG_SCALAR && exponent->v.scalar.category <= MT_CAT_INT && base->kind == MT_ARG_TENSOR &&
        mt_dtype_is_integral((mt_dtype)base->v.tensor->dtype, true) && exponent->v.scalar.v.i < 0 &&
        !exponent->v.scalar.is_unsigned)
        return mt_error_set(MT_ERR_RUNTIME, "Integers to negative integer powers are not allowed.");
    if (exponent->kind != MT_ARG_SCALAR)
        return 0;
    if (common_dtype(&d, call, 0, 1) < 0)
        return -1;
    /* only integers and halves take the exponent as an element */
    return mt_dtype_is_integral(d, false) || mt_dtype_size(d) == 2 ? mt_scalar_check(d, exponent->v.scalar) : 0;
}

int mt_check_polygamma(mt_call *call)
{
    if (call->arg[0].v.i < 0)
        return mt_error_set(MT_ERR_RUNTIME, "polygamma(n, x) does not support negative n.");
    return 0;
}

int mt_check_complex(mt_call *call)
{
    mt_dtype a = operand_dtype(&call->arg[0]), b = operand_dtype(&call->arg[1]);
    bool good_a = mt_dtype_is_float(a) && a != MT_DTYPE_bf16, good_b = mt_dtype_is_float(b) && b != MT_DTYPE_bf16;
    int rc = -1;

    MT_REQUIRE(good_a && good_b, MT_ERR_RUNTIME,
               "Expected both inputs to be Half, Float or Double tensors but got %s and %s", mt_dtype_table[a].legacy,
               mt_dtype_table[b].legacy);
    MT_REQUIRE(a == b, MT_ERR_RUNTIME, "Expected object of scalar type %s but got scalar type %s for second argument",
               mt_dtype_table[a].legacy, mt_dtype_table[b].legacy);
    rc = 0;
fail:
    return rc;
}

int mt_check_equal(mt_call *call)
{
    mt_tensor *a = mt_arg_tensor(&call->arg[0]), *b = mt_arg_tensor(&call->arg[1]);

    if (a->device.type == MT_DEVICE_META || b->device.type == MT_DEVICE_META)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED,
                            "aten::equal: attempted to run this operator with Meta tensors, but there was no fake impl "
                            "or Meta kernel registered for this operator");
    if (!mt_device_equal(a->device, b->device))
        return mt_error_set(MT_ERR_RUNTIME, "Expected all tensors to be on the same device");
    return 0;
}

int mt_check_where(mt_call *call)
{
    mt_tensor *condition = mt_arg_tensor(&call->arg[0]);
    static bool warned;

    if (condition->dtype == MT_DTYPE_b8)
        return 0;
    if (condition->dtype == MT_DTYPE_u8)
        return mt_warn_once(
            &warned, MT_WARN_USER,
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in "
            "a future version of PyTorch. Use a boolean condition instead.");
    return mt_error_set(MT_ERR_RUNTIME,
                        "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
                        mt_dtype_table[condition->dtype].legacy);
}

int mt_check_clamp(mt_call *call)
{
    if (call->arg[1].kind == MT_ARG_NONE && call->arg[2].kind == MT_ARG_NONE)
        return mt_error_set(MT_ERR_RUNTIME, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (mt_dtype_is_complex(operand_dtype(&call->arg[0])))
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types");
    if (!mt_dtype_is_integral(operand_dtype(&call->arg[0]), true)) /* limits of integers take part in promotion */
        for (int i = 1; i < 3; i++)
            if (call->arg[i].kind == MT_ARG_SCALAR && mt_scalar_check(MT_DTYPE_f64, call->arg[i].v.scalar) < 0)
                return -1;
    return 0;
}

int mt_check_clamp_limit(mt_call *call)
{
    if (mt_dtype_is_complex(operand_dtype(&call->arg[0])) || call->arg[1].v.scalar.category == MT_CAT_COMPLEX)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED, "clamp is not supported for complex types");
    return 0;
}

int mt_check_addcdiv(mt_call *call)
{
    if (mt_dtype_is_integral(operand_dtype(&call->arg[1]), true) &&
        mt_dtype_is_integral(operand_dtype(&call->arg[2]), true))
        return mt_error_set(
            MT_ERR_RUNTIME,
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
            "perform a true division of tensor1 and tensor2. Use addcdiv with floating point tensors, or "
            "(input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for truncation.");
    return 0;
}

/* masked_fill_ of expanded memory is deprecated, not refused: it fills a copy, which is written back. */
static int apart_from_expanded(mt_call *call)
{
    mt_tensor *self = call->out[0], *copy = NULL;

    if (MT_LIKELY(mt_overlap_internal(self) != MT_OVERLAP_YES))
        return 0;
    if (mt_warn(MT_WARN_USER,
                "Use of masked_fill_ on expanded tensors is deprecated. Please clone() the tensor before performing "
                "this operation. This also applies to advanced indexing e.g. tensor[mask] = scalar") < 0 ||
        mt_tensor_materialize(&copy, self) < 0)
        return -1;
    call->user_out[0] = self;
    call->out[0] = copy;
    return 0;
}

/* A value without dimensions must fit as a number must. */
static int fits_as_number(const mt_tensor *self, const mt_tensor *value)
{
    mt_scalar s;

    if (value->dtype == self->dtype || value->device.type != MT_DEVICE_CPU)
        return 0;
    return mt_tensor_item(&s, value) < 0 ? -1 : mt_scalar_check((mt_dtype)self->dtype, s);
}

int mt_check_masked_fill(mt_call *call)
{
    mt_tensor *mask = mt_arg_tensor(&call->arg[1]), *value = mt_arg_tensor(&call->arg[2]);

    if (mask->dtype != MT_DTYPE_b8)
        return mt_error_set(MT_ERR_RUNTIME, "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                            mt_dtype_element((mt_dtype)mask->dtype));
    if (call->arg[2].kind == MT_ARG_TENSOR && value->ndim != 0)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
            value->ndim);
    if (call->arg[2].kind == MT_ARG_TENSOR && fits_as_number(mt_arg_tensor(&call->arg[0]), value) < 0)
        return -1;
    return call->variant == MT_VARIANT_INPLACE ? apart_from_expanded(call) : 0;
}

int mt_check_neg(mt_call *call)
{
    if (operand_dtype(&call->arg[0]) == MT_DTYPE_b8)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
            "mask, use the `~` or `logical_not()` operator instead.");
    return 0;
}

int mt_check_relu(mt_call *call)
{
    if (operand_dtype(&call->arg[0]) == MT_DTYPE_b8)
        return mt_error_set(MT_ERR_RUNTIME, "Boolean inputs not supported for relu");
    return 0;
}

int mt_check_softshrink(mt_call *call)
{
    double lambd = mt_scalar_to_double(call->arg[1].v.scalar);
    mt_dtype d = operand_dtype(&call->arg[0]);

    double greatest = d == MT_DTYPE_f64    ? DBL_MAX
                      : d == MT_DTYPE_bf16 ? 0x1.fep127
                      : d == MT_DTYPE_f16  ? 65504.0
                                           : (double)FLT_MAX;

    if (!mt_dtype_is_float(d)) /* the kernel refuses it */
        return 0;
    if (mt_scalar_check(MT_DTYPE_f64, call->arg[1].v.scalar) < 0)
        return -1;
    if (!(lambd >= 0 && lambd <= greatest))
        return mt_error_set(MT_ERR_RUNTIME, "lambda must be in range [0, %g] for input dtype %s, but found %g",
                            greatest, mt_dtype_table[d].legacy, lambd);
    return 0;
}

int mt_check_hardtanh(mt_call *call)
{
    if (operand_dtype(&call->arg[0]) == MT_DTYPE_u8 &&
        (mt_scalar_to_double(call->arg[1].v.scalar) < 0 || mt_scalar_to_double(call->arg[2].v.scalar) < 0))
        return mt_error_set(MT_ERR_RUNTIME, "cannot do hardtanh on an unsigned type with negative limits");
    return 0;
}

/* beta and alpha of addr, whose result has the dtype d. */
static int check_factor(const mt_value *factor, const char *name, mt_dtype d)
{
    mt_category category = (mt_category)factor->v.scalar.category;
    int rc = -1;

    MT_REQUIRE(category != MT_CAT_BOOL || d == MT_DTYPE_b8, MT_ERR_RUNTIME,
               "Boolean %s only supported for Boolean results.", name);
    MT_REQUIRE(category < MT_CAT_FLOAT || !mt_dtype_is_integral(d, true), MT_ERR_RUNTIME,
               "For integral input tensors, argument %s must not be a floating point number.", name);
    MT_REQUIRE(category != MT_CAT_COMPLEX || mt_dtype_is_complex(d), MT_ERR_RUNTIME,
               "For non-complex input tensors, argument %s must not be a complex number.", name);
    rc = 0;
fail:
    return rc;
}

int mt_check_addr(mt_call *call)
{
    mt_dtype d;
    int rc = -1;

    MT_TRY(common_dtype(&d, call, 0, 2));
    MT_TRY(check_factor(&call->arg[3], "beta", d));
    MT_TRY(check_factor(&call->arg[4], "alpha", d));
    rc = 0;
fail:
    return rc;
}

/* Norms of nothing that would be infinite have no value. PyTorch's text lacks a space but on meta tensors. */
static int check_norm_identity(const mt_tensor *self, double ord, mt_ints dim)
{
    int rc = -1;

    if (self->numel || !(ord < 0 || isinf(ord)))
        return 0;
    MT_REQUIRE(dim.n > 0, MT_ERR_RUNTIME,
               "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have "
               "an identity",
               ord);
    for (int i = 0; i < dim.n; i++) {
        int64_t d = dim.data[i] < 0 ? dim.data[i] + self->ndim : dim.data[i];

        MT_REQUIRE(d < 0 || d >= self->ndim || self->size[d], MT_ERR_RUNTIME,
                   "linalg.vector_norm cannot compute the %g norm on the dimension %lld%sbecause this dimension is "
                   "empty and the operation does not have an identity",
                   ord, (long long)dim.data[i], self->device.type == MT_DEVICE_META ? " " : "");
    }
    rc = 0;
fail:
    return rc;
}

/* The dtype argument of a vector norm may only widen. */
int mt_check_vector_norm(mt_call *call)
{
    static const char op[] = "linalg.vector_norm";
    mt_dtype self = operand_dtype(&call->arg[0]), d;
    int rc = -1;

    MT_REQUIRE(!mt_dtype_is_integral(self, true), MT_ERR_RUNTIME,
               "%s: Expected a floating point or complex tensor as input. Got %s", op, mt_dtype_table[self].legacy);
    MT_REQUIRE(call->arg[1].v.scalar.category != MT_CAT_COMPLEX, MT_ERR_RUNTIME,
               "%s: Expected a non-complex scalar as the order of norm.", op);
    MT_TRY(check_norm_identity(mt_arg_tensor(&call->arg[0]), mt_scalar_to_double(call->arg[1].v.scalar),
                               mt_arg_ints(&call->arg[2])));
    if (call->arg[4].kind == MT_ARG_NONE)
        return 0;
    d = mt_arg_dtype(&call->arg[4]);
    MT_REQUIRE(!mt_dtype_is_integral(d, true), MT_ERR_RUNTIME,
               "%s: dtype should be floating point or complex, but got %s", op, mt_dtype_table[d].legacy);
    MT_REQUIRE(mt_dtype_is_complex(self) == mt_dtype_is_complex(d), MT_ERR_RUNTIME,
               mt_dtype_is_complex(self) ? "%s: dtype should be complex for complex inputs, but got %s"
                                         : "%s: dtype should be real for real inputs, but got %s",
               op, mt_dtype_table[d].legacy);
    MT_REQUIRE(mt_dtype_promote(self, d) == d, MT_ERR_RUNTIME,
               "%s: the dtype of the input (%s) should be convertible without narrowing to the specified dtype (%s)",
               op, mt_dtype_table[self].legacy, mt_dtype_table[d].legacy);
    rc = 0;
fail:
    return rc;
}

/* All elements in [0, 1], NaN none of them. */
static int check_probabilities(mt_tensor *t, const char *what)
{
    mt_tensor *low = NULL, *high = NULL;
    mt_scalar first, last;
    int rc = -1;

    if (t->numel == 0 || t->device.type == MT_DEVICE_META || !mt_dtype_is_float((mt_dtype)t->dtype))
        return 0;
    MT_TRY(mt_aminmax(&low, &high, t, NULL, false));
    MT_TRY(mt_tensor_item(&first, low));
    MT_TRY(mt_tensor_item(&last, high));
    MT_REQUIRE(mt_scalar_to_double(first) >= 0.0 && mt_scalar_to_double(last) <= 1.0, MT_ERR_RUNTIME,
               "all elements of %s should be between 0 and 1", what);
    rc = 0;
fail:
    mt_tensor_clear(&low);
    mt_tensor_clear(&high);
    return rc;
}

/* out= shares no memory with an argument. */
int mt_check_apart(mt_call *call)
{
    if (call->variant != MT_VARIANT_OUT)
        return 0;
    for (int i = 0; i < call->op->n_args; i++)
        if (call->arg[i].kind == MT_ARG_TENSOR && call->arg[i].v.tensor &&
            mt_assert_no_overlap(call->out[0], call->arg[i].v.tensor) < 0)
            return -1;
    return 0;
}

int mt_check_nonzero(mt_call *call)
{
    if (mt_arg_tensor(&call->arg[0])->device.type == MT_DEVICE_META)
        return mt_error_set(MT_ERR_NOT_IMPLEMENTED,
                            "nonzero() has no kernel for the Meta backend: its shape depends on the data");
    if (call->variant == MT_VARIANT_OUT && call->out[0]->dtype != MT_DTYPE_i64)
        return mt_error_set(MT_ERR_RUNTIME,
                            "nonzero: Expected out tensor to have scalar type Long but got scalar type%s",
                            mt_dtype_table[call->out[0]->dtype].legacy);
    return mt_check_apart(call);
}

int mt_check_masked_select(mt_call *call)
{
    if (call->variant == MT_VARIANT_OUT && call->out[0]->dtype != mt_arg_tensor(&call->arg[0])->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "masked_select(): self and result must have the same scalar type");
    return mt_check_apart(call);
}

/* Argument 2 says which kind of integers the result has. */
int mt_check_searchsorted_out(mt_call *call)
{
    bool narrow = call->arg[2].v.b;

    if (call->variant == MT_VARIANT_OUT && call->out[0]->dtype != (narrow ? MT_DTYPE_i32 : MT_DTYPE_i64))
        return mt_error_set(
            MT_ERR_RUNTIME,
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
            "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype %s "
            "and out_int32 flag is %s",
            mt_dtype_table[call->out[0]->dtype].legacy, narrow ? "True" : "False");
    return 0;
}

int mt_check_binary_cross_entropy(mt_call *call)
{
    mt_tensor *self = mt_arg_tensor(&call->arg[0]), *target = mt_arg_tensor(&call->arg[1]);

    if (self->dtype != target->dtype)
        return mt_error_set(MT_ERR_RUNTIME, "Found dtype %s but expected %s", mt_dtype_table[target->dtype].legacy,
                            mt_dtype_table[self->dtype].legacy);
    return check_probabilities(self, "input") < 0 ? -1 : check_probabilities(target, "target");
}

/* float_power computes in double precision, whatever it is given, and casts nothing back. */
int mt_check_float_power(mt_call *call)
{
    bool is_complex =
        mt_dtype_is_complex(operand_dtype(&call->arg[0])) || mt_dtype_is_complex(operand_dtype(&call->arg[1]));
    mt_dtype result = is_complex ? MT_DTYPE_c128 : MT_DTYPE_f64;
    const mt_tensor *out = call->variant == MT_VARIANT_FUNCTION ? NULL : call->out[0];

    if (!out || out->dtype == (uint8_t)result)
        return 0;
    return mt_error_set(
        MT_ERR_RUNTIME, "the %s given to float_power%s has dtype %s but the operation's result requires dtype %s",
        call->variant == MT_VARIANT_INPLACE ? "base" : "output", call->variant == MT_VARIANT_INPLACE ? "_" : "",
        mt_dtype_table[out->dtype].legacy, mt_dtype_table[result].legacy);
}

int mt_check_correction(mt_call *call)
{
    for (int i = 0; i < call->n_args; i++)
        if (call->arg[i].kind == MT_ARG_SCALAR && strcmp(call->op->args[i].name, "correction") == 0)
            return mt_scalar_check(MT_DTYPE_f64, call->arg[i].v.scalar);
    return 0;
}

/* zeros on the CPU has words of its own for what other factories leave to the tensor. */
int mt_check_sizes_of_zeros(mt_call *call)
{
    mt_ints size = mt_arg_ints(&call->arg[0]);

    if (call->arg[3].kind != MT_ARG_NONE && mt_arg_device(&call->arg[3]).type != MT_DEVICE_CPU)
        return 0;
    for (int i = 0; i < size.n; i++)
        if (size.data[i] < 0)
            return mt_error_set(MT_ERR_RUNTIME, "zeros: Dimension size must be non-negative.");
    return 0;
}

/* --- memory --- */

static int check_no_partial(const mt_call *call, const mt_value *a)
{
    for (int k = 0; call->variant != MT_VARIANT_FUNCTION && a->kind == MT_ARG_TENSOR && k < call->n_outs; k++)
        if (call->out[k] && mt_assert_no_partial_overlap(call->out[k], a->v.tensor) < 0)
            return -1;
    return 0;
}

/* A given output may be an argument, but not share a part of its memory. */
int mt_check_no_partial(mt_call *call)
{
    for (int i = 0; i < call->n_args; i++)
        if (check_no_partial(call, &call->arg[i]) < 0)
            return -1;
    return 0;
}

/* The same of the first argument alone, when it is not broadcast. */
int mt_check_no_partial_self(mt_call *call)
{
    const mt_tensor *out = call->n_outs ? call->out[0] : NULL, *self = mt_arg_tensor(&call->arg[0]);

    return out && out->numel == self->numel ? check_no_partial(call, &call->arg[0]) : 0;
}

/* Of medians: the lines are read in place when they are the rows of a contiguous matrix, else from a copy. */
int mt_check_median_memory(mt_call *call)
{
    const mt_tensor *self = mt_arg_tensor(&call->arg[0]);
    int64_t step = 1, dim = mt_arg_int(&call->arg[1]);

    dim += dim < 0 ? self->ndim : 0;
    if (call->variant != MT_VARIANT_OUT || dim < 0 || dim >= self->ndim)
        return 0;
    for (int i = self->ndim; i >= 0; i--) { /* the dimension first, then the others from the last on */
        int d = i == self->ndim ? (int)dim : i;

        if (i == dim || self->size[d] == 1)
            continue;
        if (self->stride[d] != step)
            return 0;
        step *= self->size[d];
    }
    return check_no_partial(call, &call->arg[0]);
}

int mt_check_foreach_scalar(mt_call *call)
{
    const mt_tensor *t = call->arg[1].v.tensor;

    if (t->ndim == 0 && t->numel == 1)
        return 0;
    return mt_error_set(MT_ERR_RUNTIME,
                        "scalar tensor expected to be 0 dim but it has %d dimensions and %lld elements.", t->ndim,
                        (long long)t->numel);
}
