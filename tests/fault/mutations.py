"""Does a test notice? Takes away each flush of the library, or swaps an order, one at a time, and runs the power cuts.

    ./spanfft-dev run python tests/fault/mutations.py --build build/release-venv [NAME...]

A mutation is a piece of text that its source has exactly once, and what replaces it. The changed source is compiled and
linked to a library of its own by the build's own commands, and fault_tests runs with that one preloaded: neither the
tree nor the build changes. Prints a row a mutation with the first test that failed; ends with 1 if any survived.
"""

# ruff: noqa: E501  texts of sources are as long as they are
from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = "*/PowerCuts.*:PowerCutsOf*"


@dataclass
class Mutation:
    name: str
    file: str
    old: str
    new: str


JOURNAL, OUTPUT, RUN = "src/disk/journal.cpp", "src/disk/output_file.cpp", "src/exec/journalled_run.cpp"
LOG, IN_PLACE, STORE = "src/disk/sweep_log.cpp", "src/exec/in_place.cpp", "src/disk/file_store.cpp"
USER = "src/plan/user_files.cpp"
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
    Mutation("no flush of a sweep's target", LOG, "Status status = sweep_.target->sync();", "Status status;"),
    Mutation("a journal's line before the flush", LOG, "Status status = sweep_.target->sync();\n        if (status.ok()) status = sink_.append(line_);", "Status status = sink_.append(line_);\n        if (status.ok()) status = sweep_.target->sync();"),
    Mutation("no wait before panels are overwritten", LOG, "return sweep_.needs ? wait_for(sweep_.needs(panel)) : Status();", "return panel < 0 ? wait_for(panel) : Status();"),
    Mutation("no wait at a sweep's end", LOG, "Status SweepLog::finish() { return wait_for(sweep_.panels); }", "Status SweepLog::finish() { return {}; }"),
    Mutation("no flush of the output", OUTPUT, "    SPANFFT_TRY(store_->sync());\n    if (rename(", "    if (rename("),
    Mutation("the output's name before its flush", OUTPUT, "    SPANFFT_TRY(store_->sync());\n    if (rename(partial_path_.c_str(), path_.c_str()) != 0) {", "    const bool named = rename(partial_path_.c_str(), path_.c_str()) == 0;\n    SPANFFT_TRY(store_->sync());\n    if (!named) {"),
    Mutation("the output is not renamed", OUTPUT, "if (rename(partial_path_.c_str(), path_.c_str()) != 0)", "if (path_.empty())"),
    Mutation("no flush of the output's folder", OUTPUT, "    return sync_folder(folder_of(path_));", "    return {};"),
    Mutation("the journal goes before the output's name", RUN, "    return output_->publish();", "    journal_->remove();\n    return output_->publish();"),
    Mutation("no line before the output is packed and named", RUN, '    SPANFFT_TRY(finish());\n        SPANFFT_TRY(journal_->append("publish now"));', "    SPANFFT_TRY(finish());"),
    Mutation("the copy is not flushed before it overwrites", RUN, "SPANFFT_TRY(output_->store().sync());", ""),
    Mutation("no line before the copy overwrites", RUN, 'SPANFFT_TRY(output_->store().sync());\n            SPANFFT_TRY(journal_->append("publish now"));', "SPANFFT_TRY(output_->store().sync());"),
    Mutation("the overwritten file is not flushed", IN_PLACE, "return to.store->sync();", "return {};"),
    Mutation("no line when the file is overwritten", RUN, '                              context));\n    }\n    return journal_->append("finished now");', "                              context));\n    }\n    return {};"),
    Mutation("the journal goes before what it speaks of", RUN, "    unlink_kept();\n    journal_->remove();\n    if (output_)", "    journal_->remove();\n    unlink_kept();\n    if (output_)"),
    Mutation("no flush of a user's file", USER, 'fsync(fd) == 0 ? Status() : failed("can\'t flush", path)', "Status()"),
    Mutation("a user's file is written in place", USER, "partial = cat(path, \".\", getpid(), \".\", serial++, \".tmp\");\n        fd = open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);", "partial = path;\n        fd = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644 + 0 * serial++);"),
]  # fmt: skip


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


def mutated_library(mutation: Mutation, build: Path, folder: Path) -> Path | str:
    """A library with the mutation, or why there is none."""
    compiling, link, library = commands_of(build)
    text = (ROOT / mutation.file).read_text()
    if text.count(mutation.old) != 1:
        return f"the text is there {text.count(mutation.old)} times"
    source, made = folder / Path(mutation.file).name, folder / library.name
    source.write_text(text.replace(mutation.old, mutation.new))
    command = compiling[mutation.file]
    old_object = re.search(r" -o (\S+) ", command)[1]  # type: ignore[index]
    new_object = folder / "mutated.o"
    command = command.replace(f"-o {old_object} ", f"-o {new_object} ")
    command = re.sub(r"-M[DFT]+( \S+)?", "", command).replace(f"-c {ROOT / mutation.file}", f"-c {source}")
    link = link.replace(f" {old_object} ", f" {new_object} ").replace(f"-o {library}", f"-o {made}")
    for each in (command.replace("-Werror", ""), link):
        done = subprocess.run(each, shell=True, cwd=build, capture_output=True, text=True)
        if done.returncode:
            return "does not compile: " + (done.stderr + done.stdout)[-500:]
    return made


def failed_test(build: Path, library: Path | None, tests: str) -> str:
    """The first test that fails with the library; empty: none does."""
    environment = {**os.environ, **({"LD_PRELOAD": str(library)} if library else {})}
    command = [str(build / "tests/fault_tests"), f"--gtest_filter={tests}", "--gtest_fail_fast", "--gtest_brief=1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    except subprocess.TimeoutExpired:
        return "(time limit)"
    failed = re.search(r"\[  FAILED  \] ([^\s,]+)", done.stdout)
    return (
        failed[1] if failed else "" if done.returncode == 0 else f"({shlex.join(command)} ended with {done.returncode})"
    )


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
    if unprovoked := failed_test(build, None, options.tests):
        raise SystemExit(f"{unprovoked} fails without any mutation")
    for mutation in chosen:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="spanfft-mutation-") as folder:
            library = mutated_library(mutation, build, Path(folder))
            failed = library if isinstance(library, str) else failed_test(build, library, options.tests)
        killed = not isinstance(library, str) and bool(failed)
        survivors += not killed
        text = failed.removeprefix("Runs/").replace(".AfterEveryOperationLoseNothing/", " ") or "**none**"
        print(f"| {mutation.name} | {mutation.file} | {text} | {time.monotonic() - start:.0f} |", flush=True)
    print(f"\n{len(chosen) - survivors} of {len(chosen)} were noticed.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
