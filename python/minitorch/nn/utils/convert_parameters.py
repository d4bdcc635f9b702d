# SPDX-License-Identifier: BSD-3-Clause
"""All parameters as one vector, and back."""

import minitorch as torch

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_devices(param, seen):
    if seen and param.device != seen[0]:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    seen.append(param.device)


def parameters_to_vector(parameters):
    """parameters_to_vector(parameters) -> Tensor

    The elements of all parameters, one after the other.
    """
    seen = []
    parts = []
    for param in parameters:
        _check_devices(param, seen)
        parts.append(param.view(-1))
    return torch.cat(parts)


def vector_to_parameters(vec, parameters):
    """vector_to_parameters(vec, parameters)

    Makes slices of the vector the data of the parameters.
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError("expected torch.Tensor, but got: %s" % torch.typename(vec))
    seen = []
    start = 0
    for param in parameters:
        _check_devices(param, seen)
        count = param.numel()
        param.data = vec[start : start + count].view_as(param).data
        start += count
