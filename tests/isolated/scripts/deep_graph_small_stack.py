"""A chain of a million nodes runs backward and is freed by a thread with a stack of 256 KiB."""

import threading

import minitorch as torch

errors = []


def work():
    try:
        x = torch.ones(1, requires_grad=True)
        y = x
        for _ in range(1_000_000):
            y = y + 1
        y.backward()
        assert x.grad.item() == 1
        y = x
        for _ in range(300_000):
            y = y.view(1) * 1
        del y
    except BaseException as e:  # noqa: B902
        errors.append(e)


threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert not errors, errors
print("ok")
