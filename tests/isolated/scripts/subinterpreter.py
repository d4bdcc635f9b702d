"""A second interpreter of the process imports the package or is told why not; the first one goes on."""

import minitorch as torch

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        interpreters = None

if interpreters:
    second = interpreters.create()
    program = (
        "try:\n import minitorch as t\n assert t.ones(2).sum().item() == 2\nexcept ImportError:\n pass\n"
    )
    failed = getattr(interpreters, "run_string")(second, program)
    assert failed is None, failed
    interpreters.destroy(second)
assert torch.ones(3).sum().item() == 3
print("ok")
