"""What PyTorch prints and logs while it tries something, kept until it is known how it ended."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Iterator


class TorchOutput:
    """What was printed on the error stream and logged by torch.

    Fields:
        stream: what was printed.
        records: what was logged: the logger, and the record.
    """

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.records: list[tuple[logging.Logger, logging.LogRecord]] = []

    @property
    def text(self) -> str:
        """All of it; what is logged without its head of time and file."""
        logged = [record.getMessage().strip("\n") for _, record in self.records]
        printed = self.stream.getvalue().strip("\n")
        return "\n".join(line for line in (*logged, printed) if line.strip())

    def clear(self) -> None:
        """Drop what was kept so far."""
        self.records.clear()
        self.stream.seek(0)
        self.stream.truncate()

    def replay(self) -> None:
        """Print and log it after all."""
        for logger, record in self.records:
            logger.handle(record)
        sys.stderr.write(self.stream.getvalue())


@contextlib.contextmanager
def capture_torch_output() -> Iterator[TorchOutput]:
    """Keep what torch prints and logs inside; nothing is kept where `TORCH_LOGS` asks for logs.

    Yields:
        What is kept; it is dropped unless `replay` is called.

    Example:
        >>> import logging
        >>> with capture_torch_output() as output:
        ...     logging.getLogger("torch.export").warning("a graph")
        >>> output.text
        'a graph'
    """
    output = TorchOutput()
    if os.environ.get("TORCH_LOGS"):
        yield output
        return
    loggers = _loggers()
    held = [(logger, logger.handlers, logger.propagate) for logger in loggers]
    try:
        for logger in loggers:
            logger.handlers = [_Recorder(output, logger)]
            logger.propagate = False
        with contextlib.redirect_stderr(output.stream):
            yield output
    finally:
        for logger, handlers, propagate in held:
            logger.handlers, logger.propagate = handlers, propagate


def _loggers() -> list[logging.Logger]:
    """The loggers of torch that print: the root of them, and those with handlers of their own."""
    every = list(logging.Logger.manager.loggerDict.items())
    torch_loggers = [
        logger
        for name, logger in every
        if name.startswith("torch.")
        and not name.startswith("torch.__")  # traces for files, not for people
        and isinstance(logger, logging.Logger)
        and logger.handlers
    ]
    return [logging.getLogger("torch"), *torch_loggers]


class _Recorder(logging.Handler):
    """A handler that keeps the records of one logger."""

    def __init__(self, kept_in: TorchOutput, logger: logging.Logger) -> None:
        super().__init__()
        self.kept_in = kept_in
        self.logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        self.kept_in.records.append((self.logger, record))
