"""Writes docs/api.txt: every public name with its signature, which a release may only add to.

Run it from the repository's root:

    python -m tools.public_api           # write the list
    python -m tools.public_api --check   # say what was removed or changed

A name that is removed, or whose parameters are removed or reordered, is a change that breaks users:
it is announced in the changelog, and the list is written anew in the same commit.
"""

from __future__ import annotations

import enum
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnxwright as ow

LIST = Path(__file__).resolve().parent.parent / "docs" / "api.txt"

# Names that follow the installed onnx: they are not listed one by one.
_BY_VERSION = ("opset",)
_MODULES = ("testing",)
# Objects of these classes are returned to users, who do not make them.
_RETURNED = (
    "Details", "Diff", "Evaluator", "ONNXProgram", "OnnxFunction", "Op", "Proof", "ScriptFunction",
)  # fmt: skip


def lines() -> list[str]:
    """The list: `name(parameters)` for what is called, `name` for the rest, in order.

    Returns:
        The lines.
    """
    return sorted(set(_names()))


def _names() -> Iterator[str]:
    for name in dir(ow):
        if name.startswith("_") or (name.startswith(_BY_VERSION) and name[-1].isdigit()):
            continue
        value = getattr(ow, name)
        if inspect.ismodule(value):
            yield name
        else:
            yield from _described(name, value)
    for module in _MODULES:
        found = getattr(ow, module)
        for name in dir(found):
            if name.startswith("_") or inspect.ismodule(getattr(found, name)):
                continue
            yield from _described(f"{module}.{name}", getattr(found, name))


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value) and value.__module__.startswith("onnxwright"):
        yield name + _constructor(value)
        for member in _members(value):
            if not member.startswith("_"):
                attribute = inspect.getattr_static(value, member)
                yield f"{name}.{member}{_parameters(attribute)}"
    else:
        yield name + _parameters(value)


def _constructor(value: type[Any]) -> str:
    """The parameters of a class that users make; of the others nothing is promised."""
    if issubclass(value, (Exception, enum.Enum)) or value.__name__ in _RETURNED:
        return ""
    for base in value.__mro__:
        for name in ("__init__", "__new__"):
            if base.__module__.startswith("onnxwright") and name in vars(base):
                parameters = list(inspect.signature(vars(base)[name]).parameters.values())
                return _shown(inspect.Signature(parameters[1:]))
    return ""


def _members(value: type[Any]) -> Iterator[str]:
    """What a class defines; what it inherits too, unless the base is listed under its own name."""
    for base in value.__mro__:
        is_listed = base is not value and (
            hasattr(ow, base.__name__) or hasattr(ow.errors, base.__name__)
        )
        if base.__module__.startswith("onnxwright") and not is_listed:
            yield from vars(base)


def _parameters(value: Any) -> str:
    """The names of parameters, with a mark where they are optional: annotations may be refined."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    return _shown(inspect.signature(value)) if inspect.isroutine(value) else ""


def _shown(signature: inspect.Signature) -> str:
    shown = []
    keyword_only = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            shown.append("*")
            keyword_only = True
        prefix = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        keyword_only = keyword_only or p.kind is p.VAR_POSITIONAL
        shown.append(f"{prefix}{p.name}" + ("" if p.default is p.empty else "="))
    return f"({', '.join(shown)})"


def main() -> int:
    """Write the list, or check it.

    Returns:
        The exit code: 1 if the list is not that of the package.
    """
    now = lines()
    if "--check" not in sys.argv[1:]:
        LIST.write_text("\n".join(now) + "\n", encoding="utf-8")
        return 0
    before = LIST.read_text(encoding="utf-8").splitlines()
    removed = [line for line in before if line not in now]
    added = [line for line in now if line not in before]
    for line in removed:
        print(f"removed or changed: {line}")
    for line in added:
        print(f"not in the list: {line}")
    if removed or added:
        print("write the list anew with `python -m tools.public_api`, and say so in CHANGELOG.md")
    return 1 if removed or added else 0


if __name__ == "__main__":
    sys.exit(main())
