#include "io/cost_data/collection.h"

#include <boost/test/unit_test.hpp>

#include "io/file.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::TemporaryFolder;
using test::value_of;

Result<Collection> parse(std::string_view bytes) { return parse_collection(bytes, "f"); }

Collection simulated() {
  Collection collection;
  collection.kind = CollectionKind::kComm;
  collection.backend = Backend::kSim;
  collection.hardware = "H200-141G, NVSwitch";
  collection.profile = "h200-nvswitch";
  collection.batch_size = 65536;
  collection.seed = UINT64_MAX;
  collection.devices = 8;
  collection.flags = {{"samples", "300"}, {"max-dim", "128"}};
  return collection;
}

constexpr std::string_view kSimulated = R"({
  "format": "neuroshard-collection",
  "version": 1,
  "kind": "comm",
  "backend": "sim",
  "provenance": "simulated",
  "hardware": "H200-141G, NVSwitch",
  "profile": "h200-nvswitch",
  "batch_size": 65536,
  "seed": 18446744073709551615,
  "devices": 8,
  "flags": {
    "max-dim": "128",
    "samples": "300"
  }
}
)";

std::string changed(std::string_view from, std::string_view to) {
  std::string text(kSimulated);
  const std::size_t place = text.find(from);
  BOOST_REQUIRE_MESSAGE(place != std::string::npos, from);
  return text.replace(place, from.size(), to);
}

void write(const std::string& path, std::string_view bytes) {
  BOOST_REQUIRE(write_file_atomically(path, bytes).ok());
}

/// A pool of two tables, the second with `dim` when `dim` is not 0.
std::string pool(int dim) {
  std::string table = R"({"row": 100, "pooling_factor": 2, "bin_0": 1)";
  for (int bin = 1; bin < kReuseBins; ++bin) table += ", \"bin_" + std::to_string(bin) + "\": 0";
  if (dim != 0) table += ", \"dim\": " + std::to_string(dim);
  return "[" + table + "}, " + table + "}]";
}

BOOST_AUTO_TEST_SUITE(collection)

BOOST_AUTO_TEST_CASE(what_is_written_reads_back) {
  BOOST_TEST(format_collection(simulated()) == kSimulated);
  BOOST_TEST((value_of(parse(kSimulated)) == simulated()));
  BOOST_TEST(simulated().simulated());
  Collection measured;
  measured.backend = Backend::kCpu;
  measured.hardware = "2 cores";
  measured.batch_size = 1024;
  measured.seed = 1;
  const std::string text = format_collection(measured);
  BOOST_TEST(text.find("\"provenance\": \"measured\"") != std::string::npos);
  BOOST_TEST((value_of(parse(text)) == measured));
}

BOOST_AUTO_TEST_CASE(bad_fields_are_named_with_their_path) {
  const std::tuple<std::string_view, std::string_view, std::string_view> cases[] = {
      {"\"comm\"", "\"both\"", "f: $.kind: found 'both', expected 'compute' or 'comm'"},
      {"\"sim\"", "\"tpu\"", "f: $.backend: found 'tpu', expected 'cpu' or 'sim' or 'cuda'"},
      {"\"sim\"", "\"unknown\"", "f: $.backend: found 'unknown'"},
      {"\"simulated\"", "\"measured\"", "$.provenance: found 'measured', expected 'simulated'"},
      {"\"sim\"", "\"cpu\"", "$.provenance: found 'simulated', expected 'measured' for backend"},
      {"\"batch_size\": 65536", "\"batch_size\": 0", "f: $.batch_size: found 0"},
      {"\"devices\": 8", "\"devices\": 0", "f: $.devices: found 0"},
      {"\"comm\"", "\"compute\"", "f: $.devices: found an unknown key"},
      {"\"seed\": 18446744073709551615", "\"seed\": 1.5", "f: $.seed: found 1.5"},
      {"\"300\"", "300", "f: $.flags.samples: found 300, expected a string"},
      {"\"hardware\"", "\"machine\"", "f: $: found no key 'hardware'"},
      {"\"version\": 1", "\"version\": 2", "f: $.version: found 2"},
      {"H200-141G, ", "\\u001b[2K",
       "f: $.hardware: found '\\x1b[2KNVSwitch', expected text without"},
  };
  for (const auto& [from, to, message] : cases) {
    check_refused(parse(changed(from, to)).status(), {message});
  }
  check_prefixes_refused(kSimulated, "f", parse, 1);
}

BOOST_AUTO_TEST_CASE(a_compute_directory_is_read_whole) {
  const TemporaryFolder folder;
  write(folder.file("data.txt"), "0,1 5.5\n1 2.5\n");
  write(folder.file("table_configs.json"), pool(16));
  ComputeData data = value_of(read_compute_directory(folder.path()));
  BOOST_TEST(data.samples.size() == 2U);
  BOOST_TEST(data.pool.tables.size() == 2U);
  BOOST_TEST(data.collection.hardware == "unknown");
  BOOST_TEST(!data.collection.simulated());
  BOOST_TEST(data.collection.batch_size == 65536);

  Collection collection = simulated();
  collection.kind = CollectionKind::kCompute;
  collection.devices = 0;
  write(folder.file("collection.json"), format_collection(collection));
  data = value_of(read_compute_directory(folder.path()));
  BOOST_TEST((data.collection == collection));
}

BOOST_AUTO_TEST_CASE(a_compute_directory_that_does_not_fit_together_is_refused) {
  const TemporaryFolder folder;
  const auto status = [&] { return read_compute_directory(folder.path()).status(); };
  check_refused(status(), {folder.file("table_configs.json"), "No such file"});
  write(folder.file("table_configs.json"), pool(16));
  check_refused(status(), {folder.file("data.txt"), "No such file"});
  write(folder.file("data.txt"), "0 5\n2 5\n");
  check_refused(status(), {folder.file("data.txt") + ":2: table id: found 2, expected 0 to 1"});
  write(folder.file("data.txt"), "0 5\n1 5");
  check_refused(status(), {folder.file("data.txt") + ":2: ", "without a line break"});
  write(folder.file("data.txt"), "0 5\n");
  write(folder.file("table_configs.json"), pool(0));
  check_refused(status(), {folder.file("table_configs.json"), "'dim'"});
  write(folder.file("collection.json"), kSimulated);
  check_refused(status(), {folder.file("collection.json"), "$.kind: found 'comm'"});
}

BOOST_AUTO_TEST_CASE(a_comm_directory_is_read_whole) {
  const TemporaryFolder folder;
  check_refused(read_comm_directory(folder.path()).status(), {"data.txt", "No such file"});
  write(folder.file("data.txt"), "4,8 0,1 2,3 4,5\n");
  CommData data = value_of(read_comm_directory(folder.path()));
  BOOST_TEST(data.samples.size() == 1U);
  BOOST_TEST(data.collection.devices == 2);
  write(folder.file("collection.json"), kSimulated);
  check_refused(read_comm_directory(folder.path()).status(),
                {folder.file("data.txt") + ":1: found 2 devices, expected 8"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
