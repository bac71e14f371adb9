"""Places that a program writes to: what one holds can be read, compared, and given back."""

from __future__ import annotations

import io
import operator
import sys
from array import array
from collections import OrderedDict, deque
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from types import CellType, FunctionType, GeneratorType, GetSetDescriptorType
from typing import Any

import torch

from onnxwright.exporter.capture.session.program_lists import List, is_rows
from onnxwright.exporter.torch_internals import modes_disabled

PLAIN = (int, float, bool, str, bytes, complex, type(None))
"""Types whose objects nothing changes."""


class _Missing:
    """Stands for what a place without a value holds."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()
_JOINING = (enumerate, zip, map, filter, reversed)
_CONTAINERS = (dict, list, set, deque)
_BUFFERS = (io.StringIO, io.BytesIO)
# Modules of objects that cannot be copied and are not changed, or whose changes are seen.
_OPEN = ("builtins", "_thread", "_contextvars", "types", "_io", "functools", "_weakref", "weakref")
_OTHERS = (bytearray, array, MutableMapping)


def is_array(value: Any) -> bool:
    """Whether a value is an array of numpy, which need not be there."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_container(value: Any) -> bool:
    """Whether a value is a container of Python whose items sides of a decision may choose."""
    return isinstance(value, _CONTAINERS)


def has_items(value: Any) -> bool:
    """Whether a value is a container or an array: its items may change."""
    return is_container(value) or isinstance(value, _OTHERS) or is_array(value)


def is_same(one: Any, two: Any) -> bool:
    """Whether two values are one object, or the same number or text."""
    if one is two:
        return True
    return type(one) is type(two) and type(one) in PLAIN and bool(one == two)


@dataclass(frozen=True, eq=False)
class Place:
    """A place.

    Fields:
        owner: the object that has it; of a view of an array, the array.
        name: of an attribute or a variable; None for all items of a container.
    """

    owner: Any
    name: str | None = None

    def __post_init__(self) -> None:
        while is_array(self.owner) and is_array(self.owner.base):  # a view
            object.__setattr__(self, "owner", self.owner.base)

    @property
    def key(self) -> tuple[Any, ...]:
        """What identifies it while the owner exists."""
        return type(self), id(self.owner), self.name

    @property
    def text(self) -> str:
        """What the user calls it."""
        return self.name or type(self.owner).__name__

    def read(self) -> Any:
        """What it holds now, in a form that later changes leave as it is."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Let it hold what `read` gave."""
        raise NotImplementedError

    def is_same(self, one: Any, two: Any) -> bool:
        """Whether it held the same at two times, by what `read` gave then."""
        return is_same(one, two)


class Attribute(Place):
    """An attribute of an object, a class, a module of Python or a function."""

    @property
    def text(self) -> str:
        """As of any place."""
        owner = self.owner
        kind = owner.__name__ if hasattr(owner, "__name__") else type(owner).__name__
        return f"{kind}.{self.name}"

    @property
    def is_of_python(self) -> bool:
        """Whether Python itself reads it, as `__class__` of an object."""
        return isinstance(_stored_by(self.owner, str(self.name)), GetSetDescriptorType)

    def read(self) -> Any:
        """As of any place."""
        names = _attributes(self.owner)
        if self.name in names or not hasattr(type(self.owner), str(self.name)):
            return names.get(self.name, MISSING)
        descriptor = _stored_by(self.owner, str(self.name))
        if descriptor is None:
            return MISSING
        try:
            return descriptor.__get__(self.owner, type(self.owner))
        except AttributeError:
            return MISSING

    def put(self, value: Any) -> None:
        """As of any place."""
        owner, name = self.owner, str(self.name)
        if isinstance(owner, type):
            if value is not MISSING:
                type.__setattr__(owner, name, value)
            elif name in vars(owner):
                type.__delattr__(owner, name)
            return
        names = getattr(owner, "__dict__", None)
        if isinstance(names, dict) and _stored_by(owner, name) is None:
            _give(names, name, value)
        elif value is not MISSING:
            if self.read() is not value:  # not all that C holds can be set
                own: Any = type(owner).__setattr__
                is_written_in_python = isinstance(own, FunctionType)
                (object.__setattr__ if is_written_in_python else own)(owner, name, value)
        elif hasattr(owner, name):
            object.__delattr__(owner, name)


