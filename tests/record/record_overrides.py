"""Write what PyTorch's torch.overrides lists, and what its functions hand on to overrides, to ../data/overrides.json.gz: `python tests/record/record_overrides.py`.

Functions are recorded by their names in each namespace, because one object may have several.
"""

import gzip
import inspect
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import override_calls  # noqa: E402
import override_lists  # noqa: E402
import torch  # noqa: E402

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "overrides.json.gz")


def main():
    warnings.simplefilter("ignore")
    table = override_lists.lists(torch)
    table["signatures"] = {
        "%s.%s" % (path, name): str(inspect.signature(stand_in))
        for path, name, stand_in in override_lists.stand_ins(torch)
    }
    table["calls"] = override_calls.record(torch)
    text = json.dumps(table, indent=0, sort_keys=True).encode()
    with open(PATH, "wb") as f, gzip.GzipFile("", "wb", mtime=0, fileobj=f) as g:
        g.write(text)


if __name__ == "__main__":
    main()
