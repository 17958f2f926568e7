"""Rows as a table in Markdown, with the targets and how far each case is from the machine's limit, and why."""

from __future__ import annotations

import machine
from cases import Target, all_cases
from rows import Row


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _find(rows: list[Row], case: str, peer: str) -> Row | None:
    return next((row for row in rows if row["case"] == case and row["peer"] == peer and not row["absent"]), None)


def _why(row: Row) -> str:
    """What the time above the limit is made of, from the plan's own counts."""
    predicted = row["predicted"] or {}
    if "disk_bytes_per_second" in row:
        speeds = row["disk_bytes_per_second"]
        disk = row["read_bytes"] / speeds["read"] + row["written_bytes"] / speeds["write"]
        inside = [t for t in row["inside_seconds"] if t]
        around = row["median"] - sorted(inside)[len(inside) // 2] if inside else 0.0
        reads, writes = row["read_bytes"] / row["bytes"], row["written_bytes"] / row["bytes"]
        read, write, both = (speeds[name] / 1e9 for name in ("read", "write", "both"))
        return (
            f"it reads the data {reads:.2f} times and writes it {writes:.2f} times (two sweeps: 2 and 2), which takes "
            f"{_time(disk)} at the measured {read:.2f} and {write:.2f} GB/s, one after the other (both at once, it "
            f"did {both:.2f} GB/s each way); fio takes {_time(row.get('moved_seconds', disk))} for the same bytes; "
            f"{_time(around)} are the command's start and end and the last fsync"
        )
    if not predicted:
        return "no counts"
    one_copy = row["limit_seconds"] / 2
    moved = sum(counts["memory_bytes"] for counts in predicted.values()) * row["ranks"]
    copies = moved / (2 * row["array_bytes"])
    sent = sum(counts["sent_bytes"] for counts in predicted.values()) * row["ranks"]
    flops = sum(counts["flops"] for counts in predicted.values()) * row["ranks"]
    rest = max(0.0, row["median"] - copies * one_copy)
    text = (
        f"both directions move {copies:.1f} arrays through memory where two copies would do, "
        f"{_time(copies * one_copy)} at the speed of memcpy; the other {_time(rest)} are "
        f"{flops / 1e9:.3g} Gflop of computing that the sweeps don't hide"
    )
    return text + (f", and messages of {sent / 2**20:.0f} MiB" if sent else "")


def _fitted(rows: list[Row]) -> tuple[float, float] | None:
    """Seconds a byte, either way, and a request, that explain the medians best: least squares of relative errors."""
    totals = [_disk_totals(row) for row in rows]
    pairs = [(moved / row["median"], asked / row["median"]) for row, (moved, asked) in zip(rows, totals, strict=True)]
    aa, ab, bb = (sum(x[i] * x[j] for x in pairs) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b, determinant = sum(x[0] for x in pairs), sum(x[1] for x in pairs), aa * bb - ab * ab
    if len(pairs) < 3 or determinant <= 1e-9 * aa * bb:
        return None
    return (a * bb - b * ab) / determinant, (b * aa - a * ab) / determinant


def _disk_totals(row: Row) -> tuple[float, float]:
    """Bytes and requests, both ways, that a run counted."""
    counted = row["counted"]["forward"]
    moved, asked = counted["disk_read_bytes"] + counted["disk_written_bytes"], counted["disk_reads"]
    return moved, asked + counted["disk_writes"]


def _disk_predictions(rows: list[Row]) -> list[str]:
    """What plans said of spanfft's own cases on disk, and the figures with which they would have been right."""
    mine = [row for row in rows if row["peer"] == "spanfft" and "disk_bytes_per_second" in row and not row["small"]]
    mine = [row for row in mine if row.get("counted") and row.get("predicted")]
    if not mine:
        return []
    lines = ["### Predicted and seen, on disk", "", "| case | solver | bytes a request | predicted | seen |",
             "|---|---|---|---|---|"]  # fmt: skip
    for row in mine:
        moved, asked = _disk_totals(row)
        predicted = _time(row["predicted"]["forward"]["seconds"])
        size = f"{moved / asked / 1024:.0f} KiB"
        lines.append(f"| {row['case']} | {row['solver']} | {size} | {predicted} | {_time(row['median'])} |")
    fitted = _fitted(mine)
    if fitted:
        rate, each = f"{1e-9 / fitted[0]:.2f} GB/s, either way", f"{1e6 * fitted[1]:.1f} us a request beyond its bytes"
        lines += ["", f"All of them together: {rate}, and {each}."]
    return [*lines, ""]


def _against(target: Target, rival: str, judged: Row, rows: list[Row]) -> float | None:
    """The judged row's time over the rival's. Of a rival that was stopped: over the time that it had run, if that
    decides the statement, as the ratio can only be smaller."""
    stopped = next((row for row in rows if row["case"] == judged["case"] and row["peer"] == rival), {})
    if "ended" in stopped:  # a run that went to its end decides, whatever a stopped one would allow to say
        return 1 / float(stopped["ended"]["ratio"])
    if stopped.get("at_least_seconds"):
        bound = float(judged["median"] / stopped["at_least_seconds"])
        return bound if bound <= target.factor else None
    if rival == "limit":
        return float(judged["factor_from_limit"])
    if rival == "moved":
        moved = judged.get("moved_factor")
        return None if moved is None else float(moved)
    if not target.of_case:
        found: float | None = judged["ratios"].get(rival)
        return found
    other = _find(rows, target.of_case, rival)
    return judged["median"] / other["median"] if other and not other["small"] else None


def _verdict(target: Target, case: str, rows: list[Row]) -> str:
    """Met or missed, with the figure; not decided where a peer is absent or its planner was stopped."""
    judged = _find(rows, case, target.peer)
    where = f"{case}: medians, against those of {target.of_case}" if target.of_case else case
    if judged is None:
        return f"- not decided: {target.text} ({where}: {target.peer} is absent)"
    values = {rival: _against(target, rival, judged, rows) for rival in target.rivals}
    missing = [rival for rival, value in values.items() if value is None]
    if missing:
        return f"- not decided: {target.text} ({where}: {', '.join(missing)} is absent)"
    value, rival = max((value, rival) for rival, value in values.items() if value is not None)
    best = f" (best of {len(values)})" if len(values) > 1 else ""
    theirs = _find(rows, target.of_case or case, rival)
    figures = f"{target.peer} / {rival}{best} = {value:.2f}, target at most {target.factor:.3g} ({where})"
    if theirs and theirs.get("starved"):
        return f"- not decided: {target.text}: {figures}: the planner of {rival} was stopped by its time limit"
    return f"- {'met' if value <= target.factor else 'MISSED'}: {target.text}: {figures}"


def _under_load(row: Row) -> str:
    """Said of a target's verdict if the machine was not quiet when the case began."""
    load = row["load_before"]
    return f"; taken at a load of {load:.1f}, which says little" if load > machine.QUIET_LOAD else ""


def _first_of_ours(rows: list[Row], case: str) -> Row | None:
    """`spanfft`, or where a case compares a special way of it, that."""
    names = [row["peer"] for row in rows if row["peer"].startswith("spanfft") and not row["absent"]]
    return _find(rows, case, "spanfft") or next((_find(rows, case, name) for name in names), None)


def _ended(row: Row) -> str:
    """The earlier run that went to its end, of a peer that was stopped this time."""
    ended = row.get("ended")
    if not ended:
        return ""
    return (f"; it ran to its end on {ended['date'][:10]} (commit {ended['commit']}): {_time(ended['median'])}, "
            f"{ended['ratio']:.1f} times spanfft's {_time(ended['spanfft_median'])} in the same turns")  # fmt: skip


def summary(rows: list[Row]) -> str:
    if not rows:
        return "No rows.\n"
    here = rows[0]["machine"]
    lines = [
        f"Machine: {here['cpu']} (family/model {here['cpu_family_model']}, {here['vectors']}), "
        f"{here['cores']} cores, {here['memory_gib']} GiB, Linux {here['kernel']}, {here['compiler']}, "
        f"Python {here['python']}{', virtual' if here['virtual'] else ''}. Times are medians of a forward and a "
        f"backward transform (of one command for files) of peers that took turns; spread is between the quartiles; "
        f"ratio is the time of the table's first spanfft over the peer's, turn by turn, so below 1 spanfft is faster; "
        f"limit is how many times "
        f"the machine's least time was taken.",
        "",
    ]
    cases = all_cases()
    verdicts = []
    for name in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == name]
        first = mine[0]
        lines += [
            f"### {name}: `{first['problem']}`",
            "",
            f"Commit {first['commit']}, {first['date']}, load before {first['load_before']:.1f}"
            + (", small form" if first["small"] else ""),
            "",
            "| peer | ranks x threads | order | engine, effort | median | spread | ratio | limit |",
            "|---|---|---|---|---|---|---|---|",
        ]
        ours = _first_of_ours(mine, name)
        for row in mine:
            if row["absent"]:
                lines.append(f"| {row['peer']} | | | absent: {row['absent'].replace('|', '/')}{_ended(row)} | | | | |")
                continue
            ratio = ours["ratios"].get(row["peer"]) if ours else None
            effort = row["effort"] + (" (stopped by its time limit)" if row.get("starved") else "")
            lines.append(
                f"| {row['peer']} | {row['ranks']} x {row['threads']} | {row['layout']} | {row['engine']}, {effort} | "
                f"{_time(row['median'])} | {_time(row['spread'])} | {'' if ratio is None else f'{ratio:.2f}'} | "
                f"{row['factor_from_limit']:.2f} |"
            )
        lines.append("")
        if ours:
            lines += [
                f"Limit: {ours['limit']}, {_time(ours['limit_seconds'])}; {ours['peer']} takes "
                f"{ours['factor_from_limit']:.2f} times that: {_why(ours)}.",
                "",
            ]
        if name in cases and not first["small"]:
            verdicts += [_verdict(target, name, rows) + _under_load(first) for target in cases[name].targets]
    lines += _disk_predictions(rows)
    return "\n".join(lines + (["### Targets", "", *verdicts, ""] if verdicts else []))
