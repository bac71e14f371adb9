# ruff: noqa: T201 - a command prints
"""Exports every network of the table in processes of their own, and prints how each compares.

    python -m tests.exporter.run_networks -n 2
    python -m tests.exporter.run_networks -n 2 --kind cache --scheduler tcp://host:8786

A network is right where ONNX Runtime gives PyTorch's results for the example and at other sizes.
The status is 1 where one is not.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import onnxwright as ow
from onnxwright.sweep.cluster import Cluster, Lost, run_tasks
from tests.exporter import networks_more  # noqa: F401 - registers its own
from tests.exporter.networks import NETWORKS, made


def check(name: str) -> tuple[bool, str, float]:
    """Export a network and compare.

    Args:
        name: its name in the table.

    Returns:
        Whether it is right, what is wrong, and seconds.
    """
    (network,) = (n for n in NETWORKS if n.name == name)
    begun = time.perf_counter()
    model, kwargs, dynamic = made(network)
    found = ow.export(model, (), kwargs, dynamic_shapes=dynamic).verify((), kwargs)
    return found.ok, "" if found.ok else str(found), time.perf_counter() - begun


def main(arguments: Sequence[str] | None = None) -> int:
    """Check networks and print a table.

    Args:
        arguments: the command line.

    Returns:
        The status: 1 where a network is not right.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.exporter.run_networks")
    parser.add_argument("names", nargs="*", help="networks; all by default")
    parser.add_argument("--kind", action="append", choices=sorted({n.kind for n in NETWORKS}))
    parser.add_argument("-n", type=int, default=0, help="processes; 0 for this one")
    parser.add_argument("--scheduler", help="run on this dask scheduler")
    given = parser.parse_args(arguments)
    chosen = [n for n in NETWORKS if not given.kind or n.kind in given.kind]
    chosen = [n for n in chosen if not given.names or n.name in given.names]
    bad: list[tuple[str, str]] = []
    tasks = {n.name: n.name for n in chosen}
    for name, found in run_tasks(check, tasks, Cluster(given.n, given.scheduler)):
        right, why, seconds = (
            (False, found.why, found.seconds) if isinstance(found, Lost) else found
        )
        print(f"{'right' if right else 'WRONG':6} {seconds:7.1f} s  {name}", flush=True)
        if not right:
            bad.append((name, why))
    for name, why in bad:
        print(f"\n--- {name}\n{why}")
    print(f"{len(chosen) - len(bad)} of {len(chosen)} networks are right")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
