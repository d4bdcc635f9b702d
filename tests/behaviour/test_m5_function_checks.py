"""What custom Functions are refused: attributes of ctx of the wrong kind, flags that are no bools, tangents that do not fit."""

import pytest


def leaf(torch, *size):
    return torch.ones(*(size or (2,)), requires_grad=True)


def make(torch, forward, backward=lambda ctx, *g: g[0], **members):
    members = {name: staticmethod(m) if callable(m) else m for name, m in members.items()}
    return type(torch.autograd.Function)(
        "F",
        (torch.autograd.Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward), **members},
    )


@pytest.mark.item("M5.92")
@pytest.mark.parametrize("name", ["to_save", "non_differentiable", "dirty_tensors"])
@pytest.mark.parametrize("value", [5, [1], "x"])
def test_lists_of_tensors_that_are_no_tuples(torch, name, value):
    def forward(ctx, x):
        setattr(ctx, name, value)
        return x * 2

    with pytest.raises(RuntimeError, match=name + " attribute is expected to be a tuple"):
        make(torch, forward).apply(leaf(torch))


@pytest.mark.item("M5.92")
@pytest.mark.parametrize("name", ["boxed_grads_call", "clear_saved_tensors_on_access"])
@pytest.mark.parametrize("value", [1, 0, None, "x"])
def test_flags_of_the_class(torch, name, value):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        ctx.saved_tensors
        return g

    with pytest.raises(RuntimeError, match=name + " must be a bool"):
        make(torch, forward, backward, **{name: value}).apply(leaf(torch)).sum().backward()


@pytest.mark.item("M5.95")
@pytest.mark.parametrize("where", ["view", "split", "of a leaf"])
def test_several_results_of_which_one_is_a_view_written_in_place(torch, where):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x, x.clone()

    x = leaf(torch)
    v = {"view": lambda: (x * 1)[:1], "split": lambda: (x * 1).split(1)[0], "of a leaf": lambda: x[:1]}[
        where
    ]()
    with pytest.raises(
        RuntimeError, match="cannot return more than one Tensor. This is not supported by the"
    ):
        make(torch, forward).apply(v)


# --- tangents ---


def tangents(torch, forward, jvp):
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        y = make(torch, forward, jvp=jvp).apply(x)
        tangent = forward_ad.unpack_dual(y).tangent
        return None if tangent is None else tangent.tolist()


def written(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.item("M5.98")
@pytest.mark.parametrize(
    "forward, jvp, match",
    [
        (lambda ctx, x: x.view(-1), lambda ctx, t: t * 1, "the jvp is not returning a view"),
        (lambda ctx, x: x.view(-1), lambda ctx, t: (t * 1).view(-1), "a view of the given grad input"),
        (lambda ctx, x: x, lambda ctx, t: (t * 1).view(-1), "a view of the given grad input"),
        (lambda ctx, x: x * 2, lambda ctx, t: t.int(), None),
        (written, lambda ctx, t: t * 2, "not modifying the forward mode gradients inplace"),
        (written, lambda ctx, t: None, "not modifying the forward mode gradients inplace"),
    ],
)
def test_tangents_that_do_not_fit(torch, forward, jvp, match):
    with pytest.raises(RuntimeError, match=match):
        tangents(torch, forward, jvp)


@pytest.mark.item("M5.98")
@pytest.mark.parametrize(
    "forward, jvp, expected",
    [
        (lambda ctx, x: x.view(-1), lambda ctx, t: t.view(-1), [3, 3]),
        (lambda ctx, x: x[1:], lambda ctx, t: t[1:], [3]),
        (lambda ctx, x: x, lambda ctx, t: t.view_as(t), [3, 3]),
        (written, lambda ctx, t: t.mul_(2), [6, 6]),
    ],
)
def test_tangents_of_views(torch, forward, jvp, expected):
    assert tangents(torch, forward, jvp) == expected


@pytest.mark.item("M5.98")
def test_jvp_sees_no_tangents_but_its_arguments(torch):
    seen = []

    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.x = x
        return x * 2

    def jvp(ctx, t):
        for x in (*ctx.saved_tensors, ctx.x, t):
            seen.append(torch.autograd.forward_ad.unpack_dual(x).tangent)
        return t * 2

    assert tangents(torch, forward, jvp) == [6, 6]
    assert seen == [None] * 3
