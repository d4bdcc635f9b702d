/* SPDX-License-Identifier: BSD-3-Clause */
/* The pointwise kernel and the short road, with a few loops of this file: promotion, output order,
   in-place and out forms, numbers, missing loops. */
#include "check.h"

#include "core/iter.h"
#include "math/scalar.h"
#include "ops/meta.h"

/* --- loops: out = a + p * b for four dtypes; negation; comparison; selection --- */

#define ADD_LOOP(name, type, compute, load, store)                                             \
    static void name(char *const *d, const int64_t *s, int64_t n, const void *params)          \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++)                                                        \
            *(type *)(d[0] + i * s[0]) =                                                       \
                store((compute)(load(*(type *)(d[1] + i * s[1])) +                             \
                                *(const compute *)params * load(*(type *)(d[2] + i * s[2])))); \
    }
#define SAME(x) (x)
ADD_LOOP(add_f32, float, float, SAME, SAME)
ADD_LOOP(add_f64, double, double, SAME, SAME)
ADD_LOOP(add_i32, int32_t, int32_t, SAME, SAME)
ADD_LOOP(add_i8, int8_t, int8_t, SAME, SAME)
ADD_LOOP(add_f16, uint16_t, float, mt_f16_to_f32, mt_f32_to_f16)

static void neg_f32(char *const *d, const int64_t *s, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++)
        *(float *)(d[0] + i * s[0]) = -*(float *)(d[1] + i * s[1]);
}

static void less_f32(char *const *d, const int64_t *s, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++)
        *(d[0] + i * s[0]) = *(float *)(d[1] + i * s[1]) < *(float *)(d[2] + i * s[2]);
}

static void where_f32(char *const *d, const int64_t *s, int64_t n, const void *params)
{
    (void)params;
    for (int64_t i = 0; i < n; i++)
        *(float *)(d[0] + i * s[0]) = d[1][i * s[1]] ? *(float *)(d[2] + i * s[2]) : *(float *)(d[3] + i * s[3]);
}

static const mt_loop_row binary_rows[] = {{[MT_DTYPE_f32] = add_f32,
                                           [MT_DTYPE_f64] = add_f64,
                                           [MT_DTYPE_i32] = add_i32,
                                           [MT_DTYPE_i8] = add_i8,
                                           [MT_DTYPE_f16] = add_f16}};
static const mt_loop_row unary_rows[] = {{[MT_DTYPE_f32] = neg_f32}};
static const mt_loop_row compare_rows[] = {{[MT_DTYPE_f32] = less_f32}};
static const mt_loop_row ternary_rows[] = {{[MT_DTYPE_f32] = where_f32}};

/* --- ops --- */

static const mt_arg_spec add_args[] = {
    {.name = "self", .kind = MT_ARG_TENSOR},
    {.name = "other", .kind = MT_ARG_TENSOR},
    {.name = "alpha", .kind = MT_ARG_SCALAR, .dflt = {MT_ARG_SCALAR, {.scalar = {MT_CAT_INT, 0, {1}}}}},
};
static const mt_pointwise_spec add_spec = {
    MT_FAMILY_BINARY, MT_PROMOTE_DEFAULT, 0, 2, {0, 1}, 1, {2}, 0xffff, 0.25f, false, {0}, {0}};
static const mt_op add = {
    .name = "add",
    .overload = "Tensor",
    .args = add_args,
    .n_args = 3,
    .n_outs = 1,
    .meta = mt_meta_pointwise,
    .pointwise = &add_spec,
    .kernel = {[MT_KEY_CPU] = mt_pointwise_kernel, [MT_KEY_VIEW_INPLACE] = mt_view_inplace_kernel}};
static const mt_op plus = {.name = "plus",
                           .args = add_args,
                           .n_args = 3,
                           .n_outs = 1,
                           .pointwise = &add_spec,
                           .kernel = {[MT_KEY_CPU] = mt_pointwise_kernel}};
static const mt_pointwise_spec neg_spec = {
    MT_FAMILY_UNARY, MT_PROMOTE_FLOAT, 0, 1, {0}, 0, {0}, 0xffff, 0.25f, false, {0}, {0}};
static const mt_op neg = {.name = "neg",
                          .args = add_args,
                          .n_args = 1,
                          .n_outs = 1,
                          .pointwise = &neg_spec,
                          .meta = mt_meta_pointwise,
                          .kernel = {[MT_KEY_CPU] = mt_pointwise_kernel}};
static const mt_pointwise_spec less_spec = {
    MT_FAMILY_COMPARE, MT_PROMOTE_COMPARE, 0, 2, {0, 1}, 0, {0}, 0xffff, 0.25f, false, {0}, {0}};
