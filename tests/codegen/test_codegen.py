"""The generator: signatures, messages with file and line, golden output, compiled formulas.

`python tests/codegen/test_codegen.py` rewrites the golden files.
"""

import os
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CODEGEN = os.path.join(ROOT, "csrc", "codegen")
EXPECTED = os.path.join(HERE, "expected")
CATALOG = os.path.join(HERE, "catalog")
sys.path.insert(0, CODEGEN)
import schema  # noqa: E402

# What a reviewer should see change, made from tests/codegen/catalog: a pointwise op, a reduction, a kernel, a
# view, a composite, an op with several results, and what their formulas call.
GOLDEN = [
    "op_table.c",
    "ops.h",
    "kernels.h",
    "tables.h",
    "ops_api.c",
    "adapters.c",
    "composites.c",
    "grads_sample.c",
    "loops_binary.c",
    "loops_reduce.c",
    "loops_unary_v3.c",
    "methods.c",
    "_C.pyi",
    "ops_reference.md",
]


def run(*args):
    return subprocess.run([sys.executable, CODEGEN, *args], capture_output=True, text=True)


def generate(out):
    result = run(out, "--ops", CATALOG, "--assume-written")
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    out = tmp_path_factory.mktemp("gen")
    generate(str(out))
    return out


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(generated, name):
    with open(os.path.join(EXPECTED, name)) as f:
        assert (generated / name).read_text() == f.read()


def test_nothing_is_rewritten(generated):
    before = {p.name: p.stat().st_mtime_ns for p in generated.iterdir()}
    generate(str(generated))
    assert before == {p.name: p.stat().st_mtime_ns for p in generated.iterdir()}


def test_stale_files_go(generated):
    stale = generated / "grads_gone.c"
    stale.write_text("int x;\n")
    generate(str(generated))
    assert not stale.exists()


# --- signatures ---


@pytest.mark.parametrize(
    "text",
    [
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
        "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> Tensor",
        "uniform_(Tensor self, float from=0.0, float to=1.0, *, Generator? generator=None) -> Tensor",
        'gelu(Tensor self, *, str approximate="none") -> Tensor',
        "unbind.int(Tensor self, int dim=0) -> Tensor[]",
        "item(Tensor self) -> Scalar",
    ],
)
def test_signature_round_trip(text):
    assert str(schema.parse(text)) == text


