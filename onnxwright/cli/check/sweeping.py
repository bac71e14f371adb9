"""`sweep`, `coverage`: ATen functions against PyTorch's samples, and which functions there are."""

from __future__ import annotations

import json
import re
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxwright.cli.shared.console import DIFFERS, OK, Bar, CliError
from onnxwright.cli.shared.files import write
from onnxwright.cli.shared.grammar import argument, choice, command, flag
from onnxwright.cli.shared.programs import module_of

# How many units that no journal has are listed.
_SHOWN = 10


def need_torch(what: str) -> None:
    """End a command that needs PyTorch where there is none.

    Raises:
        CliError: torch, or what its test samples need, is not installed.
    """
    from importlib.util import find_spec

    lacking = [name for name in ("torch", "expecttest") if find_spec(name) is None]
    if lacking:
        raise CliError(
            f"`{what}` compares with PyTorch, and {' and '.join(lacking)} is not installed: "
            "pip install 'onnxwright[sweep]'"
        )


@command(
    "sweep",
    "run PyTorch's OpInfo samples through the ATen functions and compare with torch",
    [
        "onnxwright sweep --op clamp --op aten::add.Tensor --dtype float32",
        "onnxwright sweep -n auto --journal sweep.jsonl --resume --html sweep.html",
        "onnxwright sweep --mode export --dtype float32 --limit 2",
        "onnxwright sweep --table my_ops.py --dtype float32",
        "onnxwright sweep --shard 1/4 --journal part1.jsonl",
        "onnxwright sweep merge part1.jsonl part2.jsonl part3.jsonl part4.jsonl",
    ],
    argument(
        "merge",
        "merge FILE",
        "the word merge and journals of parts of a sweep: report them as one, run nothing",
        nargs="*",
    ),
    argument("--op", "NAME", "an operator or OpInfo", action="append"),
    argument("--module", "NAME", "functions of a module", action="append"),
    argument("--dtype", "DTYPE", "such as float32", action="append"),
    argument(
        "--table",
        "FILE.py",
        "run the functions that this file registers with @aten, in this process",
    ),
    choice(
        "--mode",
        ("eager", "graph", "dynamic", "both", "all", "export"),
        "eager, graph, both (the default), dynamic (symbolic sizes), all three, or export "
        "(every OpInfo exported as a module of one operator)",
        default="both",
    ),
    argument("-n", "N", "processes; auto, or 0 for this one", default="auto"),
    argument("--limit", "N", "N samples of each OpInfo and dtype", type=int),
    argument("--opset", "N", "the version of the opset", type=int),
    argument("--timeout", "S", "seconds a unit", type=float, default=600.0),
    argument("--journal", "FILE", "write finished units here"),
    flag("--resume", "run what the journal does not have"),
    argument("--shard", "I/N", "run part I of N, for several machines"),
    argument("--scheduler", "ADDRESS", "run on this dask scheduler, tcp://host:8786"),
    argument("--memory", "SIZE", "limit of each process, such as 4GB"),
    argument("--dashboard", "ADDRESS", "serve dask's dashboard here (:8787)"),
    argument("--json", "FILE", "write the report as JSON"),
    argument("--html", "FILE", "write the report as a page"),
)
def _sweep(args: Namespace) -> int:
    need_torch("sweep")
    from onnxwright.sweep import units as sweeping
    from onnxwright.sweep.journal import Journal, merge
    from onnxwright.sweep.report import Report
    from onnxwright.sweep.results import Settings, UnitResult
    from onnxwright.sweep.run import sweep

    if args.merge:
        if args.merge[0] != "merge" or len(args.merge) < 2:
            raise CliError(
                "sweep takes options, or `merge` and journals: sweep merge a.jsonl b.jsonl"
            )
        try:
            settings, head, results = merge([Path(file) for file in args.merge[1:]])
        except ValueError as error:
            raise CliError(str(error)) from error
        todo = _chosen(args, settings.modes)
        lacking = {unit.key for unit in todo} - {result.key for result in results}
        seconds = sum(result.seconds for result in results)
        return _report(
            args, Report(settings, results, seconds, len(sweeping.infos()), head), lacking
        )
    _check_numbers(args)
    if args.table:
        return _sweep_table(args)
    if args.resume and not args.journal:
        raise CliError("--resume needs the journal to resume from: --journal FILE")
    modes = _modes(args)
    settings = Settings(modes, args.limit, args.opset or sweeping.OPSET)
    todo = _shard(_chosen(args, modes), args.shard)
    journal = None
    if args.journal:
        try:
            journal = Journal(Path(args.journal), settings, resume=args.resume)
        except ValueError as error:
            raise CliError(f"{error}; leave --resume out to start again") from error
    bar = Bar(len(todo), "sweep")
    wrong: Counter[str] = Counter()

    def each(result: UnitResult) -> None:
        wrong["n"] += sum(o.is_wrong for o in result.outcomes)
        bar.label = f"sweep, {wrong['n']} wrong" if wrong["n"] else "sweep"
        bar.step()

    begun = time.perf_counter()
    try:
        results = sweep(todo, settings, cluster=_cluster(args), journal=journal, each=each)
    finally:
        bar.close()
    asked = {"op": args.op, "dtype": args.dtype, "module": args.module, "workers": args.n}
    asked["shard"] = args.shard
    seconds = time.perf_counter() - begun
    return _report(args, Report(settings, results, seconds, len(sweeping.infos()), asked), set())


