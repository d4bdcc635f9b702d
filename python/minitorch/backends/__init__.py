# SPDX-License-Identifier: BSD-3-Clause
"""torch.backends: switches and questions of libraries that PyTorch computes with.

Programs set them at their start (`backends.cudnn.deterministic = True`).  None of those libraries is behind this package,
and every algorithm here is deterministic, so switches are kept and have no effect.
"""

import sys
import types

from minitorch import _C

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


def _module(name, doc, answers, switches=()):
    """A submodule: functions that answer with a constant, and switches with their values."""
    module = types.ModuleType(__name__ + "." + name, doc)
    for question, answer in answers.items():

        def ask(_answer=answer):
            return _answer() if callable(_answer) else _answer

        ask.__name__ = ask.__qualname__ = question
        ask.__doc__ = "%s(): what this build has to say." % question
        ask.__module__ = module.__name__
        setattr(module, question, ask)
    for switch, value in dict(switches).items():
        setattr(module, switch, value)
    sys.modules[module.__name__] = module
    return module


cpu = _module("cpu", "The processor.", {"get_cpu_capability": _C._get_cpu_capability})
cudnn = _module(
    "cudnn",
    "cuDNN: not used.",
    {"is_available": False, "version": None},
    {"enabled": True, "benchmark": False, "benchmark_limit": 10, "deterministic": False, "allow_tf32": True},
)
mps = _module("mps", "Apple's GPUs: not used.", {"is_available": False, "is_built": False})
mkl = _module("mkl", "Intel's MKL: not used.", {"is_available": False})
mkldnn = _module("mkldnn", "oneDNN: not used.", {"is_available": False}, {"enabled": True})
openmp = _module("openmp", "OpenMP: not used, there is a thread pool of our own.", {"is_available": False})
cuda = _module("cuda", "CUDA.", {"is_built": _C._cuda_isAvailable})
cuda.matmul = types.SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)
