"""Tests that cannot hold with the oldest allowed dependencies, each with the reason.

They are about what a newer onnx defines, or compare with results that an older runtime computes
wrong.  With the newest dependencies nothing is skipped.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A limitation of a dependency.

    Fields:
        package: the distribution, or "python".
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


def _texts_of(*codes: str) -> tuple[str, ...]:
    """The tests of the texts of messages with these codes."""
    test = "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text"
    return tuple(f"{test}[{code}_" for code in codes)


@functools.cache
def _version(package: str) -> tuple[int, ...]:
    """The numbers of an installed version; `python` is this interpreter."""
    if package == "python":
        return sys.version_info[:3]
    text = importlib.metadata.version(package)
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


LIMITS = (
    Limit(
        "python",
        "3.11",
        "it has no columns of calls, and has the calls of decorators at the line of `def`",
        (
            *_texts_of(
                "OW104",
                "OW546",
                "OW603",
                "OW615",
                "OW617",
                "OW801",
                "OW850",
                "OW851",
                "OW852",
                "OW853",
            ),
            "tests/test_docs.py::test_page_is_true[guide/atenlib.md]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it reads no model of IR version 12, which the newest opset of onnx needs",
        ("tests/optimizer/test_unusual_models.py::test_tools_keep_what_a_model_computes",),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "its SkipLayerNormalization takes a scale of one dimension only",
        ("tests/optimizer/test_contrib.py::test_operators[several axes]",),
    ),
    Limit(
        "onnx",
        "1.23",
        "the text or file shows the operators, element types or opsets of onnx 1.23",
        (
            "tests/cli/test_commands.py::test_stubs_are_checked",
            "tests/cli/test_robust.py::test_check_and_explain_and_stubs_are_json",
            *_texts_of("OW503", "OW871", "OW872"),
            "tests/operators/test_versions.py::test_reasons_are_of_schemas_that_exist",
            "tests/operators/test_versions.py::test_same_meaning[ReduceLogSum-18-28",
            "tests/versions/test_decisions.py::test_no_decision_is_stale",
            "tests/types/test_dtypes.py::test_numbers_are_those_of_onnx",
            "tests/types/test_dtypes.py::test_numpy_twin_is_that_of_onnx[FLOAT6",
        ),
    ),
    Limit(
        "onnx",
        "1.23",
        "its printer writes six digits of a number",
        ("tests/ir/test_saving.py::test_what_is_saved_is_loaded[.onnxtxt]",),
    ),
    Limit(
        "onnx",
        "1.22",
        "its printer writes dimensions such as 2*batch without quotes",
        ("tests/test_docs.py::test_page_is_true[guide/model_tools.md]",),
    ),
    Limit(
        "onnx",
        "1.22",
        "its reference evaluator loses values that a body in a body reads, and adds an axis to "
        "scan outputs",
        (
            "tests/footguns/test_loops.py::test_a_value_assigned_in_an_if_and_used_only_in_a_nest",
            "tests/footguns/test_models.py::test_nested_def_in_a_nested_def",
            "tests/footguns/test_models.py::test_a_graph_decorated_function",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it refuses products of a transposed float64 tensor (no kernel for its own FusedMatMul)",
        tuple(
            f"tests/converter/test_three_ways.py::test_random_programs_agree[{first}]"
            for first in (0, 25)
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it joins casts to bool by way of int32, so that 0.5 becomes true",
        tuple(
            f"tests/builder/test_tracing.py::test_a_program_is_the_same_eager_and_traced[{seed}]"
            for seed in (5, 49, 53)
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it crashes in an Einsum of tensors that are broadcast",
        ("tests/optimizer/test_traps.py::test_trap[einsum of a broadcast",),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it refuses a LayerNormalization whose scale is broadcast or has one number",
        (
            "tests/optimizer/test_forms.py::test_form[LayerNormalization without scale and bias]",
            "tests/optimizer/test_forms.py::test_form[RMSNormalization without a scale]",
            "tests/optimizer/test_group_normalization.py::test_over_other_axes_it_stays",
            "tests/optimizer/test_library.py::test_rule[layer_normalization]",
            "tests/optimizer/test_library.py::test_rule[rms_normalization]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it has no kernel for Swish, and none for QuantizeLinear of opset 23",
        (
            "tests/optimizer/test_library.py::test_rule[swish]",
            "tests/versions/test_old_models.py::test_up_and_back[quantized]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "its message for a Reshape that does not fit has other words",
        _texts_of("OW612"),
    ),
    Limit(
        "onnxruntime",
        "1.28",
        "its Attention gives NaN, not zeros, for rows that are wholly hidden",
        (
            "tests/optimizer/test_attention.py::test_rows_that_are_zeros_when_hidden",
            "tests/optimizer/test_library.py::test_rule[attention_of_zeros]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.28",
        "its TreeEnsembleClassifier of two classes with scores of one gives one label to all rows",
        ("tests/versions/test_trees.py::test_one_class_of_two[NONE",),
    ),
    Limit(
        "onnxruntime",
        "1.30",
        "it reduces an empty tensor over all axes although noop_with_empty_axes is set",
        ("tests/optimizer/test_traps.py::test_trap[no axes is nothing",),
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
        "the example or the program under test uses PyTorch",
        (
            "tests/cli/test_migrate.py::test_other_names_of_torch_onnx_without_a_counterpart",
            "tests/cli/test_migrate.py::test_torch_onnx_under_another_name",
            "tests/test_doctests.py::test_docstring_examples[onnxwright.sweep.unique_parts]",
            "tests/test_examples.py::test_example_runs[export_decisions.py]",
            "tests/test_examples.py::test_example_runs[export_failing.py]",
            "tests/test_examples.py::test_example_runs[export_quantized.py]",
            "tests/test_examples.py::test_example_runs[observe_calls.py]",
            "tests/test_examples.py::test_example_runs[run_decoder.py]",
            "tests/test_examples.py::test_example_runs[run_decoder_genai.py]",
            "tests/test_examples.py::test_example_runs[run_encoder_decoder.py]",
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
