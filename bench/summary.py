"""Rows as a table in Markdown, with the targets and how far each case is from the machine's limit, and why."""

from __future__ import annotations

from cases import all_cases
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
            f"did {both:.2f} GB/s each way); {_time(around)} are the command's start and end and the last fsync"
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


def summary(rows: list[Row]) -> str:
    if not rows:
        return "No rows.\n"
    machine = rows[0]["machine"]
    lines = [
        f"Machine: {machine['cpu']} (family/model {machine['cpu_family_model']}, {machine['vectors']}), "
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, {machine['compiler']}, "
        f"Python {machine['python']}{', virtual' if machine['virtual'] else ''}. Times are medians of a forward and a "
        f"backward transform (of one command for files) of peers that took turns; spread is between the quartiles; "
        f"ratio is spanfft's time over the peer's, turn by turn, so below 1 spanfft is faster; limit is how many times "
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
        ours = _find(mine, name, "spanfft")
        for row in mine:
            if row["absent"]:
                lines.append(f"| {row['peer']} | | | absent: {row['absent'].replace('|', '/')} | | | | |")
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
                f"Limit: {ours['limit']}, {_time(ours['limit_seconds'])}; spanfft takes "
                f"{ours['factor_from_limit']:.2f} times that: {_why(ours)}.",
                "",
            ]
        target = cases[name].target if name in cases else None
        if target and not first["small"]:
            judged = _find(mine, name, target.peer)
            value = None
            if judged:
                by_limit = target.against == "limit"
                value = judged["factor_from_limit"] if by_limit else judged["ratios"].get(target.against)
            if value is None:
                verdicts.append(f"- not decided: {target.text} ({name}: {target.peer} or {target.against} is absent)")
            else:
                word = "met" if value <= target.factor else "MISSED"
                verdicts.append(
                    f"- {word}: {target.text}: {target.peer} / {target.against} = {value:.2f}, "
                    f"target at most {target.factor:g} ({name})"
                )
    return "\n".join(lines + (["### Targets", "", *verdicts, ""] if verdicts else []))
