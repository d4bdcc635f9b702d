# SPDX-License-Identifier: BSD-3-Clause
"""torch.save and torch.load: contents, sharing, places, restrictions, damaged files."""

import base64
import collections
import io
import os
import pathlib
import pickle
import random
import struct
import zipfile

import pytest

# Written by PyTorch 2.13: {"a": arange(3.), "view": a[1:], "p": Parameter(ones(2)), "n": 3}; zip and legacy
# stream.
FROM_TORCH = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "saved_by_torch.pt"
)
LEGACY_FROM_TORCH = FROM_TORCH.replace(".pt", "_legacy.pt")


def saved(torch, value, **options):
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


def loaded(torch, data, **options):
    return torch.load(io.BytesIO(data), **options)


@pytest.fixture
def values(torch):
    base = torch.arange(12.0)
    return {
        "base": base,
        "view": base[2:6],
        "t": torch.arange(6).reshape(2, 3).t(),
        "flag": torch.tensor([True]),
        "leaf": torch.ones(2, requires_grad=True),
        "half": torch.ones(1, dtype=torch.bfloat16),
        "complex": torch.ones(2, dtype=torch.complex64),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "empty": torch.zeros(0, 2),
        "dtype": torch.float64,
        "device": torch.device("cpu"),
        "size": torch.Size([1, 2]),
        "text": "minitorch cminitorch\ntorch",
        "ordered": collections.OrderedDict(a=1),
        "many": [1, 2.5, None, True, 10**30, {1, 2}, b"ab", bytearray(b"c"), (1,), 1j],
    }


def check(torch, got, values):
    for key, value in values.items():
        if not isinstance(value, torch.Tensor):
            assert got[key] == value, key
            assert type(got[key]) is type(value)
            continue
        other = got[key]
        assert type(other) is type(value)
        assert other.tolist() == value.tolist(), key
        assert (other.dtype, other.stride(), other.requires_grad) == (
            value.dtype,
            value.stride(),
            value.requires_grad,
        )
    got["view"].fill_(-1)
    assert got["base"][2:6].tolist() == [-1.0] * 4


@pytest.mark.parametrize("zipped", [True, False])
def test_round_trip(torch, values, zipped):
    check(torch, loaded(torch, saved(torch, values, _use_new_zipfile_serialization=zipped)), values)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(torch, values, protocol):
    data = saved(torch, values, pickle_protocol=protocol)
    check(torch, loaded(torch, data, weights_only=False), values)


def test_paths(torch, values, tmp_path):
    path = tmp_path / "a.b.pt"
    torch.save(values, path)
    check(torch, torch.load(str(path)), values)
    check(torch, torch.load(pathlib.Path(path)), values)
    check(torch, torch.load(path, mmap=True), values)
    with open(path, "rb") as file:
        check(torch, torch.load(file), values)
    assert zipfile.ZipFile(path).namelist()[0] == "a.b/data.pkl"


def test_layout_of_the_file(torch, values):
    data = saved(torch, values)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    names = archive.namelist()
    assert names[:4] == [
        "archive/data.pkl",
        "archive/.format_version",
        "archive/.storage_alignment",
        "archive/byteorder",
    ]
    assert names[-2:] == ["archive/version", "archive/.data/serialization_id"]
    assert b"minitorch" not in archive.read("archive/data.pkl").replace(values["text"].encode(), b"")
    for info in archive.infolist():
        start = info.header_offset
        payload = start + 30 + int.from_bytes(data[start + 26 : start + 28], "little")
        payload += int.from_bytes(data[start + 28 : start + 30], "little")
        assert payload % 64 == 0
        assert info.date_time == (1980, 0, 0, 0, 0, 0)


