"""`onnxwright explain OW302`: prints the page of an error code."""

from __future__ import annotations

import sys

from onnxwright.diagnostics.explain import codes, explain


def explain_code(code: str | None) -> int:
    """Print the page of a code, or the list of codes; returns the exit status."""
    if code is None:
        print("\n".join(codes()))
        return 0
    try:
        print(explain(code), end="")
    except LookupError as error:
        print(f"onnxwright explain: {error.args[0]}", file=sys.stderr)
        return 2
    return 0


__all__ = ["explain_code"]
