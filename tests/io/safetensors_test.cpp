#include "io/safetensors.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include "io/file.h"
#include "support.h"
#include "tests/support/paths.h"

namespace neuroshard::io {
BOOST_AUTO_TEST_SUITE(safetensors)

namespace {

using test::check_prefixes_refused;
using test::check_refused;
using test::TemporaryFolder;
using test::value_of;

Result<TensorFile> parse(std::string_view bytes) { return parse_safetensors(bytes, "f"); }

/// A file of this header and this data, put together by hand.
std::string assembled(const std::string& header, const std::string& data = "") {
  std::string bytes(8, '\0');
  for (int byte = 0; byte < 8; ++byte) {
    bytes[static_cast<std::size_t>(byte)] =
        static_cast<char>(static_cast<std::uint64_t>(header.size()) >> (8 * byte) & 0xFF);
  }
  return bytes + header + data;
}

std::string bytes_of(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

/// A file with this one tensor entry and 8 bytes of data.
std::string with_tensor(const std::string& entry) {
  return assembled("{\"w\": " + entry + "}", bytes_of({1, 2}));
}

TensorFile random_file(std::mt19937_64& random) {
  TensorFile file;
  file.metadata["format"] = "neuroshard-cost-models";
  file.metadata["hardware"] = "2 x \"H200\" \xC3\xA9\n";
  for (int tensor = 0; tensor < 5; ++tensor) {
    Tensor& value = file.tensors["layer." + std::to_string(random() % 100)];
    value = {};
    std::int64_t count = 1;
    for (std::uint64_t rank = random() % 4; rank > 0; --rank) {
      value.shape.push_back(static_cast<std::int64_t>(random() % 5));
      count *= value.shape.back();
    }
    for (std::int64_t index = 0; index < count; ++index) {
      value.values.push_back(static_cast<float>(static_cast<std::int64_t>(random())) * 1e-17F);
    }
  }
  return file;
}

BOOST_AUTO_TEST_CASE(a_file_put_together_by_hand_is_read) {
  const std::string header =
      R"({"b":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},"__metadata__":{"k":"v"},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[20,20]}}  )";
  const TensorFile file = value_of(parse(assembled(header, bytes_of({7, 1, -2, 3.5F, 0}))));
  BOOST_TEST(file.metadata.at("k") == "v");
  BOOST_REQUIRE(file.tensors.size() == 3U);
  BOOST_TEST((file.tensors.at("a") == Tensor{{}, {7}}));
  BOOST_TEST((file.tensors.at("b") == Tensor{{2, 2}, {1, -2, 3.5F, 0}}));
  BOOST_TEST((file.tensors.at("e") == Tensor{{0, 3}, {}}));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_byte_for_byte_as_specified) {
  TensorFile file;
  file.metadata = {{"k", "v"}};
  file.tensors["w"] = {{2}, {1, 2}};
  const std::string header =
      R"({"__metadata__": {"k": "v"}, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  BOOST_TEST((format_safetensors(file) == assembled(padded, bytes_of({1, 2}))));
  BOOST_TEST(padded.size() % 8 == 0U);
  BOOST_TEST((format_safetensors({}) == assembled("{}      ")));
}

BOOST_AUTO_TEST_CASE(random_files_read_back_to_the_same_values) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const TensorFile file = random_file(random);
    const std::string bytes = format_safetensors(file);
    BOOST_REQUIRE((value_of(parse(bytes)) == file));
    BOOST_REQUIRE((format_safetensors(value_of(parse(bytes))) == bytes));
  }
}

BOOST_AUTO_TEST_CASE(the_frame_is_checked) {
  check_refused(parse("").status(), {"f: found 0 bytes, expected a safetensors file"});
  check_refused(parse("1234567").status(), {"f: found 7 bytes"});
  check_refused(parse(std::string(8, '\xFF')).status(), {"18446744073709551615", "at most"});
  check_refused(parse(std::string("\0\0\0\x02\0\0\0\0", 8)).status(), {"33554432", "16777216"});
  check_refused(parse(std::string("\x09\0\0\0\0\0\0\0{}", 10)).status(),
                {"header length of 9, expected at most the 2 bytes"});
  check_refused(parse(std::string(8, '\0')).status(), {"'{'"});
  check_refused(parse(assembled(" {}")).status(), {"'{'"});
  check_refused(parse(assembled("{} x")).status(), {"f (header):1:4: found 'x'"});
  check_refused(parse(assembled("{", "}")).status(), {"f (header):1:2: "});
  check_refused(parse(assembled("{\"a\": 1, \"a\": 2}")).status(), {"'a' twice"});
  check_refused(parse(assembled("{\"\xFF\": 1}")).status(), {"f (header):1:3: ", "UTF-8"});
  check_refused(parse(assembled("{}", "data")).status(), {"found 4 bytes of data, expected 0"});
}

BOOST_AUTO_TEST_CASE(bad_tensors_are_named_with_their_path) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(3)", "f (header): $.w: found 3, expected an object"},
      {R"({"shape": [2], "data_offsets": [0, 8]})", "$.w: found no key 'dtype'"},
      {R"({"dtype": "F64", "shape": [1], "data_offsets": [0, 8]})",
       "$.w.dtype: found 'F64', expected 'F32'"},
      {R"({"dtype": "F32", "data_offsets": [0, 8]})", "$.w: found no key 'shape'"},
      {R"({"dtype": "F32", "shape": 2, "data_offsets": [0, 8]})", "$.w.shape: found 2"},
      {R"({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]})", "$.w.shape[0]: found -2"},
      {R"({"dtype": "F32", "shape": [2.0], "data_offsets": [0, 8]})", "$.w.shape[0]: found 2.0"},
      {R"({"dtype": "F32", "shape": [1,1,1,1,1,1,1,1,2], "data_offsets": [0, 8]})",
       "$.w.shape: found an array of 9, expected at most 8 dimensions"},
      {R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]})",
       "$.w: found a shape of 2^63 bytes or more"},
      {R"({"dtype": "F32", "shape": [2]})", "$.w: found no key 'data_offsets'"},
      {R"({"dtype": "F32", "shape": [2], "data_offsets": [0]})", "found an array of 1"},
      {R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 9]})",
       "$.w.data_offsets[1]: found 9, expected an integer from 0 to 8"},
      {R"({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]})", "data_offsets[1]: found 0"},
      {R"({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]})", "data_offsets[0]: found -8"},
      {R"({"dtype": "F32", "shape": [3], "data_offsets": [0, 8]})",
       "$.w.data_offsets: found an array of 2, expected 12 bytes as the shape says, not 8"},
      {R"({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]})", "found 8 bytes of data"},
      {R"({"dtype": "F32", "shape": [1], "data_offsets": [4, 8]})",
       "found data from byte 4, expected from 0"},
      {R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8], "x": 1})",
       "$.w.x: found an unknown key"},
      {R"({"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "v": )"
       R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 8]})",
       "$.v.data_offsets: found data from byte 0, expected from 4"},
  };
  for (const auto& [entry, message] : cases) {
    check_refused(parse(with_tensor(entry)).status(), {"f (header): ", message});
  }
  check_refused(parse(assembled(R"({"__metadata__": {"k": 1}})")).status(), {"$.__metadata__.k"});
  check_refused(parse(assembled(R"({"__metadata__": []})")).status(), {"$.__metadata__: "});
}

