"""Changes that several operators share, as tables: what became an input, was renamed or dropped.

Source of each row: the schemas of ONNX before and from the version on.
"""

from __future__ import annotations

from typing import Any

from onnxwright.operators.reduction import REDUCTIONS
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.ops import Ops
from onnxwright.versions.call import KEEP, Adapter, Call, Refused, up

REDUCE = tuple(name for name in REDUCTIONS if name != "ReduceSum")

# Attributes that are inputs from a version on, in the order of the inputs behind the first.
_BECAME_INPUTS: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {
    (5, ("Reshape",)): ("shape",),
    (10, ("Slice",)): ("starts", "ends", "axes"),
    (10, ("TopK",)): ("k",),
    (13, ("ReduceSum", "Squeeze", "Unsqueeze")): ("axes",),
    (13, ("Split",)): ("split",),
    (18, REDUCE): ("axes",),
}

# Attributes that say nothing from a version on.  `consumed_inputs` told runtimes which memory to
# reuse; `C` of Gemm always broadcasts; an output of a recurrent layer is there or not.
_DROPPED: dict[tuple[int, tuple[str, ...]], str] = {
    (6, (
        "Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp",
        "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min",
        "Mul", "Neg", "PRelu", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh",
    )): "consumed_inputs",
    (7, ("Gemm",)): "broadcast",
    (7, ("GRU", "LSTM", "RNN")): "output_sequence",
}  # fmt: skip

# Attributes with another default from a version on, and the value that they had without one.
_DEFAULTS: dict[tuple[int, str], dict[str, Any]] = {
    (4, "Concat"): {"axis": 1},
    (16, "RoiAlign"): {"coordinate_transformation_mode": "output_half_pixel"},
}

_RENAMED = {(10, "Upsample"): "Resize", (11, "Scatter"): "ScatterElements"}


def _with_inputs(names: tuple[str, ...]) -> Adapter:
    """Attributes as constants that are inputs; an empty list is an absent optional input."""

    def adapter(op: Ops, call: Call) -> Any:
        there = op.opset[call.name].signature
        assert there is not None
        inputs: list[GraphValue | None] = [call.input(0)]
        for name, param in zip(names, there.inputs[1:]):
            value, optional = call.attr(name), param.option == "optional"
            if value is None and not optional:
                raise Refused(f"its attribute `{name}` is missing", "repair the model")
            numbers = [value] if isinstance(value, int) else list(value or ())
            inputs.append(call.int64(op, numbers) if numbers or not optional else None)
        kept = {n: v for n, v in call.attributes.items() if n in there.attributes}
        return call.same(op, inputs, kept)

    return adapter


def _without(name: str) -> Adapter:
    def adapter(op: Ops, call: Call) -> Any:
        return call.same(op, None, call.without(name)) if call.has_attr(name) else KEEP

    return adapter


def _with_default(defaults: dict[str, Any]) -> Adapter:
    def adapter(op: Ops, call: Call) -> Any:
        values = {name: call.attr(name, value) for name, value in defaults.items()}
        return call.same(op, None, call.without(**values))

    return adapter


def _called(name: str) -> Adapter:
    return lambda op, call: call.same(op, name=name)


def _register(version: int, names: tuple[str, ...], adapter: Adapter, words: str) -> None:
    adapter.__doc__ = f"{words}  Source: ONNX {', '.join(names)} {version}."
    up(version, *names)(adapter)


for (_version, _names), _attributes in _BECAME_INPUTS.items():
    _register(_version, _names, _with_inputs(_attributes), f"{_attributes} are inputs.")
for (_version, _names), _attribute in _DROPPED.items():
    _register(_version, _names, _without(_attribute), f"`{_attribute}` says nothing.")
for (_version, _name), _values in _DEFAULTS.items():
    _register(_version, (_name,), _with_default(_values), f"Without them: {_values}.")
for (_version, _name), _new_name in _RENAMED.items():
    _register(_version, (_name,), _called(_new_name), f"It is called {_new_name}.")
