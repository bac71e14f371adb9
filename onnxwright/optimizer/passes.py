"""Parts of the optimizer as passes of `onnx_ir`, which chain with those of other packages.

Each changes the model that it is given.  `fold_constants`, `inline`, `remove_unused` and
`replace_functions` are the same for a model of any kind, which they do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import onnx_ir as ir
from onnx_ir.passes.common import (
    RemoveUnusedFunctionsPass,
    RemoveUnusedNodesPass,
    RemoveUnusedOpsetsPass,
)

from onnxwright.builder.replay_model import ReplayOptions, replay_model
from onnxwright.ir.nested import all_graphs
from onnxwright.ir.serialize import QUANTIZATION
from onnxwright.ir.stored import notes_of
from onnxwright.optimizer import constant_folding
from onnxwright.optimizer.chosen_rules import checked_rules
from onnxwright.optimizer.constant_folding import FOLD_LIMIT
from onnxwright.optimizer.function_replacement import replaced
from onnxwright.optimizer.functions_by_name import Key, selected_functions
from onnxwright.optimizer.leftovers import as_constants, fit_ir_version
from onnxwright.optimizer.metadata import MetadataMerger
from onnxwright.optimizer.optimize import optimize
from onnxwright.optimizer.report import count_operators
from onnxwright.optimizer.rewriting import rewritten
from onnxwright.optimizer.rules import Rule
from onnxwright.tracing.backend import TracingBackend
from onnxwright.versions.api import convert_in_place

Functions: TypeAlias = "Iterable[Any] | Callable[[ir.Function], bool] | None"


class FoldConstants(ir.passes.InPlacePass):
    """Compute what depends on no input: constants, shapes that are known, weights alone.

    What weights make is computed when the model is saved or run.  Random operators, operators of
    other domains and initializers that are inputs are not folded.

    Args:
        exact: fold only what every machine computes to the same bits.
        keep: names of initializers that stay what they are.
        limit: bytes that what weights make may add to the model.

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["" : 18]> g (float[2,3] x) => (float[6] y)'
        >>> text += "<int64[1] one = {1}> { n = Size(x)  s = Reshape(n, one)  y = Reshape(x, s) }"
        >>> model = ir.from_proto(onnx.parser.parse_model(text))
        >>> FoldConstants()(model).modified
        True
        >>> [node.op_type for node in model.graph]
        ['Reshape']
    """

    def __init__(
        self, *, exact: bool = False, keep: Iterable[str] = (), limit: int = FOLD_LIMIT
    ) -> None:
        super().__init__()
        self.exact = exact
        self.keep = frozenset(keep)
        self.limit = limit

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Fold in a model."""
        before = count_operators(model)
        folded = replay_model(model, ReplayOptions(prepare=self._prepare))
        constant_folding.fold_constants(
            folded, self.keep, limit=self.limit, exact=self.exact, numbers=True
        )
        as_constants(folded, self.keep)
        result = _filled(model, folded, modified=count_operators(folded) != before)
        fit_ir_version(model)
        return result

    def _prepare(self, b: TracingBackend) -> None:
        b.simplifies = False
        b.folds_exactly = self.exact


class Inline(ir.passes.InPlacePass):
    """Replace calls of model-local functions by the function bodies.

    A function of another opset version is converted to that of the model.

    Args:
        functions: the functions: names, `domain.name`, identifiers or scripts; or a predicate; all
            of them by default.

    Example:
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def negated(x: FLOAT[2]) -> FLOAT[2]:
        ...     return -x
        >>> @script
        ... def outer(x: FLOAT[2]) -> FLOAT[2]:
        ...     return negated(x)
        >>> model = ir.from_proto(outer.to_model_proto())
        >>> Inline()(model).modified, [node.op_type for node in model.graph], len(model.functions)
        (True, ['Neg'], 0)
    """

    def __init__(self, functions: Functions = None) -> None:
        super().__init__()
        self.functions = functions

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Inline in a model."""
        chosen = _chosen(model, self.functions)
        if not chosen:
            return ir.passes.PassResult(model, modified=False)
        source = _with_one_version(model, chosen)
        inlined = replay_model(
            source, ReplayOptions(inline=lambda f: f.identifier() in chosen, verbatim=True)
        )
        _drop_domains(inlined, {domain for domain, _, _ in chosen})
        return _filled(model, inlined, modified=True)


class RemoveUnused(ir.passes.InPlacePass):
    """Remove nodes, initializers, functions and opset imports that nothing needs.

    Inputs and outputs stay, and so do the scales and zero points that quantization annotations
    name.

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["":18, "d":1]> g (float[2] x) => (float[2] y)'
        >>> text += "<float[2] w = {1, 2}> { a = Mul(x, w)  y = Neg(x) }"
        >>> model = ir.from_proto(onnx.parser.parse_model(text))
        >>> RemoveUnused()(model).modified, [node.op_type for node in model.graph]
        (True, ['Neg'])
        >>> len(model.graph.initializers), dict(model.graph.opset_imports)
        (0, {'': 18})
    """

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Remove from a model."""
        noted = _annotated(model.graph)
        modified = bool(RemoveUnusedNodesPass()(model).modified)
        modified |= _remove_initializers(model)
        for value in noted:
            if value.name not in model.graph.initializers:
                model.graph.register_initializer(value)
        modified |= RemoveUnusedFunctionsPass()(model).modified  # type: ignore[no-untyped-call]
        modified |= RemoveUnusedOpsetsPass()(model).modified
        return ir.passes.PassResult(model, modified=modified)


