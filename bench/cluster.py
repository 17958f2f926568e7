#!/usr/bin/env python3
"""An emulated cluster on this machine: hosts with links of a limited rate between them, and MPI ranks on the hosts.

    cluster.py check                                do ranks share memory on a host, and use the links between hosts?
    cluster.py run --hosts 4 --rate 1gbit --ranks-per-host 1 CMD...

A host is a process with network, process, mount, host name and IPC namespaces of its own, so it has its own eth0,
/dev/shm and name, and MPI takes it for another machine. A veth pair joins it to a bridge in a further namespace, the
switch, and a token bucket limits both ends of the pair. mpiexec (MPICH's) runs in the switch; a three-line launcher
that enters a host replaces ssh.
Invariant: all of it lives inside the switch's process namespace, whose first process ends when a pipe that only this
process holds is closed. So the kernel removes everything, however this process ends; nothing has a name outside.
Needs root, iproute2 (ip, tc) and util-linux (unshare, nsenter); otherwise `Absent` (exit code 77) says what is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).resolve().parent
EXIT_ABSENT = 77
_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_NAMESPACES = ("--net", "--uts", "--ipc", "--mount", "--pid")
_NETWORK = "10.77.0"  # inside the namespaces only
# What a link may send at once after a rest: the largest piece that TCP hands to a network card (64 KiB) with a header
# for each of its 45 packets. A piece that is larger than this is cut into its packets before the link, where a card
# would cut it behind: at 1 Gb/s between four hosts that took all of two cores, and links were filled to less than half.
_BURST_BYTES = 72 << 10
# A port of the switch queues what its host can't take yet. Windows of 256 KiB from 3 peers fit into it, so nothing is
# dropped and no sender waits for TCP's 200 ms timer; 256 KiB fill 1 Gb/s up to a round trip of 2 ms.
_WINDOW_BYTES = 256 << 10
# The route limits the window, and not what a receiver may keep: segments take several times their bytes there. One
# whose memory is full throws away what lies within its window, and then Linux 6.18 came to a state in which both ends
# of a connection threw away all that the other sent: ranks waited for ever, after some GB.
_BUFFER_BYTES = 16 * _WINDOW_BYTES
# Which control of congestion a kernel prefers must not change a row: reno is in every kernel, and nothing is lost that
# would slow it down.
_TCP = {"tcp_congestion_control": "reno"}
_MPI_VARIABLES = {
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",  # ranks share few cores, so a waiting one must give way to others
    "MPIR_CVAR_CH4_NETMOD": "ofi",  # where there is a choice: libfabric fills the links better than UCX
    "FI_PROVIDER": "tcp",
    "UCX_TLS": "tcp,self",  # for an MPICH on UCX alone: with its shared memory, Debian's hangs in MPI_Finalize
}


class Absent(Exception):
    """This kernel or these rights can't make a cluster; the message says why."""


class Failed(Exception):
    """A job on the cluster failed; the message has its output."""


@dataclass(frozen=True)
class Job:
    """What a finished job said and sent."""

    output: str
    errors: str
    seconds: float
    sent_bytes: tuple[int, ...]  # by each host over its link, headers included
    received_bytes: tuple[int, ...]


def bits_per_second(rate: str) -> int:
    """Of tc's notation: 100mbit is 100 000 000."""
    found = re.fullmatch(r"(\d+)(kbit|mbit|gbit)", rate)
    if not found or not int(found[1]):
        raise ValueError(f"rate is {rate!r}; it must be like 100mbit or 1gbit")
    return int(found[1]) * _UNITS[found[2]]


def find_mpiexec() -> str:
    """MPICH's: its launcher can be replaced by a script."""
    beside = Path(sys.executable).with_name("mpiexec")
    name = os.environ.get("SPANFFT_MPIEXEC") or (str(beside) if beside.exists() else "mpiexec")
    path = shutil.which(name)
    if not path:
        raise Absent(f"no mpiexec ({name})")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    if "HYDRA" not in said:
        raise Absent(f"{path} is not MPICH's mpiexec, whose -launcher-exec replaces ssh")
    return path


