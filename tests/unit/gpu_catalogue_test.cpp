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

TEST_CASE("the nearest card is offered", "[gpu]") {
  CHECK(nearest_gpu("RTX 3600") == "RTX 3060 12GB");
  CHECK(nearest_gpu("H10O") == "H100 80GB");
  CHECK(nearest_gpu("Voodoo 2 SLI edition").empty());
}

}  // namespace
}  // namespace peakline
