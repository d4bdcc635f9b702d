"""In the lazy mode missing names fail where they are used, and are counted."""

import os
import sys
import threading

os.environ["MINITORCH_AS_TORCH"] = "lazy"
import minitorch.as_torch as as_torch  # noqa: E402
import torch  # noqa: E402
from torch import no_such_function  # noqa: E402
from torch.nn import NoSuchLayer  # noqa: E402
from torch.nn.functional import no_such_activation  # noqa: E402

assert as_torch.is_lazy()


def fails(function, text):
    try:
        function()
    except NotImplementedError as exc:
        assert str(exc) == text, exc
        return
    raise AssertionError("did not fail: " + text)


class Net(NoSuchLayer):
    def __init__(self):
        super().__init__()


class Other(torch.nn.NoSuchLayer, torch.nn.Module):
    pass


assert torch.nn.NoSuchLayer is NoSuchLayer and not isinstance(torch.nn.Linear(1, 1), NoSuchLayer)
fails(no_such_function, "torch.no_such_function is not in minitorch")
fails(lambda: torch.utils.no_such.thing.more(1), "torch.utils.no_such.thing.more is not in minitorch")
fails(lambda: no_such_activation(torch.ones(1)), "torch.nn.functional.no_such_activation is not in minitorch")
fails(Net, "torch.nn.NoSuchLayer is not in minitorch (Net derives from it)")
fails(Other, "torch.nn.NoSuchLayer is not in minitorch (Other derives from it)")
fails(lambda: bool(torch.no_such_constant), "torch.no_such_constant is not in minitorch")

# Questions are answered truly, and so are imports of modules that PyTorch has not either.
assert not hasattr(torch, "no_such_function") and getattr(torch, "no_such_function", None) is None
assert not hasattr(torch.nn, "NoSuchLayer") and not hasattr(torch.nn.functional, "no_such_activation")
try:
    import torch.no_such_module  # noqa: F401

    raise AssertionError
except ModuleNotFoundError as exc:
    assert exc.name == "torch.no_such_module"
try:
    torch.ones(1).no_such_method()
    raise AssertionError
except AttributeError:
    pass

before = {each.name: each.count for each in as_torch.report()}
threads = [threading.Thread(target=lambda: torch.no_such_function) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
report = as_torch.report()
after = {each.name: each for each in report}
assert before["torch.no_such_function"] == 1 and after["torch.no_such_function"].count == 9
assert report[0].name == "torch.no_such_function" and len(report[0].places) == 2
assert all(place.startswith(__file__ + ":") for each in report for place in each.places), report
assert "torch.no_such_module" not in after

# Back to strict.
as_torch.install(lazy=False)
try:
    torch.no_such_function
    raise AssertionError
except AttributeError:
    pass
as_torch.uninstall()
assert "torch" not in sys.modules and "__getattr__" not in vars(sys.modules["minitorch.nn.functional"])
print("ok")
