"""python -m soak.worker KIND FIRST SECONDS COUNT: cases of one campaign, one seed after the other.

Prints a line of JSON when a case begins and one when it ends. A case that takes the process down, or never ends, is
known by its first line; run.py sees to that.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tempfile
import time
import traceback

import spanfft

from .case import Case, Failed


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def judged(case: Case, run) -> list[str] | None:
    """None, or how the case failed and what it showed."""
    try:
        run(case)
    except Failed as failure:
        return [failure.how, str(failure)]
    except spanfft.Error as error:
        return ["wrong", f"{type(error).__name__}: {error}"]
    except Exception:
        return ["wrong", traceback.format_exc(limit=-4)]
    return None


def main() -> None:
    kind, first, seconds, count = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    run = importlib.import_module(f"soak.{kind}").run
    end = time.monotonic() + seconds
    for seed in range(first, first + count):
        if time.monotonic() >= end:
            break
        say(begin=seed)
        case = Case(kind, seed)
        failure = judged(case, run)
        say(end=seed, counts=case.counts, text=case.text, failure=failure)


if __name__ == "__main__":
    import os

    os.environ["SPANFFT_HOME"] = tempfile.mkdtemp(prefix="spanfft-soak-home-")
    try:
        main()
    finally:
        shutil.rmtree(os.environ["SPANFFT_HOME"], ignore_errors=True)
