"""`ScriptFunction`: a Python function that runs eagerly, line by line, and compiles to ONNX."""

from __future__ import annotations

import dis
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Protocol, TypeVar, Union, overload

from typing_extensions import ParamSpec, Unpack

from onnxwright.diagnostics.diagnostic import located
from onnxwright.diagnostics.span import Span
from onnxwright.dsl.conversions import Conversions
from onnxwright.errors import OnnxwrightError
from onnxwright.ir.model_kinds import ModelKind, register
from onnxwright.opset.opsets import Opset
from onnxwright.types.code_cache import cached_by_code
from onnxwright.types.roles import BackendValue, SymbolicValue
from onnxwright.types.signature import FunctionSignature, signature_of

if TYPE_CHECKING:
    import onnx
    from onnx_ir.schemas import OpSignature

    from onnxwright.dsl.options import CompileOptionTypes
    from onnxwright.types.tensors import Tensor


class SupportsArray(Protocol):
    """What numpy makes an array of: an array, a number of numpy, a tensor of torch."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...


# What a parameter of a tensor takes, by position or by name.  A number or text by name is an
# attribute's, which is checked with the annotation of that.
NamedArray = Union[SupportsArray, BackendValue, list[Any], tuple[Any, ...], Mapping[Any, Any], None]
ArrayLike = Union[NamedArray, float, complex, str, Sequence[Any]]
P = ParamSpec("P")
R = TypeVar("R", covariant=True)  # noqa: PLC0105 - as in typing.Callable
# The parameters after the first ones, and the types of those: a tensor or several.
Rest = ParamSpec("Rest")
T1 = TypeVar("T1", bound="Tensor | Sequence[Tensor] | None")
T2 = TypeVar("T2", bound="Tensor | Sequence[Tensor] | None")
T3 = TypeVar("T3", bound="Tensor | Sequence[Tensor] | None")
T4 = TypeVar("T4", bound="Tensor | Sequence[Tensor] | None")


class ScriptFunction(Conversions, Generic[P, R]):
    """A function written with `@script`.

    Calling it runs it eagerly; `to_function_proto` and `to_model_proto` compile it.

    Attributes:
        function: the Python function.
        name: the name of the ONNX function.
        domain: its domain.
        version: the version of its domain.
        overload: which of several functions of one name it is.
        default_opset: where operators such as `+` come from, if the author said so.
        source: its text, where it is in no file.
        depth: how many frames the decorated function is above this call.
        model_options: what `to_model_proto` takes where it is called without them.
        trace_only: calls with values of a graph run the Python function.

    Raises:
        TypeError: `to_model_proto` has no such option.

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def scale(x: FLOAT[2], factor: float = 2.0) -> FLOAT[2]:
        ...     return x * factor
        >>> scale.name, str(scale.signature)
        ('scale', '(x: FLOAT[2], factor: float = 2.0) -> FLOAT[2]')
    """

    def __init__(
        self,
        function: Callable[P, R],
        domain: str,
        *,
        version: int = 1,
        default_opset: Opset | None = None,
        name: str | None = None,
        overload: str = "",
        source: str | None = None,
        depth: int = 1,
        model_options: Mapping[str, Any] | None = None,
        trace_only: bool = False,
    ) -> None:
        self.function = _plain(function)
        self.domain = domain
        self.version = version
        self.overload = overload
        self.default_opset = default_opset
        self.name = name or self.function.__name__
        self._source = source if source is not None else _early_text(self.function, depth)
        self._local_types = _local_types(self.function, depth)
        self._signature: FunctionSignature | None = None
        self._compiled: dict[Any, Any] = {}
        self.trace_only = trace_only
        self.model_options = dict(model_options or {})
        if self.model_options:
            options = set(inspect.signature(ScriptFunction.to_model_proto).parameters)
            unknown = [n for n in self.model_options if n not in options - _WITH_DETAILS]
            if unknown:
                raise TypeError(f"script() and to_model_proto() have no option {unknown[0]!r}")
        self.__wrapped__ = function
        self.__name__ = self.function.__name__
        self.__qualname__ = self.function.__qualname__
        self.__module__ = self.function.__module__
        self.__doc__ = self.function.__doc__

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override] # read late: see `signature`
        """Those of the function, for `typing.get_type_hints` and `inspect`."""
        return self.function.__annotations__

    # -- being a function ------------------------------------------------------------------------

    # A body is checked with the types it names; a call takes arrays and what becomes one, for as
    # many of the first parameters as there are tensors, and attributes of their types.
    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(
        self: ScriptFunction[Concatenate[T1, Rest], R],
        first: ArrayLike,
        /,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> Any: ...
    @overload
    def __call__(
        self: ScriptFunction[Concatenate[T1, T2, Rest], R],
        first: ArrayLike,
        second: ArrayLike,
        /,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> Any: ...
    @overload
    def __call__(
        self: ScriptFunction[Concatenate[T1, T2, T3, Rest], R],
        first: ArrayLike,
        second: ArrayLike,
        third: ArrayLike,
        /,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> Any: ...
    @overload
    def __call__(
        self: ScriptFunction[Concatenate[T1, T2, T3, T4, Rest], R],
        first: ArrayLike,
        second: ArrayLike,
        third: ArrayLike,
        fourth: ArrayLike,
        /,
        *args: Rest.args,
        **kwargs: Rest.kwargs,
    ) -> Any: ...
    @overload
    def __call__(self, /, *args: NamedArray, **kwargs: NamedArray) -> Any: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the Python function on values, each operator through the current evaluator.

        Args:
            args, kwargs: arrays, tensors of torch, numbers and lists; or, inside another function,
                values of a graph.

        Returns:
            Arrays where arrays went in, tensors of torch where those did; a tuple of several.
        """
        for value in (*args, *kwargs.values()):
            if isinstance(value, SymbolicValue):
                build = getattr(value._backend(), "call_script", None)
                if build is None or self.trace_only:
                    return self.function(*args, **kwargs)
                return build(self, args, kwargs)
        from onnxwright.eager.functions import call_function

        return call_function(
            self.function,
            self.signature,
            args,
            kwargs,
            opset=self._eager_opset(),
            name=self.name,
        )

    def _eager_opset(self) -> Opset | None:
        """The opset of operators in an eager run: the one a compilation would use."""
        if self.default_opset is not None:
            return self.default_opset
        opsets = [
            value
            for value in map(self.function.__globals__.get, _global_names(self.function.__code__))
            if isinstance(value, Opset) and value.domain == ""
        ]
        opsets += [
            cell.cell_contents
            for cell in self.function.__closure__ or ()
            if isinstance(_contents(cell), Opset) and _contents(cell).domain == ""
        ]
        return max(opsets, key=lambda o: o.version) if opsets else None

    def __repr__(self) -> str:
        # `inspect` writes the module before the name of a class.
        signature = re.sub(r"onnxwright\.types\.\w+\.", "", str(inspect.signature(self.function)))
        return f"<script {self.domain}.{self.name}{signature}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the compiled function's figures and its picture."""
        from onnxwright.viz.showing import notebook

        return notebook(self)

    def __reduce__(self) -> str:
        # Pickled and copied by reference, as functions are.
        return self.__qualname__

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    # -- facts -----------------------------------------------------------------------------------

    @property
    def func(self) -> Callable[P, R]:
        """The Python function, under the name that onnxscript has for it."""
        return self.function

    @property
    def kwargs(self) -> dict[str, Any]:
        """What `to_model_proto` takes where it is called without, as onnxscript calls it."""
        return dict(self.model_options)

    @property
    def signature(self) -> FunctionSignature:
        """Its parameters and results, as annotations and defaults say."""
        if self._signature is None:
            with located(self._definition):
                self._signature = signature_of(self.function, localns=self._local_types)
        return self._signature

    def _definition(self) -> Span | None:
        """Where the function is written, for messages about its annotations."""
        from onnxwright.converter.frontend.capture import capture

        try:
            return capture(self.function, self.source_text).span
        except OnnxwrightError:
            return None

    @property
    def source_text(self) -> str | None:
        """Its text where it is in no file, else None."""
        return self._source

    @property
    def source(self) -> str:
        """The text of the definition, decorators included.

        Raises:
            ScriptError: it cannot be found (OW202, OW203).
        """
        from onnxwright.converter.frontend.capture import capture

        unit = capture(self.function, self._source)
        node: Any = unit.node
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        lines = unit.text.split("\n")[first - 1 : node.end_lineno]
        indent = len(lines[0]) - len(lines[0].lstrip())
        return "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)

    @property
    def opset(self) -> Opset:
        """The opset this function belongs to: its domain and version."""
        return Opset(self.domain, self.version)

    @property
    def op_signature(self) -> OpSignature:
        """Its signature as `onnx_ir.schemas.OpSignature`, as operators have it."""
        from onnxwright.dsl.op_signature import op_signature

        return op_signature(self.signature, self.domain, self.name)

    @property
    def op_schema(self) -> onnx.defs.OpSchema:
        """Its schema as onnx has those of operators; the results are named as in `ir`."""
        from onnxwright.dsl.function_ir import op_schema

        return op_schema(self.signature, self.ir, self.version)

    # -- compiling ---------------------------------------------------------------------------------

    def compile(self, **options: Unpack[CompileOptionTypes]) -> Callable[P, R]:
        """One ONNX Runtime session for the whole function, made for the types it is called with.

        Args:
            options: as for `to_model_proto`; `providers` and `session_options` for the session.

        Returns:
            A callable with the function's own parameters.

        Raises:
            ScriptError: when called, if the function cannot be compiled for the arguments.

        Example:
            >>> import numpy as np
            >>> from onnxwright import FLOAT, script
            >>> @script
            ... def twice(x: FLOAT) -> FLOAT:
            ...     return x + x
            >>> twice.compile()(np.array([1.5], np.float32))
            array([3.], dtype=float32)
        """
        from onnxwright.dsl.compiled import CompiledScript

        return CompiledScript(self, dict(options))


