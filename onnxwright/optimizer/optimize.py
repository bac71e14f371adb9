"""`optimize`: a model in normal form, rewritten in place until no rule matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import onnx
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedFunctionsPass, RemoveUnusedNodesPass

from onnxwright.builder.replay_model import Replayed, ReplayOptions, replayed
from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.ir.collector import collector_paused
from onnxwright.ir.door import is_held, opened, returned
from onnxwright.ir.verify import verify
from onnxwright.optimizer.chosen_rules import choice, listed, selected
from onnxwright.optimizer.constant_folding import FOLD_LIMIT, fold_constants
from onnxwright.optimizer.driver import Driver
from onnxwright.optimizer.fusing import fuse
from onnxwright.optimizer.leftovers import (
    Leftovers,
    as_constants,
    constant_initializers,
    drop_domains,
    fit_ir_version,
    states_as_inputs,
)
from onnxwright.optimizer.norm_folding import fold_norms
from onnxwright.optimizer.report import OptimizeReport, compared, count_operators, weight_bytes
from onnxwright.optimizer.rewriter import Rewriter
from onnxwright.optimizer.rules import LEVELS, Rule
from onnxwright.optimizer.scope import Scope
from onnxwright.optimizer.shared_weights import share_weights
from onnxwright.optimizer.steps import Step, step_between
from onnxwright.optimizer.transposes import move_transposes
from onnxwright.tracing.backend import TracingBackend
from onnxwright.versions.api import convert_version

M = TypeVar("M")

# Three to six are enough for nearly every model; each visits the nodes once.
MOST_WAVES = 25
TARGETS = ("any", "onnxruntime")
ASSUMPTIONS = ("nonempty", "right_padded", "finite", "visible", "frozen", "default_session",
               "constant_initializers")  # fmt: skip


_Feeds = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Options:
    scope: Scope
    rules: Sequence[Rule]
    inline: Callable[[ir.Function], bool]
    version: int
    fold_limit: int
    fixed: frozenset[str]
    passes: frozenset[str] = frozenset()


@collector_paused()
def optimize(
    model: Any,
    *,
    level: str = "rounding",
    target: str = "any",
    rules: Rule | str | Iterable[Rule | str] | None = None,
    only: Rule | str | Iterable[Rule | str] | None = None,
    skip: Iterable[str] = (),
    keep: Iterable[str] = (),
    assume: Iterable[str] = (),
    opset_version: int | None = None,
    fold_limit: int = FOLD_LIMIT,
    inline: bool | Callable[[ir.Function], bool] = False,
    prune: bool = False,
    verify: bool | _Feeds = False,
    report: bool = False,
) -> Any:
    """A smaller and faster model that computes the same.

    Inputs and outputs, their names, types and order stay as they are, as do the names of weights
    and of values whose operators survive.  (In IR version 3 every initializer has to be an input,
    and is a constant: it leaves the inputs; the report names it.)  What a weight holds is not
    used: it may be trained again; one of a single element counts as a number.  Weights that are
    equal are stored once, under the name of the first, unless each of their elements is the same
    number, as in a bias of zeros.  Bodies of control flow and model-local functions are optimized
    as well.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.  Of weights of one type and
            shape a few bytes are read, and all where these agree.
        level: "exact" for the same bits, NaN and -0.0 included, or "rounding": results may differ
            by the rounding of their type.
        target: "any" for standard operators only, and those which ONNX Runtime does not compute
            slower than what they replace; "onnxruntime" for its own operators, too.
        rules: further rules (`ow.rule`), tried before those of the library; names of its rules are
            those which make a model slower in some runtime ("group_normalization", "swish").
        only: the rules that are used, by name or as objects, in place of the whole library
            (`ow.library_rules()`), and the passes "move_transposes", "share_weights",
            "fold_batch_norms" and "fuse_operators".  The model is brought into normal form all the
            same: constants are folded, and what needs no node has none; `ow.rewrite` changes
            nothing else.
        skip: names of rules and passes that are not used.
        keep: names of values and initializers that stay what they are.
        assume: what holds for every input: "nonempty" (no dimension is 0), "right_padded" (masks
            of sequences end with padding), "finite", "visible" (attention masks hide no row whole),
            "frozen" (weights are not trained again: equal ones of one number are stored once, too),
            "constant_initializers" (no caller replaces an initializer that is also an input: it
            leaves the inputs, as always in IR version 3, where every initializer is an input; nor
            one that is the state of an exported program, with an output `NAME.new`),
            "default_session" (the runtime's own optimizations are on: with `target="onnxruntime"`
            also the operators that only these make as fast as the nodes they stand for).
        opset_version: the version of the standard opset afterwards; by default that of the model.
        fold_limit: bytes that a result of weights alone may add to the model.
        inline: whether calls of model-local functions are inlined: all, or those it says.
        prune: whether functions that nothing calls are removed.
        verify: run the model before and after in ONNX Runtime, without its own optimizations, and
            raise where outputs differ by more than rounding: True for drawn inputs that the model
            can take, or arrays by the names of the inputs, run by run.
        report: return what was done, too.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script); with `report=True` a pair of it and an `OptimizeReport`.

    Raises:
        ModelTypeError: it is not a model (OW752).
        ScriptValueError: an option is not valid (OW853), or the result differs (`verify`: OW859).
        ValueError: with `verify`, the model does not run on the inputs.

    Warns:
        OnnxwrightWarning: a rule of `rules` or `only` is for another level, target, opset version
            or assumption (OW888).

    Example:
        >>> import onnx
        >>> model = onnx.parser.parse_model('''
        ...     <ir_version: 10, opset_import: ["" : 20]>
        ...     g (float[N] x) => (float[N] y) { a = Identity(x)  y = Relu(a) }''')
        >>> [n.op_type for n in optimize(model).graph.node]
        ['Relu']
        >>> [n.op_type for n in optimize(model, only=["relu_of_relu"]).graph.node]
        ['Relu']
    """
    first = source = opened(model, schemas=True)
    assume = [choice("assume", a, ASSUMPTIONS) for a in listed(assume)]
    assumed = "constant_initializers" in assume
    source, gone, kept = constant_initializers(source, assumed=assumed)
    source, states = states_as_inputs(source, assumed=assumed)
    imports = [o.opset_imports for o in (source.graph, *source.functions.values())]  # type: ignore[attr-defined]
    version = next((int(versions[""]) for versions in imports if "" in versions), 0)
    if opset_version is not None and opset_version != version:
        source, version = convert_version(source, opset_version), opset_version
    scope = Scope(
        choice("level", level, LEVELS),
        frozenset(assume),
        choice("target", target, TARGETS),
        version or onnx.defs.onnx_opset_version(),
        frozenset(keep),
    )
    chosen, passes, scope = selected(rules, only, skip, scope)
    options = _Options(scope, chosen, _decide(inline), version, fold_limit, scope.keep, passes)
    consumes = verify is False and not is_held(model) and source is not model
    optimized, done = _optimized(source, options, consumes=consumes)
    done.constant_initializers, done.replaceable_initializers = gone, kept
    for value in [v for v in optimized.graph.inputs if v.name in states]:
        optimized.graph.inputs.remove(value)
    if prune:
        RemoveUnusedFunctionsPass()(optimized)  # type: ignore[no-untyped-call]
    drop_domains(optimized, source)
    fit_ir_version(optimized)
    if verify is not False:
        _verify(first, optimized, None if verify is True else verify, level, done)
    back = returned(optimized, model)
    return (back, done) if report else back


def _optimized(
    source: ir.Model, options: _Options, *, consumes: bool = False
) -> tuple[ir.Model, OptimizeReport]:
    """The optimized model; `consumes` says that the source is not used afterwards."""
    done = OptimizeReport()
    leftovers = Leftovers.of(source)
    before, bytes_before = count_operators(source), weight_bytes(source)
    # The first round brings the model into its normal form: rules see less variety then.
    built = _replayed(source, options, consumes=consumes)
    driver = Driver(built)
    counts = _noted(done, "normal form", before, count_operators(built.model))
    exact = options.scope.level == "exact"
    if not exact and "fuse_operators" in options.passes and fuse(built.model):
        RemoveUnusedNodesPass()(built.model)
        counts = _noted(done, "fuse_operators", counts, count_operators(built.model))
    counts = _folded(built.model, options, done, counts)
    _share(built.model, options, done, weights=False)
    done.rounds = 1
    rules = Rewriter([r for r in options.rules if not r.late], options.scope)
    last = Rewriter([r for r in options.rules if r.late], options.scope)
    everywhere, late, moves_due = True, False, "move_transposes" in options.passes
    for _ in range(MOST_WAVES):
        rewriter = rules.again()
        driver.wave(rewriter, everywhere=everywhere)
        everywhere = False
        add_functions(driver.model, rewriter)
        done.failed.update(rewriter.failures)
        done.declined.update({**rewriter.refusals, **rewriter.failures})
        steps = rewriter.steps
        if driver.changed:
            moves_due = "move_transposes" in options.passes
        after = count_operators(driver.model) if driver.changed else counts
        moves, after = _moved(driver, rewriter, options, after) if moves_due else ([], after)
        moves_due = bool(moves)
        if not driver.changed and not moves:
            if late:
                break
            late, everywhere, rules = True, True, last
            continue
        if rules is last:
            rules = Rewriter(options.rules, options.scope)
        done.rounds += 1
        done.rules.update(rewriter.fired)
        counts = _noted(done, "simplified afterwards", counts, after, steps + moves)
        # What a rule makes of weights is a weight for the rules of the next wave.
        counts = _folded(driver.model, options, done, counts)
        if rewriter.functions:  # what new functions hold is simplified, too
            driver = Driver(_replayed(driver.model, options))
            everywhere = True
    model = driver.model
    shared = _share(model, options, done)
    if shared:  # what reads the same weights now is the same
        driver.wave(Rewriter([], options.scope))
    if done.rounds > 1 or done.shared_weights:
        _check(model)
    as_constants(model, options.fixed)
    leftovers.drop_new_types(model)
    leftovers.keep_quantization(model)
    after = _noted(done, "equal weights", counts, count_operators(model) if shared else counts)
    done.nodes = (before.total(), after.total())
    done.operators = compared(before, after)
    done.weight_bytes = (bytes_before, weight_bytes(model))
    return model, done


def _verify(
    source: ir.Model, optimized: ir.Model, feeds: _Feeds | None, level: str, done: OptimizeReport
) -> None:
    """Refuse a result that computes something else."""
    from onnxwright.verification.verifying import verify

    comparison = verify(source, optimized, exact=level == "exact", feeds=feeds)
    done.largest_differences = {o.name: o.largest for o in comparison.outputs}
    if comparison.difference is not None:
        names = ", ".join(f"`{name}`" for name in done.rules)
        advice = f"leave out one after the other: skip=[...] of {names}" if names else (
            "no rule was used: give inputs with `verify=[...]` that the model is made for"
        )  # fmt: skip
        fail(messages.OptimizedModelDiffers(
            difference=comparison.difference, advice=advice
        ))  # fmt: skip


def _moved(
    driver: Driver, rewriter: Rewriter, options: _Options, before: Counter[str]
) -> tuple[list[Step], Counter[str]]:
    """What moving Transposes did to a model of these operators, and which it has afterwards."""
    exact = options.scope.level == "exact"
    moved, changed = move_transposes(driver.model, exact=exact, keep=options.fixed)
    if not moved:
        return [], before
    driver.reread(changed)
    rewriter.fired["move_transposes"] += moved
    after = count_operators(driver.model)
    step = step_between("move_transposes", before, after)
    return [] if step is None else [replace(step, times=moved)], after


def _noted(
    done: OptimizeReport, name: str, before: Counter[str], after: Counter[str],
    steps: Sequence[Step] = (),
) -> Counter[str]:  # fmt: skip
    """Note what was done between two counts, by these steps and beside them; the later count."""
    rest = step_between(name, before, after, steps)
    done.steps += [*steps, *([] if rest is None else [rest])]
    return after


def _share(
    model: ir.Model, options: _Options, done: OptimizeReport, *, weights: bool = True
) -> bool:
    """Store equal weights once; whether any are gone."""
    if "share_weights" not in options.passes:
        return False
    frozen = "frozen" in options.scope.assume
    gone = share_weights(model, options.fixed, frozen=frozen, weights=weights)
    done.shared_weights.update(gone)
    return bool(gone)


def _folded(
    model: ir.Model, options: _Options, done: OptimizeReport, counts: Counter[str]
) -> Counter[str]:
    """Let weights take the place of nodes that weights alone feed, and of normalizations.

    What they compute is computed when the model is saved.

    Args:
        model: the model; it is changed.
        options: what was asked for.
        done: what is noted.
        counts: how many nodes of each operator there are.

    Returns:
        How many there are now; the same object where nothing was folded.
    """
    exact = options.scope.level == "exact"
    limit = options.fold_limit
    if fold_constants(model, options.fixed, limit=limit, exact=exact, numbers=True):
        counts = _noted(done, "fold_constants", counts, count_operators(model))
    if not exact and "fold_batch_norms" in options.passes and fold_norms(model, options.fixed):
        counts = _noted(done, "fold_batch_norms", counts, count_operators(model))
    return counts


def _replayed(model: ir.Model, options: _Options, *, consumes: bool = False) -> Replayed:
    """The model in its normal form: rules see less variety then."""
    return replayed(
        model,
        ReplayOptions(
            version=options.version or None,
            inline=options.inline,
            prepare=_fold_exactly if options.scope.level == "exact" else None,
            consumes=consumes,
        ),
    )


def _check(model: ir.Model) -> None:
    """What must hold of a model that was changed in place."""
    parts: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for part in parts:
        held = () if isinstance(part, ir.Function) else part.initializers.values()
        graph_inputs = dict.fromkeys([*part.inputs, *held])
        verify(graph_inputs, part.outputs, part, part.opset_imports, opened=True)


def _fold_exactly(b: TracingBackend) -> None:
    b.folds_exactly = True


def add_functions(model: ir.Model, rewriter: Rewriter) -> None:
    """Give a model the functions that replacements call."""
    for key, function in rewriter.functions.items():
        if key not in model.functions:
            model.functions[key] = function
        model.graph.opset_imports.setdefault(function.domain, 1)


def rewritten_by(model: ir.Model, rule: Rule) -> tuple[ir.Model, int]:
    """A model brought into normal form and rewritten by one rule; how often the rule was used.

    Args:
        model: the model.
        rule: the rule.

    Returns:
        The new model and the count.
    """
    version = int(model.graph.opset_imports.get("", onnx.defs.onnx_opset_version()))
    target = "any" if rule.avoid else "onnxruntime"
    scope = Scope("rounding", rule.assume, target, version, asked=frozenset([rule]))
    options = _Options(scope, [rule], lambda _: False, version, FOLD_LIMIT, frozenset())
    rewritten, done = _optimized(model, options)
    if done.failed:
        raise AssertionError(f"the replacement fails: {done.failed}")
    return rewritten, done.rules.total()


def _decide(inline: bool | Callable[[ir.Function], bool]) -> Callable[[ir.Function], bool]:
    if callable(inline):
        return inline
    return lambda _: bool(inline)
