# ruff: noqa: B007, PT017 - programs under test do this on purpose
"""Scripts in odd places: other encodings, classes, decorators, exec, frozen programs, pickles."""

from __future__ import annotations

import copy
import functools
import pickle
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op
from onnxwright.errors import OnnxwrightError, ScriptError
from tests.footguns.agreement import from_text

X = np.array([1.0, -2.0, 3.0], np.float32)


@script()
def module_level(x: FLOAT["N"], k: float = 2.0) -> FLOAT["N"]:
    """Twice, or k times."""
    return x * k


def test_tabs_and_several_lines(tmp_path, run_python) -> None:
    file = tmp_path / "tabbed.py"
    file.write_text(
        "from onnxwright import FLOAT, script, opset18 as op\n"
        "if True:\n"
        "\t@script()\n"
        "\tdef f(x: FLOAT['N']):\n"
        "\t\treturn op.Add(\n"
        "\t\t\tx,\n"
        "\t\t\tnope,\n"
        "\t\t)\n"
        "f.to_model_proto()\n"
    )
    done = run_python(str(file))
    assert "tabbed.py:7:4" in done.stderr, done.stderr
    assert "OW201" in done.stderr


class Layer:
    @script()
    def plain(x: FLOAT["N"]) -> FLOAT["N"]:  # noqa: N805
        return x + 1

    @staticmethod
    @script()
    def static(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 2

    class Inner:
        @script()
        def deep(x: FLOAT["N"]) -> FLOAT["N"]:  # noqa: N805
            return Layer.plain(x) * 2


def test_a_script_in_a_class_body(agree) -> None:
    agree(Layer.plain, X, expected=X + 1)
    agree(Layer.static, X, expected=X + 2)
    agree(Layer.Inner.deep, X, expected=(X + 1) * 2)


def double(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def test_a_script_under_another_decorator(agree) -> None:
    @double
    @script()
    def outside(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    np.testing.assert_array_equal(outside(X), X + 1)

    @functools.lru_cache
    def other():
        @script()
        def f(x: FLOAT["N"]) -> FLOAT["N"]:
            return x + 1

        return f

    agree(other(), X, expected=X + 1)


def test_a_script_over_another_decorator(agree) -> None:
    """The wrapped function is what is compiled, or it is refused; never the wrapper."""

    @script()
    @double
    def f(x: FLOAT["N"]) -> FLOAT["N"]:
        return x + 1

    try:
        agree(f, X, expected=X + 1)
    except OnnxwrightError as error:
        assert "wrapper" in str(error) or "args" in str(error)


def test_a_decorator_over_several_lines(agree) -> None:
    # fmt: off
    @script(
        default_opset=op,
    )
    # A comment.

    def f(
        x: FLOAT["N"],
    ) -> FLOAT["N"]:
        # A comment.
        """Doc."""
        return (
            x
            # Another.
            + 1
        )
    # fmt: on

    agree(f, X, expected=X + 1)


def test_a_one_line_function(agree) -> None:
    # fmt: off
    @script()
    def f(x: FLOAT["N"]): return x + 1  # noqa: E704
    # fmt: on

    agree(f, X, expected=X + 1)


def test_two_scripts_with_one_name_in_one_file(agree) -> None:
    @script()
    def f(x: FLOAT["N"]):
        return x + 1

    first = f

    @script()
    def f(x: FLOAT["N"]):
        return x + 2

    agree(first, X, expected=X + 1)
    agree(f, X, expected=X + 2)


def test_closures_of_one_function_differ(agree) -> None:
    def make(k):
        @script()
        def f(x: FLOAT["N"]):
            return x * k

        return f

    two, three = make(2.0), make(3.0)
    agree(two, X, expected=X * 2)
    agree(three, X, expected=X * 3)


def test_a_loop_over_closures(agree) -> None:
    made = []
    for k in (2.0, 3.0):

        @script()
        def f(x: FLOAT["N"], k: float = k):
            return x * k

        made.append(f)
    agree(made[0], X, expected=X * 2)
    agree(made[1], X, expected=X * 3)


def test_exec_with_a_registered_source(agree) -> None:
    source = "@script()\ndef f(x: FLOAT['N']):\n    return x + 1\n"
    agree(from_text(source, "<mine>"), X, expected=X + 1)


def test_exec_of_a_bare_string() -> None:
    """Either the text is found or the error says what to give."""
    source = "@script()\ndef f(x: FLOAT['N']):\n    return x + 1\n"
    space = {"script": script, "FLOAT": FLOAT}
    exec(source, space)
    np.testing.assert_array_equal(space["f"](X), X + 1)
    try:
        space["f"].to_model_proto()
    except ScriptError as error:
        assert "source=" in str(error)
        assert error.diagnostic.code == "OW202"


def test_a_given_source(agree) -> None:
    source = "def f(x: FLOAT['N']):\n    return x + 1\n"
    space = {"FLOAT": FLOAT}
    exec(source, space)
    agree(script(source=source)(space["f"]), X, expected=X + 1)


def test_python_dash_c(run_python) -> None:
    code = textwrap.dedent("""
        from onnxwright import FLOAT, script
        from onnxwright import opset18 as op

        @script()
        def f(x: FLOAT["N"]):
            return op.Abs(x) + 1

        import numpy as np
        print(f(np.array([-1, 2], np.float32)))
        print(f.to_model_proto().graph.node[0].op_type)
    """)
    done = run_python("-c", code)
    assert done.returncode == 0, done.stderr
    assert "[2. 3.]" in done.stdout
    assert "Abs" in done.stdout


TYPED = """\
from onnxwright import FLOAT, script
@script()
def f(x: FLOAT["N"]):
    return x + 1.0

print("got", f.to_model_proto().graph.node[-1].op_type)
"""


def test_standard_input_from_a_file(run_python, tmp_path) -> None:
    """A file can be read a second time, whatever Python keeps."""
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    for arguments in (["-"], ["/dev/stdin"][: Path("/dev/stdin").exists()]):
        with file.open() as stdin:
            done = run_python(*arguments, stdin=stdin)
        assert "got Add" in done.stdout, done.stderr


PIPED = """\
import sys, numpy as np
from onnxwright import FLOAT, script
@script()
def f(x: FLOAT["N"]):
    return x + 1.0

print("ran", f(np.ones(2, np.float32)))
try:
    print("got", f.to_model_proto().graph.node[-1].op_type)
except Exception as error:  # to show where it was raised Python itself reads the pipe again
    sys.stderr.write(str(error))
"""


def agrees_with_a_pipe(done) -> None:
    """The script runs; what needs its source says where the function is, and what to do."""
    assert "ran [2. 2.]" in done.stdout, done.stderr
    assert done.stderr.rstrip().splitlines()[-1].startswith("  = help: "), done.stderr
    assert "OW202]: the source of `f` cannot be found" in done.stderr
    assert ":3:1\n" in done.stderr.split("OW202")[1], done.stderr
    assert "from a pipe; put it in a file (`python FILE`, or `python - < FILE`)" in done.stderr


def test_standard_input_from_a_pipe(run_python) -> None:
    """No Python keeps the text: `python - <<EOF` of a shell is a pipe, too."""
    agrees_with_a_pipe(run_python("-", input=PIPED))


def test_standard_input_from_a_pipe_with_the_text(run_python) -> None:
    done = run_python("-", input=f"TEXT = {PIPED!r}\nexec(TEXT)\n")
    assert "got Add" in done.stdout, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("kind", ["/dev/stdin", "named"])
def test_a_script_that_is_a_pipe(kind: str, run_python, tmp_path) -> None:
    """Reading it again would wait for a writer."""
    import os
    import threading

    if kind == "/dev/stdin":
        agrees_with_a_pipe(run_python(kind, input=PIPED, timeout=60))
        return
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(PIPED,))
    writer.start()
    agrees_with_a_pipe(run_python(str(path), timeout=60))
    writer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo terminals")
def test_the_interactive_prompt() -> None:
    """What is typed is in the line editor's history."""
    import os
    import pty
    import select
    import time

    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "dumb", "PYTHONPATH": str(Path.cwd()), "PYTHON_HISTORY": os.devnull}
        os.execv(sys.executable, [sys.executable, "-q", "-i"])
    shown = ""

    def read(until: str) -> None:
        nonlocal shown
        end = time.monotonic() + 60
        while until not in shown and time.monotonic() < end:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    shown += os.read(terminal, 4096).decode(errors="replace")
                except OSError:
                    return

    try:
        read(">>> ")
        for line in TYPED.split("\n"):
            os.write(terminal, line.encode() + b"\n")
            time.sleep(0.05)
        read("got Add")
    finally:
        os.write(terminal, b"exit()\n")
        os.close(terminal)
        os.waitpid(pid, 0)
    assert "got Add" in shown


def test_a_notebook_cell(agree) -> None:
    """IPython compiles a cell under a name of its own and puts it in linecache."""
    source = "@script()\ndef f(x: FLOAT['N']):\n    return x + {}\n"
    cells = [from_text(source.format(k), f"/tmp/ipykernel_1/{k}.py") for k in (1, 2)]
    agree(cells[0], X, expected=X + 1)
    agree(cells[1], X, expected=X + 2)


def test_a_reloaded_module(tmp_path, monkeypatch, agree) -> None:
    import importlib
    import os

    file = tmp_path / "reloaded_footgun.py"
    text = (
        "from onnxwright import FLOAT, script\n@script()\ndef f(x: FLOAT['N']):\n    return x + 1\n"
    )
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    import reloaded_footgun

    agree(reloaded_footgun.f, X, expected=X + 1)
    file.write_text("# moved\n\n" + text.replace("+ 1", "+ 20"))
    os.utime(file, (1, 1))
    importlib.invalidate_caches()
    importlib.reload(reloaded_footgun)
    agree(reloaded_footgun.f, X, expected=X + 20)


def test_a_frozen_application(tmp_path, run_python) -> None:
    """Only the .pyc is there: `source=` gives the text, else the error says so."""
    import py_compile

    body = "def f(x: FLOAT['N']):\n    return x + 1\n"
    file = tmp_path / "frozen_mod.py"
    file.write_text(
        f"from onnxwright import FLOAT, script\nSOURCE = {body!r}\n{body}"
        "given = script(source=SOURCE)(f)\nbare = script()(f)\n"
    )
    py_compile.compile(str(file), cfile=str(tmp_path / "frozen_mod.pyc"))
    file.unlink()
    code = (
        "import frozen_mod\n"
        "print(frozen_mod.given.to_model_proto().graph.node[-1].op_type)\n"
        "try:\n    frozen_mod.bare.to_model_proto()\n"
        "except Exception as error:\n    print(type(error).__mro__[1:4], error)\n"
    )
    done = run_python("-c", code, cwd=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Add" in done.stdout
    assert "OW202" in done.stdout
    assert "source=" in done.stdout


def test_pickle_and_deepcopy(agree) -> None:
    for twin in (
        pickle.loads(pickle.dumps(module_level)),
        copy.deepcopy(module_level),
        copy.copy(module_level),
    ):
        agree(twin, X, expected=X * 2)
        assert twin.__name__ == "module_level"
        assert twin.__doc__ == "Twice, or k times."


def test_deepcopy_of_a_local_script(agree) -> None:
    k = 5.0

    @script()
    def f(x: FLOAT["N"]):
        return x * k

    agree(copy.deepcopy(f), X, expected=X * 5)


def test_a_process_pool() -> None:
    import concurrent.futures
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    if not hasattr(sys.modules[__name__], "module_level"):
        pytest.skip("the test module cannot be imported by name in another process")
    try:
        pickle.loads(pickle.dumps(op.Add))
    except (TypeError, AttributeError) as error:
        raise AssertionError("an Op does not pickle") from error
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        np.testing.assert_array_equal(pool.submit(abs, X).result(), np.abs(X))


def test_threads_compile_one_function() -> None:
    import concurrent.futures

    @script()
    def f(x: FLOAT["N"], n: INT64):
        for i in range(n):
            x = x + 1
        return x

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        texts = {m.SerializeToString() for m in pool.map(lambda _: f.to_model_proto(), range(8))}
    assert len(texts) == 1


def test_string_annotations_of_a_closure(agree) -> None:
    """`from __future__ import annotations` makes text of names only the function knows."""
    Mine = FLOAT["N"]

    @script()
    def f(x: Mine) -> Mine:
        return x + 1

    agree(f, X, expected=X + 1)


def test_metadata_is_kept() -> None:
    assert module_level.__name__ == "module_level"
    assert module_level.__doc__ == "Twice, or k times."
    assert module_level.__module__ == __name__
    assert "return x * k" in module_level.source
    assert "k" in str(module_level.signature)
    assert module_level.to_function_proto().doc_string.strip() == "Twice, or k times."
