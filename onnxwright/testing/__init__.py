"""Random script programs that are run in several ways and compared with numpy."""
