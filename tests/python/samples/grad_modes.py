# SPDX-License-Identifier: BSD-3-Clause
"""Switches of gradient recording, torch.autograd.grad and backward."""


def nested(torch):
    on = torch.is_grad_enabled
    seen = [on()]
    with torch.no_grad():
        seen.append(on())
        with torch.enable_grad():
            seen.append(on())
        with torch.set_grad_enabled(True):
            seen.append(on())
        seen.append(on())
    return seen + [on()]


def decorated(torch):
    @torch.no_grad()
    def first():
        """text"""
        return torch.is_grad_enabled()

    @torch.no_grad
    def second():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def third():
        return torch.is_grad_enabled()

    return first(), second(), third(), first.__name__, first.__doc__, torch.is_grad_enabled()


def generator(torch):
    on, log = torch.is_grad_enabled, []

    @torch.no_grad()
    def generate():
        try:
            log.append(on())
            log.append((yield on()))
            try:
                yield 2
            except ValueError as error:
                log.append((str(error), on()))
            yield 3
        finally:
            log.append(("finally", on()))
        return 7

    g = generate()
    log += [next(g), on(), g.send(5), on(), g.throw(ValueError("x")), on()]
    try:
        next(g)
    except StopIteration as stop:
        log.append(stop.value)
    g = generate()
    next(g)
    g.close()
    g = generate()
    next(g)
    try:
        g.throw(KeyError("k"))
    except KeyError as error:
        log.append(str(error))
    return log


def decorated_class(torch):
    @torch.no_grad()
    class Kind:
        def __init__(self):
            self.made = torch.is_grad_enabled()

        def later(self):
            return torch.is_grad_enabled()

    kind = Kind()
    return kind.made, kind.later()


def called(torch):
    seen = []
    torch.set_grad_enabled(False)
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return seen + [torch.is_grad_enabled(), repr(torch.set_grad_enabled(True))]


def raised(torch):
    try:
        with torch.no_grad():
            raise ValueError("a")
    except ValueError:
        return torch.is_grad_enabled()


def inference(torch):
    seen = []
    with torch.inference_mode():
        seen += [torch.ones(2).is_inference(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()]
        with torch.inference_mode(False):
            seen.append(torch.is_grad_enabled())

    @torch.inference_mode
    def second():
        return torch.is_inference_mode_enabled()

    return seen + [second(), torch.is_inference_mode_enabled()]


def gradients(torch, call, **more):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([1.0, 1.0, 2.0], requires_grad=True)
    return call(torch.autograd, x, w), x.grad, w.grad


def namespace(torch):
    names = dict(globals(), torch=torch, V=torch.autograd.Variable)
    names["gradients"] = lambda call: gradients(torch, call)
    return names


EXPRESSIONS = [
    "nested(torch)",
    "decorated(torch)",
    "generator(torch)",
    "decorated_class(torch)",
    "called(torch)",
    "raised(torch)",
    "inference(torch)",
    "gradients(lambda A, x, w: A.backward((x * w).sum()))",
    "gradients(lambda A, x, w: A.backward([x * x, x * 3], [torch.ones(3), torch.ones(3)]))",
    "gradients(lambda A, x, w: A.backward(x * x))",
    "gradients(lambda A, x, w: A.backward((x * w).sum(), inputs=[]))",
    "gradients(lambda A, x, w: A.backward((x * w).sum(), inputs={'a': x}))",
    "gradients(lambda A, x, w: A.backward(x * x, grad_variables=torch.ones(3)))",
    "gradients(lambda A, x, w: A.backward(x * x, torch.ones(3), grad_variables=torch.ones(3)))",
    "gradients(lambda A, x, w: A.backward(x * x, torch.ones(2)))",
    "gradients(lambda A, x, w: A.backward(torch.ones(1)))",
    "gradients(lambda A, x, w: A.grad((x * w).sum(), x))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), {'x': x, 'w': w}, materialize_grads=True))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), [x, w]))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), [x, w], allow_unused=True))",
    "gradients(lambda A, x, w: A.grad(x * x, x, torch.eye(3), is_grads_batched=True))",
    "gradients(lambda A, x, w: A.grad(x * x, x, torch.eye(2), is_grads_batched=True))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), []))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), x, materialize_grads=True, allow_unused=False))",
    "gradients(lambda A, x, w: A.grad((x * x).sum(), x, only_inputs=False))",
    "gradients(lambda A, x, w: A.grad(A.grad((x ** 3).sum(), x, create_graph=True)[0].sum(), x))",
    "gradients(lambda A, x, w: A.grad(x.sum(), torch.ones(3)))",
    "gradients(lambda A, x, w: A.grad(torch.ones(3).sum(), x))",
    "gradients(lambda A, x, w: A.grad(x.to(torch.complex64).sum(), x))",
    "isinstance(torch.ones(1), V)",
    "V(torch.ones(2), requires_grad=True)",
    "V(torch.ones(2, requires_grad=True)).requires_grad",
    "V()",
    "V(3)",
]
