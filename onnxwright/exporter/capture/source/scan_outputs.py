"""`onnxwright::scan_output`: what all iterations of a `while_loop` give, as rows of one tensor.

`while_loop` of torch gives what its last iteration leaves.  A loop that only adds rows to a list
needs all of them: the body gives a row as one more carried value, which no iteration reads, and
this operator stands for the rows of all iterations.  In the ONNX model it is a scan output of Loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import torch


@torch.library.custom_op(  # type: ignore[untyped-decorator] # torch's own
    "onnxwright::scan_output", mutates_args=()
)
def scan_output(
    last: torch.Tensor,
    count: Optional[int],  # noqa: UP045 - torch reads the annotation
    sizes: Sequence[int],
) -> torch.Tensor:
    """The rows of all iterations, `[iterations, *sizes]`.

    Args:
        last: a result of `while_loop`, the row of the last iteration.
        count: how many iterations there are; None where only the model knows it.
        sizes: those of a row.
    """
    raise NotImplementedError("a scan output has its rows in the exported model only")


@scan_output.register_fake  # type: ignore[untyped-decorator] # torch's own
def _(last: Any, count: Any, sizes: Any) -> Any:
    if count is None:
        count = torch.library.get_ctx().new_dynamic_size()
    return last.new_empty([count, *sizes])
