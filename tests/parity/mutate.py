"""Puts one fault at a time into the counting engine and expects the parity tests to fail.

    python3 tests/parity/mutate.py BUILD_FOLDER

Compiles the changed file as the build does, links parity_tests with it in front of the library and
runs it up to its first failure. Exit 0 when every fault is caught and the unchanged tests pass.
"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def compile_command(build, source):
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if pathlib.Path(entry["file"]) == source:
            return shlex.split(entry["command"])
    sys.exit(f"{source} is not part of the build in {build}")


def link_command(build):
    lines = subprocess.run(["ninja", "-C", build, "-t", "commands", "parity_tests"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    link = next(line for line in reversed(lines) if "-o tests/parity/parity_tests" in line)
    # ": && g++ ... && cd ... && discover": the second part links.
    return shlex.split(link.split(" && ")[1])


def fails(program):
    run = subprocess.run([program, "--abort"], cwd=ROOT, capture_output=True, text=True)
    return run.returncode != 0


def build_mutant(build, mutation, folder):
    source = ROOT / mutation["file"]
    text = source.read_text()
    if text.count(mutation["before"]) != 1:
        sys.exit(f'{mutation["name"]}: `before` stands {text.count(mutation["before"])} times in '
                 f'{mutation["file"]}, expected once')
    changed = folder / source.name
    changed.write_text(text.replace(mutation["before"], mutation["after"]))
    command = compile_command(build, source)
    command[command.index("-o") + 1] = str(folder / "mutant.o")
    command[command.index("-c") + 1] = str(changed)
    # An unused helper is no reason to call the fault caught.
    command += ["-I", str(source.parent), "-w"]
    subprocess.run(command, cwd=build, check=True)
    link = link_command(build)
    at = link.index("-o")
    link[at + 1] = str(folder / "mutant")
    link.insert(at, str(folder / "mutant.o"))
    subprocess.run(link, cwd=build, check=True)
    return folder / "mutant"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if fails(build / "tests/parity/parity_tests"):
        sys.exit("the parity tests fail without a mutation")
    mutations = json.loads((ROOT / "tests/parity/mutations.json").read_text())["mutations"]
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        for mutation in mutations:
            program = build_mutant(build, mutation, pathlib.Path(name))
            began = time.monotonic()
            caught = fails(program)
            missed += not caught
            print(f'{"caught" if caught else "MISSED":7} {time.monotonic() - began:5.1f} s  '
                  f'{mutation["name"]}', flush=True)
    print(f"{len(mutations) - missed} of {len(mutations)} mutations caught")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
