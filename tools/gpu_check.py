"""Runs a share of the tests on an accelerator's execution provider, and says what ran.

    python -m tools.gpu_check                                  # CUDA, where there is one
    python -m tools.gpu_check --provider ROCMExecutionProvider -- tests/eager

Every session that a test makes without naming a provider gets the given one, with the CPU for
operators that it lacks. The status is 0 where all tests pass, 1 where one fails, and 3 where the
installed runtime does not have the provider: then nothing ran.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import onnxruntime

ROOT = Path(__file__).resolve().parents[1]
NOTHING = 3
SHARE = (
    "tests/eager",
    "tests/builder",
    "tests/atenlib/test_opinfo.py",
    "tests/exporter/test_operators.py",
    "tests/exporter/test_networks.py",
)
"""Tests that run models: eager calls, built graphs, PyTorch's operators, exported programs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the share.

    Args:
        arguments: the command line.

    Returns:
        The status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.gpu_check")
    parser.add_argument("--provider", default="CUDAExecutionProvider")
    parser.add_argument("tests", nargs="*", default=list(SHARE))
    given = parser.parse_args(arguments)
    there = onnxruntime.get_available_providers()
    about = f"onnxruntime {onnxruntime.__version__} with {', '.join(there)}"
    if given.provider not in there:
        print(f"nothing ran: {given.provider} is not in {about}")
        return NOTHING
    providers = dict.fromkeys([given.provider, "CPUExecutionProvider"])
    print(f"{given.provider}: {about}", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--providers={','.join(providers)}", *given.tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    print(f"{given.provider}: {'passed' if done.returncode == 0 else 'FAILED'}", flush=True)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