def require() -> None:
    """Raises Absent where a cluster can't be made, as far as can be said without trying."""
    if not sys.platform.startswith("linux"):
        raise Absent(f"namespaces need Linux; this is {sys.platform}")
    if os.geteuid():
        raise Absent("making network namespaces and rate limits needs root")
    missing = [name for name in ("ip", "tc", "unshare", "nsenter", "mount") if not shutil.which(name)]
    if missing:
        raise Absent(f"missing programs: {', '.join(missing)} (packages iproute2, util-linux)")


# The first process of a namespace. `read` is the shell's own, and /proc still the outer one: the number that it
# reads is the one by which the outer namespace knows this shell.
_FIRST = """
read number rest </proc/self/stat || exit 1
mount -t proc proc /proc && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && hostname "$1" && ip link set lo up || exit 1
mount -t sysfs sysfs /sys 2>/dev/null
echo "$number"
"""


class Cluster:
    """`with Cluster(hosts=4, rate="100mbit") as c: c.run(1, [sys.executable, "program.py"]).output`."""

    def __init__(self, hosts: int = 4, rate: str = "100mbit"):
        if not 1 <= hosts <= 200:
            raise ValueError(f"hosts is {hosts}; it must be 1 to 200")
        self.hosts, self.rate, self.bits_per_second = hosts, rate, bits_per_second(rate)
        self._processes: list[subprocess.Popen[str]] = []
        self._numbers: list[int] = []  # of the hosts' first processes, in the switch's process namespace
        self._switch = 0  # number of the switch's first process, here

    # --- making it and ending it ---------------------------------------------------------------------------------

    def __enter__(self) -> Cluster:
        require()
        self._mpiexec = find_mpiexec()
        try:
            # `cat` ends when the pipe is closed that this process holds, and with it every process inside.
            self._switch = self._namespace([], "switch", "exec cat >/dev/null", subprocess.PIPE)
            self._inside("ip link add switch type bridge")
            self._inside(f"ip addr add {_NETWORK}.254/24 dev switch && ip link set switch up")
            for host in range(self.hosts):
                self._add_host(host)
            self._write_launcher()
        except BaseException:
            self.close()
            raise
        return self

    def _namespace(self, enter: list[str], name: str, last: str, stdin: int) -> int:
        """Starts a first process in new namespaces and returns its number in the namespace that it was started in."""
        command = [*enter, "unshare", *_NAMESPACES, "--fork", "--kill-child", "sh", "-c", _FIRST + last, "sh", name]
        process = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stderr is not None
        number = process.stdout.readline().strip()
        if not number:
            raise Absent(f"namespaces can't be made here: {process.stderr.read().strip() or 'unshare failed'}")
        return int(number)

    def _enter(self) -> list[str]:
        return ["nsenter", f"--target={self._switch}", *_NAMESPACES, "--"]

    def _inside(self, script: str, host: int | None = None, stdin: str = "") -> str:
        """Runs a shell script in the switch, or in a host."""
        command = self._enter()
        if host is not None:
            command += ["nsenter", f"--target={self._numbers[host]}", *_NAMESPACES, "--"]
        done = subprocess.run([*command, "sh", "-c", script], input=stdin, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Absent(f"`{script}` failed: {done.stderr.strip()}")
        return done.stdout

    def _add_host(self, host: int) -> None:
        number = self._namespace(self._enter(), f"host{host}", "exec sleep infinity", subprocess.DEVNULL)
        self._numbers.append(number)
        queue_bytes = max(4, self.hosts) * _WINDOW_BYTES
        limit = f"root tbf rate {self.rate} burst {_BURST_BYTES} limit {queue_bytes}"
        self._inside(
            f"ip link add port{host} type veth peer name eth0 netns {number} && tc qdisc add dev port{host} {limit} && "
            f"ip link set port{host} master switch up"
        )
        self._inside(
            f"tc qdisc add dev eth0 {limit} && ip addr add {self.address(host)}/24 dev eth0 && ip link set eth0 up && "
            f"echo '4096 {_BUFFER_BYTES} {_BUFFER_BYTES}' >/proc/sys/net/ipv4/tcp_rmem && "
            f"ip route replace {_NETWORK}.0/24 dev eth0 src {self.address(host)} window {_WINDOW_BYTES} && "
            + " && ".join(f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in _TCP.items()),
            host,
        )

    def _write_launcher(self) -> None:
        """mpiexec calls it as ssh: `launch -x HOST WORD...`. It lies in the switch's own /dev/shm."""
        cases = "\n".join(f"{self.address(host)}) number={number} ;;" for host, number in enumerate(self._numbers))
        enter = " ".join(["nsenter", "--target=$number", *_NAMESPACES])
        script = f'#!/bin/sh\n[ "$1" = -x ] && shift\ncase $1 in\n{cases}\nesac\nshift\nexec {enter} -- sh -c "$*"\n'
        self._inside("cat >/dev/shm/launch && chmod +x /dev/shm/launch", stdin=script)

    def close(self) -> None:
        """Ends every process of the cluster; its namespaces and links go with them."""
        for process in self._processes:  # the switch is the first: its end ends the others
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()  # --kill-child takes the namespace along
                process.wait()
        self._processes.clear()
        self._numbers.clear()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- using it ------------------------------------------------------------------------------------------------

    def unmount(self, host: int, folder: Path) -> None:
        """Takes a file system away from a host; the others keep it."""
        self._inside(f"umount '{folder}'", host)

    def address(self, host: int) -> str:
        return f"{_NETWORK}.{host + 1}"

    def process_folder(self, number: int) -> Path:
        """What /proc says of a process of the cluster, by its number in the switch, as seen from outside."""
        return Path("/proc", str(self._switch), "root", "proc", str(number))

    def traffic(self) -> list[tuple[int, int]]:
        """Bytes that each host has sent and received over its link so far, as its eth0 counts them."""
        found = []
        for number in self._numbers:
            fields = re.search(r"eth0:(.*)", (self.process_folder(number) / "net/dev").read_text())
            assert fields is not None
            counts = fields[1].split()
            found.append((int(counts[8]), int(counts[0])))
        return found

    def run(
        self,
        ranks_per_host: int,
        command: Sequence[object],
        env: Mapping[str, str] | None = None,
        timeout: float = 300,
        hosts: int | None = None,
        check: bool = True,
    ) -> Job:
        """Runs a command on so many ranks of each host (of the first `hosts`), rank 0 first; waits for its end.

        Raises Failed where it fails (unless `check` is false: then its code is lost) or takes longer than `timeout`
        seconds."""
        count = hosts or self.hosts
        names = ",".join(self.address(host) for host in range(count))
        launch = [self._mpiexec, "-launcher", "ssh", "-launcher-exec", "/dev/shm/launch", "-iface", "switch"]
        launch += [
            "-wdir",
            os.getcwd(),
            "-hosts",
            names,
            "-ppn",
            str(ranks_per_host),
            "-n",
            str(ranks_per_host * count),
        ]
        # Without what another mpiexec has set, in case it started this process.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "HYDRA", "MPICH_"))}
        variables = {**kept, **_MPI_VARIABLES, **(env or {})}
        before, start = self.traffic(), time.perf_counter()
        process = subprocess.Popen(
            [*self._enter(), *launch, *map(str, command)], env=variables, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            output, errors = process.communicate(timeout=timeout)
        except BaseException as problem:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise Failed(f"no end after {timeout:.0f} s; it said:\n{output}{errors}") from None
            raise
        seconds, after = time.perf_counter() - start, self.traffic()
        if check and process.returncode:
            raise Failed(f"exit code {process.returncode}:\n{output}{errors}")
        sent, received = (tuple(b[i] - a[i] for a, b in zip(before, after, strict=True)) for i in (0, 1))
        return Job(output, errors, seconds, sent, received)

    def check(self, ranks_per_host: int = 2) -> str:
        """Runs an all-to-all and raises Failed unless ranks are grouped by host, every byte between hosts was counted
        by the links, and no link was faster than its rate. Returns a sentence with the figures."""
        if self.hosts < 2:
            raise ValueError("a check of the links needs 2 hosts")
        block_bytes = self.bits_per_second // 8 // 4 // (ranks_per_host * ranks_per_host * (self.hosts - 1))
        host_bytes = block_bytes * ranks_per_host * ranks_per_host * (self.hosts - 1)  # 0.25 s of the link
        job = self.run(ranks_per_host, [sys.executable, __file__, "probe", str(block_bytes)], timeout=60)
        found = json.loads(job.output)
        if found["groups"] != [ranks_per_host] * self.hosts or found["names"] != self.hosts:
            raise Failed(f"ranks that share memory: {found['groups']}, with {found['names']} host names")
        least = min(job.sent_bytes + job.received_bytes)
        if least < host_bytes * found["repeats"]:
            raise Failed(f"{host_bytes * found['repeats']} bytes left each host, but a link counted {least}")
        # What one burst may send at once besides, at either end of a link.
        rate = 8 * (host_bytes - 2 * _BURST_BYTES) / min(found["seconds"])
        if rate > 1.01 * self.bits_per_second:
            raise Failed(f"an all-to-all moved {rate / 1e6:.1f} Mbit/s over links of {self.rate}")
        return (
            f"{self.hosts} hosts of {ranks_per_host} ranks: memory is shared on a host only; an all-to-all of "
            f"{host_bytes / 1e6:.1f} MB from each host took {min(found['seconds']):.3f} s, "
            f"{8e-6 * host_bytes / min(found['seconds']):.1f} Mbit/s over links of {self.rate}; links counted "
            f"{least / 1e6:.1f} MB for {host_bytes * found['repeats'] / 1e6:.1f} MB"
        )


def probe(block_bytes: int, repeats: int = 3) -> None:
    """What `check` runs on the ranks."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    node = world.Split_type(MPI.COMM_TYPE_SHARED)
    leaders = world.gather((node.rank, node.size), 0)
    names = world.gather(os.uname().nodename, 0)
    source, target = (bytearray(block_bytes * world.size) for _ in range(2))
    seconds = []
    for _ in range(repeats):
        world.Barrier()
        start = time.perf_counter()
        world.Alltoall([source, block_bytes, MPI.BYTE], [target, block_bytes, MPI.BYTE])
        seconds.append(world.reduce(time.perf_counter() - start, MPI.MAX, 0))
    if world.rank == 0:
        groups = [size for rank, size in leaders if rank == 0]
        print(json.dumps({"groups": groups, "names": len(set(names)), "seconds": seconds, "repeats": repeats}))


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(prog="cluster.py", description=first, epilog=rest, formatter_class=raw)
    actions = parser.add_subparsers(dest="action", required=True)
    for name, hosts, ranks in (("check", 2, 2), ("run", 4, 1)):
        action = actions.add_parser(name)
        action.add_argument("--hosts", type=int, default=hosts)
        action.add_argument("--rate", default="100mbit", help="of each link and direction, as tc writes it; 100mbit")
        action.add_argument("--ranks-per-host", type=int, default=ranks)
    action.add_argument("--timeout", type=float, default=3600, help="seconds; 3600")
    action.add_argument("command", nargs=argparse.REMAINDER, help="with its arguments, as on every rank")
    actions.add_parser("probe", help="what check runs on the ranks").add_argument("block_bytes", type=int)
    options = parser.parse_args()
    if options.action == "probe":
        probe(options.block_bytes)
        return 0
    try:
        with Cluster(options.hosts, options.rate) as cluster:
            if options.action == "check":
                print(cluster.check(options.ranks_per_host))
                return 0
            job = cluster.run(options.ranks_per_host, options.command, timeout=options.timeout)
            sys.stdout.write(job.output)
            sys.stderr.write(job.errors)
            for host, (sent, received) in enumerate(zip(job.sent_bytes, job.received_bytes, strict=True)):
                print(f"host{host}: sent {sent} bytes, received {received}", file=sys.stderr)
    except Absent as reason:
        print(f"no emulated cluster here: {reason}", file=sys.stderr)
        return EXIT_ABSENT
    except Failed as reason:
        print(reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
