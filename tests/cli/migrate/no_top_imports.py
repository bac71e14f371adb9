def export(model, x, path):
    import torch.onnx

    torch.onnx.export(model, x, path)


@staticmethod
def other(model, x):
    import torch as th
    return (
        th
        .onnx
        .export(model, x)
    )
