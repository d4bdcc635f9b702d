"""Streams and events. In the emulator's late mode work runs only when somebody waits for its stream, so what these tests
see does not depend on luck."""

import pytest


def test_identity(torch):
    s = torch.cuda.Stream()
    assert torch.cuda.current_stream() == torch.cuda.default_stream() != s
    with torch.cuda.stream(s):
        assert torch.cuda.current_stream() == s and hash(torch.cuda.current_stream()) == hash(s)
        with torch.cuda.stream(None):
            assert torch.cuda.current_stream() == s
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert (
        s.device == torch.device("cuda", 0)
        and s.cuda_stream != 0
        and torch.cuda.default_stream().cuda_stream == 0
    )
    assert torch.cuda.Stream(priority=-1).priority == -1


def test_work_on_a_stream(torch):
    x = torch.arange(1000.0, device="cuda")
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = x * 2 + 1
    torch.cuda.current_stream().wait_stream(s)
    assert y.sum().item() == 1000 * 999 + 1000
    s.synchronize()
    assert s.query()


def test_late_work(torch, emu):
    x = torch.zeros(10, device="cuda")
    torch.cuda.synchronize()
    emu(late=True)
    x.add_(1)
    s = torch.cuda.current_stream()
    assert not s.query()
    s.synchronize()
    assert s.query()
    x.add_(1)
    assert x.tolist() == [2.0] * 10  # reading waits


def test_events_order_streams(torch, emu):
    x = torch.zeros(10, device="cuda")
    torch.cuda.synchronize()
    emu(late=True)
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(a):
        x.fill_(5)
        event = a.record_event()
    b.wait_event(event)
    with torch.cuda.stream(b):
        y = x + 1
    assert not event.query()
    b.synchronize()  # runs a's work as far as the event
    assert event.query()
    with torch.cuda.stream(b):
        assert y.tolist() == [6.0] * 10


def test_without_an_event_streams_do_not_wait(torch, emu):
    x = torch.zeros(10, device="cuda")
    torch.cuda.synchronize()
    emu(late=True)
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(a):
        x.fill_(5)
    with torch.cuda.stream(b):
        assert (x + 1).tolist() == [1.0] * 10
    a.synchronize()


def test_memory_stays_with_its_stream(torch):
    torch.cuda.empty_cache()
    s = torch.cuda.Stream()
    x = torch.empty(1000, device="cuda")
    address = x.data_ptr()
    del x
    with torch.cuda.stream(s):
        y = torch.empty(1000, device="cuda")
    assert y.data_ptr() != address
    assert torch.empty(1000, device="cuda").data_ptr() == address


def test_record_stream(torch, emu):
    torch.cuda.empty_cache()
    x = torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    emu(late=True)
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        y = x + 1
    x.record_stream(s)
    address = x.data_ptr()
    del x
    z = torch.zeros(1000, device="cuda")  # must not take the memory that s still reads
    assert z.data_ptr() != address
    torch.cuda.current_stream().synchronize()
    s.synchronize()
    with torch.cuda.stream(s):
        assert y.tolist() == [2.0] * 1000
    assert torch.empty(1000, device="cuda").data_ptr() == address


def test_timing(torch):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert start.query()
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    torch.ones(100000, device="cuda").exp()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        plain = torch.cuda.Event()
        plain.record()
        start.elapsed_time(plain)


def test_each_thread_has_its_own_current_stream(torch):
    import threading

    seen = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(
            target=lambda: seen.append(torch.cuda.current_stream() == torch.cuda.default_stream())
        )
        thread.start()
        thread.join()
    assert seen == [True]
