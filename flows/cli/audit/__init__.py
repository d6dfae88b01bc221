"""`sdcert audit ...`: a file a command; their order here is that of the help."""

from importlib import import_module

for _command in ("due", "replay", "find", "show", "export", "verify"):
    import_module(f"{__name__}.{_command}")