static const mt_op less = {.name = "lt",
                           .args = add_args,
                           .n_args = 2,
                           .n_outs = 1,
                           .pointwise = &less_spec,
                           .kernel = {[MT_KEY_CPU] = mt_pointwise_kernel}};
static const mt_pointwise_spec where_spec = {
    MT_FAMILY_TERNARY, MT_PROMOTE_WHERE, 0, 3, {0, 1, 2}, 0, {0}, 0xffff, 0.25f, false, {0}, {0}};
static const mt_op where = {.name = "where",
                            .args = add_args,
                            .n_args = 3,
                            .n_outs = 1,
                            .pointwise = &where_spec,
                            .kernel = {[MT_KEY_CPU] = mt_pointwise_kernel}};

static mt_value tensor(mt_tensor *t)
{
    return (mt_value){MT_ARG_TENSOR, {.tensor = t}};
}

static mt_value number(mt_scalar s)
{
    return (mt_value){MT_ARG_SCALAR, {.scalar = s}};
}

static int call_op(mt_tensor **result, const mt_op *op, mt_variant variant, mt_tensor *out, mt_value a, mt_value b,
                   mt_value c)
{
    mt_value args[3] = {a, b, c};
    mt_call call;
    int rc;

    mt_call_init(&call, op, variant);
    for (int i = 0; i < op->n_args; i++)
        call.arg[i] = args[i];
    if (out)
        call.out[0] = mt_tensor_ref(out);
    rc = mt_dispatch(&call);
    *result = rc == 0 ? mt_tensor_move(&call.out[0]) : NULL;
    mt_call_clear(&call);
    return rc;
}

static const mt_value one = {MT_ARG_SCALAR, {.scalar = {MT_CAT_INT, 0, {1}}}};
static const mt_value none = {MT_ARG_NONE, {0}};

/* a + b; gives dtype and a few values back and drops the result. */
static bool sum_is(mt_value a, mt_value b, mt_dtype dtype, int64_t at, double value)
{
    mt_tensor *r;
    bool ok;

    if (call_op(&r, &add, MT_VARIANT_FUNCTION, NULL, a, b, one) < 0)
        return false;
    ok = r->dtype == (uint8_t)dtype && number_at(r, at) == value && !mt_tensor_is_wrapped_number(r);
    mt_tensor_unref(r);
    return ok;
}

static void test_promotion(void)
{
    mt_tensor *f = make_range(MT_DTYPE_f32, 2, SIZES(2, 3)), *d = make_range(MT_DTYPE_f64, 1, SIZES(3));
    mt_tensor *i = make_range(MT_DTYPE_i32, 2, SIZES(2, 1)), *tiny = make_range(MT_DTYPE_i8, 1, SIZES(3)), *zero, *r;
    mt_tensor *h = make_range(MT_DTYPE_f16, 1, SIZES(3)), *b = make_range(MT_DTYPE_b8, 1, SIZES(3));

    CHECK(mt_tensor_full_0d(&zero, mt_scalar_from_double(0.5), MT_DTYPE_f64, MT_CPU) == 0);
    CHECK(sum_is(tensor(f), tensor(d), MT_DTYPE_f64, 5, 7));
    CHECK(sum_is(tensor(f), tensor(i), MT_DTYPE_f32, 5, 6));
    CHECK(sum_is(tensor(f), tensor(zero), MT_DTYPE_f32, 5, 5.5));
    CHECK(sum_is(tensor(i), tensor(zero), MT_DTYPE_f64, 1, 1.5));
    CHECK(sum_is(tensor(tiny), number(mt_scalar_from_int(200)), MT_DTYPE_i8, 1, -55));
    CHECK(sum_is(tensor(tiny), number(mt_scalar_from_double(0.25)), MT_DTYPE_f32, 2, 2.25));
    CHECK(sum_is(number(mt_scalar_from_double(1)), number(mt_scalar_from_double(2)), MT_DTYPE_f32, 0, 3));
    /* 2 + 2047.06 is 2049.06, nearest half 2050; "plus" first rounds the number to 2047, then 2049
       to 2048 */
    CHECK(sum_is(tensor(h), number(mt_scalar_from_double(2047.06)), MT_DTYPE_f16, 2, 2050));
    CHECK(call_op(&r, &plus, MT_VARIANT_FUNCTION, NULL, tensor(h), number(mt_scalar_from_double(2047.06)), one) == 0 &&
          number_at(r, 2) == 2048);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, &add, MT_VARIANT_FUNCTION, NULL, tensor(b), tensor(b), one), MT_ERR_NOT_IMPLEMENTED,
                "\"add_stub\" not implemented for 'Bool'");
    CHECK(call_op(&r, &neg, MT_VARIANT_FUNCTION, NULL, tensor(i), none, none) == 0 && r->dtype == MT_DTYPE_f32 &&
          number_at(r, 1) == -1);
    mt_tensor_unref(r);
    CHECK(call_op(&r, &less, MT_VARIANT_FUNCTION, NULL, tensor(f), tensor(i), none) == 0 && r->dtype == MT_DTYPE_b8 &&
          number_at(r, 0) == 0 && number_at(r, 3) == 0);
    mt_tensor_unref(r);
    CHECK(call_op(&r, &where, MT_VARIANT_FUNCTION, NULL, tensor(b), tensor(f), number(mt_scalar_from_int(9))) == 0 &&
          number_at(r, 0) == 9 && number_at(r, 4) == 4);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, &where, MT_VARIANT_FUNCTION, NULL, tensor(f), tensor(f), tensor(f)), MT_ERR_RUNTIME,
                "where expected condition to be a boolean tensor, but got a tensor with dtype Float");
    CHECK_ERROR(
        call_op(&r, &where, MT_VARIANT_FUNCTION, NULL, tensor(b), tensor(f), number(mt_scalar_from_double(1e300))),
        MT_ERR_RUNTIME, "cannot be converted");
    mt_tensor_unref(f);
    mt_tensor_unref(d);
    mt_tensor_unref(i);
    mt_tensor_unref(tiny);
    mt_tensor_unref(zero);
    mt_tensor_unref(h);
    mt_tensor_unref(b);
}

