"""Random typed models with bodies, functions, sequences and captures, drawn from a `Random`."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Kinds of values: a matrix [N, 3], a row [3], a truth value, a number, a sequence of matrices.
MATRIX, ROW, TRUTH, NUMBER, SEQUENCE = "MRTNS"
LOCAL = "local"


def kind_proto(kind: str) -> onnx.TypeProto:
    """The type of a kind of values."""
    if kind == SEQUENCE:
        return helper.make_sequence_type_proto(kind_proto(MATRIX))
    element = {TRUTH: TensorProto.BOOL, NUMBER: TensorProto.INT64}.get(kind, TensorProto.FLOAT)
    return helper.make_tensor_type_proto(element, {MATRIX: ["N", 3], ROW: [3]}.get(kind, []))


class Scope:
    """The nodes and values of one graph or body; those around it are seen, too."""

    def __init__(self, maker: Maker, prefix: str, outer: Scope | None = None) -> None:
        self.maker, self.prefix, self.outer = maker, prefix, outer
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.values: dict[str, list[str]] = {k: [] for k in (MATRIX, ROW, TRUTH, NUMBER, SEQUENCE)}
        self.count = 0

    def name(self) -> str:
        """A new name; bodies beside each other have the same ones."""
        self.count += 1
        return f"{self.prefix}{self.count}"

    def pick(self, kind: str) -> str:
        """A value of a kind, from here or from around."""
        candidates = [v for s in self.around() for v in s.values[kind]]
        if candidates and self.maker.random.random() < 0.9:
            return self.maker.random.choice(candidates[-6:] + candidates[:2])
        return self.constant(kind)

    def around(self) -> list[Scope]:
        """The scopes that are seen, the outermost first."""
        return [*(self.outer.around() if self.outer else []), self]

    def add(self, op: str, inputs: list[str], kind: str | None, **attributes: Any) -> str:
        """A node with one output."""
        name = self.name()
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        if kind is not None:
            self.values[kind].append(name)
        return name

    def hold(self, array: Any) -> str:
        """A constant: a node, or an initializer of the graph or body."""
        if self.maker.in_function or self.maker.random.random() < 0.5:
            return self.add("Constant", [], None, value=numpy_helper.from_array(array))
        name = self.name()
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def constant(self, kind: str) -> str:
        """A constant of a kind."""
        random = self.maker.random
        if kind == TRUTH:
            name = self.hold(np.array(random.random() < 0.5))
        elif kind == NUMBER:
            name = self.hold(np.array(random.randrange(3)))
        elif kind == ROW:
            name = self.hold(np.float32([random.choice((0, 1, -1, 0.5)) for _ in range(3)]))
        elif kind == SEQUENCE:
            name = self.add("SequenceConstruct", [self.pick(MATRIX)], None)
        else:
            first = "a" if self.maker.in_function else "x"
            name = self.add("Add", [first, self.constant(ROW)], None)
        self.values[kind].append(name)
        return name


class Maker:
    """Draws a model.

    Args:
        random: where choices come from.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.functions: list[onnx.FunctionProto] = []
        self.in_function = False
        self.bodies = 0

    def model(self) -> onnx.ModelProto:
        """A model of two matrices, a truth value and a number."""
        for n in range(self.random.randrange(3)):
            self.function(n)
        scope = Scope(self, "v")
        inputs = {"x": MATRIX, "y": MATRIX, "flag": TRUTH, "count": NUMBER}
        for name, kind in inputs.items():
            scope.values[kind].append(name)
        infos = [helper.make_value_info(n, kind_proto(k)) for n, k in inputs.items()]
        if self.random.random() < 0.5:  # an initializer that is an input may be replaced
            scope.initializers.append(numpy_helper.from_array(np.float32([0, 1, 2]), "w"))
            scope.values[ROW].append("w")
            infos.append(helper.make_value_info("w", kind_proto(ROW)))
        self.steps(scope, self.random.randint(3, 9), 0)
        outputs = []
        for n, kind in enumerate(self.random.choices((MATRIX, MATRIX, TRUTH, SEQUENCE), k=2)):
            op = "Not" if kind == TRUTH else "Identity"
            scope.nodes.append(helper.make_node(op, [scope.pick(kind)], [f"out{n}"]))
            outputs.append(helper.make_value_info(f"out{n}", kind_proto(kind)))
        graph = helper.make_graph(scope.nodes, "g", infos, outputs, scope.initializers)
        imports = [helper.make_opsetid("", 18), helper.make_opsetid(LOCAL, 1)]
        model = helper.make_model(
            graph, opset_imports=imports, functions=self.functions, ir_version=9
        )
        return model

    def steps(self, scope: Scope, count: int, depth: int) -> None:
        """Some calls."""
        for _ in range(count):
            kinds = [self.plain, self.plain, self.plain, self.plain, self.sequence]
            if depth < 2:
                kinds += [self.branch, self.loop, self.scan]
            if self.functions:
                kinds.append(self.call)
            self.random.choice(kinds)(scope, depth)

    # -- calls -------------------------------------------------------------------------------------

    def plain(self, scope: Scope, depth: int) -> None:
        """A call on matrices, or one that decides something."""
        del depth
        r, a = self.random, scope.pick(MATRIX)
        which = r.randrange(12)
        if which < 3:
            scope.add(r.choice(("Neg", "Abs", "Relu", "Identity", "Tanh", "Floor")), [a], MATRIX)
        elif which < 6:
            other = scope.pick(r.choice((MATRIX, ROW)))
            pair = [a, other] if r.random() < 0.5 else [other, a]
            scope.add(r.choice(("Add", "Mul", "Sub", "Max")), pair, MATRIX)
        elif which == 6:
            turned = scope.add("Transpose", [a], None, perm=[1, 0])
            scope.add("Transpose", [scope.add("Neg", [turned], None)], MATRIX, perm=[1, 0])
        elif which == 7:
            shape = scope.add("Shape", [a], None)
            flat = scope.add("Reshape", [a, scope.hold(np.array([-1]))], None)
            scope.add("Reshape", [flat, shape], MATRIX)
        elif which == 8:
            both = scope.add("Concat", [a, scope.pick(MATRIX)], None, axis=1)
            ends = [scope.hold(np.array([n])) for n in (1, 4, 1)]
            scope.add("Slice", [both, *ends], MATRIX)
        elif which == 9:  # an optional input that is absent, an output that nobody reads
            high = scope.hold(np.array(1.5, np.float32))
            scope.add("Clip", [a, "", high], MATRIX)
            name = scope.add("Dropout", [scope.pick(MATRIX)], MATRIX)
            if r.random() < 0.5:
                scope.nodes[-1].output.append(f"{name}_mask")
        elif which == 10:
            total = scope.add("ReduceSum", [a], None, keepdims=0)
            zero = scope.hold(np.array(r.choice((0.0, 1.0)), np.float32))
            truth = scope.add(r.choice(("Greater", "LessOrEqual")), [total, zero], TRUTH)
            scope.add(r.choice(("And", "Or")), [truth, scope.pick(TRUTH)], TRUTH)
        else:
            two = scope.hold(np.array(2))
            size = scope.add("Size", [a], None)
            scope.add("Min", [scope.add("Add", [size, scope.pick(NUMBER)], None), two], NUMBER)

    def sequence(self, scope: Scope, depth: int) -> None:
        """A sequence, longer or read."""
        del depth
        seq = scope.add("SequenceConstruct", [scope.pick(MATRIX), scope.pick(MATRIX)], SEQUENCE)
        if self.random.random() < 0.5:
            seq = scope.add("SequenceInsert", [scope.pick(SEQUENCE), scope.pick(MATRIX)], SEQUENCE)
        if self.random.random() < 0.5:
            scope.add("SequenceAt", [seq, scope.hold(np.array(0))], MATRIX)
        else:
            two = scope.hold(np.array(2))
            length = scope.add("SequenceLength", [scope.pick(SEQUENCE)], None)
            scope.add("Min", [length, two], NUMBER)

    def call(self, scope: Scope, depth: int) -> None:
        """A call of a function, its last input absent or not."""
        del depth
        chosen = self.random.choice(self.functions)
        inputs = [scope.pick(MATRIX), scope.pick(MATRIX)]
        scope.add(chosen.name, inputs, MATRIX, domain=LOCAL, alpha=self.random.choice((0.1, 0.5)))

    # -- bodies ------------------------------------------------------------------------------------

    def body(
        self, scope: Scope, depth: int, inputs: dict[str, str], results: list[str],
        first: list[str] | None = None,
    ) -> onnx.GraphProto:  # fmt: skip
        """A body with results of these kinds; `first` are results that are made already."""
        inner = Scope(self, f"{scope.prefix}b", scope)
        for name, kind in inputs.items():
            inner.values[kind].append(name)
        self.steps(inner, self.random.randrange(3), depth + 1)
        outputs = []
        for kind in results:
            truth = kind == TRUTH and bool(first)
            name = inner.add("Identity", [first[0] if truth and first else inner.pick(kind)], None)
            outputs.append(helper.make_value_info(name, kind_proto(kind)))
        infos = [helper.make_value_info(n, kind_proto(k)) for n, k in inputs.items()]
        return helper.make_graph(inner.nodes, "body", infos, outputs, inner.initializers)

    def names(self, scope: Scope, count: int) -> list[str]:
        """Names of inputs of a body."""
        self.bodies += 1
        return [f"{scope.prefix}i{self.bodies}_{n}" for n in range(count)]

    def branch(self, scope: Scope, depth: int) -> None:
        """An If; both branches have values of the same names."""
        kinds = [MATRIX, self.random.choice((MATRIX, SEQUENCE, NUMBER))]
        bodies = {
            name: self.body(scope, depth, {}, kinds) for name in ("then_branch", "else_branch")
        }
        condition = scope.pick(TRUTH)
        outputs = [scope.name() for _ in kinds]
        scope.nodes.append(helper.make_node("If", [condition], outputs, **bodies))
        for name, kind in zip(outputs, kinds, strict=True):
            scope.values[kind].append(name)

    def loop(self, scope: Scope, depth: int) -> None:
        """A Loop over a matrix, which may collect its values."""
        step, going, carried = self.names(scope, 3)
        inputs = {step: NUMBER, going: TRUTH, carried: MATRIX}
        body = self.body(scope, depth, inputs, [TRUTH, MATRIX, MATRIX], [going])
        limit = scope.add("Min", [scope.pick(NUMBER), scope.hold(np.array(3))], None)
        condition = scope.pick(TRUTH) if self.random.random() < 0.3 else ""
        outputs = [scope.name(), scope.name()]
        start = scope.pick(MATRIX)
        scope.nodes.append(helper.make_node("Loop", [limit, condition, start], outputs, body=body))
        scope.values[MATRIX].append(outputs[0])
        if self.random.random() < 0.5:
            axis = scope.hold(np.array([0]))
            scope.add("ReduceSum", [outputs[1], axis], MATRIX, keepdims=0)

    def scan(self, scope: Scope, depth: int) -> None:
        """A Scan over the rows of a matrix."""
        del depth
        state, row = self.names(scope, 2)
        inner = Scope(self, f"{scope.prefix}s", scope)
        total = inner.add(self.random.choice(("Add", "Sub")), [state, row], None)
        product = inner.add("Mul", [total, scope.pick(ROW)], None)
        results = [inner.add("Identity", [total], None), product]
        body = helper.make_graph(
            inner.nodes, "scan",
            [helper.make_value_info(n, kind_proto(ROW)) for n in (state, row)],
            [helper.make_value_info(n, kind_proto(ROW)) for n in results],
            inner.initializers,
        )  # fmt: skip
        outputs = [scope.name(), scope.name()]
        inputs = [scope.pick(ROW), scope.pick(MATRIX)]
        scope.nodes.append(helper.make_node("Scan", inputs, outputs, body=body, num_scan_inputs=1))
        scope.values[ROW].append(outputs[0])
        scope.values[MATRIX].append(outputs[1])

    def function(self, n: int) -> None:
        """A function with an attribute, which may call the functions before it."""
        self.in_function = True
        scope = Scope(self, "f")
        scope.values[MATRIX] += ["a", "b"]
        self.steps(scope, self.random.randint(1, 4), 1)
        node = helper.make_node("LeakyRelu", [scope.pick(MATRIX)], ["r"])
        attribute = onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT)
        attribute.ref_attr_name = "alpha"
        node.attribute.append(attribute)
        imports = [helper.make_opsetid("", 18), helper.make_opsetid(LOCAL, 1)]
        self.functions.append(
            helper.make_function(
                LOCAL, f"F{n}", ["a", "b"], ["r"], [*scope.nodes, node], imports, ["alpha"]
            )
        )
        self.in_function = False


def feeds(size: int, seed: int) -> dict[str, Any]:
    """Inputs of a random model with `size` rows."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.normal(size=(size, 3)).astype(np.float32),
        "y": rng.normal(size=(size, 3)).astype(np.float32),
        "flag": np.array(seed % 2 == 0),
        "count": np.array(seed % 3),
    }