def _sweep_table(args: Namespace) -> int:
    """The functions of a user's file, each with its OpInfos."""
    from onnxwright.atenlib.load import functions
    from onnxwright.sweep import units as sweeping
    from onnxwright.sweep.report import Report
    from onnxwright.sweep.results import Settings
    from onnxwright.sweep.run import measure
    from onnxwright.sweep.user_tables import in_use, table_of, without_others

    _check_table_options(args)
    functions()  # the library's own come first, so that a name that is taken is the file's error
    try:
        table = table_of(module_of(Path(args.table)), args.dtype)
    except ValueError as error:
        raise CliError(str(error)) from error
    if not table.entries:
        raise CliError(f"{args.table} registers no function with @aten")
    todo = [unit for unit in table.units if not args.op or _named(unit, args.op)]
    settings = Settings(_modes(args), args.limit, args.opset or sweeping.OPSET)
    bar = Bar(len(todo), "sweep")
    results, begun = [], time.perf_counter()
    try:
        with in_use(table):
            for unit in todo:
                results.append(without_others(measure(unit, settings), table))
                bar.step()
    finally:
        bar.close()
    seconds = time.perf_counter() - begun
    asked = {"table": args.table, "op": args.op, "dtype": args.dtype}
    status = _report(args, Report(settings, results, seconds, len(sweeping.infos()), asked), set())
    for name, why in table.untested.items():
        print(f"not tested: {name}: {why}")
    if not any(o.status == "passed" for result in results for o in result.outcomes):
        print("no sample ran one of the functions")
        return DIFFERS
    return status


def _check_table_options(args: Namespace) -> None:
    for name in ("module", "journal", "resume", "shard", "scheduler"):
        if getattr(args, name):
            raise CliError(f"--table and --{name} do not go together")
    if args.n not in ("auto", "0"):
        raise CliError("--table runs in this process: leave -n out")
    if args.mode == "export":
        raise CliError("--mode export runs OpInfos, not functions: leave it or --table out")
    for dtype in args.dtype or ():
        _check_dtype(dtype)


def _named(unit: Any, ops: list[str]) -> bool:
    short = {n.split("::")[-1] for n in unit.function.names}
    return bool({*unit.function.names, *short, unit.test.name} & set(ops))


def _modes(args: Namespace) -> tuple[str, ...]:
    return {"both": ("eager", "graph"), "all": ("eager", "graph", "dynamic")}.get(
        args.mode, (args.mode,)
    )


def _check_dtype(dtype: str) -> None:
    from onnxwright.sweep import units as sweeping

    if dtype not in sweeping.DTYPES:
        raise CliError(f"--dtype is one of {', '.join(sweeping.DTYPES)}, not {dtype}")


def _check_numbers(args: Namespace) -> None:
    """Refuse numbers that no sweep can use, before any sample is drawn."""
    from onnxwright.opset.history import newest

    for name in ("limit", "timeout"):
        number = getattr(args, name)
        if number is not None and number <= 0:
            raise CliError(f"--{name} takes a number above 0, not {number}")
    if args.opset is not None and not 1 <= args.opset <= newest():
        raise CliError(f"--opset is one of 1 to {newest()}, not {args.opset}")
    if args.memory and not re.fullmatch(r"\d+(\.\d+)? *([kKMGT]i?)?B?", args.memory):
        raise CliError(f"--memory takes a size such as 4GB or 500MB, not {args.memory}")
    port = (args.scheduler or ":1").rpartition(":")[2]
    if not port.isdigit():
        advice = "an address such as tcp://host:8786"
        raise CliError(f"--scheduler takes {advice}, not {args.scheduler}")


