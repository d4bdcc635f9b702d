"""A program where NumPy cannot be imported: everything but the exchange with it."""

import io
import sys

sys.modules["numpy"] = None  # its import raises

import minitorch as torch  # noqa: E402

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
inputs, targets = torch.randn(16, 3), torch.randint(0, 2, (16,))
losses = []
for _ in range(20):
    loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
repr(inputs)
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
assert torch.equal(torch.load(buffer)["0.weight"], model[0].weight)
assert torch.tensor([[1, 2], [3, 4]])[torch.tensor([1, 0])].tolist() == [[3, 4], [1, 2]]
try:
    inputs.numpy()
except RuntimeError as e:
    assert "Numpy is not available" in str(e), e
else:
    raise AssertionError("numpy() without NumPy")
print("ok")
