"""Every way around: ifs, loops, exits, returns."""

from onnxwright import BOOL, FLOAT, INT64, script
from onnxwright import opset18 as op


@script()
def branches(x: FLOAT["N", "M"], flag: BOOL) -> FLOAT["N", "M"]:
    total = op.ReduceSum(x, keepdims=0)
    if total > 0 and not flag:
        y = x + 1
    elif total < -10 or flag:
        return x * 2
    else:
        y = op.Neg(x)
        y = y if total != 0 else x
    return y


@script()
def loops(x: FLOAT["N", "M"], n: INT64) -> tuple[FLOAT["N", "M"], INT64]:
    count = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        for row in x:
            x = x + row
            if row[0] > 3:
                break
        else:
            count += 1
        if count > 5:
            return x, count
    while count < 3 and x[0, 0] < 10:
        x, count = x * 2, count + 1
    for k, (a, b) in enumerate(zip(x, x[::-1])):
        x = x + a * b * k
    for j in range(5, 0, -2):
        x = x - j
    return x, count


@script()
def scanned(x: FLOAT["N"]) -> tuple[FLOAT, FLOAT["N"]]:
    scale = x[0]

    def body(total, item):
        total = total + item * scale
        return total, total

    last, all_ = op.Scan(op.Identity(0.0), x, body=body, num_scan_inputs=1)
    return last, all_
