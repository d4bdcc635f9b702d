# SPDX-License-Identifier: BSD-3-Clause
"""The lines that scripts begin with: switches of backends, precision, determinism."""


def test_switches_and_questions(torch):
    backends = torch.backends
    before = backends.cudnn.deterministic, backends.cudnn.benchmark
    backends.cudnn.deterministic, backends.cudnn.benchmark = True, False
    assert backends.cudnn.deterministic is True and backends.cudnn.benchmark is False
    backends.cudnn.deterministic, backends.cudnn.benchmark = before
    assert backends.mps.is_available() is False and backends.mps.is_built() is False
    assert isinstance(backends.cudnn.is_available(), bool) and isinstance(backends.mkl.is_available(), bool)
    assert isinstance(backends.cpu.get_cpu_capability(), str)
    backends.cuda.matmul.allow_tf32 = True
    assert backends.cuda.matmul.allow_tf32 is True
    backends.cuda.matmul.allow_tf32 = False


def test_precision_and_determinism(torch):
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert torch.are_deterministic_algorithms_enabled() is False
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert (
        torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    )
    torch.use_deterministic_algorithms(False)
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