BOOST_AUTO_TEST_CASE(weights_are_finite) {
  const std::string header = R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})";
  const float infinity = std::numeric_limits<float>::infinity();
  check_refused(parse(assembled(header, bytes_of({1, std::nanf("")}))).status(),
                {"$.w: value 1 is NaN"});
  check_refused(parse(assembled(header, bytes_of({-infinity, 1}))).status(),
                {"$.w: value 0 is infinite"});
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  std::mt19937_64 random(5);
  check_prefixes_refused(format_safetensors(random_file(random)), "f", parse);
}

BOOST_AUTO_TEST_CASE(flipped_bits_never_crash) {
  std::mt19937_64 random(5);
  const std::string bytes = format_safetensors(random_file(random));
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const Result<TensorFile> file = parse(flipped);
    if (!file.ok()) check_refused(file.status(), {"f"});
  }
}

BOOST_AUTO_TEST_CASE(the_reference_models_are_read) {
  for (const int devices : {4, 8}) {
    const std::optional<std::string> path = test::data_file(
        "reference/cost_models_" + std::to_string(devices) + "_devices.safetensors");
    if (!path) {
      BOOST_TEST_MESSAGE("skipped: the data folder is not there");
      return;
    }
    const TensorFile file = value_of(parse_safetensors(value_of(read_file(*path)), *path));
    BOOST_TEST(file.metadata.at("format") == "neuroshard-cost-models");
    BOOST_TEST(file.metadata.at("devices") == std::to_string(devices));
    BOOST_TEST(file.tensors.size() == 34U);
    const std::vector<std::int64_t> shape{128, 2 * devices};
    BOOST_TEST(file.tensors.at("forward_comm.0.weight").shape == shape,
               boost::test_tools::per_element());
    BOOST_TEST((value_of(parse(format_safetensors(file))) == file));
  }
}

// The other way round: Python's own reader must accept what we write, and we what it writes.
BOOST_AUTO_TEST_CASE(pythons_safetensors_agrees) {
  const char* chosen = std::getenv("NEUROSHARD_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  if (std::system((python + " -c 'import safetensors, numpy' 2>/dev/null").c_str()) != 0) {
    BOOST_TEST_MESSAGE("skipped: " + python + " has no safetensors and numpy");
    return;
  }
  const TemporaryFolder folder;
  std::mt19937_64 random(9);
  const TensorFile file = random_file(random);
  BOOST_REQUIRE(write_file_atomically(folder.file("in"), format_safetensors(file)).ok());
  const std::string script =
      "import sys\n"
      "from safetensors import safe_open\n"
      "from safetensors.numpy import save_file\n"
      "with safe_open(sys.argv[1], 'np') as f:\n"
      "  save_file({k: f.get_tensor(k) for k in f.keys()}, sys.argv[2], f.metadata())\n";
  BOOST_REQUIRE(write_file_atomically(folder.file("copy.py"), script).ok());
  const std::string command = python + " '" + folder.file("copy.py") + "' '" + folder.file("in") +
                              "' '" + folder.file("out") + "'";
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  BOOST_TEST((value_of(parse(value_of(read_file(folder.file("out"))))) == file));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
