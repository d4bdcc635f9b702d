# SPDX-License-Identifier: BSD-3-Clause
"""Learning rate schedules: rates of every step, saving, the deprecated jump, errors."""

import copy

RTOL = {2: 0, 4: 1e-6, 8: 1e-13}
LR = 0.5


def optimizer(torch, kind="SGD"):
    first, second = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    groups = [{"params": [first]}, {"params": [second], "lr": LR / 3}]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(torch.optim, kind)(groups, lr=LR, **options)


def plain_state(scheduler):
    return {k: v for k, v in scheduler.state_dict().items() if isinstance(v, (int, float, list, dict))}


def follow(torch, make, kind="SGD", steps=14):
    """Rates (and momenta) of every step; in the middle everything is saved and loaded into fresh objects."""
    o = optimizer(torch, kind)
    s = make(torch.optim.lr_scheduler, o)
    rows = []
    for i in range(steps):
        rows.append([g["lr"] for g in o.param_groups] + [s.get_last_lr()])
        rows.append([g.get("momentum", g.get("betas")) for g in o.param_groups])
        o.step()
        plateau = isinstance(s, torch.optim.lr_scheduler.ReduceLROnPlateau)
        s.step(*([abs(5 - i)] if plateau else []))
        if i == steps // 2:
            saved, state = copy.deepcopy(o.state_dict()), copy.deepcopy(s.state_dict())
            o = optimizer(torch, kind)
            s = make(torch.optim.lr_scheduler, o)
            o.load_state_dict(saved)
            s.load_state_dict(state)
    return rows


def jump(torch, make):
    """The deprecated step(epoch)."""
    o = optimizer(torch)
    o.step()
    s = make(torch.optim.lr_scheduler, o)
    s.step(3)
    rates = [s.get_last_lr()]
    s.step()
    return rates + [s.get_last_lr()]


def namespace(torch):
    return {
        "torch": torch,
        "S": torch.optim.lr_scheduler,
        "o": optimizer(torch),
        "optimizer": optimizer,
        "follow": lambda *args: follow(torch, *args),
        "jump": lambda make: jump(torch, make),
    }


