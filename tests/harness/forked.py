"""Programs run in processes that are forked from one in which the libraries are loaded.

Loading them takes most of the time of a short program.  Its working directory, environment, streams
and exit status are those of a fresh process; the modules that it finds loaded are not, so programs
whose imports, startup or terminal are what a test is about run in a process of their own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[2]

# What most commands load; not onnxruntime, whose threads a forked process would not have.
LIGHT = (
    "numpy", "numpy.random", "onnx", "onnx_ir", "onnxwright", "onnxwright.cli.main",
    "onnxwright.compare.assertions", "onnxwright.compare.diffing",
    "onnxwright.converter.lower.functions", "onnxwright.decompiler",
    "onnxwright.diagnostics.explain", "onnxwright.dsl.model", "onnxwright.dsl.script",
    "onnxwright.dsl.verbatim", "onnxwright.eager", "onnxwright.optimizer",
    "onnxwright.viz.showing",
)  # fmt: skip
# The second line is what a first export loads, and what programs with networks of transformers do.
TORCH = (
    *LIGHT, "torch", "torch.export", "onnxwright.exporter",
    "sympy.combinatorics", "torch._inductor.fx_passes.dedupe_symint_uses",
    *(["transformers.models.llama.modeling_llama"] if find_spec("transformers") else []),
)  # fmt: skip

# BLAS starts its threads as it is loaded, as many as the user's environment says.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

# Read by Python as it starts.
_AT_START = ("PYTHON", "LC_", "LANG")


def can_fork(env: Mapping[str, str], arguments: Sequence[str]) -> bool:
    """Whether a program may be started from a process that runs already.

    Args:
        env: its environment.
        arguments: of Python.

    Returns:
        False where its environment or arguments have to be read as Python starts.
    """
    wanted, here = ({k: v for k, v in e.items() if _is_at_start(k)} for e in (env, os.environ))
    paths = env.get("PYTHONPATH")
    if paths not in (os.environ.get("PYTHONPATH"), _paths()):
        return False
    known = arguments[0] in ("-m", "-c") or arguments[0].endswith(".py")
    return hasattr(os, "fork") and wanted == here and known


def _is_at_start(name: str) -> bool:
    return name.startswith(_AT_START) and name != "PYTHONPATH"


def _paths() -> str:
    """Where Python finds the repository."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


class Forks:
    """A process with modules loaded, and the programs that are forked from it, one at a time.

    Args:
        preload: the modules.
    """

    def __init__(self, preload: Sequence[str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.forked", *preload],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": _paths()},
        )  # fmt: skip

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        input: str | bytes | None = None,  # noqa: A002 - as of subprocess.run
        text: bool = True,
        terminal: str = "",
        timeout: int = 300,
    ) -> subprocess.CompletedProcess[Any]:
        """Run a program to its end.

        Args:
            arguments: those of Python: a script, `-m` and a module, or `-c` and code.
            cwd: the working directory.
            env: the environment; this process's if not given.
            input: what it reads.
            text: whether its output is text.
            terminal: the path of a terminal that it reads from and writes to instead.
            timeout: seconds after which it is ended by SIGALRM.

        Returns:
            As `subprocess.run` gives, with what was printed.
        """
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("in", "out", "err")]
            given = b"" if input is None else input
            files[0].write_bytes(given.encode() if isinstance(given, str) else given)
            job = {
                "arguments": list(arguments),
                "cwd": str(cwd or Path.cwd()),
                "env": dict(os.environ if env is None else env),
                "files": [terminal] * 3 if terminal else [str(file) for file in files],
                "timeout": timeout,
            }
            assert self._server.stdin is not None
            assert self._server.stdout is not None
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            answer = self._server.stdout.readline()
            if not answer:
                raise RuntimeError("the process that programs are forked from has ended")
            status = int(answer)
            out, err = (b"" if terminal else file.read_bytes() for file in files[1:])
        args = [sys.executable, *arguments]
        if text:
            return subprocess.CompletedProcess(args, status, out.decode(), err.decode())
        return subprocess.CompletedProcess(args, status, out, err)

    def close(self) -> None:
        """End the process."""
        self._server.communicate()


def serve(preload: Sequence[str]) -> dict[str, Any] | None:
    """Load modules, then fork for each job that is read from stdin.

    Args:
        preload: the modules.

    Returns:
        In a forked process: its job; None at the end of the input.
    """
    requests, answers = os.dup(0), os.dup(1)
    for name in preload:
        importlib.import_module(name)
    threads = Path("/proc/self/task")
    if threads.exists() and len(list(threads.iterdir())) > 1:
        raise RuntimeError(f"threads do not outlive a fork; one of these has some: {preload}")
    gc.freeze()  # a forked process need not copy these objects to look at them
    with os.fdopen(requests) as lines:
        for line in lines:
            child = os.fork()
            if child == 0:
                os.close(answers)
                return dict(json.loads(line))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.write(answers, f"{status}\n".encode())
    return None


def start(job: Mapping[str, Any]) -> None:
    """Be the program of a job, in a forked process.

    Args:
        job: what `Forks.run` wrote.
    """
    for number, (file, flags) in enumerate(
        zip(job["files"], (os.O_RDONLY, *2 * [os.O_WRONLY | os.O_CREAT]), strict=True)
    ):
        os.dup2(os.open(file, flags, 0o600), number)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    signal.alarm(job["timeout"])
    arguments = job["arguments"]
    while arguments[0] == "-W":
        sys.warnoptions.append(arguments[1])
        warnings.simplefilter(arguments[1])
        del arguments[:2]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = job["cwd"]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path[0] = ""
        exec(arguments[1], {"__name__": "__main__"})  # noqa: S102 - as python -c does
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).parent.resolve())
        runpy.run_path(arguments[0], run_name="__main__")


def end(job: Mapping[str, Any]) -> NoReturn:
    """Run the program of a job to its end, and leave without taking the modules down.

    Args:
        job: what `Forks.run` wrote.
    """
    status: Any = 0
    try:
        start(job)
    except SystemExit as asked:
        status = 0 if asked.code is None else asked.code
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:  # noqa: BLE001 - as Python reports what nobody handles
        sys.excepthook(*sys.exc_info())
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xFF)


if __name__ == "__main__":
    found = serve(sys.argv[1:])
    if found is not None:
        end(found)
