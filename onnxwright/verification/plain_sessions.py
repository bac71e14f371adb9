"""Sessions of ONNX Runtime without its own optimizations: results are those of the model."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import onnxruntime

from onnxwright.eager.ort import model_sources
from onnxwright.eager.ort.function_names import with_own_names
from onnxwright.eager.ort.model_sources import ModelSource, source_of
from onnxwright.ir.saving import save


class PlainSession:
    """One session of a model, on the CPU, in one thread.

    Args:
        model: a ModelProto, an `onnx_ir.Model`, or a path; large weights are not copied.

    Raises:
        Exception: the runtime refuses the model.
    """

    def __init__(self, model: Any) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Plans of buffers go by the names of sizes, which scan outputs of no iteration do not keep.
        options.enable_mem_reuse = False
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # A kernel would otherwise keep another copy of its weights.
        options.add_session_config_entry("session.disable_prepacking", "1")
        if isinstance(model, onnx.ModelProto):  # as it is: a test may want what the runtime says
            source = ModelSource(None, with_own_names(model).SerializeToString())
        elif _is_computed(model):
            # Weights that are computed when they are read: one at a time, not all at once.
            folder = tempfile.mkdtemp(prefix="onnxwright-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            source = ModelSource(None, str(save(model, Path(folder) / "model.onnx")))
        else:
            source = source_of(model)
        self._weights = source.configure(options)
        self._session = onnxruntime.InferenceSession(
            source.data, options, providers=["CPUExecutionProvider"]
        )

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs of the model.

        Args:
            feeds: arrays by the names of the inputs.

        Returns:
            The outputs in the order of the model.
        """
        outputs: list[Any] = self._session.run(None, dict(feeds))
        return outputs


def _is_computed(model: Any) -> bool:
    """Whether most of a large model are weights that are computed from others when read."""
    if not isinstance(model, ir.Model):
        return False
    tensors = [v.const_value for v in model.graph.initializers.values()]
    lazy = [int(t.nbytes) for t in tensors if isinstance(t, ir.LazyTensor)]
    return sum(lazy) > model_sources.LIMIT
