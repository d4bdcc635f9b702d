# SPDX-License-Identifier: BSD-3-Clause
"""`python -m minitorch` does what `python` does, with minitorch as torch. What python itself does is the expectation."""

import os
import subprocess
import sys
import zipfile

import pytest

pytest.importorskip("minitorch")
pytestmark = pytest.mark.minitorch_only(reason="starts minitorch")

WORLD = """
import sys
spec = __spec__ and (__spec__.name, __spec__.origin)
print(__name__, vars().get("__file__"), sys.argv, sys.path[0], spec, repr(__package__), vars().get("__cached__"), __doc__)
print(type(__loader__), getattr(__loader__, "__name__", None), sys.modules["__main__"].__dict__ is globals(), sys.excepthook)
"""


def start(arguments, cwd, before=(), text="", **environment):
    folder = os.path.dirname(os.path.dirname(sys.modules["minitorch"].__file__))
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = dict(
        os.environ, PYTHONPATH=os.pathsep.join(paths), PYTHONDONTWRITEBYTECODE="1", **environment
    )
    variables.pop("COLUMNS", None)
    done = subprocess.run(
        [sys.executable, *before, *arguments],
        cwd=cwd,
        env=variables,
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def here(tmp_path):
    program(tmp_path / "world.py", '"""What it is."""' + WORLD)
    program(tmp_path / "fails.py", "def f(x):\n    return 1 / x\n\n\nf(0)\n")
    program(tmp_path / "wrong.py", "x = 1\nif x\n    pass\n")
    program(
        tmp_path / "chain.py", "try:\n    {}[1]\nexcept KeyError as e:\n    raise OSError('two') from e\n"
    )
    program(
        tmp_path / "hook.py",
        "import sys\nsys.excepthook = lambda kind, e, tb: print(kind, tb.tb_lineno)\n1 / 0\n",
    )
    program(tmp_path / "folder" / "__main__.py", WORLD + "import beside\n")
    program(tmp_path / "folder" / "beside.py", "print(__name__)\n")
    program(tmp_path / "package" / "__init__.py", "print(__name__)\n")
    program(tmp_path / "package" / "__main__.py", WORLD + "from . import inner\n")
    program(tmp_path / "package" / "inner.py", WORLD)
    program(tmp_path / "without_main" / "__init__.py", "")
    (tmp_path / "link.py").symlink_to(tmp_path / "package" / "inner.py")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as z:
        z.writestr("__main__.py", WORLD)
    return tmp_path


LINES = {
    "script": ["world.py", "a", "-b", "--lazy"],
    "dot": ["./folder/../world.py"],
    "link": ["link.py"],
    "folder": ["folder", "a"],
    "zip": ["packed.zip", "a"],
    "module": ["-m", "world", "a"],
    "package": ["-m", "package", "a"],
    "inner": ["-m", "package.inner"],
    "joined": ["-mpackage.inner", "a"],
    "code": ["-c", WORLD, "a"],
    "joined code": ["-c" + WORLD],
    "status": ["-c", "raise SystemExit(7)"],
    "exit text": ["-c", "import sys; sys.exit('bye')"],
    "interrupt": ["-c", "raise KeyboardInterrupt"],
    "hook": ["hook.py"],
    "at exit": ["-c", "import atexit; x = 3\n@atexit.register\ndef f(): print(x)"],
    "thread": ["-c", "import threading; threading.Thread(target=lambda: print(x)).start(); x = 1"],
}


@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
def test_same_as_python(here, line):
    assert start(line, here, ["-m", "minitorch"]) == start(line, here)


@pytest.mark.parametrize("name", ["fails.py", "wrong.py", "chain.py"])
def test_tracebacks_begin_in_the_program(here, name):
    expected = start([name], here)
    assert expected[0] == 1 and expected[2]
    assert start([name], here, ["-m", "minitorch"]) == expected


@pytest.mark.parametrize("line", [["-", "a"], []], ids=["dash", "nothing"])
def test_standard_input(here, line):
    text = WORLD + "1 / 0\n"
    assert start(line, here, ["-m", "minitorch"], text) == start(line, here, (), text)


@pytest.mark.parametrize(
    "line",
    [
        ["absent.py"],
        ["-m", "absent"],
        ["-m", "absent.inner"],
        ["-m", "package.absent"],
        ["-m", "without_main"],
        ["package/inner"],
    ]
    + [["without_main"]],
    ids=" ".join,
)
def test_nothing_to_run(here, line):
    status, output, error = start(line, here)
    ours = start(line, here, ["-m", "minitorch"])
    assert status in (1, 2)
    assert ours == (status, output, error.replace(sys.executable, "python -m minitorch"))


def test_code_that_says_torch(here):
    code = "import torch; from torch import nn; print(nn.functional.relu(torch.tensor([-1., 2.])), torch.__version__ >= '2.13')"
    assert start(["-c", code], here, ["-m", "minitorch"]) == (0, "tensor([0., 2.]) True\n", "")


def test_help_version_and_wrong_options(here):
    status, output, error = start(["--help"], here, ["-m", "minitorch"])
    assert (status, error) == (0, "") and "-m MODULE" in output and "--lazy" in output
    status, output, error = start(["-V"], here, ["-m", "minitorch"])
    assert (status, error) == (0, "") and "torch 2.13.0" in output
    for line in (["--nosuch"], ["-m"], ["-c"]):
        status, output, error = start(line, here, ["-m", "minitorch"])
        assert (status, output) == (2, "") and line[0] in error


MISSING = "import torch\nx = torch.no_such_name\nprint(x)\nprint(hasattr(torch, 'no_such_name'))\nx()\n"


@pytest.mark.parametrize(
    "option, variable, lazy",
    [((), {}, False), (("--lazy",), {}, True), ((), {"MINITORCH_AS_TORCH": "lazy"}, True)]
    + [(("--strict",), {"MINITORCH_AS_TORCH": "lazy"}, False)],
)
def test_modes(here, option, variable, lazy):
    program(here / "missing.py", MISSING)
    status, output, error = start([*option, "missing.py"], here, ["-m", "minitorch"], **variable)
    assert status == 1
    if lazy:
        assert output == "<stub of torch.no_such_name>\nFalse\n"
        assert "NotImplementedError: torch.no_such_name is not in minitorch" in error
        assert error.splitlines()[-1].split() == ["1", "torch.no_such_name", "%s:2" % (here / "missing.py")]
    else:
        assert output == ""
        assert error.splitlines()[-1] == "AttributeError: module 'torch' has no attribute 'no_such_name'"


def test_wrong_variable(here):
    status, _, error = start(["-c", "0"], here, ["-m", "minitorch"], MINITORCH_AS_TORCH="both")
    assert status == 1 and "MINITORCH_AS_TORCH" in error.splitlines()[-1]


def test_another_torch(here):
    """One that is installed is not seen, one that is already imported is refused."""
    program(here / "torch" / "__init__.py", "theirs = True\n")
    code = "import torch, torch.nn; print(torch.__name__)"
    assert start(["-c", code], here, ["-m", "minitorch"]) == (0, "minitorch\n", "")
    status, _, error = start(["-c", "import torch; import minitorch.as_torch"], here)
    assert status == 1
    assert error.splitlines()[-1].startswith(
        "ImportError: torch is already imported, from " + str(here / "torch")
    )


CHILDREN = """
import multiprocessing, sys, torch

class Net(torch.nn.Linear):
    pass

def child(queue, net, x):
    queue.put([net(x).tolist(), type(net).__module__, torch.__name__])

if __name__ == "__main__":
    net = Net(1, 1)
    torch.nn.init.constant_(net.weight, 2)
    torch.nn.init.zeros_(net.bias)
    for method in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=child, args=(queue, net, torch.ones(1)))
        process.start()
        print(queue.get()[::2])
        process.join()
"""


@pytest.mark.parametrize("module", [False, True])
def test_children_of_multiprocessing(here, module):
    import multiprocessing

    program(here / "package" / "children.py", CHILDREN)
    line = ["-m", "package.children"] if module else ["package/children.py"]
    status, output, error = start(line, here, ["-m", "minitorch"])
    assert (status, error) == (0, "")
    answers = [x for x in output.splitlines() if x != "package"]
    assert answers == ["[[2.0], 'minitorch']"] * len(multiprocessing.get_all_start_methods())


def test_versions():
    packaging = pytest.importorskip("packaging.version")
    import minitorch

    ours = minitorch.__version__
    assert packaging.Version(ours).public == "2.13.0" and isinstance(ours, str)
    others = "2.13 2.12.9 2.14 1.9 10.0 2.13.1 2.13.0a0 2.13.0rc1 2.13.0.dev20260101 2.13.0.post1 2.13.0rc1.dev2 2 3 1!1.0 v2.5"
    compare = "__lt__ __le__ __gt__ __ge__ __eq__ __ne__".split()
    for other in others.split():
        version = packaging.Version(other)
        expected = [getattr(packaging.Version("2.13.0"), method)(version) for method in compare]
        assert [getattr(ours, method)(other) for method in compare] == expected, other
        assert [getattr(ours, method)(version) for method in compare] == expected, other
        assert (version < ours, version == ours, other > ours) == (expected[2], expected[4], expected[0]), (
            other
        )
    for other, expected in (((2, 13), 0), ((2,), 1), ((2, 13, 1), -1), ([2, 6, 0], 1), ((3, 0), -1)):
        assert (ours > other, ours == other, ours < other) == (expected > 0, expected == 0, expected < 0)
    assert (ours < "parrot", ours == "parrot", ours == 2, ours != None) == (True, False, False, True)  # noqa: E711
    with pytest.raises(TypeError):
        ours < 3