@pytest.mark.parametrize("path", [FROM_TORCH, LEGACY_FROM_TORCH])
def test_files_of_pytorch(torch, path):
    got = torch.load(path)
    assert got["a"].tolist() == [0.0, 1.0, 2.0]
    assert got["view"].tolist() == [1.0, 2.0]
    assert got["view"].untyped_storage().data_ptr() == got["a"].untyped_storage().data_ptr()
    assert type(got["p"]) is torch.nn.Parameter
    assert got["n"] == 3


def test_files_are_those_of_pytorch(torch):
    """The bytes but for the identifier of the contents."""
    a = torch.arange(3.0)
    value = {"a": a, "view": a[1:], "p": torch.nn.Parameter(torch.ones(2)), "n": 3}
    mine = zipfile.ZipFile(io.BytesIO(saved(torch, value)))
    theirs = zipfile.ZipFile(FROM_TORCH)
    for name in theirs.namelist():
        if not name.endswith("serialization_id"):
            assert mine.read("archive/" + name.partition("/")[2]) == theirs.read(name), name


def test_state_dict_of_a_model(torch):
    def make():
        return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))

    model, twin = make(), make()
    state = loaded(torch, saved(torch, model.state_dict()))
    assert state._metadata[""] == {"version": 1}
    twin.load_state_dict(state)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), twin.state_dict().values()))


def test_optimizer_state(torch):
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.Adam([p])
    p.grad = torch.ones(2)
    optimizer.step()
    state = loaded(torch, saved(torch, optimizer.state_dict()))
    assert state["param_groups"][0]["lr"] == 0.001
    assert state["state"][0]["step"].item() == 1


def test_whole_module_needs_trust(torch):
    data = saved(torch, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    with pytest.raises(
        pickle.UnpicklingError, match="GLOBAL torch.nn.modules.container.Sequential was not an allowed"
    ):
        loaded(torch, data)
    assert isinstance(loaded(torch, data, weights_only=False)[0], torch.nn.Linear)
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    assert "torch.nn.modules.linear.Linear" in unsafe
    before = set(torch.serialization.get_safe_globals())
    allowed = [torch.nn.Sequential, torch.nn.Linear, torch.nn.ReLU]
    with torch.serialization.safe_globals(allowed):
        assert isinstance(loaded(torch, data)[1], torch.nn.ReLU)
    assert set(torch.serialization.get_safe_globals()) == before


class Plain:
    def __init__(self):
        self.x = 3


def test_safe_globals(torch):
    data = saved(torch, Plain())
    with pytest.raises(pickle.UnpicklingError):
        loaded(torch, data)
    torch.serialization.add_safe_globals([Plain])
    try:
        assert loaded(torch, data).x == 3
    finally:
        torch.serialization.clear_safe_globals()
    with torch.serialization.safe_globals([(Plain, "%s.Plain" % __name__)]):
        assert loaded(torch, data).x == 3
    with torch.serialization.safe_globals([(Plain, 3)]), pytest.raises(TypeError):
        loaded(torch, data)


def archive_with(torch, pickled):
    """A file whose data.pkl is replaced."""
    source = zipfile.ZipFile(io.BytesIO(saved(torch, [torch.ones(2)])))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            target.writestr(name, pickled if name.endswith("data.pkl") else source.read(name))
    return stream.getvalue()


@pytest.mark.parametrize(
    "pickled, text",
    [
        (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "whose module os is blocked"),
        (b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "GLOBAL eval was not an allowed global"),
        (b"\x80\x02c__builtin__\nset\n]\x85R\x93.", "Unsupported operand 147"),
        (b"\x80\x02K\x01K\x02\x85R.", "Trying to call reduce for unrecognized function"),
        (b"\x80\x02K\x01)\x81.", "Can only create new object"),
        (b"\x80\x02K\x01}b.", "Can only build Tensor, Parameter, OrderedDict"),
        (b"\x80\x02)K\x01a.", "Can only append to lists"),
        (b"\x80\x02)(K\x01e.", "Can only extend lists"),
        (b"\x80\x02]K\x01K\x01s.", "Can only SETITEM for dict"),
        (b"\x80\x02X\x01\x00\x00\x00aQ.", "persistent_load id must be tuple or int"),
        (b"\x80\x02X\x01\x00\x00\x00a\x85Q.", "Only persistent_load of storage is allowed"),
    ],
)
def test_forbidden_instructions(torch, pickled, text):
    with pytest.raises(pickle.UnpicklingError, match=text):
        loaded(torch, archive_with(torch, pickled))


def test_code_runs_only_without_weights_only(torch):
    data = archive_with(torch, b"\x80\x02cbuiltins\nlen\nX\x03\x00\x00\x00abc\x85R.")
    with pytest.raises(pickle.UnpicklingError):
        loaded(torch, data)
    assert loaded(torch, data, weights_only=False) == 3


def test_map_location(torch, values):
    data = saved(torch, values)
    for place in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, {}, lambda s, where: s, lambda s, where: None):
        check(torch, loaded(torch, data, map_location=place), values)
    seen = []

    def place(storage, location):
        seen.append(location)
        return storage

    loaded(torch, data, map_location=place)
    assert set(seen) == {"cpu"}
    assert loaded(torch, data, map_location="meta")["base"].device.type == "meta"
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        loaded(torch, data, map_location="nowhere")


