"""Commands that change a model and write another one."""
