"""A PyTorch model as an `ExportedProgram`: strategies, dynamic shapes, patches of torch, guards."""
