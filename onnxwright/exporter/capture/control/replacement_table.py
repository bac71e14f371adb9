"""The table of replacements: what is called, or found, in the place of functions of PyTorch and of
libraries while a program is captured.

An entry is a `Replacement`, which is looked up where converted code calls a function, or a
`Change` of an attribute or a table of PyTorch that no call of the model reaches.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from onnxwright.exporter.capture.session.changes import (
    Changes,
    active,
    are_attributes_replaced,
)

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What every entry says.

    Attributes:
        target: the full name of what is replaced; a part of a name may be `*`.
        reason: why: what the capture would do otherwise.
        upstream: the issue of the library about it, or what the library does that is the reason.
        first: the first version of the library that needs it; "" for all that are supported.
        last: the last version that needs it; "" while no version is known that does without.
    """

    target: str
    reason: str
    upstream: str = ""
    first: str = ""
    last: str = ""

    @property
    def library(self) -> str:
        """The package whose versions count."""
        return self.target.partition(".")[0]

    def is_for(self, version: str) -> bool:
        """Whether a version of the library needs it.

        Example:
            >>> entry = Entry(target="torch.sort", reason="", first="2.10", last="2.13")
            >>> [entry.is_for(v) for v in ("2.9.1", "2.10.0", "2.13.4+cpu", "2.14.0")]
            [False, True, True, False]
        """
        number = _numbers(version)
        first, last = _numbers(self.first), _numbers(self.last)
        return number >= first and (not last or number[: len(last)] <= last)


@dataclass(frozen=True, kw_only=True)
class Replacement(Entry):
    """A function that converted code calls in the place of another.

    Attributes:
        make: takes the function that is replaced, gives the one that is called with its arguments.
        function: that of a user, which takes the function that is replaced before the arguments;
            it is converted as the model's functions are.
    """

    make: Callable[[Any], Callable[..., Any]]
    function: Callable[..., Any] | None = None

    def fits(self, f: Any) -> bool:
        """Whether a function is the one that is replaced."""
        if "*" in self.target:
            name = f"{getattr(f, '__module__', '')}.{getattr(f, '__qualname__', '')}"
            return fnmatchcase(name, self.target)
        return found_at(self.target) is f


@dataclass(frozen=True, kw_only=True)
class Change(Entry):
    """A change of an attribute or a table that calls do not reach.

    Attributes:
        make: makes the change, for the model that is captured.
        needs: the module that must be imported; without it there is nothing to change.
    """

    make: Callable[[Changes, Any], None]
    needs: str = "torch"


@dataclass(frozen=True, kw_only=True)
class Substitute(Entry):
    """A function of torch that is another one also where torch itself calls it.

    Attributes:
        function: takes the same arguments.
    """

    function: Callable[..., Any]


def in_force(entries: Iterable[Substitute]) -> dict[Any, Callable[..., Any]]:
    """The functions that are replaced in the versions that are installed -> what is called."""
    needed = [entry for entry in entries if entry.is_for(version_of(entry.library))]
    return {found_at(entry.target): entry.function for entry in needed}


