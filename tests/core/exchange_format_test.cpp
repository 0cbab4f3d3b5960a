// In which numbers exchanges travel: words, bytes, pairs.
#include "engine/core/exchange_format.h"

#include <boost/test/unit_test.hpp>

namespace neuroshard {
BOOST_AUTO_TEST_SUITE(exchange_format)

BOOST_AUTO_TEST_CASE(bytes_are_those_of_fbgemms_codecs) {
  // calc_quantized_size() of fbgemm_gpu/quantize_comm.py: rows of r values are ceil4(r) + 8 bytes.
  BOOST_TEST(exchange_bytes(1024, Precision::kFp32) == 4096.0);
  BOOST_TEST(exchange_bytes(1024, Precision::kFp16) == 2048.0);
  BOOST_TEST(exchange_bytes(1024, Precision::kBf16) == 2048.0);
  BOOST_TEST(exchange_bytes(1024, Precision::kInt8) == 1280.0);  // 32 rows of 40
  BOOST_TEST(exchange_bytes(1024, Precision::kFp8) == 1088.0);   // 8 rows of 136
  for (const Precision precision : all_precisions()) {
    BOOST_TEST(exchange_bytes(0, precision) == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(words_are_read_as_they_are_written) {
  const auto all = exchange_formats_of(PrecisionSet::all());
  BOOST_TEST(all.size() == 25u);
  BOOST_TEST(is_exact(all.front()));
  for (const ExchangeFormat& format : all) {
    const Result<ExchangeFormat> read = parse_exchange_format(to_string(format));
    BOOST_REQUIRE(read.ok());
    BOOST_TEST((*read == format));
  }
  BOOST_TEST(
      (*parse_exchange_format("fp16") == ExchangeFormat{Precision::kFp16, Precision::kFp16}));
  BOOST_TEST(
      (*parse_exchange_format("int8,bf16") == ExchangeFormat{Precision::kInt8, Precision::kBf16}));
  for (const char* bad :
       {"", ",", "fp16,", ",fp16", "fp4", "FP16", "fp16,fp16,fp16", "fp16, bf16"}) {
    BOOST_TEST(!parse_exchange_format(bad).ok(), bad);
  }
}

BOOST_AUTO_TEST_CASE(sums_have_no_scales) {
  for (const Precision precision : all_precisions()) {
    BOOST_TEST(row_values(summed_forward(precision)) == 0);
    BOOST_TEST(row_values(summed_backward(precision)) == 0);
    if (row_values(precision) > 0) continue;
    BOOST_TEST((summed_forward(precision) == precision));
    BOOST_TEST((summed_backward(precision) == precision));
  }
  BOOST_TEST((summed_forward(Precision::kInt8) == Precision::kFp16));
  BOOST_TEST((summed_backward(Precision::kFp8) == Precision::kBf16));
}

BOOST_AUTO_TEST_CASE(a_set_has_what_it_is_of) {
  const PrecisionSet plain(Precision::kFp32);
  BOOST_TEST(plain.has(ExchangeFormat{}));
  BOOST_TEST(!plain.has({Precision::kFp32, Precision::kBf16}));
  BOOST_TEST(exchange_formats_of(plain).size() == 1u);
  BOOST_TEST(PrecisionSet::all().has({Precision::kInt8, Precision::kBf16}));
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard
