"""The documents: links lead somewhere, decisions are listed, problem strings parse, and what is marked `test` works.

docs/TESTING.md says how blocks are marked. The blocks of one document share a temporary folder and run in order.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from spanfft import Error, _errors
from spanfft._native import core

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "bench/**/*.md", "apps/**/*.md", "tests/**/*.md")
    for path in ROOT.glob(pattern)
)
# Made by ./spanfft-dev demo; until they are committed, README would otherwise be red.
MADE_BY_DEMO = {"docs/images/pulsar.png", "docs/images/brain.png"}


@dataclass(frozen=True)
class Block:
    """A fenced block: what follows the backquotes, and the lines inside."""

    document: Path
    line: int
    words: tuple[str, ...]
    text: str

    def option(self, name: str) -> str | None:
        """The value of name=value among the words."""
        return next((word[len(name) + 1 :] for word in self.words if word.startswith(f"{name}=")), None)

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks_of(document: Path) -> list[Block]:
    found, opened, inside = [], 0, []
    words: tuple[str, ...] = ()
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if not line.startswith("```"):
            if opened:
                inside.append(line)
        elif opened:
            found.append(Block(document, opened, words, "\n".join(inside) + "\n"))
            opened = 0
        else:
            opened, words, inside = number, tuple(line[3:].split()), []
    assert not opened, f"{document.relative_to(ROOT)}:{opened}: a block that does not end"
    return found


def prose_of(document: Path) -> str:
    """Without fenced blocks, code in backquotes and comments."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
    return re.sub(r"<!--.*?-->", "", re.sub(r"`[^`\n]*`", "", text), flags=re.S)


def anchors_of(document: Path) -> set[str]:
    """Of headings, as hosts of Markdown make them: lower case, blanks to hyphens, punctuation dropped."""
    headings = re.findall(r"^#+\s+(.*)$", re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


ALL_BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


def name_of(value: object) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


# --- links and lists --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_relative_links_lead_somewhere(document: Path) -> None:
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(document)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        if not linked.exists():
            if name_of(linked) not in MADE_BY_DEMO:
                wrong.append(target)
        elif anchor and anchor not in anchors_of(linked):
            wrong.append(f"{target} (has {sorted(anchors_of(linked))})")
    assert not wrong, f"{document.relative_to(ROOT)}: {wrong}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_files_that_documents_name_exist(document: Path) -> None:
    """`src/...`, `docs/...` and the like in backquotes; NAME and * stand for anything."""
    text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.M | re.S)
    named = re.findall(r"`((?:src|include|docs|cmake|requirements|tests|python|spanfft-dev)(?:/[\w.*-]+)+/?)`", text)
    missing = []
    for name in named:
        pattern = name.replace("NAME", "*").rstrip("/")
        planned = pattern.startswith("tests/") and "." not in Path(pattern).name  # folders that are empty don't exist
        if not planned and not list(ROOT.glob(pattern)):
            missing.append(name)
    assert not missing, f"{document.relative_to(ROOT)} names {missing}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_a_paper_is_not_called_by_its_number_before_it_is_defined(document: Path) -> None:
    """P1 to P5 are our own names: the first of them in a document links to the list of sources."""
    text = document.read_text()
    first = re.search(r"\bP[1-5]\b", text)
    if first is None or "adr" in document.parts or document.name in ("ARCHITECTURE.md", "glossary.md"):
        return
    before = text[: first.end() + 60]
    assert "ARCHITECTURE.md#sources)" in before, f"{document.relative_to(ROOT)}: {first[0]} is not defined there"


def test_every_committed_drawing_is_shown_by_a_document() -> None:
    shown = {
        (document.parent / target).resolve()
        for document in DOCUMENTS
        for target in re.findall(r"!\[[^]]*\]\(([^)\s]+)\)", document.read_text())
    }
    folders = (ROOT / "docs" / "images", ROOT / "bench" / "results")
    committed = [path for folder in folders for kind in ("svg", "png", "pdf") for path in folder.rglob(f"*.{kind}")]
    assert len(committed) >= 10
    assert not [name_of(path) for path in committed if path not in shown]


def test_the_glossary_is_in_alphabetical_order() -> None:
    rows = re.findall(r"^\| (.+?) \|", (ROOT / "docs" / "glossary.md").read_text(), re.M)[1:]
    assert len(rows) > 50
    assert rows == sorted(rows, key=str.lower)


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "adr"
    listing = (folder / "README.md").read_text()
    for path in sorted(folder.glob("[0-9]*.md")):
        number, title = re.match(r"# (\d+)\. (.+)", path.read_text()).groups()
        assert int(number) == int(path.name[:4]), path.name
        assert f"| {number} | [{title}]({path.name}) |" in listing, f"{path.name} is not in docs/adr/README.md"
        for heading in ("Context", "Decision", "Consequences"):
            assert f"## {heading}\n" in path.read_text(), f"{path.name} has no {heading}"


