"""torch.cuda without a CUDA build."""

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def absent(torch):
    if torch.__name__ == "minitorch" and importlib.util.find_spec("minitorch._C_cuda"):
        pytest.skip("this build has CUDA; tests/cuda tests it")


def test_queries(torch):
    assert torch.cuda.is_available() is False and torch.cuda.device_count() == 0
    assert torch.cuda.is_initialized() is False and torch.cuda.memory_allocated() == 0
    assert torch.cuda.memory_stats() == {}
    torch.cuda.empty_cache()
    torch.cuda.manual_seed(1)
    torch.cuda.manual_seed_all(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.zeros(1, device="cuda"),
        lambda torch: torch.zeros(1).cuda(),
        lambda torch: torch.zeros(1).to("cuda:0"),
        lambda torch: torch.cuda.current_device(),
        lambda torch: torch.cuda.synchronize(),
        lambda torch: torch.cuda.init(),
        lambda torch: torch.tensor([1], device="cuda"),
        lambda torch: torch.cuda.get_device_name(),
        lambda torch: torch.empty_like(torch.zeros(2), device="cuda"),
    ],
)
def test_need_of_a_device(torch, call):
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        call(torch)


def test_devices_without_a_device(torch):
    d = torch.device("cuda", 1)
    assert (d.type, d.index, str(d)) == ("cuda", 1, "cuda:1")
