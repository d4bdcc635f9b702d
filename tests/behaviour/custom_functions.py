"""Leaves and custom Functions for the tests of autograd."""


def leaf(torch, *size, **kw):
    return torch.ones(*size, requires_grad=True, **kw)


def make(torch, forward, backward=None, name="F", **members):
    """A Function of these two."""
    if backward is not None:
        members["backward"] = staticmethod(backward)
    return type(torch.autograd.Function)(
        name, (torch.autograd.Function,), {"forward": staticmethod(forward), **members}
    )
