"""One model drawn for the pattern of a rule, run with and without the replacement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes  # noqa: F401 - registers its types with numpy
import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from onnxwright.opset import registry
from onnxwright.opset.registry import InputParam, OpSignature
from onnxwright.optimizer.finding import find
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
from onnxwright.testing.rule_inputs import (
    MOST_AXES,
    PRODUCERS,
    draw_attribute,
    draw_integers,
    draw_shape,
)
from onnxwright.verification.plain_sessions import PlainSession

_DECLARED = ("as numbers", "by size", "by name", "not at all")
_FLOATS = (np.float32, np.float32, np.float64, np.float16)
_SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0)
# Relative and absolute tolerance where a rule may change the rounding.
_TOLERANCE = {"float16": (2e-2, 2e-2), "float32": (2e-4, 2e-5), "float64": (1e-6, 1e-8)}


class Trial:
    """One model drawn for a pattern."""

    def __init__(
        self, rule: Rule, pattern: Pattern, rng: np.random.Generator, produced: str | None = None
    ) -> None:
        self.rule = rule
        self.pattern = pattern
        self.rng = rng
        self.version = self._draw_version()
        self.dtype: Any = np.dtype(_FLOATS[rng.integers(len(_FLOATS))])
        self.case: dict[str, Any] = rule.cases(rng) if rule.cases is not None else {}
        for value in self.case.values():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                self.dtype = value.dtype
                break
        self.produced = produced
        self.matched = False
        self.is_telling = False
        self.attributes: dict[str, Any] = {}
        self.before: list[str] = []
        captured = {a for node in pattern.nodes for a in node.attributes}
        ranks = (2, 3, 4, 4) if "perm" in captured else range(MOST_AXES + 1)
        self.shape = draw_shape(rng, ranks)
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
        expected = run_plainly(model, self.feeds)
        if expected is None:
            return None
        rewritten, fired = rewritten_by(ir.from_proto(model), self.rule)
        if not fired:
            self.matched = bool(find(model, self.rule))
            return 0
        self.matched = True
        self.is_telling = any(not isinstance(a, np.ndarray) or a.size for a in expected)
        new = ir.to_proto(rewritten)
        shown = f"rule `{self.rule.name}` (opset {self.version})"
        got = run_plainly(new, self.feeds, f"{shown}\n{onnx.printer.to_text(new)}")
        assert got is not None
        for a, b in zip(expected, got, strict=True):
            self._compare(a, b, shown, model, new)
        return fired

    def drawn(self) -> dict[str, str]:
        """What was drawn for the model, as text."""
        shapes = [a.shape for a in self.feeds.values()]
        facts = {
            "element types": ", ".join(dict.fromkeys(a.dtype.name for a in self.feeds.values())),
            "ranks": ", ".join(dict.fromkeys(str(len(s)) for s in shapes)),
            "sizes": ", ".join(dict.fromkeys(str(list(s)) for s in shapes)),
            "opsets": str(self.version),
            "dimensions declared": _DECLARED[self.how],
        }
        if self.before:
            facts["operators before"] = ", ".join(self.before)
        captured = {v.name for n in self.pattern.nodes for v in n.attributes.values()
                    if isinstance(v, AttributeVariable)}  # fmt: skip
        for name in sorted(captured):
            facts[f"attribute `{name}`"] = str(self.attributes.get(name, "default"))
        for node in self.pattern.nodes:
            if node.rest is not None:
                drawn_attributes = self.attributes.get(node.rest.name) or {}
                facts[f"attributes `**{node.rest.name}`"] = str(drawn_attributes or "defaults")
        return facts

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
        if name in self.case.get("dims", ()):
            dims = self.case["dims"][name]
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
            elif old is not None and (held := self._case_constant(value)) is not None:
                attributes[old] = held
            elif isinstance(value, Rest):
                inputs += [self._array(f"{value.name}{k}", a, bool(value.constant))
                           for k, a in enumerate(self._rest(value))]  # fmt: skip
            else:
                inputs.append(self._input(value, node, n))
        if node.commutative and self.rng.integers(2):
            inputs.reverse()
        for name, value in node.attributes.items():
            if isinstance(value, AttributeVariable):
                drawn = self._attribute(value.name, name, signature)
                if drawn is not None:
                    attributes[name] = drawn
            else:
                attributes[name] = value
        if node.rest is not None:
            attributes.update(self._rest_of_attributes(node.rest.name, attributes, signature))
        self.names[node] = f"n{len(self.names)}"
        outputs = [f"{self.names[node]}_{n}" for n in range(node.outputs)]
        while inputs and not inputs[-1]:
            inputs.pop()
        self.nodes.append(
            helper.make_node(node.op_type, inputs, outputs, domain=node.domain, **attributes)
        )

    def _case_constant(self, value: Any) -> Any:
        """What `cases` gives for a constant that an older version has as an attribute."""
        if not isinstance(value, Variable) or not value.constant:
            return None
        array = self.case.get(value.name)
        return None if array is None else np.asarray(array).tolist()

    def _attribute(self, variable: str, name: str, signature: OpSignature | None) -> Any:
        """The value of a captured attribute, the same wherever the pattern has the variable."""
        if variable not in self.attributes:
            value = self.case.get(variable)
            param = None if signature is None else signature.attributes.get(name)
            if value is None and variable not in self.case and param is not None:
                value = draw_attribute(self.rng, param, len(self.shape))
            if value is None:
                return None
            self.attributes[variable] = value
        return self.attributes[variable]

    def _rest_of_attributes(
        self, variable: str, named: Mapping[str, Any], signature: OpSignature | None
    ) -> dict[str, Any]:
        if variable not in self.attributes:
            rest = self.case.get(variable)
            if rest is None and variable not in self.case and signature is not None:
                params = [p for p in signature.attributes.values() if p.name not in named]
                drawn = {
                    p.name: draw_attribute(self.rng, p, len(self.shape))
                    for p in params
                    if p.required or self.rng.integers(2)
                }
                rest = {n: v for n, v in drawn.items() if v is not None}
            self.attributes[variable] = rest or {}
        return dict(self.attributes[variable])

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
        chosen = self.case.get(value.name, ...)
        if chosen is None or (chosen is ... and value.optional and self.rng.integers(2)):
            self.names[value] = ""
            return ""
        array = self._drawn(value, node, n) if chosen is ... else np.asarray(chosen)
        name = self._array(value.name, array, bool(value.constant))
        if not value.constant and array.dtype.kind == "f" and self._is_produced(chosen is ...):
            name = self._after_an_operator(name)
        self.names[value] = name
        return name

    def _is_produced(self, drawn: bool) -> bool:
        """Whether an operator is put before an input."""
        return self.produced is not None or bool(drawn and self.rng.integers(8) == 0)

    def _after_an_operator(self, name: str) -> str:
        operator = self.produced or str(self.rng.choice(PRODUCERS))
        newest = registry.signature("", operator, self.version)
        if newest is None:
            return name
        self.before.append(operator)
        self.nodes.append(helper.make_node(operator, [name], [f"{name}_after"]))
        return f"{name}_after"

    def _array(self, name: str, array: np.ndarray[Any, Any], constant: bool) -> str:
        if constant:
            self.initializers.append(numpy_helper.from_array(array, name))
        else:
            self.feeds[name] = array
        return name

    def _rest(self, value: Rest) -> list[np.ndarray[Any, Any]]:
        rest_values = self.case.get(value.name)
        if rest_values is not None:
            return [np.asarray(a) for a in rest_values]
        return [self._drawn(value, None, 0) for _ in range(int(self.rng.integers(1, 4)))]

    def _param(self, node: PatternNode | None, n: int) -> InputParam | None:
        """The schema's input that a value goes to."""
        if node is None:
            return None
        signature = registry.signature(node.domain, node.op_type, self.version)
        if signature is None or not signature.inputs:
            return None
        return signature.inputs[min(n, len(signature.inputs) - 1)]

    def _literal(self, value: Literal, node: PatternNode, n: int) -> str:
        dtype: Any = self.dtype
        param = self._param(node, n)
        if param is not None:
            if "tensor(int64)" in param.types and not any("float" in t for t in param.types):
                dtype = np.int64
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value.value, dtype), name))
        return name

    def _drawn(self, value: Variable, node: PatternNode | None, n: int) -> np.ndarray[Any, Any]:
        param = self._param(node, n)
        if param is not None and not any("float" in t or "double" in t for t in param.types):
            if "tensor(int64)" in param.types:
                return draw_integers(self.rng, param.name, len(self.shape))
            if "tensor(bool)" in param.types:
                return self.rng.integers(2, size=self.shape).astype(np.bool_)
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
        about: what to say where it must run and does not; without it such a model gives None.

    Raises:
        AssertionError: the model does not run, and `about` was given.
    """
    try:
        return PlainSession(model).run(feeds)
    except Exception as error:
        if about:
            raise AssertionError(f"the new model does not run: {error}\n{about}") from error
        return None
