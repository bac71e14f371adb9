"""What `docs/compare.md` shows: peers, what they are better at, and programs of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Case:
    """One task done with both libraries.

    Fields:
        title: the task.
        ours, theirs: programs; what they print last, or the error they end with, is shown.
    """

    title: str
    ours: str
    theirs: str


@dataclass(frozen=True)
class Peer:
    """A library that people use today.

    Fields:
        name: its name.
        package: the distribution whose version is shown.
        what: what it does.
        better: where it is the better choice.
        cases: programs.
    """

    name: str
    package: str
    what: str
    better: str
    cases: tuple[Case, ...] = ()


def _case(title: str, ours: str, theirs: str) -> Case:
    return Case(title, dedent(ours).strip("\n"), dedent(theirs).strip("\n"))


_TRAP = """
    import numpy as np
    import onnx
    import onnxruntime
    {imports}

    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> m (float[4] x) => (float[4] y)'
        '{body}'
    )
    smaller = {call}
    {show}
"""
_RUN = """options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(smaller.SerializeToString(), options)
    x = np.array([1, -0.0, 2, 3], np.float32)
    print({what})"""


def _trap(title: str, body: str, what: str, imports: str, call: str) -> Case:
    show = _RUN.format(what=what) if "session" in what else f"print({what})"
    ours = _TRAP.format(
        imports="import onnxwright as ow", body=body, call="ow.optimize(model)", show=show
    )
    theirs = _TRAP.format(imports=imports, body=body, call=call, show=show)
    return _case(title, ours, theirs)


_NOISE = "{ a = RandomUniformLike(x) b = RandomUniformLike(x) y = Sub(a, b) }"
_ZERO = "<float z = {0.0}> { a = Add(x, z) y = Reciprocal(a) }"
_BIG = "<int64[1] s = {1000000}, float h = {3.0}> { c = ConstantOfShape(s) y = Add(c, h) }"
_DRAWN = "'difference of two draws is zero:', bool((session.run(None, {'x': x})[0] == 0).all())"
_INVERSE = "'1 / (-0.0 + 0.0) =', session.run(None, {'x': x})[0][1]"
_SLIM = ("import onnxslim", "onnxslim.slim(model)")
_SIM = ("import onnxsim", "onnxsim.simplify(model)[0]")

PEERS = (
    Peer(
        "onnxscript",
        "onnxscript",
        "ONNX functions as Python with `@script`, a library of PyTorch's operators (torchlib), an "
        "optimizer and a rewriter. `torch.onnx.export` is built on it.",
        "It is what PyTorch installs and tests with, its `proto2python` writes text in about "
        "1/20 of the time (and does not prove it), and its rewriter has fusions for "
        "`com.microsoft` attention that this library does not have. Files written for it run "
        "here after [replacing the package's name](guide/onnxscript.md).",
        (
            _case(
                "Return inside an `if`",
                """
                import numpy as np
                from onnxwright import FLOAT, script
                from onnxwright import opset18 as op

                @script()
                def signed(x: FLOAT["N"]) -> FLOAT["N"]:
                    if op.ReduceMax(x) > 0.0:
                        return x
                    return -x

                print(signed.compile()(np.array([-1, -2], np.float32)))
                """,
                """
                from onnxscript import FLOAT, script
                from onnxscript import opset18 as op

                @script()
                def signed(x: FLOAT["N"]) -> FLOAT["N"]:
                    if op.ReduceMax(x) > 0.0:
                        return x
                    return -x

                print(signed.to_model_proto())
                """,
            ),
            _case(
                "A misspelled operator",
                """
                from onnxwright import FLOAT, script
                from onnxwright import opset18 as op

                @script()
                def f(x: FLOAT["N"]) -> FLOAT["N"]:
                    return op.Reluu(x)

                f.to_model_proto()
                """,
                """
                from onnxscript import FLOAT, script
                from onnxscript import opset18 as op

                @script()
                def f(x: FLOAT["N"]) -> FLOAT["N"]:
                    return op.Reluu(x)

                print("a model of", f.to_model_proto().graph.node[0].op_type)
                """,
            ),
            _case(
                "A number beside a tensor of another type",
                """
                from onnxwright import DOUBLE, script
                from onnxwright import opset18 as op

                @script()
                def f(x: DOUBLE["N"]) -> DOUBLE["N"]:
                    return op.Relu(x) + 1

                print([node.op_type for node in f.to_model_proto().graph.node])
                """,
                """
                from onnxscript import DOUBLE, script
                from onnxscript import opset18 as op

                @script()
                def f(x: DOUBLE["N"]) -> DOUBLE["N"]:
                    return op.Relu(x) + 1

                print([node.op_type for node in f.to_model_proto().graph.node])
                """,
            ),
        ),
    ),
    Peer(
        "torch.onnx",
        "torch",
        "`torch.onnx.export`: PyTorch programs to ONNX, from `torch.export` (`dynamo=True`) or "
        "from the older tracer.",
        "It comes with PyTorch, is maintained with it, and its older tracer exports some programs "
        "that `torch.export` refuses (it keeps the branch that the example took). "
        "`onnxwright.torch_onnx` takes its call sites.",
        (
            _case(
                "A program that decides by a size",
                """
                import torch
                import onnxwright as ow

                class Model(torch.nn.Module):
                    def forward(self, x):
                        return x + 1 if x.shape[0] > 5 else x - 1

                program = ow.export(Model(), (torch.zeros(10),), dynamic_shapes=({0: "n"},))
                print(program(torch.zeros(3)))
                """,
                """
                import torch

                class Model(torch.nn.Module):
                    def forward(self, x):
                        return x + 1 if x.shape[0] > 5 else x - 1

                program = torch.onnx.export(
                    Model(), (torch.zeros(10),), dynamic_shapes=({0: "n"},), dynamo=True,
                    verbose=False
                )
                print(program(torch.zeros(3))[0])
                """,
            ),
            _case(
                "An older opset",
                """
                import torch
                import onnxwright as ow

                program = ow.export(torch.nn.LayerNorm(4), (torch.zeros(2, 4),), opset_version=13)
                print(program.model_proto.opset_import[0].version)
                """,
                """
                import logging
                import torch

                logging.disable()
                program = torch.onnx.export(
                    torch.nn.LayerNorm(4), (torch.zeros(2, 4),), opset_version=13, dynamo=True,
                    verbose=False
                )
                print(program.model_proto.opset_import[0].version)
                """,
            ),
        ),
    ),
    Peer(
        "spox",
        "spox",
        "Graphs built in Python by typed calls, with ONNX's inference after each.",
        "Its operators have precise Python signatures for type checkers, generated per opset, and "
        "its small core is easy to read. There is no front end for Python functions in it.",
        (
            _case(
                "A graph, and its shape in names",
                """
                from onnxwright import FLOAT, GraphBuilder

                g = GraphBuilder(opset=21)
                x = g.input("x", FLOAT["N", 4])
                g.output(g.op.Concat(x, x, axis=0), "y")
                print(g.to_model_proto().graph.output[0].type.tensor_type.shape.dim[0].dim_param)
                """,
                """
                import numpy as np
                import spox.opset.ai.onnx.v21 as op
                from spox import Tensor, argument, build

                x = argument(Tensor(np.float32, ("N", 4)))
                model = build({"x": x}, {"y": op.concat([x, x], axis=0)})
                print(model.graph.output[0].type.tensor_type.shape.dim[0].dim_param)
                """,
            ),
        ),
    ),
    Peer(
        "onnx.helper",
        "onnx",
        "The protobuf constructors of onnx itself: nodes, tensors and graphs as they are written.",
        "It needs nothing else, writes exactly what it is given (an invalid model, too, which a "
        "test may want), and is the fastest way to write nodes whose types nobody asks for.",
        (
            _case(
                "An input that does not exist",
                """
                from onnxwright import FLOAT, GraphBuilder

                g = GraphBuilder(opset=21)
                x = g.input("x", FLOAT[4])
                g.output(g.op.Add(x, "z"), "y")
                """,
                """
                from onnx import TensorProto, helper

                x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
                y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
                graph = helper.make_graph(
                    [helper.make_node("Add", ["x", "z"], ["y"])], "g", [x], [y]
                )
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
                print("a model that reads", model.graph.node[0].input[1])
                """,
            ),
        ),
    ),
    Peer(
        "onnxslim",
        "onnxslim",
        "A command and a function that make ONNX files smaller.",
        "A small package in pure Python that runs with many old versions of onnx, well tried on "
        "files of image models.",
        (
            _trap("Two random draws", _NOISE, _DRAWN, *_SLIM),
            _trap("A zero with a sign", _ZERO, _INVERSE, *_SLIM),
            _trap(
                "An input that nothing reads",
                "<int64[1] s = {4}> { y = ConstantOfShape<value = float[1] {2.0}>(s) }",
                "[i.name for i in smaller.graph.input]",
                *_SLIM,
            ),
        ),
    ),
    Peer(
        "onnxsim",
        "onnxsim",
        "The oldest of the simplifiers: constant folding by ONNX Runtime and the passes of "
        "onnxoptimizer.",
        "Many export scripts call it, and its C++ core has been run on more files than any other.",
        (
            _trap("Two random draws", _NOISE, _DRAWN, *_SIM),
            _trap(
                "A large constant that is computed",
                _BIG,
                "'bytes:', smaller.ByteSize()",
                *_SIM,
            ),
        ),
    ),
    Peer(
        "experimental-experiment",
        "experimental-experiment",
        "A laboratory of exporters, graph builders and pattern optimizers; parts of it moved into "
        "torch.onnx.",
        "It has more fusion patterns for ONNX Runtime's training and contrib operators, and tries "
        "ideas years before they are elsewhere. It is not on every package index, so nothing of it "
        "was run for this page.",
    ),
)
