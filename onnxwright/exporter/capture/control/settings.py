"""Settings of the process that running a module may change: each with what reads and sets it."""

from __future__ import annotations

import operator
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from onnxwright.exporter.capture.control.held_objects import (
    Kept,
    Reached,
    is_pythons,
)
from onnxwright.exporter.capture.control.places import MISSING
from onnxwright.exporter.capture.control.snapshot import Snapshot
from onnxwright.exporter.capture.session.errors import UnseenChangeError


class Setting(NamedTuple):
    """One setting of the process.

    Fields:
        name: what messages call it.
        read: gives its value.
        put: sets it.
        decides: whether later calls of a module may compute something else by it.
    """

    name: str
    read: Callable[[], Any]
    put: Callable[[Any], Any]
    decides: bool = False


def _read_deterministic() -> tuple[bool, bool]:
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns


def _put_deterministic(value: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])


def _attribute(name: str, owner: Any, attribute: str) -> Setting:
    return Setting(
        name, lambda: getattr(owner, attribute), lambda value: setattr(owner, attribute, value)
    )


class _State(bytes):
    """The state of a generator of random numbers."""

    def __str__(self) -> str:
        return "a state"


def _python_state() -> _State:
    return _State(pickle.dumps(random.getstate()))


def _put_python_state(state: _State) -> None:
    random.setstate(pickle.loads(state))  # noqa: S301 - made above


def _numpy_state() -> _State | None:
    numpy = sys.modules.get("numpy")
    return None if numpy is None else _State(pickle.dumps(numpy.random.get_state()))


def _put_numpy_state(state: _State | None) -> None:
    if state is not None:
        sys.modules["numpy"].random.set_state(pickle.loads(state))  # noqa: S301 - made above


def _torch_state() -> _State:
    return _State(torch.get_rng_state().tolist())


def _put_torch_state(state: _State) -> None:
    torch.set_rng_state(torch.tensor(list(state), dtype=torch.uint8))


_DECIMAL = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _read_decimal() -> tuple[Any, ...] | None:
    decimal = sys.modules.get("decimal")
    return None if decimal is None else operator.attrgetter(*_DECIMAL)(decimal.getcontext())


def _put_decimal(values: tuple[Any, ...] | None) -> None:
    for name, value in zip(_DECIMAL, values or ()):
        setattr(sys.modules["decimal"].getcontext(), name, value)


SETTINGS: tuple[Setting, ...] = (
    Setting("random", _python_state, _put_python_state, decides=True),
    Setting("numpy.random", _numpy_state, _put_numpy_state, decides=True),
    # What torch draws is drawn by operators of the program.
    Setting("torch.random", _torch_state, _put_torch_state),
    Setting("the default dtype", torch.get_default_dtype, torch.set_default_dtype, decides=True),
    Setting("the number of threads", torch.get_num_threads, torch.set_num_threads),
    Setting("deterministic algorithms", _read_deterministic, _put_deterministic),
    Setting(
        "the precision of matrix products",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    Setting("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    _attribute("cudnn.benchmark", torch.backends.cudnn, "benchmark"),
    _attribute("cudnn.deterministic", torch.backends.cudnn, "deterministic"),
    _attribute("cudnn.enabled", torch.backends.cudnn, "enabled"),
    _attribute("mkldnn.enabled", torch.backends.mkldnn, "enabled"),
    Setting("decimal.getcontext()", _read_decimal, _put_decimal, decides=True),
    Setting("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("the working directory", os.getcwd, os.chdir),
)


OF_SIDES = tuple(s for s in SETTINGS if s.read is not _torch_state)
"""Those that no side of a decision may change."""


class Settings:
    """The values of all settings as they are now, with the states of random generators.

    Example:
        >>> kept = Settings()
        >>> torch.set_default_dtype(torch.float64)
        >>> [(setting.name, before) for setting, before, after in kept.restore()]
        [('the default dtype', torch.float32)]
        >>> torch.get_default_dtype()
        torch.float32
    """

    def __init__(self) -> None:
        self._values = [setting.read() for setting in SETTINGS]

    def restore(self) -> list[tuple[Setting, Any, Any]]:
        """Give all settings the values of before.

        Returns:
            Those that changed, with the values of before and of now.
        """
        changed = []
        for setting, before in zip(SETTINGS, self._values):
            after = setting.read()
            if after != before:
                setting.put(before)
                changed.append((setting, before, after))
        return changed


# -- picture ---------------------------------------------------------------------------------------
# What a side of a decision can reach, before and after it: what nobody saw must be the same.


class Picture:
    """What can be reached where a side begins: all of it is the same when the side has ended.

    The store takes back what converted code wrote; what is not the same was changed by code that it
    does not see: operators and other special methods of a class, functions of C, libraries.

    Args:
        snapshot: of the capture; None outside of one.
        functions: those that the side runs.
    """

    def __init__(self, snapshot: Snapshot | None, functions: Iterable[Any]) -> None:
        self._snapshot = snapshot
        self._held = [] if snapshot is None else [kept.items.read() for kept in snapshot.kept]
        self._settings = [setting.read() for setting in OF_SIDES]
        self._own = Reached({} if snapshot is None else snapshot.seen)
        for one in functions:
            self._own.look(one, "", of_module=False)

    def check(self, seen: frozenset[tuple[int, str | None]]) -> None:
        """Compare what can be reached with what it was.

        Args:
            seen: the places that converted code wrote to: the identity of the owner, and the name.

        Raises:
            UnseenChangeError: something else is not as it was.
        """
        for setting, value in zip(OF_SIDES, self._settings):
            if setting.read() != value:
                setting.put(value)
                raise UnseenChangeError(f"{setting.name} is changed", "setting", setting.name)
        kept = [] if self._snapshot is None else self._snapshot.kept
        held = [*self._held, *(one.before for one in kept[len(self._held) :])]
        pairs = [*zip(kept, held), *((one, one.before) for one in self._own.kept)]
        for one, before in pairs:
            if one.differs(before) and not _is_seen(one, before, seen):
                owner = one.items.owner if one.owner is None else one.owner
                kind = owner.__name__ if isinstance(owner, type) else type(owner).__name__
                raise UnseenChangeError(f"`{one.name or kind}` is changed", kind, one.name)


def _is_seen(kept: Kept, before: Any, seen: frozenset[tuple[int, str | None]]) -> bool:
    """Whether all that differs are places that converted code wrote to."""
    place = kept.items
    if (id(place.owner), place.name) in seen:
        return True
    if not kept.has_names:
        return False
    now = place.read()
    owner = place.owner if kept.owner is None else kept.owner
    names = [n for n in {**before, **now} if before.get(n, MISSING) is not now.get(n, MISSING)]
    return bool(names) and all(is_pythons(n) or (id(owner), n) in seen for n in names)
