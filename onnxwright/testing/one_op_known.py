"""OpInfos that cannot be exported as a module of one operator, with the one reason of each."""

from __future__ import annotations

from dataclasses import dataclass

from onnxwright.atenlib.optest import XFail


@dataclass(frozen=True)
class Fails(XFail):
    """A known failure of an export.

    Fields:
        says: text that the failure has to have.

    Example:
        >>> Fails("torch has no fake kernel", says="OW821").says
        'OW821'
    """

    says: str = ""


KNOWN: dict[str, tuple[Fails, ...]] = {}
"""By the name of the OpInfo."""
