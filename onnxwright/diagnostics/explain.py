"""The page of an error code: what it means, a program that has it, and the program mended.

Pages are Markdown files beside this module, so they are there after an installation too.  They
are written by `python -m tests.harness.golden --accept`; `docs/errors` is a link to them.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from importlib import resources


def explain(code: str) -> str:
    """The page of a code.

    Args:
        code: such as `OW302`, in any case, with or without the letters.

    Raises:
        LookupError: no message has this code; the text names those that are near.

    Example:
        >>> explain("ow501").startswith("# OW501")
        True
    """
    code_text = code.strip().upper().strip("[]")
    code_text = code_text if code_text.startswith("OW") else f"OW{code_text}"
    every_code = codes()
    if code_text not in every_code:
        near = difflib.get_close_matches(code_text, every_code, n=3, cutoff=0.7)
        hint = f"; there are {', '.join(near)}" if near else ""
        raise LookupError(f"no message has the code {code_text}{hint}")
    page = resources.files("onnxwright.diagnostics") / "pages" / f"{code_text}.md"
    return page.read_text(encoding="utf-8")


def codes() -> list[str]:
    """Every code that has a page, sorted.

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


def summary(code: str) -> str:
    """What a code means, in the first paragraph of its page.

    Raises:
        LookupError: no message has this code.

    Example:
        >>> summary("OW302")
        'A name is read after an `if` or a loop that does not always give it a value.'
    """
    paragraph = explain(code).partition("\n")[2].strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


def search(words: str, limit: int = 10) -> list[str]:
    """The codes whose pages have some words, for instance those of a message.

    A word counts the more, the fewer pages have it; in the summary of a page it counts twice.

    Args:
        words: any text; upper and lower case are the same.
        limit: how many codes at most.

    Returns:
        The codes, the best first; only those that score at least half of the best.

    Source:
        Inverse document frequency, `log(pages / pages with the word)`.

    Example:
        >>> search("a name is read after an if or a loop")[0]
        'OW302'
    """
    asked = _words(words)
    pages = {code: _words(explain(code)) for code in codes()}
    counts = Counter(word for page in pages.values() for word in page & asked)
    weights = {word: math.log(len(pages) / count) for word, count in counts.items()}
    scores = {
        code: sum(weights[word] for word in page & asked)
        + sum(weights[word] for word in _words(summary(code)) & asked)
        for code, page in pages.items()
        if page & asked
    }
    best = max(scores.values(), default=0.0)
    ranked = sorted(scores, key=lambda code: (-scores[code], code))
    return [code for code in ranked if scores[code] >= best / 2][:limit]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z_]+|\d+", text.lower()))
