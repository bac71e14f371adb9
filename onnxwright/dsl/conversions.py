"""What a script is compiled to: a function, a model, a body for the arguments of one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from onnxwright.types.roles import Script

if TYPE_CHECKING:
    import onnx
    import onnx_ir

    from onnxwright.dsl.function_ir import FunctionIR
    from onnxwright.dsl.verbatim import Details


class Conversions(Script):
    """The methods of a script that compile it; each loads what it needs when it is called.

    Attributes:
        model_options: what `to_model_proto` takes where it is called without them.
    """

    model_options: dict[str, Any]

    # `self: Any` where the converter asks for a name, a signature and a source: the subclass has
    # them.

    @property
    def function_ir(self: Any) -> FunctionIR:
        """The same as `ir`, under the name and with the methods that onnxscript has for it."""
        from onnxwright.dsl.function_ir import FunctionIR

        return FunctionIR.of(self.ir)

    @property
    def ir(self: Any) -> onnx_ir.Function:
        """The function as an `onnx_ir.Function`, compiled anew from what it refers to now."""
        from onnxwright.dsl.model import to_ir_function

        return to_ir_function(self)

    def lowered_for(
        self: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        to_value: Callable[[Any, Any], Any],
        version: int,
    ) -> tuple[Any, list[Any], Mapping[Any, Any]]:
        """Its body compiled for the arguments of one call; see `dsl.inlining.lower_call`."""
        from onnxwright.dsl.inlining import lower_call

        return lower_call(self, args, kwargs, to_value, version)

    def lowered_functions(self: Any, version: int) -> list[onnx_ir.Function]:
        """It and the scripts it calls as functions; see `dsl.inlining.lower_functions`."""
        from onnxwright.dsl.inlining import lower_functions

        return lower_functions(self, version)

    def check(self) -> Self:
        """Compile everything now, for those who want errors early.

        Returns:
            The function itself.

        Raises:
            ScriptError: all that is wrong with it.

        Example:
            >>> from onnxwright import FLOAT, script
            >>> @script
            ... def negate(x: FLOAT) -> FLOAT:
            ...     return -x
            >>> negate.check() is negate
            True
        """
        from onnxwright.dsl.model import check

        script: Any = self
        check(script)
        return self

    def to_function_proto(self: Any, *, details: Details | None = None) -> onnx.FunctionProto:
        """Compile to a FunctionProto; attribute parameters stay attributes.

        Args:
            details: what the function says beside its computation; with it every call becomes one
                node just as written.

        Returns:
            The function, without the functions it calls.

        Raises:
            ScriptError: it cannot be an ONNX function on its own.

        Source: onnx.proto, FunctionProto.

        Example:
            >>> from onnxwright import FLOAT, script
            >>> @script
            ... def twice(x: FLOAT) -> FLOAT:
            ...     return x + x
            >>> [node.op_type for node in twice.to_function_proto().node]
            ['Add']
        """
        if details is not None:
            from onnxwright.dsl.verbatim import verbatim_function

            return verbatim_function(self, details)
        from onnxwright.dsl.model import to_function_proto

        return to_function_proto(self)

    def to_model_proto(
        self: Any,
        *,
        input_types: Any = None,
        output_types: Any = None,
        io_types: Any = None,
        attributes: Mapping[str, Any] | None = None,
        functions: Any = None,
        value_infos: Mapping[str, Any] | None = None,
        opset_version: int | None = None,
        ir_version: int | None = None,
        producer_name: str = "onnxwright",
        doc_string: str | None = None,
        metadata: Mapping[str, str] | None = None,
        name: str | None = None,
        producer_version: str = "",
        model_version: int = 0,
        domain: str = "",
        details: Details | None = None,
        extra: bytes = b"",
        optimize: bool = False,
    ) -> onnx.ModelProto:
        """Compile to a model whose main graph is this function.

        Args:
            input_types: types of the inputs, a list in order or a dict by name; they win over
                annotations.
            io_types: one type for every input and output that has no other.
            attributes: values of attribute parameters; those not given take their defaults.
            functions: which called scripts become model-local functions: "all", "none" (their
                bodies are inlined), or a list of scripts, names or FunctionProtos.  By default
                all that can be a function on their own.  "external": calls are nodes, and the
                model has no functions: the runtime has kernels for them.
            value_infos: types to write for intermediate values, by name.
            opset_version: the ai.onnx version of the model.
            ir_version: the IR version; by default the lowest that holds everything, at least 10.
            doc_string: a description; the docstring by default.
            metadata: entries for `metadata_props`.
            name: the name of the graph; the function's by default.
            producer_version, model_version, domain: what the model says of itself.
            details: what the graph says beside its computation; with it every call becomes one
                node just as written, and `functions` may be a dict from scripts to their details.
            extra: a serialized part of the model that no other argument holds, with `details`.
            optimize: give the model to `ow.optimize` before it is returned.

        Raises:
            ScriptError: the function cannot be compiled, an input has no type (OW701), an
                attribute has no value (OW702), or an argument does not fit.

        Source: onnx.proto, ModelProto.

        Example:
            >>> from onnxwright import FLOAT, script
            >>> @script
            ... def twice(x: FLOAT["N"]) -> FLOAT["N"]:
            ...     return x + x
            >>> model = twice.to_model_proto()
            >>> model.graph.input[0].name, len(model.functions)
            ('x', 0)
        """
        from onnxwright.dsl.model import to_model_proto, to_verbatim_model
        from onnxwright.dsl.model_types import ModelOptions

        if details is not None:
            from onnxwright.dsl.verbatim import ModelFacts

            facts = ModelFacts(
                ir_version,
                producer_name,
                producer_version,
                model_version,
                domain,
                doc_string or "",
                dict(metadata or {}),
                extra,
            )
            options = ModelOptions(
                input_types=input_types, attributes=dict(attributes or {}), functions=functions
            )
            return to_verbatim_model(self, options, details, facts)
        options = ModelOptions(
            input_types=input_types,
            output_types=output_types,
            io_types=io_types,
            attributes=dict(attributes or {}),
            functions=functions,
            value_infos=dict(value_infos or {}),
            opset_version=opset_version,
            ir_version=ir_version,
            producer_name=producer_name,
            doc_string=doc_string,
            metadata=dict(metadata or {}),
            name=name,
            producer_version=producer_version,
            model_version=model_version,
            domain=domain,
        )
        usual = ModelOptions()
        left_out = {
            option: value
            for option, value in self.model_options.items()
            if getattr(options, option) == getattr(usual, option)
        }
        model = to_model_proto(self, dataclasses.replace(options, **left_out))
        if not optimize:
            return model
        from onnxwright.optimizer.optimize import optimize as optimized

        smaller: onnx.ModelProto = optimized(model)
        return smaller
