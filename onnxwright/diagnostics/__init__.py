"""Messages to the user: spans, messages as data, their catalogue, renderers and pages."""
