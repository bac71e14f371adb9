"""OpInfos that cannot be exported as a module of one operator, with the one reason of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from onnxwright.atenlib.optest import Matcher, XFail


@dataclass(frozen=True)
class Fails(XFail):
    """A known failure of an export.

    Fields:
        says: text that the failure has to have.

    Example:
        >>> Fails("torch has no fake kernel", says="OW821").says
        'OW821'
    """

    says: str = ""


def _has_scalar_sections(sample: Any) -> bool:
    """Whether `tensor_split` gets the number of parts as a tensor."""
    return isinstance(sample.args[0], torch.Tensor) and sample.args[0].ndim == 0


def _known(
    reason: str,
    says: str,
    *names: str,
    dtypes: tuple[str, ...] = (),
    matcher: Matcher | None = None,
) -> list[tuple[str, Fails]]:
    return [(name, Fails(reason, dtypes, matcher, says=says)) for name in names]


_ROWS = [
    *_known(
        "ONNX has no sparse tensors that operators take",
        "OW838",
        "to_sparse",
        "sparse.sampled_addmm",
        "sparse.mm:reduce",
    ),
    *_known(
        "torch cannot capture a complex number that is an element of a tensor",
        "OW821",
        "item",
        dtypes=("complex64",),
    ),
    *_known(
        "ONNX has no complex numbers of halves: they are taken as COMPLEX64",
        "torch has torch.complex32",
        "chalf",
    ),
    *_known(
        "the number of parts is an element of a tensor: torch cannot capture it",
        "OW821",
        "tensor_split",
        matcher=_has_scalar_sections,
    ),
]

KNOWN: dict[str, list[Fails]] = {}
"""By the name of the OpInfo."""
for _name, _fails in _ROWS:
    KNOWN.setdefault(_name, []).append(_fails)
