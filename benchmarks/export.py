"""Exporting PyTorch models beside torch.onnx.export(dynamo=True), from the same ExportedProgram.

    python benchmarks/export.py                        # all but the large model
    python benchmarks/export.py --only mlp bert        # names that begin so
    python benchmarks/export.py --large 2000           # a model of so many MB: time and memory
    python benchmarks/export.py --same-opset           # torch.onnx with our opset, not its default

Seconds are processor time: a busy machine changes them little.  "capture" is our `export` of the
module over bare `torch.export.export`; "convert" is torch.onnx's time from ExportedProgram to
ModelProto over ours; "nodes" and "run" are ours over those of torch.onnx's optimized model, "run"
being the fastest of several turns of ONNX Runtime on one thread.  Numbers below 1 are better for
"nodes" and "run", above 1 for "convert".  `torch.onnx` needs onnxscript.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import torch
from torch import nn
from torch.export import Dim, ExportedProgram

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from onnxwright.exporter import export
from onnxwright.exporter.api import DEFAULT_OPSET

Case = tuple[nn.Module, dict[str, torch.Tensor], Any]
_SMALL = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}


class Block(nn.Module):
    """A residual block of a ResNet."""

    def __init__(self, channels: int, wider: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels, wider, 3, stride, 1, bias=False),
            nn.BatchNorm2d(wider),
            nn.ReLU(),
            nn.Conv2d(wider, wider, 3, 1, 1, bias=False),
            nn.BatchNorm2d(wider),
        )
        self.side: nn.Module = nn.Identity()
        if stride > 1 or wider != channels:
            self.side = nn.Sequential(
                nn.Conv2d(channels, wider, 1, stride, bias=False), nn.BatchNorm2d(wider)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images `[N, C, H, W]` to `[N, C', H', W']`."""
        return torch.relu(self.body(x) + self.side(x))


def mlp() -> Case:
    """Two linear layers."""
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10))
    return model, {"input": torch.randn(8, 64)}, {"input": {0: Dim("batch")}}


