"""What a user reads when an export fails: the line, the module, the reason, and what to do."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxwright as ow
from onnxwright import errors
from tests.harness.tables import each

X = torch.linspace(-1, 1, 16).reshape(2, 8)
LAYER = torch.nn.Linear(8, 3).eval()


def _text(model: Any, *args: Any, **options: Any) -> str:
    """The message of an export that fails; it points into this file and names no file of ours."""
    with pytest.raises(errors.ExportError) as caught:
        ow.export(model, *(args or ((X,),)), **options)
    text = str(caught.value)
    assert "onnxwright/exporter" not in text
    assert __file__ in text or "torch/nn" in text
    return text


# -- functions of the user's -----------------------------------------------------------------------


def too_few(op: Any, x: Any) -> Any:
    return x


def fails(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    return x.upside_down()


def no_operator(op: Any, x: Any, w: Any, b: Any = None) -> Any:
    return op.Foo(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (too_few, ("takes 2 positional arguments but 4", "def too_few(op", "bias: FLOAT[3]")),
        (fails, ("AttributeError", "return x.upside_down()", "in this function")),
        (no_operator, ("opset23 has no operator `Foo`", "return op.Foo(x)")),
        (lambda op, x, w, b: None, ("gives None, a value that `op` made is wanted",)),
        (lambda op, x, w, b: "text", ("gives a str, a value",)),
        (lambda op, x, w, b: torch.ones(2, 3), ("gives a torch.Tensor, a value",)),
        (lambda op, x, w, b: (x, x), ("gives 2 values, one is wanted",)),
        (lambda op, x, w, b: op.Cast(x, to=7), ("gives INT64[2, 8], PyTorch has FLOAT[2, 3]",)),
        (lambda op, x, w, b: x, ("gives FLOAT[2, 8], PyTorch has FLOAT[2, 3]",)),
    ],
)
def test_a_function_that_is_wrong_is_shown(function: Any, words: tuple[str, ...]) -> None:
    """With the line of the function, and the types it is given."""
    text = _text(LAYER, custom_translation_table={"aten::linear": function})
    for part in (*words, "aten::linear(input: FLOAT[2, 8], weight: FLOAT[3, 8], bias: FLOAT[3])"):
        assert part in text, part


def test_several_results_are_counted() -> None:
    def topk(x: Any) -> Any:
        return torch.topk(x, 2)

    text = _text(topk, custom_translation_table={"aten::topk": lambda op, x, k: x})
    assert "gives one value, a tuple of 2 is wanted" in text
    text = _text(topk, custom_translation_table={"aten::topk": lambda op, x, k: (x, x, x)})
    assert "gives 3 values, 2 are wanted" in text
    text = _text(topk, custom_translation_table={"aten::topk": lambda op, x, k: (x, "y")})
    assert "value 1 of the function is a str" in text


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "3 is not an operator"),
        (torch.relu, "relu` is not an operator"),
        ("linear", "not a full name of an operator"),
    ],
)
def test_a_key_that_is_no_operator_is_said(key: Any, words: str) -> None:
    text = _text(LAYER, custom_translation_table={key: too_few})
    assert words in text
    assert "aten::add.Tensor" in text


def test_keys_may_be_operators_of_every_kind() -> None:
    """An overload, all overloads, what `custom_op` makes, and a function on sizes."""
    import operator

    @torch.library.custom_op("messages::twice", mutates_args=())  # type: ignore[misc]
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x + x

    @twice.register_fake  # type: ignore[misc]
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    def program(x: Any) -> Any:
        return torch.relu(twice(x)) + x.shape[0] * 2

    table = {
        twice: lambda op, x: op.Add(x, x),
        torch.ops.aten.relu.default: lambda op, x: op.LeakyRelu(x, alpha=0.0),
        torch.ops.aten.add: lambda op, x, y: op.Sum(x, op.CastLike(y, x)),
        operator.mul: lambda op, x, y: op.Mul(x, y),
    }
    made = ow.export(
        program, (X,), dynamic_shapes=({0: "n"},), custom_translation_table=table, verify=True
    )
    kinds = {node.op_type for node in made.model.graph}
    assert {"LeakyRelu", "Sum"} <= kinds
    assert not kinds & {"Relu"}


# -- arguments -------------------------------------------------------------------------------------


@each(
    ("options", "words"),
    [
        ({"input_names": [1]}, "`input_names`: 1 is not a name"),
        ({"input_names": [""]}, "`input_names`: '' is not a name"),
        ({"output_names": ["input"]}, "`output_names`: `input` is an input"),
        ({"external_data": "beside"}, "choose None, True, False or 'per_tensor'"),
        ({"opset_version": True}, "True is not possible"),
        ({"opset_version": 6}, "choose 7 to 26"),
        ({"opset_version": 99}, "choose 7 to 26, the newest runnable opset\n"),
        ({"dynamic_shapes": ({0: 3.5},)}, "3.5 for a dimension"),
        ({"dynamic_shapes": ({0: ""},)}, "'' for a dimension"),
        ({"dynamic_shapes": ({0: 3},)}, "the size 3, where the example input has 2"),
        ({"capture": lambda *_: 3}, "gave an object of type int"),
        ({"capture": 3}, "choose one of 'auto', 'non-strict', 'strict'"),
    ],
)
def test_an_argument_that_cannot_be_is_said(options: dict[str, Any], words: str) -> None:
    assert words in _text(LAYER, **options) + "\n"


def test_the_way_of_torch_onnx_to_name_a_file_is_said() -> None:
    text = _text(LAYER, (X,), "model.onnx")
    assert "`export(...).save('model.onnx')`" in text


@each(
    ("args", "kwargs", "words"),
    [
        ((), {}, "missing a required argument: 'input' for `forward(input)`"),
        ((X, X), {}, "too many positional arguments for `forward(input)`"),
        ((X,), {"other": X}, "unexpected keyword argument 'other' for `forward(input)`"),
    ],
)
def test_inputs_that_do_not_fit_forward_are_said(args: Any, kwargs: Any, words: str) -> None:
    assert words in _text(LAYER, args, kwargs)


def test_a_captured_program_takes_no_dynamic_shapes() -> None:
    program = torch.export.export(LAYER, (X,))
    text = _text(program, (X,), dynamic_shapes=({0: "n"},))
    assert "captured already" in text
    assert "captured already" in _text(program, capture="strict")


def test_a_file_that_is_no_program_is_said_without_a_log(tmp_path, capfd) -> None:
    (tmp_path / "broken.pt2").write_bytes(b"abc")
    torch.save(LAYER.state_dict(), tmp_path / "weights.pt")
    for name in ("broken.pt2", "weights.pt", "missing.pt2"):
        text = _text(tmp_path / name, ())
        assert f"{name}` is not an exported program" in text
    assert capfd.readouterr().err == ""


def test_no_log_of_torch_about_axes_that_are_none(capfd: pytest.CaptureFixture[str]) -> None:
    """`None` for an axis is a form of ours, too."""
    made = ow.export(LAYER, (X,), dynamic_shapes={"input": ["batch", None]})
    assert str(made.model.graph.inputs[0].shape) == "[batch,8]"
    assert capfd.readouterr().err == ""


# -- programs --------------------------------------------------------------------------------------


def test_what_cannot_be_a_result_is_said() -> None:
    class Box:
        pass

    text = _text(lambda x: (x, Box()))
    assert "register_dataclass" in text
    packed = torch.nn.utils.rnn.pack_sequence
    text = _text(lambda x: packed([x, x[:2]]).data, (torch.zeros(3, 2),))
    assert "run the recurrent module on the padded batch" in text


def test_tensors_of_modules_without_numbers_are_said() -> None:
    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(3)
    assert "Hold it as a buffer" in _text(lambda x: x + fake, (torch.zeros(3),))
    meta = torch.ones(3, device="meta")
    assert "on one device" in _text(lambda x: x + meta, (torch.zeros(3),))


def test_an_error_of_the_model_is_told_from_one_of_torch() -> None:
    def checks(x: Any) -> Any:
        if x.shape[1] != 4:
            raise ValueError("four columns, please")
        return x

    text = _text(checks)
    assert "four columns, please" in text
    assert 'raise ValueError("four columns, please")' in text
    assert "does the model run on these inputs?" in text
    assert "take numbers by `x.item()`" in _text(lambda x: x * float(x.numpy().max()))


def test_shapes_that_do_not_fit_the_model_are_said() -> None:
    assert "do not fit the model" in _text(LAYER, (X[:, :3],))


def test_an_operator_without_a_fake_is_told_what_to_do() -> None:
    @torch.library.custom_op("messages::unknown", mutates_args=())  # type: ignore[misc]
    def unknown(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def program(x: Any) -> Any:
        return unknown(x) * 2

    assert "register_fake" in _text(program)
    with pytest.warns(errors.OnnxwrightWarning, match="fake kernel"):
        made = ow.export(
            program, (X,), capture="draft", custom_translation_table={unknown: lambda op, x: x + 1}
        )
    torch.testing.assert_close(made(X), (X + 1) * 2)


def test_a_draft_says_what_it_assumes() -> None:
    class Choice(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            if x.sum() > 100:
                return x * 2
            return x - 1

    with pytest.warns(errors.OnnxwrightWarning, match="OW830") as caught:
        made = ow.export(Choice(), (X,), capture="draft")
    text = str(caught[0].message)
    assert "if x.sum() > 100:" in text
    assert "is always" in text
    torch.testing.assert_close(made(X), X - 1)
    assert "OW830" in made.report.warnings[0]
    assert [o.strategy for o in made.report.captures] == ["draft"]


def test_a_draft_without_assumptions_warns_of_nothing() -> None:
    made = ow.export(LAYER, (X,), capture="draft", verify=True)
    assert made.report.warnings == []


def test_a_fault_of_ours_is_wrapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No exception of the inside reaches the user as it is."""
    from onnxwright.exporter import api

    def broken(*_: Any) -> None:
        raise KeyError("inside")

    monkeypatch.setattr(api, "build", broken)
    with pytest.raises(errors.InternalError, match="OW901") as caught:
        ow.export(LAYER, (X,))
    assert "KeyError: 'inside'" in str(caught.value)
    assert __file__ in str(caught.value)
    assert caught.value.report is not None
    assert isinstance(caught.value.__cause__, KeyError)


