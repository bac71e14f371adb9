"""Files written for onnxscript or torch.onnx, rewritten for this package: imports and names."""

from __future__ import annotations

import ast

from onnxwright.cli.migrate.annotations import to_annotated, to_brackets
from onnxwright.cli.migrate.onnxscript_names import rewrite_onnxscript
from onnxwright.cli.migrate.source import Migrated, Note, Source
from onnxwright.cli.migrate.torch_onnx_names import rewrite_torch_onnx

# Calls whose first argument names a module, or an object in one.
_TAKES_A_NAME = frozenset(
    {"import_module", "importorskip", "__import__", "find_spec", "patch", "is_package_available"}
)


def migrate(text: str) -> Migrated:
    """Rewrite the imports of a file written for onnxscript or torch.onnx.

    Calls of `torch.onnx.export` become calls of `torch_onnx.export`, with the import they need.
    What has no counterpart is left as it is, and each place that uses it has a note.

    Returns:
        The new text, with notes on what it does not settle.

    Raises:
        SyntaxError: it is not Python.

    Example:
        >>> migrate("from onnxscript import script").text
        'from onnxwright import script'
    """
    source = Source(text)
    rewrite_onnxscript(source)
    rewrite_torch_onnx(source)
    for node in source.nodes(ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _TAKES_A_NAME and node.args and isinstance(node.args[0], ast.Constant):
            named = str(node.args[0].value)
            if named.startswith(("onnxscript", "torch.onnx")):
                source.note(node, f"`{named}` is named in a string, which is left as it is")
    return source.result()


__all__ = ["Migrated", "Note", "migrate", "to_annotated", "to_brackets"]