def test_cuda_location_without_cuda(torch, values):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(RuntimeError, match="torch.cuda.is_available\\(\\) is False"):
        loaded(torch, saved(torch, values), map_location="cuda")


def test_one_storage_under_two_dtypes(torch):
    base = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([base, base.view(torch.int32)], io.BytesIO())


def test_meta_tensors_and_storages(torch):
    assert loaded(torch, saved(torch, torch.empty(2, 3, device="meta"))).shape == (2, 3)
    got = loaded(torch, saved(torch, torch.arange(3.0).untyped_storage()))
    assert type(got).__name__ == "TypedStorage"
    assert got.untyped().nbytes() == 12


def test_subclass_keeps_class_and_attributes(torch):
    kind = type("Marked", (torch.Tensor,), {"__module__": __name__})
    globals()["Marked"] = kind
    t = torch.ones(2).as_subclass(kind)
    t.mark = 5
    got = loaded(torch, saved(torch, t), weights_only=False)
    assert type(got) is kind
    assert got.mark == 5


def test_skip_data(torch, values, tmp_path):
    path = tmp_path / "x.pt"
    with torch.serialization.skip_data():
        torch.save(values, path)
    size = os.path.getsize(path)
    torch.save(values, path)
    assert os.path.getsize(path) == size
    with torch.serialization.skip_data():
        assert torch.load(path)["base"].shape == (12,)


def test_byte_order(torch):
    source = zipfile.ZipFile(io.BytesIO(saved(torch, torch.arange(3, dtype=torch.int32))))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            data = b"big" if name.endswith("byteorder") else source.read(name)
            if name.endswith("data/0"):
                data = b"".join([data[i : i + 4][::-1] for i in range(0, len(data), 4)])
            target.writestr(name, data)
    assert loaded(torch, stream.getvalue()).tolist() == [0, 1, 2]


def test_compressed_archive(torch, values):
    source = zipfile.ZipFile(io.BytesIO(saved(torch, values)))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    check(torch, loaded(torch, stream.getvalue()), values)


@pytest.mark.parametrize("missing", ["version", "data.pkl", "data/0"])
def test_missing_records(torch, values, missing):
    source = zipfile.ZipFile(io.BytesIO(saved(torch, values)))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as target:
        for name in source.namelist():
            if name != "archive/" + missing:
                target.writestr(name, source.read(name))
    with pytest.raises(
        RuntimeError, match="version" if missing == "version" else "locating file %s" % missing
    ):
        loaded(torch, stream.getvalue())


