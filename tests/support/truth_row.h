// Rows that the real Python stack made on fake CUDA tensors, in this project's own spelling of a
// setup.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace peakline::test {

// The folder with configs/, truth.jsonl and timelines/; nothing where it is not on this machine.
[[nodiscard]] std::optional<std::filesystem::path> shared_data();
[[nodiscard]] std::string read_text(const std::filesystem::path& path);

// `settings` of a row as a setup document. A100 80GB unless the row names another card.
[[nodiscard]] std::string setup_of(const nlohmann::json& settings);
// The row's config.json with the row's override of tie_word_embeddings.
[[nodiscard]] std::string config_of(const nlohmann::json& row, const std::filesystem::path& shared);

}  // namespace peakline::test
