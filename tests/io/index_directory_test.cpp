#include "io/tables/index_directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "engine/core/rng.h"
#include "io/file.h"
#include "io/npy.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_error;
using test::check_refused;
using test::TemporaryFolder;
using test::value_of;

/// A .npy file of version 1.0 as NumPy writes it.
template <typename T>
std::string npy(const std::vector<T>& items, const std::string& shape) {
  const std::string type = sizeof(T) == 8 ? "<i8" : "<i4";
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  return bytes;
}

template <typename T>
std::string npy(const std::vector<T>& items) {
  return npy(items, "(" + std::to_string(items.size()) + ",)");
}

void write(const TemporaryFolder& folder, const std::string& name, const std::string& bytes) {
  BOOST_REQUIRE(write_file_atomically(folder.file(name), bytes).ok());
}

/// Lookups of tables x batch bags, drawn with repetitions.
struct Lookups {
  std::int64_t tables;
  std::int64_t batch;
  std::vector<std::int64_t> indices{};
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> lengths{};
};

Lookups draw(Rng& rng, std::int64_t tables, std::int64_t batch) {
  Lookups lookups{tables, batch};
  for (std::int64_t table = 0; table < tables; ++table) {
    const std::uint64_t rows = std::uint64_t{1} << rng.below(20);
    const std::uint64_t longest = rng.below(6) == 0 ? 1 : 1 + rng.below(40);
    for (std::int64_t sample = 0; sample < batch; ++sample) {
      const auto length = static_cast<std::int64_t>(rng.below(longest));
      for (std::int64_t k = 0; k < length; ++k) {
        const double place = rng.uniform();
        lookups.indices.push_back(
            static_cast<std::int64_t>(static_cast<double>(rows) * place * place * place));
      }
      lookups.lengths.push_back(length);
      lookups.offsets.push_back(static_cast<std::int64_t>(lookups.indices.size()));
    }
  }
  return lookups;
}

void write(const TemporaryFolder& folder, const Lookups& lookups) {
  write(folder, "indices.npy", npy(lookups.indices));
  write(folder, "offsets.npy", npy(lookups.offsets));
  write(folder, "lengths.npy",
        npy(lookups.lengths,
            "(" + std::to_string(lookups.tables) + ", " + std::to_string(lookups.batch) + ")"));
}

/// Counted one by one.
IndexStatistics brute_force(const Lookups& lookups, std::int64_t table) {
  const auto bag = static_cast<std::size_t>(table * lookups.batch);
  const std::int64_t begin = lookups.offsets[bag];
  const std::int64_t end = lookups.offsets[bag + static_cast<std::size_t>(lookups.batch)];
  std::map<std::int64_t, std::int64_t> counts;
  IndexStatistics statistics;
  for (std::int64_t place = begin; place < end; ++place) {
    const std::int64_t row = lookups.indices[static_cast<std::size_t>(place)];
    statistics.rows = std::max(statistics.rows, row + 1);
    ++counts[row];
  }
  statistics.lookups = end - begin;
  statistics.pooling_factor = static_cast<double>(end - begin) / static_cast<double>(lookups.batch);
  statistics.distinct = static_cast<std::int64_t>(counts.size());
  for (const auto& [row, count] : counts) {
    int bin = 0;
    while (count > reuse_bin_range(bin).high) ++bin;
    ++statistics.bins[static_cast<std::size_t>(bin)];
    statistics.lookups_of_bins[static_cast<std::size_t>(bin)] += count;
    if (count > 1) statistics.hottest.push_back({row, count});
  }
  std::stable_sort(statistics.hottest.begin(), statistics.hottest.end(),
                   [](const CountedRow& a, const CountedRow& b) { return a.lookups > b.lookups; });
  for (std::int64_t sample = 0; sample < lookups.batch; ++sample) {
    std::int64_t least = INT64_MAX;
    const std::size_t own = bag + static_cast<std::size_t>(sample);
    for (std::int64_t place = lookups.offsets[own]; place < lookups.offsets[own + 1]; ++place) {
      least = std::min(least, counts[lookups.indices[static_cast<std::size_t>(place)]]);
    }
    int bin = 0;
    while (least > reuse_bin_range(bin).high) ++bin;
    ++statistics.bags[static_cast<std::size_t>(bin)];
  }
  return statistics;
}

