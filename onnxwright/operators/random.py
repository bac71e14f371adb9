"""Operators that draw random numbers, Dropout among them."""

from __future__ import annotations

from onnxwright.operators.attribute_faults import normal_fault, uniform_fault
from onnxwright.operators.flops import free
from onnxwright.operators.op_call import OpCall
from onnxwright.operators.record import NEVER, Change, OperatorFacts
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType


def _dropout_types(call: OpCall) -> list[OnnxType | None]:
    kind = call.tensor(0)
    mask = DType.BOOL if call.since >= 10 else kind.dtype
    types: list[OnnxType | None] = [kind, TensorType(mask, call.shape(0))]
    return types[: call.count]


FACTS = (
    OperatorFacts("Bernoulli", random=True, folding=NEVER),
    OperatorFacts(
        "Dropout",
        droppable_outputs=True,
        random=True,
        training="with training_mode (before 7, without is_test) it drops elements at random",
        infer=_dropout_types,
        folding=NEVER,
        flops=free,
        changes={
            7: Change("never drops; before, it did without is_test"),
            10: Change(
                "the mask is BOOL; before, of the type of the data", one_output_is_same=True
            ),
        },
    ),
    OperatorFacts("Multinomial", random=True, folding=NEVER),
    OperatorFacts("RandomNormal", random=True, folding=NEVER, attribute_fault=normal_fault),
    OperatorFacts("RandomNormalLike", random=True, folding=NEVER, attribute_fault=normal_fault),
    OperatorFacts("RandomUniform", random=True, folding=NEVER, attribute_fault=uniform_fault),
    OperatorFacts("RandomUniformLike", random=True, folding=NEVER, attribute_fault=uniform_fault),
)
