"""Modules that build graphs: names, numbers from state dicts, and what is refused."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onnxwright as ow
from onnxwright import BOOL, FLOAT, FLOAT16, INT64, nn

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((3, 4)).astype(np.float32)


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        self.weight = nn.Parameter([outputs, inputs])
        self.bias = nn.Parameter(FLOAT[outputs]) if bias else None

    def forward(self, op, x):
        y = op.MatMul(x, op.Transpose(self.weight, perm=[1, 0]))
        return y if self.bias is None else y + self.bias


class Net(nn.Module):
    def __init__(self, name=None) -> None:
        super().__init__(name)
        self.blocks = nn.ModuleList([Linear(4, 4), Linear(4, 4, bias=False)])
        self.head = nn.Sequential(Linear(4, 2))

    def forward(self, op, x):
        for block in self.blocks:
            x = op.Relu(block(op, x))
        return self.head(op, x)


NAMES = ["blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "head.0.weight", "head.0.bias"]


def state() -> dict[str, np.ndarray]:
    return {
        name: RANDOM.standard_normal(p.shape).astype(np.float32)
        for name, p in Net().named_parameters()
    }


def numpy_net(s, x):
    x = np.maximum(x @ s["blocks.0.weight"].T + s["blocks.0.bias"], 0)
    x = np.maximum(x @ s["blocks.1.weight"].T, 0)
    return x @ s["head.0.weight"].T + s["head.0.bias"]


def built(model: nn.Module, opset: int = 21, **options) -> onnx.ModelProto:
    g = ow.GraphBuilder(opset=opset, **options)
    g.output(model(g.op, g.input("x", FLOAT["N", 4])), "y")
    return g.to_model_proto()


def test_names_are_those_of_the_state_dict() -> None:
    model, numbers = Net(), state()
    model.load_state_dict(numbers)
    proto = built(model)
    assert [t.name for t in proto.graph.initializer] == NAMES == list(model.state_dict())
    assert [n.name for n in proto.graph.node] == [
        "blocks.0/Transpose", "blocks.0/MatMul", "blocks.0/Add", proto.graph.node[3].name,
        "blocks.1/Transpose", "blocks.1/MatMul", proto.graph.node[6].name,
        "head.0/Transpose", "head.0/MatMul", "head.0/Add",
    ]  # fmt: skip
    assert proto.graph.node[1].output[0] == "blocks.0.matmul"
    metadata = {p.key: p.value for p in proto.graph.node[8].metadata_props}
    scopes = metadata["pkg.torch.onnx.name_scopes"]
    assert scopes == "['head', 'head.0', 'matmul']"
    assert "Linear" in metadata["pkg.torch.onnx.class_hierarchy"]
    np.testing.assert_allclose(ow.run_model(proto, [X])[0], numpy_net(numbers, X), rtol=1e-5)


def test_a_name_and_a_scope_come_before_all_names() -> None:
    model = Net("model")
    model.load_state_dict(state())
    assert list(model.state_dict()) == NAMES
    assert [t.name for t in built(model).graph.initializer] == [f"model.{n}" for n in NAMES]
    g = ow.GraphBuilder(opset=21)
    with g.scope("outer"):
        g.output(model(g.op, g.input("x", FLOAT["N", 4])), "y")
    proto = g.to_model_proto()
    assert proto.graph.initializer[0].name == "outer.model.blocks.0.weight"
    assert proto.graph.node[0].name == "outer.model.blocks.0/Transpose"


@pytest.mark.parametrize("kind", ["torch", "ir", "proto", "list", "torch parameter"])
def test_numbers_of_every_library(kind: str) -> None:
    numbers = state()
    torch = pytest.importorskip("torch") if kind.startswith("torch") else None
    as_given = {
        "torch": lambda a: torch.from_numpy(a),
        "torch parameter": lambda a: torch.nn.Parameter(torch.from_numpy(a)),
        "ir": lambda a: ir.tensor(a),
        "proto": lambda a: onnx.numpy_helper.from_array(a, "other name"),
        "list": lambda a: a.tolist(),
    }[kind]
    model = Net()
    model.load_state_dict({name: as_given(a) for name, a in numbers.items()})
    proto = built(model)
    assert [t.name for t in proto.graph.initializer] == NAMES
    np.testing.assert_allclose(ow.run_model(proto, [X])[0], numpy_net(numbers, X), rtol=1e-5)


def test_half_precision_of_torch_stays_what_it_is() -> None:
    torch = pytest.importorskip("torch")
    p = nn.Parameter([2])
    p.load(torch.tensor([1.5, 2.5], dtype=torch.bfloat16))
    assert (p.dtype, p.shape) == (ow.DType.BFLOAT16, (2,))
    assert repr(p) == "Parameter(BFLOAT16[2], with data)"


def test_a_parameter_without_numbers_is_an_input() -> None:
    proto = built(Net())
    assert [v.name for v in proto.graph.input] == ["x", *NAMES]
    numbers = state()
    (y,) = ow.run_model(proto, [X, *numbers.values()])
    np.testing.assert_allclose(y, numpy_net(numbers, X), rtol=1e-5)


def test_shared_parameters_and_modules_are_there_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.first = Linear(4, 4, bias=False)
            self.second = Linear(4, 4, bias=False)
            self.second.weight = self.first.weight
            self.again = self.first

        def forward(self, op, x):
            return self.again(op, self.second(op, self.first(op, x)))

    model = Tied()
    w = RANDOM.standard_normal((4, 4)).astype(np.float32)
    assert [name for name, _ in model.named_parameters()] == ["first.weight"]
    model.load_state_dict({"first.weight": w, "second.weight": w})
    proto = built(model)
    assert [t.name for t in proto.graph.initializer] == ["first.weight"]
    np.testing.assert_allclose(ow.run_model(proto, [X])[0], X @ w.T @ w.T @ w.T, rtol=1e-4)


def test_a_module_called_twice_has_one_set_of_weights() -> None:
    model, g = Linear(4, 4), ow.GraphBuilder(opset=21)
    model.load_state_dict({"weight": np.eye(4, dtype=np.float32), "bias": np.float32([1, 2, 3, 4])})
    x = g.input("x", FLOAT["N", 4])
    g.output(model(g.op, model(g.op, x)), "y")
    proto = g.to_model_proto()
    assert [t.name for t in proto.graph.initializer] == ["weight", "bias"]
    np.testing.assert_allclose(
        ow.run_model(proto, [X])[0], X + 2 * np.float32([1, 2, 3, 4]), rtol=1e-5
    )


def test_equal_numbers_are_not_shared_and_not_folded() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            self.a = nn.Parameter(data=np.zeros(4, np.float32))
            self.b = nn.Parameter(data=np.zeros(4, np.float32))

        def forward(self, op, x):
            return x + op.Neg(self.a) + self.b * self.a.shape[0]

    proto = built(Two())
    assert [t.name for t in proto.graph.initializer][:2] == ["a", "b"]
    assert "Neg" in [n.op_type for n in proto.graph.node]


@pytest.mark.parametrize("loaded", [True, False])
def test_modules_in_the_body_of_a_loop(loaded: bool) -> None:
    class Repeat(nn.Module):
        def __init__(self) -> None:
            self.fc = Linear(4, 4)

        def forward(self, op, x, n):
            return op.Loop(n, None, x, body=lambda i, go, s: (go, self.fc(op, s)))

    model, g = Repeat(), ow.GraphBuilder(opset=21)
    w, b = RANDOM.standard_normal((4, 4)).astype(np.float32), np.float32([1, 2, 3, 4])
    if loaded:
        model.load_state_dict({"fc.weight": w, "fc.bias": b})
    x, n = g.input("x", FLOAT["N", 4]), g.input("n", INT64[()])
    g.output(model(g.op, x, n), "y")
    proto = g.to_model_proto()
    names = [t.name for t in proto.graph.initializer if "fc" in t.name] if loaded else [
        v.name for v in proto.graph.input[2:]]  # fmt: skip
    assert names == ["fc.weight", "fc.bias"]
    rest = [] if loaded else [w, b]
    want = (X @ w.T + b) @ w.T + b
    (y,) = ow.run_model(proto, [X, np.array(2), *rest])
    np.testing.assert_allclose(y, want, rtol=1e-4)


def test_both_sides_of_a_condition() -> None:
    class Either(nn.Module):
        def __init__(self) -> None:
            self.left, self.right = Linear(4, 4), Linear(4, 4)

        def forward(self, op, x, flag):
            return op.If(flag, then_branch=lambda: self.left(op, x),
                         else_branch=lambda: self.right(op, x))  # fmt: skip

    model, g = Either(), ow.GraphBuilder(opset=21)
    numbers = {n: RANDOM.standard_normal(p.shape).astype(np.float32)
               for n, p in model.named_parameters()}  # fmt: skip
    model.load_state_dict(numbers)
    x, flag = g.input("x", FLOAT["N", 4]), g.input("flag", BOOL[()])
    g.output(model(g.op, x, flag), "y")
    for side, condition in (("left", True), ("right", False)):
        (y,) = ow.run_model(g.to_model_proto(), [X, np.array(condition)])
        want = X @ numbers[f"{side}.weight"].T + numbers[f"{side}.bias"]
        np.testing.assert_allclose(y, want, rtol=1e-5)


def test_a_state_dict_that_does_not_fit_changes_nothing() -> None:
    model, numbers = Net(), state()
    with pytest.raises(ValueError, match=r"OW552.*without `head.0.bias`") as error:
        model.load_state_dict({n: a for n, a in numbers.items() if n != "head.0.bias"})
    assert "unknown" not in str(error.value)
    with pytest.raises(ValueError, match=r"with the unknown `more`"):
        model.load_state_dict({**numbers, "more": X})
    wrong = {**numbers, "head.0.weight": numbers["head.0.weight"].T}
    with pytest.raises(ValueError, match=r"`head.0.weight` is .*\[2, 4\], .*FLOAT\[4, 2\]"):
        model.load_state_dict(wrong)
    with pytest.raises(ValueError, match=r"`blocks.0.bias` is FLOAT\[4\], .*FLOAT16"):
        model.load_state_dict({**numbers, "blocks.0.bias": np.zeros(4, np.float16)})
    assert set(model.state_dict().values()) == {None}
    model.load_state_dict({"head.0.bias": numbers["head.0.bias"], "more": X}, strict=False)
    assert [n for n, t in model.state_dict().items() if t is not None] == ["head.0.bias"]
    with pytest.raises(ow.ScriptError, match="OW403"):
        nn.Parameter(data=object())
    with pytest.raises(ow.ScriptError, match="OW548"):
        nn.Parameter([2], "not a type")
    assert nn.Parameter([2], FLOAT16).dtype == ow.DType.FLOAT16


def test_modules_that_are_no_attributes_are_refused() -> None:
    class Lists(nn.Module):
        def __init__(self) -> None:
            self.parts = [Linear(4, 4)]

        def forward(self, op, x):
            return self.parts[0](op, x)

    stranger = Linear(4, 4)

    class Reads(nn.Module):
        def forward(self, op, x):
            return op.MatMul(x, stranger.weight)

    for module in (Lists(), Reads()):
        with pytest.raises(ValueError, match=r"OW551.*is not a part of"):
            built(module)
    with pytest.raises(TypeError, match="operators of a GraphBuilder"):
        Linear(4, 4)(X)
    with pytest.raises(NotImplementedError, match="Net2 has no `forward"):
        built(type("Net2", (nn.Module,), {})())
    with pytest.raises(TypeError, match="holds modules"):
        nn.ModuleList([1])
    with pytest.raises(AttributeError, match="no attribute 'weigth'"):
        _ = stranger.weigth
    # After an error the attribute is the parameter again.
    assert isinstance(stranger.weight, nn.Parameter)


def test_parts_are_listed_replaced_and_removed() -> None:
    model = Net()
    assert [name for name, _ in model.named_modules()] == [
        "", "blocks", "blocks.0", "blocks.1", "head", "head.0"]  # fmt: skip
    assert len(list(model.modules())) == 6
    assert [type(child) for child in model.children()] == [nn.ModuleList, nn.Sequential]
    assert len(list(model.parameters())) == 5
    assert list(model.parameters(recurse=False)) == []
    assert isinstance(model.blocks[-1], Linear)
    assert "(weight): Parameter(FLOAT[2, 4])" in repr(model)
    assert {"blocks", "head"} <= set(dir(model))
    del model.head
    assert not hasattr(model, "head")
    model.blocks[0].bias = None
    assert [name for name, _ in model.named_parameters()] == ["blocks.0.weight", "blocks.1.weight"]
    named = nn.Module()
    named.kernel = nn.Parameter([1], name="weight")
    assert list(named.state_dict()) == ["weight"]


def test_two_graphs_at_once_and_two_models_in_one_graph() -> None:
    one, two = Linear(4, 4), Linear(4, 4)
    g = ow.GraphBuilder(opset=21)
    x = g.input("x", FLOAT["N", 4])
    one(g.op, x)
    with pytest.raises(ow.ScriptError, match="OW544"):
        two(g.op, x)
    for _ in range(2):
        assert [v.name for v in built(one).graph.input] == ["x", "weight", "bias"]
