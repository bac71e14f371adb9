"""What changed between versions of operators: each newer schema needs a decision."""

from __future__ import annotations

import onnx.defs
import pytest

from onnxwright.operators import all_facts, facts
from onnxwright.operators.decisions import UNCHANGED
from onnxwright.operators.reviewed import REVIEWED
from onnxwright.operators.versions import _fits, is_reviewed, only_types_changed, same_meaning
from onnxwright.opset import registry
from tests.harness.tables import each


def test_every_schema_of_the_installed_onnx_is_reviewed() -> None:
    newer = [
        f"{schema.domain or 'ai.onnx'}.{schema.name} {schema.since_version}: reviewed up to "
        f"{REVIEWED.get(schema.domain, {}).get(schema.name, 'never')}.  Read its change "
        f"notes: if an older call may mean something else, add a Change to its record in "
        f"onnxwright/operators/; then move it to {schema.since_version} in operators/reviewed.py"
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.since_version > REVIEWED.get(schema.domain, {}).get(schema.name, 0)
    ]
    assert not newer, "\n".join(newer)


def test_a_schema_that_nobody_reviewed_never_means_the_same(monkeypatch) -> None:
    monkeypatch.setitem(REVIEWED[""], "Relu", 13)
    assert not is_reviewed(registry.signature("", "Relu", 14))
    assert not same_meaning(registry.signature("", "Relu", 13), registry.signature("", "Relu", 14))


def test_changes_name_versions_that_exist() -> None:
    versions = {
        (s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()
    }
    for record in all_facts():
        for version, change in record.changes.items():
            assert (record.domain, record.name, version) in versions, (record.name, version)
            assert change.reason


def test_attributes_of_changes_exist() -> None:
    for record in all_facts():
        for version, change in record.changes.items():
            before = registry.signature(record.domain, record.name, version - 1)
            after = registry.signature(record.domain, record.name, version)
            for name in change.only_with:
                assert name in before.attributes or name in after.attributes, (record.name, name)


def _pairs() -> list[tuple[registry.OpSignature, registry.OpSignature]]:
    """Each schema and the next one of its operator."""
    versions: dict[tuple[str, str], list[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        versions.setdefault((schema.domain, schema.name), []).append(schema.since_version)
    return [
        (registry.signature(domain, name, a), registry.signature(domain, name, b))
        for (domain, name), numbers in versions.items()
        for a, b in zip(sorted(numbers), sorted(numbers)[1:])
    ]


def test_each_new_schema_has_one_decision() -> None:
    wrong = []
    for old, new in _pairs():
        key = (new.domain, new.name, new.since_version)
        changed = new.since_version in facts(new.name, new.domain).changes
        same = key in UNCHANGED or only_types_changed(old, new)
        # Calls that do not fit the newer signature need no decision: it shows.
        shows = new.deprecated or not _fits(old, new, None, None)
        if (changed and same) or not (changed or same or shows):
            wrong.append(f"{key}: {'both' if changed else 'none'}")
    assert not wrong, "one of UNCHANGED and OperatorFacts.changes, each with a reason:\n" + (
        "\n".join(wrong)
    )


def test_reasons_are_of_schemas_that_exist() -> None:
    schemas = {(new.domain, new.name, new.since_version) for _, new in _pairs()}
    assert set(UNCHANGED) <= schemas
    assert all(UNCHANGED.values())


# operator, older version, newer version, attributes of the call (None: unknown), outputs, same?
CASES = [
    ("Add", 7, 14, None, None, True),
    ("Add", 6, 7, None, None, False),  # `broadcast` and `axis` are gone
    ("Add", 6, 7, [], None, True),
    ("Add", 6, 7, ["broadcast"], None, False),
    ("Add", 1, 13, ["consumed_inputs"], None, False),
    ("Relu", 14, 13, None, None, False),  # never downwards
    ("Softmax", 11, 13, ["axis"], None, False),
    ("Softmax", 1, 11, None, None, True),
    ("Resize", 10, 11, [], None, False),
    ("Resize", 11, 19, ["mode"], None, True),
    ("Resize", 11, 19, ["coordinate_transformation_mode"], None, False),
    ("AveragePool", 7, 10, None, None, True),
    ("AveragePool", 7, 22, ["kernel_shape", "pads"], None, True),
    ("AveragePool", 19, 22, ["kernel_shape", "ceil_mode"], None, True),
    ("MaxPool", 1, 8, ["kernel_shape"], 1, True),
    ("BatchNormalization", 9, 15, ["epsilon"], 1, True),
    ("BatchNormalization", 9, 15, ["epsilon"], 3, False),
    ("BatchNormalization", 14, 15, None, None, True),
    ("BatchNormalization", 6, 9, ["epsilon"], 1, False),
    ("Dropout", 7, 22, [], 1, True),
    ("Dropout", 7, 10, [], 2, False),
    ("Dropout", 10, 22, [], 1, True),
    ("Dropout", 10, 22, ["ratio"], 1, False),  # it is an input now
    ("Dropout", 6, 7, [], 1, False),
    ("ReduceSum", 11, 13, ["keepdims"], None, True),
    ("ReduceSum", 11, 13, ["axes"], None, False),
    ("Clip", 6, 13, [], None, True),
    ("Clip", 6, 13, ["min"], None, False),
    ("Clip", 11, 13, None, None, True),
    ("Split", 13, 18, ["axis"], None, False),
    ("Split", 2, 11, None, None, True),
    ("GroupNormalization", 18, 21, ["num_groups"], None, False),
    ("RoiAlign", 10, 16, [], None, False),
    ("RoiAlign", 16, 22, None, None, True),
    ("OneHot", 9, 11, [], None, True),
    ("PRelu", 6, 7, [], None, False),
    ("Gemm", 9, 13, None, None, True),  # C may be absent now
    ("OptionalHasElement", 15, 28, None, None, True),
    ("Upsample", 9, 10, [], None, False),
    ("Attention", 23, 25, ["scale"], None, True),
    ("Attention", 23, 24, ["is_causal"], None, False),
    ("DFT", 17, 20, [], None, False),
    ("ReduceLogSum", 18, 28, None, None, False),  # integers are no longer taken
    ("Constant", 9, 13, ["value"], None, True),
    ("Constant", 9, 13, None, None, True),
    ("Cast", 13, 28, ["to"], None, True),
    ("Reshape", 13, 25, None, None, True),
    ("Reshape", 1, 5, ["shape"], None, False),
    ("Selu", 1, 6, [], None, False),  # other defaults
    ("Selu", 1, 6, ["alpha", "gamma"], None, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "attributes", "outputs", "same"), CASES)
def test_same_meaning(
    name: str, old: int, new: int, attributes: list[str] | None, outputs: int | None, same: bool
) -> None:
    older, newer = registry.signature("", name, old), registry.signature("", name, new)
    assert same_meaning(older, newer, attributes, outputs) is same


@each("record", [f for f in all_facts() if f.changes])
def test_a_change_stands_between_versions(record: object) -> None:
    operator = facts(record.name, record.domain)  # type: ignore[attr-defined]
    for version in operator.changes:
        older = registry.signature(operator.domain, operator.name, version - 1)
        newer = registry.signature(operator.domain, operator.name, version)
        assert not same_meaning(older, newer)
