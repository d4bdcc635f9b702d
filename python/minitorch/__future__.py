# SPDX-License-Identifier: BSD-3-Clause
"""Switches for how modules convert their parameters (`Module.to`, `load_state_dict`)."""

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value):
    """Whether conversions put new parameters in place of the old ones instead of changing their data."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion():
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value):
    """Whether conversions and load_state_dict use `torch.utils.swap_tensors`."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion():
    return _swap_module_params_on_conversion