def test_annotations_and_symints_are_dropped():
    parsed = schema.parse("view(Tensor(a) self, SymInt[] size) -> Tensor(a)")
    assert str(parsed) == "view(Tensor self, int[] size) -> Tensor"
    parsed = schema.parse("split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
    assert str(parsed) == "split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]"
    assert str(schema.parse("f(Tensor(a!)? x=None) -> Tensor(a!)")) == "f(Tensor? x=None) -> Tensor"


@pytest.mark.parametrize(
    "text, message",
    [
        ("add", "cannot read the signature"),
        ("add(Tensor self)", "lacks '-> result'"),
        ("add(Tensr self) -> Tensor", "unknown type 'Tensr'"),
        ("add(Tensor self, Tensor self) -> Tensor", "occurs twice"),
        ("add(Tensor self, int n=x) -> Tensor", "no default for the type int"),
        ("add(Tensor self, int n=1, int m) -> Tensor", "without a default"),
        ("add(str[] s) -> Tensor", "no lists of 'str'"),
        ("add(int[3]? s=None, *, Tensor?[] t) -> (Tensor, int)", "must all be of type Tensor"),
        ("add(Tensor self) -> Device", "no op may return"),
    ],
)
def test_signature_mistakes(text, message):
    with pytest.raises(schema.CatalogError, match=message.replace("[", r"\[").replace("]", r"\]")):
        schema.parse(text)


# --- messages ---

GOOD = """- op: mul(Tensor self, Tensor other) -> Tensor
  kind: binary
  dtypes: float
  grad:
    self: grad * other
    other: grad * self
  doc: The product.

- op: split(Tensor self) -> (Tensor low, Tensor high)
  kernel: split
  meta: split
  grad: none
  doc: Two halves.
"""


def check(tmp_path, text):
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(text)
    return run("--check", "--ops", str(tmp_path), "--assume-written")


UNARY = "- op: neg(Tensor self) -> Tensor\n  kind: unary\n  dtypes: float\n"
MISTAKES = [
    ("- op: neg(Tensor self) -> Tensor\n  doc: x\n  color: red\n", 3, "unknown field 'color'"),
    ("- op: neg(Tensr self) -> Tensor\n  doc: x\n", 1, "unknown type 'Tensr'"),
    ("- doc: x\n", 1, "'op'"),
    ("- op: neg(Tensor self) -> Tensor\n", 1, "'doc' is missing"),
    (UNARY + "  doc: x\n", 1, "give the gradient"),
    (UNARY + "  grad: none\n  doc: x\n  doc: y\n", 6, "occurs twice"),
    (UNARY + "  kernel: neg\n  doc: x\n", 4, "only one of"),
    (UNARY + "  variants: function metod\n  doc: x\n", 4, "unknown variant 'metod'"),
    (UNARY + "  promote: up\n  grad: none\n  doc: x\n", 4, "unknown promote 'up'"),
    (
        "- op: neg(Tensor self) -> Tensor\n  kind: unary\n  dtypes: floaty\n  doc: x\n",
        3,
        "unknown dtype 'floaty'",
    ),
    (
        "- op: neg(Tensor self, Tensor b) -> Tensor\n"
        "  kind: unary\n  dtypes: float\n  grad: none\n  doc: x\n",
        1,
        "has 1 operands, not 2",
    ),
    (
        "- op: neg(Tensor self, str s) -> Tensor\n  kind: unary\n  dtypes: float\n  grad: none\n  doc: x\n",
        1,
        "cannot be handed to a loop",
    ),
    (
        "- op: f(Tensor self, Scalar? s=None) -> Tensor\n"
        "  kind: unary\n  dtypes: float\n  grad: none\n  doc: x\n",
        1,
        "'absent' must say",
    ),
    ("- op: f(Tensor self) -> Tensor\n  kernel: f\n  doc: x\n", 2, "needs a meta rule"),
    (
        "- op: mul(Tensor self, Tensor other) -> Tensor\n  expr: self\n  doc: x\n",
        1,
        "declared already at a.yaml:1",
    ),
    ("- op: _mul(Tensor self) -> Tensor\n  expr: self\n  doc: x\n", 1, "give one of them a 'cname'"),
    ("- op: f(Tensor self) -> Tensor\n  expr: self\n  alias: mul\n  doc: x\n", 1, "is an op of its own"),
    ("- op: f_(Tensor self) -> Tensor\n  variants: inplace\n  impl: f\n  doc: x\n", 2, "in-place form"),
    ("- op: f(Tensor self) -> Tensor[]\n  variants: out\n  impl: f\n  doc: x\n", 2, "out= needs"),
    ("- op: f(Tensor self) -> Tensor\n  variants: function nn\n  impl: f\n  doc: x\n", 2, "one namespace"),
    (
        "- op: f(Tensor self) -> Tensor\n  expr: self\n  deprecated:\n    - f(int n) -> Tensor\n  doc: x\n",
        4,
        "a deprecated signature",
    ),
    ("- op: f(Tensor self) -> Tensor\n  expr: self\n  struct: f\n  doc: x\n", 3, "several named results"),
    (UNARY + "  grad:\n    slf: grad\n  doc: x\n", 5, "'slf' is no tensor argument; known: self"),
    (
        UNARY + "  grad:\n    self: grad * slf\n  doc: x\n",
        5,
        "unknown name 'slf'; in scope: self grad result",
    ),
    (UNARY + "  grad:\n    self: grad * self.coss()\n  doc: x\n", 5, "there is no op 'coss'"),
    (UNARY + "  grad:\n    self: grad *\n  doc: x\n", 5, "not a formula"),
    (
        UNARY + "  grad:\n    self: '[x for x in grad]'\n  doc: x\n",
        5,
        "'ListComp' is not part of the formula language",
    ),
    (UNARY + "  grad:\n    self: split(grad)\n  doc: x\n", 5, "a Tensor is expected, not tuple"),
    (UNARY + "  grad:\n    self: mul(grad)\n  doc: x\n", 5, "mul lacks the argument 'other'"),
    (UNARY + "  grad:\n    self: mul(grad, 'a')\n  doc: x\n", 5, "argument 'other' is Tensor, not str"),
    (
        UNARY + "  grad:\n    self: grad if grad else self\n  doc: x\n",
        5,
        "a condition is a bool or an int, not Tensor",
    ),
    ("- op: f(Tensor self, Tensor? w) -> Tensor\n  expr: self * w\n  doc: x\n", 2, "(may be None here)"),
    (
        "- op: f(Tensor self, int n) -> Tensor\n  expr: self if n is None else self\n  doc: x\n",
        2,
        "n is never None",
    ),
    ("- op: f(Tensor self) -> Tensor\n  expr: self.mul_(self)\n  doc: x\n", 2, "there is no op 'mul_'"),
    ("- op: f(Tensor self) -> int\n  expr: self\n  doc: x\n", 2, "the result is Tensor, not int"),
    ('- op: f(Tensor self) -> Tensor\n  expr: fail("%s %d", 1)\n  doc: x\n', 2, "placeholders"),
    (
        "- op: f(Tensor[] a, Tensor[] b) -> Tensor\n"
        "  impl: f\n  grad:\n    a: grads\n    b: grads\n  doc: x\n",
        4,
        "only one list argument",
    ),
    ("- op: f(Tensor self) -> Tensor\n expr: self\n", 2, ""),
    ("a: 1\n", 1, "a list of entries"),
]


@pytest.mark.parametrize("text, line, message", MISTAKES, ids=[m for _, _, m in MISTAKES])
def test_mistake(tmp_path, text, line, message):
    result = check(tmp_path, text)
    assert result.returncode == 1 and result.stdout == ""
    first = result.stderr.splitlines()[0]
    assert first.startswith("b.yaml:%d: " % line), result.stderr
    assert message in first
    assert "Traceback" not in result.stderr


def test_nothing_is_written_after_a_mistake(tmp_path):
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "b.yaml").write_text(UNARY + "  grad:\n    self: nothing\n  doc: x\n")
    result = run(str(tmp_path / "out"), "--ops", str(ops))
    assert result.returncode == 1 and not (tmp_path / "out").exists()