def test_exit_codes_are_those_of_the_program() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text()
    listed = {name: int(code) for code, name in re.findall(r"^\| (\d+) \| `SPANFFT_\w+` \| `(\w+)`", text, re.M)}
    expected = {kind.__name__: _errors.exit_code(code) for code, kind in _errors._BY_CODE.items() if code < 1000}
    assert listed == expected


# --- problem strings --------------------------------------------------------------------------------------------------


def problems(kind: str) -> list[str]:
    texts = [line for block in ALL_BLOCKS if block.words[:1] == (kind,) for line in block.text.splitlines()]
    return [text for text in texts if text.strip()]


@pytest.mark.parametrize("text", problems("problem"))
def test_problem_strings_parse(text: str) -> None:
    canonical = core.canonical(text)
    assert core.canonical(canonical) == canonical


@pytest.mark.parametrize("text", problems("problem-error"))
def test_problem_strings_that_are_refused(text: str) -> None:
    with pytest.raises(Error, match=r"\w+ \w+ \w+"):
        core.imagine(text)


def _without_marks(cell: str) -> str:
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def test_the_table_of_problem_keys_is_the_librarys() -> None:
    """docs/problem-string.md, without its links and backquotes, is what the parser's table says, in its order."""
    text = (ROOT / "docs/problem-string.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|(.*)\|(.*)\|$", text, re.MULTILINE)
    plain = [tuple(_without_marks(cell) for cell in row) for row in rows]
    assert plain == core.problem_keys()


# --- what is marked `test` --------------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    # Without what mpiexec sets, in case pytest itself was started by it.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PMIX_", "OMPI_COMM", "OMPI_UNIVERSE"))}
    env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env.get("PATH", "")])
    env["COLUMNS"] = "120"
    return env


def run(command: list[str] | str, folder: Path, code: int = 0) -> str:
    env = environment()
    done = subprocess.run(
        command, cwd=folder, env=env, shell=isinstance(command, str), text=True, capture_output=True, timeout=100
    )
    assert done.returncode == code, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_console(block: Block, folder: Path) -> None:
    code = int(block.option("exit") or 0)
    expected: dict[str, list[str]] = {}
    for line in block.text.splitlines():
        if line.startswith("$ "):
            command = line[2:]
            expected[command] = []
        elif expected:
            expected[command].append(line)
    for command, lines in expected.items():
        mpiexec = os.environ.get("SPANFFT_MPIEXEC", "mpiexec")
        if command.startswith("mpiexec "):
            if shutil.which(mpiexec, path=environment()["PATH"]) is None:
                pytest.skip("there is no mpiexec")
            pytest.importorskip("mpi4py")
        output = run(re.sub(r"^mpiexec\b", shlex.quote(mpiexec), command), folder, code)
        if "exact" in block.words:
            assert output.splitlines() == lines, f"{block}: {command}"


def compile_and_run(block: Block, folder: Path) -> None:
    """Against the headers of this checkout and the libraries of the installed package."""
    package = Path(core.__file__).parent
    mpi = "mpi" in block.words
    compiler = os.environ.get("MPICC") if mpi else shutil.which("gcc")
    libraries = [p for p in package.glob("libspanfft*.so.*") if mpi or "_mpi_" not in p.name]
    if not compiler or not shutil.which(compiler) or len(libraries) < 1 + mpi:
        pytest.skip("no compiler or no library here")
    program = folder / Path(block.option("file") or "program.c").stem
    cpp = block.words[0] == "cpp"
    language = ["-x", "c++", "-std=c++17"] if cpp else ["-std=c11"]
    source = program.with_suffix(".cpp" if cpp else ".c")
    command = [compiler, "-Wall", "-Wextra", "-Werror", *language, f"-I{ROOT / 'include'}", str(source)]
    linked = ["-x", "none", *map(str, libraries), *(["-lstdc++"] if cpp else [])]
    run([*command, "-o", str(program), *linked, f"-Wl,-rpath,{package}"], folder)
    launcher = [os.environ.get("SPANFFT_MPIEXEC", "mpiexec"), "-n", "3"] if mpi else []
    run([*launcher, str(program)], folder)


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if any("test" in b.words for b in blocks_of(d))], ids=name_of
)
def test_what_is_marked_as_tested_works(document: Path, tmp_path: Path) -> None:
    for block in blocks_of(document):
        if "test" not in block.words:
            continue
        if needed := block.option("needs"):
            pytest.importorskip(needed)
        name = block.option("file")
        if name:
            (tmp_path / name).write_text(block.text)
        if block.words[0] in ("c", "cpp"):
            compile_and_run(block, tmp_path)
        elif block.words[0] == "console":
            run_console(block, tmp_path)
        elif not name:
            assert block.words[0] == "python", f"{block}: nobody knows how to run {block.words[0]}"
            run([sys.executable, "-c", block.text], tmp_path)
