"""The former name of `goop_mcp.services`, with the modules that the documentation names.

Importing it warns; it is removed in 1.0.
"""

import sys
import warnings
from importlib import import_module

from goop_mcp.errors import GoopDeprecationWarning

warnings.warn(
    "goop_mcp.operations is now called goop_mcp.services; the old name is removed in 1.0",
    GoopDeprecationWarning,
    stacklevel=2,
)

# The same module under both names: a second copy would have classes that compare unequal. The
# import system takes a submodule from `sys.modules` before it looks for a file.
for _name in (
    "adoption",
    "build_request",
    "check_workspace",
    "count_attempts",
    "record_attempts",
):
    _module = import_module(f"goop_mcp.services.{_name}")
    sys.modules[f"{__name__}.{_name}"] = _module
    globals()[_name] = _module
