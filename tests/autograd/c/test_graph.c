/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording, running, accumulating, errors, hooks, nesting, depth. */
#include "graph.h"

static void test_record_and_run(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *c = plain(1, SIZES(3));
    mt_tensor *y = mul(x, c), *z = exponential(y), *s = total(z), *g;
    mt_node *n;
    bool is_leaf;

    OK(mt_autograd_grad_fn(&n, y));
    CHECK(n && strcmp(mt_node_name(n), "MulBackward0") == 0 && n->n_edges == 2 && !n->edge[1].node);
    CHECK(n->edge[0].node->flags & MT_NODE_ACCUMULATE && mt_node_variable(n->edge[0].node) == x);
    CHECK(n->saved[0].value.kind == MT_ARG_NONE && n->saved[1].value.v.tensor == c);
    OK(mt_autograd_is_leaf(&is_leaf, y));
    CHECK(!is_leaf && mt_tensor_requires_grad(y));
    OK(gradient(&g, s, y, MT_RUN_RETAIN_GRAPH));
    CHECK(fabs(number_at(g, 1) - number_at(z, 1)) < 1e-12 && !mt_autograd_grad(x));
    OK(backward(s, 0));
    CHECK(fabs(grad_at(x, 1) - 2 * number_at(z, 1)) < 1e-9);
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME, "Trying to backward through the graph a second time");
    DROP(x, c, y, z, s, g);
}

static void test_accumulate(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *c = plain(1, SIZES(2)), *y = mul(x, c), *s = total(y), *g;

    OK(backward(s, MT_RUN_RETAIN_GRAPH));
    g = mt_autograd_grad(x);
    CHECK(grad_at(x, 1) == 2);
    OK(backward(s, MT_RUN_RETAIN_GRAPH));
    CHECK(mt_autograd_grad(x) == g && grad_at(x, 1) == 4);
    OK(backward(s, MT_RUN_CREATE_GRAPH | MT_RUN_RETAIN_GRAPH));
    CHECK(mt_autograd_grad(x) != g && grad_at(x, 1) == 6);
    OK(mt_autograd_set_grad(x, NULL));
    CHECK_ERROR(mt_autograd_set_grad(x, x), MT_ERR_RUNTIME, "own grad");
    DROP(x, c, y, s);
}

static void test_broadcast_and_cast(void)
{
    mt_tensor *x = leaf(2, SIZES(2, 1)), *y = make_range(MT_DTYPE_f32, 1, SIZES(3)), *z, *s;

    OK(mt_autograd_set_requires_grad(y, true));
    OK(mt_to_copy(&z, y, MT_DTYPE_f64, -1, MT_DEVICE_NONE, NULL, false, -1));
    s = mul(x, z);
    mt_tensor_unref(z);
    z = total(s);
    OK(backward(z, 0));
    CHECK(mt_autograd_grad(x)->ndim == 2 && grad_at(x, 1) == 3);
    CHECK(mt_autograd_grad(y)->dtype == MT_DTYPE_f32 && mt_autograd_grad(y)->ndim == 1 && grad_at(y, 2) == 3);
    DROP(x, y, z, s);
}

static void test_steal(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *c = plain(1, SIZES(2)), *y = add(x, c), *given = plain(1, SIZES(2));
    mt_endpoint e = {y, NULL, 0};

    OK(mt_engine_run(NULL, &e, &given, 1, NULL, -1, MT_RUN_ACCUMULATE));
    CHECK(mt_autograd_grad(x) != given && mt_autograd_grad(x)->storage != given->storage);
    CHECK(grad_at(x, 1) == 2);
    DROP(x, c, y, given);
}

