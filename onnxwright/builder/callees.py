"""What a builder calls beside operators: functions, models, plain Python functions."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.builder.model_parts import call_model, is_model
from onnxwright.builder.running import Running
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.scripts import is_script


class Callees(Running):
    """The calls of a `GraphBuilder` that are not of operators."""

    @property
    def functions(self) -> dict[tuple[str, str, str], ir.Function]:
        """The functions of the model, by domain, name and overload."""
        return self._functions.by_key

    def call(self, function: Any, *args: Any, inline: bool = False, **kwargs: Any) -> Any:
        """Call a function: a node that names it, with the function in the model; or its body.

        A model is called too: its nodes are built here for the arguments, its weights become
        initializers and its functions functions of this model.  Names that the graph already has
        are changed; names of sizes are the sizes of the arguments.

        Args:
            function: a script, a FunctionProto, a function of onnx_ir; a model: a ModelProto, an
                `onnx_ir.Model`, a path, an exported program, or another builder, which is finished
                by that; a plain Python function is called with the arguments, and with `op=` where
                it has such a parameter.
            args: its inputs; for a model or FunctionProto a text is the name of a value.
            inline: build the body here instead of a call node.
            kwargs: its attributes, and inputs by name.

        Returns:
            A value, or a tuple of them.

        Raises:
            ScriptTypeError: the arguments do not fit (OW207).
            ScriptNameError: a name is that of no value (OW541).
            ConversionError: a model of another opset version cannot be converted (OW870).

        Example:
            >>> import onnx
            >>> from onnxwright import FLOAT, GraphBuilder
            >>> head = '<ir_version: 10, opset_import: ["" : 21]>'
            >>> part = onnx.parser.parse_model(
            ...     head + "m (float[K] a) => (float[K] b) { b = Exp(a) }"
            ... )
            >>> g = GraphBuilder(opset=21)
            >>> x = g.input("x", FLOAT["N"])
            >>> y = g.call(part, g.call(part, x))
            >>> [n.op_type for n in g.backend.recorder.scope.nodes], y.shape
            (['Exp', 'Exp'], ('N',))
        """
        with self._explained(args):
            if is_model(function):
                args = tuple(self.value(a) if isinstance(a, str) else a for a in args)
                kwargs = {k: self.value(a) if isinstance(a, str) else a for k, a in kwargs.items()}
                self._check(a for a in (*args, *kwargs.values()) if isinstance(a, GraphValue))
                return call_model(self.backend, self._functions, function, args, kwargs)
            is_function = isinstance(function, (onnx.FunctionProto, ir.Function))
            if is_function:
                args = tuple(self.value(a) if isinstance(a, str) else a for a in args)
            self._check(a for a in args if isinstance(a, GraphValue))
            if is_script(function) and inline:
                return self.backend.call_script(function, args, kwargs)
            if not is_function and not is_script(function):
                return self._call_python(function, args, kwargs)
            if inline:
                return self._functions.inline(function, args, kwargs)
            return self._functions.call(self._functions.add(function), args, kwargs)

    def add_function(self, function: Any) -> None:
        """Put a function in the model, for nodes that call it by name.

        Args:
            function: a script, a FunctionProto or a function of onnx_ir.
        """
        self._functions.add(function)
