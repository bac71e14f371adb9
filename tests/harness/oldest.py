"""Tests that cannot hold with the oldest allowed dependencies, each with the reason.

They are about what a newer onnx defines, or compare with results that an older runtime computes
wrong.  With the newest dependencies nothing is skipped.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A limitation of a dependency.

    Fields:
        package: the distribution.
        below: the first version without it; empty where any version will do.
        reason: what is missing or wrong before.
        tests: beginnings of test ids.
    """

    package: str
    below: str
    reason: str
    tests: tuple[str, ...]

    def holds(self) -> bool:
        """Whether the installed version has the limitation."""
        if not self.below:
            return importlib.util.find_spec(self.package) is None
        return _version(self.package) < tuple(map(int, self.below.split(".")))


@functools.cache
def _version(package: str) -> tuple[int, ...]:
    """The numbers of an installed version."""
    text = importlib.metadata.version(package)
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


LIMITS = (
    Limit(
        "onnx",
        "1.23",
        "the text or file shows the operators, element types or opsets of onnx 1.23",
        (
            "tests/cli/test_commands.py::test_stubs_are_checked",
            "tests/cli/test_robust.py::test_check_and_explain_and_stubs_are_json",
            "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text[OW503_vers",
            "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text[OW871_vers",
            "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text[OW872_old",
            "tests/converter/test_errors.py::test_a_code_has_a_bad_program_and_a_page[OW503]",
            "tests/converter/test_errors.py::test_a_code_has_a_bad_program_and_a_page[OW871]",
            "tests/converter/test_errors.py::test_a_code_has_a_bad_program_and_a_page[OW872]",
            "tests/converter/test_errors.py::test_generated_files_are_current",
            "tests/operators/test_versions.py::test_reasons_are_of_schemas_that_exist",
            "tests/operators/test_versions.py::test_same_meaning[ReduceLogSum-18-28",
            "tests/optimizer/versions/test_decisions.py::test_no_decision_is_stale",
            "tests/types/test_dtypes.py::test_numbers_are_those_of_onnx",
            "tests/types/test_dtypes.py::test_numpy_twin_is_that_of_onnx[FLOAT6",
        ),
    ),
    Limit(
        "onnx",
        "1.23",
        "its printer writes dimensions such as 2*batch without quotes",
        (
            "tests/optimizer/model_tools/test_model_tools.py::TestSetShapes::test_dynamic_and_f",
            "tests/test_docs.py::test_page_is_true[model_tools.md]",
        ),
    ),
    Limit(
        "onnx",
        "1.23",
        "its reference evaluator loses values that a body in a body reads from outside",
        (
            "tests/footguns/test_loops.py::test_a_value_assigned_in_an_if_and_used_only_in_a_nest",
            "tests/footguns/test_models.py::test_nested_def_in_a_nested_def",
            "tests/footguns/test_models.py::test_a_graph_decorated_function",
        ),
    ),
    Limit(
        "onnx",
        "1.23",
        "its loader of backend cases gives no models",
        (
            "tests/builder/test_backend_cases.py::test_a_share_of_the_cases",
            "tests/eager/test_backend_node_cases.py::test_a_share_of_the_backend_cases_passes",
            "tests/optimizer/versions/test_backend_cases.py::test_a_share_of_the_cases",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it refuses products of a transposed float64 tensor, and computes some models wrong",
        (
            "tests/builder/test_tracing.py::test_a_program_is_the_same_eager_and_traced",
            "tests/converter/test_three_ways.py::test_random_programs_agree",
            "tests/optimizer/test_library.py::test_rule[pad_into_average_pool]",
            "tests/optimizer/test_library.py::test_rule[layer_normalization]",
            "tests/optimizer/test_library.py::test_rule[rms_normalization]",
            "tests/optimizer/test_traps.py::test_trap[no axes is nothing",
            "tests/optimizer/versions/test_old_models.py::test_up_and_back[quantized]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "its words of a failure are others",
        (
            "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text[OW612_fail",
            "tests/converter/test_errors.py::test_a_code_has_a_bad_program_and_a_page[OW612]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.29",
        "it takes minutes to load branches nested 20 deep, twice as long for each one more",
        ("tests/converter/test_depth.py::test_a_deep_function_compiles_and_its_model_is_read_ba",),
    ),
    Limit(
        "torch",
        "",
        "the example uses PyTorch",
        (
            "tests/test_doctests.py::test_docstring_examples[onnxwright.testing.unique_parts]",
            "tests/test_examples.py::test_example_runs[export_failing.py]",
        ),
    ),
    Limit(
        "pygraphviz",
        "",
        "the example draws a picture",
        (
            "tests/test_doctests.py::test_docstring_examples[onnxwright.viz.drawing]",
            "tests/test_doctests.py::test_docstring_examples[onnxwright.viz.layout]",
        ),
    ),
)


def limit_of(test: str) -> str:
    """Why a test cannot hold with the installed dependencies; empty if it can.

    Args:
        test: its id.

    Example:
        >>> limit_of("tests/types/test_shapes.py::test_broadcast")
        ''
    """
    for limit in _present():
        if test.startswith(limit.tests):
            least = f" before {limit.below}" if limit.below else " is not installed"
            return f"{limit.package}{least}: {limit.reason}"
    return ""


@functools.cache
def _present() -> tuple[Limit, ...]:
    return tuple(limit for limit in LIMITS if limit.holds())
