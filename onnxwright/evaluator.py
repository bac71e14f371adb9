"""onnxscript's module `evaluator`, which can also be called: `with onnxwright.evaluator("ort"):`.

The module and the function have one name, so the module is callable.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from onnxwright.eager import Evaluator, OrtEvaluator, ReferenceEvaluator
from onnxwright.eager import evaluator as default_as
from onnxwright.eager import set_default_evaluator as set_default
from onnxwright.eager.select import current as default
from onnxwright.errors import EagerError

ORTEvaluator = OrtEvaluator
EagerModeError = EagerError
OnnxReferenceRuntimeEvaluator = ReferenceEvaluator


def ORTMixedEvaluator(**options: Any) -> OrtEvaluator:  # noqa: N802 - a class in onnxscript
    """ONNX Runtime, and onnx's reference implementation for what it has no kernel for.

    Args:
        options: as for `OrtEvaluator`.

    Example:
        >>> with default_as(ORTMixedEvaluator()) as chosen:
        ...     chosen is default()
        True
    """
    return OrtEvaluator(**{"fallback": "reference", **options})


def __getattr__(name: str) -> Any:
    if name in ("ort_evaluator", "ort_mixed_evaluator"):
        evaluator = (ORTEvaluator if name == "ort_evaluator" else ORTMixedEvaluator)()
        globals()[name] = evaluator
        return evaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _CallableModule(ModuleType):
    # Without its example, which calls the function by the name that the package has for it.
    __doc__ = (default_as.__doc__ or "").partition("Example:")[0].rstrip()

    def __call__(self, *args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
        return default_as(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule

__all__ = [
    "EagerModeError",
    "Evaluator",
    "ORTEvaluator",
    "ORTMixedEvaluator",
    "OnnxReferenceRuntimeEvaluator",
    "default",
    "default_as",
    "set_default",
]
