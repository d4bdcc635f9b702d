"""torch.jit: what it is given stays as it is."""

import typing

import pytest


def double(x):
    return 2 * x


@pytest.mark.minitorch_only(reason="PyTorch compiles")
def test_functions_and_modules_come_back(torch):
    net = torch.nn.Linear(2, 2)
    for name, arguments in (("script", (double,)), ("trace", (double, (torch.ones(1),))), ("script", (net,))):
        with pytest.warns(UserWarning, match=r"torch.jit.%s\(\): there is no TorchScript" % name):
            assert getattr(torch.jit, name)(*arguments) is arguments[0]
    assert torch.jit.freeze(net) is net
    for name in ("save", "load"):
        with pytest.raises(NotImplementedError, match=r"torch.jit.%s\(\)" % name):
            getattr(torch.jit, name)(net, "file")


def test_decorators(torch):
    for name in ("ignore", "export", "unused", "script_if_tracing"):
        assert getattr(torch.jit, name)(double)(3) == 6
    assert torch.jit.ignore(drop=True)(double)(3) == 6
    assert torch.jit.is_scripting() is False and torch.jit.is_tracing() is False
    assert torch.jit.annotate(int, 3) == 3 and torch.jit.isinstance([1], typing.List[int])
    assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)

    class Net(torch.nn.Module):
        size: torch.jit.Final[int]

        def __init__(self):
            super().__init__()
            self.size = 2

        @torch.jit.export
        def forward(self, x):
            return x if torch.jit.is_scripting() else double(x)

    assert Net()(torch.ones(1)).tolist() == [2.0]
