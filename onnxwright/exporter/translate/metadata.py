"""What is written beside nodes and values: module, FX node and stack, as torch.onnx names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir
from torch.export import ExportedProgram

from onnxwright.diagnostics.file_owners import path_in_project
from onnxwright.exporter.places import operator_text
from onnxwright.exporter.signature import ProgramInput, ProgramOutput
from onnxwright.ir.builder import ORIGIN

_STACK = "pkg.torch.onnx.stack_trace"
_CLASSES = "pkg.torch.onnx.class_hierarchy"
_SCOPES = "pkg.torch.onnx.name_scopes"
_NODE = "pkg.torch.onnx.fx_node"
_KIND = "pkg.torch.export.graph_signature.InputSpec.kind"
_PERSISTENT = "pkg.torch.export.graph_signature.InputSpec.persistent"
_OUT_KIND = "pkg.torch.export.graph_signature.OutputSpec.kind"
_ORIGINAL = "pkg.torch.onnx.original_node_name"

# The file in a line of a stack, as Python's tracebacks write it.
_FILE = re.compile(r'(?<=File ")[^"\n]+(?=", line \d)')
_Modules = tuple[str, list[str], list[str]]


def remove_origins(model: ir.Model) -> None:
    """Remove the lines of Python that nodes come from."""
    everything: list[Any] = [model.graph, *model.functions.values()]
    for graph in everything:
        for node in ir.traversal.RecursiveGraphIterator(graph):
            node.metadata_props.pop(ORIGIN, None)


class Notes:
    """Writes metadata.

    Args:
        level: "full" (as torch.onnx writes it), "short" (module path and place only), "off".
    """

    def __init__(self, level: str) -> None:
        self.level = level
        self._scopes: dict[int, tuple[Any, _Modules]] = {}
        self._files: dict[str, str] = {}

    def write(self, node: Any, new_nodes: Sequence[ir.Node]) -> None:
        """Note on ONNX nodes which FX node they come from."""
        if self.level == "off" or not new_nodes:
            return
        namespace, kinds, paths = self._of_module(node)
        props: dict[str, str] = {"namespace": namespace} if namespace else {}
        if self.level == "full":
            operator = operator_text(node.target)
            props = {
                "namespace": f"{namespace}{node.name}: {operator}",
                _CLASSES: repr([*kinds, operator]),
                _SCOPES: repr([*paths, node.name]),
                _NODE: node.format_node() or "",
            }
            trace = node.meta.get("stack_trace")
            if trace:
                props[_STACK] = self._of_project(trace)
        for one in new_nodes:
            one.metadata_props.update(props)

    def _of_project(self, trace: str) -> str:
        """A stack of calls whose files have no folders of the machine: models are given away."""
        for file in _FILE.findall(trace):
            if file not in self._files:
                self._files[file] = path_in_project(file)
        return _FILE.sub(lambda match: self._files[match[0]], trace)

    def _of_module(self, node: Any) -> _Modules:
        stack = node.meta.get("nn_module_stack")
        if not stack or (len(stack) == 1 and "_empty_nn_module_stack_from_metadata_hook" in stack):
            return "", [], []
        # NOTE: nodes of one call of a module share the object; it is kept to keep its id.
        cached_modules = self._scopes.get(id(stack))
        if cached_modules is None:
            cached_modules = self._scopes[id(stack)] = (stack, _modules(stack))
        return cached_modules[1]

    def finish(
        self,
        model: ir.Model,
        program: ExportedProgram,
        inputs: Sequence[tuple[ProgramInput, str | None]],
        outputs: Sequence[tuple[ProgramOutput, str | None]],
        weights: Mapping[str, str],
    ) -> None:
        """Note on the graph, its inputs, outputs and initializers what they were in the program."""
        if self.level != "full":
            return
        graph = model.graph
        graph.metadata_props["pkg.torch.export.ExportedProgram.graph_signature"] = str(
            program.graph_signature
        )
        graph.metadata_props["pkg.torch.export.ExportedProgram.range_constraints"] = str(
            program.range_constraints
        )
        by_name = {v.name: v for v in graph.inputs}
        for entry, name in inputs:
            if name is not None and name in by_name:
                props = by_name[name].metadata_props
                props[_KIND] = entry.kind.name
                props[_ORIGINAL] = entry.node.name
        for spec, node in zip(
            program.graph_signature.input_specs, program.graph.nodes, strict=False
        ):
            value = graph.initializers.get(weights.get(str(spec.target), ""))
            # Of tied weights only the first is listed.
            if value is not None and _KIND not in value.metadata_props:
                value.metadata_props[_KIND] = spec.kind.name
                value.metadata_props[_ORIGINAL] = node.name
                if spec.persistent is not None:
                    value.metadata_props[_PERSISTENT] = str(spec.persistent)
        results = {v.name: v for v in graph.outputs}
        for entry_out, name in outputs:
            if name is not None and name in results:
                results[name].metadata_props[_OUT_KIND] = entry_out.kind.name


def _modules(stack: dict[str, tuple[str, Any]]) -> _Modules:
    """The modules around a node, from outside: as one text, their classes, their paths."""
    paths, kinds = [], []
    for path, kind in stack.values():
        paths.append(path.replace("L['self'].", "").replace("L['self']", ""))
        kinds.append(kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
    named = [f"{p}: {k}" for p, k in zip(paths, kinds, strict=True)]
    return "/".join([*named, ""]), kinds, paths
