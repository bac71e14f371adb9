"""A hostile model cannot make the written Python do anything but call operators."""

from __future__ import annotations

import ast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxwright.decompiler import to_script
from onnxwright.decompiler.guard import UnsafeTextError, check_text
from onnxwright.decompiler.rebuild import rebuild
from onnxwright.testing import assert_isomorphic

NODE = helper.make_node  # noqa: TID251 - models as a stranger makes them
HOSTILE = [
    'x); __import__("os").system("touch OWNED")',
    '"); __import__("os").system("touch OWNED") #',
    "'); __import__('os').system('touch OWNED') #",
    '"""\n__import__("os").system("touch OWNED")\n"""',
    "'''\n__import__('os').system('touch OWNED')\n'''",
    '\n__import__("os").system("touch OWNED")\n',
    '\r\n__import__("os").system("touch OWNED")',
    "\\",
    '\\"); __import__("os").system("touch OWNED") #',
    'a" + __import__("os").system("touch OWNED") + "b',
    "{__import__('os').system('touch OWNED')}",
    "%s %(x)s {0}",
    "\x00",
    "\x0c\x1b[31m",
    "\u2028__import__('os').system('touch OWNED')\u2029",
    "ｅｖａｌ",
    "рrint",
    "ﬁ",
    "ᵢmport",
    "\u202egnirts",
    "class",
    "None",
    "True",
    "lambda",
    "match",
    "__import__",
    "__builtins__",
    "__class__",
    "__file__",
    "exec",
    "print",
    "op",
    "np",
    "onnx",
    "script",
    "Details",
    "initializer",
    "make_model",
    "main",
    "FLOAT",
    "weights",
    "folder",
    "Path",
    "_name",
    "_outputs",
    "self",
    "opset18",
    "",
    " ",
    "\n",
    "é",
    "1",
    "a b",
    "a-b",
    "🙂",
]


def loops(used: str, name: str) -> list[onnx.NodeProto]:
    """A `for` and a `while`, named as badly; what they make is also in an expression."""
    nodes = []
    for kind, trip, first in (("for", f"{used}n", ""), ("while", "", f"{used}b")):
        own = f"{used}{kind}"
        body = helper.make_graph(
            [
                NODE("Mul", [f"{own}v", used], [f"{own}r"], name=name, doc_string=name),
                NODE("Identity", [f"{own}c"], [f"{own}d"], name=name),
            ],
            f"{name}{kind}",
            [
                helper.make_tensor_value_info(f"{own}t", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"{own}c", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"{own}v", TensorProto.FLOAT, [name or "N", 2]),
            ],
            [
                helper.make_tensor_value_info(f"{own}d", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"{own}r", TensorProto.FLOAT, None),
            ],
            doc_string=name,
        )
        body.metadata_props.add(key=name, value=name)
        body.input[2].doc_string = name
        nodes.append(NODE("Loop", [trip, first, f"{used}a"], [f"{own}o"], name=name, body=body))
        nodes[-1].metadata_props.add(key="onnxwright.origin", value=f"{name}:1:2")
        nodes.append(NODE("Neg", [f"{own}o"], [f"{own}_neg"], name=name))
        nodes.append(NODE("Abs", [f"{own}_neg"], [f"{own}_abs"], name=name))
    return nodes


