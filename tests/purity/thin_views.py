"""The page and the bindings show numbers, they do not make them: bindings below 100 lines, no
arithmetic on bytes, no division by a byte unit outside the one formatting file. A size that a
person types in GiB may be multiplied up; a drawing scales what `share` made of the bytes."""
import re

import source_text

MAX_BINDING_LINES = 99
FORMATTING = "site/page/format.mjs"
NAME = r"[\w.$?\[\]]*[Bb]ytes"
ARITHMETIC = (
    rf"{NAME}\b\s*(?:\*\*?|/|\+(?!\+)|-(?!-|>)|<<|>>)=?\s*[\w(]"
    rf"|[\w)\]]\s*(?:\*\*?|/|\+|-|<<|>>)\s*{NAME}\b(?!\s*[(:])"
)
UNITS = r"/=?\s*\(?(?:1024|1048576|1073741824|2\s*\*\*\s*[1-9]0|1\s*<<\s*[1-9]0|1e(?:3|6|9))\b"


def check(path, text):
    problems = []
    lines = text.count("\n")
    if path.startswith("web/") and path.endswith(".cpp") and lines > MAX_BINDING_LINES:
        problems.append(f"{path}: {lines} lines, at most {MAX_BINDING_LINES}")
    code = source_text.without_comments(text, keep_strings=False)
    if path == FORMATTING:
        return problems
    for name, pattern in [("arithmetic on bytes", ARITHMETIC), ("a byte unit", UNITS)]:
        for line, match in source_text.lines_matching(pattern, code):
            problems.append(f"{path}:{line}: {name}: {re.sub(chr(10), ' ', match[0]).strip()}")
    return problems


if __name__ == "__main__":
    source_text.finish(
        [
            problem
            for path, text in source_text.files(
                "site", "web", suffixes=[".h", ".cpp", ".mjs", ".js"]
            )
            for problem in check(path, text)
        ]
    )
