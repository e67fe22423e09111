"""Stand-ins for modules of trainers that a test cannot install, with what their sources have of the interface."""

import sys
import types
from typing import Any


def stand_in(monkeypatch: Any, name: str, **items: Any) -> None:
    """Let `import name` give a module of these items, and its parents modules of their own."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        path = ".".join(parts[:end])
        if path not in sys.modules or end == len(parts):
            monkeypatch.setitem(sys.modules, path, types.ModuleType(path))
        if end > 1:
            setattr(sys.modules[".".join(parts[: end - 1])], parts[end - 1], sys.modules[path])
    vars(sys.modules[name]).update(items)
