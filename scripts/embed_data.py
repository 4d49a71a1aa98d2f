"""Turns core/data/NAME.json into a C++ header with one constexpr table; the build runs it.

    {"about": "...", "columns": [["name", "string"], ...],
     "rows": [{"name": "...", "source": "..."}, ...]}

becomes, in namespace peakline::data, `struct NameRow {...}` and `kNameRows`. Column types: string,
integer, boolean, strings (a list of strings). A column that a row leaves out takes the type's empty
value. Every row must name its `source`; the source stays in the JSON and out of the program.
"""
import json
import pathlib
import sys

CPP_TYPES = {
    "string": "std::string_view",
    "integer": "std::int64_t",
    "boolean": "bool",
    "strings": "TextList",
}
EMPTY = {"string": "", "integer": 0, "boolean": False, "strings": []}
PYTHON_TYPES = {"string": str, "integer": int, "boolean": bool, "strings": list}


class BadData(Exception):
    pass


def quoted(text):
    if not text.isascii():
        raise BadData(f"got the non-ASCII text {text!r}, expected ASCII")
    return json.dumps(text)


def pascal(name):
    return "".join(part.capitalize() for part in name.split("_"))


def literal(kind, value):
    if kind == "string":
        return quoted(value)
    if kind == "integer":
        return str(value)
    if kind == "boolean":
        return "true" if value else "false"
    if not value:
        return "{}"
    if any("\0" in item or not item for item in value):
        raise BadData(f"got the list {value!r}, expected texts that are not empty")
    # A literal of its own for each: a digit behind the zero would belong to it.
    return "TextList(" + " ".join(quoted(item)[:-1] + '\\0"' for item in value) + ")"


def check_row(where, row, columns):
    if not isinstance(row.get("source"), str) or not row["source"]:
        raise BadData(f"{where}: no source, expected where the facts of this row come from")
    for key, value in row.items():
        kind = columns.get(key)
        if key == "source":
            continue
        if kind is None:
            raise BadData(f"{where}: got the key {key!r}, expected one of {sorted(columns)}")
        wanted = PYTHON_TYPES[kind]
        if not isinstance(value, wanted) or (kind == "integer" and isinstance(value, bool)):
            raise BadData(f"{where}/{key}: got {value!r}, expected a value of type {kind}")


def header(name, document):
    columns = dict(document["columns"])
    for column, kind in columns.items():
        if kind not in CPP_TYPES:
            raise BadData(f"column {column}: got {kind!r}, expected one of {sorted(CPP_TYPES)}")
    rows = []
    for index, row in enumerate(document["rows"]):
        check_row(f"/rows/{index}", row, columns)
        cells = [
            literal(kind, row.get(column, EMPTY[kind]))
            for column, kind in columns.items()
        ]
        rows.append("    {" + ", ".join(cells) + "},")
    row_type = pascal(name) + "Row"
    lines = [
        f"// Made from core/data/{name}.json by scripts/embed_data.py: change the JSON instead.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "#include <string_view>",
        "",
        '#include "peakline/text_list.h"',
        "",
        "namespace peakline::data {",
        "",
        f"struct {row_type} {{",
        *[f"  {CPP_TYPES[kind]} {column};" for column, kind in columns.items()],
        "};",
        "",
    ]
    lines += [f"inline constexpr {row_type} k{pascal(name)}Rows[] = {{", *rows, "};", ""]
    return "\n".join(lines + ["}  // namespace peakline::data", ""])


def main():
    source, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    try:
        text = header(source.stem, json.loads(source.read_text(encoding="utf-8")))
    except KeyError as error:
        sys.exit(f"core/data/{source.name}: no {error}, expected about, columns and rows")
    except (BadData, json.JSONDecodeError) as error:
        sys.exit(f"core/data/{source.name}: {error}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
