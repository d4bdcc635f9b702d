"""Everything here needs a CUDA device: a GPU, or a build with MINITORCH_CUDA=emu."""

import pytest


@pytest.fixture(autouse=True)
def device(torch, request):
    """'cuda', or a skip."""
    if request.node.get_closest_marker("without_device"):
        return None
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device: build with MINITORCH_CUDA=emu, or run on a machine with a GPU")
    yield "cuda"
    torch.cuda.synchronize()


@pytest.fixture
def emu(torch):
    """The switches of the launch emulator, put back afterwards."""
    from minitorch import _C_cuda

    if _C_cuda.kind != "emu":
        pytest.skip("only the launch emulator has these switches")
    yield _C_cuda._emu
    for kind in range(3):
        _C_cuda._emu(fail=(kind, -1))
    _C_cuda._emu(order=0, late=False)
