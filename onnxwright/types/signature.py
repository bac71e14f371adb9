"""The signature of a Python function, read as an ONNX function: values, attributes, results.

Reads annotations however they are spelled (objects or text, with names of the enclosing function)
and promises one `Param` per Python parameter, in order.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.diagnostics.catalogue.annotations import (
    BadAnnotation,
    BadDefault,
    UnknownAnnotationName,
    UnsupportedParameter,
)
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.types.annotations import (
    AttributeSpec,
    Spec,
    ValueSpec,
    parse_annotation,
    show_annotation,
)
from onnxwright.types.kinds import AttrKind

EMPTY: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter.

    Fields:
        name: its name.
        kind: positional-only, keyword-only and so on, as in `inspect`.
        spec: what the annotation says; None for a value without annotation.
        default: the default, `EMPTY` where there is none.
        annotation: the evaluated annotation, `EMPTY` where there is none.
    """

    name: str
    kind: inspect._ParameterKind
    spec: Spec | None = None
    default: object = EMPTY
    annotation: object = EMPTY

    @property
    def is_attribute(self) -> bool:
        """Whether it is an attribute parameter rather than a value."""
        return isinstance(self.spec, AttributeSpec)

    @property
    def is_variadic(self) -> bool:
        """Whether it is `*args`."""
        return self.kind is inspect.Parameter.VAR_POSITIONAL

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is EMPTY and not self.is_variadic

    def __str__(self) -> str:
        star = "*" if self.is_variadic else ""
        text = star + self.name + ("" if self.spec is None else f": {self.spec}")
        if self.default is EMPTY:
            return text
        return f"{text} = {self.default!r}" if self.spec is not None else f"{text}={self.default!r}"


@dataclass(frozen=True, slots=True)
class FunctionSignature:
    """The parameters and results of a function.

    Fields:
        params: the parameters in order.
        returns: one spec per result; None where the function does not say.
    """

    params: tuple[Param, ...]
    returns: tuple[ValueSpec | None, ...] | None = None

    @property
    def values(self) -> tuple[Param, ...]:
        """The parameters that are values (inputs)."""
        return tuple(p for p in self.params if not p.is_attribute)

    @property
    def attributes(self) -> tuple[Param, ...]:
        """The parameters that are attributes."""
        return tuple(p for p in self.params if p.is_attribute)

    def __str__(self) -> str:
        parts: list[str] = []
        previous: inspect._ParameterKind | None = None
        for p in self.params:
            only = inspect.Parameter.POSITIONAL_ONLY
            if previous is only and p.kind is not only:
                parts.append("/")
            if p.kind is inspect.Parameter.KEYWORD_ONLY and previous not in (
                inspect.Parameter.KEYWORD_ONLY,
                inspect.Parameter.VAR_POSITIONAL,
            ):
                parts.append("*")
            parts.append(str(p))
            previous = p.kind
        if previous is inspect.Parameter.POSITIONAL_ONLY:
            parts.append("/")
        text = f"({', '.join(parts)})"
        if self.returns is None:
            return text
        shown = [("?" if r is None else str(r)) for r in self.returns]
        return f"{text} -> {shown[0] if len(shown) == 1 else '(' + ', '.join(shown) + ')'}"


def signature_of(
    pyfunc: Callable[..., Any],
    *,
    globalns: Mapping[str, object] | None = None,
    localns: Mapping[str, object] | None = None,
) -> FunctionSignature:
    """Read the signature of a Python function.

    Args:
        pyfunc: the function (not a wrapper of it).
        globalns: where names of text annotations are looked up; its own globals by default.
        localns: names of the enclosing function that win over the globals; the closure is
            known by itself.

    Raises:
        ScriptTypeError: an annotation is not an ONNX type, or a default does not fit it.
        ScriptNameError: a text annotation cannot be evaluated.
        ScriptSyntaxError: a parameter that ONNX cannot have (`**kwargs`).

    Source:
        Python's scoping rules for annotations.

    Example:
        >>> def scale(x, factor: float = 2.0): ...
        >>> print(signature_of(scale))
        (x, factor: float = 2.0)
    """
    scope = _scope(pyfunc, globalns, localns)
    params: list[Param] = []
    for p in inspect.signature(pyfunc, follow_wrapped=False).parameters.values():
        if p.kind is inspect.Parameter.VAR_KEYWORD:
            fail(UnsupportedParameter(function=pyfunc.__name__, parameter=f"**{p.name}"))
        where = f"parameter `{p.name}` of `{pyfunc.__name__}` "
        params.append(_read_param(p, where, scope))
    return FunctionSignature(tuple(params), _read_returns(pyfunc, scope))


