/* SPDX-License-Identifier: BSD-3-Clause */
/* In-place changes: history, views and bases, guards, saved results inside CopySlices. */
#include "graph.h"

static const char *name_of(mt_tensor *t)
{
    mt_node *n;

    return mt_autograd_grad_fn(&n, t) < 0 ? "invalid" : n ? mt_node_name(n) : "none";
}

static mt_tensor *number(double value)
{
    mt_tensor *t = plain(0, NULL);

    set_number(t, 0, value);
    return t;
}

static void test_leaves(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *v = part(x, 0, 2), *two = number(2), *out = plain(1, SIZES(3));

    CHECK_ERROR(mt_mul_inplace(x, two), MT_ERR_RUNTIME,
                "a leaf Variable that requires grad is being used in an in-place");
    CHECK_ERROR(mt_mul_inplace(v, two), MT_ERR_RUNTIME, "a view of a leaf Variable that requires grad");
    CHECK_ERROR(mt_add_out(out, x, two, mt_scalar_from_int(1)), MT_ERR_RUNTIME,
                "add(): functions with out=... arguments don't support automatic differentiation");
    CHECK_ERROR(mt_add_out(x, out, two, mt_scalar_from_int(1)), MT_ERR_RUNTIME, "functions with out=...");
    CHECK(mt_tensor_version(x) == 0 && number_at(x, 2) == 3);
    mt_thread.grad_mode = false;
    OK(mt_mul_inplace(x, two));
    mt_thread.grad_mode = true;
    CHECK(mt_tensor_version(x) == 1 && number_at(x, 2) == 6);
    CHECK(strcmp(name_of(v), "AsStridedBackward0") == 0);
    DROP(x, v, two, out);
}

static void test_rebase(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *two = number(2), *y = mul(x, two), *s;

    OK(mt_exp_inplace(y));
    CHECK(strcmp(name_of(y), "ExpBackward0") == 0 && mt_tensor_version(y) == 1);
    OK(mt_mul_inplace(y, two));
    s = total(y);
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME, "output 0 of Exp, is at version 2; expected version 1");
    DROP(y, s);
    y = mul(x, two);
    OK(mt_exp_inplace(y));
    s = total(y);
    OK(backward(s, 0));
    CHECK(fabs(grad_at(x, 1) - 2 * exp(4)) < 1e-9);
    DROP(x, two, y, s);
}

static void test_old_value_is_cloned(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *w = leaf(1, SIZES(2)), *y = clone(x), *s;

    OK(mt_mul_inplace(y, w));
    CHECK(strcmp(mt_node_name(y->autograd->grad_fn->saved[0].value.v.tensor->autograd->grad_fn), "CloneBackward0") ==
          0);
    s = total(y);
    OK(backward(s, 0));
    CHECK(grad_at(x, 1) == 2 && grad_at(w, 1) == 2);
    DROP(x, w, y, s);
}

static void test_views(void)
{
    mt_tensor *x = leaf(1, SIZES(4)), *base = clone(x), *first = part(base, 0, 2), *second = part(base, 1, 2);
    mt_tensor *three = number(3), *s;

    OK(mt_mul_inplace(first, three));
    CHECK(strcmp(name_of(base), "torch::autograd::CopySlices") == 0);
    CHECK(strcmp(name_of(first), "AsStridedBackward0") == 0 && strcmp(name_of(second), "AsStridedBackward0") == 0);
    CHECK(second->autograd->grad_fn->edge[0].node == base->autograd->grad_fn);
    OK(mt_mul_inplace(base, three));
    OK(mt_exp_inplace(second));
    s = total(base);
    OK(backward(s, 0));
    CHECK(grad_at(x, 0) == 9 && fabs(grad_at(x, 1) / (9 * exp(18)) - 1) < 1e-12 && grad_at(x, 3) == 3);
    CHECK(fabs(grad_at(x, 2) / (3 * exp(9)) - 1) < 1e-12);
    CHECK_ERROR(backward(s, 0), MT_ERR_RUNTIME, "Trying to backward through the graph a second time");
    DROP(x, base, first, second, three, s);
}

static void test_base_begins_to_require_grad(void)
{
    mt_tensor *w = leaf(1, SIZES(2)), *base = plain(1, SIZES(4)), *v = part(base, 0, 2), *other = part(base, 2, 2), *s;
    bool is_leaf;

    CHECK(!base->autograd && !v->autograd);
    OK(mt_add_inplace(v, w, mt_scalar_from_int(2)));
    CHECK(mt_tensor_requires_grad(base) && mt_tensor_requires_grad(other) && mt_tensor_requires_grad(v));
    OK(mt_autograd_is_leaf(&is_leaf, other));
    CHECK(!is_leaf && strcmp(name_of(other), "AsStridedBackward0") == 0);
    s = total(base);
    OK(backward(s, 0));
    CHECK(grad_at(w, 1) == 2);
    DROP(w, base, v, other, s);
}

