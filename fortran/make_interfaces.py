#!/usr/bin/env python3
"""Writes include/spanfft/spanfft.f03, Fortran's view of the C interface, from spanfft.h and spanfft_mpi.h.

Method: comments are stripped; then every definition of a number, enum, struct, function type and function is taken out
of the text and translated, one pattern each. Invariant: nothing may be left over, so a declaration that no pattern
knows is an error here and never silently absent there. tests/python/test_fortran.py holds the committed file equal to
what this prints, and compares the layout of every struct with the C compiler's.

The rules of translation: a struct is a type with bind(C) whose components begin as zeros, a pointer to a struct or a
number is an argument by reference, which is optional (absent is NULL), a pointer to 64-bit numbers is an array, an
opaque handle, a void* and a text that is returned are type(c_ptr), a function is type(c_funptr).
Source: ISO/IEC 1539-1:2018, clause 18, Interoperability with C.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[1] / "include" / "spanfft"
OUTPUT = HEADERS / "spanfft.f03"
NUMBERS = {
    "int": "integer(c_int)",
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
    "uint64_t": "integer(c_int64_t)",
    "size_t": "integer(c_size_t)",
    "double": "real(c_double)",
    "SPANFFT_FINT": "integer(c_int)",
}
HEAD = """\
! spanfft's C interface for Fortran 2018: include it where "use, intrinsic :: iso_c_binding" stands before.
!
! Made from spanfft.h and spanfft_mpi.h by fortran/make_interfaces.py; don't edit it. Being included, it is compiled by
! your compiler, so there is no .mod file of another one. What each function does, the headers say. An argument that is
! a pointer there may be left out here where NULL is allowed there. Arrays of lengths are in C order, slowest axis
! first: the module in fortran/spanfft.F90 turns them around and is what programs usually want.
! spanfft_comm_from_mpi is absent, because MPI_Comm is a type of C: Fortran has spanfft_comm_from_fortran.
"""
LEFT_OUT = {"spanfft_comm_from_mpi"}


class Header:
    """The declarations of the headers, taken out of their text one kind after the other."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        self.defines = self.take(r"^#define (SPANFFT_\w+) (\d+)$")
        # Include guards, SPANFFT_API, and SPANFFT_VERSION, which Fortran would not tell from spanfft_version().
        self.take(r"^#.*$")
        self.take(r"static inline [^{]*\{[^}]*\}|extern \"C\" \{|^\}$")
        self.enums = self.take(r"\benum \{([^}]*)\};")
        self.structs = self.take(r"typedef struct (\w+) \{([^}]*)\} \1;")
        self.opaque = {name for (name,) in self.take(r"typedef struct (\w+) \1;")}
        self.function_types = self.take(r"typedef ([\w ]+?) \(\*(\w+)\)\(([^)]*)\);")
        self.functions = self.take(r"SPANFFT_API ((?:const )?\w+(?:\s*\*)?)\s*\b(\w+)\(([^)]*)\);")
        if self.text.strip():
            raise SystemExit(f"no rule translates this:\n{self.text.strip()}")
        self.types = {name for name, _ in self.structs}
        self.callbacks = {name for _, name, _ in self.function_types}
        named = [row[0] for row in self.defines + self.structs] + [row[1] for row in self.function_types]
        named += [name for name, _ in self.values()] + [row[1] for row in self.functions]
        lowered = [name.lower() for name in named]
        if twice := {name for name in lowered if lowered.count(name) > 1}:
            raise SystemExit(f"Fortran does not tell apart the two that are called {', '.join(sorted(twice))}")

    def take(self, pattern: str) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []

        def remember(match: re.Match[str]) -> str:
            found.append(match.groups())
            return " "

        self.text = re.sub(pattern, remember, self.text, flags=re.M)
        return found

    def values(self) -> list[tuple[str, str]]:
        """Every name of an enum with its value."""
        return [(name, value) for (body,) in self.enums for name, value in re.findall(r"(\w+)\s*=\s*(\d+)", body)]


def split(declaration: str) -> tuple[str, str, str]:
    """The type, the stars and the name of a declaration such as "const char* text"; const is left out."""
    match = re.fullmatch(r"(\w+)([\s*]*?)\s*(\w+(?:\[\w+\])?)", re.sub(r"\bconst\b\s*", "", declaration.strip()))
    if not match:
        raise SystemExit(f"no rule translates this declaration: {declaration}")
    return match[1], re.sub(r"\s", "", match[2]), match[3]


