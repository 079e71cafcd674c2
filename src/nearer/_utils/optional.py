"""Packages that nearer can do without until something asks for them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def optional(package: str, purpose: str, install: str | None = None) -> ModuleType:
    """Import a package that is not among nearer's dependencies, or say in one sentence how to get it.

    Parameters
    ----------
    package : str
        What is imported.
    purpose : str
        What needs it, at the start of the sentence.
    install : str, optional
        What pip is to install, where that is not the package itself.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # it is there, but lacks something itself: its own message says more
        raise ModuleNotFoundError(
            f"{purpose} needs the package {package!r}; run: pip install {install or package}", name=package
        ) from None
