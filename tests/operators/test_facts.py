"""Records of operators: each schema has one, and what they say does not contradict the schemas."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.defs
from onnx.reference import ReferenceEvaluator

from onnxwright.operators import NEVER, UNKNOWN, all_facts, facts
from onnxwright.operators.kernels_onnxruntime import MISSING, OPSETS
from onnxwright.operators.record import OperatorFacts
from onnxwright.opset import registry
from onnxwright.types.dtypes import DType
from tests.harness.tables import each

SCHEMAS = onnx.defs.get_all_schemas_with_history()


def test_every_operator_has_a_record() -> None:
    missing = {(s.domain, s.name) for s in SCHEMAS if facts(s.name, s.domain) is UNKNOWN}
    assert not missing, f"write a record in the family's file of onnxwright/operators/: {missing}"


def test_records_say_their_own_name() -> None:
    for record in all_facts():
        assert facts(record.name, record.domain) is record


def test_the_standard_domain_has_two_names() -> None:
    assert facts("Add", "ai.onnx") is facts("Add")


def test_nothing_is_claimed_of_foreign_operators() -> None:
    foreign = facts("Add", "my.domain")
    assert foreign is UNKNOWN
    assert foreign.folding is NEVER
    claims = (foreign.commutative, foreign.elementwise, foreign.moves_data, foreign.cheap)
    assert not any(claims)


def test_operators_with_bodies_are_those_with_graph_attributes() -> None:
    graph = onnx.defs.OpSchema.AttrType.GRAPH
    # FlexAttention, Gradient: other domains; what they do with a graph is theirs.
    bodies = {
        s.name
        for s in SCHEMAS
        if not s.domain and any(a.type == graph for a in s.attributes.values())
    }
    assert bodies == {f.name for f in all_facts() if f.has_bodies}


def test_random_operators_are_never_folded() -> None:
    assert {f.name for f in all_facts() if f.random} >= {"Bernoulli", "Dropout", "RandomNormal"}
    for record in all_facts():
        if record.random or record.has_bodies:
            assert record.folding is NEVER, record.name


def test_operators_with_a_seed_are_random() -> None:
    for schema in SCHEMAS:
        if not schema.domain and "seed" in schema.attributes:
            assert facts(schema.name).random, schema.name


def _has_two_tensors(record: OperatorFacts) -> bool:
    schema = onnx.defs.get_schema(record.name)
    return len(schema.inputs) == 2 or schema.max_input > 100


@each("name", [f.name for f in all_facts() if f.commutative])
def test_commutative_operators_take_their_inputs_in_any_order(name: str) -> None:
    assert _has_two_tensors(facts(name))
    schema = onnx.defs.get_schema(name)
    allowed = {t for p in schema.inputs for t in p.types}
    dtype = (
        np.float32 if "tensor(float)" in allowed else
        np.int32 if "tensor(int32)" in allowed else np.bool_
    )  # fmt: skip
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 5, (3, 4)).astype(dtype) for _ in range(2))
    assert np.array_equal(_run(name, x, y), _run(name, y, x))


@each("name", ["Sub", "Div", "Pow", "Mod", "Less", "Greater", "BitShift", "PRelu", "MatMul"])
def test_others_are_not_commutative(name: str) -> None:
    assert not facts(name).commutative


def _run(name: str, *inputs: np.ndarray) -> np.ndarray:
    names = [f"x{n}" for n in range(len(inputs))]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(name, names, ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), None)
         for n, x in zip(names, inputs)],
        [onnx.ValueInfoProto(name="y")],
    )  # fmt: skip
    model = onnx.helper.make_model(graph)
    (result,) = ReferenceEvaluator(model).run(None, dict(zip(names, inputs)))
    return np.asarray(result)


def test_kernels_are_known_for_what_the_runtime_runs() -> None:
    assert OPSETS[1] <= registry.newest()
    assert set(MISSING) <= {f.name for f in all_facts() if not f.domain}
    for name, rows in MISSING.items():
        assert list(rows) == sorted(rows)
        for version, row in rows.items():
            signature = registry.signature("", name, version)
            assert signature is not None
            assert signature.since_version == version
            assert {t for types in row.values() for t in types.split()} <= set(DType.__members__)


@each(
    ("name", "version", "dtype", "runs"),
    [
        ("HardSwish", 22, DType.DOUBLE, False),
        ("HardSwish", 22, DType.FLOAT, True),
        ("Conv", 22, DType.DOUBLE, False),
        ("Relu", 14, DType.DOUBLE, True),
        ("GridSample", 16, DType.DOUBLE, False),
        ("GridSample", 20, DType.DOUBLE, True),
        ("Gemm", 13, DType.INT32, False),
        ("MatMul", 13, DType.INT32, True),
    ],
)
def test_has_kernel(name: str, version: int, dtype: DType, runs: bool) -> None:
    assert facts(name).has_kernel(dtype, version=version) is runs


def test_of_other_runtimes_nothing_is_known() -> None:
    assert facts("HardSwish").has_kernel(DType.DOUBLE, "another")
    assert facts("Conv", "my.domain").has_kernel(DType.DOUBLE)