def _scope(
    pyfunc: Callable[..., Any],
    globalns: Mapping[str, object] | None,
    localns: Mapping[str, object] | None,
) -> tuple[dict[str, object], dict[str, object]]:
    """The globals and the locals that text annotations are evaluated in."""
    own = getattr(pyfunc, "__globals__", {}) if globalns is None else globalns
    outer: dict[str, object] = {}
    code = getattr(pyfunc, "__code__", None)
    cells = getattr(pyfunc, "__closure__", None)
    if code is not None and cells:
        for name, cell in zip(code.co_freevars, cells, strict=True):
            try:
                outer[name] = cell.cell_contents
            except ValueError:  # assigned later, or never
                continue
    for var in getattr(pyfunc, "__type_params__", ()):
        outer[var.__name__] = var
    if localns is not None:
        outer.update(localns)
    return {"__builtins__": builtins, **own}, outer


def _evaluate(
    annotation: object, where: str, scope: tuple[dict[str, object], dict[str, object]]
) -> object:
    """A text annotation as the object it names; any other as it is."""
    if not isinstance(annotation, str):
        return annotation
    globalns, localns = scope
    text = annotation.strip()
    try:
        # eval: this is the function's own annotation, which Python would evaluate itself.
        return eval(compile(text, __file__, "eval"), globalns, localns)  # noqa: S307
    except OnnxwrightError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the user's text raises
        unquoted = _old_union(text, scope)
        if unquoted is not None:
            return unquoted
        reason = f"{type(error).__name__}: {error}"
        fail(UnknownAnnotationName(annotation=text, reason=reason, where=where))


