from onnxwright import torch_onnx


def export(model, x, path):
    import torch.onnx

    torch_onnx.export(model, x, path)


@staticmethod
def other(model, x):
    import torch as th
    return (
        torch_onnx
        .export(model, x)
    )
