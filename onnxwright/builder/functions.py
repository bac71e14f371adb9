"""Functions in a graph: calls as nodes or inlined, and what a call node gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.diagnostics.catalogue import builder as messages
from onnxwright.diagnostics.catalogue import names as call_messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir import adapters
from onnxwright.ir.loading import open_ir_function
from onnxwright.semantics.backend import is_value
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.tracing.inline import call_function
from onnxwright.tracing.scripts import is_script
from onnxwright.types.kinds import OnnxType

Key = tuple[str, str, str]


class Functions:
    """The functions of a model being built.

    Args:
        b: the backend of the graph that calls them.
    """

    def __init__(self, b: GraphBackend) -> None:
        self.b = b
        self.by_key: dict[Key, ir.Function] = {}
        self._sources: dict[Key, Any] = {}
        self._types: dict[object, list[OnnxType | None]] = {}

    def add(self, source: Any) -> ir.Function:
        """A function, and those it calls, as part of the model.

        Args:
            source: a script, a FunctionProto or a function of onnx_ir.

        Returns:
            The function of onnx_ir.
        """
        key: Key
        if is_script(source):
            key = (source.domain, source.name, source.overload)
            if self._sources.get(key) is source:
                return self.by_key[key]
            functions = source.lowered_functions(self.b.opset.version)
        else:
            functions = [
                open_ir_function(source) if isinstance(source, onnx.FunctionProto) else source
            ]
        for function in (*_called_by(functions[-1]), *functions):
            self._register(function)
        key = functions[-1].identifier()
        self._sources[key] = source
        return self.by_key[key]

    def _register(self, function: ir.Function) -> None:
        key = function.identifier()
        before = self.by_key.get(key)
        if before is not None and before is not function:
            if ir.to_proto(before) != ir.to_proto(function):
                fail(messages.NameTaken(what="another function", name=f"{key[0]}.{key[1]}"))
            return
        self.by_key[key] = function

    def inline(self, source: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Build the nodes of a function anew; the function is not part of the model.

        Args:
            source: a FunctionProto or a function of onnx_ir.
            args, kwargs: as in `call`.

        Returns:
            A value, or a tuple of them.
        """
        function: Any = (
            open_ir_function(source) if isinstance(source, onnx.FunctionProto) else source
        )
        inputs, attributes = self._bind(function, args, kwargs)
        functions = {**self.by_key, **{f.identifier(): f for f in _called_by(function)}}
        return _results(call_function(self.b, function, inputs, attributes, functions))

    def call(self, function: ir.Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function.

        Args:
            function: the function.
            args: arguments: values, numbers, arrays; None for an absent one.
            kwargs: attributes, and inputs by name.

        Returns:
            A value, or a tuple of them.
        """
        inputs, attributes = self._bind(function, args, kwargs)
        return _results(self._node(function, inputs, attributes))

    def _bind(
        self, function: ir.Function, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[GraphValue | None], dict[str, object]]:
        names = [v.name or "" for v in function.inputs]
        bound: dict[str, Any] = dict(zip(names, args))
        attributes: dict[str, object] = {}
        reason = f"takes {len(names)} inputs, {len(args)} were given"
        wrong = len(args) > len(names)
        for key, value in kwargs.items():
            if key in function.attributes:
                attributes[key] = value
            elif key in names and key not in bound:
                bound[key] = value
            else:
                wrong, reason = True, f"has no free parameter `{key}`"
        for name, attr in function.attributes.items():
            if attr.value is None and name not in attributes:
                wrong, reason = True, f"needs the attribute `{name}`"
        if wrong:
            parameters = ", ".join((*names, *function.attributes))
            fail(call_messages.BadCall(
                name=function.name, reason=reason, signature=f"({parameters})"
            ))  # fmt: skip
        values = [bound.get(name) for name in names]
        likes = [v for v in values if is_value(v)]
        arguments: list[GraphValue | None] = []
        for value in values:
            if value is None or is_value(value):
                arguments.append(value)
            else:
                arguments.append(as_value(self.b, value, like=likes[0] if likes else None))
        while arguments and arguments[-1] is None:
            arguments.pop()
        return arguments, attributes

    def _node(
        self,
        function: ir.Function,
        inputs: list[GraphValue | None],
        attributes: Mapping[str, object],
    ) -> Sequence[GraphValue]:
        b = self.b
        types = self._result_types(function, inputs, attributes)
        attrs = []
        for name, value in attributes.items():
            declared = function.attributes[name]
            attribute_kind = next(
                (k for k in _KINDS if adapters.attribute_type(k) == declared.type), None
            )
            attrs.append(b.attribute(function.name, name, value, attribute_kind))
        values = b.recorder.node(
            function.domain,
            function.name,
            [None if v is None else v.value for v in inputs],
            attrs,
            len(function.outputs),
            overload=function.overload,
            origin=b.origin(),
            hint=function.name,
        )
        b.recorder.use_opset(function.domain, 1, None)
        for value, kind in zip(values, types, strict=True):
            b.recorder.set_type(value, kind)
            adapters.set_type(value, kind)
        return [b.wrap(v, k) for v, k in zip(values, types, strict=True)]

    def _result_types(
        self,
        function: ir.Function,
        inputs: Sequence[GraphValue | None],
        attributes: Mapping[str, object],
    ) -> list[OnnxType | None]:
        """The types of the function's results for these arguments: it is built aside."""
        kinds = tuple(None if v is None else v.kind for v in inputs)
        key = (function.identifier(), kinds, repr(sorted(attributes.items())))
        result_types = self._types.get(key)
        if result_types is None:
            aside = self.b.aside()
            values = [
                None if v is None else aside.input(f"x{n}", v.kind) for n, v in enumerate(inputs)
            ]
            results = call_function(aside, function, values, attributes, self.by_key)
            result_types = self._types[key] = [None if r is None else r.kind for r in results]
        return result_types


CALLED = "onnxwright.called"
"""Where a function of onnx_ir that a builder made keeps those it calls."""


def _called_by(function: ir.Function) -> list[ir.Function]:
    """The functions that a function made by a builder calls, those that they call first."""
    callees: list[ir.Function] = []
    for called in function.meta.get(CALLED, ()):
        callees += [*_called_by(called), called]
    return callees


def _results(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


_KINDS = tuple(adapters._KIND_TO_IR)
