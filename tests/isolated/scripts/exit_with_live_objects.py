"""The interpreter ends while graphs, hooks, cycles and views are alive."""

import minitorch as torch


class Holder:
    def __init__(self):
        self.x = torch.ones(3, requires_grad=True)
        self.y = (self.x * 2).exp()
        self.x.register_hook(lambda g: g * 1 if self else g)
        self.y.retain_grad()
        self.x.holder = self  # a cycle through the tensor's own dictionary

    def __del__(self):
        self.view = self.x.detach()[1:]
        self.view.add_(1)


holder = Holder()
chain = torch.zeros(1, requires_grad=True)
for _ in range(100000):
    chain = chain + 1
module = torch.nn.Linear(3, 3)
module.register_forward_hook(lambda *a: None)
out = module(holder.x)
iterator = iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(6)), batch_size=2))
next(iterator)
view = memoryview(bytearray(8))
tensor = torch.frombuffer(view, dtype=torch.uint8)
print("ok", flush=True)