class ModuleAttribute(Place):
    """An attribute of a `torch.nn.Module`, which may be a parameter, a buffer or a module."""

    text = Attribute.text
    is_of_python = False

    def read(self) -> Any:
        """As of any place."""
        own = vars(self.owner)
        dicts = [own, *(own.get(n) for n in ("_parameters", "_buffers", "_modules"))]
        return [d.get(self.name, MISSING) if type(d) is dict else MISSING for d in dicts]

    def put(self, value: Any) -> None:
        """As of any place."""
        own = vars(self.owner)
        dicts = [own, *(own.get(n) for n in ("_parameters", "_buffers", "_modules"))]
        for names, one in zip(dicts, value):
            if type(names) is dict:
                _give(names, self.name, one)

    def is_same(self, one: Any, two: Any) -> bool:
        """As of any place."""
        return all(map(is_same, one, two))


class Items(Place):
    """The items of a container."""

    def read(self) -> Any:
        """As of any place."""
        owner = self.owner
        if isinstance(owner, List):
            return owner.held()
        if isinstance(owner, dict):
            return dict(_kind_of_dict(owner).items(owner))  # a subclass may give other items
        kinds: tuple[Any, ...] = (list, set, deque)
        for kind in kinds:
            if isinstance(owner, kind):
                iterator = kind.__iter__(owner)
                return set(iterator) if kind is set else list(iterator)
        if isinstance(owner, MutableMapping):
            return dict(owner.items())
        return owner.copy() if is_array(owner) else owner[:]

    def put(self, value: Any) -> None:
        """As of any place."""
        owner = self.owner
        if self.is_same(self.read(), value):
            return
        if isinstance(owner, List):
            owner.hold(value)
        elif isinstance(owner, (list, bytearray, array)):
            owner[:] = value
        elif is_array(owner):
            owner[...] = value
        elif isinstance(owner, dict):
            kind = _kind_of_dict(owner)  # a subclass may refuse its methods
            kind.clear(owner)
            kind.update(owner, value)
        elif isinstance(owner, set):
            set.clear(owner)
            set.update(owner, value)
        elif isinstance(owner, deque):
            deque.clear(owner)
            deque.extend(owner, value)
        else:
            for name in [n for n in owner if n not in value]:
                del owner[name]
            for name, one in value.items():
                if name not in owner or not is_same(owner[name], one):
                    owner[name] = one

    def is_same(self, one: Any, two: Any) -> bool:
        """As of any place."""
        if is_rows(one) or is_rows(two):
            return is_rows(one) and bool(one.is_same(two))
        if is_array(one):
            return bool(one.shape == two.shape and one.tobytes() == two.tobytes())
        if isinstance(one, dict):
            pairs = zip(one.items(), two.items())
            return len(one) == len(two) and all(is_same(a, b) and is_same(v, w) for (a, v), (b, w) in pairs)  # fmt: skip  # noqa: E501
        if isinstance(one, set):
            return bool(one == two)
        return len(one) == len(two) and all(map(is_same, one, two))


def _kind_of_dict(owner: Any) -> Any:
    """The class of Python whose methods read and set the items of a dict, in their order."""
    return OrderedDict if isinstance(owner, OrderedDict) else dict


class ClassItems(Place):
    """The attributes of a class."""

    def read(self) -> Any:
        """As of any place."""
        return dict(vars(self.owner))


class Variable(Place):
    """A global variable: the owner is the dict of its file."""

    def read(self) -> Any:
        """As of any place."""
        return self.owner.get(self.name, MISSING)

    def put(self, value: Any) -> None:
        """As of any place."""
        _give(self.owner, self.name, value)


class Cell(Place):
    """A variable of a function that others use."""

    owner: CellType

    @property
    def key(self) -> tuple[Any, ...]:
        """As of any place."""
        return Cell, id(self.owner)

    def read(self) -> Any:
        """As of any place."""
        try:
            return self.owner.cell_contents
        except ValueError:
            return MISSING

    def put(self, value: Any) -> None:
        """As of any place."""
        if value is not MISSING:
            self.owner.cell_contents = value
        elif self.read() is not MISSING:
            del self.owner.cell_contents


class Elements(Place):
    """The elements of a tensor with values; no trace sees that they are read."""

    def read(self) -> Any:
        """As of any place."""
        with modes_disabled():
            return self.owner.detach().clone()

    def put(self, value: Any) -> None:
        """As of any place."""
        with modes_disabled(), torch.no_grad():
            if not torch.equal(self.owner, value):
                self.owner.copy_(value)

    def is_same(self, one: Any, two: Any) -> bool:
        """As of any place."""
        with modes_disabled():
            return bool(torch.equal(one, two))


