"""Looking at models: typed text, figures, pictures and pages of graphs."""

from onnxwright.viz.showing import Shown, show
from onnxwright.viz.summary import Summary, summarize

__all__ = ["Shown", "Summary", "show", "summarize"]