# Arguments of `to_model_proto` that make sense for one model only.
_WITH_DETAILS = {"self", "details", "extra"}

OnnxFunction = ScriptFunction


def _plain(function: Any) -> FunctionType:
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
        return function
    from onnxwright.converter.frontend.capture import plain_function

    return plain_function(function)


def _early_text(function: FunctionType, depth: int) -> str | None:
    """The text of a function that is in no file, found while it still can be."""
    if not function.__code__.co_filename.startswith("<"):
        return None
    from onnxwright.converter.frontend.capture import early_text

    return early_text(function, depth + 2)


def _local_types(function: FunctionType, depth: int) -> dict[str, Any] | None:
    """What text annotations name in the function around, which its closure does not hold."""
    if "<locals>" not in function.__qualname__:
        return None
    texts = [a for a in function.__annotations__.values() if isinstance(a, str)]
    if not texts:
        return None
    around = sys._getframe(depth + 1).f_locals
    words = set(re.findall(r"\w+", " ".join(texts)))
    return {name: around[name] for name in words if name in around}


@cached_by_code
def _global_names(code: CodeType) -> tuple[str, ...]:
    """The global names a function reads; `co_names` holds names of attributes too."""
    read = [i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"]
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            read.extend(_global_names(inner))
    return tuple(dict.fromkeys(read))


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


register(
    "onnxwright",
    "ScriptFunction",
    ModelKind(
        words="a @script function",
        model=lambda script: script.to_model_proto(),
        function=lambda script: script.to_function_proto(),
    ),
)
