# SPDX-License-Identifier: BSD-3-Clause
"""torch.testing.assert_close: what passes, what fails and with which words."""

import numpy as np
import pytest


def outcome(torch, build, **options):
    actual, expected = build(torch.tensor)
    try:
        torch.testing.assert_close(actual, expected, **options)
    except (AssertionError, TypeError, ValueError) as e:
        return type(e).__name__, str(e).replace("minitorch", "torch")
    return None


NAN = float("nan")
SINGLE = (
    "Mismatched elements: 1 / %d (%s%%)\nGreatest absolute difference: %s at index %s (up to 1e-05 allowed)\n"
    "Greatest relative difference: %s at index %s (up to 1.3e-06 allowed)"
)
CASES = [
    (lambda t: (t([1.0, 2.0]), t([1.0, 2.0 + 1e-6])), {}, None),
    (
        lambda t: (t([1.0, 2.0, 3.0]), t([1.0, 2.5, 3.0])),
        {},
        "Tensor-likes are not close!\n\n" + SINGLE % (3, "33.3", 0.5, (1,), 0.20000000298023224, (1,)),
    ),
    (
        lambda t: (t([1, 2]), t([1, 3])),
        {},
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1 at index (1,)\n"
        "Greatest relative difference: 0.3333333432674408 at index (1,)",
    ),
    (
        lambda t: (t([True]), t([False])),
        {},
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 1 (100.0%)\nGreatest absolute difference: 1 at index (0,)\n"
        "Greatest relative difference: inf at index (0,)",
    ),
    (
        lambda t: (t([1.0]), t([1.0]).double()),
        {},
        "The values for attribute 'dtype' do not match: torch.float32 != torch.float64.",
    ),
    (lambda t: (t([1.0]), t([1.0]).double()), {"check_dtype": False}, None),
    (
        lambda t: (t([1.0]), t([1.0, 2.0])),
        {},
        "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2]).",
    ),
    (
        lambda t: (t([[1.0] * 3] * 2), t([[1.0] * 2] * 3).t()),
        {"check_stride": True},
        "The values for attribute 'stride()' do not match: (3, 1) != (1, 2).",
    ),
    (
        lambda t: (1, 2),
        {},
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5",
    ),
    (
        lambda t: (t(1.0), t(2.0)),
        {},
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)",
    ),
    (lambda t: (1, 1.0), {}, "The (d)types do not match: <class 'int'> != <class 'float'>."),
    (lambda t: (True, False), {}, "Booleans mismatch: True is not False"),
    (lambda t: (None, None), {}, None),
    (lambda t: ([1, 2], [1, 2, 3]), {}, "The length of the sequences mismatch: 2 != 3"),
    (
        lambda t: ((t([1.0]), (t([2.0]),)), (t([1.0]), (t([3.0]),))),
        {},
        "Tensor-likes are not close!\n\n"
        + SINGLE % (1, "100.0", 1.0, (0,), 0.3333333432674408, (0,))
        + "\n\nThe failure occurred for item [1][0]",
    ),
    (
        lambda t: ({"a": 1}, {"b": 1}),
        {},
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"
        "Additional keys in the actual mapping: ['a']",
    ),
    (lambda t: (t([NAN, 1.0]), t([NAN, 1.0])), {"equal_nan": True}, None),
    (lambda t: (np.array([1.0]), np.array([1.0])), {}, None),
    (lambda t: (t([1.0, 2.0]), t([1.0, 3.0])), {"msg": "mine"}, "mine"),
    (lambda t: (t([1.0]), t([1.5])), {"rtol": 0, "atol": 0.5}, None),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_comparison(torch, case):
    build, options, text = CASES[case]
    assert outcome(torch, build, **options) == (text and ("AssertionError", text))


def test_refusals(torch):
    t = torch.tensor
    for a, b in (("a", "a"), (t([1.0]), [1.0]), (t([1.0]), 1.0)):
        with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type"):
            torch.testing.assert_close(a, b)
    with pytest.raises(
        ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"
    ):
        torch.testing.assert_close(t(1.0), t(1.0), rtol=1)
    with pytest.raises(AssertionError, match="^before Tensor-likes are not close!"):
        torch.testing.assert_close(t([1.0]), t([2.0]), msg=lambda text: "before " + text)


@pytest.mark.filterwarnings("ignore")
def test_assert_allclose(torch):
    close = torch.testing.assert_allclose
    with pytest.warns(FutureWarning, match="assert_close"):
        close([1.0, 2.0], [1.0, 2.0])
    # Other dtypes are compared, with the wider tolerances of the two, and NaN is NaN.
    close(torch.ones(2).half(), torch.ones(2) + 5e-4)
    close(torch.tensor([float("nan")]), torch.tensor([float("nan")]))
    for actual, expected in (
        ([1.0], [1.001]),
        (torch.ones(2), torch.ones(3)),
        (torch.tensor([1]), torch.tensor([2])),
    ):
        with pytest.raises(AssertionError):
            close(actual, expected)
    with pytest.raises(AssertionError, match="^hi$"):
        close(1.0, 2.0, msg="hi")
    with pytest.raises(ValueError, match="rtol"):
        close(1.0, 1.0, rtol=0.1)


def test_weights_of_a_functional_module(torch):
    lstm = torch.nn.LSTM(2, 3)
    lstm._flat_weights = [torch.zeros_like(w) for w in lstm._flat_weights]
    assert not lstm(torch.ones(1, 1, 2))[0].any()
    lstm.weight_ih_l0 = torch.nn.Parameter(torch.ones(12, 2))
    assert lstm._flat_weights[0] is lstm.weight_ih_l0 and len(lstm._flat_weights) == 4
