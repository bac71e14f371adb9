"""`onnxwright explain OW302`: prints the page of an error code, or finds codes by words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.diagnostics.explain import codes, explain, search, summary

_CODE = re.compile(r"\[?(ow)?\d+\w*\]?", re.IGNORECASE)


def explain_words(words: Sequence[str], *, as_json: bool = False) -> int:
    """Print the page of a code, the codes whose pages have the words, or the list of all codes.

    Args:
        words: one code, such as `OW302`; or words to look for; or nothing.

    Returns:
        0.

    Raises:
        CliError: no message has this code, or no page has one of the words.
    """
    if len(words) == 1 and _CODE.fullmatch(words[0]):
        return _explain_code(words[0], as_json)
    text = " ".join(words)
    matching = search(text) if words else codes()
    if not matching:
        raise CliError(f"no page has a word of {text!r}; `onnxwright explain` lists all codes")
    if as_json:
        pages = [page_of(code) for code in matching]
        print_json([{k: page[k] for k in ("code", "name", "summary")} for page in pages])
    else:
        print("\n".join(f"{code}  {summary(code)}" for code in matching))
    return OK


def _explain_code(code: str, as_json: bool) -> int:
    try:
        page = explain(code)
    except LookupError as error:
        raise CliError(str(error.args[0])) from error
    if as_json:
        print_json(page_of(page.split(":")[0].removeprefix("# ")))
    else:
        print(page, end="")
    return OK


def page_of(code: str) -> dict[str, Any]:
    """The page of a code as data.

    Returns:
        `code`, `name`, `summary` (its first sentence) and `page` (the whole Markdown).

    Example:
        >>> page_of("OW302")["name"]
        'MayBeUnassigned'
    """
    page = explain(code)
    head = page.partition("\n")[0]
    return {
        "code": code,
        "name": head.partition(":")[2].strip(),
        "summary": summary(code),
        "page": page,
    }
