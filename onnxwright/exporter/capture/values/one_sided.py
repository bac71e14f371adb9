"""Attributes that one side of a decision alone sets: each side would go on with others.

After the decision, the attribute has the value of that side: a program that reads it fails on the
other side.  What asks whether it is there is refused: `hasattr`, `vars`, a copy of the object, an
`except AttributeError`.  Where the class has one of that name, the other side has that: a write to
it is refused from then on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from onnxwright.exporter.capture.control.convertible import MUTATORS
from onnxwright.exporter.capture.control.handlers import handler_of
from onnxwright.exporter.capture.control.store import current as current_store
from onnxwright.exporter.capture.session.errors import CannotRewriteError, DisagreementError
from onnxwright.exporter.capture.session.model_lines import model_line, model_span
from onnxwright.exporter.capture.session.session import current
from onnxwright.exporter.places import line_of

# They do not ask which attributes an object has.
_OTHERS = (isinstance, issubclass, type, id, callable, getattr, hasattr, setattr, delattr, super,
           object.__setattr__)  # fmt: skip


def note_one_sided(owner: Any, name: str) -> None:
    """Remember an attribute that one side of a decision, or an iteration, alone sets.

    Raises:
        DisagreementError: a `__getattr__` of the user gives it on the other side.
    """
    session, store = current(), current_store()
    if session is None:
        return
    instead = getattr(type(owner), "__getattr__", None)
    if instead is not None and instead is not torch.nn.Module.__getattr__:
        raise DisagreementError(name, "an attribute", "what `__getattr__` gives")
    session.one_sided[id(owner), name] = owner, model_line()
    if store is not None:
        store.on_opaque, store.on_read = refuse_call, refuse_read


def note_inherited(owner: Any, name: str) -> None:
    """Remember an attribute that one side alone sets, and that the class has for the other side."""
    session = current()
    if session is not None:
        session.inherited |= {(kind, name) for kind in classes_above(owner)}


def classes_above(owner: Any) -> tuple[type, ...]:
    """The classes that have the attributes which an object, or a class, has not of its own."""
    return owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__


def refuse_class_write(owner: Any, name: str | None) -> None:
    """Refuse a write to an attribute of a class that an object has on one side of a decision.

    Args:
        owner: what is written to.
        name: the attribute; None for the items of a container.

    Raises:
        CannotRewriteError: it is such an attribute.
    """
    session = current()
    if session is not None and isinstance(owner, type) and (owner, name) in session.inherited:
        raise class_written(owner, str(name))


def class_written(kind: type, name: str) -> CannotRewriteError:
    """The error for a write to an attribute of a class that objects may have of their own."""
    return CannotRewriteError(
        f"a write to `{kind.__name__}.{name}`, where an object or class below it has a `{name}` of "
        "its own on one side of a decision,",
        model_span(),
        f"set `{name}` of the object before the decision, or give that of the class another name",
    )


def refuse_name(owner: Any, name: Any) -> None:
    """Refuse to ask for an attribute that only one side of a decision sets."""
    session = current()
    owner_and_place = session.one_sided.get((id(owner), name)) if session is not None else None
    if owner_and_place is not None:
        error = DisagreementError(str(name), "an attribute", "not set")
        error.span = line_of(*owner_and_place[1])
        raise error


def refuse_names(container: Any, *names: Any) -> None:
    """Refuse to read `__dict__` of an object with an attribute that only one side sets.

    Args:
        container: what is read.
        names: the keys that are asked for; all of them without any.
    """
    session = current()
    if session is None or not isinstance(container, dict):
        return
    keys = names or tuple(container)
    for owner, _ in list(session.one_sided.values()):
        if container is owner or getattr(owner, "__dict__", None) is container:
            for name in keys:
                refuse_name(owner, name)


def refuse_call(function: Any, *arguments: Any) -> None:
    """Refuse to give an object with such an attribute to code that may look at all of them.

    Args:
        function: it is not converted.
        arguments: what it is called with; the items of containers, too.
    """
    session = current()
    module = str(getattr(function, "__module__", "")).partition(".")[0]
    is_known = module in ("torch", "onnxwright") or any(function is one for one in _OTHERS)
    if session is None or is_known or getattr(function, "__name__", "") in MUTATORS:
        return
    owners = {id(owner): owner for owner, _ in session.one_sided.values()}
    for value in (getattr(function, "__self__", None), *arguments):
        refuse_names(value)
        for one in (value, *_items(value)):
            if id(one) in owners:
                for key, name in list(session.one_sided):
                    if key == id(one):
                        refuse_name(one, name)


def _items(value: Any) -> Iterable[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) in (list, tuple) else ()


def refuse_read(owner: Any, name: str) -> None:
    """Refuse to read all attributes, or one where an `except` would take that it is not set."""
    if name == "__dict__":
        refuse_call(vars, owner)
    elif handler_of(AttributeError()) is not None:
        refuse_name(owner, name)
