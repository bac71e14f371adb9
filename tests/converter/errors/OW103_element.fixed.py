from dataclasses import dataclass

from onnxwright import FLOAT, script


@dataclass
class Settings:
    factor: float = 2.0


settings = Settings()


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    factor = 3.0
    return x * factor


f.to_model_proto()
