"""What type checkers accept of annotations and operators, by the modules that have them."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
import onnx

import onnxwright as ow
from onnxwright import script
from onnxwright.opset import Opset, latest_opset, opset13, opset18, opset_ai_onnx_ml3
from onnxwright.types import BOOL, DOUBLE, FLOAT, INT64, DType, Shape, Tensor
from onnxwright.types.signature import signature_of

T = TypeVar("T", FLOAT, DOUBLE)
custom = Opset("my.domain", 1)
op = opset18


def operators(x: FLOAT, y: FLOAT, i: INT64) -> FLOAT:
    a = x + 1 - 2.5 * y / x // 2 % 3**x @ y
    a = 1 + a - np.float32(1) * a
    a = -abs(+a) + x[0, 1:, ..., None] + x[i] + x[::-1]
    b: BOOL = (x > 1) & (y <= x) | ~(x == y) ^ (x != 0)
    if b:
        a = a.T
    for row in x:
        a = a + row
    for k in range(i):
        a = a + k
    return a + len(x) + int(i) + float(x) + round(x) + x.shape[0]


def comparisons(x: FLOAT) -> BOOL:
    return 0 < x


def calls(x: T, y: T, low: FLOAT | None = None) -> T:
    z = op.Add(x, y)
    z = op.Add(z, 1)
    z = op.Clip(z, None, low)
    z = op.Clip(z, max=low)
    z = op.Concat(x, y, z, axis=0)
    z = op.Cast(z, to=FLOAT)
    z = op.Cast(z, to=FLOAT["N", 3])
    z = op.Cast(z, to=DType.FLOAT)
    z = op.Cast(z, to=np.float32)
    z = op.Cast(z, to=np.dtype("float32"))
    z = op.Cast(z, to=onnx.TensorProto.FLOAT)
    z = op.Transpose(z, perm=[1, 0])
    z = op.Transpose(z, perm=np.array([1, 0]))
    z = op.Transpose(z, perm=None)
    z = op.Constant(value=np.zeros(3)) + op.Constant(value_ints=[1, 2])
    z = opset13.Unsqueeze(z, [0]) + latest_opset.Gelu(z)
    z = opset_ai_onnx_ml3.Scaler(z, offset=[1.0], scale=[1])
    z = custom.Anything(z, any_attribute=1)
    z = x * 2
    z = x if low else y
    z = z > 1
    a, b, c = op.Split(z, num_outputs=3)
    (d,) = op.Split(z, num_outputs=1, _outputs=1)
    return a + b + c + d


def branches(x: FLOAT, again: bool) -> FLOAT:
    y = op.Relu(x)
    if again:
        y = x
    for _ in range(3):
        y = x * y + 1
    while op.ReduceSum(y) > 0:
        y = -y
    return y


def numbers_first(x: FLOAT) -> FLOAT:
    y = 1 / (1 + x)
    y = 2 - y * 3
    return 1 - y


def subgraphs(condition: BOOL, x: FLOAT) -> FLOAT:
    def body(i: INT64, c: BOOL, y: FLOAT) -> tuple[BOOL, FLOAT]:
        return c, y + x

    y = op.Loop(10, None, x, body=body)
    return op.If(condition, then_branch=lambda: y, else_branch=lambda: x)


def results(x: FLOAT) -> tuple[FLOAT, INT64, Sequence[FLOAT], FLOAT | DOUBLE, FLOAT | None]:
    y = op.Relu(x)
    return y, op.Shape(x), op.SequenceConstruct(x, y), y, y


def shaped(x: Annotated[Tensor, Shape["N", 3]]) -> Annotated[FLOAT, Shape[()], "doc"]:
    return op.ReduceSum(x, keepdims=0)


def short(x: Annotated[FLOAT, "N", 3]) -> Annotated[FLOAT, "N"]:
    return op.ReduceSum(x, [1], keepdims=0)


def values() -> list[Any]:
    types: list[type[Tensor]] = [FLOAT, FLOAT["N", 3], DOUBLE[...], INT64[()]]
    dtype: DType = FLOAT.dtype
    return [*types, dtype, custom["Other"].name, op["Add"].signature, str(signature_of(shaped))]


@script()
def scaled(x: FLOAT, times: INT64) -> FLOAT:
    return op.Relu(x) * 2.0


@script()
def pair(x: FLOAT) -> tuple[FLOAT, FLOAT]:
    return scaled(x, 3), x


def arrays() -> float:
    """A call takes what becomes an array, and its result has what an array has."""
    x = np.ones(3, np.float32)
    y = scaled(x, 3)
    first, second = pair([1.0, 2.0])
    scaled(x, times=np.int64(2))
    held = ow.Tensor(x)
    run = ow.CompiledModel(scaled.to_model_proto())
    return float(y.argmax() + first.sum() + second.shape[0] + run(x, 3).mean()) + held.value.ndim


def as_numpy(x: FLOAT, mask: BOOL) -> FLOAT:
    """Methods of arrays, and places that are written to."""
    x[0] = 0.0
    x[mask] = x.max(axis=-1, keepdims=True)
    y = x.reshape(-1, 4).transpose(1, 0).squeeze().clip(min=0.0)
    total: FLOAT = x.sum(axis=(0, 1)) + y.mean() + y.astype(np.float32).std(axis=0, ddof=1)
    return total + y[y.argmax()] + x.T.dot(y).swapaxes(0, 1).flatten()


def runs(model: onnx.ModelProto) -> bool:
    """What a model gives is used as arrays."""
    x = np.ones(3, np.float32)
    (y,) = ow.run_model(model, [x])
    run = ow.debug(model, {"x": x})
    close = np.allclose(ow.run_model(model, {"x": x}), [y])
    return close and bool(run.outputs["y"].tolist() == run["y"].tolist())


def builder() -> onnx.ModelProto:
    """ATen functions and scripts take the operators and values of a builder."""
    g = ow.GraphBuilder(opset=18, name="m")
    x = g.input("x", FLOAT["N", 8])
    w = g.initializer(np.ones((8, 8), np.float32), "w")
    h = g.op.MatMul(x, w, name="fc", outputs=["hidden"]) + 1
    h = g.op.Softmax(g.op.Relu(h * 2), axis=-1)
    h = g.op.MatMul("hidden", h)
    values, indices = g.op.TopK(h, [3], axis=-1)
    first, second = g.op.Split(values, num_outputs=2)
    with g.subgraph("then") as then:
        then.output(g.op.Neg(first))
    z = g.op.If(g.op.Cast(second[0], to=BOOL), then_branch=then.graph, else_branch=lambda: first)
    z = g.op.Where(True, z, g.op.Constant(value=np.zeros(1)), name=None)
    z = g.opset("com.microsoft").BiasGelu(scaled(z, 3), w)
    g.output(ow.atenlib.find("aten::softmax.int")(g.op, z + indices[0], -1), "y")
    return g.to_model_proto()


def builders(version: int, model: onnx.ModelProto) -> list[ow.GraphBuilder]:
    """A builder of any version is a `GraphBuilder`; one of an unknown version has any operator."""
    made = [ow.GraphBuilder(opset=version), ow.GraphBuilder(opset={"": 20, "my": 1})]
    made += [ow.GraphBuilder(opset=opset13), ow.GraphBuilder(), ow.GraphBuilder.from_model(model)]
    made[0].op.AnyOperator(1)
    ow.GraphBuilder().op.Gelu(1.0)
    ow.GraphBuilder(opset=opset13).op.Unsqueeze([1.0], [0])
    return made


@script(producer_name="me", model_version=2)
def pooled(
    x: FLOAT, low: FLOAT | None = None, axis: int = 1, mode: str = "max", *, factor: float = 1.0
) -> FLOAT:
    return op.Clip(x, low) * factor


def attributes(g: ow.GraphBuilder, x: FLOAT, row: list[float]) -> float:
    """Attributes have their types, and tensors are arrays, by position or by name."""
    y = pooled(np.ones(3), axis=1) + pooled(row, None, 2, mode="min", factor=2)
    pooled(x, x, axis=0, mode="min")
    pooled(np.ones(3), np.float32(1), axis=0)
    pooled(x=np.ones(3), low=np.ones(3))
    pooled(np.ones(3), low=np.ones(3))
    pooled(g.op.Relu(g.value("x")), axis=3)
    run = pooled.compile(attributes={"axis": 2}, providers=["CPUExecutionProvider"])
    return float(y[0]) + len(run.__name__)


@ow.rule(level="rounding", since=13)
def pattern(op: Any, x: Any) -> Any:
    return op.Neg(op.Neg(x))


def comparison(a: onnx.ModelProto) -> None:
    ow.testing.assert_isomorphic(a, a, doc_strings=False)


class Linear(ow.nn.Module):
    """A parameter is a value in `forward`, and has data elsewhere."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = ow.nn.Parameter([outputs, inputs])
        self.bias = ow.nn.Parameter(FLOAT, data=np.ones(outputs, np.float32))
        self.parts = ow.nn.ModuleList([])

    def forward(self, op: Any, x: FLOAT) -> FLOAT:
        y: FLOAT = op.MatMul(x, op.Transpose(self.weight, perm=[1, 0]))
        for part in self.parts:
            y = part(op, y)
        z: FLOAT = op.Add(y, self.bias)
        return z * 2


def modules(g: ow.GraphBuilder) -> list[str]:
    model = Linear(2, 3)
    model.load_state_dict({"weight": np.ones((3, 2))}, strict=False)
    g.output(model(g.op, g.input("x", FLOAT)), "y")
    model.weight.load([[1.0, 2.0]])
    graph = ow.build_graph(lambda op, x: op.Neg(x), {"x": FLOAT}, ["y"], opset_imports={"": 21})
    return [name for name, _ in model.named_parameters()] + [str(graph.name)]
