"""Data in and out: lists, text, NumPy, DLPack, advanced indexing, lazy clones.

python benchmarks/interchange.py [CASE ...]
"""

from harness import Statement, main

CASES = {}
FLOORS = {}


def case(name, source, prepare="pass", floor=None):
    """A case from a statement; `prepare` runs once with lib and np."""

    def make(lib):
        import numpy as np

        lib.manual_seed(0)
        names = {"lib": lib, "np": np}
        exec(prepare, names)
        names.pop("__builtins__")
        return Statement(source, names)

    CASES[name] = make
    if floor:
        FLOORS[name] = floor


INDEX = "m = lib.arange(100.).view(10, 10); i = lib.tensor([1, 5, 7]); j = lib.tensor([2, 3, 4]); k = m[0] > 3; v = lib.ones(3)"
case("tensor of 1,000 floats", "lib.tensor(data)", "data = [i / 7 for i in range(1000)]", 4)
case("tensor of 1,000 ints", "lib.tensor(data)", "data = list(range(1000))", 4)
case(
    "tensor of 100 x 100 floats",
    "lib.tensor(data)",
    "data = [[i * j / 7 for j in range(100)] for i in range(100)]",
    4,
)
case("tensor of one number", "lib.tensor(1.5)")
case("repr 3 x 3", "repr(m)", "m = lib.rand(3, 3)", 4)
case("repr 1,000 x 1,000", "repr(m)", "m = lib.rand(1000, 1000)", 4)
case("repr of 9 integers", "repr(m)", "m = lib.arange(9).view(3, 3)")
case("m[i]", "m[i]", INDEX, 4)
case("m[i, j]", "m[i, j]", INDEX, 4)
case("m[:, k], a mask", "m[:, k]", INDEX, 4)
case("m[i, j] = v", "m[i, j] = v", INDEX, 4)
case("m[[1, 5, 7]], a list", "m[[1, 5, 7]]", INDEX, 4)
case("from_numpy and numpy", "lib.from_numpy(a).numpy()", "a = np.ones(10, dtype=np.float32)", 4)
case("from_numpy", "lib.from_numpy(a)", "a = np.ones(10, dtype=np.float32)")
case("numpy", "t.numpy()", "t = lib.ones(10)")
case("DLPack round trip", "lib.from_dlpack(t)", "t = lib.ones(10)", 4)
case("DLPack to NumPy", "np.from_dlpack(t)", "t = lib.ones(10)")
case("tolist of 10,000 floats", "t.tolist()", "t = lib.rand(100, 100)", 1.2)
case("tolist of 10,000 ints", "t.tolist()", "t = lib.arange(10000)", 1.2)
case("item", "t.item()", "t = lib.ones(1)")
case("detach of 1 GB", "t.detach()", "t = lib.empty(1 << 28)")
case("lazy clone of 1 GB", "t._lazy_clone()", "t = lib.empty(1 << 28)")

if __name__ == "__main__":
    raise SystemExit(main("interchange", __doc__.split("\n")[0], FLOORS))
