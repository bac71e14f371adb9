"""The node tests and stored models of the installed onnx, with their inputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from tests.harness.node_cases import node_cases
from tests.optimizer.corpus.cases import Case

# Their results are drawn anew in every run.
RANDOM = ("bernoulli", "training_dropout", "random", "multinomial")


def cases() -> Iterator[Case]:
    """The cases in order of their names; sequences and optional values are fed as they are."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases_of_onnx = [*node_cases(), *load_model_tests(kind="simple")]
    for case in sorted(cases_of_onnx, key=lambda c: c.name):
        if any(word in case.name for word in RANDOM):
            continue
        model = case.model
        if model is None and case.model_dir is not None:
            model = onnx.load(f"{case.model_dir}/model.onnx")
        if model is None or not case.data_sets:
            continue
        yield Case(case.name, model, [_feeds(model, data[0]) for data in case.data_sets])


def _feeds(model: onnx.ModelProto, values: Any) -> dict[str, Any]:
    held = {i.name for i in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in held]
    return {n: v for n, v in zip(names, values, strict=False) if v is not None}