def everything(name: str) -> onnx.ModelProto:
    """A model in which a name stands wherever a name or a text can."""
    used = name or "empty"
    x = helper.make_tensor_value_info(used, TensorProto.FLOAT, [name or "N", 2])
    y = helper.make_tensor_value_info(f"{used}y", TensorProto.FLOAT, [name or "N", 2])
    for info in (x, y):
        info.doc_string = name
        info.metadata_props.add(key=name, value=name)
    inner = helper.make_graph(
        [NODE("Mul", [f"{used}a", f"{used}w"], [f"{used}p"], name=name)],
        name,
        [],
        [helper.make_tensor_value_info(f"{used}p", TensorProto.FLOAT, None)],
        doc_string=name,
    )
    nodes = [
        NODE("Relu", [used], [f"{used}a"], name=name, doc_string=name),
        NODE("Constant", [], [f"{used}c"], value_string=name),
        NODE("Constant", [], [f"{used}s"], value_strings=[name, name]),
        NODE(
            "Constant",
            [],
            [f"{used}t"],
            value=helper.make_tensor(name, TensorProto.STRING, [1], [name.encode()]),
        ),
        NODE("Constant", [], [f"{used}b"], value=numpy_helper.from_array(np.array(True), name)),
        NODE("If", [f"{used}b"], [f"{used}i"], then_branch=inner, else_branch=inner),
        NODE("Constant", [], [f"{used}n"], value=numpy_helper.from_array(np.array(3), name)),
        *loops(used, name),
        NODE(used, [f"{used}i"], [f"{used}q"], domain=f"d{name}", **{used: name, f"{used}2": 1}),
        NODE(f"{used}f", [f"{used}q"], [f"{used}y"], domain=f"f{name}", **{f"{used}k": name}),
    ]
    nodes[0].metadata_props.add(key=name, value=name)
    nodes[0].attribute.add(name=f"{used}z", type=1, f=1.0, doc_string=name)
    graph = helper.make_graph(
        nodes,
        name,
        [x],
        [y],
        [numpy_helper.from_array(np.ones(2, np.float32), f"{used}w")],
        doc_string=name,
    )
    graph.initializer[0].doc_string = name
    graph.metadata_props.add(key=name, value=name)
    cast = NODE("Identity", ["in"], [f"{used}out"], name=name)
    like = NODE("Constant", [], ["text"])
    like.attribute.add(name="value_string", ref_attr_name=f"{used}k", type=3)
    function = helper.make_function(
        f"f{name}",
        f"{used}f",
        ["in"],
        [f"{used}out"],
        [cast, like],
        [helper.make_opsetid("", 18)],
        [f"{used}k"],
        doc_string=name,
    )
    function.metadata_props.add(key=name, value=name)
    imports = [helper.make_opsetid(d, v) for d, v in (("", 18), (f"d{name}", 1), (f"f{name}", 1))]
    model = helper.make_model(
        graph, functions=[function], opset_imports=imports, producer_name=name, doc_string=name
    )
    model.domain = model.producer_version = name
    model.metadata_props.add(key=name, value=name)
    return model


@pytest.mark.share(4)
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_stays_data(name: str, tmp_path, monkeypatch) -> None:
    """Importing and compiling the written Python does nothing but make the same model."""
    monkeypatch.chdir(tmp_path)
    model = everything(name)
    source = to_script(model)
    assert source.isascii()
    assert_isomorphic(model, rebuild(source), node_names=True, subgraph_names=True)
    assert to_script(rebuild(source)) == source
    assert list(tmp_path.iterdir()) == []


def test_several_names_that_look_alike_stay_apart() -> None:
    """Names that become one identifier are still different values."""
    names = ["a.b", "a-b", "a_b", "a b", "a/b", "a_b_1", "_a_b", "a\u2024b"]
    nodes = [NODE("Relu" if n % 2 else "Neg", ["x"], [name]) for n, name in enumerate(names)]
    nodes.append(NODE("Sum", list(reversed(names)), ["y"]))
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]))
    assert_isomorphic(model, rebuild(to_script(model)))


def _strings(source: str) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_texts_are_literals() -> None:
    """The text of a doc string stands in the Python as a string and nowhere else."""
    text = 'x"); evil() #'
    assert text in _strings(to_script(everything(text)))


EVIL: dict[str, str] = {
    "import": "import os",
    "from import": "from os import system",
    "star import": "from onnxwright import *",
    "builtin": "x = eval('1')",
    "dunder": "import numpy as np\nx = np.__class__",
    "method": "import numpy as np\nx = np.save('f', 1)",
    "nested attribute": "import numpy as np\nx = np.lib.format.open_memmap('f')",
    "class": "class A:\n    pass",
    "lambda": "f = lambda: 1",
    "f-string": "x = f'{1}'",
    "comprehension": "x = [i for i in (1, 2)]",
    "call of a call": "from onnxwright import script\nx = script()()",
    "decorator": "@print\ndef f():\n    return 1",
    "with": "with __file__:\n    pass",
    "walrus": "(x := 1)",
}


@pytest.mark.parametrize("name", EVIL)
def test_the_second_look_refuses_what_no_model_needs(name: str) -> None:
    with pytest.raises(UnsafeTextError):
        check_text(EVIL[name])


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/passwd", "a/../../secret.bin"])
@pytest.mark.parametrize("weights", ["inline", "external"])
def test_external_data_may_not_leave_the_folder(location: str, weights: str, tmp_path) -> None:
    """A model that points elsewhere is refused, when written or when run."""
    (tmp_path / "secret.bin").write_bytes(b"12345678")
    folder = tmp_path / "model"
    folder.mkdir()
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[2], data_location=1)
    tensor.external_data.add(key="location", value=location)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in "xy")
    graph = helper.make_graph([NODE("Add", ["x", "w"], ["y"])], "g", [x], [y], [tensor])
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())

    def run() -> None:
        rebuild(to_script(path, weights=weights), str(folder / "m.py"))  # type: ignore[arg-type]

    with pytest.raises((ValueError, OSError)):
        run()
