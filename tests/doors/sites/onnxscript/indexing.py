# warns: OW710
from onnxscript import FLOAT, INT64, script
from onnxscript import opset16 as op


@script(default_opset=op)
def parts(A: FLOAT["N", "M"], i: INT64) -> (FLOAT["M"], FLOAT["N", 1], FLOAT["K", "L"], FLOAT["M"], FLOAT["N"]):
    first = A[0]
    column = A[:, 1:2]
    box = A[1:, :-1]
    row = A[i]
    last = A[:, -1]
    return first, column, box, row, last


a = np.arange(12, dtype=np.float32).reshape(3, 4)
found = run(parts.to_model_proto(), A=a, i=np.array(2))
for got, want in zip(found, (a[0], a[:, 1:2], a[1:, :-1], a[2], a[:, -1])):
    np.testing.assert_array_equal(got, want)
for got, want in zip(parts(a, np.array(2)), (a[0], a[:, 1:2], a[1:, :-1], a[2], a[:, -1])):
    np.testing.assert_array_equal(np.array(got), want)