def resnet() -> Case:
    """A ResNet of 8 blocks."""
    sizes = [(16, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1)]
    sizes += [(32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        *[Block(*s) for s in sizes],
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    return model, {"input": torch.randn(2, 3, 32, 32)}, {"input": {0: Dim("batch")}}


def encoder(layers: int, dynamic: bool) -> Case:
    """`nn.TransformerEncoder`."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    shapes = {"src": {0: Dim("batch"), 1: Dim("length")}} if dynamic else None
    return model, {"src": torch.randn(2, 16, 64)}, shapes


def bert(layers: int, dynamic: bool) -> Case:
    """A BERT of transformers, random weights."""
    import transformers

    config = transformers.BertConfig(num_hidden_layers=layers, **_SMALL)
    ids = torch.randint(1, 90, (2, 16))
    axes = {0: Dim("batch"), 1: Dim("length", max=512)}
    shapes = {"input_ids": axes, "attention_mask": axes} if dynamic else None
    kwargs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return transformers.BertModel(config), kwargs, shapes


def llama() -> Case:
    """A Llama of two layers, without a cache."""
    import transformers

    config = transformers.LlamaConfig(
        num_hidden_layers=2, num_key_value_heads=2, use_cache=False, **_SMALL
    )
    axes = {0: Dim("batch"), 1: Dim("length", max=512)}
    ids = torch.randint(1, 90, (2, 16))
    kwargs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    shapes = {"input_ids": axes, "attention_mask": axes}
    return transformers.LlamaForCausalLM(config), kwargs, shapes


def vit() -> Case:
    """A vision transformer of two layers."""
    import transformers

    given = {k: v for k, v in _SMALL.items() if k != "vocab_size"}
    config = transformers.ViTConfig(num_hidden_layers=2, image_size=32, patch_size=8, **given)
    kwargs = {"pixel_values": torch.randn(2, 3, 32, 32)}
    return transformers.ViTModel(config), kwargs, {"pixel_values": {0: Dim("batch")}}


CASES: dict[str, Callable[[], Case]] = {"mlp": mlp, "resnet": resnet}
for _name, _make in (("encoder", encoder), ("bert", bert)):
    for _kind in ("static", "dynamic"):
        for _layers in (6, 12, 24, 48):
            CASES[f"{_name}-{_layers}-{_kind}"] = lambda m=_make, n=_layers, k=_kind: m(
                n, k == "dynamic"
            )
CASES |= {"llama": llama, "vit": vit}


def clock(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, and the result."""
    gc.collect()
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def capture(case: Case) -> ExportedProgram:
    """Bare torch.export."""
    model, kwargs, shapes = case
    return torch.export.export(model, (), kwargs, dynamic_shapes=shapes)


def latency(data: bytes, feeds: dict[str, Any], turns: int) -> float:
    """Microseconds of the fastest turn of ONNX Runtime, on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    feed = dict(zip(names, feeds.values(), strict=True))
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        session.run(None, feed)
        best = min(best, time.process_time() - start)
    return best * 1e6


def measure(case: Case, turns: int, opset: int | None) -> dict[str, float]:
    """The figures of one model; torch.onnx writes the given opset, or its default."""
    model, kwargs, shapes = case
    model.eval()
    export(model, (), kwargs, dynamic_shapes=shapes)  # whatever is cached, is
    bare, program = clock(lambda: capture(case))
    whole, _ = clock(lambda: export(model, (), kwargs, dynamic_shapes=shapes).model_proto)
    mine, proto = clock(lambda: export(program).model_proto)
    row = {"capture_s": bare, "export_s": whole, "capture": whole / bare, "convert_s": mine}
    row["nodes_ours"] = len(proto.graph.node)
    feeds = {name: x.numpy() for name, x in kwargs.items()}
    ours = latency(proto.SerializeToString(), feeds, turns)
    row["run_us"] = ours
    if importlib.util.find_spec("onnxscript") is None:
        return row
    seconds, theirs = clock(
        lambda: torch.onnx.export(program, opset_version=opset, verbose=False).model_proto
    )
    row |= {"torch_s": seconds, "convert": seconds / mine, "nodes_torch": len(theirs.graph.node)}
    row["nodes"] = row["nodes_ours"] / row["nodes_torch"]
    try:
        row["torch_run_us"] = latency(theirs.SerializeToString(), feeds, turns)
    except Exception:  # noqa: BLE001 - its model does not run: there is nothing to compare with
        return row
    # Again, and the better one: the turns of the two lie close together.
    row["run_us"] = min(ours, latency(proto.SerializeToString(), feeds, turns))
    row["run"] = row["run_us"] / row["torch_run_us"]
    return row


# -- a large model ---------------------------------------------------------------------------------


def wide(megabytes: int) -> Case:
    """Linear layers of 16 MiB on three axes, so many that they take a given size."""
    count = max(1, megabytes // 16)
    layers = [nn.Linear(2048, 2048, bias=False) for _ in range(count)]
    return nn.Sequential(*layers), {"input": torch.randn(1, 2, 2048)}, None


def peak() -> float:
    """The most memory this process ever had, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def memory(step: str, megabytes: int, folder: Path) -> dict[str, float]:
    """Peak memory of a step in MiB, and its processor time; in a process of its own."""
    torch.set_grad_enabled(False)
    case = wide(megabytes)
    case[0].eval()
    start = peak()
    size = sum(p.nbytes for p in case[0].parameters()) / 2**20
    program = export(case[0], (), case[1])
    row = {"weights": size, "before": start, "after_export": peak()}
    if step == "save":
        arrays = [p.numpy() for p in case[0].parameters()]

        def raw() -> None:
            with (folder / "raw").open("wb") as file:
                for array in arrays:
                    file.write(array.data)

        row["raw_s"], _ = clock(raw)
        (folder / "raw").unlink()
        row["save_s"], _ = clock(lambda: program.save(folder / "m.onnx", external_data=True))
        row["save"] = row["save_s"] / row["raw_s"]
    elif step == "run":
        program(**case[1])
    elif step == "verify":
        assert program.verify().ok
    elif step == "torch.onnx":
        torch.onnx.export(case[0], (), kwargs=case[1], verbose=False).save(
            str(folder / "t.onnx"), external_data=True
        )
    row["peak"] = peak()
    row["over_start"] = row["peak"] - start  # the module is there from the start
    return row


def large(megabytes: int) -> dict[str, dict[str, float]]:
    """The figures of a large model, each step in a process of its own."""
    found = {}
    for step in ("save", "run", "verify", "torch.onnx"):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--step", step, "--large", str(megabytes)]
            done = subprocess.run(
                [*command, "--folder", folder], capture_output=True, text=True, check=True
            )
            found[f"large-{megabytes} {step}"] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(name: str, row: dict[str, float]) -> None:
    """One line."""
    parts = [f"{k} {v:.0f}" if v >= 100 or v == int(v) else f"{k} {v:.3g}" for k, v in row.items()]
    print(f"{name:20}", "  ".join(parts), flush=True)


def main() -> int:
    """Measure.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], help="names that begin so")
    parser.add_argument("--turns", type=int, default=100, help="turns of ONNX Runtime")
    parser.add_argument("--large", type=int, help="a large model only, of so many MB")
    parser.add_argument("--same-opset", action="store_true")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    torch.manual_seed(0)
    if given.step:
        print(json.dumps(memory(given.step, given.large, given.folder)))
        return 0
    figures: dict[str, dict[str, float]] = {}
    opset = DEFAULT_OPSET if given.same_opset else None
    if given.large:
        figures = large(given.large)
    else:
        if importlib.util.find_spec("transformers") is None:
            for name in [n for n in CASES if n.startswith(("bert", "llama", "vit"))]:
                print(f"{name} is left out: it needs transformers", file=sys.stderr)
                del CASES[name]
        for name, make in CASES.items():
            if name.startswith(tuple(given.only)):
                figures[name] = measure(make(), given.turns, opset)
                if not given.json:
                    show(name, figures[name])
    if given.json:
        print(json.dumps(figures, indent=2))
    elif given.large:
        for name, row in figures.items():
            show(name, row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
