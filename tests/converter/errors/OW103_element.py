from dataclasses import dataclass

from onnxwright import FLOAT, script


@dataclass
class Settings:
    factor: float = 2.0


settings = Settings()


@script()
def f(x: FLOAT["N"]) -> FLOAT["N"]:
    settings.factor = 3.0
    return x * settings.factor


f.to_model_proto()
