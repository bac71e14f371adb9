"""Several functions in one file: a model that holds functions and an empty graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import onnx

from onnxwright.dsl.function import ScriptFunction
from onnxwright.ir.ir_versions import lowest_ir_version
from onnxwright.ir.writing import write_file


def export_onnx_lib(
    functions: Sequence[ScriptFunction[Any, Any]], filename: str | os.PathLike[str]
) -> None:
    """Write functions to a file that other models can take them from.

    Args:
        functions: the functions, each once; the functions they call are not added.
        filename: the path of the file; an older file is replaced at the end.

    Raises:
        ScriptError: one of them cannot be an ONNX function on its own.
        OSError: the file cannot be written.

    Source:
        onnx.proto: a ModelProto with functions and a graph without nodes, since ONNX has no
        message for libraries in use.

    Example:
        >>> import tempfile
        >>> from onnxwright import FLOAT, script
        >>> @script
        ... def twice(x: FLOAT) -> FLOAT:
        ...     return x + x
        >>> path = tempfile.mkdtemp() + "/library.onnx"
        >>> export_onnx_lib([twice], path)
        >>> [function.name for function in onnx.load(path).functions]
        ['twice']
    """
    protos = [function.to_function_proto() for function in functions]
    versions: dict[str, int] = {}
    for proto in protos:
        for entry in proto.opset_import:
            versions[entry.domain] = max(entry.version, versions.get(entry.domain, 1))
    imports = [onnx.helper.make_opsetid(d, v) for d, v in versions.items()]
    graph = onnx.helper.make_graph([], "library", [], [])
    model = onnx.helper.make_model(
        graph, functions=protos, opset_imports=imports, producer_name="onnxwright"
    )
    model.ir_version = lowest_ir_version(versions, (), least=8)
    write_file(filename, model.SerializeToString())
