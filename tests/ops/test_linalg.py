# SPDX-License-Identifier: BSD-3-Clause
"""Decompositions and matrix norms: what must hold of the results, limits of the process, other threads and children."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

DTYPES = ["float32", "float64", "complex64", "complex128"]


def matrix(torch, dtype, *shape):
    generator = np.random.default_rng(3)
    a = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        a = a + 1j * generator.standard_normal(shape)
    return torch.from_numpy(a.astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3), (2, 0, 3, 2), (40, 37)])
def test_qr(torch, dtype, shape):
    a = matrix(torch, dtype, *shape)
    tol = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    for mode in ("reduced", "complete"):
        q, r = torch.linalg.qr(a, mode)
        assert ((q @ r) - a).abs().sum().item() <= tol * max(1, a.numel())
        eye = torch.eye(q.shape[-1], dtype=a.dtype)
        assert ((q.mH @ q) - eye).abs().sum().item() <= tol * max(1, q.numel())
        assert torch.equal(r, r.triu())
    assert torch.equal(torch.linalg.qr(a, "r").R, torch.linalg.qr(a).R)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3), (33, 40)])
def test_singular_values(torch, dtype, shape):
    a = matrix(torch, dtype, *shape)
    got = torch.linalg.svdvals(a)
    want = np.linalg.svd(a.numpy(), compute_uv=False)
    assert got.dtype == (torch.float32 if dtype in ("float32", "complex64") else torch.float64)
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5 if want.dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(torch.linalg.svdvals(a.mT).numpy(), want, rtol=1e-4)


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norm(torch, order, keepdim):
    a = matrix(torch, "float64", 3, 4, 2)
    for dim in ((-2, -1), (0, 1), (2, 0)):
        got = torch.linalg.matrix_norm(a, order, dim, keepdim)
        want = np.linalg.norm(a.numpy(), order, dim, keepdim)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)
        assert got.shape == want.shape


def test_gradient_of_the_nuclear_norm(torch):
    a = matrix(torch, "float64", 4, 3).requires_grad_()
    torch.linalg.matrix_norm(a, "nuc").backward()
    u, _, vh = np.linalg.svd(a.detach().numpy(), full_matrices=False)
    np.testing.assert_allclose(a.grad.numpy(), u @ vh, rtol=1e-10, atol=1e-12)


def test_bad_input(torch):
    a = matrix(torch, "float32", 2, 4, 3)
    with pytest.raises(RuntimeError, match="qr received unrecognized mode 'x' but expected one of 'reduced'"):
        torch.linalg.qr(a, "x")
    with pytest.raises(RuntimeError, match="must have at least 2 dimensions"):
        torch.linalg.qr(a[0, 0])
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor as input. Got Int"):
        torch.linalg.svdvals(a.int())
    with pytest.raises(NotImplementedError, match="\"geqrf_cpu\" not implemented for 'Half'"):
        torch.linalg.qr(a.half())
    with pytest.raises(RuntimeError, match="Order 3 not supported"):
        torch.linalg.matrix_norm(a, 3)
    with pytest.raises(RuntimeError, match="dims must be different"):
        torch.linalg.matrix_norm(a, "nuc", (0, 0))
    with pytest.raises(RuntimeError, match="Batch element 1.*non-finite"):
        a[1, 0, 0] = float("nan")
        torch.linalg.svdvals(a)


def test_threads(torch):
    a = matrix(torch, "float64", 60, 50)
    want = torch.linalg.svdvals(a)
    wrong = []

    def work():
        for _ in range(5):
            if not torch.equal(torch.linalg.svdvals(a), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


LITTLE_MEMORY = """
import resource, sys
import minitorch as torch
a = torch.eye(4)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
try:
    torch.linalg.svdvals(a)
except (RuntimeError, MemoryError) as e:
    print("raised", e)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(torch.linalg.svdvals(a).tolist())
"""


@pytest.mark.minitorch_only(reason="OpenBLAS would end the process for want of work space")
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the size of the process from /proc")
def test_little_memory():
    done = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("raised") and second == "[1.0, 1.0, 1.0, 1.0]"


def test_in_a_child(torch):
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    torch.linalg.svdvals(torch.eye(3))
    pid = os.fork()
    if pid == 0:
        os._exit(0 if torch.linalg.svdvals(torch.eye(3)).tolist() == [1.0, 1.0, 1.0] else 1)
    assert os.waitpid(pid, 0)[1] == 0
