"""Sparse parameters, buffers and constants are stored dense; sparse inputs and results refused."""

from __future__ import annotations

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
    "matmul": lambda w, x: w @ x.T,
    "mv": lambda w, x: torch.mv(w, x[0]),
    "add": lambda w, x: x + w,
    "transposed": lambda w, x: x @ w.t(),
    "scaled": lambda w, x: (w * 2).to_dense() + x,
    "sum": lambda w, x: torch.sparse.sum(w) + x,
    "sum_of_rows": lambda w, x: torch.sparse.sum(w, 1).to_dense() + x[:, 0],
    "addmm": lambda w, x: torch.sparse.addmm(torch.ones(4, 4), w, x.T, beta=2, alpha=3),
    "coalesce": lambda w, x: w.coalesce().to_dense() + x,
    "branch": lambda w, x: x + 1 if w.is_sparse or w.layout != torch.strided else x - 1,
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


# Use -> layouts for which torch itself has no such operator.
LACKING: dict[str, tuple[str, ...]] = {
    "mm": ("bsc", "hybrid"),
    "matmul": ("bsc", "hybrid"),
    "mv": ("bsc", "hybrid"),
    "add": ("bsr", "bsc"),
    "transposed": ("bsc", "hybrid"),
    "sum": ("csr", "csc", "bsr", "bsc"),
    "sum_of_rows": ("csr", "csc", "bsr", "bsc"),
    "addmm": ("bsc", "hybrid"),
    "coalesce": ("csr", "csc", "bsr", "bsc"),
}


@each(("use", "layout"), [(use, layout) for use, layouts in LACKING.items() for layout in layouts])
def test_torch_lacks_the_operator(use: str, layout: str) -> None:
    """When torch has it, it leaves the table, and is exported by the test below."""
    module = Holder("buffer", LAYOUTS[layout], USES[use])
    with pytest.raises((RuntimeError, NotImplementedError)):
        module(torch.randn(4, 6))


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("layout", "use"),
    [(layout, use) for layout in LAYOUTS for use in USES if layout not in LACKING.get(use, ())],
)
def test_a_sparse_weight_is_stored_dense(layout: str, use: str) -> None:
    tensor, x = LAYOUTS[layout], torch.randn(4, 6)
    kinds = ("buffer", "parameter", "attribute") if layout in ("coo", "csr") else ("buffer",)
    for kind in kinds:
        module = Holder(kind, tensor, USES[use]).eval()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            program = ow.export(module, (x,))
        texts = [str(w.message) for w in found if "OW837" in str(w.message)]
        assert len(texts) == (use != "branch"), texts
        assert [w for w in program.report.warnings if "OW837" in w] == texts
        torch.testing.assert_close(program(x), module(x).detach())
        assert program.verify((x,)).ok


@pytest.mark.parametrize("use", ["mm", "matmul", "transposed"])
@pytest.mark.parametrize("layout", ["coo", "csr", "bsr"])
@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_products_with_a_dynamic_number_of_rows(layout: str, use: str) -> None:
    module = Holder("buffer", LAYOUTS[layout], USES[use])
    program = ow.export(module, (DENSE,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    for rows in (1, 4, 9):
        x = torch.randn(rows, 6)
        torch.testing.assert_close(program(x), module(x))


def test_the_warning_says_how_large_it_gets() -> None:
    with pytest.warns(ow.errors.OnnxwrightWarning, match=r"`w` is sparse \(sparse_coo\).*96 bytes"):
        ow.export(Holder("buffer", LAYOUTS["coo"], USES["mm"]), (torch.ones(4, 6),))


@pytest.mark.filterwarnings("ignore::onnxwright.errors.OnnxwrightWarning")
def test_a_captured_program_and_a_file(tmp_path: Any) -> None:
    module, x = Holder("buffer", LAYOUTS["coo"], USES["mm"]), torch.randn(4, 6)
    captured = torch.export.export(module, (x,))
    torch.testing.assert_close(ow.export(captured)(x), module(x))
    assert captured.state_dict["w"].is_sparse


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
    with pytest.raises(ow.errors.ExportError, match="OW822|OW838"):
        ow.export(
            Holder("buffer", LAYOUTS["coo"], lambda w, x: x + w.coalesce().indices().sum()),
            (DENSE,),
        )
