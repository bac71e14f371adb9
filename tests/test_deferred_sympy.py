"""onnx_ir is imported without sympy, and nobody sees a difference but the clock.

Each program runs in a process of its own: what is imported first is what this is about.  What has
no part in it (numpy, onnx) is loaded once, in the process from which the others are forked.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = {
    "compiling, building and reading models leave sympy alone, and nothing behind": """
        import builtins, sys
        before = builtins.__import__, len(sys.meta_path)
        import onnxwright as ow
        from onnxwright import FLOAT, script, opset21 as op

        @script()
        def f(x: FLOAT["N", "2*N + 1"]) -> FLOAT["N", "M"]:
            return op.Concat(x, x + 1.0, axis=1)

        model = f.to_model_proto()
        g = ow.GraphBuilder(opset=21)
        x = g.input("x", FLOAT["N", 16])
        g.output(g.op.Reshape(g.op.Relu(x), g.op.Shape(x)), "y")
        ow.optimize(g.to_model_proto())
        ow.to_script(model)
        ow.diff(model, model)
        str(ow.show(model))
        assert "onnx_ir" in sys.modules and "sympy" not in sys.modules
        assert before == (builtins.__import__, len(sys.meta_path))
        assert not [name for name in sys.modules if name.startswith(("sympy.", "mpmath"))]
    """,
    "arithmetic on symbolic dimensions imports it": """
        import copy, pickle, sys
        import onnxwright, onnx_ir as ir
        from onnx_ir import _core, _symbolic_shapes
        assert "sympy" not in sys.modules
        assert ir.SymbolicDim("N") == "N" and "sympy" not in sys.modules
        assert (ir.SymbolicDim("N") + 1).evaluate({"N": 4}) == 5
        import sympy
        assert _core.sympy is sympy is sys.modules["sympy"] is _symbolic_shapes.sympy
        n = ir.SymbolicDim(sympy.Symbol("n") * 2)
        assert n.value == "2*n" and ir.SymbolicDim(n._expr) == n
        for text, value in {"max(N, 3)": 4, "min(N, 3)": 3, "floor(N/3)": 1, "mod(N, 3)": 1,
                            "sqrt(N)": 2, "N // 3": 1, "N % 3": 1}.items():
            assert ir.SymbolicDim(text).evaluate({"N": 4}) == value, text
            same = pickle.loads(pickle.dumps(copy.deepcopy(ir.SymbolicDim(text) + 0)))
            assert same.evaluate({"N": 4}) == value, text
    """,
    "the first thing asked may be anything": """
        import pickle, sys, typing
        import onnxwright
        from onnx_ir import _core
        stand_in = _core.sympy
        assert type(stand_in).__name__ == "Deferred" and stand_in.__name__ == "sympy"
        assert "Symbol" in dir(stand_in)
        import sympy
        assert pickle.loads(pickle.dumps(stand_in)) is sympy
        assert stand_in.__version__ == sympy.__version__ and stand_in.Max is sympy.Max
        assert _core.sympy is sympy
        hints = typing.get_type_hints(_core.SymbolicDim.__init__)
        assert hints["value"] == typing.Union[str, sympy.Expr, None]
    """,
    "a submodule of sympy imported later is the one that onnx_ir sees": """
        import onnxwright, onnx_ir as ir
        from sympy.core.symbol import Symbol
        import sympy.core.symbol, sympy
        assert Symbol is sympy.Symbol is sympy.core.symbol.Symbol
        assert (ir.SymbolicDim(Symbol("n")) + 1).value == "n + 1"
    """,
    "sympy imported before stays as it is": """
        import sympy, sys
        import onnxwright, onnx_ir
        assert onnx_ir._core.sympy is sympy
        assert "Deferred" not in {type(entry).__name__ for entry in vars(onnx_ir._core).values()}
    """,
    "sympy imported between the two": """
        import onnxwright, sympy, sys
        import onnx_ir
        assert onnx_ir._core.sympy is sympy
        assert not [f for f in sys.meta_path if type(f).__module__ == "onnxwright.deferred_sympy"]
    """,
    "onnx_ir imported before stays as it is": """
        import onnx_ir, sys
        finders = list(sys.meta_path)
        import onnxwright
        import sympy
        assert onnx_ir._core.sympy is sympy and sys.meta_path == finders
    """,
    "onnx_ir is found and described as without us": """
        import importlib.machinery, importlib.resources, importlib.util, inspect
        import onnxwright
        assert importlib.util.find_spec("numpy").name == "numpy"
        spec = importlib.util.find_spec("onnx_ir")
        assert spec.origin.endswith("__init__.py") and spec.loader.get_source("onnx_ir")
        import onnx_ir, sys
        assert "sympy" not in sys.modules
        loader = onnx_ir.__spec__.loader
        assert type(loader) is importlib.machinery.SourceFileLoader is type(onnx_ir.__loader__)
        assert inspect.getsource(onnx_ir) and inspect.getsource(onnx_ir._core)
        assert importlib.resources.files("onnx_ir").joinpath("py.typed").is_file()
    """,
    "threads that import both at once see one sympy": """
        import sys, threading
        import onnxwright
        start, found, failed = threading.Barrier(4), [], []

        def run(statement):
            names = {}
            start.wait()
            try:
                exec(statement, names)
                found.append(names["S"])
            except BaseException as error:
                failed.append(error)

        statements = 2 * [
            "import onnx_ir; S = (onnx_ir.SymbolicDim('n') + 1)._expr.free_symbols.pop().__class__",
            "import sympy; S = sympy.Symbol",
        ]
        threads = [threading.Thread(target=run, args=(s,)) for s in statements]
        for t in threads: t.start()
        for t in threads: t.join()
        assert not failed, failed
        assert len(found) == 4 and len(set(found)) == 1, found
    """,
    "a thread that looks for a module meanwhile misses no finder": """
        import sys
        from onnxwright import deferred_sympy
        finder, others = deferred_sympy._Finder(), list(sys.meta_path)
        sys.meta_path.insert(0, finder)
        asked = iter(sys.meta_path)
        assert next(asked) is finder
        deferred_sympy._remove(finder)
        assert list(asked) == others == sys.meta_path
    """,
    "another library's `__import__`, put there meanwhile, stays": """
        import builtins, sys, types
        import onnxwright
        seen, theirs = [], []

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "onnx_ir._core" and not theirs:
                    before = builtins.__import__
                    def spy(name, *rest, **named):
                        seen.append(name)
                        return before(name, *rest, **named)
                    theirs.append(spy)
                    builtins.__import__ = spy

        sys.meta_path.insert(0, Finder())
        import onnx_ir
        assert builtins.__import__ is theirs[0] and "sympy" in seen
        assert "sympy" not in sys.modules
        import sympy
        assert type(sympy) is types.ModuleType
        assert (onnx_ir.SymbolicDim("n") + 1).value == "n + 1"
    """,
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_in_a_fresh_process(run_loaded: Any, tmp_path: Path, what: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAMS[what]), encoding="utf-8")
    preload = ("numpy", "numpy.random", "onnx")
    done = run_loaded("-W", "ignore", str(program), preload=preload)
    assert done.returncode == 0, done.stderr