static bool stride_is(mt_tensor *a, mt_tensor *b, int64_t s0, int64_t s1, int64_t s2)
{
    mt_tensor *r;
    bool ok;

    if (call_op(&r, &add, MT_VARIANT_FUNCTION, NULL, tensor(a), tensor(b), one) < 0)
        return false;
    ok = r->stride[0] == s0 && r->stride[1] == s1 && (r->ndim < 3 || r->stride[2] == s2);
    for (int64_t i = 0; i < r->numel && ok && a->numel == r->numel && b->numel == r->numel; i++)
        ok = number_at(r, i) == number_at(a, i) + number_at(b, i);
    mt_tensor_unref(r);
    return ok;
}

static void test_order(void)
{
    mt_tensor *base = make_range(MT_DTYPE_f32, 2, SIZES(3, 2)), *t = transposed(base),
              *c = make_range(MT_DTYPE_f32, 2, SIZES(2, 3));
    mt_tensor *cube = make_range(MT_DTYPE_f32, 3, SIZES(2, 3, 4)),
              *p = view(cube, 3, SIZES(4, 2, 3), SIZES(1, 12, 4), 0);
    mt_tensor *row = make_range(MT_DTYPE_f32, 1, SIZES(3)), *column = make_range(MT_DTYPE_f32, 3, SIZES(4, 1, 1));

    CHECK(stride_is(t, c, 1, 2, 0) && stride_is(c, t, 3, 1, 0));
    CHECK(stride_is(p, row, 1, 12, 4) && stride_is(row, p, 1, 12, 4) && stride_is(column, p, 1, 12, 4));
    CHECK(stride_is(p, p, 1, 12, 4));
    mt_tensor_unref(base);
    mt_tensor_unref(t);
    mt_tensor_unref(c);
    mt_tensor_unref(cube);
    mt_tensor_unref(p);
    mt_tensor_unref(row);
    mt_tensor_unref(column);
}

static void test_forms(void)
{
    mt_tensor *f = make_range(MT_DTYPE_f32, 2, SIZES(2, 3)), *row = make_range(MT_DTYPE_f32, 1, SIZES(3)), *r;
    mt_tensor *d = make(MT_DTYPE_f64, 1, SIZES(0)), *i = make_range(MT_DTYPE_i32, 1, SIZES(3)), *m;

    CHECK(call_op(&r, &add, MT_VARIANT_INPLACE, f, tensor(f), tensor(row), number(mt_scalar_from_int(10))) == 0 &&
          r == f);
    CHECK(number_at(f, 5) == 25 && mt_tensor_version(f) == 1);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, &add, MT_VARIANT_INPLACE, row, tensor(row), tensor(f), one), MT_ERR_RUNTIME,
                "output with shape [3] doesn't match the broadcast shape [2, 3]");
    CHECK(call_op(&r, &add, MT_VARIANT_OUT, d, tensor(row), tensor(row), one) == 0 && d->numel == 3 &&
          number_at(d, 2) == 4);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, &add, MT_VARIANT_INPLACE, i, tensor(i), number(mt_scalar_from_double(1.5)), one),
                MT_ERR_RUNTIME, "result type Float can't be cast to the desired output type Int");
    CHECK(call_op(&r, &less, MT_VARIANT_INPLACE, row, tensor(row), number(mt_scalar_from_int(1)), none) == 0 &&
          number_at(row, 0) == 1 && number_at(row, 2) == 0);
    mt_tensor_unref(r);
    CHECK(mt_tensor_new(&m, MT_DTYPE_f32, 1, SIZES(3), MT_META) == 0);
    CHECK_ERROR(call_op(&r, &add, MT_VARIANT_FUNCTION, NULL, tensor(row), tensor(m), one), MT_ERR_RUNTIME,
                "Expected all tensors to be on the same device, but found at least two devices, meta and "
                "cpu!");
    CHECK(call_op(&r, &add, MT_VARIANT_FUNCTION, NULL, tensor(m), number(mt_scalar_from_int(1)), one) == 0 &&
          r->device.type == MT_DEVICE_META && r->dtype == MT_DTYPE_f32);
    mt_tensor_unref(r);
    mt_tensor_unref(m);
    mt_tensor_unref(f);
    mt_tensor_unref(row);
    mt_tensor_unref(d);
    mt_tensor_unref(i);
}

