"""Every opset that the installed onnx defines has a name; nothing lists them by hand."""

from __future__ import annotations

import onnx.defs
import pytest

import onnxwright
from onnxwright import opset
from onnxwright.opset import registry
from tests.harness.tables import each

PREFIXES = {
    "": "opset",
    "ai.onnx.ml": "opset_ai_onnx_ml",
    "ai.onnx.preview": "opset_ai_onnx_preview",
    "ai.onnx.preview.training": "opset_ai_onnx_preview_training",
}
# The newest version of each domain as the schemas themselves say it.
NEWEST: dict[str, int] = {}
for schema in onnx.defs.get_all_schemas_with_history():
    NEWEST[schema.domain] = max(NEWEST.get(schema.domain, 0), schema.since_version)
NAMES = [
    f"{PREFIXES[domain]}{version}"
    for domain, newest in NEWEST.items()
    for version in range(1, newest + 1)
]


@pytest.mark.parametrize("module", [onnxwright, opset])
def test_dir_has_every_opset(module: object) -> None:
    assert set(NAMES) <= set(dir(module))


@each("name", NAMES)
def test_every_opset_can_be_named(name: str) -> None:
    assert repr(getattr(onnxwright, name)) == name


def test_no_opset_is_listed_that_does_not_exist() -> None:
    listed = {n for n in dir(onnxwright) if n.startswith("opset") and n[-1].isdigit()}
    assert listed == {repr(o) for o in onnxwright.all_opsets.values()}
    assert not hasattr(onnxwright, f"opset{registry.newest() + 1}")


def test_versions_that_are_certain_exist() -> None:
    for domain, certain in opset._DOMAINS.values():
        assert certain <= registry.newest(domain)


def test_the_exporter_writes_what_the_runtime_loads() -> None:
    pytest.importorskip("torch")
    from onnxwright.eager.ort.sessions import newest_opset
    from onnxwright.exporter.checks import OPSETS

    assert OPSETS[-1] <= newest_opset() <= registry.newest()
