# SPDX-License-Identifier: BSD-3-Clause
"""Normalisation of each channel of each example."""

import warnings

from minitorch.nn import functional as F
from minitorch.nn.modules.batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


class _InstanceNorm(_NormBase):
    _no_batch_dim = None  # number of dimensions of an example

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self):
        return self._no_batch_dim

    def _check_input_dim(self, input):
        ndim = self._get_no_batch_dim()
        if input.dim() not in (ndim, ndim + 1):
            raise ValueError("expected %dD or %dD input (got %dD input)" % (ndim, ndim + 1, input.dim()))

    def _apply_instance_norm(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names = " and ".join(['"%s"' % (prefix + name) for name in found])
                kind = type(self).__name__
                error_msgs.append(
                    "Unexpected running stats buffer(s) %s for %s with track_running_stats=False. If "
                    "state_dict is a checkpoint saved before 0.4.0, this may be expected because %s does "
                    "not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set "
                    "track_running_stats=True in %s to enable them. See the documentation of %s for details."
                    % (names, kind, kind, kind, kind)
                )
                for name in found:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input):
        self._check_input_dim(input)
        ndim = self._get_no_batch_dim()
        channel = input.dim() - ndim
        if input.size(channel) != self.num_features:
            if self.affine:
                raise ValueError(
                    "expected input's size at dim=%d to match num_features (%d), but got: %d."
                    % (channel, self.num_features, input.size(channel))
                )
            warnings.warn(
                "input's size at dim=%d does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False" % channel,
                stacklevel=2,
            )
        if input.dim() == ndim:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """InstanceNorm1d(num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False)"""

    _no_batch_dim = 2


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm2d(num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False)"""

    _no_batch_dim = 3


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm3d(num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False)"""

    _no_batch_dim = 4


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm1d that takes num_features from the first input."""

    cls_to_become = InstanceNorm1d
    _no_batch_dim = 2


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm2d that takes num_features from the first input."""

    cls_to_become = InstanceNorm2d
    _no_batch_dim = 3


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm3d that takes num_features from the first input."""

    cls_to_become = InstanceNorm3d
    _no_batch_dim = 4
