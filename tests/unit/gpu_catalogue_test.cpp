#include "peakline/gpu_catalogue.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

namespace peakline {
namespace {

TEST_CASE("the catalogue holds at least 20 sane cards", "[gpu]") {
  CHECK(gpu_catalogue().size() >= 20);
  std::set<std::string_view> names;
  for (const GpuCard& card : gpu_catalogue()) {
    INFO(card.name);
    CHECK(names.insert(card.name).second);
    CHECK(card.marketed >= gibibytes(8));
    CHECK(card.marketed <= gibibytes(512));
    CHECK(card.compute_capability >= 70);
    CHECK(card.compute_capability <= 121);
    CHECK(card.sm_count >= 20);
    CHECK(card.sm_count <= 200);
    // A driver never reports more than the box says, and rarely less than nine tenths.
    CHECK(card.reported <= card.marketed);
    if (card.reported > Bytes(0)) CHECK(card.reported >= scaled(card.marketed, 90, 100));
    CHECK(find_gpu(card.name) == &card);
  }
}

TEST_CASE("a card is found however its name is written", "[gpu]") {
  const auto name_of = [](std::string_view typed) {
    const GpuCard* card = find_gpu(typed);
    return card ? card->name : std::string_view("none");
  };
  CHECK(name_of("RTX 3060 12GB") == "RTX 3060 12GB");
  CHECK(name_of("rtx3060-12gb") == "RTX 3060 12GB");
  CHECK(name_of("NVIDIA GeForce RTX 3060") == "RTX 3060 12GB");
  CHECK(name_of("3060") == "RTX 3060 12GB");
  CHECK(name_of("4090") == "RTX 4090 24GB");
  CHECK(name_of("Tesla T4") == "T4 16GB");
  CHECK(name_of("NVIDIA A100-SXM4-80GB") == "A100 80GB");
  CHECK(name_of("NVIDIA A100 80GB PCIe") == "A100 80GB");
  CHECK(name_of("NVIDIA H100 80GB HBM3") == "H100 80GB");
  CHECK(name_of("H100") == "H100 80GB");
  CHECK(name_of("H100 PCIe") == "H100 PCIe 80GB");
  CHECK(name_of("NVIDIA RTX 6000 Ada Generation") == "RTX 6000 Ada 48GB");
  CHECK(name_of("A10") == "A10 24GB");
  CHECK(name_of("L4") == "L4 24GB");
}

TEST_CASE("a name of several cards or of another card is not guessed", "[gpu]") {
  CHECK(find_gpu("A100") == nullptr);
  CHECK(gpus_called("A100").size() == 2);
  CHECK(find_gpu("RTX 4060") == nullptr);  // not the 4060 Ti
  CHECK(find_gpu("RTX 4090 48GB") == nullptr);
  CHECK(find_gpu("RTX") == nullptr);
  CHECK(find_gpu("") == nullptr);
  CHECK(find_gpu("nvidia") == nullptr);
}

TEST_CASE("cards are counted only behind a card's name", "[gpu]") {
  struct Row {
    const char* text;
    const char* name;
    std::int64_t count;
  };
  for (const Row& row : {Row{"RTX 4090 24GB", "RTX 4090 24GB", 1},
                         Row{"RTX 4090x2", "RTX 4090", 2},
                         Row{"rtx 4090 x4", "rtx 4090", 4},
                         Row{"rtx 4090 x 4", "rtx 4090", 4},
                         Row{"T4X1", "T4", 1},
                         Row{"T4x0", "T4", 0},
                         // Two cards are called so; how many is clear all the same.
                         Row{"A100x8", "A100", 8},
                         // The x of RTX is no multiplication sign.
                         Row{"RTX 1234", "RTX 1234", 1},
                         Row{"RTX1234", "RTX1234", 1},
                         Row{"Voodoo x2", "Voodoo x2", 1},
                         Row{"T4x12345678901234567890", "T4x12345678901234567890", 1},
                         Row{"x2", "x2", 1},
                         Row{"2", "2", 1},
                         Row{"", "", 1}}) {
    INFO(row.text);
    CHECK(split_gpu_text(row.text).name == row.name);
    CHECK(split_gpu_text(row.text).count == row.count);
  }
}

TEST_CASE("a compute capability reads as CUDA writes it", "[gpu]") {
  CHECK(capability_text(75) == "7.5");
  CHECK(capability_text(90) == "9.0");
  CHECK(capability_text(121) == "12.1");
}

TEST_CASE("the nearest card is offered", "[gpu]") {
  CHECK(nearest_gpu("RTX 3600") == "RTX 3060 12GB");
  CHECK(nearest_gpu("H10O") == "H100 80GB");
  CHECK(nearest_gpu("Voodoo 2 SLI edition").empty());
}

}  // namespace
}  // namespace peakline
