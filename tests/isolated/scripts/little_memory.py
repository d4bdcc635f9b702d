"""What the process may not have is an error, and the objects are as they were."""

import minitorch as torch

try:
    import resource
except ImportError:
    resource = None


def must_fail(f):
    try:
        f()
    except (RuntimeError, MemoryError):
        return
    raise AssertionError("no error")


def run():
    x = torch.arange(10.0)
    must_fail(lambda: torch.ones(2**40))
    must_fail(lambda: torch.empty(2**62, 2))
    must_fail(lambda: x.expand(2**40, 10).clone())
    must_fail(lambda: x.resize_(2**45))
    must_fail(lambda: torch.cat([x.expand(2**38, 10)] * 2))
    must_fail(lambda: x.repeat(2**40))
    assert x.tolist() == list(range(10)) and x.shape == (10,)
    assert (x + 1).sum().item() == 55


run()
if resource:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    run()
    must_fail(lambda: torch.ones(32 << 20))
    big = torch.ones(4 << 20)
    must_fail(lambda: [big + i for i in range(20)])
    assert big.sum().item() == 4 << 20
print("ok")