void check_equal(const IndexDirectory& directory, const Lookups& lookups) {
  BOOST_TEST(directory.batch_size == lookups.batch);
  BOOST_REQUIRE(directory.tables.size() == static_cast<std::size_t>(lookups.tables));
  for (std::int64_t table = 0; table < lookups.tables; ++table) {
    const IndexStatistics& found = directory.tables[static_cast<std::size_t>(table)];
    const IndexStatistics expected = brute_force(lookups, table);
    BOOST_TEST(found.lookups == expected.lookups);
    BOOST_TEST(found.pooling_factor == expected.pooling_factor);
    BOOST_TEST(found.rows == expected.rows);
    BOOST_TEST(found.distinct == expected.distinct);
    BOOST_TEST(found.bins == expected.bins, boost::test_tools::per_element());
    BOOST_TEST(found.lookups_of_bins == expected.lookups_of_bins, boost::test_tools::per_element());
    BOOST_TEST(found.bags == expected.bags, boost::test_tools::per_element());
    BOOST_REQUIRE(found.hottest.size() == expected.hottest.size());
    for (std::size_t k = 0; k < found.hottest.size(); ++k) {
      BOOST_TEST(found.hottest[k].row == expected.hottest[k].row);
      BOOST_TEST(found.hottest[k].lookups == expected.hottest[k].lookups);
    }
  }
}

/// Two tables, batch 2: bags {5, 5}, {7} and {}, {0, 5, 0}.
const Lookups kSmall{2, 2, {5, 5, 7, 0, 5, 0}, {0, 2, 3, 3, 6}, {2, 1, 0, 3}};

/// A folder whose file `name` has been replaced.
Status with(const std::string& name, const std::string& bytes, std::int64_t batch_size = 0) {
  const TemporaryFolder folder;
  write(folder, kSmall);
  write(folder, name, bytes);
  const Status status = read_index_directory(folder.path(), {.batch_size = batch_size}).status();
  if (!status.ok()) check_refused(status, {folder.path()});
  return status;
}

BOOST_AUTO_TEST_SUITE(index_directory)

BOOST_AUTO_TEST_CASE(a_small_directory_by_hand) {
  const TemporaryFolder folder;
  write(folder, kSmall);
  const IndexDirectory directory = value_of(read_index_directory(folder.path(), {.hottest = true}));
  check_equal(directory, kSmall);
  BOOST_TEST(directory.tables[0].histogram()[0] == 0.5);
  BOOST_TEST(directory.tables[0].histogram()[1] == 0.5);
  BOOST_TEST(directory.tables[0].pooling_factor == 1.5);
  // Rows 5 and 7 have 2 lookups and 1, and the bag of row 5 alone has no colder one.
  const HotCoverage coverage = directory.tables[0].hot_coverage();
  BOOST_TEST(coverage.lookups[1] == 2.0 / 3);
  BOOST_TEST(coverage.bags[1] == 0.5);
  BOOST_TEST(coverage.bags[0] == 1);
  BOOST_TEST(directory.tables[0].unseen_share() == 1.0 / 3);
  // A bag without lookups has no cold row; the other has row 5, looked up once.
  BOOST_TEST(directory.tables[1].hot_coverage().bags[1] == 0.5);
  BOOST_TEST(read_index_directory(folder.path(), {}).value().tables[0].hottest.empty());
}

