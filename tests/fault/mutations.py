"""Does a test notice? Takes away each flush of the library and of the package, or swaps an order, one at a time, and
runs the power cuts.

    ./spanfft-dev run python tests/fault/mutations.py --build build/release-venv [NAME...]

A mutation is a piece of text that its source has exactly once, and what replaces it. The changed source is compiled and
linked to a library of its own by the build's own commands, and fault_tests runs with that one preloaded; of the
package, a changed copy is imported instead. Neither the tree nor the build nor the installed package changes. Prints a
row a mutation with the first test that failed; ends with 1 if any survived.
"""

# ruff: noqa: E501  texts of sources are as long as they are
from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = "*/PowerCuts*:PowerCutsOf*"
PYTHON_TESTS = "tests/python/test_power_cuts.py"


class Unusable(Exception):
    """A mutation that can't be made."""


@dataclass
class Mutation:
    name: str
    file: str
    old: str
    new: str


JOURNAL, OUTPUT, RUN = "src/disk/journal.cpp", "src/disk/output_file.cpp", "src/exec/journalled_run.cpp"
LOG, IN_PLACE, STORE = "src/disk/sweep_log.cpp", "src/exec/in_place.cpp", "src/disk/file_store.cpp"
IDENTITY, PACKED = "src/exec/file_identity.cpp", "src/disk/packed_store.cpp"
USER, WHOLE = "src/plan/user_files.cpp", "python/spanfft/_whole_files.py"
HDF5, ZARR = "python/spanfft/_formats/hdf5.py", "python/spanfft/_formats/zarr.py"
MUTATIONS = [
    Mutation("no flush of files", STORE, "if (fsync(buffered_) == 0)", "if (buffered_ >= 0)"),
    Mutation("no flush of folders", OUTPUT, "fsync(descriptor) != 0 && errno != EINVAL ? errno : 0", "0"),
    Mutation("no flush of a journal's lines", JOURNAL, "    return flush();\n}\n\nStatus Journal::flush()", "    return {};\n}\n\nStatus Journal::flush()"),
    Mutation("no flush of an emptied journal", JOURNAL, '"could not empty " + path_);\n    return flush();', '"could not empty " + path_);\n    return {};'),
    Mutation("a journal's first lines at once", JOURNAL, "lines.size() > 1 && end_bytes_ == 0 ?", "lines.empty() ?"),
    Mutation("kept files are not flushed when made", OUTPUT, "if (request.kept) SPANFFT_TRY(output->flush_kept());", ""),
    Mutation("no flush of the journal's folder", RUN, "if (noted.ok()) noted = sync_folder(folder_of(request_.output.kept->journal));", ""),
    Mutation("no flush of the kept output's folder", RUN, "if (noted.ok()) noted = sync_folder(folder_of(request_.output.path));", ""),
    Mutation("no flush of scratch folders", RUN, "if (noted.ok()) noted = sync_folder(folder);", "(void)folder;"),
    Mutation("files go before the journal is empty", RUN, "    SPANFFT_TRY(journal_->clear());  // it must not speak of files that are gone\n    unlink_kept();                   // an earlier run's, whose room this one may need\n", "    unlink_kept();\n    SPANFFT_TRY(journal_->clear());\n"),
    Mutation("no flush of a sweep's target", LOG, "if (status.ok()) status = sweep_.written_store->sync();", ""),
    Mutation("a journal's line before the flush", LOG, "        if (status.ok()) status = sweep_.written_store->sync();\n        if (status.ok()) status = sink_.append(line_);", "        if (status.ok()) status = sink_.append(line_);\n        if (status.ok()) status = sweep_.written_store->sync();"),
    Mutation("no mark before a sweep's flush", LOG, "Status status = sink_.before_flush();", "Status status;"),
    Mutation("no flush of a packed spectrum", PACKED, "return file.sync();", "return {};"),
    Mutation("no wait before panels are overwritten", LOG, "return sweep_.needs ? wait_for(sweep_.needs(panel)) : Status();", "return panel < 0 ? wait_for(panel) : Status();"),
    Mutation("no wait at a sweep's end", LOG, "Status SweepLog::finish() { return wait_for(sweep_.panels); }", "Status SweepLog::finish() { return {}; }"),
    Mutation("no flush of the output", OUTPUT, "    SPANFFT_TRY(store_->sync());\n    if (rename(", "    if (rename("),
    Mutation("the output's name before its flush", OUTPUT, "    SPANFFT_TRY(store_->sync());\n    if (rename(partial_path_.c_str(), path_.c_str()) != 0) {", "    const bool named = rename(partial_path_.c_str(), path_.c_str()) == 0;\n    SPANFFT_TRY(store_->sync());\n    if (!named) {"),
    Mutation("the output is not renamed", OUTPUT, "if (rename(partial_path_.c_str(), path_.c_str()) != 0)", "if (path_.empty())"),
    Mutation("no flush of the output's folder", OUTPUT, "    return sync_folder(folder_of(path_));", "    return {};"),
    Mutation("the journal goes before the output's name", RUN, "    return output_->publish();", "    journal_->remove();\n    return output_->publish();"),
    Mutation("no line before the output is named", RUN, '        SPANFFT_TRY(finish());\n        SPANFFT_TRY(note("publish now"));', "        SPANFFT_TRY(finish());"),
    Mutation("the output is named before its line", RUN, '    if (journal_value(progress_, "publish").empty()) {\n        SPANFFT_TRY(finish());\n        SPANFFT_TRY(note("publish now"));\n    }\n    return output_->publish();', '    if (!journal_value(progress_, "publish").empty()) return output_->publish();\n    SPANFFT_TRY(finish());\n    SPANFFT_TRY(output_->publish());\n    return note("publish now");'),
    Mutation("the copy is not flushed before it overwrites", RUN, "SPANFFT_TRY(output_->store().sync());", ""),
    Mutation("no line before the copy overwrites", RUN, 'SPANFFT_TRY(output_->store().sync());\n            SPANFFT_TRY(note("publish now"));', "SPANFFT_TRY(output_->store().sync());"),
    Mutation("the overwritten file is not flushed", IN_PLACE, "return to.store->sync();", "return {};"),
    Mutation("no line when the file is overwritten", RUN, '    if (state_ != InPlaceState::finished) SPANFFT_TRY(note("finished now"));\n', ""),
    Mutation("the journal goes before what it speaks of", RUN, "    unlink_kept();\n    journal_->remove();\n    if (output_)", "    journal_->remove();\n    unlink_kept();\n    if (output_)"),
    Mutation("no flush of a half overwritten file's mark", IDENTITY, "if (fsync(descriptor) == 0) return {};", "if (descriptor >= 0) return {};"),
    Mutation("no flush when the mark has gone", IDENTITY, "} else if (fsync(descriptor) != 0) {", "} else if (descriptor < 0) {"),
    Mutation("the mark goes before the journal says that the run has ended", RUN, '    if (state_ != InPlaceState::finished) SPANFFT_TRY(note("finished now"));\n    return clear_overwrite_mark(request_.input_path);', '    SPANFFT_TRY(clear_overwrite_mark(request_.input_path));\n    return state_ != InPlaceState::finished ? note("finished now") : Status();'),
    Mutation("no flush of a user's file", USER, 'fsync(fd) == 0 ? Status() : failed("can\'t flush", path)', "Status()"),
    Mutation("a user's file is written in place", USER, "SPANFFT_ASSIGN(const LockedFile partial, create_partial(path));", "const LockedFile partial{open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), path};"),
    Mutation("no flush of a user's folder", USER, "return status.ok() ? sync_folder(folder_of(path)) : status;", "return status;"),
    Mutation("what a dead writer of a user's file left stays", USER, "    remove_stale_files(folder_of(path));\n", ""),
    Mutation("HDF5: no flush of the file", HDF5, "            _whole_files.flush(self._hidden)\n", ""),
    Mutation("HDF5: the name before the flush", HDF5, "            _whole_files.flush(self._hidden)\n            os.replace(self._hidden, self.path)\n", "            os.replace(self._hidden, self.path)\n            _whole_files.flush(self.path)\n"),
    Mutation("HDF5: no flush of the folder", HDF5, "            _whole_files.flush_folder(base.existing_folder(self.path))\n", ""),
    Mutation("HDF5: what a dead run left stays", HDF5, "            _whole_files.remove_stale(base.existing_folder(self.path))\n            hidden = ", "            hidden = "),
    Mutation("HDF5: the header of a dead run stays", HDF5, "            sample = _whole_files.hidden_name(self.path)", "            sample = _whole_files.hidden_name(self.path).removesuffix(_whole_files.PARTIAL_SUFFIX)"),
    Mutation("Zarr: no flush of the files", ZARR, "            _whole_files.flush(self._hidden)\n", ""),
    Mutation("Zarr: the name before the flush", ZARR, "            _whole_files.flush(self._hidden)\n            _exchange(self._hidden, self.path)\n", "            _exchange(self._hidden, self.path)\n            _whole_files.flush(self.path)\n"),
    Mutation("Zarr: the old array goes first", ZARR, "            _exchange(self._hidden, self.path)\n", "            shutil.rmtree(self.path, ignore_errors=True)\n            _exchange(self._hidden, self.path)\n"),
    Mutation("Zarr: no flush of the folder", ZARR, "            _whole_files.flush_folder(base.existing_folder(self.path))\n", ""),
    Mutation("Zarr: what a dead run left stays", ZARR, "            _whole_files.remove_stale(base.existing_folder(self.path))\n", ""),
    Mutation("Zarr: no flush of the folders in the array", WHOLE, "            _flush_one(os.path.join(folder, name))\n        _flush_one(folder)\n", "            _flush_one(os.path.join(folder, name))\n"),
    Mutation("texts, pictures and .inf: no flush", WHOLE, "            os.fsync(file.fileno())\n", ""),
    Mutation("texts, pictures and .inf: the name before the flush", WHOLE, "            os.fsync(file.fileno())\n            os.replace(hidden, target)\n", "            os.replace(hidden, target)\n            os.fsync(file.fileno())\n"),
    Mutation("texts, pictures and .inf: written in place", WHOLE, "    if _is_stream(path):\n", "    if path:\n"),
    Mutation("texts, pictures and .inf: no flush of the folder", WHOLE, "        flush_folder(folder)\n", ""),
    Mutation("texts, pictures and .inf: what a dead writer left stays", WHOLE, "    remove_stale(folder)\n", ""),
]  # fmt: skip


def mutated_text(mutation: Mutation) -> str:
    text = (ROOT / mutation.file).read_text()
    if text.count(mutation.old) != 1:
        raise Unusable(f"the text is there {text.count(mutation.old)} times")
    return text.replace(mutation.old, mutation.new)


def commands_of(build: Path) -> tuple[dict[str, str], str, Path]:
    """How each source of the library is compiled, how it is linked, and the library's path."""
    lines = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "spanfft"], capture_output=True, text=True, check=True
    )
    compile_by_source, link = {}, ""
    for line in lines.stdout.splitlines():
        source = re.search(r" -c (\S+\.cpp)$", line)
        if source and f"{ROOT}/src/" in source[1]:
            compile_by_source[str(Path(source[1]).relative_to(ROOT))] = line
        if re.search(r" -o \S*libspanfft\.so", line):
            link = line
    library = re.search(r" -o (\S*libspanfft\.so\S*)", link)
    if not library:
        raise SystemExit(f"{build} has no command that links libspanfft")
    return compile_by_source, link, Path(library[1])


def mutated_library(mutation: Mutation, build: Path, folder: Path) -> Path:
    compiling, link, library = commands_of(build)
    source, made = folder / Path(mutation.file).name, folder / library.name
    source.write_text(mutated_text(mutation))
    command = compiling[mutation.file]
    old_object = re.search(r" -o (\S+) ", command)[1]  # type: ignore[index]
    new_object = folder / "mutated.o"
    command = command.replace(f"-o {old_object} ", f"-o {new_object} ")
    command = re.sub(r"-M[DFT]+( \S+)?", "", command).replace(f"-c {ROOT / mutation.file}", f"-c {source}")
    link = link.replace(f" {old_object} ", f" {new_object} ").replace(f"-o {library}", f"-o {made}")
    for each in (command.replace("-Werror", ""), link):
        done = subprocess.run(each, shell=True, cwd=build, capture_output=True, text=True)
        if done.returncode:
            raise Unusable("does not compile: " + (done.stderr + done.stdout)[-500:])
    return made


