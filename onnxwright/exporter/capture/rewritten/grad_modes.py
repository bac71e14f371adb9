"""`torch.no_grad()` of programs that decide: an inference model has no use for it.

PyTorch makes a part of its own of what stands in such a block, and loses the graphs of branches and
loops in it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from onnxwright.exporter.capture.replacements.changes import Changes

try:
    from torch._export.passes import replace_set_grad_with_hop_pass as passes
except ImportError:  # a release of torch that does it elsewhere
    passes = None

_NAME = "replace_set_grad_with_hop_pass"


def drop_grad_modes(changes: Changes, _: Any) -> None:
    """Let captured programs not switch the recording of gradients.

    Args:
        changes: undo it.
    """
    module: Any = passes
    replace = getattr(module, _NAME, None)
    if replace is None:
        return

    def dropped(graph_module: fx.GraphModule, *args: Any) -> Any:
        inner = [m for m in graph_module.modules() if isinstance(m, fx.GraphModule)]
        for node in [n for m in inner for n in m.graph.nodes]:
            if node.target is torch._C._set_grad_enabled:
                node.graph.erase_node(node)
        return replace(graph_module, *args)

    changes.attribute(module, _NAME, dropped)
