"""The caching allocator and copies."""

import pytest

MIB = 1 << 20


@pytest.fixture(autouse=True)
def empty(torch, device):
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def test_counters(torch):
    start = torch.cuda.memory_allocated()
    x = torch.empty(1000, device="cuda")
    assert torch.cuda.memory_allocated() - start == 4096  # rounded to 512 bytes
    assert torch.cuda.memory_reserved() >= 2 * MIB
    y = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() - start == 4096 + 3 * MIB
    del x, y
    assert torch.cuda.memory_allocated() == start
    assert torch.cuda.max_memory_allocated() - start == 4096 + 3 * MIB
    assert torch.cuda.memory_stats()["num_ooms"] >= 0


def test_freed_memory_is_used_again(torch):
    x = torch.empty(5000, device="cuda")
    address = x.data_ptr()
    reserved = torch.cuda.memory_reserved()
    del x
    y = torch.empty(5000, device="cuda")
    assert y.data_ptr() == address and torch.cuda.memory_reserved() == reserved


def test_neighbours_join(torch):
    parts = [torch.empty(MIB, dtype=torch.uint8, device="cuda") for _ in range(2)]
    reserved = torch.cuda.memory_reserved()
    del parts
    whole = torch.empty(MIB, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_reserved() == reserved
    assert whole.numel() == MIB


def test_empty_cache(torch):
    keep = torch.empty(10, device="cuda")
    x = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
    before = torch.cuda.memory_reserved()
    del x
    assert torch.cuda.memory_reserved() == before
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before - 30 * MIB
    assert keep.fill_(3).tolist() == [3.0] * 10


def test_out_of_memory(torch):
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        torch.empty(2 * total, dtype=torch.uint8, device="cuda")
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
    assert torch.ones(3, device="cuda").sum().item() == 3


def test_cached_memory_is_given_back_before_giving_up(torch, emu):
    total = torch.cuda.mem_get_info()[1]
    x = torch.empty(total * 2 // 3, dtype=torch.uint8, device="cuda")
    del x
    y = torch.empty(total // 2, dtype=torch.uint8, device="cuda")
    assert y.numel() == total // 2
    del y
    torch.cuda.empty_cache()


def test_failed_calls_leave_everything_as_it_was(torch, emu):
    x = torch.arange(5.0).cuda()
    for kind, call in ((2, lambda: x.add_(1)), (2, lambda: x.sum()), (1, lambda: x.cpu())):
        emu(fail=(kind, 0))
        with pytest.raises(torch.AcceleratorError, match="CUDA error: "):
            call()
        emu(fail=(kind, -1))
        assert x.tolist() == [0, 1, 2, 3, 4]
    torch.cuda.empty_cache()
    emu(fail=(0, 0))
    assert torch.empty(40 * MIB, dtype=torch.uint8, device="cuda").numel() == 40 * MIB  # the second try
    allocated = torch.cuda.memory_allocated()
    for n in range(6):  # whichever launch fails, no memory is lost
        emu(fail=(2, n))
        try:
            (x.to(torch.int32) + x.double()).sum()
        except torch.AcceleratorError:
            pass
        emu(fail=(2, -1))
        assert torch.cuda.memory_allocated() == allocated


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "bool",
        "complex64",
        "complex128",
    ],
)
def test_copies_and_conversions(torch, dtype):
    dtype = getattr(torch, dtype)
    x = (torch.arange(24) - 7).reshape(4, 6).to(dtype)
    there = x.to("cuda")
    assert torch.equal(there.cpu(), x)
    assert torch.equal(there.t().cpu(), x.t())
    assert torch.equal(x.t().cuda().cpu(), x.t())
    assert there[1:, ::2].tolist() == x[1:, ::2].tolist()
    for other in (torch.float32, torch.int16, torch.bool, torch.float16):
        if dtype.is_complex and not other.is_complex:
            continue
        assert torch.equal(there.to(other).cpu(), x.to(other))
        assert torch.equal(x.to("cuda", other).cpu(), x.to(other))
        assert torch.equal(there.to("cpu", other), x.to(other))


def test_copy_between_devices_with_broadcast_and_strides(torch):
    target = torch.zeros(3, 4, device="cuda")
    target.t()[1:].copy_(torch.tensor([1, 2, 3]))
    assert target.cpu().t().tolist() == [[0, 0, 0]] + [[1, 2, 3]] * 3
    host = torch.zeros(2, 3)
    host.copy_(torch.arange(3, dtype=torch.int64).cuda())
    assert host.tolist() == [[0, 1, 2]] * 2


def test_to_is_the_same_object_when_nothing_changes(torch):
    x = torch.ones(3, device="cuda")
    assert x.to("cuda") is x and x.cuda() is x and x.cuda(0) is x
    y = torch.ones(3)
    assert y.cpu() is y


def test_factories(torch):
    for name, args in (
        ("zeros", (2, 3)),
        ("ones", (2, 3)),
        ("full", ((2, 3), 7)),
        ("arange", (5,)),
        ("arange", (1, 4, 0.5)),
        ("linspace", (0, 1, 5)),
        ("eye", (3,)),
        ("tril_indices", (3, 3)),
        ("tensor", ([1, 2],)),
        ("empty_like", (torch.zeros(2),)),
    ):
        host, there = getattr(torch, name)(*args), getattr(torch, name)(*args, device="cuda")
        assert there.device == torch.device("cuda", 0) and (there.shape, there.dtype) == (
            host.shape,
            host.dtype,
        )
        if name != "empty_like":
            assert torch.equal(there.cpu(), host), name
    x = torch.ones(2, device="cuda")
    for made in (torch.zeros_like(x), x.new_ones(3), x.new_tensor([1.0]), torch.full_like(x, 2)):
        assert made.is_cuda


def test_values_on_the_host(torch):
    x = torch.tensor([[1.5, 2.5]], device="cuda")
    assert x[0, 1].item() == 2.5 and float(x[0, 0]) == 1.5 and x.tolist() == [[1.5, 2.5]]
    assert bool(x[0, 0] > 1) and x.sum().item() == 4
    assert repr(x) == "tensor([[1.5000, 2.5000]], device='cuda:0')"
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    x[0, 0] = 9
    assert x.cpu().tolist() == [[9, 2.5]]


def test_storage(torch):
    x = torch.arange(4.0, device="cuda")
    storage = x.untyped_storage()
    assert storage.device == torch.device("cuda", 0) and storage.nbytes() == 16
    assert x[1:3].untyped_storage().data_ptr() == storage.data_ptr()
    assert torch.equal(x.resize_(2).cpu(), torch.tensor([0.0, 1.0]))
    assert x.resize_(1000).shape == (1000,)
    assert x[:2].tolist() == [0, 1]


def test_pickle_and_deepcopy(torch, tmp_path):
    import copy

    x = torch.arange(3.0, device="cuda")
    y = copy.deepcopy(x)
    assert y.is_cuda and y.data_ptr() != x.data_ptr() and torch.equal(x, y)
    torch.save(x, tmp_path / "x.pt")
    back = torch.load(tmp_path / "x.pt")
    assert back.device == x.device and torch.equal(back, x)
    assert torch.load(tmp_path / "x.pt", map_location="cpu").tolist() == [0, 1, 2]
