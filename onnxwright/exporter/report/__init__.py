"""The report of an export: what is recorded, and its pages."""