BOOST_AUTO_TEST_CASE(random_directories_equal_a_brute_force_count) {
  Rng rng(5);
  for (int round = 0; round < 12; ++round) {
    const TemporaryFolder folder;
    const Lookups lookups = draw(rng, rng.between(1, 7), rng.between(1, 3000));
    write(folder, lookups);
    for (const int threads : {1, 3}) {
      // So little memory that wide tables are counted in many parts.
      for (const std::int64_t memory : {std::int64_t{1}, std::int64_t{1} << 28}) {
        check_equal(
            value_of(read_index_directory(
                folder.path(), {.threads = threads, .memory_bytes = memory, .hottest = true})),
            lookups);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(narrow_items_and_a_batch_size_instead_of_lengths) {
  const TemporaryFolder folder;
  write(folder, "indices.npy", npy(std::vector<std::int32_t>{5, 5, 7, 0, 5, 0}));
  write(folder, "offsets.npy", npy(std::vector<std::int32_t>{0, 2, 3, 3, 6}));
  check_equal(value_of(read_index_directory(folder.path(), {.batch_size = 2, .hottest = true})),
              kSmall);
  check_refused(read_index_directory(folder.path(), {}).status(),
                {"offsets.npy: found no lengths"});
  write(folder, "lengths.npy", npy(kSmall.lengths));  // of one dimension, as TorchRec has them
  check_equal(value_of(read_index_directory(folder.path(), {.batch_size = 2, .hottest = true})),
              kSmall);
  std::remove((folder.path() + "/lengths.npy").c_str());
  check_refused(read_index_directory(folder.path(), {.batch_size = 3}).status(),
                {"offsets.npy: found 5 items, expected tables x batch + 1"});
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_together_is_refused) {
  using Items = std::vector<std::int64_t>;
  const std::pair<Items, std::string> offsets[] = {
      {{1, 2, 3, 3, 6}, "item 0 is 1, expected 0"},
      {{0, 2, 1, 3, 6}, "item 2 is 1, expected 2 to 6"},
      {{0, 2, 3, 3, 7}, "item 4 is 7, expected 3 to 6"},
      {{0, 2, 3, 3, 5}, "lengths.npy: item 3 is 3, expected 2"},
      {{0, 1, 3, 3, 6}, "lengths.npy: item 0 is 2, expected 1"},
      {{0, 2, 3, 6}, "lengths.npy: found 4 items"},
      {{}, "lengths.npy: found 4 items"}};
  for (const auto& [items, message] : offsets) {
    check_refused(with("offsets.npy", npy(items)), {message});
  }
  check_refused(with("indices.npy", npy(Items{5, 5, 7, 0, -5, 0})),
                {"item 4 is -5, expected a row"});
  check_refused(with("indices.npy", npy(Items{5, 5, INT64_MAX, 0, 5, 0})),
                {"item 2 is 9223372036"});
  check_refused(with("indices.npy", npy(Items{5, 5, 7, 0, 5, 0, 1})),
                {"offsets.npy: item 4 is 6, expected the 7 items"});
  check_refused(with("lengths.npy", npy(Items{2, 1, 0, 3})),
                {"lengths.npy: found one dimension of 4 items, expected [tables, batch]"});
  check_refused(with("lengths.npy", npy(Items{2, 1, 0})), {"3 items in 1 dimensions"});
  check_refused(with("lengths.npy", npy(Items{2, 1, 0, 3}, "(2, 2)"), 4), {"found a batch of 2"});
  check_refused(read_index_directory("/nowhere", {}).status(), {"/nowhere/offsets.npy"});
}

BOOST_AUTO_TEST_CASE(a_cancelled_count_says_so) {
  const TemporaryFolder folder;
  write(folder, kSmall);
  CancelToken cancel;
  cancel.cancel();
  check_error(read_index_directory(folder.path(), {.cancel = &cancel}).status(),
              StatusCode::kCancelled, {});
}

BOOST_AUTO_TEST_CASE(headers_that_are_not_ours_are_refused) {
  const std::string good = npy(std::vector<std::int64_t>{1, 2, 3});
  const auto header = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to + std::string(from.size() - to.size(), ' '));
    return parse_npy_header(bytes, "f").status();
  };
  BOOST_TEST(value_of(parse_npy_header(good, "f")).items() == 3);
  check_refused(header("'<i8'", "'<f8'"), {"f: found items of type '<f8'"});
  check_refused(header("'<i8'", "'>i8'"), {"f: found items of type '>i8'"});
  check_refused(header("False", "True"), {"Fortran order"});
  check_refused(header("(3,)", "(-3)"), {"f: found the header"});
  check_refused(header("(3,)", "()"), {"f: found the header"});
  check_refused(header("'shape'", "'shade'"), {"f: found the header"});
  check_refused(header("'descr'", "'shape'"), {"f: found the header"});
  check_refused(header("}", "]"), {"f: found the header"});
  check_refused(parse_npy_header("", "f").status(), {"f: found ''"});
  check_refused(parse_npy_header("\x93NUMPY\x04", "f").status(), {"f: found"});
  for (std::size_t size = 0; size < good.find('\n'); ++size) {
    check_refused(parse_npy_header(good.substr(0, size), "f").status(), {"f: found"});
  }
  const std::string wide = npy(std::vector<std::int64_t>{}, "(99999999999, 99999999999)");
  check_refused(parse_npy_header(wide, "f").status(), {"2^48"});
}

BOOST_AUTO_TEST_CASE(files_that_are_cut_off_are_refused) {
  const std::string good = npy(kSmall.indices);
  check_refused(with("indices.npy", good.substr(0, good.size() - 1)), {"found 175 bytes", "176"});
  check_refused(with("indices.npy", good + "x"), {"indices.npy: found"});
  check_refused(with("indices.npy", ""), {"indices.npy: found ''"});
}

BOOST_AUTO_TEST_CASE(nobody_is_waited_for_at_a_pipe) {
  const TemporaryFolder folder;
  write(folder, kSmall);
  std::filesystem::remove(folder.file("indices.npy"));
  BOOST_REQUIRE(::mkfifo(folder.file("indices.npy").c_str(), 0600) == 0);
  check_refused(read_index_directory(folder.path(), {}).status(),
                {"indices.npy: found no regular file"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
