"""Write the dtypes that PyTorch's ops give under autocast to ../data/autocast.json.gz: `python tests/record/record_autocast.py`."""

import gzip
import json
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import autocast_dtypes  # noqa: E402
import torch  # noqa: E402

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "autocast.json.gz")


def main():
    warnings.simplefilter("ignore")
    text = json.dumps(autocast_dtypes.differences(torch), indent=0, sort_keys=True).encode()
    with open(PATH, "wb") as f, gzip.GzipFile("", "wb", mtime=0, fileobj=f) as g:
        g.write(text)


if __name__ == "__main__":
    main()
