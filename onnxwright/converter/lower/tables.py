"""Which function lowers which node of the HIR: one row for each expression or statement."""

from __future__ import annotations

from onnxwright.converter.frontend import hir
from onnxwright.converter.lower.calls import lowering as calls
from onnxwright.converter.lower.calls.scripts import call_script
from onnxwright.converter.lower.expressions import logic
from onnxwright.converter.lower.expressions import lowering as expressions
from onnxwright.converter.lower.expressions.comprehensions import evaluate_comprehension
from onnxwright.converter.lower.expressions.items import evaluate_subscript
from onnxwright.converter.lower.loops.lowering import for_loop, while_loop
from onnxwright.converter.lower.state import Handlers
from onnxwright.converter.lower.statements import lowering as statements

USUAL = Handlers(
    expressions={
        hir.Name: expressions.evaluate_name,
        hir.Literal: expressions.evaluate_literal,
        hir.Attribute: expressions.evaluate_attribute,
        hir.Subscript: evaluate_subscript,
        hir.SliceExpr: expressions.evaluate_slice,
        hir.Display: expressions.evaluate_display,
        hir.DictDisplay: expressions.evaluate_dict_display,
        hir.Unary: expressions.evaluate_unary,
        hir.Binary: expressions.evaluate_binary,
        hir.Comparison: logic.evaluate_comparison,
        hir.Logic: logic.evaluate_logic,
        hir.Conditional: logic.evaluate_conditional,
        hir.Walrus: expressions.evaluate_walrus,
        hir.Format: expressions.evaluate_format,
        hir.Comprehension: evaluate_comprehension,
        hir.LocalFunction: expressions.evaluate_local_function,
    },
    statements={
        hir.Assign: statements.execute_assign,
        hir.If: statements.execute_if,
        hir.For: for_loop,
        hir.While: while_loop,
        hir.Evaluate: statements.execute_expression,
        hir.Define: statements.execute_define,
        hir.Delete: statements.execute_delete,
        hir.Assert: statements.execute_assert,
        hir.Raise: statements.execute_raise,
        hir.Break: statements.execute_unreachable,
        hir.Continue: statements.execute_unreachable,
        hir.Return: statements.execute_unreachable,
    },
    call=calls.evaluate_call,
    apply=calls.apply_function,
    call_op=calls.call_op,
    call_script=call_script,
)
