# SPDX-License-Identifier: BSD-3-Clause
"""The default generator and its seeding."""

from minitorch import _C

default_generator = _C.default_generator


def manual_seed(seed):
    """manual_seed(seed) -> Generator: starts the default stream of this seed, an int from -2**63 to 2**64 - 1."""
    if not isinstance(seed, int):
        seed = int(seed)
    return default_generator.manual_seed(seed)


def seed():
    """seed() -> int: seeds the default generator from the system and returns the seed."""
    return default_generator.seed()


def initial_seed():
    """initial_seed() -> int: the seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """get_rng_state() -> Tensor: the state of the default generator, 5056 bytes as uint8."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """set_rng_state(new_state): puts the default generator into a state that get_rng_state gave."""
    default_generator.set_state(new_state)


class fork_rng:
    """fork_rng(devices=None, enabled=True): on leaving, the default generator is as it was on entry.

    Example::

        with torch.random.fork_rng():
            torch.manual_seed(0)
            noise = torch.rand(3)
    """

    def __init__(
        self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"
    ):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            self.state = get_rng_state()

    def __exit__(self, *exc):
        if self.enabled:
            set_rng_state(self.state)