static void test_argument_errors(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *c = plain(0, NULL), *y = mul(x, x), *s = total(y), *g = NULL, *two;
    mt_endpoint e = {y, NULL, 0};

    two = plain(1, SIZES(2));
    CHECK_ERROR(backward(y, 0), MT_ERR_RUNTIME, "only for scalar outputs");
    CHECK_ERROR(backward(c, 0), MT_ERR_RUNTIME, "element 0 of tensors does not require grad");
    CHECK_ERROR(mt_engine_run(NULL, &e, &two, 1, NULL, -1, MT_RUN_ACCUMULATE), MT_ERR_RUNTIME,
                "grad_output[0] has a shape of torch.Size([2]) and output[0] has a shape of "
                "torch.Size([3]).");
    CHECK_ERROR(gradient(&g, s, c, 0), MT_ERR_RUNTIME, "One of the differentiated Tensors does not require grad");
    OK(mt_autograd_set_requires_grad(c, true));
    CHECK_ERROR(gradient(&g, s, c, MT_RUN_RETAIN_GRAPH), MT_ERR_RUNTIME, "at index 0 appears to not have been used");
    CHECK(g == NULL);
    OK(gradient(&g, s, c, MT_RUN_RETAIN_GRAPH | MT_RUN_ALLOW_UNUSED));
    CHECK(g == NULL);
    OK(gradient(&g, s, c, MT_RUN_RETAIN_GRAPH | MT_RUN_MATERIALIZE));
    CHECK(g && number_at(g, 0) == 0);
    CHECK_ERROR(mt_autograd_set_requires_grad(y, true), MT_ERR_RUNTIME, "leaf variables.");
    mt_tensor_unref(g);
    OK(mt_no_formula(&g, x));
    mt_tensor_unref(s);
    s = total(g);
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME, "derivative for aten::no_formula is not implemented");
    DROP(x, c, y, s, g, two);
}

static void test_versions(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *y = exponential(x), *s = total(y), *one = plain(0, NULL), *z;

    OK(mt_add_inplace(y, one, mt_scalar_from_int(1)));
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME,
                "[torch.DoubleTensor [3]], which is output 0 of Exp, is at version 1; expected "
                "version 0 instead.");
    DROP(y, s);
    y = add(x, one);
    z = mul(y, y);
    s = total(z);
    OK(mt_add_inplace(y, one, mt_scalar_from_int(1)));
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME, "which is output 0 of Add, is at version 1; expected version 0");
    CHECK(!mt_autograd_grad(x));
    DROP(x, y, s, one, z);
}

static void test_second_order(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *sq = mul(x, x), *cube = mul(sq, x), *s = total(cube), *g, *gs, *h;

    OK(gradient(&g, s, x, MT_RUN_RETAIN_GRAPH | MT_RUN_CREATE_GRAPH));
    CHECK(mt_tensor_requires_grad(g) && number_at(g, 1) == 12);
    gs = total(g);
    OK(gradient(&h, gs, x, 0));
    CHECK(!mt_tensor_requires_grad(h) && number_at(h, 1) == 12);
    DROP(x, sq, cube, s, g, gs, h);
}

static void test_lists(void)
{
    mt_tensor *x = leaf(2, SIZES(3, 2)), *y, *s;
    mt_tensor_list rows;

    OK(mt_unbind_first(&rows, x));
    CHECK(rows.n == 3 && mt_autograd_output_nr(rows.data[2]) == 2 && (rows.data[0]->flags & MT_FLAG_MULTI_VIEW));
    y = mul(rows.data[0], rows.data[2]);
    s = total(y);
    OK(backward(s, 0));
    CHECK(grad_at(x, 0) == 5 && grad_at(x, 2) == 0 && grad_at(x, 5) == 2);
    DROP(y, s);
    OK(mt_autograd_set_grad(x, NULL));
    OK(mt_stack_first(&y, (mt_tensors){(mt_tensor *[]){rows.data[1], x->autograd ? rows.data[1] : NULL}, 2}));
    s = total(y);
    OK(backward(s, 0));
    CHECK(grad_at(x, 2) == 2 && grad_at(x, 0) == 0);
    mt_tensor_list_clear(&rows);
    DROP(x, y, s);
}

/* --- hooks --- */

static char trace[200];
static int live_contexts;

static int trace_hook(void *ctx, mt_hook_frame *frame)
{
    (void)frame;
    strcat(trace, ctx);
    return 0;
}