# -- lines -----------------------------------------------------------------------------------------


def helper(x: Any) -> Any:
    return torch.relu(x)


def test_the_line_of_a_helper_is_shown() -> None:
    """Of a function that is exported, and of one that a module calls; callers are kept, too."""

    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return self.inner(x)

        def inner(self, x: Any) -> Any:
            return helper(x)

    table = {"aten::relu": too_few}
    for model in (helper, Module(), torch.nn.Sequential(Module())):
        made = ow.export(model, (X,), custom_translation_table=table)
        (node,) = (n for n in made.exported_program.graph.nodes if n.op == "call_function")
        trace = node.meta["stack_trace"]
        assert "return torch.relu(x)" in trace
        assert "onnxwright/exporter" not in trace
        assert "ow.export" not in trace
    assert trace.index("in forward") < trace.index("in inner") < trace.index("in helper")
    text = _text(helper, custom_translation_table={"aten::relu": lambda op, x: None})
    assert "return torch.relu(x)" in text


class Ordered:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __lt__(self, other: Any) -> bool:
        return bool(self.tensor.sum() < other.tensor.sum())


def test_a_method_that_python_calls_itself_is_not_rewritten() -> None:
    text = _text(lambda x: x if Ordered(x) < Ordered(-x) else -x)
    assert "return bool(self.tensor.sum() < other.tensor.sum())" in text
    assert "a method that Python calls itself, such as `__bool__`" in text
    assert "capture='source'" not in text
