"""Eager mode: operators and scripts run on values at once, through an evaluator of choice.

Importing this package makes `op.Add(x, y)` callable; the runtime itself is imported by the first
call.
"""

from onnxwright.eager.backend import EagerBackend, backend_for, backend_now
from onnxwright.eager.custom import forget, implement, implement_function
from onnxwright.eager.debugging.debugger import Debug, debug
from onnxwright.eager.debugging.divergence import Divergence, first_divergence
from onnxwright.eager.debugging.tracing import Trace, trace
from onnxwright.eager.dispatch import dispatch
from onnxwright.eager.evaluators import Evaluator
from onnxwright.eager.functions import call_function
from onnxwright.eager.interpreted_models import InterpretedModel as _InterpretedModel  # noqa: F401
from onnxwright.eager.operators import install as _install_operators  # noqa: F401 - on import
from onnxwright.eager.ort.compiled_models import CompiledModel, run_model
from onnxwright.eager.ort.evaluator import OrtEvaluator
from onnxwright.eager.reference import ReferenceEvaluator
from onnxwright.eager.select import default_evaluator, evaluator, set_default_evaluator
from onnxwright.eager.tensor import Tensor
from onnxwright.eager.values import MapValue, SequenceValue

__all__ = [
    "CompiledModel",
    "Debug",
    "Divergence",
    "EagerBackend",
    "Evaluator",
    "MapValue",
    "OrtEvaluator",
    "ReferenceEvaluator",
    "SequenceValue",
    "Tensor",
    "Trace",
    "backend_for",
    "backend_now",
    "call_function",
    "debug",
    "default_evaluator",
    "dispatch",
    "evaluator",
    "first_divergence",
    "forget",
    "implement",
    "implement_function",
    "run_model",
    "set_default_evaluator",
    "trace",
]
