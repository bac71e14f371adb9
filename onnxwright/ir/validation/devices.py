"""Device configurations: how a model is spread over devices, and which tensors are split."""

from __future__ import annotations

from typing import Any

import onnx

from onnxwright.ir.validation.damage import Damage, is_text, quoted


def check_configurations(model: onnx.ModelProto) -> None:
    """Check the configurations that a model declares.

    Raises:
        Damage: a name is missing or is not UTF-8.

    Source:
        `DeviceConfigurationProto` in onnx.proto: name and number of devices must be present.

    Example:
        >>> check_configurations(onnx.ModelProto())
    """
    for entry in model.configuration:
        where = f"device configuration {quoted(entry.name)}"
        _check_texts(where, entry.name, *entry.device)
        if not entry.name:
            raise Damage("structure", "a device configuration", "it has no name")


def check_devices(node: onnx.NodeProto) -> None:
    """Check what a node says of devices.

    Raises:
        Damage: the name of a configuration or of a tensor is missing or is not UTF-8.

    Source:
        `NodeDeviceConfigurationProto` and `ShardingSpecProto` in onnx.proto.

    Example:
        >>> check_devices(onnx.NodeProto())
    """
    if not node.device_configurations:
        return
    place = "device configurations"
    for entry in node.device_configurations:
        _check_texts(place, entry.configuration_id)
        if not entry.configuration_id:
            raise Damage("structure", place, "one has no `configuration_id`")
        for spec in entry.sharding_spec:
            _check_spec(spec, place)


def _check_spec(spec: Any, where: str) -> None:
    _check_texts(where, spec.tensor_name)
    if not spec.tensor_name:
        raise Damage("structure", where, "a sharding specification names no tensor")
    for dim in spec.sharded_dim:
        for part in dim.simple_sharding:
            _check_texts(where, part.dim_param)


def _check_texts(where: str, *values: object) -> None:
    for value in values:
        if not is_text(value):
            raise Damage("structure", where, f"a name or text is not UTF-8: {quoted(value)}")
