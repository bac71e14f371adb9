"""The tables of `docs/compare.md`: names and habits of the peers' users, and what they are here.

Each row has an expression, which is evaluated after the program of its table; the page shows what
it gives, and the tests evaluate it again.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

START = "<!-- names: start -->"
END = "<!-- names: end -->"


@dataclass(frozen=True)
class Row:
    """One name or habit.

    Fields:
        there: what the peer's users write.
        here: what it is here.
        run: an expression that shows it.
    """

    there: str
    here: str
    run: str


@dataclass(frozen=True)
class Table:
    """The rows of one peer.

    Fields:
        title: the heading.
        program: what is run before the expressions of the rows.
        rows: the rows.
    """

    title: str
    program: str
    rows: Sequence[Row]


_TORCH = """
    from pathlib import Path

    import onnx
    import onnxruntime as ort
    import torch
    import onnxwright as ow
    from onnxwright import torch_onnx


    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

        def forward(self, x):
            return torch.relu(self.fc2(torch.relu(self.fc1(x))))


    class Batched(torch_onnx.ExportableModule):
        def forward(self, x):
            return x * 2

        def example_arguments(self):
            return (torch.ones(2, 3),), None

        def input_names(self):
            return ["batch"]

        def dynamic_shapes(self):
            return ({0: "n"},)


    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b


    class Sums(torch.nn.Module):
        def forward(self, pair):
            return pair.a + pair.b


    torch.utils._pytree.register_pytree_node(
        Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts),
        serialized_type_name="compare.Pair",
    )
    model, x = Net().eval(), torch.ones(2, 3)
    program = torch_onnx.export(model, (x,), verbose=False)
    made = []


    def session(data):
        made.append(ort.InferenceSession(data))
        return made[-1]


    def ramp(g, x):
        return g.op("my.domain::Ramp", x).setType(x.type())


    def exported(**options):
        return torch_onnx.export(model, (x,), verbose=False, **options)


    def with_ramp(**options):
        torch_onnx.register_custom_op_symbolic("aten::relu", ramp, 9)
        try:
            return versions(exported(**options))
        finally:
            torch_onnx.unregister_custom_op_symbolic("aten::relu", 9)


    def versions(program):
        return {o.domain: o.version for o in program.model_proto.opset_import}


    def error_of(line):
        try:
            exec(line, {})
        except ImportError as error:
            return str(error).split("; ")[0]
