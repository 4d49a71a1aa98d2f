#include "peakline/gpu_catalogue.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

namespace peakline {
namespace {

TEST_CASE("the catalogue holds at least 100 sane cards", "[gpu]") {
  CHECK(gpu_catalogue().size() >= 100);
  std::set<std::string_view> names;
  for (const GpuCard& card : gpu_catalogue()) {
    INFO(card.name);
    CHECK(names.insert(card.name).second);
    CHECK(card.marketed >= gibibytes(4));
    CHECK(card.marketed <= gibibytes(512));
    CHECK(card.compute_capability >= 60);
    CHECK(card.compute_capability <= 121);
    CHECK(card.sm_count >= 10);
    CHECK(card.sm_count <= 200);
    // A driver never reports more than the box says, and nine tenths at least: what is assumed of a
    // card whose total no source states (usable_term).
    CHECK(card.reported <= card.marketed);
    if (card.reported > Bytes(0)) CHECK(card.reported >= scaled(card.marketed, 90, 100));
    CHECK(find_gpu(card.name) == &card);
    // The name ends with the size on the box.
    const std::string gib = std::to_string(card.marketed.count() >> 30) + "GB";
    CHECK(card.name.substr(card.name.rfind(' ') + 1) == gib);
  }
}

TEST_CASE("a card is found however its name is written, and never guessed", "[gpu]") {
  struct Row {
    std::string_view typed;
    std::vector<std::string_view> cards;
  };
  for (const Row& row : std::vector<Row>{
           {"RTX 3060 12GB", {"RTX 3060 12GB"}},
           {"rtx3060-12gb", {"RTX 3060 12GB"}},
           {"A100 80", {"A100 80GB"}},
           {"rtx 3060 12 GB", {"RTX 3060 12GB"}},
           {"NVIDIA GeForce RTX 3060", {"RTX 3060 12GB"}},
           {"3060", {"RTX 3060 12GB"}},
           {"3060 laptop", {"RTX 3060 Laptop 6GB"}},
           {"RTX 3060 Mobile", {"RTX 3060 Laptop 6GB"}},
           {"NVIDIA GeForce RTX 4060 Laptop GPU", {"RTX 4060 Laptop 8GB"}},
           {"RTX 4060", {"RTX 4060 8GB"}},
           {"4060 Ti", {"RTX 4060 Ti 8GB", "RTX 4060 Ti 16GB"}},
           {"4060ti 16gb", {"RTX 4060 Ti 16GB"}},
           {"4090", {"RTX 4090 24GB"}},
           {"5090", {"RTX 5090 32GB"}},
           {"5090 laptop", {"RTX 5090 Laptop 24GB"}},
           {"3080", {"RTX 3080 10GB", "RTX 3080 12GB"}},
           {"RTX 3080 10G", {"RTX 3080 10GB"}},
           {"RTX 3080 Laptop", {"RTX 3080 Laptop 8GB", "RTX 3080 Laptop 16GB"}},
           {"1080 Ti", {"GTX 1080 Ti 11GB"}},
           {"GeForce GTX 1660 SUPER", {"GTX 1660 SUPER 6GB"}},
           {"2070 super", {"RTX 2070 SUPER 8GB"}},
           {"TITAN RTX", {"TITAN RTX 24GB"}},
           {"Tesla T4", {"T4 16GB"}},
           {"Tesla P100-PCIE-16GB", {"P100 16GB"}},
           {"Tesla V100-SXM2-32GB", {"V100 32GB"}},
           {"V100", {"V100 16GB", "V100 32GB"}},
           {"V100 32G", {"V100 32GB"}},
           {"A10", {"A10 24GB"}},
           {"A10G", {"A10G 24GB"}},
           {"A100", {"A100 40GB", "A100 80GB"}},
           {"A100-80GB", {"A100 80GB"}},
           {"A100 80GiB", {"A100 80GB"}},
           {"NVIDIA A100-SXM4-80GB", {"A100 80GB"}},
           {"NVIDIA A100 80GB PCIe", {"A100 80GB"}},
           {"A100 SXM 40GB", {"A100 40GB"}},
           {"L4", {"L4 24GB"}},
           {"L40", {"L40 48GB"}},
           {"L40S", {"L40S 48GB"}},
           {"H100", {"H100 80GB"}},
           {"NVIDIA H100 80GB HBM3", {"H100 80GB"}},
           {"H100 SXM", {"H100 80GB"}},
           {"H100 PCIe", {"H100 PCIe 80GB"}},
           {"NVIDIA H100 NVL", {"H100 NVL 94GB"}},
           {"NVIDIA GH200 480GB", {"GH200 96GB"}},
           {"H200", {"H200 141GB"}},
           {"B200", {"B200 180GB"}},
           {"NVIDIA B300 SXM6 AC", {"B300 288GB"}},
           {"a6000", {"RTX A6000 48GB"}},
           {"Quadro RTX A6000", {"RTX A6000 48GB"}},
           {"RTX A2000", {"RTX A2000 6GB", "RTX A2000 12GB"}},
           {"Quadro RTX 8000", {"Quadro RTX 8000 48GB"}},
           {"Quadro RTX 6000", {"Quadro RTX 6000 24GB"}},
           {"RTX 6000", {"Quadro RTX 6000 24GB", "RTX 6000 Ada 48GB"}},
           {"RTX 5000", {"Quadro RTX 5000 16GB", "RTX 5000 Ada 32GB"}},
           {"6000 Ada", {"RTX 6000 Ada 48GB"}},
           {"NVIDIA RTX 6000 Ada Generation", {"RTX 6000 Ada 48GB"}},
           {"RTX PRO 6000", {"RTX PRO 6000 96GB"}},
           {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", {"RTX PRO 6000 96GB"}},
           {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", {"RTX PRO 6000 96GB"}},
           {"RTX PRO 5000", {"RTX PRO 5000 48GB", "RTX PRO 5000 72GB"}},
           {"RTX 4090 48GB", {}},
           {"RTX", {}},
           {"GTX", {}},
           {"", {}},
           {"nvidia", {}},
           {"geforce gpu", {}},
           {"quadro", {}},
           {"24GB", {}}}) {
    INFO(row.typed);
    CHECK(gpus_called(row.typed) == row.cards);
    const GpuCard* card = find_gpu(row.typed);
    CHECK((card ? card->name : "none") == (row.cards.size() == 1 ? row.cards.front() : "none"));
  }
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
  CHECK(nearest_gpu("MI300X").empty());
  CHECK(nearest_gpu("Voodoo 2 SLI edition").empty());
}

}  // namespace
}  // namespace peakline
