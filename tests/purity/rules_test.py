"""Each rule is shown texts that break it and texts that only look as if they did."""
import unittest

import clean_tree
import core_purity
import include_direction
import model_names
import rule_ids
import thin_views

SOURCE = "core/src/model/x.cpp"


class IncludeDirection(unittest.TestCase):
    def test_headers_look_left(self):
        path = "core/include/peakline/dtype.h"
        self.assertTrue(include_direction.check(path, '#include "peakline/report.h"\n'))
        self.assertTrue(include_direction.check(path, '#include "parse/json_reader.h"\n'))
        self.assertTrue(include_direction.check("core/include/peakline/unheard.h", ""))
        self.assertEqual(include_direction.check(path, '#include "peakline/quantity.h"\n'), [])

    def test_folders_look_left(self):
        for target in ['"symbolic/slot.h"', '"train/step.h"', '"peakline/report.h"']:
            self.assertTrue(include_direction.check(SOURCE, f"#include {target}\n"), target)
        for target in ['"model/mlp.h"', '"peakline/engine.h"', "<vector>"]:
            self.assertEqual(include_direction.check(SOURCE, f"#include {target}\n"), [], target)
        self.assertEqual(include_direction.check(SOURCE, '// #include "train/step.h"\n'), [])


class CorePurity(unittest.TestCase):
    def test_forbidden(self):
        for text in [
            "#include <iostream>",
            "#include <nlohmann/json.hpp>",
            "throw 1;",
            "  try {",
            '  std::printf("%d", 1);',
            '  const char* home = std::getenv("HOME");',
            "  static int calls = 0;",
            "static std::string text;",
            "  static std::vector<int> cache{1};",
            "thread_local int x;",
            "int counter = 0;",
            "std::string last_error;",
            "std::vector<std::string> seen{};",
        ]:
            self.assertTrue(core_purity.check(SOURCE, text + "\n"), text)

    def test_allowed(self):
        for text in [
            "// we never throw; try again",
            'error.message = "try a shorter text";',
            "  static const std::vector<SetupKey> keys = make_keys();",
            "  static constexpr int kLimit = 3;",
            "  static Tensor wrap(Engine* engine, int slot);",
            "static int helper(int x) {",
            'static_assert(sizeof(int) == 4, "32 bits");',
            '  std::snprintf(buffer, sizeof buffer, "%.1f", value);',
            "inline constexpr int kNumCategories = 14;",
            "constexpr std::string_view kNames[] = {};",
            "using Errors = std::vector<Error>;",
            "[[nodiscard]] Result<Report> estimate(std::string_view config_json);",
            "Bytes total(const Memory& memory);",
            "struct Value;",
            "  int local = 0;",
            "  point.time = 3;",
        ]:
            self.assertEqual(core_purity.check(SOURCE, text + "\n"), [], text)


class ModelNames(unittest.TestCase):
    def test_names_in_code(self):
        for text in ['if (type == "qwen3") {', "struct LlamaBlock {", '"phi-3"', "is_gpt_neox()"]:
            self.assertTrue(model_names.check(SOURCE, text + "\n"), text)

    def test_what_is_no_name(self):
        source = "// Source: llama/modeling_llama.py"
        for text in [source, "Trainer::Llamafactory", "coherent", "ollama run"]:
            self.assertEqual(model_names.check(SOURCE, text + "\n"), [], text)


class ThinViews(unittest.TestCase):
    def test_arithmetic(self):
        for text in [
            "const left = report.usable_bytes - memory.high_bytes;",
            "total += row.bytes * 2;",
            "x = a + b.tensor_bytes;",
            "label = bytes / 1073741824;",
            "gib = value / 2 ** 30;",
        ]:
            self.assertTrue(thin_views.check("site/app.mjs", text + "\n"), text)
        self.assertTrue(thin_views.check("web/long.cpp", "\n" * 100))

    def test_showing(self):
        for text in [
            "row.textContent = format(memory.high_bytes);",
            "const {usable_bytes: usable, margin_bytes: margin} = verdict;",
            "// usable_bytes - high_bytes comes from core",
            "for (let i = 0; i < bytes.length; i++) {",
            "core.HEAPU8.set(bytes, pointer);",
            "setup.gpu.total_bytes = Math.round(state.vram * 2 ** 30);",
        ]:
            self.assertEqual(thin_views.check("site/app.mjs", text + "\n"), [], text)


class RuleIds(unittest.TestCase):
    TABLE = {rule_ids.TABLE: 'Rule{"R010", "One."}, Rule{\n  "R020", "Two."},\n// Rule R030\n'}

    def test_sets_differ(self):
        row = rule_ids.check({**self.TABLE, SOURCE: "// Rule R010\n"})
        self.assertEqual(row, [f"{rule_ids.TABLE}: no comment says where R020 is applied"])
        both = "// Rule R010, Rule R020. Rule R040: more\n"
        self.assertEqual(
            rule_ids.check({**self.TABLE, SOURCE: both}),
            [f"{SOURCE}: R040 is not in {rule_ids.TABLE}"],
        )
        code = 'Rule R010;\nconst char* text = "Rule R010";\n// Rule R020\n'
        self.assertTrue(rule_ids.check({**self.TABLE, SOURCE: code}))

    def test_same_sets(self):
        text = "// it holds: Rule\n  // R010\nint x;  /* Rule R020 */\n"
        self.assertEqual(rule_ids.check({**self.TABLE, SOURCE: text}), [])


class CleanTree(unittest.TestCase):
    def test_forbidden(self):
        host, paths = "https://pypi" + ".org/simple", ['open("/' + 'root/x")', "cd /" + "tmp/x"]
        for text in [host, *paths, "caf\u00e9"]:
            self.assertTrue(clean_tree.check("scripts/x.py", text + "\n"), text)

    def test_allowed(self):
        for text in ["$TOOLS/work/x", "src/root/x", "https://huggingface.co/x", "mktemp -d"]:
            self.assertEqual(clean_tree.check("scripts/x.py", text + "\n"), [], text)


if __name__ == "__main__":
    unittest.main()
