# SPDX-License-Identifier: BSD-3-Clause
"""The demonstration program: its losses are those recorded with PyTorch (tests/record/record_demo.py)."""

import json
import os

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "python", "minitorch", "demo")


@pytest.fixture(scope="module")
def recorded():
    with open(os.path.join(ROOT, "tests", "data", "demo_losses.json")) as file:
        return json.load(file)


@pytest.fixture(scope="module")
def program(lib_name):
    starter = os.path.join(FOLDER, "__main__.py")
    names = {"__name__": "starter", "__file__": starter}
    with open(starter, encoding="utf-8") as file:
        exec(compile(file.read(), starter, "exec"), names)
    return names["load_program"](lib_name)


def train(program, tmp_path, dtype, *more):
    path = tmp_path / "losses.json"
    program["main"](["--dtype", dtype, "--losses", str(path), *more])
    return json.loads(path.read_text())


def test_float32_losses(program, recorded, tmp_path, capsys):
    got = train(program, tmp_path, "float32")
    assert len(got["steps"]) == 20
    assert got["steps"] == pytest.approx(recorded["float32"]["steps"], rel=1e-4)
    assert got["epochs"][-1]["accuracy"] >= 0.97
    printed = capsys.readouterr().out
    assert "test accuracy" in printed
    assert printed.count("guessed") == 4


def test_float64_losses(program, recorded, tmp_path):
    got = train(program, tmp_path, "float64")
    assert got["steps"] == pytest.approx(recorded["float64"]["steps"], rel=1e-6)
    for mine, theirs in zip(got["epochs"], recorded["float64"]["epochs"], strict=True):
        assert mine["train_loss"] == pytest.approx(theirs["train_loss"], rel=1e-6)
        assert mine["test_loss"] == pytest.approx(theirs["test_loss"], rel=1e-6)
        assert mine["accuracy"] == pytest.approx(theirs["accuracy"], abs=1e-12)


def test_saved_weights_load_again(program, torch, tmp_path):
    path = tmp_path / "weights.pt"
    program["main"](["--epochs", "1", "--save", str(path)])
    model = program["DigitNet"]()
    assert str(model.load_state_dict(torch.load(path))) == "<All keys matched successfully>"


def test_the_program_names_its_library_once():
    with open(os.path.join(FOLDER, "digits_cnn.py"), encoding="utf-8") as file:
        source = file.read()
    assert source.count("\nimport minitorch as torch\n") == 1
    assert source.count("minitorch.") <= 1  # the name in the help text
