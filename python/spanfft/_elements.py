"""The types of numbers in files: those that are computed with, and those that are converted to them on the way in.

Integers, booleans, halves and big-endian numbers are read as they lie and become float32 or float64 (or their complex
kin) in the memory into which they are read: by the library where the array is in one piece of a file, else by the
format's own. As in SciPy, integers and booleans are computed in double precision and halves in single, unless the
caller says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._arguments import did_you_mean
from ._errors import InvalidArgument

__all__ = ["ELEMENTS", "FOREIGN", "Element", "element", "element_named", "input_element", "input_types", "precision_of"]

_PRECISIONS = {"single": 0, "double": 1, "longdouble": 2}
"""The words of callers, as the C interface has them."""


@dataclass(frozen=True)
class Element:
    """A type of array elements."""

    name: str
    descr: str  # numpy's, in headers
    size_bytes: int
    precision: int  # of the C interface, in which it is computed unless another is asked for
    is_complex: bool
    foreign: bool = False
    """Whether it is converted on the way in whatever the precision; no output has such a type."""

    def computed(self, precision: int | None) -> Element:
        """What becomes of it in memory; None: in its own precision."""
        return element(self.precision if precision is None else precision, self.is_complex)

    def load(self, precision: int | None) -> str | None:
        """The problem string's `load` for that; None: there is nothing to convert."""
        if self.computed(precision) is self:
            return None
        return "u1" if self.name == "bool" else self.descr.lstrip("<|")


ELEMENTS = {
    element.name: element
    for element in (
        Element("float32", "<f4", 4, 0, False),
        Element("float64", "<f8", 8, 1, False),
        Element("longdouble", "<f16", 16, 2, False),
        Element("complex64", "<c8", 8, 0, True),
        Element("complex128", "<c16", 16, 1, True),
        Element("clongdouble", "<c32", 32, 2, True),
    )
}


def _foreign() -> dict[str, Element]:
    """By numpy's type strings, which are also the names of big-endian ones."""
    found = [Element("bool", "|b1", 1, 1, False, True)]
    for letter, name in (("i", "int"), ("u", "uint")):
        found.append(Element(f"{name}8", f"|{letter}1", 1, 1, False, True))
        for size in (2, 4, 8):
            found.append(Element(f"{name}{8 * size}", f"<{letter}{size}", size, 1, False, True))
            found.append(Element(f">{letter}{size}", f">{letter}{size}", size, 1, False, True))
    found += [Element("float16", "<f2", 2, 0, False, True), Element(">f2", ">f2", 2, 0, False, True)]
    for native in ELEMENTS.values():
        descr = native.descr.replace("<", ">")
        found.append(Element(descr, descr, native.size_bytes, native.precision, native.is_complex, True))
    return {element.descr: element for element in found}


FOREIGN = _foreign()
_INPUTS = {element.descr: element for element in ELEMENTS.values()} | FOREIGN
_BY_NAME = {element.name: element for element in _INPUTS.values()}
_ALIASES = {"float": "float32", "double": "float64", "single": "float32", "complex": "complex128", "int": "int64",
            "half": "float16"}  # fmt: skip
_NUMPYS = {"float128": "longdouble", "complex256": "clongdouble", "bool_": "bool"}


def input_types() -> str:
    """All that an input can hold, in words."""
    return (
        f"{', '.join(ELEMENTS)}, float16, int8 to int64, uint8 to uint64, bool, or one of these in big-endian order, "
        f"such as '>i2'"
    )


def element(precision: int, is_complex: bool) -> Element:
    """The element type of a precision of the C interface."""
    return next(e for e in ELEMENTS.values() if e.precision == precision and e.is_complex == is_complex)


def _said(dtype: object) -> str:
    """A dtype as a word: numpy's type string of a numpy dtype, which has its byte order, else a name."""
    descr = getattr(dtype, "str", None)
    if isinstance(descr, str) and not isinstance(dtype, str | type):
        return descr
    name = str(getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype)
    return _NUMPYS.get(name, name)


def input_by_descr(descr: str) -> Element | None:
    """By numpy's type string; a single byte has no order, and '=' is this machine's."""
    plain = descr.replace("=", "<")
    return _INPUTS.get(plain) or _INPUTS.get(f"|{plain.lstrip('<>|')}")


def _found(dtype: object, known: dict[str, Element], words: str) -> Element:
    """By one of the known names, or by numpy's type string of one of them."""
    name = _said(dtype)
    found = _BY_NAME.get(name) or input_by_descr(name if name[:1] in "<>=|" else f"<{name}")
    if found is None or found.name not in known:
        hint = f"; did you mean {_ALIASES[name]!r}?" if name in _ALIASES else did_you_mean(name, known)
        raise InvalidArgument(f"dtype is {dtype!r}; it can be {words}{hint}")
    return found


def input_element(dtype: object) -> Element:
    """Of an input: from "int16", ">f4", "c8", or a numpy dtype or type."""
    return _found(dtype, _BY_NAME, input_types())


def element_named(dtype: object) -> Element:
    """Of an output: from "complex64", "<c8", or a numpy dtype or type."""
    return _found(dtype, ELEMENTS, ", ".join(ELEMENTS))


def precision_of(word: str | None) -> int | None:
    """Of the C interface, from "single", "double" or "longdouble"; None: as the input says."""
    if word is None:
        return None
    if word not in _PRECISIONS:
        raise InvalidArgument(
            f'precision is {word!r}; it can be "single", "double" or "longdouble"{did_you_mean(word, _PRECISIONS)}'
        )
    return _PRECISIONS[word]
