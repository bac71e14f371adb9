"""`python -m onnxwright` is the command `onnxwright`."""

import sys

from onnxwright.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
