"""`ow.passes.Rewrite` and `MetadataMerger`: rules in a chain of passes, metadata of new nodes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx_ir.passes.common import IdentityEliminationPass

import onnxwright as ow

HEAD = '<ir_version: 10, opset_import: ["" : 20]> g (float[2,3] x, float[3,2] w, float[2] b) '
TEXT = HEAD + "=> (float[2,2] y) { i = Identity(x)  m = MatMul(i, w)  a = Add(m, b)  y = Relu(a) }"


to_gemm = ow.rule(lambda op, x, w, b: op.Add(op.MatMul(x, w), b), name="to_gemm").to(
    lambda op, x, w, b: op.Gemm(x, w, b)
)


def model() -> ir.Model:
    proto = ir.from_proto(onnx.parser.parse_model(TEXT))
    _, product, total, _ = proto.graph
    product.metadata_props.update(layer="fc", kind="product", only="1")
    total.metadata_props.update(layer="bias", kind="sum", empty="")
    return proto


def metadata(rewritten: ir.Model) -> dict[str, str]:
    (gemm,) = (n for n in rewritten.graph if n.op_type == "Gemm")
    return {k: v for k, v in gemm.metadata_props.items() if not k.startswith("onnxwright")}


def test_a_rule_as_a_pass_changes_the_model_it_is_given() -> None:
    source = model()
    chain = ir.passes.Sequential(IdentityEliminationPass(), ow.passes.Rewrite([to_gemm]))
    result = chain(source)
    assert result.modified
    assert result.model is source
    assert [n.op_type for n in source.graph] == ["Gemm", "Relu"]
    again = ow.passes.Rewrite(to_gemm)(source)
    assert not again.modified
    x, w, b = (np.arange(n, dtype=np.float32) - 2 for n in (6, 6, 2))
    inputs = [x.reshape(2, 3), w.reshape(3, 2), b]
    want = np.maximum(inputs[0] @ inputs[1] + b, 0)
    np.testing.assert_allclose(ow.run_model(source, inputs)[0], want)


def test_what_is_no_rule_is_refused_when_the_pass_is_made() -> None:
    with pytest.raises(ow.OnnxwrightError, match="ow.rule"):
        ow.passes.Rewrite([1])
    with pytest.raises(ow.OnnxwrightError, match="level"):
        ow.passes.Rewrite(to_gemm, level="none")(model())


def test_metadata_is_merged_as_asked() -> None:
    first = metadata(ow.rewrite(model(), to_gemm))
    assert first == {"layer": "bias", "kind": "sum", "only": "1"}
    merger = ow.passes.MetadataMerger({"layer": "{}+{}".format}, default=lambda _, new: new)
    want = {"layer": "bias+fc", "kind": "product", "only": "1"}
    assert metadata(ow.rewrite(model(), to_gemm, metadata=merger)) == want
    source = model()
    ow.passes.Rewrite(to_gemm, metadata=merger)(source)
    assert metadata(source) == want


def test_metadata_goes_to_one_node_or_to_several() -> None:
    merger = ow.passes.MetadataMerger({"k": "{},{}".format})
    x = ir.Value(name="x")
    one, two, new, other = (ir.Node("", "Relu", [x]) for _ in range(4))
    one.metadata_props.update(k="1", empty="")
    two.metadata_props.update(k="2", empty="full", more="m")
    other.metadata_props["k"] = "0"
    merger.copy_merged_metadata([one, two], [new, other])
    assert new.metadata_props == {"k": "1,2", "empty": "full", "more": "m"}
    assert other.metadata_props == {"k": "0,1,2", "empty": "full", "more": "m"}
    last = ir.Node("", "Relu", [x])
    merger.copy_merged_metadata(iter([two, two]), last)
    assert last.metadata_props == {"k": "2", "empty": "full", "more": "m"}
