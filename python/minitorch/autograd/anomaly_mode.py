# SPDX-License-Identifier: BSD-3-Clause
"""Anomaly mode: errors of backward come with the stack of the forward call, and NaN in a gradient is an error."""

import minitorch as torch

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """detect_anomaly(check_nan=True)

    Context manager: every operation inside keeps the stack that called it, and a backward that fails warns with the stack
    of the operation it belongs to.  With `check_nan`, a gradient with NaN in it is a RuntimeError.  It is slow.

    Example::

        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> x = torch.zeros(1, requires_grad=True)
        >>> with torch.autograd.detect_anomaly():
        ...     (x.sqrt() * 0).backward()
        Traceback (most recent call last):
            ...
        RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
        >>> warnings.simplefilter("default")
    """

    def __init__(self, check_nan=True):
        import warnings

        self.prev = torch.is_anomaly_enabled()
        self.check_nan = check_nan
        self.prev_check_nan = torch.is_anomaly_check_nan_enabled()
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled "
            "for debugging.",
            stacklevel=2,
        )

    def __enter__(self):
        torch.set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *exception):
        torch.set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """set_detect_anomaly(mode, check_nan=True)

    Turns anomaly mode on or off: at once, and back at the end of a `with` block when it is used as one.  See
    `detect_anomaly`.

    Example::

        >>> with torch.autograd.set_detect_anomaly(True):
        ...     torch.is_anomaly_enabled()
        True
        >>> torch.is_anomaly_enabled()
        False
    """

    def __init__(self, mode, check_nan=True):
        self.prev = torch.is_anomaly_enabled()
        self.prev_check_nan = torch.is_anomaly_check_nan_enabled()
        torch.set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *exception):
        torch.set_anomaly_enabled(self.prev, self.prev_check_nan)
