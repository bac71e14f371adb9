"""The page of an error code: what it means, a program that has it, and the program mended.

Pages are Markdown files beside this module, so they are there after an installation too.  They
are written by `python -m tests.harness.golden --accept`; `docs/errors` is a link to them.
"""

from __future__ import annotations

import difflib
from importlib import resources


def explain(code: str) -> str:
    """The page of a code.

    Args:
        code: such as `OW302`, in any case, with or without the letters.

    Returns:
        Markdown text.

    Raises:
        LookupError: no message has this code; the text names those that are near.

    Example:
        >>> explain("ow501").startswith("# OW501")
        True
    """
    wanted = code.strip().upper().strip("[]")
    wanted = wanted if wanted.startswith("OW") else f"OW{wanted}"
    known = codes()
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=3, cutoff=0.7)
        hint = f"; there are {', '.join(near)}" if near else ""
        raise LookupError(f"no message has the code {wanted}{hint}")
    page = resources.files("onnxwright.diagnostics") / "pages" / f"{wanted}.md"
    return page.read_text(encoding="utf-8")


def codes() -> list[str]:
    """Every code that has a page, sorted.

    Args:
        None.

    Returns:
        Codes such as `OW302`.

    Raises:
        Nothing.

    Example:
        >>> "OW501" in codes()
        True
    """
    folder = resources.files("onnxwright.diagnostics") / "pages"
    names = [entry.name for entry in folder.iterdir()]
    return sorted(name[:-3] for name in names if name.startswith("OW") and name.endswith(".md"))


__all__ = ["codes", "explain"]
