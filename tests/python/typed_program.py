"""An ordinary program with every type spelled out: `mypy --strict` has nothing to say, and it runs."""

import io
import math
from typing import Any

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import Tensor, nn
from minitorch.utils.data import DataLoader, TensorDataset


def creation() -> Tensor:
    a = torch.zeros(2, 3)
    b = torch.ones((2, 3), dtype=torch.float64, device="cpu")
    c = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=False)
    d = torch.arange(6).reshape(2, 3) + torch.full((2, 3), 2, dtype=torch.int64)
    e = torch.randn(2, 3, generator=torch.Generator().manual_seed(1))
    f = torch.empty(0).new_zeros(2, 3)
    g = torch.linspace(0, 1, 6).view(2, 3)
    h = torch.eye(2, 3) + torch.rand_like(a) * 0
    return a + b + c + d + e * 0 + f + g + h


def arithmetic(x: Tensor, y: Tensor) -> Tensor:
    z = 2 * x - y / 3 + (x @ y.mT).sum() ** 2
    z += 1
    z = torch.add(z, y, alpha=2).clamp(min=0).mul_(0.5)
    mask: Tensor = (z > 0) & (y != 1) | ~(x <= z)
    if bool(mask.any()) and not mask.all():
        z = torch.where(mask, z, -z)
    return z.abs().sqrt().maximum(x).pow(2)


def indexing(x: Tensor) -> list[float]:
    row, column = x[0], x[:, 1]
    x[0, 1] = 3
    x[x > 100] = torch.tensor(0.0)
    picked = x[torch.tensor([1, 0])][..., None]
    first: float = float(x[0, 0]) + x[0, 1].item()
    last = [float(item) for item in picked.flatten()]
    return [first, *last, *row.tolist(), *column.tolist()]


def methods(x: Tensor) -> tuple[Tensor, Tensor]:
    best = x.max(0)
    values, indices = x.sort(dim=1, descending=True)
    assert torch.equal(best.values, torch.max(x, dim=0)[0])
    parts: tuple[Tensor, ...] = x.split(1) + x.chunk(2, dim=1) + x.unbind()
    rows: int = x.shape[0] * x.size(1) + x.dim() + len(parts)
    size: torch.Size = x.size()
    assert rows > 0 and size.numel() == x.numel()
    total = torch.cat([p.flatten() for p in parts]).mean(dim=0, keepdim=True)
    return values.permute(1, 0).contiguous().to(torch.float64).to("cpu"), indices + total.long()


def algebra(x: Tensor) -> Tensor:  # not run: the decompositions are not written yet
    square = x @ x.T + torch.eye(x.shape[0])
    inverse = torch.linalg.inv(square)
    lower = torch.linalg.cholesky(square)
    spectrum = torch.linalg.eigh(square)
    q, r = torch.linalg.qr(square)
    u, s, v = torch.svd(square)
    vectors: Tensor = spectrum.eigenvectors
    spectral = torch.fft.fft(spectrum.eigenvalues).abs()
    return (
        inverse
        + lower
        + torch.svd(square).S
        + u @ s.diag() @ v
        + vectors
        + q @ r
        + torch.linalg.norm(square)
        + spectral
        + torch.special.expit(x).sum()
    )


class Net(nn.Module):
    def __init__(self, width: int, classes: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Dropout(0.0))
        self.head = nn.Linear(width, classes, bias=True)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.body(x)
        return F.log_softmax(F.linear(hidden, self.head.weight, self.head.bias) * self.scale, dim=-1)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return 3 * grad * x * x


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


@torch.no_grad()
def accuracy(net: nn.Module, data: Tensor, target: Tensor) -> float:
    guess: Tensor = net(data).argmax(dim=1)
    return (guess == target).float().mean().item()


def training() -> float:
    torch.manual_seed(0)
    data, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
    net = Net(width=8)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
    for batch, wanted in DataLoader(TensorDataset(data, target), batch_size=8):
        optimizer.zero_grad()
        loss = F.nll_loss(net(batch), wanted)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    with torch.no_grad(), torch.inference_mode():
        loss = F.cross_entropy(net(data), target, reduction="mean")
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    net.load_state_dict(torch.load(file))
    return loss.item() + accuracy(net.eval(), data, target)


def gradients() -> tuple[Tensor, ...]:
    x = torch.ones(2, 2, requires_grad=True)
    y: Tensor = Cube.apply(x).sum()
    handle = x.register_hook(lambda grad: grad * 2)
    y.backward(retain_graph=True)
    handle.remove()
    assert x.grad is not None and x.grad_fn is None and y.grad_fn is not None
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.autograd.gradcheck(Cube.apply, (torch.ones(2, dtype=torch.float64, requires_grad=True),))
    return torch.autograd.grad(y, [x], create_graph=False)


def places(x: Tensor) -> list[str]:
    storage = x.untyped_storage()
    kind: torch.dtype = x.dtype
    where: torch.device = x.device
    bits: int = torch.finfo(kind).bits + kind.itemsize + storage.nbytes()
    names = [str(kind), where.type, str(torch.device("cpu", 0)), str(where.index), str(bits)]
    same: bool = torch.promote_types(torch.int32, torch.float32).is_floating_point and x.is_contiguous()
    logged = torch.ones(2).as_subclass(Logged)
    assert same and torch.overrides.is_tensor_like(logged) and torch.is_tensor(logged)
    return names + [repr(logged.numpy()), str(torch.get_default_dtype()), str(math.pi)]


def main() -> None:
    x = creation().float()
    print(arithmetic(x, x + 1).shape, indexing(x.clone()), methods(x))
    print(training(), gradients(), places(x))
    image = torch.zeros(1, 1, 6, 6)
    pooled, where = F.max_pool2d(F.conv2d(image, torch.ones(2, 1, 3, 3), padding=1), 2, return_indices=True)
    print(
        F.interpolate(F.pad(pooled, (1, 1)), scale_factor=2.0).shape,
        where.dtype,
        F.one_hot(where.flatten() % 2).shape,
    )
    print(torch.einsum("ij,kj->ik", x, x).topk(1).indices, torch.stack([x, x]).var(0))


if __name__ == "__main__":
    main()
