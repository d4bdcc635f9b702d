"""The import loads few modules, none of the slow ones, no NumPy, and starts no thread."""

import os
import sys

before = set(sys.modules)
threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else None

import minitorch as torch  # noqa: E402

new = set(sys.modules) - before
ours = sorted(name for name in new if name.split(".")[0] == "minitorch")
slow = {
    "typing",
    "inspect",
    "dataclasses",
    "enum",
    "re",
    "pickle",
    "numpy",
    "ctypes",
    "threading",
    "subprocess",
}
assert len(ours) <= 15, ours
assert not new & slow, new & slow
assert threads is None or len(os.listdir("/proc/self/task")) == threads

x = torch.ones(2, 3, requires_grad=True)
(x @ x.t()).sum().backward()
repr(x.grad)
assert "numpy" not in sys.modules
print("ok")