class ReplaceFunctions(ir.passes.InPlacePass):
    """Give operators and model-local functions another definition.

    Calls stay calls, now of the new function; `Inline` puts its body in their places.

    Args:
        replacements: what is replaced, a name, `domain.name` or identifier of a function of the
            model or of a custom operator that it calls; to a script, a FunctionProto or a function
            of `onnx_ir`.

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["":18, "d":1]> g (float[2] x) => (float[2] y)'
        >>> model = ir.from_proto(onnx.parser.parse_model(text + "{ y = d.Double(x) }"))
        >>> body = '<domain: "e", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }'
        >>> change = ReplaceFunctions({"d.Double": onnx.parser.parse_function(body)})
        >>> change(model).modified, list(model.functions)
        (True, [('d', 'Double', '')])
    """

    def __init__(self, replacements: Mapping[Any, Any]) -> None:
        super().__init__()
        self.replacements = dict(replacements)

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Replace in a model."""
        replaced(model, self.replacements)
        return ir.passes.PassResult(model, modified=bool(self.replacements))


class Rewrite(ir.passes.InPlacePass):
    """Replace what rules match.

    Args:
        rules: a rule, or several, or names of those of the library; they are tried until none of
            them matches.
        level: "exact" leaves out rules that may change the rounding.
        metadata: how the metadata of the nodes that were matched becomes that of the new ones.

    Example:
        >>> import onnx
        >>> from onnxwright.optimizer.rules import rule
        >>> @rule
        ... def double_negation(op, x):
        ...     return op.Neg(op.Neg(x))
        >>> @double_negation.to
        ... def _(op, x):
        ...     return x
        >>> text = '<ir_version: 10, opset_import: ["":18]> g (float[2] x) => (float[2] y)'
        >>> text += "{ a = Neg(x)  b = Neg(a)  y = Relu(b) }"
        >>> model = ir.from_proto(onnx.parser.parse_model(text))
        >>> Rewrite(double_negation)(model).modified, [node.op_type for node in model.graph]
        (True, ['Relu'])
    """

    def __init__(
        self,
        rules: Rule | str | Iterable[Rule | str],
        *,
        level: str = "rounding",
        metadata: MetadataMerger | None = None,
    ) -> None:
        super().__init__()
        self.rules = checked_rules(rules)
        self.level = level
        self.metadata = metadata

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Rewrite in a model."""
        new_model, used = rewritten(model, self.rules, self.level, self.metadata)
        if not used:
            return ir.passes.PassResult(model, modified=False)
        return _filled(model, new_model, modified=True)


class Optimize(ir.passes.InPlacePass):
    """Make a model smaller and faster that computes the same.

    Args:
        options: those of `ow.optimize`: `level`, `target`, `rules`, `only`, `skip`, `keep`, ...

    Example:
        >>> import onnx
        >>> text = '<ir_version: 10, opset_import: ["":18]> g (float[2] x) => (float[2] y)'
        >>> model = ir.from_proto(onnx.parser.parse_model(text + "{ a = Relu(x)  y = Relu(a) }"))
        >>> Optimize(only=["relu_of_relu"])(model).modified, [node.op_type for node in model.graph]
        (True, ['Relu'])
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Optimize a model."""
        optimized, report = optimize(model, **{**self.options, "report": True})
        result = _filled(model, optimized, modified=bool(report.steps or report.shared_weights))
        model.ir_version = optimized.ir_version
        return result


def _with_one_version(model: ir.Model, to_inline: set[Key]) -> ir.Model:
    """The model; a copy with all functions converted where one to inline has another version."""
    version = model.graph.opset_imports.get("")
    own = {model.functions[key].opset_imports.get("", version) for key in to_inline}
    if version is None or own == {version}:
        return model
    copy = model.clone()
    convert_in_place(copy, version)
    return copy


def _chosen(model: ir.Model, functions: Functions) -> set[Key]:
    if functions is None:
        return set(model.functions)
    if callable(functions):
        return {key for key, function in model.functions.items() if functions(function)}
    return selected_functions(model, functions)


def _filled(model: ir.Model, changed: ir.Model, *, modified: bool) -> ir.passes.PassResult:
    """Put the graph and the functions of a new model into the given one."""
    written = {v.name for g in all_graphs(model.graph) for n in g for v in n.outputs if v.type}
    for graph in all_graphs(changed.graph):
        for node in graph:
            for value in node.outputs:
                if value.name not in written and not value.is_graph_output():
                    value.type = value.shape = None
    model.graph = changed.graph
    model.functions.clear()
    model.functions.update(changed.functions)
    return ir.passes.PassResult(model, modified=modified)


def _drop_domains(model: ir.Model, gone: set[str]) -> None:
    """Leave out the imports of domains of functions that are gone."""
    gone = gone - {function.domain for function in model.functions.values()}
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for holder in holders:
        used = {node.domain for node in ir.traversal.RecursiveGraphIterator(holder)}
        for domain in gone - used:
            holder.opset_imports.pop(domain, None)


def _remove_initializers(model: ir.Model) -> bool:
    """Remove initializers of bodies that nothing reads; `onnx_ir` removes those of the graph."""
    removed = False
    for graph in all_graphs(model.graph):
        for name, value in list(graph.initializers.items()):
            if not (value.uses() or value.is_graph_output() or value.is_graph_input()):
                del graph.initializers[name]
                removed = True
    return removed


def _annotated(graph: ir.Graph) -> list[ir.Value]:
    """The initializers that quantization annotations name."""
    values = (*graph.inputs, *graph.initializers.values(), *(v for n in graph for v in n.outputs))
    names = {name for v in values for name in (notes_of(v).get(QUANTIZATION) or {}).values()}
    return [value for name, value in graph.initializers.items() if name in names]


__all__ = [
    "FoldConstants",
    "Functions",
    "Inline",
    "MetadataMerger",
    "Optimize",
    "RemoveUnused",
    "ReplaceFunctions",
    "Rewrite",
]
