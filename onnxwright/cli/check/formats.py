"""What `onnxwright check` found, as annotations of GitHub's workflows and as a log of SARIF."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onnxwright.diagnostics.fixes import Fix, fixes_of
from onnxwright.diagnostics.span import Span
from onnxwright.errors import Message
from onnxwright.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def workflow_commands(messages: Sequence[Message], file: str, failure: str = "") -> Iterator[str]:
    """Messages as commands of a workflow, which GitHub shows beside the lines.

    Args:
        file: the file that was checked, for messages without a place.
        failure: why it could not be executed.

    Yields:
        One command for each; columns count from one, and the end is the last character.

    Source:
        GitHub's documentation of workflow commands: `::error file=,line=,col=::message`.

    Example:
        >>> list(workflow_commands([], "model.py", "it has no end"))
        ['::error file=model.py,title=onnxwright::it has no end']
    """
    if failure:
        yield f"::error file={_property(file)},title=onnxwright::{_data(failure)}"
    for one in messages:
        kind = "warning" if one.severity == "warning" else "error"
        place = {"file": file}
        if one.span is not None:
            span = one.span
            place = {"file": _relative(span.file), "line": str(span.line), "col": str(span.col + 1)}
            place |= {"endLine": str(span.end_line), "endColumn": str(span.end_col)}
        place["title"] = one.code or "onnxwright"
        properties = ",".join(f"{name}={_property(text)}" for name, text in place.items())
        yield f"::{kind} {properties}::{_data(_words(one))}"


def sarif_log(
    messages: Sequence[Message], failures: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Messages as a log of SARIF 2.1.0.

    Args:
        failures: files that could not be executed, and why.

    Returns:
        The log: one run, a rule for each code, a result for each message with its region; columns
        count from one, and the end is the column after the last character.

    Source:
        OASIS, Static Analysis Results Interchange Format 2.1.0, sections 3.13 to 3.30 and 3.55.

    Example:
        >>> sarif_log([])["runs"][0]["results"]
        []
    """
    codes = sorted({d.code for d in messages if d.code})
    kinds = {d.code: type(d) for d in messages}
    rules = [
        {
            "id": code,
            "name": kinds[code].__name__,
            "shortDescription": {"text": (kinds[code].__doc__ or code).strip().split("\n")[0]},
        }
        for code in codes
    ]
    results = [_result(d, codes) for d in messages]
    notes = [
        {
            "level": "error",
            "message": {"text": words},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(file)}}}],
        }
        for file, words in failures
    ]
    driver = {"name": "onnxwright", "version": __version__, "rules": rules}
    invocation = {"executionSuccessful": not failures, "toolExecutionNotifications": notes}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(one: Message, codes: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "level": "warning" if one.severity == "warning" else "error",
        "message": {"text": _words(one)},
    }
    if one.code:
        result |= {"ruleId": one.code, "ruleIndex": codes.index(one.code)}
    if one.span is not None:
        result["locations"] = [{"physicalLocation": _location(one.span)}]
    fixes = [_fix(fix) for fix in fixes_of(one)]
    if fixes:
        result["fixes"] = fixes
    related = [
        {"physicalLocation": _location(label.span), "message": {"text": label.text}}
        for label in one.labels
    ]
    return {**result, "relatedLocations": related} if related else result


def _fix(fix: Fix) -> dict[str, Any]:
    place = _location(fix.span)
    replacement = {"deletedRegion": place["region"], "insertedContent": {"text": fix.text}}
    change = {"artifactLocation": place["artifactLocation"], "replacements": [replacement]}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _location(span: Span) -> dict[str, Any]:
    region = {"startLine": span.line, "startColumn": span.col + 1}
    region |= {"endLine": span.end_line, "endColumn": span.end_col + 1}
    return {"artifactLocation": {"uri": _uri(span.file)}, "region": region}


def _words(one: Message) -> str:
    """What a message says beside its code and place."""
    parts = [one.words(one.title), one.optional_words(one.label), *one.notes]
    help_ = one.optional_words(one.help)
    return "\n".join([part for part in parts if part] + ([f"help: {help_}"] if help_ else []))


def _relative(file: str) -> str:
    """A path below the current folder, as GitHub and viewers of SARIF want it."""
    path = Path(os.path.abspath(file))  # noqa: PTH100 - links stay as they are
    return (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()


def _uri(file: str) -> str:
    path = _relative(file)
    return Path(path).as_uri() if os.path.isabs(path) else quote(path)  # noqa: PTH117


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
