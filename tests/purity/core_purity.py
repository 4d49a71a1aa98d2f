"""core computes and nothing else: no files, clock, environment, threads, printing, exceptions and
no state that changes."""
import re

import source_text

HEADERS = """iostream fstream ostream istream iomanip filesystem chrono ctime time.h thread mutex
    atomic future condition_variable semaphore random csignal stdexcept exception typeinfo
    typeindex unistd.h""".split()
WORDS = """throw try catch typeid dynamic_cast thread_local getenv setenv system printf fprintf
    vprintf puts putchar fputs fopen exit abort terminate cout cerr clog rand srand time
    clock""".split()
ALLOWED_AS_MEMBER = {"time", "clock", "exit", "system"}  # `x.time` is a name, `time(` is a call

INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]'
WORD = r"(?<![\w.>])(?:std::)?(" + "|".join(WORDS) + r")\b"
# A static that is not a constant and not a function: nothing with parentheses before its value.
STATIC = r"\bstatic\b(?!\s+(?:inline\s+)?(?:constexpr|const|consteval)\b)[^;{}=()]*(?:;|=|\{)"
# The same without the keyword, at namespace scope (formatted code starts those in column one).
GLOBAL = (
    r"^(?!(?:using|namespace|return|constexpr|inline constexpr|const|inline const|extern|friend|"
    r"template|struct|class|enum|union|typedef|static|public|private|case|default|goto)\b)"
    r"[A-Za-z_][\w:<>,*& ]*\s[*&]?[a-z]\w*(?:\s*=[^=;][^;]*|\{[^;]*\})?;"
)


def check(path, text):
    code = source_text.without_comments(text, keep_strings=False)
    problems = []
    for line, match in source_text.lines_matching(INCLUDE, source_text.without_comments(text)):
        if match[1] in HEADERS:
            problems.append(f"{path}:{line}: includes <{match[1]}>")
        if match[1].startswith("nlohmann/") and not path.startswith("core/src/parse/"):
            problems.append(f"{path}:{line}: nlohmann outside core/src/parse")
    for line, match in source_text.lines_matching(WORD, code):
        called = re.match(r"\s*\(", code[match.end():])
        if match[1] not in ALLOWED_AS_MEMBER or called:
            problems.append(f"{path}:{line}: {match[1]}")
    for line, match in source_text.lines_matching(STATIC, code):
        problems.append(f"{path}:{line}: mutable static: {match[0].strip()}")
    for line, match in source_text.lines_matching(GLOBAL, code):
        problems.append(f"{path}:{line}: mutable global: {match[0].strip()}")
    return problems


if __name__ == "__main__":
    source_text.finish(
        [
            problem
            for path, text in source_text.files("core", suffixes=[".h", ".cpp"])
            for problem in check(path, text)
        ]
    )
