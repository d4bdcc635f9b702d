# SPDX-License-Identifier: BSD-3-Clause
"""assert_close: tensors, numbers, arrays, and sequences and mappings of them."""

import warnings

import minitorch as torch

# dtype -> (relative, absolute) tolerance; everything else is compared exactly
_TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_NUMBERS = (bool, int, float, complex)


class _Options:
    def __init__(self, **values):
        self.__dict__.update(values)


def _fail(options, text, path):
    if path:
        text += "\n\nThe failure occurred for item %s" % "".join("[%r]" % key for key in path)
    if callable(options.msg):
        text = options.msg(text)
    elif options.msg is not None:
        text = options.msg
    raise AssertionError(text)


def _is_array(value):
    return type(value).__module__ == "numpy" and hasattr(value, "__array_interface__")


def _kind(value):
    if isinstance(value, torch.Tensor) or _is_array(value):
        return "tensor"
    if isinstance(value, _NUMBERS):
        return "number"
    if value is None:
        return "none"
    if isinstance(value, (str, bytes)):
        return None
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        return "mapping"
    if hasattr(value, "__len__") and hasattr(value, "__getitem__"):
        return "sequence"
    return None


def _tolerances(options, *dtypes):
    if options.rtol is not None:
        return options.rtol, options.atol
    pairs = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _allowed(tolerance, exact):
    return "" if exact else " (up to %s allowed)" % tolerance


def _compare_numbers(actual, expected, rtol, atol, options, path):
    same_nan = options.equal_nan and actual != actual and expected != expected
    if same_nan or actual == expected or abs(actual - expected) <= atol + rtol * abs(expected):
        return
    exact = rtol == 0 and atol == 0
    absolute = abs(actual - expected)
    relative = float("inf") if expected == 0 else absolute / abs(expected)
    _fail(
        options,
        "Scalars are not %s!\n\nExpected %s but got %s.\nAbsolute difference: %s%s\nRelative difference: %s%s"
        % (
            "equal" if exact else "close",
            expected,
            actual,
            absolute,
            _allowed(atol, exact),
            relative,
            _allowed(rtol, exact),
        ),
        path,
    )


def _number_pair(actual, expected, options, path):
    if isinstance(actual, bool) or isinstance(expected, bool):
        if isinstance(actual, bool) and isinstance(expected, bool):
            if actual is not expected:
                _fail(options, "Booleans mismatch: %s is not %s" % (actual, expected), path)
            return
    if options.check_dtype and type(actual) is not type(expected):
        _fail(options, "The (d)types do not match: %s != %s." % (type(actual), type(expected)), path)
    dtypes = {int: torch.int64, float: torch.float64, complex: torch.complex128, bool: torch.bool}
    rtol, atol = _tolerances(options, dtypes[type(actual)], dtypes[type(expected)])
    _compare_numbers(actual, expected, rtol, atol, options, path)


def _attributes(actual, expected, options, path):
    def differ(name, a, b):
        _fail(options, "The values for attribute '%s' do not match: %s != %s." % (name, a, b), path)

    if actual.shape != expected.shape:
        differ("shape", actual.shape, expected.shape)
    if options.check_layout and actual.layout != expected.layout:
        differ("layout", actual.layout, expected.layout)
    if options.check_stride and actual.stride() != expected.stride():
        differ("stride()", actual.stride(), expected.stride())
    if options.check_device and actual.device != expected.device:
        differ("device", actual.device, expected.device)
    if options.check_dtype and actual.dtype != expected.dtype:
        differ("dtype", actual.dtype, expected.dtype)


def _greatest(difference):
    """The value as a Python number and its index; nan counts as the greatest."""
    flat = int(difference.flatten().argmax().item())
    index = []
    for size in reversed(difference.shape):
        index.append(flat % size)
        flat //= size
    index = tuple(reversed(index))
    return difference[index].item(), index


