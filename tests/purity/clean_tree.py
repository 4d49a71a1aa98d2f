"""The tree is about the project alone: no package registries, no folder of somebody's machine, no
build output, and source files in ASCII."""
import re

import source_text

SOURCES = (".h", ".cpp", ".cu", ".py", ".sh", ".mjs", ".js", ".css", ".html", ".cmake",
           "CMakeLists.txt")
TEXTS = SOURCES + (".json", ".md", ".yml", ".yaml", ".toml", ".csv", ".jsonl", ".npmrc", "run")
# Written in pieces, or this file would break its own rule.
HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "registry." + "npmjs", "npmjs" + ".com",
         "deb." + "debian", "archive." + "ubuntu", "anaconda" + ".org", "crates" + ".io",
         "download." + "pytorch"]
PATHS = ["/" + folder + "/" for folder in ("work", "root", "home", "tmp")]
HOST = "|".join(re.escape(host) for host in HOSTS)
PATH = r"(?<![\w./*}$-])(?:" + "|".join(PATHS) + ")"


def check(path, text):
    problems = []
    for name, pattern in [("registry", HOST), ("machine path", PATH)]:
        for line, match in source_text.lines_matching(pattern, text):
            problems.append(f"{path}:{line}: {name} {match[0]}")
    if path.endswith(SOURCES):
        for line, match in source_text.lines_matching(r"[^\x00-\x7f]", text):
            problems.append(f"{path}:{line}: non-ASCII character U+{ord(match[0]):04X}")
    return problems


if __name__ == "__main__":
    source_text.finish(
        [
            problem
            for path, text in source_text.files(".", suffixes=TEXTS)
            for problem in check(path, text)
        ]
    )
