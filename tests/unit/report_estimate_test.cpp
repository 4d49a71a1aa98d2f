// The typed door: all mistakes of both documents at once, and no peak where the step is unknown.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/step.h"

namespace peakline::test {
namespace {

using nlohmann::json;

std::string places(const Result<Report>& report) {
  if (report) return "a report";
  std::string text;
  for (const Error& error : report.error())
    text += code_name(error.code) + " " + error.where + "\n";
  return text;
}

TEST_CASE("mistakes of config and setup are reported together, each with its place",
          "[report][estimate]") {
  struct Row {
    const char* what;
    std::string config;
    std::string setup;
    const char* places;
  };
  json unknown_head = Decoder{}.config();
  unknown_head["num_attention_heads"] = 0;
  unknown_head["hidden_size"] = "wide";
  const std::string good = Decoder{}.config().dump();
  for (const Row& row :
       std::vector<Row>{{"both are no JSON",
                         "{",
                         "[1",
                         "E0101 config: line 1, column 1\nE0101 line 1, column 2\n"},
                        {"a broken config and unknown keys",
                         "{\"a\": }",
                         R"({"max_lenght": 3, "r": 8})",
                         "E0101 config: line 1, column 7\nE0301 /max_lenght\nE0301 /r\n"},
                        {"an empty config", "", "{}", "E0102 config\n"},
                        {"a good config with a bad setup",
                         good,
                         R"({"method": "loro", "max_length": 0})",
                         "E0304 /method\nE0303 /max_length\n"},
                        {"a bad config with a good setup",
                         unknown_head.dump(),
                         "{}",
                         "E0202 config:/hidden_size\nE0203 config:/num_attention_heads\n"}}) {
    INFO(row.what);
    CHECK(places(estimate(row.config, row.setup)) == row.places);
  }
}

TEST_CASE("a config's contradictions are reported beside the setup's mistakes",
          "[report][estimate]") {
  json config = Decoder{}.config();
  config["num_attention_heads"] = 0;
  CHECK(places(estimate(config.dump(), R"({"max_length": 0})")) ==
        "E0203 config:/num_attention_heads\nE0303 /max_length\n");
}

TEST_CASE("what is not modelled gives weights and a reason, never a peak", "[report][estimate]") {
  struct Row {
    const char* word;  // of the sentence
    json setup;
    json config = Decoder{}.config();
  };
  const auto lora = [](const char* key, json value) {
    return json{{"lora", {{key, std::move(value)}}}};
  };
  json gelu = Decoder{}.config();
  gelu["hidden_act"] = "quick_gelu";
  json experts = Decoder{}.config();
  experts["model_type"] = "mixtral";
  for (const Row& row :
       std::vector<Row>{{"inference", {{"method", "inference"}}},
                        {"galore_adamw", {{"optim", "galore_adamw"}}},
                        {"schedule_free_adamw", {{"optim", "schedule_free_adamw"}}},
                        {"attention", {{"attn_implementation", "flash_attention_2"}}},
                        {"8-bit", {{"method", "full"}, {"quantization", {{"load_in_8bit", true}}}}},
                        {"modules_to_save", lora("modules_to_save", {"norm"})},
                        {"an adapter on \"lm_head\"", lora("target_modules", {"lm_head"})},
                        {"packing", {{"packing", true}}},
                        {"trainer", {{"trainer", "unsloth"}}},
                        {"parallel", {{"parallel", {{"kind", "zero2"}, {"world_size", 2}}}}},
                        {"activation", json::object(), gelu},
                        {"", json::object(), experts}}) {
    INFO(row.setup.dump() << "\n" << row.config.dump());
    const Report report = report_of(row.config, row.setup);
    CHECK_FALSE(report.has_memory);
    CHECK(report.verdict.answer == Answer::NotModelled);
    CHECK(report.verdict.sentence.starts_with("Not modelled yet: "));
    CHECK(report.verdict.sentence.find(row.word) != std::string::npos);
    CHECK(report.verdict.sentence.find("..") == std::string::npos);
    CHECK(report.memory.tensor_peak == Bytes(0));
    CHECK(report.memory.at_peak.empty());
    const json written = json::parse(to_json(report));
    CHECK(written.at("memory").is_null());
    CHECK(written.dump().find("peak_bytes") == std::string::npos);
  }
}

TEST_CASE("the weights of a step that is not modelled are stated in the given types",
          "[report][estimate]") {
  // 3 layers of the small decoder: counted here by hand.
  const Decoder d;
  const std::int64_t q = d.heads * d.head_dim;
  const std::int64_t k = d.key_heads * d.head_dim;
  const std::int64_t linear =
      d.layers * (2 * d.hidden * q + 2 * d.hidden * k + 3 * d.hidden * d.intermediate);
  const std::int64_t other = 2 * d.vocabulary * d.hidden + (2 * d.layers + 1) * d.hidden;
  struct Row {
    json setup;
    std::int64_t bytes;
  };
  for (const Row& row :
       {Row{{{"method", "full"}, {"optim", "galore_adamw"}}, 2 * (linear + other)},
        Row{{{"method", "full"}, {"optim", "galore_adamw"}, {"dtype", "float32"}},
            4 * (linear + other)},
        Row{{{"method", "qlora"}, {"optim", "galore_adamw"}}, linear / 2 + 2 * other}}) {
    INFO(row.setup.dump());
    const Report report = report_of(d.config(), row.setup);
    CHECK(report.verdict.sentence.ends_with("Its weights alone take at least " +
                                            format_bytes(Bytes(row.bytes)) + "."));
  }
}

TEST_CASE("notes say what the numbers do not cover", "[report][estimate]") {
  const auto noted = [](const json& setup, const char* word) {
    const Report report = report_of(Decoder{}.config(), setup);
    for (const std::string& note : report.notes) {
      if (note.find(word) != std::string::npos) return true;
    }
    return false;
  };
  json config = Decoder{}.config();
  config["max_position_embeddings"] = 100;
  const Report longer = report_of(config, {{"max_length", 128}});
  CHECK(std::any_of(longer.notes.begin(), longer.notes.end(), [](const std::string& note) {
    return note.find("100 positions") != std::string::npos;
  }));
  const json four = {{"gpu", {{"name", "A100 80GB"}, {"count", 4}}}};
  CHECK(noted(four, "gpu.count = 4 is not modelled yet"));
  CHECK_FALSE(noted(four, "holds a whole copy"));
}

TEST_CASE("target names mean what PEFT makes of them", "[report][estimate]") {
  const auto targets = [](std::vector<std::string> names) {
    return json{{"lora", {{"target_modules", std::move(names)}}}};
  };
  const std::string config = Decoder{}.config().dump();
  const auto said = [&](std::vector<std::string> names) {
    return places(estimate(config, targets(std::move(names)).dump()));
  };
  const auto trained = [&](std::vector<std::string> names) {
    return report_of(Decoder{}.config(), targets(std::move(names))).num_trainable_parameters;
  };
  CHECK(trained({"self_attn.q_proj"}) == trained({"q_proj"}));
  CHECK(trained({"mlp.down_proj"}) == trained({"down_proj"}));
  const Report attention = report_of(Decoder{}.config(), targets({"self_attn.q_proj"}));
  CHECK(attention.memory.tensor_peak ==
        report_of(Decoder{}.config(), targets({"q_proj"})).memory.tensor_peak);
  CHECK(trained({"q_proj", "foo"}) == trained({"q_proj"}));
  const Report noted = report_of(Decoder{}.config(), targets({"q_proj", "foo"}));
  CHECK(std::any_of(noted.notes.begin(), noted.notes.end(), [](const std::string& note) {
    return note.find("\"foo\"") != std::string::npos;
  }));

  const std::string nothing = "E0305 /lora/target_modules\n";
  CHECK(said({"foo"}) == nothing);
  CHECK(said({"proj"}) == nothing);
  CHECK(said({"mlp.q_proj"}) == nothing);
  CHECK(said({"99.self_attn.q_proj"}) == nothing);
  CHECK(said({"q_proj", "mlp", "input_layernorm"}) ==
        "E0305 /lora/target_modules/1\nE0305 /lora/target_modules/2\n");
  const Result<Report> foo = estimate(config, targets({"foo"}).dump());
  REQUIRE_FALSE(foo);
  CHECK(foo.error().front().message.find("\"foo\"") != std::string::npos);
  CHECK(foo.error().front().hint.find("down_proj") != std::string::npos);
  for (const char* name : {"lm_head",
                           "0.self_attn.q_proj",
                           "layers.1.mlp.up_proj",
                           "model.layers.2.self_attn.o_proj"}) {
    INFO(name);
    const Report report = report_of(Decoder{}.config(), targets({"q_proj", name}));
    CHECK(report.verdict.answer == Answer::NotModelled);
    CHECK(report.verdict.sentence.find(name) != std::string::npos);
  }
  CHECK(places(estimate(config, R"({"method": "full", "lora": {"target_modules": ["foo"]}})")) ==
        "a report");
}

TEST_CASE("modules to save mean what PEFT makes of them", "[report][estimate]") {
  const Decoder d;
  const std::int64_t table = d.vocabulary * d.hidden;
  const auto report = [&](json names, json lora = json::object()) {
    lora["modules_to_save"] = std::move(names);
    return report_of(d.config(), {{"lora", lora}});
  };
  const Elements adapters = report(json::array()).num_trainable_parameters;
  CHECK(report({"lm_head"}).num_trainable_parameters == adapters + Elements(table));
  // Ends of names are compared, and both tables end so.
  CHECK(report({"lm_head", "model.embed_tokens"}).num_trainable_parameters ==
        adapters + Elements(2 * table));
  CHECK(report({"head"}).num_trainable_parameters == adapters + Elements(table));
  const Report unknown = report({"score"});
  CHECK(unknown.num_trainable_parameters == adapters);
  CHECK(std::any_of(unknown.notes.begin(), unknown.notes.end(), [](const std::string& note) {
    return note.find("\"score\"") != std::string::npos;
  }));
  const json both = {{"lora",
                      {{"target_modules", {"q_proj", "embed_tokens"}},
                       {"modules_to_save", {"lm_head", "embed_tokens"}}}}};
  CHECK(places(estimate(d.config().dump(), both.dump())) == "E0305 /lora/modules_to_save/1\n");
  const json decomposed = {{"target_modules", {"embed_tokens"}}, {"use_dora", true}};
  CHECK(report(json::array(), decomposed).verdict.answer == Answer::NotModelled);
}

TEST_CASE("a report stays small whatever the setup repeats", "[report][estimate]") {
  const std::string word(3900, 'x');
  const json setup = {{"lora", {{"target_modules", {"q_proj", word}}, {"modules_to_save", {word}}}},
                      {"optim_args", {{"a", word}}},
                      {"optim_target_modules", {word}}};
  CHECK(to_json(report_of(Decoder{}.config(), setup)).size() < 64 * 1024);
}

TEST_CASE("an unknown model type is read by its fields, and the report says so",
          "[report][estimate]") {
  json config = Decoder{}.config();
  const Report known = report_of(config, json::object());
  config["model_type"] = "no_such_type";
  const Report unknown = report_of(config, json::object());
  CHECK(unknown.has_memory);
  CHECK(unknown.memory.tensor_peak == known.memory.tensor_peak);
  CHECK(std::any_of(unknown.provenance.begin(), unknown.provenance.end(), [](const Provenance& p) {
    return p.kind == "assumed" && p.sentence.find("no_such_type") != std::string::npos;
  }));
}

}  // namespace
}  // namespace peakline::test
