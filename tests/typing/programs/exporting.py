"""A PyTorch model exported."""

import torch

import onnxwright as ow


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def main() -> None:
    x = torch.ones(4, 3)
    program = ow.export(Net().eval(), (x,), dynamic_shapes=({0: "batch"},), input_names=["x"])
    print([o.name for o in program.model_proto.graph.output], program(x)[0].shape)


def mistakes(x: torch.Tensor) -> object:
    return ow.export(Net(), (x,), dynamic_shape=({0: "batch"},))  # error


if __name__ == "__main__":
    main()
