"""The figures of `optimize.py` as a page of the documentation."""

from __future__ import annotations

import statistics
from importlib import metadata
from typing import Any

# Those that write standard operators alone: ours is beside the best of them.
PEERS = ("onnxslim", "onnxsim", "onnxoptimizer", "onnxscript", "ort basic")
DIALECTS = ("coreml", "keras", "ort_transformers", "paddle", "sklearn", "tensorflow", "torchscript")
# Why another one leaves fewer nodes of a model, by the beginning of its name.
_SKIP_NORM = "SkipSimplifiedLayerNormalization is there, which takes 1.3 to 2 times as long"
_SIMPLIFIED = "SimplifiedLayerNormalization is there, for which ours has no rule"
_EMBEDDINGS = "the weight of the embeddings is read as it is, too: it would be stored twice"
REASONS: dict[str, str] = {
    "llama_static_cache.": _SIMPLIFIED,
    **dict.fromkeys(
        (
            "gemma2.",
            "gemma3.",
            "llama_",
            "qwen3.",
            "t5_cache.",
            "mamba.dynamo",
            "mamba2.",
            "mamba_first_words.dynamo",
            "mamba_next_word.dynamo",
        ),
        _SKIP_NORM,
    ),
    "mamba.": _EMBEDDINGS,
    "mamba_first_words.": _EMBEDDINGS,
    "mamba_next_word.": "Transposes of axes of length 1 are Reshapes, which copy nothing; "
    "there FusedMatMul takes them in",
    "encodec.": "a sum of squares of weights is computed there; ours leaves it to the runtime",
}
OF_RUNTIME = ("ort extended", "ort transformers")
HEAD = """\
# Beside other optimizers

<!-- Written by `python benchmarks/optimize.py FOLDERS --page docs/guide/other_optimizers.md`. -->

Models as other converters write them, and exports of networks, through
[`ow.optimize`](optimizer.md) and five others that write standard operators:
{peers}. The models are made by code; rules that they showed to be missing were written:

```bash
pip install "onnxwright[bench]"
python -m tests.optimizer.corpus exports
python -m tests.optimizer.corpus.dialects outside
python benchmarks/optimize.py outside exports --json figures.json \\
    --page docs/guide/other_optimizers.md
```

Constants do not count as nodes. "Nodes kept" is the geometric mean over the models that come out
right, "more" how many of them have more nodes than ours. Outputs are compared on the same inputs
without ONNX Runtime's own optimizations: "wrong" is an output that is not the original's, or a
model that no longer runs. Times are of one loaded machine. Latencies are medians of {runs} runs;
of a model that takes {longest:.0f} s for them there are fewer, {fewest} at least. A run that is
stopped goes on where it was when the command is given again.
"""


def kind_of(name: str) -> str:
    """Which converter a model of the corpora is from."""
    first = name.partition(".")[0]
    return first if first in DIALECTS else f"networks, {name.rpartition('.')[2]}"


def runs_itself(rows: dict[str, dict[str, Any]]) -> bool:
    """Whether the original of a model runs."""
    return not any("the first model does not run" in str(r.get("wrong")) for r in rows.values())


def folders(found: dict[str, dict[str, dict[str, Any]]], there: dict[str, int]) -> list[str]:
    """How many models of each folder were measured, and how often."""
    lines = ["| folder | models | measured | with fewer runs |", "|---|--:|--:|--:|"]
    most = max((r["original"].get("runs", 0) for r in found.values()), default=0)
    for folder, count in there.items():
        some = [r["original"] for r in found.values() if r["original"].get("folder") == folder]
        fewer = sum(0 < o.get("runs", 0) < most for o in some)
        lines.append(f"| {folder} | {count} | {len(some)} | {fewer} |")
    return [*lines, ""]


def right(row: dict[str, Any] | None) -> bool:
    """Whether a library gave a model that computes the same."""
    return row is not None and "nodes" in row and row["wrong"] is None


def losses(
    found: dict[str, dict[str, dict[str, Any]]], mine: str, peers: tuple[str, ...]
) -> list[tuple[str, int, int, int, str]]:
    """The models of which a peer leaves fewer nodes: nodes before, ours, the fewest, and whose."""
    rows = []
    for name, libraries in found.items():
        others = [(libraries[p]["nodes"], p) for p in peers if right(libraries.get(p))]
        if not others or not right(libraries.get(mine)):
            continue
        ours = libraries[mine]["nodes"]
        if min(others)[0] < ours:
            rows.append((name, libraries["original"]["nodes"], ours, *min(others)))
    return rows


def mean_of(rows: list[tuple[dict[str, Any], dict[str, Any]]], key: str) -> str:
    """The geometric mean of a figure over that of the original."""
    ratios = [r[key] / max(o[key], 1e-9) for r, o in rows if r.get(key) and o.get(key)]
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else ""