class Own:
    """A function that is replaced, for its replacement: called as it is."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self.f(*args, **kwargs)


def found_at(target: str) -> Any:
    """The object of a full name; None where its module is not imported, or has no such name.

    Example:
        >>> import math
        >>> found_at("math.sqrt") is math.sqrt, found_at("no_such_module.f")
        (True, None)
    """
    parts = target.split(".")
    for count in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:count]))
        if module is not None:
            member: Any = module
            for name in parts[count:]:
                member = getattr(member, name, None)
            return member
    return None


# The last part of the target -> the entries of it, those that were registered last at the front.
_BY_NAME: dict[str, list[Replacement]] = {}


def register(entry: Replacement) -> None:
    """Look an entry up from now on, before those that are there."""
    _BY_NAME.setdefault(entry.target.rpartition(".")[2], []).insert(0, entry)


def remove(entry: Replacement) -> None:
    """Look an entry up no more."""
    _BY_NAME[entry.target.rpartition(".")[2]].remove(entry)


def replaced(f: Any) -> tuple[Replacement, Callable[..., Any]] | None:
    """What is called in the place of a function while a program is captured.

    Returns:
        The entry and the function; None where the function itself is called.
    """
    if active() is None:
        return None
    for entry in _BY_NAME.get(getattr(f, "__name__", ""), ()):
        if entry.fits(f) and entry.is_for(version_of(entry.library)):
            return entry, _make_function(entry, f)
    return None


def replace_attributes(*, of_users: bool = False) -> None:
    """Let code whose calls are not converted find the replacements, until the capture ends."""
    changes = active()
    if changes is None or are_attributes_replaced():
        return
    changes.replaces_attributes = True
    for entry in [one for entries in _BY_NAME.values() for one in reversed(entries)]:
        if entry.is_for(version_of(entry.library)) and (entry.function or not of_users):
            for home, name, f in list(_places(entry)):
                changes.attribute(home, name, _make_function(entry, f))


def _places(entry: Replacement) -> Iterator[tuple[Any, str, Any]]:
    """The modules and classes that have what is replaced, its name there, and the function."""
    home, _, name = entry.target.rpartition(".")
    if "*" not in entry.target:
        f = found_at(entry.target)
        if f is not None:
            yield found_at(home), name, f
        return
    prefix = entry.target.partition("*")[0].rstrip(".")
    for path, module in list(sys.modules.items()):
        if path.startswith(prefix) and module is not None:
            kinds = [v for v in vars(module).values() if isinstance(v, type)]
            for owner in (module, *(k for k in kinds if k.__module__ == path)):
                f = vars(owner).get(name)
                if callable(f) and entry.fits(f):
                    yield owner, name, f


def is_needed(entry: Change) -> bool:
    """Whether what a change is about is imported, in a version that needs it."""
    return entry.needs in sys.modules and entry.is_for(version_of(entry.needs.partition(".")[0]))


@functools.lru_cache(maxsize=4096)
def _make_function(entry: Replacement, f: Any) -> Callable[..., Any]:
    return entry.make(f)


@functools.cache
def version_of(library: str) -> str:
    """The version of a library that is imported; "" if it has none."""
    version = getattr(sys.modules.get(library), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _numbers(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` -> (2, 13, 0)."""
    numbers = []
    for part in version.partition("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def _calling(function: Callable[..., Any], own: Any) -> Callable[..., Any]:
    """A function that calls one of a user."""

    @functools.wraps(own)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(own, *args, **kwargs)

    return call


def export_replacement(
    target: str,
    *,
    reason: str,
    upstream: str = "",
    first: str = "",
    last: str = "",
) -> Callable[[_Function], _Function]:
    """Call another function in the place of one of a library, while a model is exported.

    The function that is decorated takes the one that it replaces, then the arguments of the call.
    It is part of the model then: it may decide by values, and what it writes is seen. The library
    is not changed; a function that is registered later for the same target goes first. Calls that
    C code or PyTorch itself makes are not replaced.

    Args:
        target: the full name of a function or a method, `"package.module.Class.method"`, also
            where a package gives it under another name; `*` stands for any part of a name:
            `"transformers.models.*.selective_scan"`.
        reason: why it is replaced; for the reader of the table.
        upstream: the issue of the library about it.
        first, last: the versions of the library that need it, `"2.1"`; all if not given.

    Returns:
        A decorator; the function itself stays as it is.

    Raises:
        ValueError: the target has no module.

    Example:
        >>> import onnxwright as ow, torch, statistics
        >>> @ow.export_replacement("statistics.fmean", reason="it makes floats of tensors")
        ... def mean(own, data):
        ...     return torch.stack(list(data)).mean()
        >>> class Mean(torch.nn.Module):
        ...     def forward(self, x, y):
        ...         return statistics.fmean([x, y])
        >>> program = ow.export(Mean(), (torch.tensor(1.0), torch.tensor(2.0)))
        >>> program(torch.tensor(2.0), torch.tensor(5.0))
        tensor(3.5000)
    """
    if "." not in target:
        raise ValueError(f"`{target}` has no module: give the full name, as `torch.nn.Module.to`")

    def add(function: _Function) -> _Function:
        register(
            Replacement(
                target=target, reason=reason, upstream=upstream, first=first, last=last,
                make=functools.partial(_calling, function), function=function,
            )
        )  # fmt: skip
        return function

    return add


__all__ = [
    "Change", "Entry", "Own", "Replacement", "Substitute", "export_replacement", "found_at",
    "in_force", "is_needed", "register", "remove", "replace_attributes", "replaced",
]  # fmt: skip