def test_check_of_a_good_catalog(tmp_path):
    result = check(tmp_path, "- op: f(Tensor self) -> Tensor\n  expr: self * 2\n  doc: x\n")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_catalog_is_good():
    result = run("--check")
    assert result.returncode == 0, result.stderr


def test_explain():
    result = run("--explain", "hypot", "--ops", CATALOG, "--assume-written")
    assert result.returncode == 0
    for text in (
        "sample.yaml:",
        "kernel[CPU] = mt_pointwise_kernel",
        "hypot_f32",
        "HypotBackward0",
        "mt_hypot_inplace",
        "static int hypot_self",
    ):
        assert text in result.stdout
    assert run("--explain", "hypott", "--ops", CATALOG).returncode == 1


def test_missing_functions_become_entries_without_implementation(tmp_path):
    ops = tmp_path / "ops"
    ops.mkdir()
    (ops / "a.yaml").write_text("- op: f(Tensor self) -> Tensor\n  impl: surely_not_written\n  doc: x\n")
    result = run(str(tmp_path / "out"), "--ops", str(ops), "--missing")
    assert "a.yaml:1: f: mt_impl_surely_not_written" in result.stdout
    table = (tmp_path / "out" / "op_table.c").read_text()
    assert "MT_OPF_NO_IMPL" in table and "mt_no_impl_kernel" in table and "surely_not_written" not in table


# --- the compiled formulas ---

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no compiler")


@needs_gcc
def test_generated_code_compiles(generated):
    for name in ("op_table.c", "ops_api.c", "adapters.c", "composites.c", "grads_sample.c"):
        subprocess.check_call(
            [
                "gcc",
                "-std=gnu17",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
                "-fsyntax-only",
                "-I" + os.path.join(ROOT, "csrc"),
                "-I" + str(generated),
                str(generated / name),
            ]
        )


@needs_gcc
def test_no_reference_leaks(generated, tmp_path):
    """Runs the compiled formulas with a small runtime that counts references; every call fails in turn."""
    program = str(tmp_path / "run")
    flags = ["-fsanitize=address,undefined"] if _has_sanitizer(tmp_path) else []
    subprocess.check_call(
        [
            "gcc",
            "-std=gnu17",
            "-g",
            *flags,
            "-I" + os.path.join(ROOT, "csrc"),
            "-I" + str(generated),
            os.path.join(HERE, "mock_runtime.c"),
            str(generated / "composites.c"),
            str(generated / "grads_sample.c"),
            "-lm",
            "-o",
            program,
        ]
    )
    result = subprocess.run([program], capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=1"})
    assert result.returncode == 0, result.stdout + result.stderr


def _has_sanitizer(tmp_path):
    source = tmp_path / "probe.c"
    source.write_text("int main(void) { return 0; }\n")
    probe = str(tmp_path / "probe")
    built = subprocess.run(
        ["gcc", "-fsanitize=address,undefined", str(source), "-o", probe], capture_output=True
    )
    return built.returncode == 0 and subprocess.run([probe], capture_output=True).returncode == 0


if __name__ == "__main__":
    folder = os.path.join(HERE, "build")
    generate(folder)
    os.makedirs(EXPECTED, exist_ok=True)
    for golden in GOLDEN:
        shutil.copy(os.path.join(folder, golden), os.path.join(EXPECTED, golden))
    shutil.rmtree(folder)
