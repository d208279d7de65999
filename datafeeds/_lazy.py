"""Names that are imported when first used, so that importing a package costs nothing until it is needed."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module-level ``__getattr__`` (PEP 562) for a package.

    Parameters
    ----------
    package : str
        ``__name__`` of the package.
    homes : mapping of name to submodule
        Where each public name is defined.
    """

    def lookup(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(import_module(package), name, value)
        return value

    return lookup
