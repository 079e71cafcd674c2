"""Packages that are imported only when a feature needs them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def optional(package: str, purpose: str, install: str | None = None) -> ModuleType:
    """Import a package that is not among nearer's dependencies, or raise an error that says how to install it.

    Parameters
    ----------
    package : str
        The package to import.
    purpose : str
        What needs it, as the beginning of the error.
    install : str, optional
        The argument of pip install, if it is not the name of the package.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package.partition(".")[0]:
            raise  # it is installed but lacks one of its own dependencies: its message says which
        raise ModuleNotFoundError(
            f"{purpose} needs the package {package!r}; run: pip install {install or package}", name=package
        ) from None
