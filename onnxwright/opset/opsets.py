"""Opsets: `opset18`, `Opset("my.domain", 1)`, and finding the operators in them.

An `Opset` is a name and a number; the schemas are read when an operator is asked for.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from onnxwright.diagnostics.catalogue.opcalls import (
    BadOpset,
    OpNotInVersion,
    UnknownOp,
    UnknownOpsetVersion,
)
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.unicode_text import check_text
from onnxwright.opset import registry
from onnxwright.opset.describe import did_you_mean
from onnxwright.opset.op import Op
from onnxwright.opset.registry import OpSignature

# What a body gets that names no opset: every operator most programs need, and old enough for
# every ONNX Runtime of the last years.
DEFAULT_OPSET_VERSION = 23

_INTERNED: dict[tuple[type, str, int], Any] = {}


class Opset:
    """A version of an operator set; its attributes are the operators.

    Args:
        domain: "" (or "ai.onnx") for the standard operators, else any text.
        version: the version, from 1.

    Raises:
        ScriptTypeError: the domain is not text, or the version is not a number.

    Example:
        >>> op = Opset("", 18)
        >>> op.Add, "Gelu" in op, Opset("ai.onnx", 18) is op
        (opset18.Add, False, True)
        >>> Opset("my.domain", 1).Anything
        Opset('my.domain', 1).Anything
    """

    domain: str
    version: int

    def __new__(cls, domain: str = "", version: SupportsIndex = 0) -> DynamicOpset:
        """The opset; the same object for the same domain and version."""
        try:
            number = operator.index(version)
        except TypeError:
            number = 0
        argument: object = domain
        if not isinstance(argument, str) or isinstance(version, bool) or number < 1:
            fail(BadOpset(domain=repr(domain), version=repr(version)))
        key = (cls, registry.normalize_domain(domain), number)
        check_text(domain, "the domain")
        interned: Any = _INTERNED.get(key)
        if interned is None:
            interned = super().__new__(cls)
            interned.__dict__.update(domain=key[1], version=number)
            interned = _INTERNED.setdefault(key, interned)
        opset: DynamicOpset = interned
        return opset

    if not TYPE_CHECKING:  # checkers know the operators from the stub, or have a `DynamicOpset`

        def __getattr__(self, name: str) -> Op:
            # Only reached for a name that has not been asked for: operators stay in __dict__.
            if name.startswith(("__", "_repr_", "_ipython_")):
                raise AttributeError(f"{self!r} has no attribute {name!r}")
            op = self._operator(name)
            self.__dict__[name] = op
            return op

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} cannot be changed: `{name}` is fixed by its schemas")

    def __getitem__(self, name: str) -> Op:
        # A name of a model may be that of anything: `version`, `__class__`.
        operator = self.__dict__.get(name)
        if type(operator) is Op:
            return operator
        op = self._operator(name)
        if name not in self.__dict__ and not hasattr(type(self), name):
            self.__dict__[name] = op
        return op

    def _operator(self, name: str) -> Op:
        check_text(name, "the operator")
        op = Op(self, name)
        # Ask for the schema now: a wrong name is an error where it is written.
        op.signature  # noqa: B018
        return op

    def __contains__(self, name: object) -> bool:
        return name in registry.op_names(self.domain, self.version)

    def __iter__(self) -> Iterator[str]:
        return iter(registry.op_names(self.domain, self.version))

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *registry.op_names(self.domain, self.version)]

    def __repr__(self) -> str:
        if self.domain == "":
            return f"opset{self.version}"
        if self.domain in _NAMED:
            return f"opset_{self.domain.replace('.', '_')}{self.version}"
        return f"Opset({self.domain!r}, {self.version})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.domain, self.version)

    def signature_of(self, name: str) -> OpSignature | None:
        """The schema of an operator.

        Args:
            name: the operator.

        Returns:
            The schema as data; None in a domain that onnx does not know.

        Raises:
            ScriptAttributeError: onnx knows the domain, but not this operator in it.
            ScriptValueError: onnx does not know this version of the opset.
        """
        if not registry.is_known_domain(self.domain):
            return None
        newest = registry.newest(self.domain)
        if self.version > newest:
            name_of = Opset(self.domain, newest)
            advice = f"the installed onnx knows {Opset(self.domain, 1)!r} to {name_of!r}"
            fail(UnknownOpsetVersion(opset=repr(self), versions=advice))
        signature = registry.signature(self.domain, name, self.version)
        if signature is None or signature.deprecated:
            self._fail_unknown(name)
        return signature

    def _fail_unknown(self, name: str) -> NoReturn:
        history = registry.versions_of(self.domain, name)
        if history:
            fail(self._not_in_version(name, history))
        close = did_you_mean(name, self)
        newest = registry.op_names(self.domain, registry.newest(self.domain))
        same = next((n for n in newest if n.lower() == name.replace("_", "").lower()), None)
        if close is not None and (same is None or same in self):
            hint = f"did you mean `{close}`?"
            fail(UnknownOp(opset=repr(self), name=name, hint=hint, meant=close))
        for domain in registry.domains():
            if registry.versions_of(domain, name):
                other = Opset(domain, registry.newest(domain))
                hint = f"another opset has it: `{other!r}.{name}`"
                fail(UnknownOp(opset=repr(self), name=name, hint=hint))
        close = did_you_mean(name, newest)
        hint = "https://onnx.ai/onnx/operators/ lists all operators"
        if close is not None:
            since = registry.versions_of(self.domain, close)[0][0]
            hint = f"did you mean `{close}`, which came with {Opset(self.domain, since)!r}?"
        fail(UnknownOp(opset=repr(self), name=name, hint=hint))

    def _not_in_version(self, name: str, history: tuple[tuple[int, bool], ...]) -> OpNotInVersion:
        """The message about an operator that exists in other versions."""
        first = history[0][0]
        if self.version < first:
            newer = Opset(self.domain, first)
            return OpNotInVersion(
                opset=repr(self),
                name=name,
                when=f"it came with {newer!r}",
                hint=f"use `{newer!r}` or a newer one",
            )
        removed = min(v for v, deprecated in history if deprecated and v <= self.version)
        instead = _INSTEAD.get(name)
        older = Opset(self.domain, removed - 1)
        return OpNotInVersion(
            opset=repr(self),
            name=name,
            when=f"{Opset(self.domain, removed)!r} took it out",
            hint=f"use `{instead}` instead" if instead else f"`{older!r}` is the last that has it",
        )


if TYPE_CHECKING:

    class DynamicOpset(Opset):
        """What type checkers see of `Opset(domain, version)`: every name may be an operator."""

        def __getattr__(self, name: str) -> Op: ...

else:
    DynamicOpset = Opset

# What took the place of operators that were taken out.
_INSTEAD = {"Upsample": "Resize", "Scatter": "ScatterElements"}


def replacement_of(name: str) -> str | None:
    """What took the place of an operator that was taken out.

    Returns:
        The name of its replacement, if there is one.

    Source:
        The notes of the schemas that took the operators out.

    Example:
        >>> replacement_of("Upsample")
        'Resize'
    """
    return _INSTEAD.get(name)


_NAMED = frozenset({"ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"})
