"""Rows: what a measured case leaves behind, one for each peer, as JSON that plots and tables are drawn from.

`seconds` are of a forward and a backward transform, or of one command for a file. A ratio is this peer's time over
another's, the median over turns of both times in the same turn. `limit_seconds` is the least that this machine's
memory or disk allows for the same, measured in the same run; `factor_from_limit` is how many times that was taken.
"""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

from cases import MIN_REPEATS, Case, all_cases

Row = dict[str, Any]

# Of every row; a peer that could not run has `absent` (why) and none of MEASURED.
COMMON: dict[str, type | tuple[type, ...]] = {
    "case": str, "problem": str, "small": bool, "peer": str, "about": str, "ranks": int, "absent": (str, type(None)),
    "bytes": int, "machine": dict, "commit": str, "date": str, "load_before": float,
}  # fmt: skip
MEASURED: dict[str, type | tuple[type, ...]] = {
    "seconds": list, "median": float, "min": float, "spread": float, "threads": int, "engine": str, "effort": str,
    "layout": str, "ratios": dict, "limit": str, "limit_seconds": float, "factor_from_limit": float,
    "predicted": (dict, type(None)), "notes": list, "versions": dict, "forward_error": float,
}  # fmt: skip


def check(row: Row) -> None:
    """Raises ValueError that names what does not fit."""
    wanted = COMMON if row.get("absent") else {**COMMON, **MEASURED}
    where = f"row {row.get('case')} {row.get('peer')}"
    for key, kind in wanted.items():
        if key not in row or not isinstance(row[key], kind):
            raise ValueError(f"{where}: {key} is {row.get(key, 'missing')!r}, not {kind}")
    if row.get("absent"):
        return
    seconds = row["seconds"]
    if len(seconds) < (1 if row["small"] else MIN_REPEATS) or not all(t > 0 and math.isfinite(t) for t in seconds):
        raise ValueError(f"{where}: {len(seconds)} repeats or a time that can't be")
    if not math.isclose(row["median"], statistics.median(seconds)) or not math.isclose(row["min"], min(seconds)):
        raise ValueError(f"{where}: median or min do not follow from seconds")


def _spread(seconds: list[float]) -> float:
    """Between the quartiles."""
    quarters = statistics.quantiles(seconds, n=4, method="inclusive")
    return quarters[2] - quarters[0]


def _of_moved(seconds: list[float], least: list[float]) -> Row:
    """Beside the time that the bytes moved take at the disk's speed of the same turn."""
    factor = statistics.median(a / b for a, b in zip(seconds, least, strict=True))
    return {"moved_seconds": statistics.median(least), "moved_factor": factor}


def make_rows(case: Case, found: dict[str, Any], common: Row, about: dict[str, str]) -> list[Row]:
    """From what worker.py or file_runs.py saw."""
    peers: dict[str, Row] = found["peers"]
    for peer in peers.values():
        if "seconds" not in peer:
            pairs = zip(peer["forward_seconds"], peer["backward_seconds"], strict=True)
            peer["seconds"] = [sum(pair) for pair in pairs]
    if case.on_disk:
        limit_text, per_turn = found["limit"], found["limit_seconds"]
    else:
        limit_text, per_turn = "a memcpy of the array for each direction", [2 * t for t in found["copy_seconds"]]
    rows = []
    for name in case.peers:
        if name not in peers and name not in found["absent"]:
            continue
        row: Row = {"case": case.name, "problem": case.problem, "small": case.is_small, "peer": name,
                    "about": about[name], "ranks": case.ranks, "absent": found["absent"].get(name),
                    "bytes": case.input_bytes, **common}  # fmt: skip
        if name in found.get("at_least", {}):
            row["at_least_seconds"] = found["at_least"][name]
        if name in peers:
            mine = peers[name]
            seconds = mine["seconds"]
            row |= {
                **mine,
                "median": statistics.median(seconds),
                "min": min(seconds),
                "spread": _spread(seconds),
                "ratios": {
                    other: statistics.median(a / b for a, b in zip(seconds, theirs["seconds"], strict=True))
                    for other, theirs in peers.items()
                    if other != name
                },
                "limit": limit_text,
                "limit_seconds": statistics.median(per_turn),
                "factor_from_limit": statistics.median(a / b for a, b in zip(seconds, per_turn, strict=True)),
                "predicted": mine.get("predicted"),
            }
            if "disk" in found:
                row["disk_bytes_per_second"] = {key: statistics.median(v) for key, v in found["disk"].items()}
                if name == "spanfft":
                    row |= _of_moved(seconds, found["moved_seconds"])
        check(row)
        rows.append(row)
    return rows


def _ended(row: Row, ours: Row) -> Row:
    """What a row that may be replaced says of a peer that ran to its end; empty if it never did."""
    if "ended" in row:
        return dict(row["ended"])
    if row.get("absent") or "median" not in ours or "spanfft" not in row.get("ratios", {}):
        return {}
    kept = {key: row[key] for key in ("seconds", "median", "date", "commit", "load_before")}
    return {**kept, "spanfft_median": ours["median"], "ratio": row["ratios"]["spanfft"]}


def load(path: Path) -> list[Row]:
    rows: list[Row] = json.loads(path.read_text()) if path.exists() else []
    return rows


def store(path: Path, new: list[Row]) -> list[Row]:
    """Rows of other cases stay; a case's own are replaced together, so that its ratios are of one run.

    A peer that ran to its end is never replaced by one that was stopped: the new row keeps the old figures as `ended`,
    with spanfft's own median of the same turns."""
    replaced = {row["case"] for row in new}
    before = {(row["case"], row["peer"]): row for row in load(path)}
    for row in new:
        ended = _ended(before.get((row["case"], row["peer"]), {}), before.get((row["case"], "spanfft"), {}))
        if ended and row.get("at_least_seconds") is not None:
            row["ended"] = ended
    rows = [row for row in load(path) if row["case"] not in replaced] + new
    order = {name: i for i, name in enumerate(all_cases())}
    rows.sort(key=lambda row: order.get(row["case"], len(order)))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps(row, sort_keys=True) for row in rows)
    path.write_text(f"[\n{text}\n]\n")
    return rows
