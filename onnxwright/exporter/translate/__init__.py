"""An `ExportedProgram` as an ONNX graph: lowerings, higher-order operators, writes, metadata."""