LONGEST_SECONDS = 3600.0  # of a run that nothing was changed for, on a machine that others use too
longest: dict[str, float] = {}  # of a program with changes: ten times what it took without


def first_failure(command: list[str], pattern: str, **environment: str) -> str:
    """The first test that fails; empty: none does. A run that takes far longer than without a change hangs."""
    limit, begun = longest.get(command[0], LONGEST_SECONDS), time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=limit, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return f"(hangs: no end in {limit:.0f} s)"
    longest.setdefault(command[0], max(60.0, 10 * (time.monotonic() - begun)))
    if done.returncode == 0:
        return ""
    failed = re.search(pattern, done.stdout, re.M)
    return failed[1] if failed else f"({shlex.join(command)} ended with {done.returncode})"


def failed_test(build: Path, library: Path | None, tests: str) -> str:
    command = [str(build / "tests/fault_tests"), f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"]
    changes = {"LD_PRELOAD": str(library)} if library else {}
    return first_failure(command, r"\[  FAILED  \] ([^\s,]+)", **changes)


def failed_python_test(folder: Path | None) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", PYTHON_TESTS]
    changes = {"PYTHONPATH": str(folder)} if folder else {}
    return first_failure(command, r"^FAILED [^:]*::\w+(\[.*?\])", **changes)


def mutated_package(mutation: Mutation, folder: Path) -> Path:
    """A copy of the installed package with the mutation in it."""
    where = [sys.executable, "-c", "import spanfft; print(spanfft.__path__[0])"]
    installed = Path(subprocess.run(where, capture_output=True, text=True, check=True, cwd=folder).stdout.strip())
    name = Path(mutation.file).relative_to("python/spanfft")
    if (installed / name).read_text() != (ROOT / mutation.file).read_text():
        raise Unusable(f"{name} is another one in the installed package; install this one")
    shutil.copytree(installed, folder / "spanfft")
    (folder / "spanfft" / name).write_text(mutated_text(mutation))
    return folder


def tried(mutation: Mutation, build: Path, tests: str) -> str:
    """The first test that fails with it; empty: none does."""
    with tempfile.TemporaryDirectory(prefix="spanfft-mutation-") as folder:
        if mutation.file.endswith(".py"):
            return failed_python_test(mutated_package(mutation, Path(folder)))
        return failed_test(build, mutated_library(mutation, build, Path(folder)), tests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="a build folder whose fault_tests are up to date")
    parser.add_argument("--tests", default=TESTS, help=f"GoogleTest's filter; default {TESTS}")
    parser.add_argument("names", nargs="*", help="of mutations, parts of them; default all")
    options = parser.parse_args()
    build = options.build.resolve()
    survivors = 0
    chosen = [m for m in MUTATIONS if not options.names or any(name in m.name for name in options.names)]
    print("| mutation | in | first test that failed | s |\n|---|---|---|---:|", flush=True)
    if unprovoked := failed_test(build, None, options.tests) or failed_python_test(None):
        raise SystemExit(f"{unprovoked} fails without any mutation")
    for mutation in chosen:
        start = time.monotonic()
        try:
            failed = tried(mutation, build, options.tests)
            survivors += not failed
        except Unusable as why:
            failed, survivors = str(why), survivors + 1
        text = failed.removeprefix("Runs/").replace(".AfterEveryOperationLoseNothing/", " ") or "**none**"
        print(f"| {mutation.name} | {mutation.file} | {text} | {time.monotonic() - start:.0f} |", flush=True)
    print(f"\n{len(chosen) - survivors} of {len(chosen)} were noticed.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