static int scale_hook(void *ctx, mt_hook_frame *frame)
{
    mt_tensor *scaled, *ten = plain(0, NULL);

    set_number(ten, 0, 10);
    strcat(trace, ctx);
    OK(mt_mul(&scaled, frame->grads[frame->input], ten));
    mt_tensor_unref(frame->grads[frame->input]);
    frame->grads[frame->input] = scaled;
    mt_tensor_unref(ten);
    return 0;
}

static int failing_hook(void *ctx, mt_hook_frame *frame)
{
    (void)ctx, (void)frame;
    return mt_error_set(MT_ERR_VALUE, "hook failed");
}

static void forget(void *ctx)
{
    (void)ctx;
    live_contexts--;
}

static const mt_hook_ops tracing = {trace_hook, forget, NULL}, scaling = {scale_hook, forget, NULL},
                         failing = {failing_hook, forget, NULL};

static void test_hooks(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *c = plain(1, SIZES(2)), *y = mul(x, c), *s = total(y), *g;
    mt_node *n;
    char a[] = "a", b[] = "b", pre[] = "p", post[] = "q", l[] = "l", acc[] = "m";

    live_contexts = 6;
    OK(mt_autograd_add_tensor_hook(y, &tracing, a));
    OK(mt_autograd_add_tensor_hook(y, &scaling, b));
    OK(mt_autograd_retain_grad(y));
    OK(mt_autograd_retain_grad(y));
    OK(mt_autograd_grad_fn(&n, y));
    OK(mt_node_add_hook(n, MT_HOOK_POST, &tracing, post));
    OK(mt_node_add_hook(n, MT_HOOK_PRE, &tracing, pre));
    OK(mt_autograd_add_tensor_hook(x, &tracing, l));
    OK(mt_autograd_add_post_accumulate_hook(x, &tracing, acc));
    OK(backward(s, MT_RUN_RETAIN_GRAPH));
    CHECK(strcmp(trace, "abpqlm") == 0 && grad_at(y, 0) == 10 && grad_at(x, 1) == 20);
    trace[0] = '\0';
    OK(gradient(&g, s, x, MT_RUN_RETAIN_GRAPH));
    CHECK(strcmp(trace, "abpql") == 0 && number_at(g, 1) == 20);
    mt_tensor_unref(g);
    OK(gradient(&g, s, y, MT_RUN_RETAIN_GRAPH));
    CHECK(number_at(g, 1) == 10);
    mt_tensor_unref(g);
    CHECK(mt_hook_remove(&n->hooks, b) && !mt_hook_remove(&n->hooks, b) && live_contexts == 5);
    live_contexts++;
    OK(mt_autograd_add_tensor_hook(y, &failing, b));
    CHECK_ERROR(backward(s, MT_RUN_RETAIN_GRAPH), MT_ERR_VALUE, "hook failed");
    CHECK(mt_hook_remove(&n->hooks, b) && grad_at(x, 1) == 20);
    OK(backward(s, 0));
    CHECK(grad_at(x, 1) == 22);
    CHECK_ERROR(mt_autograd_add_tensor_hook(c, &tracing, a), MT_ERR_RUNTIME, "doesn't require gradient");
    CHECK_ERROR(mt_autograd_add_post_accumulate_hook(y, &tracing, a), MT_ERR_RUNTIME, "non-leaf tensors");
    DROP(x, c, y, s);
    CHECK(live_contexts == 0);
}

/* --- nested runs --- */

static int nested_hook(void *ctx, mt_hook_frame *frame)
{
    static int depth;

    (void)frame;
    if (depth)
        return 0;
    depth++;
    CHECK(mt_engine_is_running());
    OK(backward(ctx, MT_RUN_RETAIN_GRAPH));
    depth--;
    return 0;
}

static int count_callback(void *ctx)
{
    int *left = ctx;

    if (--*left > 0)
        OK(mt_engine_queue_callback(count_callback, NULL, ctx));
    return 0;
}

