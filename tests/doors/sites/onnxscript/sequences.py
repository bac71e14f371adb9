# warns: OW710
from onnxscript import FLOAT, INT64, graph, script
from onnxscript import opset17 as op


@script(default_opset=op)
def f(x: FLOAT["N"], n: INT64) -> FLOAT["M"]:
    seq = op.SequenceEmpty()
    for i in range(n):
        item = x + op.Cast(i, to=1)
        seq = op.SequenceInsert(seq, item)

    @graph()
    def double(item):
        return op.Add(item, item)

    out = op.SequenceMap(seq, body=double)
    return op.ConcatFromSequence(out, axis=0)


x = np.array([1, 2], np.float32)
(y,) = run(f.to_model_proto(), x=x, n=np.array(3))
np.testing.assert_allclose(y, [2, 4, 4, 6, 6, 8])
