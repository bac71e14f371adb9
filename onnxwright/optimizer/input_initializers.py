"""Initializers that are inputs as well: constants in IR version 3, defaults from version 4 on."""

from __future__ import annotations

import onnx_ir as ir

from onnxwright.ir.ir_versions import DEFAULTS


def constant_initializers(
    model: ir.Model, *, assumed: bool
) -> tuple[ir.Model, tuple[str, ...], tuple[str, ...]]:
    """A model in which initializers that no caller replaces are not inputs.

    In IR version 3 every initializer has to be an input, and ONNX Runtime takes it for a constant.
    From version 4 on an initializer that is an input is its default: a caller may replace it.

    Args:
        model: the model; it is not changed.
        assumed: whether the caller promises that no run replaces them.

    Returns:
        The model, the initializers that left the inputs, and those that stay inputs.

    Source:
        ONNX IR specification, "Graphs", versions 3 and 4.
    """
    names = tuple(str(v.name) for v in model.graph.inputs if v.name in model.graph.initializers)
    if not names or (model.ir_version >= DEFAULTS and not assumed):
        return model, (), names
    made = model.clone()
    kept = [v for v in made.graph.inputs if v.name not in made.graph.initializers]
    made.graph.inputs.clear()
    made.graph.inputs.extend(kept)
    made.ir_version = max(made.ir_version, DEFAULTS)
    return made, names, ()