def _old_union(text: str, scope: tuple[dict[str, object], dict[str, object]]) -> object | None:
    """`"FLOAT" | None` and the like, which Python itself refuses to evaluate."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not (isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr)):
        return None
    globalns, localns = scope
    parts: list[Any] = []
    for side in (tree.left, tree.right):
        try:
            parts.append(eval(ast.unparse(side), globalns, localns))  # noqa: S307 - as above
        except Exception:  # noqa: BLE001 - as above
            return None
    return typing.Union[tuple(parts)]


def _read_param(
    p: inspect.Parameter, where: str, scope: tuple[dict[str, object], dict[str, object]]
) -> Param:
    annotation = _evaluate(p.annotation, where, scope)

    def resolve(text: str) -> object:
        return _evaluate(text, where, scope)

    if annotation is None:
        annotation = type(None)
    spec = parse_annotation(annotation, where=where, resolve=resolve)
    if spec is None and p.default is not EMPTY:
        kind = kind_of_default(p.default)
        if kind is not None:
            spec = AttributeSpec(kind)
        elif p.default is None:
            spec = ValueSpec(optional=True)
    if isinstance(spec, AttributeSpec) and p.default is not EMPTY:
        if p.default is None:
            spec = AttributeSpec(spec.kind, optional=True)
        elif not _default_fits(p.default, spec.kind):
            fail(
                BadDefault(
                    annotation=show_annotation(annotation), default=repr(p.default), where=where
                )
            )
    elif isinstance(spec, ValueSpec) and p.default is None and not spec.optional:
        spec = ValueSpec(spec.types, spec.typevar, optional=True)
    return Param(p.name, p.kind, spec, p.default, annotation)


def kind_of_default(default: object) -> AttrKind | None:
    """The attribute kind of a plain Python value; None where it is not one.

    Returns:
        The kind; an empty list is INTS.

    Source:
        `AttributeProto.AttributeType`.

    Example:
        >>> kind_of_default(1.5), kind_of_default([1, 2]), kind_of_default(None)
        (<AttrKind.FLOAT: 'FLOAT'>, <AttrKind.INTS: 'INTS'>, None)
    """
    if isinstance(default, (bool, np.bool_)):
        return AttrKind.BOOL
    if isinstance(default, (int, np.integer)):
        return AttrKind.INT
    if isinstance(default, (float, np.floating)):
        return AttrKind.FLOAT
    if isinstance(default, (str, bytes)):
        return AttrKind.STRING
    if isinstance(default, (list, tuple)):
        kinds = {kind_of_default(item) for item in default}
        if kinds == {AttrKind.INT, AttrKind.FLOAT}:
            return AttrKind.FLOATS
        only = kinds.pop() if len(kinds) == 1 else None if kinds else AttrKind.INT
        return None if only is None or only.is_list else only.list_of
    return None


_PLAIN = (AttrKind.BOOL, AttrKind.INT, AttrKind.FLOAT, AttrKind.STRING)


def _default_fits(default: object, kind: AttrKind) -> bool:
    """Whether a default is a value of the annotated kind (what is not plain is believed)."""
    if isinstance(default, complex):
        return False
    actual = kind_of_default(default)
    numbers = default if isinstance(default, (list, tuple)) else (default,)
    if any(isinstance(n, int) and not -(1 << 63) <= n < 1 << 63 for n in numbers):
        return False
    if default is Ellipsis or type(default) is object or isinstance(default, type):
        return False
    if isinstance(default, bytes) and not _is_utf8(default):
        return False
    if actual is kind and kind in _PLAIN:
        return True
    if kind.element is AttrKind.TENSOR:
        return True
    if isinstance(default, np.ndarray) and kind.element in _PLAIN:
        return default.ndim == kind.is_list and _default_fits(default.tolist(), kind)
    if isinstance(default, (list, tuple)) and (kind.is_list or kind in _PLAIN):
        return kind.is_list and all(
            item is not None and _default_fits(item, kind.element) for item in default
        )
    if actual is None:
        return True
    ladder = [AttrKind.BOOL, AttrKind.INT, AttrKind.FLOAT]
    if kind.is_list != actual.is_list or kind.element not in ladder:
        return False
    if kind.element is AttrKind.BOOL:
        return actual.element is AttrKind.INT
    return actual.element in ladder[: ladder.index(kind.element)]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read_returns(
    pyfunc: Callable[..., Any], scope: tuple[dict[str, object], dict[str, object]]
) -> tuple[ValueSpec | None, ...] | None:
    annotation = getattr(pyfunc, "__annotations__", {}).get("return", EMPTY)
    where = f"the result of `{pyfunc.__name__}` "
    annotation = _evaluate(annotation, where, scope)
    if annotation is EMPTY:
        return None
    if annotation is None or annotation is type(None):
        return ()

    def resolve(text: str) -> object:
        return _evaluate(text, where, scope)

    if annotation in (tuple, typing.Tuple):  # noqa: UP006 - what users write
        return None
    parts: tuple[object, ...] = annotation if isinstance(annotation, tuple) else (annotation,)
    if typing.get_origin(annotation) is tuple:
        parts = typing.get_args(annotation)
        if parts == ((),):  # Tuple[()] of Python 3.10
            parts = ()
        if len(parts) == 2 and parts[1] is ...:
            return None
    return tuple(_read_result(part, where, resolve) for part in parts)


def _read_result(
    annotation: object, where: str, resolve: Callable[[str], object]
) -> ValueSpec | None:
    spec = parse_annotation(annotation, where=where, resolve=resolve)
    if isinstance(spec, AttributeSpec):
        fail(BadAnnotation(annotation=show_annotation(annotation), where=where))
    return spec
