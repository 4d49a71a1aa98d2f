"""What the rules share: the project's files, and C++ or JavaScript text without its comments."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build", "node_modules", "__pycache__"}
BUILT = {"site/wasm"}

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      |(?P<raw>R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      |(?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*')""",
    re.DOTALL | re.VERBOSE,
)


def files(*folders, suffixes):
    """(path relative to the root, text) of every file below `folders` with one of `suffixes`."""
    for folder in folders:
        for base, names, leaves in os.walk(ROOT / folder):
            here = pathlib.Path(base).relative_to(ROOT)
            names[:] = sorted(
                n for n in names if n not in NOT_OURS and (here / n).as_posix() not in BUILT
            )
            for leaf in sorted(leaves):
                if leaf.endswith(tuple(suffixes)):
                    path = pathlib.Path(base) / leaf
                    yield (here / leaf).as_posix(), path.read_text(encoding="utf-8")


def without_comments(text, keep_strings=True):
    """The same lines with comments (and, if asked, the insides of strings) blanked."""

    def blank(match):
        if match["comment"] is None and keep_strings:
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return TOKEN.sub(blank, text)


def lines_matching(pattern, text):
    """(line number, the match) of every match, in order."""
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 1, match


def finish(problems):
    """Ends the program: 0 where nothing was found, 1 with the list otherwise."""
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} broken")
    print("nothing found")
