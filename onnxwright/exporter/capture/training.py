"""Whether a model is exported in training mode, and would compute something else in evaluation."""

from __future__ import annotations

import types
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import export as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.diagnostics.file_owners import Owner, owner_of
from onnxwright.exporter.places import module_of, operator_text

_nn = torch.nn


def warn_training_mode(module: torch.nn.Module) -> None:
    """Warn of a model in training mode, where that makes a difference (OW832).

    Source:
        torch.onnx.export warns of every model in training mode.
    """
    for name, inner in (*module.named_modules(), *_named_in_globals(module)):
        if inner.training and _depends_on_mode(inner):
            kind = type(inner).__name__
            text = f"{name} ({kind})" if name else kind
            warn(messages.TrainingMode(module=text, span=user_span()))
            return


def warn_training_program(program: ExportedProgram) -> None:
    """Warn of a captured program that was captured in training mode, as of a module (OW832)."""
    graphs = [m.graph for m in program.graph_module.modules() if isinstance(m, GraphModule)]
    node = next((n for graph in graphs for n in graph.nodes if _trains(n)), None)
    if node is None:
        return
    path, kind = module_of(node)
    kind = kind.rpartition(".")[2]
    text = f"{path} ({kind})" if path and kind else kind or operator_text(node.target)
    warn(messages.TrainingMode(module=text, span=user_span()))


def _trains(node: Node) -> bool:
    """Whether an operator was captured in training mode, in which it gives other results."""
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None:
        return False
    arguments = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    arguments |= {a.name: value for a, value in zip(schema.arguments, node.args, strict=False)}
    arguments |= node.kwargs
    if _is_positive(arguments.get("dropout_p")):  # attention
        return True
    if not any(arguments.get(name) is True for name in ("train", "training", "use_input_stats")):
        return False
    if "num_layers" in arguments:
        return _is_positive(arguments.get("dropout")) and arguments["num_layers"] > 1
    if "lower" in arguments:
        return bool(arguments["lower"] != arguments["upper"])
    return arguments.get("running_mean") is not None or _is_positive(arguments.get("p"))


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _named_in_globals(module: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """The modules among the globals that an exported function reads, and those in them."""
    function = getattr(module, "_function", None)
    around = getattr(function, "__globals__", {})
    names = [n for code in _codes(getattr(function, "__code__", None)) for n in code.co_names]
    held = [(n, around[n]) for n in names if isinstance(around.get(n), torch.nn.Module)]
    return [
        named_module for name, outer in held for named_module in outer.named_modules(prefix=name)
    ]


def _depends_on_mode(module: Any) -> bool:
    """Whether a module's own forward is another one in training mode."""
    if isinstance(module, (_nn.modules.dropout._DropoutNd, _nn.MultiheadAttention)):
        return float(getattr(module, "p", getattr(module, "dropout", 0.0))) > 0
    if isinstance(module, _nn.modules.batchnorm._NormBase):
        # Without running statistics both modes use those of the batch.
        return module.running_mean is not None
    if isinstance(module, _nn.RNNBase):
        return bool(module.dropout > 0 and module.num_layers > 1)
    if isinstance(module, _nn.RReLU):
        return bool(module.lower != module.upper)
    return any(_reads_training(kind) for kind in type(module).__mro__ if _is_own(kind))


def _is_own(kind: type) -> bool:
    """Whether a class is neither one of torch's nor of this package."""
    return kind is not object and kind.__module__.split(".")[0] not in ("torch", "onnxwright")


def _reads_training(kind: type) -> bool:
    """Whether a method of a class reads `self.training`."""
    return any(
        "training" in code.co_names
        for value in vars(kind).values()
        for code in _codes(value.__code__ if isinstance(value, types.FunctionType) else None)
        if owner_of(code.co_filename) is not Owner.TORCH
    )


def _codes(code: types.CodeType | None) -> list[types.CodeType]:
    """The code of a function, and of those within it."""
    if code is None:
        return []
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(inner_code for c in inner for inner_code in _codes(c))]
