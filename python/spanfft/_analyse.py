"""analyse(): what P1's four methods for FFTs on parallel disks by several processors send, before anything runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ._errors import InvalidArgument
from ._native import core

__all__ = ["METHODS", "Figure8", "Instance", "MethodTraffic", "analyse", "best_methods", "figure8", "figure8_instances"]

METHODS = ("stripe_major_comm", "memoryload_major_comm", "processor_major_nocomm", "memoryload_major_nocomm")


@dataclass(frozen=True)
class Instance:
    """Parameters of the Parallel Disk Model on several processors. All but the bytes of a record are powers of two."""

    records: int
    """N."""
    memory_bytes: int
    """Of each processor, with its buffers: a memoryload is a quarter of it, asynchronously an eighth."""
    block_bytes: int
    disks: int
    """D, of all processors together."""
    processors: int
    """P; each has D/P disks."""
    record_bytes: int = 16
    synchronous: bool = False
    shorter: bool = False
    """Permutations are factored by spanfft, in as many sweeps or fewer than as published."""


@dataclass(frozen=True)
class MethodTraffic:
    """What a method sends. What differs between processors is that of the one that sends most."""

    method: str
    memoryload_records: int
    """M, of all processors together."""
    effective_records: int
    """F: of a mini-butterfly."""
    band_records: int
    """Beta."""
    superlevels: int
    sweeps: int
    """Over all records, superlevels included."""
    parallel_ios: int
    butterfly_messages: int
    """Of a processor, in mini-butterflies."""
    butterfly_bytes: int
    bmmc_messages: int
    """Of a processor, in permutations."""
    bmmc_bytes: int
    total_messages: int
    """Of all processors together, in both."""
    total_bytes: int
    alike: bool
    """Every processor sends as much as every other."""


def _records(count_bytes: int, record_bytes: int, what: str) -> int:
    records, rest = divmod(count_bytes, record_bytes)
    if count_bytes < 1 or rest or records & (records - 1):
        lower = record_bytes << max(0, records.bit_length() - 1)
        raise InvalidArgument(f"{what} of {count_bytes} bytes is no power of two of records of {record_bytes} bytes; "
                              f"use {lower} or {2 * lower}")  # fmt: skip
    return records


def analyse(instance: Instance) -> list[MethodTraffic]:
    """Messages, bytes and parallel I/Os of each method, in the order of `METHODS`. Exact, and of no record's values."""
    if instance.record_bytes < 1:
        raise InvalidArgument(f"records of {instance.record_bytes} bytes; use 16 for complex128, 8 for complex64")
    memory = _records(instance.memory_bytes, instance.record_bytes, "memory") * instance.processors
    block = _records(instance.block_bytes, instance.record_bytes, "a block")
    for name, number in (("N", instance.records), ("memory", memory), ("P", instance.processors)):
        if abs(number) >= 1 << 63:
            raise InvalidArgument(f"{name} is {number} records or processors, more than 63 bits count; use less")
    return [
        MethodTraffic(
            method=method,
            **core.analyse(
                method,
                records=instance.records,
                record_bytes=instance.record_bytes,
                memory_records=memory,
                block_records=block,
                disks=instance.disks,
                processors=instance.processors,
                synchronous=instance.synchronous,
                shorter=instance.shorter,
            ),
        )
        for method in METHODS
    ]


def best_methods(found: list[MethodTraffic]) -> list[str]:
    """Those that send the fewest messages and the fewest bytes; none where these are two methods."""
    messages = min(each.total_messages for each in found)
    size = min(each.total_bytes for each in found)
    return [each.method for each in found if each.total_messages == messages and each.total_bytes == size]


def figure8_instances(block_bytes: int, shorter: bool = False) -> Iterator[Instance]:
    """P1's 258: P = D = 4, 2^20 to 2^35 points, 2^17 to 2^35 bytes a processor, both ways of I/O.

    All pairs of 16 sizes and 19 memories would be 304 times 2. Those with memories (in records) of a quarter to a
    1024th of the points are 129 times 2, and reach exactly from the first memory to the last.
    """
    for lg_points in range(20, 36):
        for lg_memory in range(17, 36):
            if 2 <= lg_points - (lg_memory + 2 - 4) <= 10:
                for synchronous in (True, False):
                    yield Instance(1 << lg_points, 1 << lg_memory, block_bytes, 4, 4, 16, synchronous, shorter)


@dataclass(frozen=True)
class Figure8:
    """In how many instances each method sends the fewest messages, the fewest bytes, and both."""

    instances: int
    fewest_messages: dict[str, int]
    fewest_bytes: dict[str, int]
    fewest_of_both: dict[str, int]

    def shares(self) -> dict[str, dict[str, int]]:
        """For the picture."""
        return {
            "fewest messages": self.fewest_messages,
            "fewest bytes": self.fewest_bytes,
            "fewest of both": self.fewest_of_both,
        }

    def percent(self, count: int) -> float:
        return math.nan if self.instances == 0 else 100 * count / self.instances


def figure8(block_bytes: int, shorter: bool = False) -> Figure8:
    """P1's figure 8 anew."""
    messages, sizes, both, instances = Counter[str](), Counter[str](), Counter[str](), 0
    for instance in figure8_instances(block_bytes, shorter):
        found = analyse(instance)
        instances += 1
        least = min(each.total_messages for each in found)
        smallest = min(each.total_bytes for each in found)
        messages.update(each.method for each in found if each.total_messages == least)
        sizes.update(each.method for each in found if each.total_bytes == smallest)
        both.update(best_methods(found))
    ordered = ({method: counts[method] for method in METHODS} for counts in (messages, sizes, both))
    return Figure8(instances, *ordered)