def _chosen(args: Namespace, modes: tuple[str, ...]) -> list[Any]:
    """The units that the options name."""
    from onnxwright.sweep import export as sweep_export
    from onnxwright.sweep import units as sweeping

    for dtype in args.dtype or ():
        _check_dtype(dtype)
    exported = sweep_export.EXPORT in modes
    if exported and args.module:
        raise CliError("--module names functions; --mode export runs OpInfos: name them with --op")
    todo = (sweep_export.export_units if exported else sweeping.units)(args.op, args.dtype)
    if args.module:
        todo = [u for u in todo if u.function.body.__module__.split(".")[-1] in args.module]
    if not todo:
        raise CliError(_why_nothing_runs(args.op or ()))
    return list(todo)


def _why_nothing_runs(ops: Sequence[str]) -> str:
    """What to say where no function of these names has samples."""
    from onnxwright.atenlib.load import functions

    table = functions()
    for name in ops:
        entry = table.get(name) or table.get(f"aten::{name}")
        if entry is not None and entry.untested:
            return f"`{name}` is not run by samples of PyTorch: {entry.untested}"
    return "no function with tests has such a name in such a dtype (see `onnxwright coverage`)"


def _shard(todo: list[Any], text: str | None) -> list[Any]:
    """Every N-th unit, so that the parts take about as long."""
    if text is None:
        return todo
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise CliError(f"--shard takes I/N with I from 1 to N, such as 1/4, not {text}")
    return todo[int(part) - 1 :: int(parts)]


def _report(args: Namespace, report: Any, lacking: set[str]) -> int:
    if args.json:
        write(args.json, json.dumps(report.data(), indent=1))
    if args.html:
        write(args.html, report.html())
    print(report.text())
    for key in sorted(lacking)[:_SHOWN]:
        print(f"not run: {key}")
    if lacking:
        print(
            f"{len(lacking)} units are in none of the journals (parts of a sweep with --op, "
            "--module or --dtype are merged with the same options)"
        )
    return DIFFERS if report.wrong or lacking else OK


def _cluster(args: Namespace) -> Any:
    from importlib.util import find_spec

    from onnxwright.sweep.cluster import Cluster
    from onnxwright.sweep.run import processors

    if args.n != "auto" and not args.n.isdigit():
        raise CliError(f"-n takes a number of processes or auto, not {args.n}")
    workers = processors() if args.n == "auto" else int(args.n)
    if (workers or args.scheduler) and find_spec("distributed") is None:
        raise CliError(
            "several processes need dask's `distributed`: pip install 'onnxwright[sweep]', or "
            "run in this process with -n 0"
        )
    return Cluster(workers, args.scheduler, args.timeout, args.memory, args.dashboard)


@command(
    "coverage",
    "show which ATen operators have a function, by dtype and mode, with reasons for gaps",
    [
        "onnxwright coverage --summary",
        "onnxwright sweep --json sweep.json",
        "onnxwright coverage --report sweep.json --html coverage.html",
    ],
    argument("--report", "FILE", "the JSON of a sweep: what passed"),
    argument("--names", "FILE", "a JSON list of operators to look for"),
    argument("--op", "NAME", "only this operator", action="append"),
    flag("--summary", "no line for each operator"),
    argument("--json", "FILE", "write the table as JSON"),
    argument("--html", "FILE", "write the table as a page"),
)
def _coverage(args: Namespace) -> int:
    need_torch("coverage")
    from onnxwright.sweep.coverage import coverage

    report = _read(args.report, dict, "the JSON of a sweep") if args.report else None
    if report is not None and "units" not in report:
        raise CliError(f"{args.report} is not the JSON of a sweep")
    names = _read(args.names, list, "a JSON list of names") if args.names else []
    table = coverage(report, names, args.op or ())
    if args.op and not table.rows:
        raise CliError(f"there is no function for {', '.join(args.op)}")
    if args.json:
        write(args.json, json.dumps(table.data(), indent=1))
    if args.html:
        write(args.html, table.html())
    print(table.text(table=not args.summary))
    return OK


def _read(path: str, kind: type, what: str) -> Any:
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise CliError(f"{path} is not {what}: {error}") from error
    if not isinstance(value, kind):
        raise CliError(f"{path} is not {what}")
    return value
