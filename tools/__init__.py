"""Scripts for the people who work on onnxwright; not installed with the package."""
