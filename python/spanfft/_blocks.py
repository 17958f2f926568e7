"""Callbacks on the blocks of a file transform: what the C interface hands over as memory becomes a NumPy array.

A block's memory is the library's and is used again after the call, so an array of it that outlives the call is an
error, not a surprise.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._files import Element

__all__ = ["input_call", "output_call"]

Block = Callable[["NDArray[Any]", int], Any]


def input_call(callback: Block, element: Element) -> Callable[[memoryview, int], None]:
    """`callback(block, index)` for blocks of the input."""
    dtype = np.dtype(element.name)

    def call(data: memoryview, first: int) -> None:
        block = np.frombuffer(data, dtype)
        alive = weakref.ref(block)
        result = callback(block, first)
        if result is not None and result is not block:
            raise TypeError(f"on_input returned {type(result).__name__}; it changes its block in place")
        del block, result
        _check_gone(alive, "on_input")

    return call


def output_call(
    callback: Block, computed: Element, stored: Element
) -> Callable[[memoryview, memoryview | None, int], bool]:
    """`callback(block, index)` for blocks of the output. Says whether it filled what is stored."""
    computed_dtype, stored_dtype = np.dtype(computed.name), np.dtype(stored.name)

    def call(data: memoryview, room: memoryview | None, first: int) -> bool:
        block = np.frombuffer(data, computed_dtype)
        alive = weakref.ref(block)
        result = callback(block, first)
        filled = result is not None and result is not block
        if filled:
            values = np.asarray(result)
            if values.shape != block.shape:
                raise ValueError(f"on_output returned shape {values.shape} for a block of shape {block.shape}")
            target = block if room is None else np.frombuffer(room, stored_dtype)
            np.copyto(target, values, casting="same_kind")
            del values, target
        del block, result
        _check_gone(alive, "on_output")
        return filled

    return call


def _check_gone(alive: weakref.ref[NDArray[Any]], name: str) -> None:
    if alive() is not None:
        raise RuntimeError(f"{name} kept its block, whose memory is used again; keep block.copy()")
