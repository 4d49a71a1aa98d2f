#include "peakline/architecture.h"

#include <catch2/catch_test_macros.hpp>

#include "architecture/count.h"
#include "architecture/families.h"

namespace peakline {
namespace {

// A decoder of 22 layers with grouped heads; `more` replaces or adds members.
std::string decoder(std::string_view model_type, std::string_view more = "") {
  return "{\"model_type\": \"" + std::string(model_type) +
         "\", \"vocab_size\": 32000, \"hidden_size\": 2048, \"intermediate_size\": 5632, "
         "\"num_hidden_layers\": 22, \"num_attention_heads\": 32" +
         (more.empty() ? "" : ", " + std::string(more)) + "}";
}

Architecture built(const std::string& text) {
  const Result<ModelConfig> config = parse_model_config(text);
  REQUIRE(config.has_value());
  Result<Architecture> architecture = build_architecture(*config);
  if (!architecture)
    FAIL(architecture.error().front().where + " " + architecture.error().front().message);
  return *architecture;
}

DenseDecoder dense(const std::string& text) {
  const Architecture architecture = built(text);
  INFO(architecture.not_modelled);
  REQUIRE(architecture.dense.has_value());
  return *architecture.dense;
}

TEST_CASE("a decoder is read from its fields", "[architecture]") {
  const Architecture a =
      built(decoder("llama", R"("num_key_value_heads": 4, "max_position_embeddings": 2048)"));
  REQUIRE(a.dense);
  CHECK(a.not_modelled.empty());
  CHECK(a.num_layers == 22);
  CHECK(a.vocab_size == 32000);
  CHECK(a.max_position_embeddings == 2048);
  CHECK(a.dense->head_dim == 64);
  CHECK(a.dense->num_key_value_heads == 4);
  CHECK(a.dense->hidden_act == HiddenAct::Silu);
  CHECK_FALSE(a.dense->tie_word_embeddings);
  CHECK_FALSE(a.dense->sliding_window);
  CHECK(a.parameters->total == Elements(1100048384));  // TinyLlama
  CHECK(a.parameters->exact);
  CHECK(a.parameters->embedding == Elements(65536000));
  CHECK(a.parameters->head == Elements(65536000));
  CHECK_FALSE(a.alternative);
}

TEST_CASE("absent and null key heads differ where the config class has a default",
          "[architecture]") {
  CHECK(dense(decoder("llama")).num_key_value_heads == 32);
  CHECK(dense(decoder("mistral")).num_key_value_heads == 8);
  CHECK(dense(decoder("mistral", R"("num_key_value_heads": null)")).num_key_value_heads == 32);
  CHECK(dense(decoder("qwen3")).head_dim == 128);
  CHECK(dense(decoder("qwen3", R"("head_dim": 96)")).head_dim == 96);
}

TEST_CASE("biases and norms come with the family or with a field", "[architecture]") {
  CHECK(dense(decoder("qwen2")).qkv_bias);
  CHECK_FALSE(dense(decoder("qwen2")).o_bias);
  CHECK_FALSE(dense(decoder("llama")).qkv_bias);
  const DenseDecoder biased =
      dense(decoder("llama", R"("attention_bias": true, "mlp_bias": true)"));
  CHECK(biased.qkv_bias);
  CHECK(biased.o_bias);
  CHECK(biased.mlp_bias);
  CHECK(dense(decoder("internlm", R"("bias": true)")).o_bias);
  CHECK_FALSE(dense(decoder("internlm", R"("bias": false)")).o_bias);
  CHECK(dense(decoder("qwen3")).qk_norm == HeadNorm::EachHead);
  CHECK(dense(decoder("qwen2")).qk_norm == HeadNorm::None);
}

TEST_CASE("a sliding window counts only where layers use it", "[architecture]") {
  SECTION("everywhere") {
    const DenseDecoder d = dense(decoder("mistral", R"("sliding_window": 1024)"));
    CHECK(d.sliding_window == 1024);
    CHECK(d.sliding.count(22) == 22);
    CHECK(dense(decoder("mistral")).sliding_window == 4096);
    CHECK_FALSE(dense(decoder("mistral", R"("sliding_window": null)")).sliding_window);
  }
  SECTION("nowhere, unless it is switched on, and then in the last layers") {
    CHECK_FALSE(dense(decoder("qwen2", R"("sliding_window": 1024)")).sliding_window);
    CHECK_FALSE(dense(decoder("qwen2", R"("sliding_window": 1024, "use_sliding_window": false)"))
                    .sliding_window);
    const DenseDecoder d = dense(decoder(
        "qwen2", R"("sliding_window": 1024, "use_sliding_window": true, "max_window_layers": 20)"));
    CHECK(d.sliding_window == 1024);
    CHECK(d.sliding.count(22) == 2);
    CHECK(d.sliding.at(20));
    CHECK_FALSE(d.sliding.at(19));
    CHECK_FALSE(
        dense(
            decoder("qwen2",
                    R"("sliding_window": 9, "use_sliding_window": true, "max_window_layers": 22)"))
            .sliding_window);
  }
  SECTION("never in a family without it") {
    CHECK_FALSE(dense(decoder("llama", R"("sliding_window": 1024)")).sliding_window);
  }
  SECTION("in alternation, as the layer types say") {
    std::string types = R"("sliding_attention")";
    for (int i = 1; i < 22; ++i)
      types += i % 2 == 1 ? R"(, "full_attention")" : R"(, "sliding_attention")";
    const DenseDecoder d =
        dense(decoder("ministral", R"("sliding_window": 1024, "layer_types": [)" + types + "]"));
    CHECK(d.sliding_window == 1024);
    CHECK(d.sliding.count(22) == 11);
    CHECK(d.sliding.at(0));
    CHECK_FALSE(d.sliding.at(21));
  }
  SECTION("in alternation, as the family does without them") {
    const DenseDecoder d = dense(decoder("gemma2"));
    CHECK(d.sliding_window == 4096);
    CHECK(d.sliding.count(21) == 11);
    CHECK(d.sliding.at(0));
    CHECK_FALSE(d.sliding.at(1));
  }
}

TEST_CASE("layers that know no positions", "[architecture]") {
  CHECK(dense(decoder("smollm3")).unrotated.count(22) == 5);
  CHECK(dense(decoder("smollm3")).unrotated.at(3));
  CHECK(dense(decoder("smollm3", R"("no_rope_layer_interval": 2)")).unrotated.count(22) == 11);
  CHECK(dense(decoder("smollm3", R"("no_rope_layer_interval": 23)")).unrotated.count(22) == 0);
  CHECK(dense(decoder("llama")).unrotated.count(22) == 0);
  // Where some layers slide, those with full attention.
  const DenseDecoder d = dense(decoder("exaone4", R"("sliding_window_pattern": 4)"));
  CHECK(d.sliding.count(22) == 17);
  CHECK(d.unrotated.count(22) == 5);
  CHECK(d.unrotated.at(3));
  CHECK(dense(decoder("exaone4", R"("sliding_window": null)")).unrotated.count(22) == 0);
}

TEST_CASE("a rotated part outside of a head is refused", "[architecture]") {
  for (const char* factor : {"0", "-1", "1.5", "1e300"}) {
    const std::string text =
        decoder("stablelm", std::string("\"partial_rotary_factor\": ") + factor);
    const Result<Architecture> architecture = build_architecture(*parse_model_config(text));
    INFO(text);
    REQUIRE_FALSE(architecture.has_value());
    CHECK(architecture.error().front().where.ends_with("/partial_rotary_factor"));
  }
}

TEST_CASE("what blocks, norms and rotations a family has", "[architecture]") {
  CHECK(dense(decoder("olmo2")).qk_norm == HeadNorm::AllHeads);
  CHECK(dense(decoder("olmo2")).norm_kind == NormKind::RmsWide);
  CHECK_FALSE(dense(decoder("olmo")).norm_weight);
  CHECK(dense(decoder("cohere")).parallel_blocks);
  CHECK(dense(decoder("cohere")).logit_scale == Scale::Multiplied);
  CHECK_FALSE(dense(decoder("stablelm")).parallel_blocks);
  CHECK(dense(decoder("stablelm", R"("use_parallel_residual": true)")).parallel_blocks);
  CHECK(dense(decoder("stablelm")).rotary_dim == 16);
  CHECK(dense(decoder("stablelm", R"("partial_rotary_factor": 0.5)")).rotary_dim == 32);
  CHECK(dense(decoder("phi", R"("hidden_act": "gelu_new")")).rotary_dim == 32);
  CHECK(dense(decoder("gemma2")).capped_logits);
  CHECK_FALSE(dense(decoder("gemma2", R"("final_logit_softcapping": null)")).capped_logits);
  CHECK(dense(decoder("gemma2")).eager_by_default);
  CHECK(dense(decoder("starcoder2", R"("residual_dropout": 0.1)")).block_dropout ==
        BlockDropout::Inside);
  CHECK(dense(decoder("starcoder2")).block_dropout == BlockDropout::None);
  CHECK_FALSE(dense(decoder("starcoder2", R"("use_bias": false)")).mlp_bias);
  CHECK(dense(decoder("stablelm", R"("qk_layernorm": true)")).separate_head_norms);
  CHECK(dense(decoder("stablelm", R"("hidden_dropout": 0.1)")).block_dropout ==
        BlockDropout::AfterMlp);
  CHECK(dense(decoder("olmo", R"("clip_qkv": 8.0)")).clipped_projections);
  CHECK_FALSE(dense(decoder("llama", R"("clip_qkv": 8.0)")).clipped_projections);
  CHECK(dense(decoder("phi", R"("embd_pdrop": 0.1)")).embedding_dropout);
  CHECK(dense(decoder("llama", R"("attention_dropout": 0.1)")).attention_dropout);
  CHECK(dense(decoder("ministral3")).query_scaled_by_position);
  CHECK_FALSE(built(decoder("ministral3", R"("vision_config": {})")).dense);
  const DenseDecoder narrow =
      dense(decoder("minicpm3", R"("q_lora_rank": null, "kv_lora_rank": 64, "qk_nope_head_dim": 32,
      "qk_rope_head_dim": 16)"));
  CHECK(narrow.latent.query_rank == 0);
  CHECK(narrow.latent.value_dim == narrow.hidden_size / narrow.num_attention_heads);
  CHECK(narrow.head_dim == 48);
  CHECK(narrow.rotary_dim == 16);
}

TEST_CASE("which decoder the fields of one type make", "[architecture]") {
  const DenseDecoder older = dense(decoder("falcon"));
  CHECK(older.qkv_split == QkvSplit::IndexedHeads);
  CHECK(older.num_key_value_heads == 1);
  CHECK(older.parallel_blocks);
  CHECK_FALSE(older.norm_for_each_block);
  const DenseDecoder newer =
      dense(decoder("falcon", R"("new_decoder_architecture": true, "num_kv_heads": 2)"));
  CHECK(newer.qkv_split == QkvSplit::IndexedGroups);
  CHECK(newer.num_key_value_heads == 2);
  CHECK(newer.norm_for_each_block);
  const DenseDecoder plain =
      dense(decoder("falcon", R"("multi_query": false, "parallel_attn": false, "alibi": true)"));
  CHECK(plain.qkv_split == QkvSplit::SelectedOfHead);
  CHECK_FALSE(plain.parallel_blocks);
  CHECK(plain.alibi_in_mask);
}

TEST_CASE("what the step does not know is named, and still counted", "[architecture]") {
  SECTION("an activation of several kernels") {
    const Architecture a = built(decoder("llama", R"("hidden_act": "quick_gelu")"));
    CHECK_FALSE(a.dense);
    CHECK(a.not_modelled.find("quick_gelu") != std::string::npos);
    CHECK(a.parameters->total > Elements(0));
  }
  SECTION("code that is not in transformers") {
    const Architecture a = built(decoder("orion"));
    CHECK_FALSE(a.dense);
    CHECK(a.not_modelled.find("transformers has no code for the model_type orion") == 0);
    CHECK(a.parameters->total > Elements(0));
  }
  SECTION("a quantised base") {
    const Architecture a =
        built(decoder("llama", R"("quantization_config": {"quant_method": "gptq", "bits": 4})"));
    CHECK_FALSE(a.dense);
    CHECK(a.not_modelled.find("gptq") != std::string::npos);
    CHECK(a.parameters->total == built(decoder("llama")).parameters->total);
  }
  SECTION("another structure") {
    const Architecture a =
        built(R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 32000})");
    CHECK_FALSE(a.dense);
    CHECK(a.not_modelled.find("a mixture of experts") != std::string::npos);
    CHECK(a.parameters->total == Elements(46702792704));
    CHECK(a.num_layers == 32);
    CHECK(a.vocab_size == 32000);
  }
  SECTION("the older name of a field that is null") {
    const Architecture a =
        built(R"({"model_type": "bloom", "n_embed": null, "hidden_size": 1024, "n_layer": 24,
        "n_head": 16, "vocab_size": 250880})");
    CHECK(a.dense->embedding_norm);
    CHECK(a.parameters->total == Elements(559214592));
  }
}

TEST_CASE("a rotation for long sequences keeps a second set of frequencies", "[architecture]") {
  CHECK(dense(decoder("llama", R"("rope_scaling": {"type": "longrope"})")).second_frequencies);
  CHECK_FALSE(
      dense(decoder("llama", R"("rope_scaling": {"rope_type": "yarn"})")).second_frequencies);
  CHECK_FALSE(dense(decoder("llama")).second_frequencies);
}

TEST_CASE("a family's own names of fields are read, with what its class takes without them",
          "[architecture]") {
  const std::string sizes =
      R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257)";
  const DenseDecoder d = dense(sizes + R"(, "n_positions": 512})");
  CHECK(d.hidden_size == 768);
  CHECK(d.intermediate_size == 4 * 768);
  CHECK(d.position_rows == 512);
  CHECK(d.positions == Positions::Learned);
  CHECK(d.hidden_act == HiddenAct::GeluUnfused);
  CHECK(d.tie_word_embeddings);
  CHECK(d.embedding_dropout);
  CHECK(dense(sizes + R"(, "n_positions": 512, "n_inner": 100})").intermediate_size == 100);
  CHECK_FALSE(dense(sizes + R"(, "n_positions": 512, "embd_pdrop": 0.0})").embedding_dropout);
  const Result<ModelConfig> config = parse_model_config(
      R"({"model_type": "gpt2", "n_embd": "wide", "n_layer": 12, "n_head": 12})");
  REQUIRE(config);
  const Result<Architecture> wrong = build_architecture(*config);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().front().where == "/vocab_size");
  CHECK(wrong.error().at(1).where == "/n_embd");
}

