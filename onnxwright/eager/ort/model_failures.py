"""The failure of a whole model: which node, on what, and the Python line that made the node."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import onnx
from onnx.defs import onnx_opset_version

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import eager as messages
from onnxwright.diagnostics.origins import Sources, span_of_origin
from onnxwright.diagnostics.span import Span
from onnxwright.eager.control_flow import interpreter, protos
from onnxwright.eager.failures import tidy
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.ort.rank_guards import UnreadableError, failed_guard
from onnxwright.eager.values import Value
from onnxwright.errors import EagerError, OnnxwrightError
from onnxwright.ir.proto_graphs import nodes_of_model
from onnxwright.ir.validation.functions import check_steps
from onnxwright.opset import DEFAULT_OPSET_VERSION

ORIGIN = "onnxwright.origin"
_NODE_NAME = re.compile(r"node\.? ?(?:with name )?(?:Name:)?\s*[('\"]([^'\")]+)['\")]")
# How the runtime says that it does not know a version, or has no kernel for an operator of one.
_TOO_NEW = re.compile(
    r"Opset (\d+) is under development|Could not find an implementation for \w+\((\d+)\)"
    r"|ai\.onnx:\w+\((\d+)\) is not a registered"
    r"|No Op registered for \w+ with domain_version of (\d+)"
)
_RUNNING = re.compile(r"running (\S+) node\. Name:'([^']*)'")


def model_failed(who: str, verb: str, model: Any, error: BaseException) -> NoReturn:
    """Raise the failure of a whole model with the node and the Python line that made it.

    Args:
        verb: what it did: "refused", "failed in".
        model: the ModelProto, where there is one.
        error: what happened; it becomes the cause.

    Raises:
        EagerError: always.
    """
    text = str(error)
    node = error.node if isinstance(error, UnreadableError) else _failed_node(model, text)
    where, advice, span = "run here", "see the cause of this error for the runtime's words", None
    reason = failed_guard(text) or tidy(text) or type(error).__name__
    if node is not None:
        name = f" `{node.name}`" if node.name else ""
        reason = f"node {node.op_type}{name}: {reason}"
        advice = f"the node is {node.op_type}({', '.join(node.input)}) -> {', '.join(node.output)}"
        span = origin_of(node)
        if span is not None:
            where = "this line made the node"
    diagnostic = messages.ModelFailed(
        evaluator=who, verb=verb, reason=reason, where=where, advice=advice,
        span=span or user_span(), notes=_about_versions(model, text),
    )  # fmt: skip
    raise diagnostic.error(diagnostic) from error


def _about_versions(model: Any, text: str) -> tuple[str, ...]:
    """What there is to know of opset versions, where the runtime is too old for that of a model."""
    match = _TOO_NEW.search(text)
    if model is None or match is None:
        return ()
    if max(int(number) for number in match.groups() if number) <= DEFAULT_OPSET_VERSION:
        return ()
    imported = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    version = max(imported, default=0)
    if version <= DEFAULT_OPSET_VERSION:
        return ()
    default = DEFAULT_OPSET_VERSION
    note = (
        f"the model has opset {version}; the latest opset is {onnx_opset_version()}, for which a "
        f"runtime need not have kernels; the default opset is {default}, which runtimes in use "
        f"load: `ow.convert_version(model, {default})`"
    )
    return (note,)


def tell_node(model: Any, feed: Mapping[str, Value], error: BaseException) -> None:
    """Run a model that failed once more, node by node, to say which node and on what.

    Args:
        feed: its inputs by name.
        error: the runtime's own error, which becomes the cause.

    Raises:
        EagerError: a node failed in this run too.
    """

    def report(node: onnx.NodeProto, failure: OnnxwrightError) -> None:
        if failure.__cause__ is not error:
            raise_at_node(node, failure, f" of the model {model.graph.name!r}", error)
        raise failure

    runner = interpreter.Interpreter(
        OrtEvaluator(max_sessions=64).run_op,
        protos.versions_of(model),
        protos.functions_of(model),
        failed=report,
    )
    try:
        check_steps(model)
        runner.graph(model.graph, [], interpreter.Scope(dict(feed)))
    except EagerError as node_error:
        if isinstance(node_error.diagnostic, messages.OpFailed):
            raise
    except Exception:  # noqa: BLE001, S110 - this run only serves the message
        pass


def raise_at_node(
    node: onnx.NodeProto,
    failure: OnnxwrightError,
    where: str = "",
    cause: BaseException | None = None,
) -> NoReturn:
    """Raise the failure of an operator again, with the node and the Python line that made it.

    Args:
        cause: the cause of the new error; that of the failure if not given.

    Raises:
        OnnxwrightError: always; other errors than OW612 as they are.
    """
    if not isinstance(failure.diagnostic, messages.OpFailed):
        raise failure
    name = f" `{node.name}`" if node.name else ""
    moved = dataclasses.replace(
        failure.diagnostic,
        span=origin_of(node) or failure.diagnostic.span,
        notes=(*failure.diagnostic.notes, f"node {node.op_type}{name}{where}"),
    )
    raise moved.error(moved) from (cause or failure.__cause__)


def _failed_node(model: Any, text: str) -> Any | None:
    """The node that a message of the runtime means."""
    if model is None:
        return None
    match = _RUNNING.search(text)
    op_type, name = (match[1], match[2]) if match else (None, None)
    if name is None:
        named = _NODE_NAME.search(text)
        name = named[1] if named else None
    nodes = list(nodes_of_model(model))
    if name:
        for node in nodes:
            if node.name == name:
                return node
    if op_type:
        same = [node for node in nodes if node.op_type == op_type]
        if len(same) == 1:
            return same[0]
    return None


def origin_of(node: onnx.NodeProto, sources: Sources = None) -> Span | None:
    """The Python place that made a node, as its metadata says.

    Args:
        sources: files of which lines may be shown, besides those that this process compiled.

    Returns:
        The span; None where the node does not say.
    """
    for entry in node.metadata_props:
        if entry.key == ORIGIN:
            return span_of_origin(entry.value, sources)
    return None