def _tensor_pair(actual, expected, options, path):
    actual, expected = (v if isinstance(v, torch.Tensor) else torch.as_tensor(v) for v in (actual, expected))
    if not options.allow_subclasses and type(actual) is not type(expected):
        raise TypeError(
            "No comparison pair was able to handle inputs of type %s and %s." % (type(actual), type(expected))
        )
    _attributes(actual, expected, options, path)
    rtol, atol = _tolerances(options, actual.dtype, expected.dtype)
    if actual.device.type == "meta" or expected.device.type == "meta":
        raise NotImplementedError("Comparing meta tensors is currently not supported")
    actual, expected = actual.detach().cpu(), expected.detach().cpu()
    dtype = torch.promote_types(actual.dtype, expected.dtype)
    actual, expected = actual.to(dtype), expected.to(dtype)
    if actual.ndim == 0 and dtype is not torch.bool:
        return _compare_numbers(actual.item(), expected.item(), rtol, atol, options, path)
    wrong = ~torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    count = int(wrong.sum().item())
    if count == 0:
        return None
    exact = rtol == 0 and atol == 0
    if dtype is torch.bool:
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    right = ~wrong
    absolute = (actual - expected).abs()
    relative = absolute / expected.abs()
    # what matches does not count, be it nan or 0 / 0
    absolute = absolute.masked_fill(right, 0)
    relative = relative.masked_fill(right, 0)
    value, where = _greatest(absolute)
    ratio, at = _greatest(relative)
    _fail(
        options,
        "Tensor-likes are not %s!\n\nMismatched elements: %d / %d (%.1f%%)\n"
        "Greatest absolute difference: %s at index %s%s\nGreatest relative difference: %s at index %s%s"
        % (
            "equal" if exact else "close",
            count,
            wrong.numel(),
            100.0 * count / wrong.numel(),
            value,
            where,
            _allowed(atol, exact),
            ratio,
            at,
            _allowed(rtol, exact),
        ),
        path,
    )


def _sequence_pair(actual, expected, options, path):
    if len(actual) != len(expected):
        _fail(options, "The length of the sequences mismatch: %d != %d" % (len(actual), len(expected)), path)
    for i in range(len(actual)):
        _compare(actual[i], expected[i], options, path + (i,))


def _mapping_pair(actual, expected, options, path):
    have, want = set(actual.keys()), set(expected.keys())
    if have != want:
        _fail(
            options,
            "The keys of the mappings do not match:\nMissing keys in the actual mapping: %s\n"
            "Additional keys in the actual mapping: %s" % (sorted(want - have), sorted(have - want)),
            path,
        )
    keys = list(actual.keys())
    try:
        keys.sort()
    except TypeError:
        pass
    for key in keys:
        _compare(actual[key], expected[key], options, path + (key,))


def _none_pair(actual, expected, options, path):
    """Both are None."""


_PAIRS = {
    "tensor": _tensor_pair,
    "number": _number_pair,
    "none": _none_pair,
    "sequence": _sequence_pair,
    "mapping": _mapping_pair,
}


def _compare(actual, expected, options, path):
    kind = _kind(actual)
    if kind is None or kind != _kind(expected):
        if actual is None or expected is None:
            _fail(options, "None mismatch: %s is not %s" % (actual, expected), path)
        text = "No comparison pair was able to handle inputs of type %s and %s." % (
            type(actual),
            type(expected),
        )
        if path:
            text += "\n\nThe failure occurred for item %s" % "".join("[%r]" % key for key in path)
        raise TypeError(text)
    _PAIRS[kind](actual, expected, options, path)


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False,
    check_device=True, check_dtype=True, check_layout=True, check_stride=False, msg=None)

    AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, for tensors, NumPy arrays, numbers, and
    sequences and mappings of them.  Without rtol and atol (give both or neither) they follow from the dtype: 1.3e-6 and 1e-5
    for float32, 1e-7 and 1e-7 for float64, zero for integers.  TypeError for other objects.

    >>> import minitorch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]) / 3, torch.tensor([0.33333334, 0.6666667]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no %s."
            % ("rtol" if rtol is None else "atol")
        )
    options = _Options(
        allow_subclasses=allow_subclasses,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=check_device,
        check_dtype=check_dtype,
        check_layout=check_layout,
        check_stride=check_stride,
        msg=msg,
    )
    _compare(actual, expected, options, ())


# What assert_allclose allows for the dtypes whose tolerances it has of its own.
_ALLCLOSE = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5), torch.float64: (1e-5, 1e-8)}


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg="")

    Deprecated: assert_close, which see, without a look at dtypes and with tolerances of its own: 1e-4 of the value and 1e-5 for
    float32.  AssertionError when the values differ."""
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. "
        "You can find detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        both = [_ALLCLOSE.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = (max(pair) for pair in zip(*both))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
