"""Every rule of core/src/report/rules.cpp is named by a comment "Rule R040" where the code applies
it, and every rule that a comment names is in that table."""
import re

import source_text

TABLE = "core/src/report/rules.cpp"
ROW = r'\bRule\s*\{\s*"(R\d{3})"'
MENTION = r"\bRule (R\d{3})\b"


def comments_of(text):
    """The comments alone, each line break and its slashes read as a blank."""
    comments = [m["comment"] for m in source_text.TOKEN.finditer(text) if m["comment"]]
    return re.sub(r"\s*\n?\s*//\s*", " ", "\n".join(comments))


def check(texts):
    """`texts` has the text of every source by its path."""
    rows = set(re.findall(ROW, texts[TABLE]))
    applied = {}
    for path, text in texts.items():
        if path != TABLE:
            for rule in re.findall(MENTION, comments_of(text)):
                applied.setdefault(rule, path)
    problems = [f"{TABLE}: no comment says where {rule} is applied" for rule in rows - set(applied)]
    problems += [f"{applied[rule]}: {rule} is not in {TABLE}" for rule in set(applied) - rows]
    return sorted(problems)


if __name__ == "__main__":
    source_text.finish(check(dict(source_text.files("core/src", suffixes=[".h", ".cpp"]))))
