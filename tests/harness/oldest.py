"""Tests that cannot hold with the oldest allowed dependencies, each with the reason.

They are about what a newer onnx defines, or compare with results that an older runtime computes
wrong.  They run all the same and have to fail: a limitation that is gone is an error.  With the
newest dependencies nothing is expected to fail.
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
        tests: beginnings of test ids; `FILE::TEST[ROW]`, with ROW as `str` gives it, is a row of a
            table, `FILE::TEST[ROW][OUTER]` that for a row of the table around it.
        runs: whether the tests run, and fail; False where they would end the process or take
            minutes, or need a package that is not there.
        since: the first version that has it; empty for all before.
    """

    package: str
    below: str
    reason: str
    tests: tuple[str, ...]
    runs: bool = True
    since: str = ""

    @property
    def text(self) -> str:
        """What is the matter, in a line."""
        least = f" before {self.below}" if self.below else " is not installed"
        return f"{self.package}{least}: {self.reason}"

    def holds(self) -> bool:
        """Whether the installed version has the limitation."""
        if not self.below:
            return importlib.util.find_spec(self.package) is None
        return _numbers(self.since) <= _version(self.package) < _numbers(self.below)


def _texts_of(*codes: str) -> tuple[str, ...]:
    """The tests of the texts of messages with these codes."""
    test = "tests/converter/test_errors.py::test_a_bad_program_gets_exactly_this_text"
    return tuple(f"{test}[{code}_" for code in codes)


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version as text; of an empty one, which comes before all."""
    return tuple(map(int, version.split("."))) if version else ()


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
            *(
                f"tests/footguns/test_decorators.py::test_the_decorated_function_is_compiled"
                f"[<script this.nested_{kind}("
                for kind in ("marked", "body")
            ),
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
        "it ends the process for an Einsum without elements: `ow.run_model` refuses it",
        ("tests/optimizer/test_traps.py::test_trap[einsum of a broadcast",),
        runs=False,
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it ends the process for an Einsum of fewer axes than letters: `ow.run_model` refuses it",
        (
            (
                "tests/operators/test_shape_rules.py::test_onnxruntime_refuses_what_contradicts"
                "[Case(op='Einsum', version=12, inputs='f32[3,4] f32[4]'"
            ),
        ),
        runs=False,
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "its Attention of com.microsoft ends the process without a bias: `ow.run_model` refuses it",
        (
            (
                "tests/eager/test_contrib.py::test_the_reference_computes_what_the_kernels_do"
                "[Attention without a bias"
            ),
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it drops a Cast to INT64 before one to BOOL, and up to opset 20 takes a Pad of zeros into "
        "a MaxPool, which pads with the lowest number",
        (
            "tests/reports/test_models.py::test_optimized[microsoft/onnxruntime#28089",
            *(
                f"tests/reports/test_models.py::test_optimized[onnx/optimizer#269][{how}]"
                for how in ("as it is", "optimize", "exact", "onnxruntime", "inlined")
            ),
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "its QuantizeLinear of FLOAT16 cuts off digits where it should round",
        ("tests/quantize/test_to_half.py::test_operators[('quantize', 21)][float16]",),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it has no kernel for LayerNormalization of BFLOAT16 and MatMulNBits of two bits, and "
        "gives other numbers for a window of GroupQueryAttention",
        (
            *(
                f"tests/quantize/test_to_half.py::test_operators[('layer_norm', {n})][bfloat16]"
                for n in (17, 21)
            ),
            *(
                "tests/eager/test_contrib.py::test_the_reference_computes_what_the_kernels_do"
                f"[{name}"
                for name in (
                    "MatMulNBits 2 32",
                    "GroupQueryAttention local_window_size",
                    "GroupQueryAttention step window",
                )
            ),
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it does not compare the length of a bias of Conv, ConvTranspose and LSTM with the others",
        tuple(
            "tests/operators/test_shape_rules.py::test_onnxruntime_refuses_what_contradicts"
            f"[Case(op='{call}'"
            for call in (
                "Conv', version=11, inputs='f32[1,3,8,8] f32[4,3,3,3] f32[3]",
                "ConvTranspose', version=11, inputs='f32[1,3,8,8] f32[3,4,3,3] f32[3]",
                "LSTM', version=14, inputs='f32[3,4,5] f32[1,8,6] f32[1,8,2]",
                "LSTM', version=14, inputs='f32[3,4,5] f32[1,8,5] f32[1,8,3]",
            )
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it loads no model of opset 24",
        (
            (
                "tests/eager/test_models.py::test_a_refused_version_is_explained_with_the_words_of_"
                "the_guide[(24, 'my.Unknown(x)'"
            ),
            "tests/optimizer/test_forms.py::test_form[Swish by Sigmoid]",
        ),
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
            "tests/optimizer/test_library.py::test_rule[layer_normalization_of_runtime]",
            "tests/reports/test_models.py::test_optimized[onnx/onnx#8203][newer]",
            "tests/optimizer/test_library.py::test_rule[rms_normalization]",
        ),
    ),
    Limit(
        "onnxruntime",
        "1.27",
        "it has no kernel for Swish, and none for QuantizeLinear of opset 23",
        (
            "tests/optimizer/test_library.py::test_rule[swish]",
            "tests/reports/test_models.py::test_converted[onnx/onnx#5812][23]",
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
        since="1.24",
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
        runs=False,
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
        runs=False,
    ),
    Limit(
        "pygraphviz",
        "",
        "the example draws a picture",
        (
            "tests/test_doctests.py::test_docstring_examples[onnxwright.viz.drawing]",
            "tests/test_doctests.py::test_docstring_examples[onnxwright.viz.layout]",
            "tests/cli/test_robust.py::test_a_wrong_option_is_told_with_its_command[arguments7",
        ),
        runs=False,
    ),
)


def limit_of(test: str) -> Limit | None:
    """Why a test cannot hold with the installed dependencies; None if it can.

    Args:
        test: its id.

    Example:
        >>> limit_of("tests/types/test_shapes.py::test_broadcast") is None
        True
    """
    return next((limit for limit in _present() if test.startswith(limit.tests)), None)


@functools.cache
def _present() -> tuple[Limit, ...]:
    return tuple(limit for limit in LIMITS if limit.holds())
