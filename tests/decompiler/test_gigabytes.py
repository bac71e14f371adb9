"""Models with gigabytes of weights beside them become scripts without the weights being made."""

from __future__ import annotations

import onnx
from onnx import helper

from onnxwright.decompiler import to_script


def test_weights_of_gigabytes_stay_in_their_file(tmp_path):
    n = 20_000
    with (tmp_path / "w.data").open("wb") as file:
        file.truncate(2 * n * n * 4)
    weights = []
    for k in range(2):
        tensor = onnx.TensorProto(name=f"w{k}", data_type=1, dims=[n, n])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        facts = {"location": "w.data", "offset": k * n * n * 4, "length": n * n * 4}
        for key, value in facts.items():
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        weights.append(tensor)
    nodes = [
        helper.make_node("MatMul", ["x", "w0"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("MatMul", ["b", "w1"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, 1, ["N", n]) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    text = to_script(tmp_path / "m.onnx", weights="external")
    assert "offset=1600000000" in text
    assert "zeros" not in text