EXPRESSIONS = [
    "follow(lambda S, o: S.StepLR(o, 3))",
    "follow(lambda S, o: S.StepLR(o, 3), 'Adam')",
    "follow(lambda S, o: S.MultiStepLR(o, [2, 5, 5], 0.5))",
    "follow(lambda S, o: S.MultiStepLR(o, [2, 5, 5], 0.5), 'Adam')",
    "follow(lambda S, o: S.ConstantLR(o))",
    "follow(lambda S, o: S.ConstantLR(o), 'Adam')",
    "follow(lambda S, o: S.ConstantLR(o, 2))",
    "follow(lambda S, o: S.ConstantLR(o, 2), 'Adam')",
    "follow(lambda S, o: S.LinearLR(o))",
    "follow(lambda S, o: S.LinearLR(o), 'Adam')",
    "follow(lambda S, o: S.LinearLR(o, 0.1, 0.9, 7))",
    "follow(lambda S, o: S.LinearLR(o, 0.1, 0.9, 7), 'Adam')",
    "follow(lambda S, o: S.LinearLR(o, 0))",
    "follow(lambda S, o: S.LinearLR(o, 0), 'Adam')",
    "follow(lambda S, o: S.ExponentialLR(o, 0.9))",
    "follow(lambda S, o: S.ExponentialLR(o, 0.9), 'Adam')",
    "follow(lambda S, o: S.PolynomialLR(o, 4, 2))",
    "follow(lambda S, o: S.PolynomialLR(o, 4, 2), 'Adam')",
    "follow(lambda S, o: S.CosineAnnealingLR(o, 5))",
    "follow(lambda S, o: S.CosineAnnealingLR(o, 5), 'Adam')",
    "follow(lambda S, o: S.CosineAnnealingLR(o, 5, 0.1))",
    "follow(lambda S, o: S.CosineAnnealingLR(o, 5, 0.1), 'Adam')",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 3))",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 3), 'Adam')",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 2, 0.01))",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 2, 0.01), 'Adam')",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 0))",
    "follow(lambda S, o: S.CosineAnnealingWarmRestarts(o, 0), 'Adam')",
    "follow(lambda S, o: S.LambdaLR(o, lambda e: 1 / (e + 1)))",
    "follow(lambda S, o: S.LambdaLR(o, lambda e: 1 / (e + 1)), 'Adam')",
    "follow(lambda S, o: S.LambdaLR(o, [lambda e: 0.5] * 2))",
    "follow(lambda S, o: S.LambdaLR(o, [lambda e: 0.5] * 2), 'Adam')",
    "follow(lambda S, o: S.LambdaLR(o, [lambda e: 0.5]))",
    "follow(lambda S, o: S.LambdaLR(o, [lambda e: 0.5]), 'Adam')",
    "follow(lambda S, o: S.MultiplicativeLR(o, lambda e: 0.95))",
    "follow(lambda S, o: S.MultiplicativeLR(o, lambda e: 0.95), 'Adam')",
    "follow(lambda S, o: S.MultiplicativeLR(o, 3))",
    "follow(lambda S, o: S.MultiplicativeLR(o, 3), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, total_steps=12))",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, total_steps=12), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, [1.0, 2.0], epochs=3, steps_per_epoch=5, three_phase=True, "
    "anneal_strategy='linear'))",
    "follow(lambda S, o: S.OneCycleLR(o, [1.0, 2.0], epochs=3, steps_per_epoch=5, three_phase=True, "
    "anneal_strategy='linear'), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0))",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 10, pct_start=2))",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 10, pct_start=2), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 10, anneal_strategy='x'))",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 10, anneal_strategy='x'), 'Adam')",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 5))",
    "follow(lambda S, o: S.OneCycleLR(o, 1.0, 5), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, 2, mode='triangular2'))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, 2, mode='triangular2'), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, [1.0, 2.0], 3, 2, mode='exp_range', gamma=0.9))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, [1.0, 2.0], 3, 2, mode='exp_range', gamma=0.9), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 0.5, scale_mode='iterations'))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, scale_fn=lambda x: 0.5, "
    "scale_mode='iterations'), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, mode='q'))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, mode='q'), 'Adam')",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, cycle_momentum=False))",
    "follow(lambda S, o: S.CyclicLR(o, 0.1, 1.0, 3, cycle_momentum=False), 'Adam')",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, patience=1))",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, patience=1), 'Adam')",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, 'max', 0.5, 0, cooldown=1, threshold_mode='abs'))",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, 'max', 0.5, 0, cooldown=1, threshold_mode='abs'), 'Adam')",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, 'x'))",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, 'x'), 'Adam')",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, factor=2))",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, factor=2), 'Adam')",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, min_lr=[1]))",
    "follow(lambda S, o: S.ReduceLROnPlateau(o, min_lr=[1]), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)], [4]))",
    "follow(lambda S, o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)], [4]), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1, 3), S.CosineAnnealingLR(o, 6), "
    "S.StepLR(o, 2)], [3, 8]))",
    "follow(lambda S, o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1, 3), S.CosineAnnealingLR(o, 6), "
    "S.StepLR(o, 2)], [3, 8]), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [], []))",
    "follow(lambda S, o: S.SequentialLR(o, [], []), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [S.StepLR(o, 1)], [3]))",
    "follow(lambda S, o: S.SequentialLR(o, [S.StepLR(o, 1)], [3]), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [S.ReduceLROnPlateau(o), S.StepLR(o, 1)], [3]))",
    "follow(lambda S, o: S.SequentialLR(o, [S.ReduceLROnPlateau(o), S.StepLR(o, 1)], [3]), 'Adam')",
    "follow(lambda S, o: S.SequentialLR(o, [3, S.StepLR(o, 1)], [3]))",
    "follow(lambda S, o: S.SequentialLR(o, [3, S.StepLR(o, 1)], [3]), 'Adam')",
    "follow(lambda S, o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]))",
    "follow(lambda S, o: S.ChainedScheduler([S.ConstantLR(o, 0.1, 3), S.ExponentialLR(o, 0.9)]), 'Adam')",
    "follow(lambda S, o: S.ChainedScheduler([]))",
    "follow(lambda S, o: S.ChainedScheduler([]), 'Adam')",
    "follow(lambda S, o: S.StepLR(3, 1))",
    "follow(lambda S, o: S.StepLR(3, 1), 'Adam')",
    "follow(lambda S, o: S.StepLR(o, 1, last_epoch=3))",
    "follow(lambda S, o: S.StepLR(o, 1, last_epoch=3), 'Adam')",
    "follow(lambda S, o: S.LRScheduler(o))",
    "follow(lambda S, o: S.LRScheduler(o), 'Adam')",
    "jump(lambda S, o: S.StepLR(o, 2))",
    "jump(lambda S, o: S.MultiStepLR(o, [1, 3]))",
    "jump(lambda S, o: S.ConstantLR(o))",
    "jump(lambda S, o: S.LinearLR(o))",
    "jump(lambda S, o: S.ExponentialLR(o, 0.5))",
    "jump(lambda S, o: S.PolynomialLR(o))",
    "jump(lambda S, o: S.CosineAnnealingLR(o, 4))",
    "jump(lambda S, o: S.LambdaLR(o, lambda e: e))",
    "jump(lambda S, o: S.CosineAnnealingWarmRestarts(o, 2, 2))",
    "S.StepLR(o, 1, verbose=True)",
    "S.StepLR(o, 1).step()",
    "S.StepLR(3, 1)",
    "S.StepLR(o, 1).get_lr()",
]