def component(header: Header, declaration: str) -> list[str]:
    """A field of a struct, or two that are declared together."""
    if pointed := re.search(r"\(\*(\w+)\)", declaration):
        return [f"type(c_funptr) :: {pointed[1]} = c_null_funptr"]
    first, *more = declaration.split(",")
    kind, stars, name = split(first)
    lines = []
    for each in [name, *(other.strip() for other in more)]:
        bare, _, extent = each.partition("[")
        shape = f"({extent.rstrip(']')})" if extent else ""
        if stars:
            lines.append(f"type(c_ptr) :: {bare} = c_null_ptr")
        elif kind in header.callbacks:
            lines.append(f"type(c_funptr) :: {bare} = c_null_funptr")
        elif kind == "char":
            lines.append(f"character(kind=c_char) :: {bare}{shape} = c_null_char")
        else:
            lines.append(f"{NUMBERS[kind]} :: {bare}{shape} = 0")
    return lines


def argument(header: Header, declaration: str, optional: str) -> tuple[str, str]:
    """The name of an argument and the line that declares it."""
    kind, stars, name = split(declaration)
    intent = "intent(in)" if declaration.strip().startswith("const ") else "intent(inout)"
    if kind in header.callbacks:
        return name, f"type(c_funptr), value :: {name}"
    if stars == "*" and (kind == "void" or kind in header.opaque):
        return name, f"type(c_ptr), value :: {name}"
    if stars == "**":
        many = "(*)" if declaration.count("const") == 2 else ""  # const char* const*: an array of texts
        return name, f"type(c_ptr), {intent if many else 'intent(inout)'}{optional} :: {name}{many}"
    if stars == "*" and kind == "char":
        return name, f"character(kind=c_char), {intent}{optional} :: {name}(*)"
    if stars == "*" and kind in header.types:
        return name, f"type({kind}), {intent}{optional} :: {name}"
    if stars == "*":
        return name, f"{NUMBERS[kind]}, {intent}{optional} :: {name}{'(*)' if '64' in kind else ''}"
    return name, f"{NUMBERS[kind]}, value :: {name}"


def procedure(header: Header, result: str, name: str, declarations: str, binding: str, optional: str) -> list[str]:
    """The interface of a function; `binding` is its name for the linker, or nothing for the type of a function."""
    texts = [] if declarations.strip() == "void" else [" ".join(each.split()) for each in declarations.split(",")]
    arguments = [argument(header, each, optional) for each in texts]
    word = "subroutine" if result == "void" else "function"
    opening = f"{word} {name}({', '.join(each for each, _ in arguments)})"
    tail = f"bind(C{binding})" + ("" if result == "void" else " result(returned)")
    lines = [f"    {opening} {tail}"]
    if len(lines[0]) > 120:
        lines = [f"    {word} {name}( &"]
        names = [each for each, _ in arguments]
        lines += [f"            {each}{', &' if each is not names[-1] else ') &'}" for each in names]
        lines.append(f"        {tail}")
    lines.append("        import")
    lines += [f"        {line}" for _, line in arguments]
    if result != "void":
        lines.append(f"        {'type(c_ptr)' if '*' in result else NUMBERS[result]} :: returned")
    return [*lines, f"    end {word} {name}"]


def interfaces(header: Header) -> str:
    lines = [HEAD]
    for name, value in [*header.defines, *header.values()]:
        lines.append(f"integer(c_int), parameter :: {name} = {value}")
    for name, body in header.structs:
        lines += ["", f"type, bind(C) :: {name}"]
        for field in filter(None, (" ".join(each.split()) for each in body.split(";"))):
            lines += [f"    {line}" for line in component(header, field)]
        lines.append(f"end type {name}")
    lines += ["", "! What c_funloc is given for arguments and components of type(c_funptr).", "abstract interface"]
    for result, name, declarations in header.function_types:
        lines += procedure(header, result, name, declarations, "", "")
    lines += ["end interface", "", "interface"]
    for result, name, declarations in header.functions:
        if name not in LEFT_OUT:
            lines += procedure(header, result, name, declarations, f', name="{name}"', ", optional")
    return "\n".join([*lines, "end interface", ""])


def read() -> Header:
    return Header("".join((HEADERS / name).read_text() for name in ("spanfft.h", "spanfft_mpi.h")))


def main() -> int:
    OUTPUT.write_text(interfaces(read()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