TEST_CASE("a class without a language-model head has two readings", "[architecture]") {
  const Elements whole = built(decoder("llama")).parameters->total;
  SECTION("no head") {
    const Architecture a = built(decoder("llama", R"("architectures": ["LlamaModel"])"));
    CHECK(a.parameters->total == whole - Elements(65536000));
    CHECK(a.alternative->total == whole);
    CHECK(a.notes.size() == 1);
  }
  SECTION("a classification head of as many rows as labels") {
    const Architecture a = built(decoder(
        "llama", R"("architectures": ["LlamaForSequenceClassification"], "id2label": {"0": "x"})"));
    CHECK(a.parameters->total == whole - Elements(65536000) + Elements(2048));
  }
}

TEST_CASE("a class of a name that transformers has no kind for is an assumption",
          "[architecture]") {
  const Architecture a = built(decoder("llama", R"("architectures": ["LlamaForCausalLMEagle3"])"));
  CHECK(a.assumptions.size() == 1);
  CHECK_FALSE(a.parameters->exact);
  for (const char* name : {"LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"}) {
    const std::string field = std::string("\"architectures\": [\"") + name + "\"]";
    CHECK(built(decoder("llama", field.c_str())).assumptions.empty());
  }
}

TEST_CASE("an unknown model_type is built from its fields", "[architecture]") {
  SECTION("where they say everything but the tie flag, both readings are given") {
    const Architecture a = built(decoder("newcomer", R"("rms_norm_eps": 1e-6)"));
    REQUIRE(a.dense);
    CHECK_FALSE(a.parameters->exact);
    CHECK(a.assumptions.size() == 2);
    REQUIRE(a.alternative);
    CHECK(a.parameters->total - a.alternative->total == Elements(65536000));
  }
  SECTION("with the tie flag there is one") {
    const Architecture a =
        built(decoder("newcomer", R"("rms_norm_eps": 1e-6, "tie_word_embeddings": true)"));
    CHECK_FALSE(a.alternative);
    CHECK(a.dense->tie_word_embeddings);
    CHECK(a.assumptions.size() == 1);
  }
  SECTION("without a model_type too") {
    const Architecture a =
        built(R"({"vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 22, "num_attention_heads": 32, "rms_norm_eps": 1e-6})");
    CHECK(a.dense);
  }
  SECTION("a field that may mean more refuses, and is named") {
    const Architecture a = built(decoder("newcomer", R"("rms_norm_eps": 1e-6, "num_experts": 8)"));
    CHECK_FALSE(a.dense);
    CHECK_FALSE(a.parameters);
    CHECK(a.not_modelled.find("num_experts") != std::string::npos);
    CHECK(a.notes.size() == 1);
  }
  SECTION("a missing size refuses, and is named") {
    const Architecture a = built(R"({"model_type": "newcomer", "d_model": 512})");
    CHECK_FALSE(a.dense);
    CHECK(a.not_modelled.find("vocab_size") != std::string::npos);
  }
}

