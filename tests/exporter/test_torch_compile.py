"""`torch.compile(backend=ow.torch_backend())`: what Dynamo captures, run as ONNX models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

import onnxwright as ow
from onnxwright import errors
from onnxwright.exporter import torch_compile

X = torch.linspace(-2, 2, 32).reshape(4, 8)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Dynamo remembers what it compiled."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=["ort", "reference"])
def backend(request: pytest.FixtureRequest) -> Any:
    return ow.torch_backend(request.param)


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes of each graph that becomes a model."""
    made: list[int] = []
    compile_graph = torch_compile._compile

    def count(module: Any, *rest: Any) -> Any:
        made.append(sum(n.op == "call_function" for n in module.graph.nodes))
        return compile_graph(module, *rest)

    monkeypatch.setattr(torch_compile, "_compile", count)
    return made


def _close(got: Any, wanted: Any) -> None:
    torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


def test_a_graph_break_makes_two_models(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python decides between them."""
    made = _counted(monkeypatch)

    def choose(x: Any) -> Any:
        y = torch.relu(x)
        return (y * 2, y) if y.sum() > 3 else (y - 1, y)

    compiled = torch.compile(choose, backend=backend)
    _close(compiled(X), choose(X))
    _close(compiled(-X - 3), choose(-X - 3))
    assert len(made) == 3


def test_results_are_nested_as_they_were(backend: Any) -> None:
    def several(x: Any, n: int) -> Any:
        return {"a": x + n, "b": [x.sum(), x.max(0).values], "n": n, "none": None, "x": x}

    got = torch.compile(several, backend=backend)(X, 3)
    _close(got, several(X, 3))
    assert got["none"] is None
    assert got["x"] is X


def test_sizes_become_dynamic_when_they_change(backend, monkeypatch) -> None:
    """The second size makes a dynamic model; later ones use it; a size of 1 is Dynamo's own."""
    made = _counted(monkeypatch)

    def attend(x: Any) -> Any:
        return torch.softmax(x @ x.T, -1).sum(0) + x.shape[0]

    compiled = torch.compile(attend, backend=backend)
    for rows in (2, 3, 5, 7):
        x = torch.randn(rows, 8)
        _close(compiled(x), attend(x))
    assert len(made) == 2
    _close(compiled(X[:1]), attend(X[:1]))


def test_writes_reach_the_inputs(backend: Any) -> None:
    def write(x: Any, y: Any) -> Any:
        x.mul_(2)
        y[0] = 5
        return x + y

    x, y = torch.ones(3), torch.ones(3)
    result = torch.compile(write, backend=backend)(x, y)
    _close(x, torch.tensor([2.0, 2.0, 2.0]))
    _close(y, torch.tensor([5.0, 1.0, 1.0]))
    _close(result, x + y)


def test_buffers_get_their_new_values(backend: Any) -> None:
    ours, theirs = torch.nn.BatchNorm1d(8), torch.nn.BatchNorm1d(8)
    compiled = torch.compile(ours, backend=backend)
    with torch.no_grad():
        for x in (X, X * 3):
            _close(compiled(x), theirs(x))
    _close(ours.running_mean, theirs.running_mean)
    _close(ours.running_var, theirs.running_var)
    assert int(ours.num_batches_tracked) == 2


def test_weights_may_change_and_be_replaced(backend: Any) -> None:
    """Parameters are inputs of the model: nothing is frozen."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    compiled = torch.compile(module, backend=backend)
    with torch.no_grad():
        _close(compiled(X), module(X))
        module[0].weight.mul_(2)
        _close(compiled(X), module(X))
        module[0].weight = torch.nn.Parameter(torch.ones(8, 8))
        _close(compiled(X), module(X))


def test_gradients_are_pytorchs() -> None:
    """The forward pass is an ONNX model; operators without ONNX may stand in the other."""
    torch.manual_seed(0)
    ours = torch.nn.Sequential(
        torch.nn.Conv1d(1, 2, 3), torch.nn.GELU(), torch.nn.Flatten(), torch.nn.Linear(12, 2)
    )
    compiled = torch.compile(ours, backend=ow.torch_backend())
    result = compiled(X[:, None])
    assert result.requires_grad
    result.pow(2).mean().backward()
    got = [p.grad.clone() for p in ours.parameters()]
    ours.zero_grad()
    ours(X[:, None]).pow(2).mean().backward()
    _close(got, [p.grad for p in ours.parameters()])


def test_complex_half_and_strided_tensors() -> None:
    compiled = torch.compile(lambda x: torch.fft.fft(x) * 2, backend=ow.torch_backend())
    _close(compiled(X), torch.fft.fft(X) * 2)
    gelu = torch.compile(torch.nn.functional.gelu, backend=ow.torch_backend())
    for x in (X.bfloat16(), X.half(), X.t(), X[:, ::2]):
        got = gelu(x)
        assert got.dtype == x.dtype
        wanted = torch.nn.functional.gelu(x.float())
        torch.testing.assert_close(got.float(), wanted, rtol=2e-2, atol=1e-2)


@torch.library.custom_op("compiled::turn", mutates_args=())  # type: ignore[misc]
def turn(x: torch.Tensor, by: float) -> torch.Tensor:
    """An operator that nobody knows."""
    return x * by


@turn.register_fake  # type: ignore[misc]
def _(x: Any, by: float) -> Any:
    return torch.empty_like(x)


def test_missing_operators_are_told_and_may_be_given() -> None:
    def turned(x: Any) -> Any:
        return turn(x, 2.0) + 1

    with pytest.raises(Exception, match="OW822") as caught:
        torch.compile(turned, backend=ow.torch_backend())(X)
    assert "compiled::turn" in str(caught.value)
    torch._dynamo.reset()
    table = {turn: lambda op, x, by: x * by}
    backend = ow.torch_backend(custom_translation_table=table)
    _close(torch.compile(turned, backend=backend)(X), X * 2 + 1)


def test_other_devices_are_told() -> None:
    with pytest.raises(Exception, match="on the device `meta`; the backend runs on the CPU"):
        torch.compile(lambda x: x * 2, backend=ow.torch_backend())(X.to("meta"))


def test_wrong_arguments_are_told() -> None:
    with pytest.raises(errors.ExportValueError, match="unknown runtime 'tvm'"):
        ow.torch_backend("tvm")
    with pytest.raises(errors.ExportValueError, match="choose 18 to 26"):
        ow.torch_backend(opset_version=99)
    with pytest.raises(errors.ExportValueError, match="is not a function"):
        ow.torch_backend(custom_translation_table={"aten::relu": 3})


def test_graphs_are_written_to_a_folder(tmp_path: Path) -> None:
    backend = ow.torch_backend(dump_dir=tmp_path / "graphs")
    for operation in (torch.relu, torch.neg):
        torch._dynamo.reset()
        torch.compile(lambda x, f=operation: f(x * 2), backend=backend)(X)
    names = sorted(p.name for p in (tmp_path / "graphs").iterdir())
    assert names == ["graph_0.onnx", "graph_0.txt", "graph_1.onnx", "graph_1.txt"]
    model = onnx.load(tmp_path / "graphs" / "graph_1.onnx")
    assert [n.op_type for n in model.graph.node] == ["Mul", "Neg"]
    assert "aten.neg" in (tmp_path / "graphs" / "graph_1.txt").read_text()
