from onnxwright import script


@script()
def f(x, y):
    return x << y


f.to_function_proto()
