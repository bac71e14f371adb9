"""`Calling`: how a builder makes a call: checks before, names after, the graph around an error."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from onnxwright.builder import neighbourhood
from onnxwright.builder.names import Names
from onnxwright.builder.parts import BuilderOps
from onnxwright.builder.types import read_type
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.catalogue.models import TypesContradict
from onnxwright.diagnostics.catalogue.names import NotCallable
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.errors import OnnxwrightError
from onnxwright.ir import adapters
from onnxwright.opset.op import Op
from onnxwright.opset.registry import InputParam
from onnxwright.semantics import calls
from onnxwright.semantics.calls import parameter_at
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import describe
from onnxwright.tracing.backend import TracingBackend
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType, fits


class Calling:
    """The calls of a `GraphBuilder`.

    Attributes:
        backend: the `TracingBackend` underneath.
        origins: whether nodes remember the Python line that made them.
    """

    backend: TracingBackend
    op: BuilderOps
    origins: bool
    _names: Names
    _finished: Any

    def _argument(self, value: Any) -> GraphValue:
        return value if isinstance(value, GraphValue) else self.backend.initializer(value)

    def _call(
        self,
        op: Op,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        name: str | None,
        outputs: int | Sequence[str] | None,
        output_count: int | None,
        types: Any = None,
    ) -> Any:
        if isinstance(outputs, int):
            output_count, outputs = outputs, None
        elif outputs is not None:
            outputs = [outputs] if isinstance(outputs, str) else list(outputs)
            output_count = len(outputs)
        elif isinstance(types, (list, tuple)):
            output_count = len(types)
        backend = self.backend
        before = len(backend.recorder.scopes[-1].nodes)
        if str in map(type, args) or str in map(type, kwargs.values()):
            args, kwargs = self._by_name(op, args, kwargs)
        try:
            if self.origins:
                with backend.at(user_span()):
                    result = calls.call(backend, op, args, kwargs, output_count)
            else:
                result = calls.call(backend, op, args, kwargs, output_count)
        except OnnxwrightError as error:
            signature = None if op.signature is None else str(op.signature)
            arguments = (*args, *kwargs.values())
            raise self._explain(error, arguments, signature) from error.__cause__
        if types is not None:
            result = self._typed_results(op, result, types)
        if name is not None or outputs is not None:
            return self._name_call(op, result, name, outputs, before)
        return result

    def _by_name(
        self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Arguments in which texts are the values of that name.

        A text beside a tensor of texts stays a text, and so does one that is the name of nothing
        where the operator takes texts.
        """
        signature = op.signature
        input_params = {} if signature is None else {p.name: p for p in signature.inputs}
        params: list[InputParam | None] = [None] * len(args)
        if signature is not None and input_params:
            params = [parameter_at(signature, n) for n in range(len(args))]
        named = {
            k: input_params[k] for k, v in kwargs.items() if k in input_params and type(v) is str
        }
        texts = {
            p.type_str
            for p, v in (
                *zip(params, args),
                *((input_params[k], kwargs[k]) for k in kwargs if k in input_params),
            )
            if p is not None and isinstance(v, GraphValue) and v.dtype is DType.STRING
        }

        def read(text: Any, param: InputParam | None) -> Any:
            if type(text) is not str or (param is not None and param.type_str in texts):
                return text
            if self._names.find(text) is None:
                if param is None or "tensor(string)" in param.types:
                    return text
            return self.value(text)

        arguments = [read(v, p) for v, p in zip(args, params)]
        return arguments, {**kwargs, **{k: read(kwargs[k], p) for k, p in named.items()}}

    def value(self, name: str) -> GraphValue:
        """The value of a name.

        Args:
            name: the name of an input, an initializer or an output of a node.

        Returns:
            The value.

        Raises:
            ScriptNameError: there is none (OW541).
        """
        value = self._names.find(name)
        if value is None:
            close = difflib.get_close_matches(name, self._names.all_names(), 1)
            note = neighbourhood.note(neighbourhood.around(self.backend))
            fail(messages.UnknownValueName(
                name=name, suggestion=close[0] if close else None, notes=note
            ))  # fmt: skip
        return value

    def _typed_results(self, op: Op, result: Any, types: Any) -> Any:
        """The outputs of a call with the types that the caller knows."""
        values = result if isinstance(result, tuple) else (result,)
        declared = list(types) if isinstance(types, (list, tuple)) else [types]
        if len(declared) != len(values):
            fail(messages.WrongOutputNames(
                operation=op.name,
                got=f"{len(values)} output{'s' * (len(values) != 1)}",
                names=f"{len(declared)} type{'s are' if len(declared) != 1 else ' is'}",
                signature=str(op.signature or op.name),
            ))  # fmt: skip
        typed = [self._typed(v, read_type(f"an output of {op.name}", t), str(v.value.name))
                for v, t in zip(values, declared, strict=True)]  # fmt: skip
        return tuple(typed) if isinstance(result, tuple) else typed[0]

    def _typed(self, value: GraphValue, kind: OnnxType | None, shown: str) -> GraphValue:
        """A value whose type is its inferred one, completed by a declared one.

        Raises:
            ScriptTypeError: they contradict each other (OW706).
        """
        inferred = value.kind
        if kind is None:
            return value
        if not fits(inferred, kind):
            fail(
                TypesContradict(
                    what="output", name=shown, known_type=str(inferred), given_type=str(kind)
                )
            )
        if isinstance(kind, TensorType) and isinstance(inferred, TensorType):
            # What the declared type leaves open is as inferred.
            shape = inferred.shape if kind.shape is None else kind.shape
            kind = TensorType(kind.dtype or inferred.dtype, shape)
        self.backend.recorder.set_type(value.value, kind)
        adapters.set_type(value.value, kind)
        return self.backend.wrap(value.value, kind)

    def _name_call(
        self, op: Op, result: Any, name: str | None, outputs: Sequence[str] | None, before: int
    ) -> Any:
        values = result if isinstance(result, tuple) else (result,)
        fresh = self.backend.recorder.scope.nodes[before:]
        if outputs is not None:
            if len(outputs) != len(values):
                fail(messages.WrongOutputNames(
                    operation=op.name,
                    got=f"{len(values)} output{'s' * (len(values) != 1)}",
                    names=f"{len(outputs)} {'are' if len(outputs) != 1 else 'is'}",
                    signature=str(op.signature),
                ))  # fmt: skip
            for value, output_name in zip(values, outputs, strict=True):
                self._names.give(value, output_name, fresh)
            values = tuple(self._asked(v, n) for v, n in zip(values, outputs, strict=True))
        if name is not None and fresh and values[0].value.producer() is fresh[-1]:
            fresh[-1].name = name
        return values if isinstance(result, tuple) else values[0]

    def _asked(self, value: GraphValue, name: str) -> GraphValue:
        """A value that was there already, with the name that this call asks for."""
        if value.value.name == name:
            return value
        alias = self.backend.wrap(value.value, value.kind, self.backend.weak_kind(value))
        alias.asked = name
        return alias

    def _check(self, values: Any) -> None:
        """Values of this graph, and still in reach; the graph not finished."""
        if self._finished is not None:
            fail(messages.BuilderFinished())
        for value in values:
            if value is None:
                continue
            if value.backend is not self.backend:
                fail(messages.ValueOfAnotherGraph(name=str(value.value.name)))
            scopes = self.backend.recorder.scopes
            if value.value not in scopes[-1].values and not any(
                value.value in scope.values for scope in scopes
            ):
                graph = value.value.graph
                inside = "a body" if graph is None else f"`{graph.name}`"
                fail(messages.ValueOutOfScope(name=str(value.value.name), graph=inside))

    @contextmanager
    def _explained(self, values: Sequence[Any]) -> Iterator[None]:
        try:
            yield
        except OnnxwrightError as error:
            raise self._explain(error, values) from error.__cause__

    def _call_python(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a plain function on values, with `op=` where it has such a parameter."""
        if not callable(function):
            shown = describe(function).replace("{", "(").replace("}", ")")
            fail(NotCallable(what=shown, advice="give a script, a FunctionProto or a function"))
        keywords = dict(kwargs)
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            parameters = {}  # type: ignore[assignment]
        if "op" in parameters and "op" not in keywords:
            keywords["op"] = self.op
        return function(*args, **keywords)

    def _explain(
        self, error: OnnxwrightError, values: Sequence[Any], signature: str | None = None
    ) -> OnnxwrightError:
        """The error with the part of the graph around the call, and the operator's signature."""
        read = [v for v in values if isinstance(v, GraphValue) and v.backend is self.backend]
        note = neighbourhood.note(neighbourhood.around(self.backend, read))
        about_use = any(str(d.code).startswith("OW54") for d in error.diagnostics)
        if signature is not None and not about_use and signature not in str(error):
            note = (*note, f"the operator is {signature}")
        diagnostics = [d.with_notes(*note) for d in error.diagnostics]
        return type(error)(*diagnostics).with_traceback(error.__traceback__)

    def around(self, *values: GraphValue, count: int = 10) -> str:
        """The last nodes of the graph as text, with those that make `values`.

        Args:
            values: values to show the makers of.
            count: how many of the last nodes to show.

        Returns:
            One line for each node.
        """
        return "\n".join(neighbourhood.around(self.backend, values, count))
