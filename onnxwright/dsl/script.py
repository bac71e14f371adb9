"""The decorators: `@script` registers a function (compiled later), `@graph` marks a body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from typing_extensions import ParamSpec, Unpack

from onnxwright.dsl.function import ScriptFunction
from onnxwright.dsl.options import ScriptOptionTypes
from onnxwright.opset.opsets import Opset
from onnxwright.types.roles import function_marker

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DOMAIN = "this"


@overload
def script(function: Callable[P, R], /) -> ScriptFunction[P, R]: ...
@overload
def script(
    domain: str | Opset | None = None,
    /,
    default_opset: Opset | None = None,
    *,
    version: int = 1,
    name: str | None = None,
    overload: str = "",
    source: str | None = None,
    opset: Opset | None = None,
    op_type: str | None = None,
    trace_only: bool = False,
    **model_options: Unpack[ScriptOptionTypes],
) -> Callable[[Callable[P, R]], ScriptFunction[P, R]]: ...
@function_marker
def script(
    domain: Any = None,
    /,
    default_opset: Opset | None = None,
    *,
    version: int = 1,
    name: str | None = None,
    overload: str = "",
    source: str | None = None,
    opset: Opset | None = None,
    op_type: str | None = None,
    trace_only: bool = False,
    **model_options: Unpack[ScriptOptionTypes],
) -> Any:
    """Make an ONNX function of a Python function.

    Works as `@script`, `@script()` and `@script("my.domain", version=2)`.  Decorating only
    registers: the function is read and compiled when it is first needed.

    Args:
        domain: the domain of the ONNX function (or an `Opset`, which gives domain and version).
        default_opset: where operators such as `+` come from, if the body names no opset.
        version: the version of the domain.
        name: the name of the ONNX function; the Python name by default.
        overload: which of several ONNX functions of that name it is.
        source: the text of the function, where it is in no file (a frozen application).
        opset: the same as `domain` given an `Opset`, as a keyword.
        op_type: the same as `name`.
        trace_only: calls with values of a graph that is being built (a `GraphBuilder`'s, an
            export's) run the Python function, so that it may use any Python and leaves no node of
            its own; elsewhere it is a script as any.
        model_options: what `to_model_proto` takes where it is called without them: `ir_version=`,
            `producer_name=` and the like.

    Returns:
        A `ScriptFunction`, callable like the Python function.

    Raises:
        ScriptTypeError: the object is not a Python function (OW104).
        TypeError: `to_model_proto` has no such option.
        ValueError: the name is empty, or is given twice and differs.

    Example:
        >>> import numpy as np
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def double(x: FLOAT["N"]) -> FLOAT["N"]:
        ...     return x * 2
        >>> double(np.array([1.0, 2.5], np.float32))
        array([2., 5.], dtype=float32)
    """
    if domain is not None and not isinstance(domain, (str, Opset)):
        return ScriptFunction(domain, DEFAULT_DOMAIN, depth=2)
    if opset is not None:
        if domain is not None:
            raise TypeError("the domain is given twice: as the first argument and as `opset=`")
        domain = opset
    if isinstance(domain, Opset):
        version, domain = domain.version, domain.domain
    if op_type is not None and name not in (None, op_type):
        raise ValueError(f"the name is given twice: name={name!r} and op_type={op_type!r}")
    name = name if op_type is None else op_type
    argument: object = name
    if argument is not None and not (isinstance(argument, str) and argument.strip()):
        raise ValueError(
            f"the name of an ONNX function is a text that is not empty, got {argument!r}"
        )

    @function_marker
    def decorate(function: Callable[P, R]) -> ScriptFunction[P, R]:
        return ScriptFunction(
            function,
            domain or DEFAULT_DOMAIN,
            version=version,
            default_opset=default_opset,
            name=name,
            overload=overload,
            source=source,
            depth=2,
            model_options=model_options,
            trace_only=trace_only,
        )

    return decorate


@overload
def graph(function: F, /) -> F: ...
@overload
def graph() -> Callable[[F], F]: ...
@function_marker
def graph(function: Any = None, /) -> Any:
    """Mark a nested function as the body of a Scan, Loop or If; it stays a Python function.

    Args:
        function: the nested function, when used without parentheses.

    Returns:
        The function itself.

    Example:
        >>> @graph()
        ... def body(total, x):
        ...     return total + x, total
        >>> body(1, 2)
        (3, 1)
    """
    return function_marker(lambda f: f) if function is None else function
