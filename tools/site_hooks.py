"""Hooks of the documentation site: pages that are made, and links to files outside `docs/`.

MkDocs loads this file by its path (`hooks:` in `mkdocs.yml`). It adds the API reference, one page
for a group of public names; the examples; the changelog and other files of the repository's root.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# The page of the reference, what it is about, and its names.
REFERENCE: dict[str, tuple[str, tuple[str, ...]]] = {
    "authoring": (
        "Functions and models in Python",
        ("script", "graph", "ScriptFunction", "Opset", "Op", "initializer", "External", "Details",
         "export_onnx_lib"),
    ),
    "eager": (
        "Running and debugging",
        ("CompiledModel", "run_model", "evaluator", "default_evaluator", "set_default_evaluator",
         "Evaluator", "OrtEvaluator", "ReferenceEvaluator", "Tensor", "trace", "debug",
         "first_divergence", "implement", "implement_function"),
    ),
    "builder": ("Building by calls", ("GraphBuilder", "build_graph", "build_into", "nn")),
    "models": (
        "Loading, saving and changing models",
        ("load", "save", "optimize", "rewrite", "find", "rule", "library_rules", "facts",
         "Const", "Attr", "Attrs", "fold_constants", "inline", "remove_unused", "replace_functions",
         "quantize_weights", "to_half",
         "convert_version", "extract", "compose", "set_shapes", "rename", "set_initializer",
         "initializers_to_inputs", "inputs_to_initializers", "remove_metadata"),
    ),
    "reading": (
        "Reading and comparing models",
        ("to_script", "proto2python", "show", "diff"),
    ),
    "export": (
        "Exporting PyTorch programs",
        ("export", "ONNXProgram", "export_decoder", "cache_of", "observe",
         "export_replacement", "export_bisect",
         "torch_backend", "aten"),
    ),
    "errors": (
        "Errors",
        ("OnnxwrightError", "ScriptError", "EagerError", "ExportError", "ConversionError",
         "ModelToolError", "PassError", "InternalError", "AtenError", "AtenArgumentError",
         "AtenLookupError", "AtenUnsupportedError", "OnnxwrightWarning"),
    ),
    "testing": ("Testing", ("testing",)),
}  # fmt: skip
_FILES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks_of_the_repository.md",
}
_LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<rest>[^)]*)\)")


def generated() -> dict[str, str]:
    """Pages that are not in `docs/`.

    Returns:
        Markdown by path.
    """
    pages = {
        f"reference/{name}.md": _reference(title, names)
        for name, (title, names) in REFERENCE.items()
    }
    lines = "\n".join(f"* [{title}]({name}.md)" for name, (title, _) in REFERENCE.items())
    pages["reference/index.md"] = f"# API reference\n\n{lines}\n"
    examples = sorted((ROOT / "examples").glob("*.py"))
    rows = []
    for path in examples:
        text = path.read_text(encoding="utf-8")
        first = text.lstrip().removeprefix('"""').split('"""')[0].strip().split("\n\n")[0]
        first = " ".join(first.split())
        pages[f"examples/{path.stem}.md"] = f"# {path.name}\n\n```python\n{text}```\n"
        rows.append(f"* [{path.name}]({path.stem}.md): {first}")
    joined = "\n".join(rows)
    pages["examples/index.md"] = (
        f"# Examples\n\nPrograms to copy; the tests run them.\n\n{joined}\n"
    )
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = _notebook(path)
    for source, target in _FILES.items():
        pages[target] = (ROOT / source).read_text(encoding="utf-8")
    return pages


def _notebook(path: Path) -> str:
    """The cells of a notebook; what they show is seen by running it."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def _reference(title: str, names: tuple[str, ...]) -> str:
    parts = (f"## {name}\n\n::: {_home(name)}\n    options:\n{_OPTIONS}" for name in names)
    return "\n".join([f"# {title}\n", *parts])


_OPTIONS = """      show_root_heading: false
      show_root_toc_entry: false
      heading_level: 3
"""


def _home(name: str) -> str:
    """Where a public name is defined: some are names of modules as well."""
    import onnxwright

    found = getattr(onnxwright, name)
    module, own = getattr(found, "__module__", None), getattr(found, "__qualname__", None)
    return f"{module}.{own}" if module and own else f"onnxwright.{name}"


def relink(text: str, page: str, source: str | None = None) -> str:
    """Links to files of the repository, as links to the pages made of them.

    Args:
        text: Markdown.
        page: the path of its page in the site.
        source: the path of its file from the repository's root; None for `docs/` and the page.

    Returns:
        Markdown whose links stay inside the site.

    Example:
        >>> relink("[x](../CHANGELOG.md)", "index.md")
        '[x](changelog.md)'
        >>> relink("[x](../../examples/layers.py)", "guide/types.md")
        '[x](../examples/layers.md)'
    """
    folder = posixpath.dirname(page)
    home = posixpath.dirname(source) if source is not None else posixpath.join("docs", folder)

    def replaced(found: re.Match[str]) -> str:
        target = found["target"]
        if "://" in target:
            return found[0]
        place = posixpath.normpath(posixpath.join(home, target))
        made = _page_of(place)
        if made is None:
            return found[0]
        return f"]({posixpath.relpath(made, folder or '.')}{found['rest']})"

    return _LINK.sub(replaced, text)


def _page_of(place: str) -> str | None:
    """The page for a path from the repository's root; None where the link stays as it is."""
    if place in _FILES:
        return _FILES[place]
    if place == "examples":
        return "examples/index.md"
    if place.startswith("examples/") and place.endswith(".py"):
        return place.removesuffix(".py") + ".md"
    if place == "docs/errors":
        return "errors/index.md"
    return place.removeprefix("docs/") if place.startswith("docs/") else None


# A field that leaves the lines of a page that have all of its words.
_SEARCH_FIELD = """<input type="search" id="symptom-filter" placeholder="Words of the message"
  aria-label="Filter the codes" style="width: 100%; padding: 0.5em; font: inherit">
<script>
document.getElementById("symptom-filter").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\\s+/);
  for (const list of document.querySelectorAll("article ul")) {
    let shown = 0;
    for (const line of list.children) {
      const text = line.textContent.toLowerCase();
      line.hidden = !words.every((word) => text.includes(word));
      shown += !line.hidden;
    }
    list.hidden = !shown;
    const heading = list.previousElementSibling;
    if (heading?.tagName === "H2") heading.hidden = !shown;
  }
});
</script>
"""


# -- what MkDocs calls -----------------------------------------------------------------------------


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Keep links inside the site, and put a search field above the symptoms."""
    path = page.file.src_uri
    sources = {made: source for source, made in _FILES.items()}
    if path == "guide/symptoms.md":
        title, _newline, rest = markdown.partition("\n")
        markdown = f"{title}\n\n{_SEARCH_FIELD}\n{rest}"
    return relink(markdown, path, sources.get(path))
