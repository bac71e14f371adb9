"""Views whose sizes only the run knows, and those that no OpInfo runs."""

from __future__ import annotations

import pytest
import torch

from onnxwright.atenlib.widen import AtenTracingBackend
from onnxwright.errors import AtenUnsupportedError
from onnxwright.ir.builder import Recorder
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.ops import Ops
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType
from tests.atenlib.one_op import check

from onnxwright.atenlib.load import find  # isort: skip
from tests.harness.tables import each

aten = torch.ops.aten


def graph_of(name: str, shape: tuple[int | str, ...], *args: object) -> tuple[list[str], object]:
    """The operators that a function of one FLOAT tensor becomes, and the shape of its result.

    A string argument `"d0"` is the size of dimension 0, read from the tensor.
    """
    backend = AtenTracingBackend(Recorder(), Opset("", 23))
    op = Ops(backend)
    x = backend.input("x", TensorType(DType.FLOAT, shape))

    def given(a: object) -> object:
        if isinstance(a, list):
            return [given(v) for v in a]
        if isinstance(a, str) and a.startswith("d"):
            n = int(a[1:])
            return op.Squeeze(op.Shape(x, start=n, end=n + 1), [0])
        return a

    result = find(name)(op, x, *(given(a) for a in args))
    model = backend.to_model_proto([result])
    left_out = ("Constant", "Identity")  # an input that is an output takes an Identity
    return [n.op_type for n in model.graph.node if n.op_type not in left_out], result.shape


@each(
    ("shape", "sizes"),
    [
        (("N", 4, 6), ["d0", 24]),
        (("N", "M", 512), ["d0", "d1", 8, 64]),
        (("N", 12), ["d0", 3, 4]),
        ((2, "N", 4), [2, "d1", 2, 2]),
        (("N", 8), [-1, 4]),
    ],
)
def test_a_view_of_sizes_of_the_tensor_itself_is_one_node(shape, sizes) -> None:
    nodes, _ = graph_of("aten::view", shape, sizes)
    assert nodes == ["Reshape"]


def test_flatten_of_unknown_sizes_reads_no_shape() -> None:
    assert graph_of("aten::flatten.using_ints", ("N", "C", "H"), 1)[0] == ["Flatten"]
    assert graph_of("aten::flatten.using_ints", ("N", "C", "H"), 0, 1)[0] == ["Flatten"]
    assert graph_of("aten::flatten.using_ints", ("N", "C", "H"))[0] == ["Reshape"]
    assert graph_of("aten::flatten.using_ints", ("N", 3, 4), 1)[0] == ["Reshape"]


def test_an_expand_to_its_own_shape_is_nothing() -> None:
    assert graph_of("aten::expand", ("N", 3), ["d0", 3])[0] == []
    assert graph_of("aten::expand", ("N", 1), ["d0", 5]) == (["Expand"], ("N", 5))


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_views_of_empty_batches(batch: int) -> None:
    x = torch.randn(batch, 2, 6)
    check(aten.flatten.using_ints, x, 1)
    check(aten.flatten.using_ints, x, 0, 1)
    check(aten.view.default, x, [batch, 12])
    check(aten.view.default, x, [batch, 2, 3, 2])
    check(aten.unflatten.int, x, 2, [2, -1])


def test_reshape_alias() -> None:
    x = torch.arange(6.0)
    check(aten._reshape_alias.default, x, [2, 3], [3, 1])


def test_swapaxes() -> None:
    check(aten.swapaxes.default, torch.randn(2, 3, 4), 0, -1)
    check(aten.swapaxes.default, torch.randn(2, 3, dtype=torch.complex64), 0, 1)


@each(
    ("source", "target"),
    [(torch.int8, torch.uint8), (torch.int32, torch.uint32), (torch.bool, torch.uint8)],
)
def test_bits_of_integers_as_others(source: torch.dtype, target: torch.dtype) -> None:
    check(aten.view.dtype, torch.tensor([0, 1, 100, -7]).to(source), target)


def test_bits_of_floats_are_refused_before_opset_26() -> None:
    with pytest.raises(AtenUnsupportedError, match="opset 26"):
        graph_of("aten::view.dtype", (2,), DType.INT32)


@each("name", ["lift", "lift_fresh_copy", "detach_copy"])
def test_copies_are_the_tensor_itself(name: str) -> None:
    check(getattr(aten, name).default, torch.randn(2, 3))


def test_real_tensors_beside_complex_ones_stay_real() -> None:
    real, pair = torch.randn(3, 1), torch.randn(3, 4, dtype=torch.complex64)
    check(aten.broadcast_tensors.default, [pair, real], dynamic=(0, 1))
    check(aten.broadcast_tensors.default, [real, pair], dynamic=(0, 1))
    check(aten.expand_as.default, real, pair, dynamic=(0, 1))
    check(aten.expand_as.default, pair[:, :1], torch.randn(3, 4), dynamic=(0, 1))
    check(aten.view_as.default, torch.randn(12), pair, dynamic=(0, 1))
    check(aten.reshape_as.default, pair, torch.randn(2, 6), dynamic=(0, 1))
    check(aten.resize_as.default, torch.randn(12), pair, dynamic=())
    check(aten.atleast_2d.Sequence, [real[:, 0], pair[0]], dynamic=())
