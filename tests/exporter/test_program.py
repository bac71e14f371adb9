"""An `ONNXProgram` as an object: copies, pickles, `with`, and what it prints."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import onnxwright as ow
from onnxwright import errors
from tests.harness.modules import module_with

X = torch.linspace(-1, 1, 16).reshape(2, 8)


@pytest.fixture
def program() -> Any:
    torch.manual_seed(0)
    return ow.export(torch.nn.Linear(8, 3), (X,), dynamic_shapes=({0: "batch"},))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_program_of_its_own(program: Any, how: Any) -> None:
    """Before and after a call: a session is not copied; weights are given apart."""
    before = program(X)
    other = how(program)
    assert other._session is None
    torch.testing.assert_close(other(X), before)
    other.apply_weights({"weight": torch.ones(3, 8), "bias": torch.zeros(3)})
    torch.testing.assert_close(other(X), X.sum(1, keepdim=True).expand(2, 3))
    torch.testing.assert_close(program(X), before)
    other.model.graph.outputs[0].name = "renamed"
    assert program.model.graph.outputs[0].name == "linear"


def test_a_pickle_is_refused_with_what_to_do(program: Any) -> None:
    for write in (pickle.dumps, lambda p: torch.save(p, io.BytesIO())):
        with pytest.raises(errors.ExportTypeError, match=r"program\.save\(path\)"):
            write(program)


def test_release_and_call_again(program: Any) -> None:
    wanted = program(X)
    program.release()
    assert program._session is None
    torch.testing.assert_close(program(X), wanted)


def test_a_with_statement_lets_the_session_go(program: Any) -> None:
    with program as inside:
        assert inside is program
        inside(X)
        assert program._session is not None
    assert program._session is None
    torch.testing.assert_close(program(X).shape, torch.Size([2, 3]))


def test_a_change_of_the_model_is_seen_after_release(program: Any) -> None:
    program(X)
    program.model.graph.outputs[0].name = "scores"
    program.release()
    assert program.initialize_inference_session().get_outputs()[0].name == "scores"


def test_many_inputs_are_not_all_printed() -> None:
    made = ow.export(lambda xs: xs[0] + xs[-1], ([torch.ones(1) for _ in range(20)],))
    assert repr(made).startswith("<ONNXProgram (xs_0: FLOAT[1], xs_1: FLOAT[1]")
    assert "... 14 more) -> (add), 1 nodes>" in repr(made)


def test_new_values_of_what_is_written_to() -> None:
    @module_with(lambda: {"seen": torch.nn.Buffer(torch.zeros(()))})
    def Counter(self, x: Any, y: Any) -> Any:
        self.seen += x.shape[0]
        y.mul_(2)
        return x * self.seen + y

    args = (X, torch.ones(8))
    made = ow.export(Counter(), args, dynamic_shapes=({0: "n"}, None), verify=True)
    result, values = made.run_with_new_values((torch.ones(3, 8), torch.ones(8)))
    assert values["seen"].item() == 3
    torch.testing.assert_close(values["y"], torch.full((8,), 2.0))
    torch.testing.assert_close(result, torch.full((3, 8), 5.0))
    checked = {check.name for check in made.report.verification.outputs}
    assert checked == {"output 0", "new value of seen", "new value of y"}
    dropped = ow.export(Counter(), args, mutations="drop")
    assert dropped.run_with_new_values(args)[1] == {}


def test_a_wrong_new_value_is_found() -> None:
    def wrong(op: Any, x: Any, other: Any) -> Any:
        return x - other

    def write(x: Any) -> Any:
        x.mul_(3)
        return x.sum() * 0

    with pytest.raises(errors.ExportError, match="new value of x"):
        ow.export(write, (X,), custom_translation_table={"aten::mul.Tensor": wrong}, verify=True)


def test_tensors_without_plain_numbers_are_told(program: Any) -> None:
    fake = torch._subclasses.FakeTensorMode().from_tensor(X)
    for value, words in (
        (X.to_sparse(), "a tensor of the layout sparse_coo"),
        (torch.quantize_per_tensor(X, 0.1, 0, torch.qint8), r"a quantized tensor \(qint8\)"),
        (fake, "a fake tensor"),
        (X.to("meta"), "the meta device"),
        (np.zeros((2, 8), "M8[s]"), "an array of datetime64"),
    ):
        with pytest.raises(errors.ExportTypeError, match=words):
            program(value)


def test_one_name_is_one_size() -> None:
    """ONNX Runtime would stretch a size of 1, where PyTorch says that the sizes differ."""
    made = ow.export(lambda x, y: x + y, (X, X + 1), dynamic_shapes=({0: "n"}, {0: "n"}))
    torch.testing.assert_close(made(X[:1], X[:1]), X[:1] * 2)
    words = "`n` is 2 in axis 0 of `x`, and 1 in axis 0 of `y`"
    with pytest.raises(errors.ExportTypeError, match=words):
        made(X, X[:1])


def test_a_check_on_inputs_that_do_not_fit_is_no_success(program: Any) -> None:
    found = program.verify((X.double(),))
    assert not found.ok
    assert "PyTorch does not run the program on given inputs" in found.summary()
    for check in (program.verify, program.first_divergence):
        with pytest.raises(errors.ExportValueError, match="`args`: an object of type Tensor"):
            check(X)


def test_a_bisection_blames_no_module_for_its_arguments() -> None:
    layer = torch.nn.Linear(8, 3)
    for args, options, words in (
        (X, {}, "`args`: an object of type Tensor"),
        ((), {}, "missing a required argument"),
        ((X,), {"opset_version": 3}, "3 is not possible"),
    ):
        with pytest.raises(errors.ExportValueError, match=words):
            ow.export_bisect(layer, args, **options)


def test_options_serve_several_sessions() -> None:
    """Nothing of one model stays in them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    x = torch.randn(2, 64)
    for size in (8, 4):
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, size)).eval()
        program = ow.export(model, (x,))
        for _ in range(2):
            program.initialize_inference_session(session_options=options)
        torch.testing.assert_close(program(x), model(x).detach())
