"""A thin adaptor over onnx-ir: types and attributes in and out, building, names, inference, checks.

The IR itself is `onnx_ir`; nothing above this package touches protobuf.
"""