static void test_assignment(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *v = leaf(1, SIZES(2)), *y = clone(x), *p = part(y, 1, 2), *s;

    OK(mt_copy_inplace(p, v, false));
    s = total(y);
    OK(backward(s, 0));
    CHECK(grad_at(x, 0) == 1 && grad_at(x, 1) == 0 && grad_at(v, 0) == 1);
    DROP(x, v, y, p, s);
    x = leaf(1, SIZES(3));
    y = clone(x);
    p = part(y, 1, 2);
    OK(mt_zero_inplace(p));
    s = total(y);
    OK(backward(s, 0));
    CHECK(grad_at(x, 0) == 1 && grad_at(x, 1) == 0);
    DROP(x, y, p, s);
}

static void test_guards(void)
{
    mt_tensor *x = leaf(2, SIZES(2, 2)), *base = clone(x), *two = number(2), *v, *child;
    mt_tensor_list rows;
    mt_node *n;

    OK(mt_unbind_first(&rows, base));
    CHECK_ERROR(mt_mul_inplace(rows.data[1], two), MT_ERR_RUNTIME,
                "Output 1 of Unbind is a view and is being modified inplace. This view is the "
                "output of a function that");
    OK(mt_mul_inplace(base, two));
    CHECK_ERROR(mt_autograd_grad_fn(&n, rows.data[0]), MT_ERR_RUNTIME,
                "Output 0 of Unbind is a view and its base or another view of its base has been "
                "modified inplace. This");
    mt_tensor_list_clear(&rows);
    mt_thread.grad_mode = false;
    v = part(base, 0, 1);
    mt_thread.grad_mode = true;
    CHECK(mt_tensor_requires_grad(v) && strcmp(name_of(v), "none") == 0);
    CHECK_ERROR(mt_mul_inplace(v, two), MT_ERR_RUNTIME,
                "A view was created in no_grad mode and is being modified inplace with grad mode "
                "enabled. Given");
    child = part(v, 0, 1);
    CHECK_ERROR(mt_mul_inplace(child, two), MT_ERR_RUNTIME,
                "Output 0 of AsStrided is a view of a view which was created in no_grad mode and "
                "is being modified");
    mt_thread.grad_mode = false;
    OK(mt_mul_inplace(v, two));
    mt_thread.grad_mode = true;
    CHECK_ERROR(mt_autograd_grad_fn(&n, v), MT_ERR_RUNTIME,
                "A view was created in no_grad mode and its base or another view of its base has "
                "been modified");
    CHECK_ERROR(mt_autograd_detach_inplace(v), MT_ERR_RUNTIME, "Can't detach views in-place");
    DROP(x, base, two, v, child);
}

static void test_retained_gradient_follows(void)
{
    mt_tensor *x = leaf(1, SIZES(3)), *two = number(2), *y = clone(x), *v = part(y, 0, 2), *s, *t, *sum;

    OK(mt_autograd_retain_grad(y));
    OK(mt_autograd_retain_grad(v));
    OK(mt_mul_inplace(v, two));
    s = total(y);
    t = total(v);
    sum = add(s, t);
    OK(backward(sum, 0));
    CHECK(grad_at(y, 0) == 2 && grad_at(y, 2) == 1 && grad_at(v, 0) == 1 && grad_at(x, 0) == 4);
    DROP(v); /* before the node that would fill its gradient */
    OK(mt_autograd_detach_inplace(y));
    CHECK(!mt_tensor_requires_grad(y));
    DROP(x, two, y, s, t, sum);
}

static void test_second_order_inside_copy_slices(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *b = clone(x), *v = part(b, 0, 1), *s, *g, *gs, *h;

    OK(mt_exp_inplace(v));
    s = total(b);
    OK(gradient(&g, s, x, MT_RUN_RETAIN_GRAPH | MT_RUN_CREATE_GRAPH));
    CHECK(fabs(number_at(g, 0) - exp(1)) < 1e-12 && number_at(g, 1) == 1);
    gs = total(g);
    OK(gradient(&h, gs, x, 0));
    CHECK(fabs(number_at(h, 0) - exp(1)) < 1e-12 && number_at(h, 1) == 0);
    DROP(x, b, v, s, g, gs, h);
}

static void test_long_chain_of_slices(void)
{
    mt_tensor *x = leaf(1, SIZES(2)), *b = clone(x), *one = number(1), *s;

    for (int i = 0; i < 20000; i++) {
        mt_tensor *v = part(b, i % 2, 1);

        OK(mt_mul_inplace(v, one));
        mt_tensor_unref(v);
    }
    s = total(b);
    OK(backward(s, 0));
    CHECK(grad_at(x, 0) == 1 && grad_at(x, 1) == 1);
    DROP(x, b, one, s);
}

int main(void)
{
    use_casts();
    mt_autograd_init();
    test_leaves();
    test_rebase();
    test_old_value_is_cloned();
    test_views();
    test_base_begins_to_require_grad();
    test_assignment();
    test_guards();
    test_retained_gradient_follows();
    test_second_order_inside_copy_slices();
    test_long_chain_of_slices();
    return check_done();
}