static int queueing_hook(void *ctx, mt_hook_frame *frame)
{
    bool yes;

    OK(mt_engine_will_execute(&yes, frame->node));
    CHECK(yes && mt_engine_current_node() == frame->node);
    return mt_engine_queue_callback(count_callback, NULL, ctx);
}

static void test_nested(void)
{
    static const mt_hook_ops nesting = {nested_hook, NULL, NULL}, queueing = {queueing_hook, NULL, NULL};
    mt_tensor *x = leaf(1, SIZES(2)), *c = plain(1, SIZES(2)), *y = mul(x, c), *z = mul(y, c), *s = total(z);
    int left = 3;
    bool yes;

    OK(mt_autograd_add_tensor_hook(z, &nesting, s));
    OK(backward(s, MT_RUN_RETAIN_GRAPH));
    CHECK(grad_at(x, 1) == 8);
    OK(mt_autograd_add_tensor_hook(y, &queueing, &left));
    OK(backward(s, 0));
    CHECK(left <= 0 && !mt_engine_is_running());
    CHECK_ERROR(mt_engine_queue_callback(count_callback, NULL, &left), MT_ERR_RUNTIME, "Final callbacks");
    CHECK_ERROR(mt_engine_will_execute(&yes, y->autograd->grad_fn), MT_ERR_RUNTIME, "during the backward pass");
    DROP(x, c, y, z, s);
}

static void test_depth(void)
{
    mt_tensor *x = leaf(1, SIZES(1)), *one = plain(1, SIZES(1)), *y = mt_tensor_ref(x), *z, *g;

    for (int i = 0; i < 1000000; i++) {
        z = i % 2 ? mul(y, one) : add(y, one);
        mt_tensor_unref(y);
        y = z;
    }
    OK(gradient(&g, y, x, MT_RUN_RETAIN_GRAPH));
    CHECK(number_at(g, 0) == 1);
    OK(backward(y, 0));
    CHECK(grad_at(x, 0) == 1);
    DROP(x, one, y, g);
}

static void test_failed_allocations(void)
{
    for (uint64_t k = 1; k < 400; k++) {
        mt_tensor *x = leaf(1, SIZES(3)), *y = NULL, *z = NULL, *s = NULL, *v = NULL;
        int64_t dims[] = {0}, n = 2, stride = 1, offset = 0;
        bool failed;

        mt_alloc_fail_at(k);
        failed = mt_mul(&y, x, x) < 0 || mt_as_strided(&v, y, (mt_ints){&n, 1}, (mt_ints){&stride, 1}, &offset) < 0 ||
                 mt_exp_inplace(v) < 0 || mt_add(&z, y, x, mt_scalar_from_int(1)) < 0 ||
                 mt_sum_dim_IntList(&s, z, (mt_ints){dims, 1}, true, MT_DTYPE_NONE) < 0 ||
                 mt_autograd_retain_grad(y) < 0 || backward(s, MT_RUN_RETAIN_GRAPH) < 0 ||
                 backward(s, MT_RUN_CREATE_GRAPH) < 0;
        CHECK(failed == mt_alloc_failed());
        mt_alloc_fail_at(0);
        CHECK(!mt_engine_is_running());
        if (s) {
            OK(mt_autograd_set_grad(x, NULL));
            if (backward(s, 0) == 0)
                CHECK(fabs(grad_at(x, 2) - 7) < 1e-12);
            mt_error_clear();
        }
        OK(mt_autograd_set_grad(x, NULL));
        mt_tensor_unref(x);
        mt_tensor_unref(y);
        mt_tensor_unref(v);
        mt_tensor_unref(z);
        mt_tensor_unref(s);
        if (!failed)
            break;
        CHECK(k < 399);
    }
}

int main(void)
{
    use_casts();
    mt_autograd_init();
    test_record_and_run();
    test_accumulate();
    test_broadcast_and_cast();
    test_steal();
    test_argument_errors();
    test_versions();
    test_second_order();
    test_lists();
    test_hooks();
    test_nested();
    test_depth();
    test_failed_allocations();
    return check_done();
}
