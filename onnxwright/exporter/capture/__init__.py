"""A PyTorch model as an `ExportedProgram`: strategies, dynamic shapes, patches of torch, guards.

The packages from the bottom up; each imports those before it: `session`; `graphs`, `quantized`;
`control`; `assumptions`, `values`; `lists`; `decisions`; `loops`; `replacements`; `inputs`,
`rewritten`; `frontend`; and beside them the way through: `pipeline`, `attempts`, `attempt`.
"""
