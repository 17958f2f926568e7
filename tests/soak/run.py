"""python -m soak.run: gives campaigns turns until the time is up, and counts (./spanfft-dev soak).

A turn is a process that runs cases for some seconds and says when each begins and ends. A case that is silent beyond
its campaign's limit, in which the time that it waited for a core does not count (patience.py), hangs; one whose process
ends is crashed. Either way the turn is over and the next begins behind that seed. Two turns run side by side.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .campaigns import CAMPAIGNS, Campaign
from .case import COUNTED, FAILURES
from .patience import Limit

START_SECONDS = 120  # for a process to begin its first case
SIDE_BY_SIDE = 2


@dataclass
class State:
    """How far a campaign has come."""

    campaign: Campaign
    next_seed: int
    spent: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    busy: bool = False


def end_group(process: subprocess.Popen) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Turn:
    """One process of a campaign: its lines, as they come, with time limits."""

    def __init__(self, campaign: Campaign, first: int, seconds: float, count: int) -> None:
        self.campaign, self.first = campaign, first
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed with the turn
        self.lines: queue.Queue[str | None] = queue.Queue()
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PMIX", "OMPI_COMM", "HYDRA"))}
        self.process = subprocess.Popen(
            campaign.command(first, seconds, count), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.errors, text=True, errors="replace", start_new_session=True, env=environment,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _said(self) -> str:
        self.errors.seek(0)
        return self.errors.read()[-1500:]

    def _next_line(self, limit: Limit) -> str | None:
        """None at the end of its output; raises queue.Empty where it says nothing in time."""
        while (left := limit.left()) > 0:
            with contextlib.suppress(queue.Empty):
                return self.lines.get(timeout=left)
        return self.lines.get_nowait()

    def cases(self):
        """(seed, its last line or None, how it failed, what was seen) of each case; seed None: none had begun."""
        seed: int | None = None
        try:
            while True:
                limit = Limit(START_SECONDS if seed is None else self.campaign.limit_seconds, self.process.pid)
                try:
                    line = self._next_line(limit)
                except queue.Empty:
                    yield seed, None, "hung", f"silent for {limit.said()} {self._said()}"
                    return
                if line is None:
                    code = self.process.wait()
                    if seed is not None or code:
                        yield seed, None, "crashed", f"exit code {code}: {self._said()}"
                    return
                if not line.startswith("{"):  # a launcher's word
                    continue
                said = json.loads(line)
                if "begin" in said:
                    seed = said["begin"]
                else:
                    how, what = said["failure"] or (None, "")
                    yield said["end"], said, how, what
                    seed = None
        finally:
            end_group(self.process)
            self.errors.close()


class Soak:
    def __init__(self, seed: int, kinds: list[str], end: float, slice_seconds: float) -> None:
        self.states = [State(CAMPAIGNS[kind], seed * 1_000_000) for kind in kinds]
        self.end, self.slice_seconds = end, slice_seconds
        self.lock = threading.Lock()

    def pick(self) -> State | None:
        with self.lock:
            free = [state for state in self.states if not state.busy]
            if not free or time.monotonic() >= self.end:
                return None
            state = min(free, key=lambda s: s.spent / s.campaign.weight)
            state.busy = True
            return state

    def serve(self) -> None:
        while state := self.pick():
            begun = time.monotonic()
            try:
                self.turn(state)
            finally:
                with self.lock:
                    state.spent += time.monotonic() - begun
                    state.busy = False

    def turn(self, state: State) -> None:
        seconds = max(0.5, min(self.slice_seconds, self.end - time.monotonic()))
        first, last, campaign = state.next_seed, None, state.campaign
        for seed, said, how, what in Turn(campaign, first, seconds, 10**6).cases():
            last = seed if seed is not None else last
            with self.lock:
                if said:
                    state.counts.update(said["counts"])
                if how:
                    state.counts[how] += 1
                    self.report(campaign, seed if seed is not None else first, first, said, how, what)
        state.next_seed = (first if last is None else last) + 1  # with ranks: of one rank more

    def report(self, campaign: Campaign, seed: int, first: int, said, how: str, what: str) -> None:
        text = said["text"] if said else f"(the process was at its case {(seed - first) // campaign.stride + 1})"
        print(f"-- {how}: {campaign.name}:{seed}  {text}\n   {what.strip()}", flush=True)
        print(f"   again: ./spanfft-dev soak --repeat {campaign.name}:{seed}", flush=True)
        if campaign.stride > 1 and seed != first:
            count = (seed - first) // campaign.stride + 1
            print(f"   or all since its ranks began: --repeat {campaign.name}:{first}x{count}", flush=True)

    def run(self) -> int:
        # A run in the background is told to stop by SIGTERM, as its shell has it ignore SIGINT.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        servers = [threading.Thread(target=self.serve) for _ in range(SIDE_BY_SIDE)]
        for server in servers:
            server.start()
        try:
            for server in servers:
                server.join()
        except KeyboardInterrupt:  # what was seen until then counts
            print("-- interrupted: the turns under way end first", flush=True)
            self.end = 0.0
            for server in servers:
                server.join()
        return self.summary()

    def summary(self) -> int:
        columns = (*COUNTED, *FAILURES)
        print("-- " + f"{'campaign':<14}{'minutes':>8}" + "".join(f"{name:>10}" for name in columns), flush=True)
        total: Counter[str] = Counter()
        for state in self.states:
            total.update(state.counts)
            begins = f"   {state.campaign.name:<14}{state.spent / 60:>8.1f}"
            print(begins + "".join(f"{state.counts[name]:>10}" for name in columns))
        minutes = sum(state.spent for state in self.states) / 60
        print(f"   {'all':<14}{minutes:>8.1f}" + "".join(f"{total[name]:>10}" for name in columns))
        bad = sum(total[name] for name in FAILURES)
        print(f"soak: {', '.join(f'{total[name]} {name}' for name in columns)}", flush=True)
        return 1 if bad or not total["problems"] else 0


def repeat(what: str) -> int:
    """KIND:SEED, or KIND:SEEDxCOUNT for cases that follow one another in one process."""
    kind, _, which = what.partition(":")
    seed, _, count = which.partition("x")
    if kind not in CAMPAIGNS or not seed.isdecimal() or not (count or "1").isdecimal():
        raise SystemExit(f"--repeat is {what!r}; it is KIND:SEED, KIND one of {', '.join(CAMPAIGNS)}")
    good = True
    for number, said, how, text in Turn(CAMPAIGNS[kind], int(seed), 1e9, int(count or 1)).cases():
        print(f"{kind}:{number} {how or 'right'}: {(said or {}).get('text', '')}\n   {text.strip()}".rstrip())
        good = good and not how
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="spanfft-dev soak", description="Random problems, faults, kills and damage.")
    parser.add_argument("--minutes", type=float, default=1, metavar="M", help="default: 1")
    parser.add_argument("--seed", type=int, metavar="S", help="default: the day's number, which is printed")
    parser.add_argument("--only", default="", metavar="A,B", help=f"of {', '.join(CAMPAIGNS)}")
    parser.add_argument("--slice", type=float, default=0, metavar="S", help="seconds a turn; default: by the time")
    parser.add_argument("--repeat", metavar="KIND:SEED", help="one case again; KIND:SEEDxN: and those that follow")
    options = parser.parse_args()
    if options.repeat:
        return repeat(options.repeat)
    seed = datetime.date.today().toordinal() if options.seed is None else options.seed
    usual = [kind for kind, campaign in CAMPAIGNS.items() if options.minutes >= campaign.from_minutes]
    kinds = options.only.split(",") if options.only else usual
    unknown = [kind for kind in kinds if kind not in CAMPAIGNS]
    if unknown or seed < 0 or not options.minutes > 0:
        parser.error(f"no campaign {unknown}, or a seed or time below 0")
    absent = [kind for kind in kinds if CAMPAIGNS[kind].needs() == ""]
    for kind in absent:
        print(f"   without {kind}: what runs it is not here", flush=True)
    kinds = [kind for kind in kinds if kind not in absent]
    seconds = 60 * options.minutes
    turn = options.slice or max(1.0, min(30.0, seconds / (2 * len(kinds))))
    print(f"-- soak: seed {seed}, {seconds:.0f} s: {', '.join(kinds)}", flush=True)
    return Soak(seed, kinds, time.monotonic() + seconds, turn).run()


if __name__ == "__main__":
    sys.exit(main())
