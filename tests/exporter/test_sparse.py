"""Sparse weights, inputs and results are refused; what is sparse in between is computed."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import onnxwright as ow
from tests.harness.tables import each

DENSE = torch.tensor(
    [[0.0, 2, 0, 0, 1, 0], [0, 0, 0, 3, 0, 0], [0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, -1]]
)
# Torch warns once of each layout that it is young.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    LAYOUTS: dict[str, Any] = {
        "coo": DENSE.to_sparse(),
        "uncoalesced": torch.sparse_coo_tensor(
            [[0, 0, 1], [1, 1, 2]], [1.0, 2.0, 3.0], (4, 6), check_invariants=True
        ),
        "csr": DENSE.to_sparse_csr(),
        "csc": DENSE.to_sparse_csc(),
        "bsr": DENSE.to_sparse_bsr((2, 2)),
        "bsc": DENSE.to_sparse_bsc((2, 2)),
        "hybrid": DENSE.to_sparse(1),
    }
USES: dict[str, Callable[[Any, Any], Any]] = {
    "to_dense": lambda w, x: x + w.to_dense(),
    "mm": lambda w, x: torch.sparse.mm(w, x.T),
    "scaled": lambda w, x: (w * 2).to_dense() + x,
}


class Holder(torch.nn.Module):  # type: ignore[misc]
    """Uses a sparse tensor that it holds in one way or another."""

    def __init__(self, kind: str, tensor: Any, use: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        if kind == "parameter":
            self.w = torch.nn.Parameter(tensor)
        elif kind == "buffer":
            self.register_buffer("w", tensor)
        else:
            self.w = tensor
        self.use = use

    def forward(self, x: Any) -> Any:
        return self.use(self.w, x)


KINDS = ("buffer", "parameter", "attribute")


@each(
    ("layout", "kind", "use"),
    [
        *(("coo", kind, use) for kind in KINDS for use in USES),
        *zip(LAYOUTS, itertools.cycle(KINDS), itertools.cycle(USES)),
    ],
)
def test_a_sparse_weight_is_refused(layout: str, kind: str, use: str) -> None:
    module = Holder(kind, LAYOUTS[layout], USES[use]).eval()
    with pytest.raises(ow.errors.ExportError, match="OW838.*`w` is sparse.*\n(.*\n)*.*to_dense"):
        ow.export(module, (torch.randn(4, 6),))


def test_a_captured_program_and_products_of_other_sizes_are_refused() -> None:
    module, x = Holder("buffer", LAYOUTS["coo"], USES["mm"]), torch.randn(4, 6)
    with pytest.raises(ow.errors.ExportError, match="OW838.*`w` is sparse"):
        ow.export(torch.export.export(module, (x,)))
    held = torch.eye(4).to_sparse_csr()
    with pytest.raises(ow.errors.ExportError, match=r"OW821(.*\n)*.*`to_dense\(\)`"):
        ow.export(lambda x: held @ x, (x,))
    n = ({1: torch.export.Dim("n")},)
    with pytest.raises(ow.errors.ExportError, match=r"OW821(.*\n)*.*`to_dense\(\)`"):
        ow.export(lambda x: torch.eye(4).to_sparse() @ x, (x,), dynamic_shapes=n)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.to_sparse().to_dense(),
        lambda x: x.to_sparse_csr().to_dense(),
        lambda x: x.to_sparse_bsr((2, 2)).to_dense(),
        lambda x: torch.sparse.mm(x.to_sparse(), x.T),
        lambda x: (x.to_sparse(1) * 2).coalesce().to_dense(),
    ],
)
def test_sparse_in_between(function: Any) -> None:
    torch.testing.assert_close(ow.export(function, (DENSE,))(DENSE + 0), function(DENSE))


@pytest.mark.parametrize(
    "function",
    [
        lambda edges, w: torch.sparse_coo_tensor(edges, w, (4, 4)).coalesce() @ torch.eye(4),
        lambda edges, w: torch.sparse_coo_tensor(edges, w > 0, (4, 4)).to_dense(),
        lambda edges, w: torch.sparse_coo_tensor(edges, w[:, None], (4, 4, 1)).to_dense(),
        lambda edges, w: torch.sparse_coo_tensor(edges, w, (4, 4), dtype=torch.double).to_dense(),
    ],
)
def test_a_matrix_of_edges(function: Any) -> None:
    count = {"edges": {1: torch.export.Dim("e")}, "w": {0: torch.export.Dim("e")}}
    program = ow.export(
        function, (torch.tensor([[0, 1], [2, 3]]), DENSE[0, :2]), dynamic_shapes=count
    )
    for edges in ([[0, 0, 3], [1, 1, 2]], [[3], [3]]):
        given = torch.tensor(edges), torch.randn(len(edges[0]))
        torch.testing.assert_close(program(*given), function(*given))


def test_sparse_inputs_and_results_are_refused() -> None:
    with pytest.raises(ow.errors.ExportError, match="OW838.*the result"):
        ow.export(lambda x: (x.to_sparse(), x), (DENSE,))
    with pytest.raises(ow.errors.ExportError, match="OW838.*the input"):
        ow.export(lambda x: x.to_dense() + 1, (LAYOUTS["coo"],))


def test_parts_of_a_sparse_tensor_are_refused() -> None:
    with pytest.raises(ow.errors.ExportError, match="OW822|OW838"):
        ow.export(lambda x: x.to_sparse().coalesce().values().sum(), (DENSE,))
