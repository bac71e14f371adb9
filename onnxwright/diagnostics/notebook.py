"""Cells of a notebook have the number they are known by, not the temporary file they run from.

Nothing here imports IPython: where no notebook runs, a file keeps its name.
"""

from __future__ import annotations

import sys
from typing import Any


def shown_file(file: str) -> str:
    """The name of a file as users know it: `In[3]` for a cell of a notebook.

    Returns:
        The number of the cell, or the name itself.

    Example:
        >>> shown_file("model.py")
        'model.py'
    """
    shell = _shell()
    if shell is None:
        return file
    try:
        name = shell.compile.format_code_name(file)
    except Exception:  # noqa: BLE001 - another shell, or another version of it
        return file
    return name[1] if isinstance(name, tuple) and len(name) == 2 else file


def _shell() -> Any:
    """The running IPython shell, if there is one."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()
