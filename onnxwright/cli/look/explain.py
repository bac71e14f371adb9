"""`onnxwright explain OW302`: prints the page of an error code."""

from __future__ import annotations

from typing import Any

from onnxwright.cli.shared.console import OK, CliError, print_json
from onnxwright.diagnostics.explain import codes, explain


def explain_code(code: str | None, *, as_json: bool = False) -> int:
    """Print the page of a code, or the list of codes; returns the exit status.

    Args:
        code: such as `OW302`; None for the list.
        as_json: print JSON instead of text.

    Returns:
        0.

    Raises:
        CliError: no message has this code.
    """
    if code is None:
        every = [page_of(known) for known in codes()]
        if as_json:
            print_json([{k: page[k] for k in ("code", "name", "summary")} for page in every])
        else:
            print("\n".join(f"{page['code']}  {page['summary']}" for page in every))
        return OK
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

    Args:
        code: a code that has a page.

    Returns:
        `code`, `name`, `summary` (its first sentence) and `page` (the whole Markdown).

    Example:
        >>> page_of("OW302")["name"]
        'MayBeUnassigned'
    """
    page = explain(code)
    head, _, rest = page.partition("\n")
    paragraph = " ".join(rest.strip().split("\n\n")[0].split())
    return {
        "code": code,
        "name": head.partition(":")[2].strip(),
        "summary": paragraph,
        "page": page,
    }


__all__ = ["explain_code", "page_of"]
