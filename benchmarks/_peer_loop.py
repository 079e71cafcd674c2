"""What the scripts share that fit peers in environments of their own; they import it from their folder."""

import json
import os
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version


def serve(fit: Callable[[dict], dict], packages: tuple[str, ...]) -> None:
    """Answer requests until standard input closes: versions of packages first, then one line per request.

    A failure is an answer too, never the end of the worker. What libraries print goes to standard error.
    """
    warnings.simplefilter("ignore")
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    print(json.dumps({"versions": {name: version(name) for name in packages}}), file=replies)
    for line in sys.stdin:
        print(json.dumps(_answer(fit, json.loads(line))), file=replies)


def _answer(fit: Callable[[dict], dict], request: dict) -> dict:
    try:
        return fit(request)
    except Exception as error:  # whatever a peer raises is a result to report
        return {"failure": f"{type(error).__name__}: {error}"[:500]}