def test_truncated_files(torch, values):
    for zipped in (True, False):
        data = saved(torch, values, _use_new_zipfile_serialization=zipped)
        for cut in (0, 1, 10, len(data) // 3, len(data) // 2, len(data) - 30):
            with pytest.raises(Exception) as caught:
                loaded(torch, data[:cut])
            assert not isinstance(caught.value, SystemError)


def test_damaged_files(torch, values):
    rng = random.Random(1)
    for zipped in (True, False):
        data = saved(torch, values, _use_new_zipfile_serialization=zipped)
        for _ in range(400):
            dirty = bytearray(data)
            for _ in range(rng.choice((1, 1, 3))):
                dirty[rng.randrange(len(dirty))] = rng.randrange(256)
            try:
                got = loaded(torch, bytes(dirty))
            except Exception as error:
                assert not isinstance(error, SystemError)
                continue
            if isinstance(got, dict):
                for value in got.values():
                    if isinstance(value, torch.Tensor) and value.numel() < 10**6:
                        repr(value), value.clone()
    check(torch, loaded(torch, saved(torch, values)), values)


@pytest.mark.minitorch_only(reason="PyTorch does not check sums")
def test_changed_data_is_noticed(torch):
    value = torch.arange(100.0)
    data = bytearray(saved(torch, value))
    data[data.find(memoryview(value).tobytes()) + 5] ^= 1
    with pytest.raises(RuntimeError, match="CRC-32 check failed"):
        loaded(torch, bytes(data))


def test_errors_of_save(torch, tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save(1, 3)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, str(tmp_path / "none" / "x.pt"))
    with pytest.raises(RuntimeError, match="invalid file name"):
        torch.save(1, str(tmp_path / ".pt"))


def test_errors_of_load(torch, tmp_path, values):
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "none.pt")
    with pytest.raises(AttributeError, match="seekable"):
        torch.load(3)
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        loaded(torch, saved(torch, values), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        loaded(torch, saved(torch, values, _use_new_zipfile_serialization=False), mmap=True)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        loaded(torch, saved(torch, values), weights_only=True, pickle_module=pickle)


def test_environment_forces(torch, monkeypatch):
    data = saved(torch, Plain())
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError):
        loaded(torch, data, weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        loaded(torch, data)
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert loaded(torch, data).x == 3


def test_unpickled_names_of_python_2(torch):
    data = archive_with(torch, b"\x80\x02c__builtin__\nset\n](K\x01e\x85R.")
    assert loaded(torch, data) == {1}


def test_plain_pickle_of_tensors(torch):
    base = torch.arange(6.0)
    for protocol in (2, 4, 5):
        got = pickle.loads(pickle.dumps([base, base[1:], torch.nn.Parameter(base)], protocol))
        assert [t.tolist() for t in got] == [base.tolist(), base[1:].tolist(), base.tolist()]
        assert type(got[2]) is torch.nn.Parameter
    assert base64.b64encode(pickle.dumps(torch.float32, 4))


@pytest.mark.parametrize(
    "junk,kind",
    [
        (b"", EOFError),
        (b"a", IndexError),
        (b"junk", struct.error),
        (b"junk junk junk junk", KeyError),
        (b"\x80\x02", EOFError),
        (b"\x80\x02.", IndexError),
        (b"\x80\x02K", IndexError),
        (b"\x80\x02X\x02\x00\x00\x00\xff\xfe.", UnicodeDecodeError),
        (b"PK\x03\x04aaaa", RuntimeError),
        (b"\x80\x02]q\x00.", RuntimeError),
        (b"\x00" * 600, pickle.UnpicklingError),
        (b"I1\n.", pickle.UnpicklingError),
        (b"c__builtin__\neval\n.", pickle.UnpicklingError),
    ],
)
def test_junk(torch, junk, kind):
    """What is no file of tensors fails as the unpickler comes across it."""
    with pytest.raises(Exception) as caught:
        torch.load(io.BytesIO(junk))
    assert type(caught.value) is kind
