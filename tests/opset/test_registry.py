"""Schemas as data, against `onnx.defs`."""

from __future__ import annotations

import pickle

import onnx
from onnx import defs

from onnxwright.opset import registry
from onnxwright.types.kinds import AttrKind
from tests.harness.tables import each

SCHEMAS = defs.get_all_schemas_with_history()


def test_every_schema_is_read_as_it_is() -> None:
    for schema in SCHEMAS:
        sig = registry.signature(schema.domain, schema.name, schema.since_version)
        assert sig is not None
        assert sig.since_version == schema.since_version
        assert sig.deprecated == schema.deprecated
        assert [p.name for p in sig.inputs] == [p.name for p in schema.inputs]
        assert [p.types for p in sig.outputs] == [set(p.types) for p in schema.outputs]
        assert set(sig.attributes) == set(schema.attributes)
        assert (sig.min_input, sig.max_input) == (schema.min_input, schema.max_input)
        assert (sig.min_output, sig.max_output) == (schema.min_output, schema.max_output)
        assert sig.name in str(sig)


def test_only_the_last_input_or_output_is_variadic() -> None:
    """What binding relies on."""
    for schema in SCHEMAS:
        for params in (schema.inputs, schema.outputs):
            for p in params[:-1]:
                assert p.option != defs.OpSchema.FormalParameterOption.Variadic, schema.name


def test_an_operator_is_that_of_its_newest_change() -> None:
    at_15 = registry.signature("", "Add", 15)
    assert at_15 is registry.signature("ai.onnx", "Add", 14)
    assert at_15 is not None
    assert at_15.since_version == 14
    assert at_15.schema.since_version == 14
    assert pickle.loads(pickle.dumps(at_15)) is at_15
    assert registry.signature("", "Gelu", 19) is None
    assert registry.signature("no.such.domain", "Add", 1) is None


@each("version", [1, 9, 13, 18, registry.newest()])
def test_names_are_those_the_checker_takes(version: int) -> None:
    expected = sorted(
        {
            s.name
            for s in SCHEMAS
            if s.domain == ""
            and s.since_version <= version
            and not defs.get_schema(s.name, version, "").deprecated
        }
    )
    assert list(registry.op_names("", version)) == expected


def test_newest() -> None:
    assert registry.newest() == onnx.defs.onnx_opset_version()
    for domain in registry.domains():
        assert registry.newest(domain) == max(
            s.since_version for s in SCHEMAS if s.domain == domain
        )


def test_defaults_are_short_python_values() -> None:
    cases = {
        ("BatchNormalization", "epsilon"): (AttrKind.FLOAT, 1e-05),
        ("BatchNormalization", "momentum"): (AttrKind.FLOAT, 0.9),
        ("Softmax", "axis"): (AttrKind.INT, -1),
        ("LSTM", "direction"): (AttrKind.STRING, "forward"),
        ("LSTM", "activations"): (AttrKind.STRINGS, None),
        ("Constant", "value"): (AttrKind.TENSOR, None),
    }
    for (name, attribute), (kind, default) in cases.items():
        sig = registry.signature("", name, 18)
        assert sig is not None
        param = sig.attributes[attribute]
        assert (param.kind, param.default, param.required) == (kind, default, False)


TEXTS = {
    "MatMul": "MatMul(A: T, B: T) -> Y: T  "
    "[T: FLOAT | DOUBLE | FLOAT16 | BFLOAT16 | INT32 | INT64 | UINT32 | UINT64]",
    "Concat": "Concat(*inputs: T, axis: int) -> concat_result: T  [T: any tensor]",
    "Not": "Not(X: T) -> Y: T  [T: BOOL]",
    "Shape": "Shape(data: T, *, end: int = None, start: int = 0) -> shape: T1  "
    "[T: any tensor; T1: INT64]",
    "SequenceEmpty": "SequenceEmpty(*, dtype: int = None) -> output: S  [S: any sequence]",
}


@each("name", TEXTS)
def test_text(name: str) -> None:
    assert str(registry.signature("", name, 18)) == TEXTS[name]
