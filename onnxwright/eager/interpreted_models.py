"""A model that runs node by node on an evaluator, where a session would run it as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxwright.eager import backend
from onnxwright.eager.control_flow import interpreter, protos
from onnxwright.eager.debugging.bound_inputs import read_model
from onnxwright.eager.evaluators import Evaluator
from onnxwright.eager.ort import compiled_models
from onnxwright.eager.ort.model_failures import raise_at_node
from onnxwright.eager.select import evaluator
from onnxwright.eager.values import Value
from onnxwright.ir import adapters
from onnxwright.types.kinds import OnnxType


class InterpretedModel:
    """A model whose nodes run one by one on an evaluator.

    Args:
        model: a model of any kind (see `ow.load`).
        on: the evaluator.

    Raises:
        ModelError: the model is damaged.
        ModelTypeError: it is not a model (OW752).
    """

    def __init__(self, model: Any, on: Evaluator) -> None:
        self.evaluator = on
        self._proto, load = read_model(model)
        graph = self._proto.graph
        self._interpreter = interpreter.Interpreter(
            backend.run,
            protos.versions_of(self._proto),
            protos.functions_of(self._proto),
            load=load,
            failed=raise_at_node,
        )
        initialized = {tensor.name for tensor in graph.initializer}
        self.inputs = {i.name: _kind(i) for i in graph.input if i.name not in initialized}
        self.outputs = {o.name: _kind(o) for o in graph.output}

    def run(self, names: Sequence[str], feed: Mapping[str, Value], _: object = None) -> list[Value]:
        """The outputs of the model, called as a session is.

        Args:
            feed: the inputs by name.

        Raises:
            EagerError: a node failed (OW612).
        """
        with evaluator(self.evaluator):
            scope: dict[str, Value] = {
                **self._interpreter.initializers(self._proto.graph),
                **feed,
            }
            self._interpreter.nodes(self._proto.graph.node, interpreter.Scope(scope))
        return [scope[name] for name in names]


def _kind(info: Any) -> OnnxType | None:
    return adapters.from_type_proto(info.type) if info.HasField("type") else None


compiled_models.run_with(InterpretedModel)
