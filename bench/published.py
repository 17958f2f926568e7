"""Holds predictions against published figures: bench/results/published/rows.json, as a table in docs/foresight.md.

./spanfft-dev run python bench/published.py            prints the table
./spanfft-dev run python bench/published.py --write    puts it into docs/foresight.md, between its marks

A row is what somebody measured; the prediction beside it is computed now, from the machine that is shipped, with the
grid and the exchange that were used there. `problems` are done one after the other, so their times add up.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import spanfft
from spanfft._predict import Forecast

ROOT = Path(__file__).resolve().parents[1]
ROWS = ROOT / "bench" / "results" / "published" / "rows.json"
PAGE = ROOT / "docs" / "foresight.md"
BEGIN, END = "<!-- published: begin -->", "<!-- published: end -->"
WHAT = {
    "seconds": "time",
    "gflops": "rate",
    "wire": "communication",
    "computing": "computing",
    "efficiency": "efficiency",
}


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ROWS.read_text())["rows"]
    return found


def _value(quantity: str, forecasts: list[Forecast]) -> float:
    if quantity == "gflops":
        return forecasts[0].gflops
    if quantity == "seconds":
        return sum(each.seconds for each in forecasts)
    names = ("wire", "barriers") if quantity == "wire" else ("compute", "memory")
    return sum(each.parts[name] for each in forecasts for name in names)


def predicted(row: dict[str, Any]) -> float:
    forecasts = [spanfft.predict(problem, row["machine"], row["ranks"])[0] for problem in row["problems"]]
    if row["quantity"] == "efficiency":  # of one processor's time
        alone = [" ".join(word for word in problem.split() if not word.startswith(("grid=", "exchange=")))
                 for problem in row["problems"]]  # fmt: skip
        one = sum(spanfft.predict(problem, row["machine"], 1)[0].seconds for problem in alone)
        return one / row["ranks"] / _value("seconds", forecasts)
    return _value(row["quantity"], forecasts)


def deviation(row: dict[str, Any]) -> float:
    """Relative to what was published: 0.1 is a tenth above it."""
    return predicted(row) / float(row["published"]) - 1


def _number(quantity: str, value: float) -> str:
    if quantity == "gflops":
        return f"{value:.0f} Gflop/s"
    if quantity == "efficiency":
        return f"{100 * value:.0f} %"
    return f"{value:.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"


def _case(row: dict[str, Any]) -> str:
    shape = row["problems"][0].split()[1]
    power = int(shape).bit_length() - 1 if shape.isdecimal() else 0
    exchange = re.search(r"exchange=(\S+)", row["problems"][0])
    what = f"{row['problems'][0].split()[0]} {f'2^{power}' if power else shape.replace('x', ' x ')}"
    what += ", both ways" if len(row["problems"]) == 2 else ""
    return what + (f", `{exchange[1]}`" if exchange else "")


def table() -> str:
    lines = [
        "| source | case | ranks | what | published | predicted | off by | aimed at |",
        "|---|---|---:|---|---:|---:|---:|---:|",
    ]
    for row in rows():
        ours = predicted(row)
        off = ours / row["published"] - 1
        missed = "" if abs(off) <= row["allowed"] else ", missed"
        lines.append(
            f"| {row['source']} | {_case(row)} | {row['ranks']} | {WHAT[row['quantity']]} | "
            f"{_number(row['quantity'], row['published'])} | {_number(row['quantity'], ours)} | {100 * off:+.0f} % | "
            f"{100 * row['allowed']:.0f} %{missed} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the table into docs/foresight.md")
    text = table()
    if not parser.parse_args().write:
        print(text)
        return
    page = PAGE.read_text()
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