"""

_TORCH_ROWS = (
    Row(
        "`torch.onnx.ExportableModule` as a model",
        "`ow.export`, `torch_onnx.export` and `to_onnx()` take it",
        "str(ow.export(Batched()))",
    ),
    Row(
        "`program.initialize_inference_session(initializer=)`",
        "the same",
        "(program.initialize_inference_session(initializer=session), program(x), len(made))[2]",
    ),
    Row(
        "`opset_version=None`",
        "the default opset",
        "versions(exported(opset_version=None))",
    ),
    Row(
        "versions of custom domains",
        "`opset_version=` takes a dict",
        "with_ramp(opset_version={'': 20, 'my.domain': 2})",
    ),
    Row(
        "`custom_opsets=`",
        "the same",
        "with_ramp(opset_version=21, custom_opsets={'my.domain': 3})",
    ),
    Row(
        "`export_params=False`",
        "weights are inputs with the names of the module",
        "[i.name for i in (exported(f='p.onnx', export_params=False), "
        "onnx.load('p.onnx').graph.input)[1]]",
    ),
    Row(
        "external data in a folder",
        "`program.save(path, location=)`",
        "(program.save('m.onnx', location='weights/m.data', threshold=0), "
        "[p.as_posix() for p in Path('weights').iterdir()])[1]",
    ),
    Row(
        "stack traces in the model's metadata",
        "paths below the folder that Python imports from",
        "str(Path(torch.__file__).parent) in str(program.model_proto)",
    ),
    Row(
        "`from torch.onnx import symbolic_opset9`",
        "an error that says what is used instead",
        "error_of('from onnxwright.torch_onnx import symbolic_opset9')",
    ),
    Row(
        "`export_modules_as_functions={...}`",
        "also a dict: domain and name of the function for each class",
        "[(f.domain, f.name) for f in exported(export_modules_as_functions="
        "{torch.nn.Linear: 'my.domain::Dense'}).model_proto.functions]",
    ),
    Row(
        "classes registered as pytrees without keys",
        "inputs and outputs of these classes",
        "ow.export(Sums(), (Pair(x, x),))(Pair(x, x)).shape",
    ),
)

_SCRIPT = """
    import numpy as np
    import onnx
    import onnx_ir as ir
    import onnxwright as ow
    from onnxwright import FLOAT, nn, script, testing
    from onnxwright import opset18 as op

    custom = ow.Opset("my.domain", 1)


    @script(custom, op_type="Double", producer_name="me", domain="org.me", model_version=3)
    def double(x: FLOAT["N"]) -> FLOAT["N"]:
        return op.Add(x, x)


    @script()
    def quadruple(x: FLOAT["N"]) -> FLOAT["N"]:
        return double(double(x))


    @script()
    def unknown(x: FLOAT["N"]):
        y: FLOAT["N", 2] = custom.Expand(x)
        return op.Neg(y)


    class Scale(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter([3])

        def forward(self, op, x):
            return op.Mul(x, self.weight)


    class Stack(nn.Module):
        def __init__(self):
            self.layers = nn.ModuleList([Scale(), Scale()])

        def forward(self, op, x):
            for layer in self.layers:
                x = layer(op, x)
            return x


    def stack():
        model, g = Stack(), ow.GraphBuilder(opset=21)
        model.load_state_dict({f"layers.{n}.weight": np.ones(3, np.float32) for n in range(2)})
        g.output(model(g.op, g.input("x", FLOAT["N", 3])), "y")
        return g.to_model_proto().graph


    def pushed():
        g = ow.GraphBuilder(opset=21)
        x = g.input("x", FLOAT["N"])
        g.push_module("layers.0", "Layer")
        y = g.op.Abs(g.op.Neg(x))
        g.pop_module()
        g.output(y, "y")
        return [node.name for node in g.to_model_proto().graph.node]


    @ow.rule
    def negations(op, x):
        return op.Neg(op.Neg(x))


    @negations.to
    def _(op, x):
        return op.Identity(x)


    merger = ow.passes.MetadataMerger({"layer": "{} {}".format})


    def merged():
        entries = {"layer": "a"}
        merger.update_dict(entries, {"layer": "b"})
        return entries


    def rewritten():
        text = '<ir_version: 10, opset_import: ["" : 20]> g (float[N] x) => (float[N] y)'
        model = ir.from_proto(onnx.parser.parse_model(text + "{ a = Neg(x)  y = Neg(a) }"))
        return ow.passes.Rewrite(negations)(model).modified, [n.op_type for n in model.graph]
"""

_SCRIPT_ROWS = (
    Row(
        "`@script(producer_name=, domain=, model_version=)`",
        "the same",
        "(lambda m: (m.producer_name, m.domain, m.model_version))(double.to_model_proto())",
    ),
    Row("`@script(op_type=)`", "the same, or `name=`", "double.to_function_proto().name"),
    Row(
        "`f.function_ir.to_function_proto()`",
        "the same",
        "[n.op_type for n in double.function_ir.to_function_proto().node]",
    ),
    Row("`f.op_schema`", "the same", "double.op_schema.name, len(double.op_schema.inputs)"),
    Row(
        "`testing.assert_onnx_proto_equal`",
        "the same",
        "testing.assert_onnx_proto_equal(double.to_model_proto(), double.to_model_proto())",
    ),
    Row(
        "`nn.Module`, `Parameter`, `ModuleList`",
        "[the same](guide/nn.md)",
        "[t.name for t in stack().initializer], [n.name for n in stack().node]",
    ),
    Row(
        "`build_graph`",
        "the same; `build_into` for a graph that is there",
        "str(ow.build_graph(lambda op, x: op.Neg(x), {'x': FLOAT['N']}, ['y']).outputs[0].name)",
    ),
    Row("`builder.push_module`, `pop_module`", "the same", "pushed()"),
    Row("`rewriter.RewritePass`", "`ow.passes.Rewrite`", "rewritten()"),
    Row("`MetadataMerger`", "`ow.passes.MetadataMerger`", "merged()"),
    Row(
        "a call stays a node without its body",
        '`functions="external"`',
        "(lambda m: ([n.op_type for n in m.graph.node], list(m.functions)))"
        "(quadruple.to_model_proto(functions='external'))",
    ),
    Row(
        "an annotation of a local name",
        "is the type of what a custom operator gives",
        "[d.dim_param or d.dim_value for d in "
        "unknown.to_model_proto().graph.output[0].type.tensor_type.shape.dim]",
    ),
    Row(
        "the newest opset",
        "[three words](guide/opsets.md#three-versions-of-the-standard-domain) for three versions",
        "ow.opset.DEFAULT_OPSET_VERSION, ow.latest_opset.version > 23",
    ),
)

TABLES = (
    Table("Names of onnxscript", dedent(_SCRIPT).strip("\n"), _SCRIPT_ROWS),
    Table("Names of torch.onnx", dedent(_TORCH).strip("\n"), _TORCH_ROWS),
)


def results(table: Table, folder: Path) -> Iterator[tuple[Row, str]]:
    """The rows with what their expressions give.

    Args:
        table: the table.
        folder: where its program is written and files go.

    Yields:
        Row and result, as Python shows it.
    """
    file = folder / "names.py"
    file.write_text(table.program + "\n", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "names"}
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):
            warnings.simplefilter("ignore")
            exec(compile(table.program, str(file), "exec"), names)  # noqa: S102 - of this module
            for row in table.rows:
                yield row, repr(eval(row.run, names))  # noqa: S307 - of this module
    finally:
        os.chdir(before)


def section(table: Table, folder: Path) -> str:
    """The text of a table.

    Args:
        table: the table.
        folder: where its program is run.

    Returns:
        Markdown.
    """
    lines = [f"\n## {table.title}\n", "| There | Here | Run | Gives |", "|---|---|---|---|"]
    for row, given in results(table, folder):
        run, shown = (text.replace("|", "\\|") for text in (row.run, given))
        lines.append(f"| {row.there} | {row.here} | `{run}` | `{shown}` |")
    return "\n".join([*lines, "\nRun after this program:\n", f"```py\n{table.program}\n```\n"])
