/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys, redispatch, versions, outputs of frames, lazy bits and shrunk storages. */
#include "check.h"

static char trace[256];
static int meta_allows_alias = 1;

static void note(const char *what)
{
    strncat(trace, what, sizeof(trace) - strlen(trace) - 1);
}

static int meta_rule(mt_call *call)
{
    const mt_tensor *t = call->arg[0].v.tensor;

    note("m");
    return mt_out_prepare(call, 0, MT_DTYPE_f32, t->ndim, t->size, NULL, t->device, meta_allows_alias);
}

/* out = self + 1, element by element through doubles; refuses when the first element is 99 */
static int plus_one(mt_call *call)
{
    mt_tensor *self = call->arg[0].v.tensor;
    int rc = -1;

    note("c");
    MT_TRY(call->op->meta(call));
    MT_REQUIRE(self->numel == 0 || number_at(self, 0) != 99, MT_ERR_VALUE, "plus_one(): 99");
    for (int64_t i = 0; i < self->numel; i++)
        set_number(call->out[0], i, number_at(self, i) + 1);
    rc = mt_out_finish(call);
fail:
    return rc;
}

static int autograd(mt_call *call)
{
    note("a");
    return mt_redispatch(call, MT_KEY_AUTOGRAD);
}

static const mt_op op = {
    .name = "plus_one",
    .overload = "",
    .n_args = 1,
    .n_outs = 1,
    .flags = MT_OPF_INPLACE_OK | MT_OPF_OUT_OK,
    .meta = meta_rule,
    .kernel = {[MT_KEY_CPU] = plus_one, [MT_KEY_VIEW_INPLACE] = mt_view_inplace_kernel, [MT_KEY_AUTOGRAD] = autograd},
};

/* Runs the op; out NULL: function. Gives a new reference in *result. */
static int call_op(mt_tensor **result, mt_variant variant, mt_tensor *self, mt_tensor *out)
{
    mt_call call;
    int rc;

    trace[0] = '\0';
    mt_call_init(&call, &op, variant);
    call.arg[0].kind = MT_ARG_TENSOR;
    call.arg[0].v.tensor = self;
    if (out)
        call.out[0] = mt_tensor_ref(out);
    rc = mt_dispatch(&call);
    *result = rc == 0 ? mt_tensor_move(&call.out[0]) : NULL;
    mt_call_clear(&call);
    return rc;
}

static void test_keys(void)
{
    mt_tensor *t = make_range(MT_DTYPE_f32, 1, SIZES(3)), *r, *m;

    CHECK(call_op(&r, MT_VARIANT_FUNCTION, t, NULL) == 0 && strcmp(trace, "cm") == 0 && number_at(r, 2) == 3);
    mt_tensor_unref(r);
    mt_tensor_mark_requires_grad(t, true);
    CHECK(call_op(&r, MT_VARIANT_FUNCTION, t, NULL) == 0 && strcmp(trace, "acm") == 0);
    mt_tensor_unref(r);
    mt_thread.grad_mode = false;
    CHECK(call_op(&r, MT_VARIANT_FUNCTION, t, NULL) == 0 && strcmp(trace, "cm") == 0);
    mt_tensor_unref(r);
    CHECK(call_op(&r, MT_VARIANT_INPLACE, t, t) == 0 && strcmp(trace, "acm") == 0 && r == t);
    CHECK(mt_tensor_version(t) == 1);
    mt_tensor_unref(r);
    mt_thread.grad_mode = true;
    mt_thread.exclude = MT_KEY_BIT(MT_KEY_AUTOGRAD);
    CHECK(call_op(&r, MT_VARIANT_FUNCTION, t, NULL) == 0 && strcmp(trace, "cm") == 0);
    mt_tensor_unref(r);
    mt_thread.exclude = 0;
    mt_tensor_mark_requires_grad(t, false);
    CHECK(mt_tensor_new(&m, MT_DTYPE_f32, 1, SIZES(5), MT_META) == 0);
    CHECK(call_op(&r, MT_VARIANT_FUNCTION, m, NULL) == 0 && strcmp(trace, "m") == 0 &&
          r->device.type == MT_DEVICE_META);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, MT_VARIANT_OUT, t, m), MT_ERR_RUNTIME, "Expected out tensor to have device");
    mt_tensor_unref(m);
    mt_tensor_unref(t);
}

static char warning[400];

static int keep_warning(mt_warning_kind kind, const char *message)
{
    (void)kind;
    snprintf(warning, sizeof(warning), "%s", message);
    return 0;
}

