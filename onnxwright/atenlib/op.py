"""`@aten`: registers the ONNX body of an ATen operator; `AtenFunction` calls it.

A body is a plain function `body(op, <the parameters of torch's schema>)`.  It gets values that are
promoted by the entry's rule, and works on eager tensors and on graph values alike.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from types import CodeType
from typing import Any, Literal, NoReturn, cast

import onnx

from onnxwright.atenlib import standalone
from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op
from onnxwright.atenlib.rules import DEFAULT_TYPES, Rule, computed_type, wrap_number
from onnxwright.atenlib.unsupported import unsupported
from onnxwright.diagnostics.caller import is_internal, user_span
from onnxwright.diagnostics.catalogue import aten as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span, source_line
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.ops import OpsBase
from onnxwright.types.dtypes import DType

# Parameters of torch's schemas that say nothing about the values computed in inference.
IGNORED = frozenset(
    {
        "device",
        "layout",
        "pin_memory",
        "memory_format",
        "non_blocking",
        "generator",
        "requires_grad",
        "implicit",
        "scale_grad_by_freq",
        "sparse",
        "sparse_grad",
        "inplace",
        "stable",
    }
)

Body = Callable[..., Any]


def python_name(name: str) -> str:
    """What a parameter of torch is called in a body.

    Args:
        name: its name in torch's schema.

    Returns:
        The name; with an underscore where it is a keyword of Python.

    Example:
        >>> python_name("self"), python_name("from")
        ('self', 'from_')
    """
    return f"{name}_" if keyword.iskeyword(name) else name


# The full name of an operator (`aten::add.Tensor`) -> its function.
TABLE: dict[str, AtenFunction] = {}


@dataclass(eq=False)
class AtenFunction:
    """One ATen operator (or several overloads of one) as ONNX.

    Attributes:
        names: the operators it implements, `namespace::name` or `namespace::name.overload`.
        body: the function that computes it.
        rule: what is cast before, and the type of the result.
        tests: the OpInfos it is held to.
        complex_body: the body for complex arguments, which takes them in the same order; `"parts"`
            applies `body` to the real and the imaginary part, None refuses.
        untested: why no OpInfo holds it, if none does.
        place: `file:line` of the body.
        tensors: the parameters annotated `Value` and not also as a number: a Python number given
            for one becomes a value, promoted as torch promotes numbers.
    """

    names: tuple[str, ...]
    body: Body
    rule: Rule
    tests: tuple[OpTest, ...]
    complex_body: Body | str | None = None
    untested: str = ""
    place: str = ""
    parameters: dict[str, Parameter] = field(default_factory=dict)
    tensors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        every = list(inspect.signature(self.body).parameters.values())[1:]
        self.parameters = {p.name: p for p in every}
        self.tensors = tuple(p.name for p in every if _wants_value(p.annotation))

    @property
    def name(self) -> str:
        """The first of its names."""
        return self.names[0]

    @property
    def signature(self) -> str:
        """Its parameters, for messages."""
        plain = [p.replace(annotation=p.empty) for p in self.parameters.values()]
        return f"{self.name}{inspect.Signature(plain)}"

    def __repr__(self) -> str:
        return f"<{self.signature}>"

    def on_complex(self, body: Body) -> Body:
        """Use another body where an argument is complex; a decorator.

        Args:
            body: a function with the parameters of the first; complex arguments come as
                `Complex`.

        Returns:
            The body itself.
        """
        self.complex_body = body
        return body

    def __call__(self, op: Op | OpsBase, /, *args: Any, **kwargs: Any) -> Any:
        """Run or build it.

        Args:
            op: the operators, of an eager or of a graph backend.
            args, kwargs: as torch's schema has them; tensors are values or `Complex`.

        Returns:
            What the schema returns: a value, a tuple or a list of values.

        Raises:
            AtenArgumentError: the arguments do not fit.
            AtenUnsupportedError: ONNX cannot express this use.
        """
        operators = cast(Op, op)
        arguments = self.bind(args, kwargs)
        dtype = self._prepare(operators, arguments)
        result = self._run(operators, arguments)
        return result if dtype is None else self._typed(operators, result, dtype)

    def run(self, /, *args: Any, opset_version: int = standalone.OPSET, **kwargs: Any) -> Any:
        """Run it on arrays, operator by operator.

        Args:
            args, kwargs: as torch's schema has them; tensors are arrays of numpy (complex ones
                too), tensors of ours or of torch.
            opset_version: the version of the standard opset.

        Returns:
            What the schema returns, in the kind that went in.

        Raises:
            AtenArgumentError: the arguments do not fit.
            AtenUnsupportedError: ONNX cannot express this use.

        Example:
            >>> import numpy as np
            >>> from onnxwright.atenlib import find
            >>> find("aten::add.Tensor").run(np.array([1, 2]), np.array([0.5], np.float32), alpha=2)
            array([2., 3.], dtype=float32)
        """
        return standalone.run(self, args, kwargs, opset_version=opset_version)

    def to_function_proto(
        self,
        /,
        *args: Any,
        opset_version: int = standalone.OPSET,
        function_name: str = "",
        function_domain: str = standalone.DOMAIN,
        **kwargs: Any,
    ) -> onnx.FunctionProto:
        """Emit it as a function of a model.

        Args:
            args, kwargs: as torch's schema has them, with a type in the place of each tensor:
                `"FLOAT[N, 3]"`, `FLOAT["N", 3]` or a `TensorType`.  Each becomes an input, in
                the order of the parameters; those of a list are `tensors_0`, `tensors_1`.
            opset_version: the version of the standard opset.
            function_name: the function's name; `add_Tensor` for `aten::add.Tensor` by default.
            function_domain: its domain.

        Returns:
            The function, for tensors of these types, checked by ONNX.  A complex tensor is a real
            one with a last axis of two.

        Raises:
            AtenArgumentError: the arguments do not fit.
            AtenUnsupportedError: ONNX cannot express this use.

        Example:
            >>> from onnxwright.atenlib import find
            >>> proto = find("aten::add.Tensor").to_function_proto("FLOAT[N, 3]", "INT64[3]")
            >>> proto.name, list(proto.input), [node.op_type for node in proto.node]
            ('add_Tensor', ['self', 'other'], ['Cast', 'Add'])
        """
        name = function_name or self.name.split("::")[-1].replace(".", "_")
        return standalone.emit(
            self,
            self.bind(args, kwargs),
            name=name,
            domain=function_domain,
            opset_version=opset_version,
            doc=inspect.getdoc(self.body) or "",
        )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults filled in.

        Args:
            args, kwargs: as given.

        Returns:
            The arguments of the body.

        Raises:
            AtenArgumentError: one is missing, unknown or given twice.
        """
        parameters = self.parameters
        arguments: dict[str, Any] = {}
        positional = [p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(positional):
            self._refuse(f"takes {len(positional)} arguments by position, got {len(args)}")
        for p, value in zip(positional, args, strict=False):
            arguments[p.name] = value
        for called, value in kwargs.items():
            name = python_name(called)
            if name in arguments:
                self._refuse(f"`{name}` is given twice")
            if name in parameters:
                arguments[name] = value
            elif name not in IGNORED:
                self._refuse(f"there is no parameter `{name}`")
        for p in parameters.values():
            if p.name not in arguments:
                if p.default is p.empty:
                    self._refuse(f"`{p.name}` is missing")
                arguments[p.name] = p.default
        return {name: arguments[name] for name in parameters}

    def _prepare(self, op: Op, arguments: dict[str, Any]) -> DType | None:
        """Cast the arguments by the rule, and make values of numbers where the body wants them."""
        plain_numbers = [name for name in self.tensors if type(arguments[name]) in DEFAULT_TYPES]
        if not plain_numbers:
            return self.rule.prepare(op, arguments)
        promoted = self.rule.promoted
        for name in plain_numbers:
            if name not in promoted:
                wrap_number(op, arguments, name, DEFAULT_TYPES[type(arguments[name])])
        dtype = self.rule.prepare(op, arguments)
        for name in plain_numbers:
            if type(arguments[name]) in DEFAULT_TYPES:
                common = computed_type([arguments[other] for other in promoted])
                wrap_number(op, arguments, name, common)
        return dtype

    def _run(self, op: Op, arguments: dict[str, Any]) -> Any:
        body = self.body
        named = {
            k: v for k, v in arguments.items() if self.parameters[k].kind is Parameter.KEYWORD_ONLY
        }
        if any(map(_is_complex, arguments.values())):
            if self.complex_body is None:
                unsupported("complex tensors are not supported", name=self.name)
            if self.complex_body == "parts":
                real = {k: _real(v) for k, v in arguments.items()}
                imag = {k: _imag(op, v) for k, v in arguments.items()}
                return _join(self.body(op, **real), self.body(op, **imag))
            assert callable(self.complex_body)
            body = self.complex_body
        return body(op, *(v for k, v in arguments.items() if k not in named), **named)

    def _typed(self, op: Op, result: Any, dtype: DType) -> Any:
        """The first result in the type the rule promises."""
        if isinstance(result, (tuple, list)):
            if not result:
                return result
            first = self._typed(op, result[0], dtype)
            return type(result)([first, *result[1:]])
        if isinstance(result, Complex):
            # A real tensor that was shaped after a complex one is still real.
            return result if dtype.is_complex else self._typed(op, result.real, dtype)
        if result.onnx_dtype in (dtype, None):
            return result
        return op.Cast(result, to=dtype)

    def _refuse(self, reason: str) -> NoReturn:
        fail(messages.AtenBadCall(name=self.name, reason=reason, signature=self.signature))


# A parameter with one of these in its annotation takes Python numbers as they are.
_TAKES_NUMBERS = frozenset({"Any", "Number", "Size", "bool", "complex", "float", "int", "object"})


def _wants_value(annotation: Any) -> bool:
    """Whether an annotation says that a body gets a value, and never a Python number."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    parts = {part.strip() for part in text.split("|")}
    return "Value" in parts and not parts & _TAKES_NUMBERS


def _is_complex(x: Any) -> bool:
    return isinstance(x, Complex) or (isinstance(x, (list, tuple)) and any(map(_is_complex, x)))


def _real(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return [_real(v) for v in x]
    return x.real if isinstance(x, Complex) else x


def _imag(op: Op, x: Any) -> Any:
    """The imaginary part: zero for a tensor of real numbers; masks and indices stay."""
    if isinstance(x, (list, tuple)):
        return [_imag(op, v) for v in x]
    if is_value(x) and x.onnx_dtype is not None and x.onnx_dtype.is_float:
        return as_complex(op, x, x.onnx_dtype).imag
    return x.imag if isinstance(x, Complex) else x


def _join(real: Any, imag: Any) -> Any:
    if isinstance(real, (list, tuple)):
        return type(real)([_join(r, i) for r, i in zip(real, imag, strict=True)])
    return Complex(real, imag)


def aten(
    *names: str,
    rule: Rule,
    tests: Sequence[OpTest] = (),
    complex: Body | Literal["parts", "same"] | None = None,  # noqa: A002 - the field's word
    untested: str = "",
    doc: str = "",
    replace: bool = False,
    table: dict[str, AtenFunction] | None = None,
) -> Callable[[Body], AtenFunction]:
    """Register the ONNX body of one or more ATen operators; a decorator.

    Args:
        names: full names, `aten::clamp` for the default overload, `aten::clamp.Tensor`.
        rule: promotion and type of the result (`onnxwright.atenlib.rules`).
        tests: the OpInfos it must pass; in this library that of the first name if none is given.
        complex: the body for complex arguments; `"parts"` where the real and imaginary parts are
            computed apart by the same body, `"same"` where the body takes complex values itself.
        untested: why no OpInfo covers it.
        doc: what it computes, for a body without a docstring that another function made.
        replace: allow another function of the name to be replaced.
        table: where it goes; the library's own table by default.

    Returns:
        The decorator; it gives an `AtenFunction`.

    Raises:
        AtenArgumentError: a name is taken; the message shows both places.  Running the same
            module again is not a second definition.

    Example:
        >>> from onnxwright.atenlib.rules import elementwise
        >>> mine: dict[str, AtenFunction] = {}
        >>> @aten("my::twice", rule=elementwise("self"), table=mine)
        ... def twice(op, self):
        ...     return op.Add(self, self)
        >>> mine["my::twice"]
        <my::twice(self)>
    """
    where = TABLE if table is None else table

    def register(body: Body) -> AtenFunction:
        code = body.__code__
        body.__doc__ = doc or body.__doc__
        place = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
        held = tuple(tests)
        if not held and not untested and table is None and is_internal(code.co_filename, {}):
            held = (OpTest(names[0].partition("::")[2].partition(".")[0]),)
        function = AtenFunction(
            names,
            body,
            rule,
            held,
            complex_body=body if complex == "same" else complex,
            untested=untested,
            place=place,
        )
        for name in names:
            before = where.get(name)
            if before is not None and not replace and not _is_again(before, names, code):
                span = _span_of(code) if is_internal(code.co_filename, {}) else user_span()
                fail(
                    messages.AtenDefinedTwice(
                        name=name, first=before.place, second=place, span=span
                    )
                )
        for name in names:
            where[name] = function
        return function

    return register


def _is_again(before: AtenFunction, names: tuple[str, ...], code: CodeType) -> bool:
    """Whether the same lines defined the same names before: their module is run again."""
    old = before.body.__code__
    here = (code.co_filename, code.co_firstlineno, code.co_name, names)
    return here == (old.co_filename, old.co_firstlineno, old.co_name, before.names)


def _span_of(code: CodeType) -> Span:
    """The first line of a body."""
    line = code.co_firstlineno
    text = source_line(code.co_filename, line) or ""
    return Span(code.co_filename, line, 0, line, max(len(text), 1))


__all__ = ["IGNORED", "TABLE", "AtenFunction", "aten", "unsupported"]
