# SPDX-License-Identifier: BSD-3-Clause
"""Every sample of samples/*.py gives what PyTorch gave: values, types, texts of errors, warnings."""

import gzip
import json
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sampling  # noqa: E402

with gzip.open(sampling.TABLE, "rt") as _file:
    RECORDED = json.load(_file)
MODULES = {area: sampling.load(area) for area in sampling.areas()}
SAMPLES = [(area, expression) for area, module in MODULES.items() for expression in module.EXPRESSIONS]


@pytest.mark.parametrize("area,expression", SAMPLES, ids=["%s-%s" % (a, e[:60]) for a, e in SAMPLES])
def test_sample(torch, area, expression):
    module = MODULES[area]
    got = json.loads(json.dumps(sampling.run(torch, module, expression)))
    want = RECORDED[area][expression]
    if not sampling.agree(got, want, getattr(module, "RTOL", sampling.RTOL)):
        pytest.fail("got  %.2000s\nwant %.2000s" % (json.dumps(got), json.dumps(want)), pytrace=False)
