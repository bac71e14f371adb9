"""`prove(rule)`: the pattern of a rule run as a model, with and without its replacement.

Inputs are drawn at random: element types, ranks, sizes 0, 1 and more, NaN, infinities and -0.0,
operands in both orders, dimensions as numbers, as names or unknown.  ONNX Runtime's own
optimizations are off.  A rule that never matches proves nothing, and fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 - registers its types with numpy
import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from onnxwright.opset import registry
from onnxwright.optimizer.optimize import rewritten_by
from onnxwright.optimizer.pattern_nodes import (
    AttributeVariable,
    Literal,
    Output,
    PatternNode,
    Rest,
    Variable,
)
from onnxwright.optimizer.patterns import Pattern
from onnxwright.optimizer.rules import Rule
from onnxwright.testing.plain_sessions import PlainSession

TRIES = 48
_FLOATS = (np.float32, np.float32, np.float64, np.float16)
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0)
# Relative and absolute tolerance where a rule may change the rounding.
_TOLERANCE = {"float16": (2e-2, 2e-2), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-8)}


@dataclass(frozen=True)
class Proof:
    """What a proof has seen.

    Fields:
        rule: the rule's name.
        tries: how many models were drawn.
        refused: how many of them the runtime refuses as they are.
        fired: how often the rule was used in the others.
    """

    rule: str
    tries: int
    refused: int
    fired: int


def prove(rule: Rule, *, tries: int = TRIES, seed: int = 0) -> Proof:
    """Run the pattern of a rule as a model against its replacement.

    Args:
        rule: the rule; its `cases` draws inputs that it matches, where any would rarely do.
        tries: how many models are drawn.
        seed: what they are drawn from.

    Returns:
        What was seen.

    Raises:
        AssertionError: the results differ, their types do, or the rule never matched.

    Example:
        >>> from onnxwright.optimizer import rule
        >>> @rule
        ... def abs_of_neg(op, x):
        ...     return op.Abs(op.Neg(x))
        >>> @abs_of_neg.to
        ... def _(op, x):
        ...     return op.Abs(x)
        >>> prove(abs_of_neg).fired > 0
        True
    """
    fired = refused = 0
    for n in range(tries):
        rng = np.random.default_rng([seed, n])
        pattern = rule.patterns[n % len(rule.patterns)]
        trial = _Trial(rule, pattern, rng)
        outcome = trial.run()
        refused += outcome is None
        fired += outcome or 0
    if not fired:
        raise AssertionError(
            f"rule `{rule.name}` never matched in {tries} tries ({refused} refused by the "
            "runtime): give it inputs that it matches with `cases=`"
        )
    return Proof(rule.name, tries, refused, fired)


class _Trial:
    """One model drawn for a pattern."""

    def __init__(self, rule: Rule, pattern: Pattern, rng: np.random.Generator) -> None:
        self.rule = rule
        self.pattern = pattern
        self.rng = rng
        self.version = self._draw_version()
        self.dtype: Any = np.dtype(_FLOATS[rng.integers(len(_FLOATS))])
        self.given: dict[str, Any] = rule.cases(rng) if rule.cases is not None else {}
        for value in self.given.values():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                self.dtype = value.dtype
                break
        rank = int(rng.integers(0, 4))
        self.shape = tuple(int(d) for d in rng.choice([0, 1, 2, 3, 5], size=rank))
        if "nonempty" in rule.assume:
            self.shape = tuple(max(1, d) for d in self.shape)
        # How dimensions are declared: as numbers, equal ones by a name, each by its own, or not.
        self.how = int(rng.integers(4))
        self.named = {d for d in range(2, 8) if rng.integers(2)}
        self.feeds: dict[str, np.ndarray[Any, Any]] = {}
        self.initializers: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.names: dict[Any, str] = {}

    def _draw_version(self) -> int:
        newest = min(onnx.defs.onnx_opset_version(), 23)
        lowest = max(self.rule.since, min(13, newest))
        highest = max(lowest, min(newest, self.rule.until))
        return int(self.rng.integers(lowest, highest + 1))

    def run(self) -> int | None:
        """How often the rule matched; None where the runtime refuses the model as it is."""
        model = self._model()
        if model is None:
            return None
        wanted = run_plainly(model, self.feeds)
        if wanted is None:
            return None
        made, fired = rewritten_by(ir.from_proto(model), self.rule)
        if not fired:
            return 0
        new = ir.to_proto(made)
        shown = f"rule `{self.rule.name}` (opset {self.version})"
        got = run_plainly(new, self.feeds, f"{shown}\n{onnx.printer.to_text(new)}")
        assert got is not None
        for a, b in zip(wanted, got, strict=True):
            self._compare(a, b, shown, model, new)
        return fired

    def _compare(self, a: Any, b: Any, shown: str, model: Any, new: Any) -> None:
        about = (
            f"{shown} changes the result for "
            f"{ {k: (v.dtype.name, v.shape) for k, v in self.feeds.items()} }\n{a!r}\n{b!r}\n"
            f"{onnx.printer.to_text(model)}\n{onnx.printer.to_text(new)}"
        )
        assert type(a) is type(b), about
        if not isinstance(a, np.ndarray):
            return
        assert a.dtype == b.dtype, about
        assert a.shape == b.shape, about
        if self.rule.level == "exact" or a.dtype.kind != "f":
            same = np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
            signs = a.dtype.kind != "f" or np.array_equal(
                np.signbit(a)[~np.isnan(a)], np.signbit(b)[~np.isnan(b)]
            )
            assert same, about
            assert signs, about
            return
        relative, absolute = _TOLERANCE[a.dtype.name]
        scale = np.abs(a[np.isfinite(a)]).max(initial=1.0)
        assert np.allclose(a, b, rtol=relative, atol=absolute * scale, equal_nan=True), about

    # -- the model -----------------------------------------------------------------------------

    def _model(self) -> onnx.ModelProto | None:
        outputs = [self._output(r) for r in self.pattern.results]
        if any(o is None for o in outputs):
            return None
        inputs = [self._info(name, array) for name, array in self.feeds.items()]
        graph = helper.make_graph(
            self.nodes, "proof", inputs, [onnx.ValueInfoProto(name=o) for o in outputs],
            self.initializers,
        )  # fmt: skip
        imports = [helper.make_opsetid("", self.version)]
        domains = dict.fromkeys(n.domain for n in self.nodes if n.domain)
        imports += [helper.make_opsetid(d, 1) for d in domains]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        try:
            return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        except Exception:  # noqa: BLE001 - what was drawn does not go together
            return None

    def _info(self, name: str, array: np.ndarray[Any, Any]) -> onnx.ValueInfoProto:
        how = self.how
        dims: Any = array.shape
        if name in self.given.get("dims", ()):
            dims = self.given["dims"][name]
        elif how == 1:
            dims = [f"d{d}" if d in self.named else d for d in array.shape]
        elif how == 2:
            dims = [f"{name}_{n}" if self.rng.integers(2) else d for n, d in enumerate(dims)]
        elif how == 3 and self.rule.cases is None:
            dims = None
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, dims)

    def _output(self, output: Output) -> str:
        node = output.node
        if node not in self.names:
            self._node(node)
        return f"{self.names[node]}_{output.index}"

    def _node(self, node: PatternNode) -> None:
        signature = registry.signature(node.domain, node.op_type, self.version)
        inputs: list[str] = []
        attributes: dict[str, Any] = {}
        newest = registry.signature("", node.op_type, onnx.defs.onnx_opset_version())
        for n, value in enumerate(node.inputs):
            old = None
            if signature is not None and newest is not None and n < len(newest.inputs):
                name = newest.inputs[n].name
                if n >= len(signature.inputs) and name in signature.attributes:
                    old = name
            if old is not None and isinstance(value, Literal):
                attributes[old] = value.value
            elif isinstance(value, Rest):
                inputs += [self._array(f"{value.name}{k}", a, value.constant)
                           for k, a in enumerate(self._rest(value))]  # fmt: skip
            else:
                inputs.append(self._input(value, node, n))
        if node.commutative and self.rng.integers(2):
            inputs.reverse()
        for name, value in node.attributes.items():
            if isinstance(value, AttributeVariable):
                given = self.given.get(value.name)
                if given is not None:
                    attributes[name] = given
            else:
                attributes[name] = value
        if node.rest is not None:
            attributes.update(self.given.get(node.rest.name) or {})
        self.names[node] = f"n{len(self.names)}"
        outputs = [f"{self.names[node]}_{n}" for n in range(node.outputs)]
        while inputs and not inputs[-1]:
            inputs.pop()
        self.nodes.append(
            helper.make_node(node.op_type, inputs, outputs, domain=node.domain, **attributes)
        )

    def _input(self, value: Any, node: PatternNode, n: int) -> str:
        if value is None:
            return ""
        if isinstance(value, Output):
            return self._output(value)
        if isinstance(value, Literal):
            return self._literal(value, node, n)
        assert isinstance(value, Variable)
        if value in self.names:
            return self.names[value]
        given = self.given.get(value.name, ...)
        if given is None or (given is ... and value.optional and self.rng.integers(2)):
            self.names[value] = ""
            return ""
        array = self._drawn(value) if given is ... else np.asarray(given)
        self.names[value] = self._array(value.name, array, value.constant)
        return self.names[value]

    def _array(self, name: str, array: np.ndarray[Any, Any], constant: bool) -> str:
        if constant:
            self.initializers.append(numpy_helper.from_array(array, name))
        else:
            self.feeds[name] = array
        return name

    def _rest(self, value: Rest) -> list[np.ndarray[Any, Any]]:
        given = self.given.get(value.name)
        if given is not None:
            return [np.asarray(a) for a in given]
        return [self._drawn(value) for _ in range(int(self.rng.integers(1, 4)))]

    def _literal(self, value: Literal, node: PatternNode, n: int) -> str:
        signature = registry.signature(node.domain, node.op_type, self.version)
        dtype: Any = self.dtype
        if signature is not None:
            param = signature.inputs[min(n, len(signature.inputs) - 1)]
            if "tensor(int64)" in param.types and not any("float" in t for t in param.types):
                dtype = np.int64
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value.value, dtype), name))
        return name

    def _drawn(self, value: Variable) -> np.ndarray[Any, Any]:
        shape = self.shape
        if value.constant:
            shape = self.shape[-1:] if self.rng.integers(2) else ()
        array = self.rng.normal(size=shape).astype(self.dtype) * 2
        if not value.constant and array.size and self.rng.integers(2):
            if "finite" not in self.rule.assume:
                places = self.rng.integers(array.size, size=min(array.size, 3))
                array = np.asarray(array)
                array.reshape(-1)[places] = self.rng.choice(_SPECIAL, size=len(places))
        return np.asarray(array, self.dtype)


def run_plainly(
    model: onnx.ModelProto, feeds: dict[str, np.ndarray[Any, Any]], about: str = ""
) -> list[Any] | None:
    """The outputs of a model in ONNX Runtime without its own optimizations.

    Args:
        model: the model.
        feeds: its inputs.
        about: what to say where it must run and does not; without it such a model gives None.

    Returns:
        The outputs.

    Raises:
        AssertionError: the model does not run, and `about` was given.
    """
    try:
        return PlainSession(model).run(feeds)
    except Exception as error:
        if about:
            raise AssertionError(f"the new model does not run: {error}\n{about}") from error
        return None


__all__ = ["TRIES", "Proof", "prove", "run_plainly"]