static void test_short_road(void)
{
    mt_tensor *a = make_range(MT_DTYPE_f32, 2, SIZES(2, 3)), *b = make_range(MT_DTYPE_f32, 2, SIZES(2, 3)), *r = NULL;
    mt_tensor *t = transposed(a), *big = make_range(MT_DTYPE_f32, 1, SIZES(300000)), *zero,
              *d = make(MT_DTYPE_f64, 1, SIZES(2));

    CHECK(mt_tensor_full_0d(&zero, mt_scalar_from_int(5), MT_DTYPE_f32, MT_CPU) == 0);
    CHECK(mt_fast_binary(&r, &add, a, b) == 1 && r->ndim == 2 && number_at(r, 5) == 10);
    mt_tensor_clear(&r);
    CHECK(mt_fast_binary(&r, &add, zero, b) == 1 && r->ndim == 2 && number_at(r, 5) == 10);
    mt_tensor_clear(&r);
    CHECK(mt_fast_binary(&r, &less, a, zero) == 1 && r->dtype == MT_DTYPE_b8 && number_at(r, 4) == 1 &&
          number_at(r, 5) == 0);
    mt_tensor_clear(&r);
    CHECK(mt_fast_binary_scalar(&r, &add, a, mt_scalar_from_int(2), false) == 1 && number_at(r, 5) == 7);
    mt_tensor_clear(&r);
    CHECK(mt_fast_binary_scalar(&r, &less, a, mt_scalar_from_double(2.5), true) == 1 && number_at(r, 2) == 0 &&
          number_at(r, 3) == 1);
    mt_tensor_clear(&r);
    CHECK(mt_fast_unary(&r, &neg, big) == 1 && number_at(r, 299999) == -299999 && big->storage->pins == 0);
    mt_tensor_clear(&r);
    r = a;
    CHECK(mt_fast_binary(&r, &add, a, b) == 1 && r == a && number_at(a, 5) == 10 && mt_tensor_version(a) == 1);
    r = NULL;
    CHECK(mt_fast_binary(&r, &add, a, t) == 0 && mt_fast_binary(&r, &add, a, d) == 0 &&
          mt_fast_binary(&r, &add, a, big) == 0);
    CHECK(mt_fast_unary(&r, &neg, d) == 0 &&
          mt_fast_binary_scalar(&r, &add, a, mt_scalar_from_complex(0, 1), false) == 0);
    mt_tensor_mark_requires_grad(a, true);
    CHECK(mt_fast_binary(&r, &add, a, b) == 0 && mt_fast_binary(&r, &add, b, a) == 0);
    mt_thread.grad_mode = false;
    CHECK(mt_fast_binary(&r, &add, a, b) == 1);
    mt_tensor_clear(&r);
    r = a;
    CHECK(mt_fast_binary(&r, &add, a, b) == 0);
    r = NULL;
    mt_thread.grad_mode = true;
    mt_thread.slow = MT_SLOW_MODE;
    CHECK(mt_fast_binary(&r, &add, b, b) == 0 && r == NULL);
    mt_thread.slow = 0;
    mt_tensor_unref(a);
    mt_tensor_unref(b);
    mt_tensor_unref(t);
    mt_tensor_unref(big);
    mt_tensor_unref(zero);
    mt_tensor_unref(d);
}

int main(void)
{
    use_casts();
    mt_loop_tables[MT_DEVICE_CPU][MT_FAMILY_BINARY] = binary_rows;
    mt_loop_tables[MT_DEVICE_CPU][MT_FAMILY_UNARY] = unary_rows;
    mt_loop_tables[MT_DEVICE_CPU][MT_FAMILY_COMPARE] = compare_rows;
    mt_loop_tables[MT_DEVICE_CPU][MT_FAMILY_TERNARY] = ternary_rows;
    test_promotion();
    test_order();
    test_forms();
    test_short_road();
    return check_done();
}
