"""FunctionProtos of the user's own domains: run as one session, or node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx

from onnxwright.eager import node_model
from onnxwright.eager.control_flow import interpreter, protos
from onnxwright.eager.evaluators import Request
from onnxwright.eager.ort import sessions
from onnxwright.eager.ort.compiled_models import CompiledModel, Kept, compiled_models
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.values import Value, type_of_value, without_shape
from onnxwright.errors import EagerError


def run_function(
    evaluator: Any, run_op: interpreter.RunOp, proto: onnx.FunctionProto, request: Request
) -> Sequence[Value]:
    """Run a call of a FunctionProto: as one session with ONNX Runtime, else node by node.

    Args:
        run_op: runs one operator, also those that Python implements.

    Raises:
        EagerError: it cannot be run, or failed.
    """
    if isinstance(evaluator, OrtEvaluator):
        runner = _function_session(evaluator, proto, request)
        if runner is not None:
            return runner.run({f"i{n}": x for n, x in enumerate(request.inputs) if x is not None})
    nodes = interpreter.Interpreter(run_op, protos.versions_of(proto))
    return nodes.function(proto, request.inputs, request.attributes)[: request.outputs]


def _function_session(
    evaluator: OrtEvaluator, proto: onnx.FunctionProto, request: Request
) -> CompiledModel | None:
    """The session of a function for these types; None where Python has to run parts of it."""
    key = (
        id(proto),
        id(evaluator),
        tuple(str(without_shape(type_of_value(x))) for x in request.inputs),
        node_model.freeze_attributes(request.attributes),
        request.outputs,
    )
    kept = compiled_models.get(key)
    if kept is None:
        model = _function_model(proto, request)
        compiled: CompiledModel | None
        try:
            compiled = CompiledModel(model, providers=evaluator.providers)
        except EagerError:
            compiled = None
        nbytes = sessions.SESSION_BYTES + model.ByteSize() * 2
        # NOTE: the key holds ids; what they belong to is kept with the session.
        kept = compiled_models.add(key, Kept((compiled, proto, evaluator), nbytes))
    session: CompiledModel | None = kept.model[0]
    return session


def _function_model(proto: onnx.FunctionProto, request: Request) -> Any:
    op, inputs, attributes, outputs = request
    types = [without_shape(type_of_value(x)) for x in inputs]
    present = [x is not None for x in inputs]
    node = node_model.node_proto(op.name, op.domain, None, present, attributes, outputs)
    top = sessions.newest_opset()
    versions = {o.domain: o.version for o in proto.opset_import}
    versions[""] = min(versions.get("", top), top)
    versions[op.domain] = op.version
    functions: dict[Any, Any] = {}
    _add_with_callees(proto, functions, versions)
    return node_model.one_node_model(
        node, types, versions, list(functions.values()), present=present
    )


def _add_with_callees(
    proto: onnx.FunctionProto, functions: dict[Any, Any], versions: dict[str, int]
) -> None:
    """A function after the registered functions that it calls: the reference wants that order."""
    for node in all_function_nodes(proto):
        callee = find_function(node.domain, node.op_type)
        if callee is None or callee is proto or (node.domain, node.op_type) in functions:
            continue
        versions.setdefault(node.domain, 1)
        for imported in callee.opset_import:
            versions.setdefault(imported.domain, imported.version)
        _add_with_callees(callee, functions, versions)
    functions[proto.domain, proto.name] = proto


def all_function_nodes(proto: onnx.FunctionProto) -> Any:
    """Every node of a function, also in subgraphs."""
    stack = list(proto.node)
    while stack:
        node = stack.pop()
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                stack.extend(attribute.g.node)


_functions: dict[tuple[str, str], Any] = {}


def remember_function(proto: onnx.FunctionProto) -> None:
    """Let other functions call this one."""
    _functions[proto.domain, proto.name] = proto


def find_function(domain: str, name: str) -> Any | None:
    """The FunctionProto registered for an operator.

    Returns:
        The function; None without one.
    """
    return _functions.get((domain, name))