def comparison(found: dict[str, dict[str, dict[str, Any]]], names: list[str]) -> list[str]:
    """One row for each library."""
    lines = [
        "| optimizer | nodes kept | fewer nodes than ours | more | wrong | failed | s in all |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        rows = [(r[name], r["original"]) for r in found.values() if right(r.get(name))]
        both = [
            (r[name]["nodes"], r["onnxwright"]["nodes"]) for r in found.values()
            if right(r.get(name)) and right(r.get("onnxwright"))
        ]  # fmt: skip
        every = [r[name] for r in found.values() if name in r]
        lines.append(
            f"| {name} | {mean_of(rows, 'nodes')} | {sum(a < b for a, b in both) or ''} "
            f"| {sum(a > b for a, b in both) or ''} "
            f"| {sum(r.get('wrong') is not None for r in every)} "
            f"| {sum('trouble' in r for r in every)} "
            f"| {sum(r.get('seconds', 0) for r in every):.1f} |"
        )
    return lines


def page(
    found: dict[str, dict[str, dict[str, Any]]],
    names: list[str],
    there: dict[str, int],
    runs: tuple[int, int, float],
) -> str:
    """The figures as a page of the documentation.

    Args:
        found: the figures, by model and library.
        names: the libraries.
        there: how many models each folder has, whether they were measured or not.
        runs: how often latencies are measured, how often at least, and the seconds for more.
    """
    measured, idle = folders(found, there), [n for n, r in found.items() if not runs_itself(r)]
    found = {n: r for n, r in found.items() if runs_itself(r)}
    present = [n for n in ("onnxwright", *PEERS) if n in names]
    lost = losses(found, "onnxwright", PEERS)
    peers = ", ".join(with_version(n) for n in present[1:])
    lines = [HEAD.format(peers=peers, runs=runs[0], fewest=runs[1], longest=runs[2]), *measured]
    if idle:
        words = "ONNX Runtime does not run these as their exporter wrote them; they do not count: "
        lines += [f"{words}{', '.join(idle)}.", ""]
    lines += [f"## All {len(found)} models", "", *comparison(found, present), ""]
    part = (len(found) - len(lost)) / max(len(found), 1)
    lines += [
        (f"Of {len(found)} models ours has fewer nodes than the best of the others, or as many, on "
        f"{len(found) - len(lost)} ({part:.1%})."), "",
        "## By converter", "",
        "| converter | models | " + " | ".join(f"{n}, nodes kept" for n in present)
        + " | fewest or equal |",
        "|---|--:|" + "--:|" * len(present) + "--:|",
    ]  # fmt: skip
    for kind in sorted({kind_of(n) for n in found}):
        some = {n: r for n, r in found.items() if kind_of(n) == kind}
        kept = [
            mean_of([(r[n], r["original"]) for r in some.values() if right(r.get(n))], "nodes")
            for n in present
        ]
        best = len(some) - sum(kind_of(row[0]) == kind for row in lost)
        lines.append(f"| {kind} | {len(some)} | {' | '.join(kept)} | {best} |")
    lines += ["", "## Where another one leaves fewer nodes", "", *listed(lost)]
    lines += ["", "## Wrong outputs and failures", "", *troubles(found, present)]
    special = [n for n in ("onnxwright ort", "ort extended", "ort transformers") if n in names]
    if special:
        lines += ["", *for_runtime(found, special)]
    return "\n".join(lines) + "\n"


def with_version(name: str) -> str:
    """A library with the version that is installed."""
    package = "onnxruntime" if name.startswith("ort") else name
    try:
        return f"{name} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return name


def troubles(found: dict[str, dict[str, dict[str, Any]]], names: list[str]) -> list[str]:
    """What went wrong, model by model."""
    lines = ["| model | optimizer | what |", "|---|---|---|"]
    for model, libraries in found.items():
        for name in names:
            row = libraries.get(name, {})
            what = row.get("trouble") or row.get("wrong")
            if what:
                # Of an exception its type, of a model that does not run where: what follows may
                # name files of the library.
                words = bool(row.get("trouble")) or "does not run" in str(what)
                shown = str(what).split(": ")[0] if words else str(what)
                lines.append(f"| {model} | {name} | {shown.replace('`', '').replace('|', '/')} |")
    return lines if len(lines) > 2 else ["Nothing."]


def listed(lost: list[tuple[str, int, int, int, str]]) -> list[str]:
    """Losses as a table, each with its reason."""
    if not lost:
        return ["Nowhere."]
    lines = ["| model | nodes | ours | fewest | why |", "|---|--:|--:|--:|---|"]
    for name, before, ours, fewest, whose in lost:
        why = next((r for start, r in REASONS.items() if name.startswith(start)), "not looked at")
        lines.append(f"| {name} | {before} | {ours} | {fewest} ({whose}) | {why} |")
    return lines


def for_runtime(found: dict[str, dict[str, dict[str, Any]]], names: list[str]) -> list[str]:
    """The libraries that write operators of ONNX Runtime's own."""
    some = {k: r for k, r in found.items() if all(right(r.get(n)) for n in names)}
    lines = [
        "## With operators of ONNX Runtime",
        "",
        (
            '`ow.optimize(model, target="onnxruntime", assume=["default_session"])` beside ONNX '
            "Runtime's extended level and the fusions of `onnxruntime.transformers`, on the "
            f"{len(some)} models that come out right of each. Latency is over the original's: one "
            "thread, in a default session and in one without optimizations."
        ),
        "",
        "| optimizer | nodes kept | latency | without optimizations | wrong | failed |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        rows = [(r[name], r["original"]) for r in some.values()]
        every = [r[name] for r in found.values() if name in r]
        lines.append(
            f"| {name} | {mean_of(rows, 'nodes')} | {mean_of(rows, 'ms')} "
            f"| {mean_of(rows, 'plain ms')} | {sum(r.get('wrong') is not None for r in every)} "
            f"| {sum('trouble' in r for r in every)} |"
        )
    lost = losses(found, names[0], OF_RUNTIME)
    count = f"{len(found) - len(lost)} of {len(found)}"
    words = f"Ours has fewer nodes than both, or as many, on {count} models. The others:"
    lines += ["", words, "", *listed(lost)]
    return lines
