"""Headers and folders of core include only what is to the left of them in the arrow line."""
import re

import source_text

HEADERS = """small_sort text_list quantity result nearest dtype json model_config train_setup
    gpu_catalogue layer_modules architecture engine symbolic rules allocator report planner corrections estimate""".split()

# Folder of core/src -> (the rightmost public header it may see, the folders whose private headers
# it may see beside its own). `estimate` ties everything together and may see everything.
FOLDERS = {
    "parse": ("gpu_catalogue", []),
    "architecture": ("architecture", ["parse"]),
    "model": ("engine", []),
    "train": ("engine", ["model"]),
    "symbolic": ("symbolic", []),
    "allocator": ("allocator", ["symbolic"]),
    "report": ("report", ["parse", "architecture", "model", "train", "symbolic", "allocator"]),
    "planner": ("planner", ["report"]),
    "corrections": ("corrections", ["report"]),
    "export": ("corrections", ["report"]),
    "estimate": ("estimate", None),
}
INCLUDE = r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]'


def includes(text):
    for line, match in source_text.lines_matching(INCLUDE, source_text.without_comments(text)):
        yield line, match[1]


def check_public_header(path, text):
    name = path.rsplit("/", 1)[1].removesuffix(".h")
    if name not in HEADERS:
        return [f"{path}: not in the order of headers; give it a place in include_direction.py"]
    allowed = HEADERS[: HEADERS.index(name)]
    problems = []
    for line, target in includes(text):
        match = re.fullmatch(r"peakline/(\w+)\.h", target)
        if match and match[1] not in allowed:
            problems.append(f"{path}:{line}: includes {target}, which is not to the left of it")
        elif not match and "/" in target:
            problems.append(f"{path}:{line}: a public header includes {target}")
    return problems


def check_source(path, text):
    parts = path.removeprefix("core/src/").split("/")
    folder = parts[0]
    if len(parts) == 1 or folder not in FOLDERS:
        return [f"{path}: {folder} has no place in include_direction.py"]
    rightmost, friends = FOLDERS[folder]
    allowed = HEADERS[: HEADERS.index(rightmost) + 1]
    problems = []
    for line, target in includes(text):
        public = re.fullmatch(r"peakline/(\w+)\.h", target)
        if public and public[1] not in allowed:
            problems.append(f"{path}:{line}: {folder}/ ends at {rightmost}.h, includes {target}")
        other = target.split("/")[0]
        friendly = friends is None or other in [folder, *friends]
        if not public and other in FOLDERS and not friendly:
            problems.append(f"{path}:{line}: {folder}/ may not include {target}")
    return problems


def check(path, text):
    if path.startswith("core/include/"):
        return check_public_header(path, text)
    return check_source(path, text)


if __name__ == "__main__":
    source_text.finish(
        [
            problem
            for path, text in source_text.files("core", suffixes=[".h", ".cpp"])
            for problem in check(path, text)
        ]
    )
