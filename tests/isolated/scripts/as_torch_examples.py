"""The examples of as_torch do what they say."""

import doctest

import minitorch.as_torch

result = doctest.testmod(minitorch.as_torch)
assert result.attempted >= 7 and not result.failed
minitorch.as_torch.uninstall()
print("ok")
