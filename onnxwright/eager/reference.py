"""`ReferenceEvaluator`: each operator runs in onnx's own reference implementation, in numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxwright.eager.contrib import reference_operators
from onnxwright.eager.failures import fail_op
from onnxwright.eager.reference_calls import reference_results
from onnxwright.eager.values import Value
from onnxwright.opset.op import Op


class ReferenceEvaluator:
    """Runs operators with `onnx.reference`: slow, but it knows every type and every operator.

    It also knows operators of ONNX Runtime's domain com.microsoft: those that `optimize` and
    `quantize_weights` write into models, and the common ones of other tools.

    Args:
        new_ops: implementations of custom operators, classes of `onnx.reference.op_run.OpRun`.
        ignore_unknown_function_kwargs: whether calls of scripts drop keywords that the script does
            not have; else such a call is an error (OW606).

    Example:
        >>> import numpy as np
        >>> from onnxwright.opset import opset18 as op
        >>> ReferenceEvaluator().run_op(op.Neg, [np.array([1.0], np.float32)], {}, 1)
        [array([-1.], dtype=float32)]
    """

    name = "onnx.reference"

    def __init__(
        self, new_ops: Sequence[Any] = (), *, ignore_unknown_function_kwargs: bool = False
    ) -> None:
        self.new_ops = list(new_ops)
        self.ignore_unknown_function_kwargs = ignore_unknown_function_kwargs

    def __repr__(self) -> str:
        return f"ReferenceEvaluator({self.new_ops!r})" if self.new_ops else "ReferenceEvaluator()"

    def run_op(
        self, op: Op, inputs: Sequence[Value], attributes: Mapping[str, Any], outputs: int
    ) -> Sequence[Value]:
        """The outputs of one operator.

        Args:
            op: the operator.
            inputs: arrays, sequences, maps; None is an absent input.
            attributes: the attributes that were given.
            outputs: how many outputs are wanted.

        Returns:
            One value for each output.

        Raises:
            EagerError: the reference implementation failed.
        """
        try:
            return reference_results(op, inputs, attributes, outputs, self._operators())
        except Exception as error:  # noqa: BLE001 - the reference raises every kind
            fail_op(self.name, op, inputs, attributes, error)

    def _operators(self) -> list[Any]:
        """The user's operators, and those of ONNX Runtime that the user does not give."""
        keys = {(kind.op_domain, kind.__name__) for kind in self.new_ops}
        own = [k for k in reference_operators() if (k.op_domain, k.__name__) not in keys]
        return [*self.new_ops, *own]
