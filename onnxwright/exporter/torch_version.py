"""The versions of PyTorch that can be exported from."""

from __future__ import annotations

import torch

OLDEST = (2, 10)
"""The oldest version whose programs are exported; `pyproject.toml` has the same number."""


def check(version: str) -> None:
    """Refuse a version of PyTorch that is too old.

    Args:
        version: as `torch.__version__` has it.

    Raises:
        ImportError: it is older than `OLDEST`.

    Example:
        >>> check("2.13.0+cpu")
        >>> check("2.9.1")
        Traceback (most recent call last):
        ImportError: PyTorch 2.9.1 is installed; exports need PyTorch 2.10 or newer...
    """
    numbers = version.split(".")[:2]
    if all(part.isdecimal() for part in numbers) and tuple(map(int, numbers)) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise ImportError(
            f"PyTorch {version} is installed; exports need PyTorch {needed} or newer: "
            f"pip install 'torch>={needed}', or as pytorch.org says for your machine",
            name="torch",
        )


check(torch.__version__)