TEST_CASE("sizes too large to count are an error, not a small number", "[architecture]") {
  const Result<ModelConfig> config = parse_model_config(
      R"({"model_type": "llama", "vocab_size": 2147483647, "hidden_size": 2147483647,
          "intermediate_size": 2147483647, "num_hidden_layers": 2147483647, "num_attention_heads": 1,
          "head_dim": 2147483646})");
  REQUIRE(config.has_value());
  const Result<Architecture> architecture = build_architecture(*config);
  REQUIRE_FALSE(architecture.has_value());
  CHECK(architecture.error().front().code == ErrorCode::TooLarge);
}

// Every identifier any rule asks for is missing here, so each line is read to its end.
TEST_CASE("every line of families.json can be read", "[architecture]") {
  const json::Value empty{json::Object{}, 0, 0};
  for (const data::FamiliesRow& family : data::kFamiliesRows) {
    INFO(family.model_type);
    CHECK((has_variant(family, "dense_decoder") || !family.structure.empty()));
    for (const std::string_view line : family.let) {
      INFO(line);
      const std::size_t equals = line.find(" = ");
      REQUIRE(equals != std::string_view::npos);
      Scope scope(empty);
      bool malformed = false;
      (void)evaluate(line.substr(equals + 3), scope, malformed);
      CHECK_FALSE(malformed);
    }
    for (std::string_view line : family.weights) {
      INFO(line);
      Scope scope(empty);
      bool malformed = false;
      if (line.substr(0, 5) == "when ") {
        const std::size_t then = line.find(" then ");
        REQUIRE(then != std::string_view::npos);
        (void)evaluate(line.substr(5, then - 5), scope, malformed);
        line = line.substr(then + 6);
      }
      const std::string_view role = line.substr(0, line.find(' '));
      std::string_view expression = line.substr(role.size() + 1);
      if (role == "model") {
        const std::size_t as = expression.find(" as ");
        const std::size_t head = expression.find(" head ");
        REQUIRE(as != std::string_view::npos);
        REQUIRE(head != std::string_view::npos);
        CHECK(find_family(expression.substr(as + 4, head - as - 4)) != nullptr);
        expression = expression.substr(head + 6);
      } else {
        CHECK((role == "embedding" || role == "head" || role == "linear" || role == "other"));
      }
      (void)evaluate(expression, scope, malformed);
      CHECK_FALSE(malformed);
    }
  }
}

TEST_CASE("no config of a known family crashes, whatever is missing", "[architecture]") {
  for (const data::FamiliesRow& family : data::kFamiliesRows) {
    for (const std::string_view more : {"",
                                        ", \"text_config\": {}",
                                        ", \"text_config\": {\"model_type\": \"llava\"}",
                                        ", \"vision_config\": 3, \"hidden_size\": -1",
                                        ", \"hidden_size\": 0, \"num_attention_heads\": 0"}) {
      const std::string text =
          "{\"model_type\": \"" + std::string(family.model_type) + "\"" + std::string(more) + "}";
      INFO(text);
      const Result<ModelConfig> config = parse_model_config(text);
      REQUIRE(config.has_value());
      const Result<Architecture> architecture = build_architecture(*config);
      if (!architecture) {
        CHECK_FALSE(architecture.error().empty());
      } else if (!architecture->parameters) {
        CHECK_FALSE(architecture->notes.empty());
      }
    }
  }
}

}  // namespace
}  // namespace peakline
