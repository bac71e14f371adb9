"""What must hold of a model that comes from outside, checked before anything else reads it."""

from __future__ import annotations

from onnxwright.ir.validation.damage import Damage
from onnxwright.ir.validation.external import Files
from onnxwright.ir.validation.model import Form, check_model

__all__ = ["Damage", "Files", "Form", "check_model"]
