"""An extension of griffe, which reads docstrings for the site: `Example:` holds doctests.

Google's style has a section `Examples:`; a section with another title is shown as it is, and the
lists that doctests print would be taken for links.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_TITLE = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class DoctestSections(griffe.Extension):  # type: ignore[misc]
    """Lets the sections `Example:` be read as `Examples:`."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Change the title in the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _TITLE.sub(r"\1Examples:", obj.docstring.value)
