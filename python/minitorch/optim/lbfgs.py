# SPDX-License-Identifier: BSD-3-Clause
"""L-BFGS: a quasi-Newton method with limited memory and an optional line search for the strong Wolfe
conditions."""

import minitorch as torch
from minitorch.optim.optimizer import Optimizer, _to_scalar, check_lr

__all__ = ["LBFGS"]


class _Point:
    """A place on the search line: step, loss, gradient, slope along the direction."""

    __slots__ = ("t", "f", "g", "slope")

    def __init__(self, t, f, g, slope):
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _copied(g):
    return g.clone(memory_format=torch.contiguous_format)


def _cubic_minimum(a, b, bounds=None):
    """Where the cubic through both points with their slopes is smallest, kept inside the bounds."""
    low, high = bounds if bounds is not None else (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        place = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        place = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(place, low), high)


def _strong_wolfe(evaluate, t, d, start, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """(point, number of evaluations) that fulfils the strong Wolfe conditions, or the best one found."""
    d_norm = d.abs().max()
    start.g = _copied(start.g)

    def probe(place):
        f, g = evaluate(place)
        return _Point(place, f, g, g.dot(d))

    def too_high(point):
        return point.f > start.f + c1 * point.t * start.slope

    def flat_enough(point):
        return abs(point.slope) <= -c2 * start.slope

    # Widen the step until a minimum lies between the last two points.
    current = probe(t)
    previous = start
    evaluations = 1
    iteration = 0
    bracket = None
    while iteration < max_ls:
        if too_high(current) or (iteration > 1 and current.f >= previous.f):
            bracket = [previous, _Point(current.t, current.f, _copied(current.g), current.slope)]
            break
        if flat_enough(current):
            return current, evaluations
        if current.slope >= 0:
            bracket = [previous, _Point(current.t, current.f, _copied(current.g), current.slope)]
            break
        bounds = (current.t + 0.01 * (current.t - previous.t), current.t * 10)
        place = _cubic_minimum(previous, current, bounds)
        previous = _Point(current.t, current.f, _copied(current.g), current.slope)
        current = probe(place)
        evaluations += 1
        iteration += 1
    if bracket is None:
        bracket = [_Point(0, start.f, start.g, start.slope), current]

    # Narrow the bracket.
    stuck = False
    low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
    done = False
    while not done and iteration < max_ls:
        left, right = min(bracket[0].t, bracket[1].t), max(bracket[0].t, bracket[1].t)
        if (right - left) * d_norm < tolerance_change:
            break
        t = _cubic_minimum(bracket[0], bracket[1])
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        current = probe(t)
        evaluations += 1
        iteration += 1
        if too_high(current) or current.f >= bracket[low].f:
            current.g = _copied(current.g)
            bracket[high] = current
            low, high = (0, 1) if bracket[0].f <= bracket[1].f else (1, 0)
        else:
            if flat_enough(current):
                done = True
            elif current.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = bracket[low]
            current.g = _copied(current.g)
            bracket[low] = current
    return bracket[low], evaluations


class LBFGS(Optimizer):
    """LBFGS(params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9,
    history_size=100, line_search_fn=None): `step` needs a closure that computes the loss and its
    gradients."""

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gather_flat_grad(self):
        parts = []
        for param in self._params:
            grad = torch.zeros_like(param) if param.grad is None else param.grad
            flat = grad.view(-1)
            parts.append(torch.view_as_real(flat).view(-1) if flat.is_complex() else flat)
        return torch.cat(parts, 0)

    def _add_grad(self, step_size, update):
        offset = 0
        for param in self._params:
            if param.is_complex():
                param = torch.view_as_real(param)
            count = param.numel()
            param.add_(update[offset : offset + count].view_as(param), alpha=step_size)
            offset += count

    def _search(self, closure, t, d, start, max_ls):
        """Line search from the present parameters, which are restored."""
        before = [_copied(param) for param in self._params]

        def evaluate(place):
            self._add_grad(place, d)
            loss = float(closure())
            grad = self._gather_flat_grad()
            for param, value in zip(self._params, before):
                param.copy_(value)
            return loss, grad

        return _strong_wolfe(evaluate, t, d, start, max_ls=max_ls)

    @staticmethod
    def _direction(state, flat_grad, history_size):
        """The next direction, from the changes of position and gradient in the history."""
        change = flat_grad.sub(state["prev_flat_grad"])
        moved = state["d"].mul(state["t"])
        product = change.dot(moved)
        dirs, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        if product > 1e-10:
            if len(dirs) == history_size:
                for history in (dirs, steps, ro):
                    history.pop(0)
            dirs.append(change)
            steps.append(moved)
            ro.append(1.0 / product)
            state["H_diag"] = product / change.dot(change)
        weights = state.setdefault("al", [None] * history_size)
        q = flat_grad.neg()
        for i in range(len(dirs) - 1, -1, -1):
            weights[i] = steps[i].dot(q) * ro[i]
            q.add_(dirs[i], alpha=-weights[i])
        r = torch.mul(q, state["H_diag"])
        for i in range(len(dirs)):
            r.add_(steps[i], alpha=weights[i] - dirs[i].dot(r) * ro[i])
        return r

    def step(self, closure):
        """Runs up to max_iter iterations; returns the loss before them."""
        with torch.no_grad():
            return self._step(torch.enable_grad()(closure))

    def _step(self, closure):
        group = self.param_groups[0]
        lr = _to_scalar(group["lr"])
        max_iter, max_eval = group["max_iter"], group["max_eval"]
        tolerance_grad, tolerance_change = group["tolerance_grad"], group["tolerance_change"]
        search = group["line_search_fn"]
        if search is not None and search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        optimal = flat_grad.abs().max() <= tolerance_grad
        if optimal:
            return first_loss
        for iteration in range(1, max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1, prev_flat_grad=None)
                d = flat_grad.neg()
            else:
                d = self._direction(state, flat_grad, group["history_size"])
            state["d"] = d
            if state["prev_flat_grad"] is None:
                state["prev_flat_grad"] = _copied(flat_grad)
            else:
                state["prev_flat_grad"].copy_(flat_grad)
            prev_loss = state["prev_loss"] = loss
            t = lr
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / flat_grad.abs().sum()) * lr
            state["t"] = t
            slope = flat_grad.dot(d)
            if slope > -tolerance_change:
                break
            used = 0
            if search is not None:
                start = _Point(0, loss, flat_grad, slope)
                point, used = self._search(closure, t, d, start, max_eval - evaluations)
                loss, flat_grad, t = point.f, point.g, point.t
                state["t"] = t
                self._add_grad(t, d)
                optimal = flat_grad.abs().max() <= tolerance_grad
            else:
                self._add_grad(t, d)
                if iteration != max_iter:
                    loss = float(closure())
                    flat_grad = self._gather_flat_grad()
                    optimal = flat_grad.abs().max() <= tolerance_grad
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if iteration == max_iter or evaluations >= max_eval or optimal:
                break
            if d.mul(t).abs().max() <= tolerance_change or abs(loss - prev_loss) < tolerance_change:
                break
        return first_loss
