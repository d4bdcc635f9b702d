"""A child of a process whose thread pool has worked computes the same, and so does its parent afterwards."""

import os
import warnings

import minitorch as torch

# Python's own word, from 3.12 on, about a fork beside threads.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)
torch.set_num_threads(4)
x = torch.arange(4_000_000, dtype=torch.float32)
m = torch.ones(200, 200)


def compute():
    a = m.clone().requires_grad_()
    ((a @ a).sum() + (x * 2).sum()).backward()
    return (x.sin().sum().item(), (x + x).max().item(), a.grad.sum().item())


want = compute()
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        status = 0 if compute() == want else 1
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if compute() == want else 1)
        os._exit(status or os.WEXITSTATUS(os.waitpid(grandchild, 0)[1]))
    assert os.waitpid(pid, 0)[1] == 0
    assert compute() == want
print("ok")
