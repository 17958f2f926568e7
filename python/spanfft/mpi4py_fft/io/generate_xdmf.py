"""XDMF files that tell ParaView and VisIt what an HDF5 file of snapshots holds.

For each dimension that was written (whole arrays of 2 or 3 axes, planes of 3-D ones) one XDMF file is made, with a grid
of the file's steps. Scalars alone are listed, as in mpi4py-fft: write tensors with ``as_scalar=True``.
Source: the XDMF model and format, version 2.1, and mpi4py-fft 2.0.6's documented `generate_xdmf`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..._errors import InvalidArgument, Unsupported

__all__ = ["generate_xdmf"]

_ORDERS = ("paraview", "visit")


def generate_xdmf(
    h5filename: str | os.PathLike[str], periodic: bool | Sequence[bool] = True, order: str = "paraview"
) -> None:
    """Writes NAME.xdmf beside NAME.h5, and NAME_slice_4_slice.xdmf for planes. Call it on one rank.

    Parameters
    ----------
    h5filename
        A file of `HDF5File`.
    periodic
        For all axes or for each: whether the end of the domain is the point after the last.
    order
        "paraview" or "visit": how the mesh of a plane is listed.
    """
    if order not in _ORDERS:
        raise InvalidArgument(f"order is {order!r}; it can be {' or '.join(map(repr, _ORDERS))}")
    try:
        import h5py
    except ImportError as error:
        raise Unsupported(f"generate_xdmf needs h5py, which can't be imported ({error}); pip install h5py") from None
    name = os.fspath(h5filename)
    with h5py.File(name, "r") as file:
        for suffix, fields in _fields(file).items():
            document = _document(os.path.basename(name), fields, periodic, order)
            root = os.path.splitext(name)[0] + (f"_{suffix}" if suffix else "")
            with open(f"{root}.xdmf", "w", encoding="utf-8") as out:
                out.write('<?xml version="1.0" encoding="utf-8"?>\n' + document)


def _fields(file: Any) -> dict[str, list[tuple[Any, Any, str]]]:
    """From "" (whole arrays) or a plane's name to its fields: the name's group, the group of its steps, its path."""
    found: dict[str, list[tuple[Any, Any, str]]] = {}
    for name, group in file.items():
        shape = group.attrs["shape"]
        if int(group.attrs["rank"]) or not 2 <= len(shape) <= 3:
            continue
        if f"{len(shape)}D" in group:
            found.setdefault("", []).append((group, group[f"{len(shape)}D"], f"{name}/{len(shape)}D"))
        if len(shape) == 3:
            for plane, steps in group.get("2D", {}).items():
                found.setdefault(plane, []).append((group, steps, f"{name}/2D/{plane}"))
    return found


def _document(h5name: str, fields: list[tuple[Any, Any, str]], periodic: bool | Sequence[bool], order: str) -> str:
    xdmf = ElementTree.Element("Xdmf", {"xmlns:xi": "http://www.w3.org/2001/XInclude", "Version": "2.1"})
    domain = ElementTree.SubElement(xdmf, "Domain")
    attributes = {"Name": "Structured Grid", "GridType": "Collection", "CollectionType": "Temporal"}
    collection = ElementTree.SubElement(domain, "Grid", attributes)
    steps = sorted({int(step) for _, group, _ in fields for step in group})
    time = ElementTree.SubElement(collection, "Time", {"TimeType": "List"})
    _item(time, " ".join(map(str, steps)), Dimensions=str(len(steps)), Format="XML")
    for step in steps:
        here = [(owner, group[str(step)], path) for owner, group, path in fields if str(step) in group]
        grid = ElementTree.SubElement(collection, "Grid", {"GridType": "Uniform"})
        owner, _, path = here[0]
        dims = _geometry(grid, h5name, owner, path, periodic, order)
        for _, dataset, where in here:
            attribute = {"Name": where.split("/")[0], "Center": "Node"}
            precision = str(dataset.dtype.itemsize)
            _item(ElementTree.SubElement(grid, "Attribute", attribute), f"{h5name}:/{where}/{step}", Format="HDF",
                  NumberType="Float", Precision=precision, Dimensions=" ".join(map(str, dims)))  # fmt: skip
    ElementTree.indent(xdmf)
    return ElementTree.tostring(xdmf, encoding="unicode") + "\n"


def _item(parent: ElementTree.Element, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, "DataItem", attributes).text = text


def _geometry(
    grid: ElementTree.Element, h5name: str, group: Any, path: str, periodic: bool | Sequence[bool], order: str
) -> list[int]:
    """The mesh of a grid, and the grid's lengths: a plane has length 1 along the axis that it cuts."""
    shape = [int(n) for n in group.attrs["shape"]]
    parts = path.split("/")
    cut = parts[2].split("_") if len(parts) == 3 else ["slice"] * len(shape)
    dims = [n if entry == "slice" else 1 for n, entry in zip(shape, cut, strict=True)]
    around = [bool(p) for p in np.broadcast_to(np.asarray(periodic), len(shape))]
    uniform = "domain" in group
    ndim = len(shape)
    kind = ("ORIGIN_" + "".join(f"D{axis}" for axis in "XYZ"[:ndim])) if uniform else "".join(f"V{a}" for a in "XYZ")
    geometry = ElementTree.SubElement(grid, "Geometry", {"Type": kind if uniform or ndim == 3 else "VXVY"})
    if uniform:
        ends = [group[f"domain/x{axis}"][:] for axis in range(ndim)]
        step = [(b - a) / (n if p else max(n - 1, 1)) for (a, b), n, p in zip(ends, shape, around, strict=True)]
        origin = [a if entry == "slice" else a + int(entry) * d
                  for (a, _), d, entry in zip(ends, step, cut, strict=True)]  # fmt: skip
        for numbers in (origin, step):
            text = " ".join(repr(float(number)) for number in numbers)
            _item(geometry, text, Format="XML", NumberType="Float", Dimensions=str(ndim))
    else:
        # Coordinates are listed fastest axis first; VisIt wants those of a plane the other way.
        axes = list(reversed(range(ndim)))
        for axis in axes if order == "paraview" or 1 not in dims else axes[::-1]:
            if dims[axis] == 1:
                _item(geometry, repr(float(group[f"mesh/x{axis}"][int(cut[axis])])), Format="XML", NumberType="Float",
                      Precision="8", Dimensions="1")  # fmt: skip
            else:
                _item(geometry, f"{h5name}:/{group.name.strip('/')}/mesh/x{axis}", Format="HDF", NumberType="Float",
                      Precision="8", Dimensions=str(dims[axis]))  # fmt: skip
    topology = f"{ndim}D{'CoRect' if uniform else 'Rect'}Mesh"
    ElementTree.SubElement(grid, "Topology", {"Dimensions": " ".join(map(str, dims)), "Type": topology})
    return dims