class Position(Place):
    """How many items of an iterator were taken; it cannot be put back."""

    def read(self) -> Any:
        """As of any place."""
        return position(self.owner)

    def put(self, value: Any) -> None:
        """As of any place."""

    def is_same(self, one: Any, two: Any) -> bool:
        """As of any place."""
        return bool(one == two)


class ContextValue(Place):
    """The value of a context variable; one that had none cannot be put back."""

    def read(self) -> Any:
        """As of any place."""
        return self.owner.get(MISSING)

    def put(self, value: Any) -> None:
        """As of any place."""
        if value is not MISSING and self.read() is not value:
            self.owner.set(value)


class InnerState(Place):
    """What an object of C holds, as a text buffer, a file or a generator of random numbers."""

    def read(self) -> Any:
        """As of any place."""
        return _state_of(self.owner)[0]()

    def put(self, value: Any) -> None:
        """As of any place."""
        if not self.is_same(self.read(), value):
            _state_of(self.owner)[1](value)

    def is_same(self, one: Any, two: Any) -> bool:
        """As of any place."""
        return repr(one) == repr(two)


def has_state(value: Any) -> bool:
    """Whether an object of Python's own, or of numpy's generators, gives its state and takes it."""
    return _state_of(value) is not None


def is_closed(value: Any) -> bool:
    """Whether an object of Python's own has a state that nobody can read, as those of `hashlib`."""
    home = type(value).__module__
    if home in _OPEN or home.partition(".")[0] not in sys.stdlib_module_names:
        return False
    try:
        value.__reduce_ex__(2)
    except TypeError:  # it cannot be copied
        return True
    return False


def _state_of(value: Any) -> Any:
    """The functions that give the state of an object of C and set it; None without such."""
    kind = type(value)
    if isinstance(value, io.IOBase) and not isinstance(value, _BUFFERS):
        # A file: how far it was read.
        is_read = not value.closed and value.seekable()
        return (value.tell, value.seek) if is_read else None
    if kind.__module__.startswith("numpy.random"):
        bits = getattr(value, "bit_generator", getattr(value, "_bit_generator", value))
        return (lambda: bits.state), (lambda state: setattr(bits, "state", state))
    is_pythons = kind.__module__.partition(".")[0] in sys.stdlib_module_names
    own = getattr(kind, "__getstate__", None)
    is_own = own is not None and own is not getattr(object, "__getstate__", None)
    if is_pythons and is_own and hasattr(kind, "__setstate__"):
        return value.__getstate__, value.__setstate__
    return None


def position(value: Any) -> Any:
    """What differs after an iterator gave an item; None where that is not known.

    Example:
        >>> items = iter([1, 2])
        >>> before, _ = position(items), next(items)
        >>> before == position(items)
        False
    """
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        if frame is None or value.gi_running:
            return ()
        return frame.f_lasti, [id(v) for v in frame.f_locals.values()]
    if type(value) in _JOINING:
        _, parts, *_ = value.__reduce__()
        return [p if isinstance(p, int) else position(p) for p in parts]
    if type(value).__module__ == "itertools":
        return repr(value) if type(value).__name__ in ("count", "repeat") else object()
    if isinstance(getattr(type(value), "__next__", None), FunctionType):
        return None  # its attributes say it; `__len__` of the user is not asked
    with suppress(TypeError):
        return operator.length_hint(value, -1)
    return None


def attribute(owner: Any, name: str) -> Place:
    """The place of an attribute."""
    place = Attribute(owner, name)
    if isinstance(owner, torch.nn.Module) and not place.is_of_python:
        return ModuleAttribute(owner, name)
    return place


def _stored_by(owner: Any, name: str) -> Any:
    """What stores an attribute outside of `__dict__`, as one of `__slots__` and `__class__`."""
    held = class_value(type(owner), name)
    is_of_c = type(getattr(type(held), "__set__", None)) is type(object.__init__)
    return held if is_of_c and not isinstance(held, property) else None


def class_value(kind: type, name: str) -> Any:
    """What a class or one above it holds by a name; reading it as an attribute may run code.

    Args:
        kind: the class.
        name: the name; `MISSING` is what no class holds.
    """
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), MISSING)


def _attributes(owner: Any) -> Any:
    try:
        return vars(owner)
    except TypeError:  # an object with `__slots__` only
        return {}


def _give(names: dict[Any, Any], name: Any, value: Any) -> None:
    if value is MISSING:
        names.pop(name, None)
    elif names.get(name, MISSING) is not value:
        names[name] = value
