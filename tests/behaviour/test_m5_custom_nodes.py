"""Custom Functions as nodes of the graph: how long they live, and what apply does where things go wrong around them."""

import pytest


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def make(torch, forward, backward=None, name="F", **members):
    """A Function of these two."""
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(torch.autograd.Function)(
        name, (torch.autograd.Function,), {"forward": staticmethod(forward), **members}
    )


@pytest.mark.item("M5.90")
@pytest.mark.parametrize("name", ["forward", "_backward_cls"])
def test_attributes_that_fail(torch, name):
    class Meta(type(torch.autograd.Function)):
        def __getattribute__(cls, key):
            if key == name:
                raise KeyError(name)
            return super().__getattribute__(key)

    F = Meta("F", (torch.autograd.Function,), {"backward": staticmethod(lambda ctx, g: g)})
    with pytest.raises(KeyError):
        F.apply(leaf(torch, 2))
    assert torch.is_grad_enabled()
