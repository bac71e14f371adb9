"""`rewrite`: a model with replacements where rules match, and the same for a pass of onnx_ir."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import onnx
import onnx_ir as ir

from onnxwright.builder.replay_model import ReplayOptions, replayed
from onnxwright.diagnostics.caller import user_span
from onnxwright.diagnostics.catalogue import rules as messages
from onnxwright.diagnostics.diagnostic import warn
from onnxwright.ir.door import opened, returned
from onnxwright.optimizer.chosen_rules import checked_rules, choice, warn_of_others
from onnxwright.optimizer.driver import Driver
from onnxwright.optimizer.metadata import MetadataMerger
from onnxwright.optimizer.optimize import ASSUMPTIONS, MOST_WAVES, add_functions
from onnxwright.optimizer.rewriter import Rewriter
from onnxwright.optimizer.rules import LEVELS, Rule
from onnxwright.optimizer.scope import Scope

M = TypeVar("M")


def rewrite(
    model: M,
    rules: Rule | str | Iterable[Rule | str],
    *,
    level: str = "rounding",
    metadata: MetadataMerger | None = None,
) -> M:
    """A model with replacements where rules match; everything else stays as it is.

    Args:
        model: a model of any kind (see `ow.load`); it is not changed.
        rules: a rule, or several, or names of those of the library (`ow.library_rules()`); they
            are tried until none of them matches.
        level: "exact" leaves out rules that may change the rounding.
        metadata: how the metadata of the nodes that were matched becomes that of the new ones; the
            node that makes the result comes first. By default each entry is that of the first node
            that has it.

    Returns:
        A model of the kind that was given (an `onnx_ir.Model` for a path, a ModelProto for a
        script).

    Raises:
        ModelTypeError: it is not a model (OW752).
        ScriptValueError: the library has no such rule (OW853), or a rule has no replacement
            (OW852), or one that fails (OW854, OW855).

    Warns:
        OnnxwrightWarning: a rule matches and is used nowhere: its result has another type, or it
            would add nodes; or it is for another opset version or level (OW888).

    Example:
        >>> import onnx
        >>> from onnxwright.optimizer.rules import rule
        >>> @rule
        ... def double_negation(op, x):
        ...     return op.Neg(op.Neg(x))
        >>> @double_negation.to
        ... def _(op, x):
        ...     return x
        >>> model = onnx.parser.parse_model('''
        ...     <ir_version: 10, opset_import: ["" : 20]>
        ...     g (float[N] x) => (float[N] y) { a = Neg(x)  b = Neg(a)  y = Relu(b) }''')
        >>> [n.op_type for n in rewrite(model, double_negation).graph.node]
        ['Relu']
    """
    source, _ = rewritten(opened(model, schemas=True), rules, level, metadata)
    result: M = returned(source, model)
    return result


def rewritten(
    source: ir.Model, rules: Any, level: str, metadata: MetadataMerger | None
) -> tuple[ir.Model, set[str]]:
    """A model with replacements where rules match, and the names of the rules that were used.

    Args:
        source: the model; it is not changed.
        rules, level, metadata: as for `rewrite`.

    Returns:
        The model (the same one where no rule matches) and the names.
    """
    chosen = checked_rules(rules)
    version = int(source.graph.opset_imports.get("", onnx.defs.onnx_opset_version()))
    scope = Scope(choice("level", level, LEVELS), frozenset(ASSUMPTIONS), None, version)
    warn_of_others(chosen, scope)
    fired: set[str] = set()
    refusals: dict[str, str] = {}
    driver = Driver(replayed(source, ReplayOptions(verbatim=True)))
    rules = Rewriter(chosen, scope, strict=True, metadata=metadata)
    for n in range(MOST_WAVES):
        rewriter = rules.again()
        driver.wave(rewriter, everywhere=n == 0)
        add_functions(driver.model, rewriter)
        refusals = {**rewriter.refusals, **refusals}
        fired.update(rewriter.fired)
        if not rewriter.fired and not driver.changed:
            break
    for name, reason in refusals.items():
        if name not in fired:
            reason = f"it matches, but {reason}"
            warn(messages.RuleNotUsed(rule=name, reason=reason, span=user_span()))
    return (driver.model if fired else source), fired