static void test_outputs(void)
{
    mt_tensor *t = make_range(MT_DTYPE_f32, 1, SIZES(4)), *r, *out = make(MT_DTYPE_f32, 1, SIZES(2));
    mt_tensor *wide = make(MT_DTYPE_f64, 1, SIZES(4)), *narrow = make(MT_DTYPE_i32, 1, SIZES(4)), *head, *tail;
    mt_tensor *expanded = view(t, 2, SIZES(3, 4), SIZES(0, 1), 0);

    mt_warn_install(keep_warning);
    CHECK(call_op(&r, MT_VARIANT_OUT, t, out) == 0 && r == out && out->size[0] == 4 && number_at(out, 3) == 4);
    CHECK(strstr(warning, "was resized since it had shape [2], which does not match the required output shape [4]"));
    CHECK(mt_tensor_version(out) == 1);
    mt_tensor_unref(r);
    CHECK(call_op(&r, MT_VARIANT_OUT, t, wide) == 0 && r == wide && number_at(wide, 1) == 2);
    mt_tensor_unref(r);
    CHECK_ERROR(call_op(&r, MT_VARIANT_OUT, t, narrow), MT_ERR_RUNTIME,
                "result type Float can't be cast to the desired output type Int");
    CHECK_ERROR(call_op(&r, MT_VARIANT_INPLACE, narrow, narrow), MT_ERR_RUNTIME, "can't be cast");
    CHECK(mt_tensor_version(narrow) == 0);
    CHECK_ERROR(call_op(&r, MT_VARIANT_INPLACE, expanded, expanded), MT_ERR_RUNTIME, "more than one element");
    head = view(t, 1, SIZES(3), SIZES(1), 0);
    tail = view(t, 1, SIZES(3), SIZES(1), 1);
    CHECK_ERROR(call_op(&r, MT_VARIANT_OUT, head, tail), MT_ERR_RUNTIME, "some elements of the input tensor");
    meta_allows_alias = 0;
    CHECK(call_op(&r, MT_VARIANT_OUT, head, tail) == 0 && number_at(t, 0) == 0 && number_at(t, 1) == 1 &&
          number_at(t, 2) == 2 && number_at(t, 3) == 3);
    mt_tensor_unref(r);
    CHECK(call_op(&r, MT_VARIANT_INPLACE, t, t) == 0 && number_at(t, 3) == 4 && mt_tensor_version(head) == 2);
    mt_tensor_unref(r);
    meta_allows_alias = 1;
    set_number(t, 0, 99); /* a failed op leaves no trace */
    CHECK_ERROR(call_op(&r, MT_VARIANT_OUT, t, wide), MT_ERR_VALUE, "99");
    CHECK(number_at(wide, 1) == 2 && mt_tensor_version(wide) == 1);
    mt_warn_install(NULL);
    mt_tensor_unref(head);
    mt_tensor_unref(tail);
    mt_tensor_unref(expanded);
    mt_tensor_unref(out);
    mt_tensor_unref(wide);
    mt_tensor_unref(narrow);
    mt_tensor_unref(t);
}

static void test_care(void)
{
    mt_tensor *t = make_range(MT_DTYPE_f32, 1, SIZES(3)), *r, *big = make_range(MT_DTYPE_f32, 1, SIZES(300));

    t->flags |= MT_FLAG_NEG; /* holds 0, -1, -2 */
    CHECK(call_op(&r, MT_VARIANT_FUNCTION, t, NULL) == 0 && number_at(r, 2) == -1 && !(r->flags & MT_FLAG_NEG));
    mt_tensor_unref(r);
    CHECK(call_op(&r, MT_VARIANT_INPLACE, t, t) == 0 && number_at(t, 2) == 1 && (t->flags & MT_FLAG_NEG));
    mt_tensor_unref(r);
    CHECK(mt_storage_resize(big->storage, 8) == 0);
    CHECK_ERROR(call_op(&r, MT_VARIANT_FUNCTION, big, NULL), MT_ERR_RUNTIME, "out of bounds for storage of size 8");
    CHECK_ERROR(call_op(&r, MT_VARIANT_INPLACE, big, big), MT_ERR_RUNTIME, "out of bounds");
    mt_tensor_unref(big);
    mt_tensor_unref(t);
}

/* --- views and lists --- */

static int halves(mt_call *call)
{
    mt_tensor *t = call->arg[0].v.tensor;

    if (mt_call_set_list(call, 8) < 0)
        return -1;
    for (int i = 0; i < 8; i++)
        if (mt_tensor_new_view(&call->out[i], t, 0, NULL, NULL, i) < 0)
            return -1;
    return 0;
}

static const mt_op halves_op = {
    .name = "halves",
    .n_args = 1,
    .flags = MT_OPF_VIEW | MT_OPF_LIST_OUT,
    .kernel = {[MT_KEY_CPU] = halves, [MT_KEY_VIEW_INPLACE] = mt_view_inplace_kernel},
};
static const mt_op no_op = {.name = "nothing", .overload = "x", .n_args = 1, .n_outs = 1};
static const mt_op planned_op = {.name = "later", .flags = MT_OPF_NO_IMPL};

static void run_halves(mt_tensor *t, uint16_t expected)
{
    mt_call call;

    mt_call_init(&call, &halves_op, MT_VARIANT_FUNCTION);
    call.arg[0].kind = MT_ARG_TENSOR;
    call.arg[0].v.tensor = t;
    CHECK(mt_dispatch(&call) == 0 && call.n_outs == 8 && call.out[7]->offset == 7);
    CHECK((call.out[3]->flags & MT_FLAG_GUARDED_VIEW) == expected);
    mt_call_clear(&call);
}

static void test_views(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 1, SIZES(8));
    mt_call call;

    run_halves(t, MT_FLAG_MULTI_VIEW);
    mt_thread.grad_mode = false;
    run_halves(t, MT_FLAG_NO_GRAD_VIEW);
    mt_thread.inference_mode = true;
    run_halves(t, MT_FLAG_INFERENCE_VIEW);
    mt_thread.inference_mode = false;
    mt_thread.grad_mode = true;
    mt_call_init(&call, &no_op, MT_VARIANT_FUNCTION);
    call.arg[0].kind = MT_ARG_TENSOR;
    call.arg[0].v.tensor = t;
    CHECK_ERROR(mt_dispatch(&call), MT_ERR_NOT_IMPLEMENTED,
                "Could not run 'aten::nothing.x' with arguments from the 'CPU' backend");
    mt_call_init(&call, &planned_op, MT_VARIANT_FUNCTION);
    CHECK_ERROR(mt_dispatch(&call), MT_ERR_NOT_IMPLEMENTED, "later");
    mt_tensor_unref(t);
}

int main(void)
{
    use_casts();
    test_keys();
    test_outputs();
    test_care();
    test_views();
    return check_done();
}
