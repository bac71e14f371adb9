"""The exception tree: every error a user can see, each also the built-in a reader would expect.

An error carries `Diagnostic` objects (facts); `str(error)` is their rendering.  Errors of one
function come together in one exception; `error.diagnostic` is the first of them.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxwright.diagnostics.diagnostic import Diagnostic


class OnnxwrightError(Exception):
    """The base of every error onnxwright raises on purpose.

    Args:
        diagnostics: what is wrong, as data; at least one.

    Example:
        >>> issubclass(ScriptNameError, NameError)
        True
    """

    report: Any = None
    """The report of the export that failed; None for other errors."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        # NOTE: not super(): SyntaxError would read meaning into two arguments.
        Exception.__init__(self, *diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics

    @property
    def diagnostic(self) -> Diagnostic:
        """The first diagnostic; most errors have one."""
        return self.diagnostics[0]

    def __str__(self) -> str:
        from onnxwright.diagnostics.render import render_all

        return render_all(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show: the message, without the frames of this library."""
        from onnxwright.diagnostics.tracebacks import traceback_lines

        return traceback_lines(self)

    def __reduce__(self) -> tuple[type, tuple[Diagnostic, ...]]:
        return (type(self), self.diagnostics)


class ScriptError(OnnxwrightError):
    """A script function that cannot be compiled."""


class ScriptSyntaxError(ScriptError, SyntaxError):
    """A Python construct that has no meaning in ONNX."""

    # A traceback prints `msg` of a SyntaxError, never its `str`.
    @property
    def msg(self) -> str:  # type: ignore[override]
        """The rendering, where tools look for the text of a `SyntaxError`."""
        return str(self)


class ScriptNameError(ScriptError, NameError):
    """A name without a value."""


class ScriptTypeError(ScriptError, TypeError):
    """Values of the wrong type, or a call that does not fit the signature."""


class ScriptValueError(ScriptError, ValueError):
    """A value of the right type that cannot be used."""


class ScriptAttributeError(ScriptError, AttributeError):
    """An attribute, or an operator of an opset, that does not exist."""


class NeedsStaticValue(ScriptError):  # noqa: N818 - said of the value, caught by that name
    """Something must be known while compiling and is not.

    Where that depends on how a loop is compiled, the compiler catches it and unrolls the loop;
    otherwise it reaches the user as the error it is.

    Args:
        diagnostics: what is wrong, as data.
        region: the loop that must be unrolled, where only that one helps.
    """

    def __init__(self, *diagnostics: Diagnostic, region: object = None) -> None:
        super().__init__(*diagnostics)
        self.region = region


class StaticTypeError(NeedsStaticValue, ScriptTypeError):
    """A `ScriptTypeError` because a value is not known while compiling."""


class StaticSyntaxError(NeedsStaticValue, ScriptSyntaxError):
    """A `ScriptSyntaxError` because a value is not known while compiling."""


class StaticAttributeError(NeedsStaticValue, ScriptAttributeError):
    """A `ScriptAttributeError` because a value is not known while compiling."""


class ModelError(ScriptValueError):
    """A model that cannot be read: damaged, contradictory, or too large.

    It is a `ScriptValueError` for programs written when only `to_script` raised it.
    """


class ModelNotFoundError(ModelError, FileNotFoundError):
    """The path of a model where there is no file."""


class ModelTypeError(ModelError, TypeError):
    """An object that is not a model where one is expected."""


class EagerError(OnnxwrightError):
    """An eager call that failed."""


class EagerTypeError(EagerError, TypeError):
    """An eager call with an argument of the wrong type."""


class EagerValueError(EagerError, ValueError):
    """An eager call with a value that cannot be used."""


class AtenError(OnnxwrightError):
    """An ATen function that cannot be registered or used."""


class AtenArgumentError(AtenError, TypeError):
    """Arguments that do not fit an ATen function."""


class AtenLookupError(AtenError, LookupError):
    """An ATen operator without a function."""


class AtenUnsupportedError(AtenError, NotImplementedError):
    """An ATen function used in a way that ONNX cannot express."""


class ExportError(OnnxwrightError):
    """A PyTorch program that cannot be exported."""


class ExportTypeError(ExportError, TypeError):
    """An exported program called with inputs of another kind."""


class ExportValueError(ExportError, ValueError):
    """An argument of an export that cannot be used."""


class ConversionError(OnnxwrightError):
    """A model that cannot be converted to another opset version."""


class ConversionValueError(ConversionError, ValueError):
    """An argument of a conversion that cannot be used."""


class ModelToolError(OnnxwrightError, ValueError):
    """A change of a model that cannot be made, such as extracting a value it does not have."""


class PassError(OnnxwrightError):
    """A graph pass that cannot be applied."""


class InternalError(OnnxwrightError):
    """A bug in onnxwright itself, with the place in the user's program where it showed."""

    def _render_traceback_(self) -> list[str]:
        """All frames: they are what a report of the bug needs."""
        return "".join(traceback.format_exception(self)).splitlines()


class OnnxwrightWarning(UserWarning):
    """A located warning; `diagnostic` holds its facts."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        from onnxwright.diagnostics.render import render_once

        return render_once(self.diagnostic)
