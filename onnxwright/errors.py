"""The exception tree: every error a user can see, each also the built-in a reader would expect.

An error carries `Diagnostic` objects (facts); `str(error)` is their rendering.  Errors of one
function come together in one exception; `error.diagnostic` is the first of them.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from typing_extensions import Self


class Message(Protocol):
    """What an error carries: facts, and how they are shown (`diagnostics.diagnostic.Diagnostic`).

    Attributes:
        code: the number of the message, `OW407`.
        severity: `error` or `warning`.
        title, label, help: templates over the facts.
    """

    code: ClassVar[str]
    severity: ClassVar[str]
    title: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def span(self) -> Any:
        """The place in the source, a `Span`; None where no Python line is known."""

    @property
    def labels(self) -> tuple[Any, ...]:
        """Further places, each a `Label`."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines under the message."""

    @property
    def meant(self) -> str | None:
        """The word that was probably meant where the source has the fact `name`."""

    def facts(self) -> dict[str, object]:
        """The fields that templates may name."""

    def words(self, template: str, /) -> str:
        """A template filled with the facts."""

    def optional_words(self, template: str, /) -> str:
        """A template without the lines whose facts are None or empty."""

    def at(self, span: Any, /) -> Self:
        """This message at a place, unless it has one already."""

    def with_notes(self, *notes: str) -> Self:
        """This message with further lines under it."""

    def rendered(self, others: Iterable[Any] = (), /) -> str:
        """The text of this message and of others."""

    def rendered_once(self) -> str:
        """The text of a warning, kept for the next time it is asked for."""

    def traceback_lines(self, error: BaseException, /) -> list[str]:
        """What IPython shows of an error that carries this message."""


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

    def __init__(self, *diagnostics: Message) -> None:
        # NOTE: not super(): SyntaxError would read meaning into two arguments.
        Exception.__init__(self, *diagnostics)
        self.diagnostics: tuple[Message, ...] = diagnostics

    @property
    def diagnostic(self) -> Message:
        """The first diagnostic; most errors have one."""
        return self.diagnostics[0]

    def __str__(self) -> str:
        first, *others = self.diagnostics or (None,)
        return "" if first is None else first.rendered(others)

    def _render_traceback_(self) -> list[str]:
        """What IPython and Jupyter show: the message, without the frames of this library."""
        return self.diagnostic.traceback_lines(self)

    def __reduce__(self) -> tuple[type, tuple[Message, ...]]:
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

    def __init__(self, *diagnostics: Message, region: object = None) -> None:
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

    def __init__(self, diagnostic: Message) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        return self.diagnostic.rendered_once()
