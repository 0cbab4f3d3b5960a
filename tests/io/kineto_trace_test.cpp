// Traces of PyTorch's profiler: two steps of TorchRec 1.9.2 on two processes and gloo, cut down to
// what the reader knows, and one as it is on a GPU.
#include "io/traces/kineto_trace.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "io/file.h"
#include "io/traces/pytorch_trace.h"
#include "tests/io/support.h"

namespace neuroshard::io {
namespace {

using test::check_prefixes_refused;
using test::check_refused;

std::string kineto_folder() {
  return std::string(NEUROSHARD_SOURCE_DIR) + "/tests/fuzz/corpus/kineto_trace";
}

std::string gloo_trace(int rank) {
  return test::value_of(read_file(kineto_folder() + "/gloo_" + std::to_string(rank) + ".json"));
}

/// A file of that text in a folder.
void put(const test::TemporaryFolder& folder, const std::string& name, const std::string& text) {
  BOOST_REQUIRE(write_file_atomically(folder.file(name), text).ok());
}

void swap_words(std::string& text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  BOOST_TEST_REQUIRE(at != std::string::npos, from);
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

Status kineto_refusal(const std::string& from, const std::string& to) {
  std::string text = gloo_trace(0);
  swap_words(text, from, to);
  return parse_kineto_trace(text, "my.json").status();
}

/// An entry of "traceEvents"; times in microseconds.
std::string event(const std::string& category, const std::string& name, double start, double us,
                  const std::string& args) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "tid": 1, "ts": )" + std::to_string(start) + R"(, "dur": )" + std::to_string(us) +
         R"(, "args": {)" + args + "}},\n";
}

/// Operators launch kernels that run later: a lookup of 70 us, another of 40 us that is no lookup
/// and starts `gap` after the lookup's end, a backward pass of 100 us in two kernels, exchanges of
/// 300 and 500 us. Times are since `base`.
std::string gpu_trace(double base = 0, double gap = 1) {
  const std::string exchange = R"("Concrete Inputs": ["", "", "", "[64]", "[64]", "True"],
      "Input type": ["c10::Half", "c10::Half", "", "ScalarList", "ScalarList", "Scalar"],)";
  const auto op = [&](const std::string& name, double start, double us, const std::string& args) {
    return event("cpu_op", name, base + start, us, args);
  };
  const auto kernel = [&](const std::string& name, double start, double us, int id) {
    return event("kernel", name, base + start, us, "\"External id\": " + std::to_string(id));
  };
  return R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": [)"
         "\n" +
         op("fbgemm::split_embedding_codegen_lookup_sgd_function", 10, 5, R"("External id": 1)") +
         op("fbgemm::split_embedding_codegen_forward", 12, 2, R"("External id": 2)") +
         op("aten::mul", 15 + gap, 2, R"("External id": 3)") +
         op("c10d::alltoall_base_", 20, 2, exchange + R"("External id": 4)") +
         op("c10d::alltoall_base_", 30, 3, exchange + R"("External id": 5)") +
         op("record_param_comms", 31, 1, R"("External id": 6)") +
         op("torch::autograd::CppNode<SplitLookupFunction_sgd_Op>", 40, 5,
            R"("External id": 7, "Input Dims": [[8, 12]])") +
         kernel("forward", 100, 70, 2) + kernel("mul", 200, 40, 3) +
         kernel("ncclDevKernel_SendRecv", 300, 300, 4) +
         kernel("ncclDevKernel_SendRecv", 700, 500, 6) + kernel("sort", 1300, 30, 7) +
         kernel("update", 1400, 70, 7) + "{}]}";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kineto_trace)

BOOST_AUTO_TEST_CASE(a_real_trace_says_shapes_splits_and_times) {
  const KinetoRank rank = test::value_of(parse_kineto_trace(gloo_trace(0), "gloo_0.json"));
  BOOST_TEST(rank.steps == 2);
  BOOST_TEST(rank.rank.value() == 0);
  BOOST_TEST(rank.batch_size.value() == 128);
  BOOST_TEST((rank.forward == Precision::kFp32 && rank.backward == Precision::kFp32));
  BOOST_TEST(rank.hardware.empty());
  BOOST_TEST(rank.step.dims.value() == 80);
  BOOST_TEST(rank.step.lookups.value() == 384);
  BOOST_TEST((rank.step.lookups_sent == std::vector<std::int64_t>{192, 512}));
  BOOST_TEST((rank.step.forward_bytes == std::vector<std::int64_t>{20480, 20480}));
  BOOST_TEST((rank.step.backward_bytes == std::vector<std::int64_t>{20480, 12288}));
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(rank.step.forward_ms.value() == 0.1338035, near);
  BOOST_TEST(rank.step.backward_ms.value() == 0.103977, near);
  BOOST_TEST(rank.step.forward_exchange_ms.value() == 1.9408605, near);
  BOOST_TEST(rank.step.backward_exchange_ms.value() == 2.513219, near);
}

BOOST_AUTO_TEST_CASE(it_says_what_the_execution_trace_of_its_run_says) {
  const std::string text = test::value_of(
      read_file(std::string(NEUROSHARD_SOURCE_DIR) + "/tests/fuzz/corpus/pytorch_trace/gloo.json"));
  const PytorchRank shapes = test::value_of(parse_pytorch_trace(text, "gloo.json"));
  KinetoRank rank = test::value_of(parse_kineto_trace(gloo_trace(0), "gloo_0.json"));
  BOOST_TEST((shapes.batch_size == rank.batch_size && shapes.forward == rank.forward));
  rank.step.forward_ms = rank.step.backward_ms = std::nullopt;
  rank.step.forward_exchange_ms = rank.step.backward_exchange_ms = std::nullopt;
  BOOST_TEST((shapes.step == rank.step));
}

BOOST_AUTO_TEST_CASE(on_a_gpu_times_are_those_of_the_kernels_launched_there) {
  const KinetoRank rank = test::value_of(parse_kineto_trace(gpu_trace(), "gpu.json"));
  BOOST_TEST(rank.steps == 1);
  BOOST_TEST(rank.hardware == "NVIDIA H100");
  BOOST_TEST(!rank.rank.has_value());
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(rank.step.forward_ms.value() == 0.07, near);
  BOOST_TEST(rank.step.backward_ms.value() == 0.1, near);
  BOOST_TEST(rank.step.forward_exchange_ms.value() == 0.3, near);
  BOOST_TEST(rank.step.backward_exchange_ms.value() == 0.5, near);
  BOOST_TEST((rank.forward == Precision::kFp16));
  BOOST_TEST((rank.step.forward_bytes == std::vector<std::int64_t>{128}));
  BOOST_TEST((rank.batch_size == 8 && rank.step.dims == 12));
  BOOST_TEST(!rank.step.lookups.has_value());
}

// TorchRec exchanges the outputs of each kind of sharding by themselves.
BOOST_AUTO_TEST_CASE(several_exchanges_are_one_of_each_direction) {
  const KinetoRank one = test::value_of(parse_kineto_trace(gpu_trace(), "gpu.json"));
  // Of 16 values and a millisecond: between the two others, and behind them.
  const auto more = [](double start, int id) {
    return event("cpu_op", "c10d::alltoall_base_", start, 1,
                 R"("Concrete Inputs": ["", "", "", "[16]", "[16]", "True"],
      "Input type": ["c10::Half", "c10::Half", "", "ScalarList", "ScalarList", "Scalar"],
      "External id": )" +
                     std::to_string(id)) +
           event("kernel", "ncclDevKernel_SendRecv", 2000 + start, 1000,
                 "\"External id\": " + std::to_string(id));
  };
  std::string text = gpu_trace();
  text.insert(text.rfind("{}]}"), more(25, 20) + more(35, 21));
  const KinetoRank two = test::value_of(parse_kineto_trace(text, "gpu.json"));
  BOOST_TEST((two.step.forward_bytes == std::vector<std::int64_t>{128 + 32}));
  BOOST_TEST((two.step.backward_bytes == std::vector<std::int64_t>{128 + 32}));
  const auto near = boost::test_tools::tolerance(1e-9);
  BOOST_TEST(two.step.forward_exchange_ms.value() == 1.3, near);
  BOOST_TEST(two.step.backward_exchange_ms.value() == 1.5, near);
  BOOST_TEST((two.forward == one.forward && two.step.dims == one.step.dims));
  // Of three, or where other values come back, nobody knows which is which.
  std::string three = gpu_trace();
  three.insert(three.rfind("{}]}"), more(25, 20));
  std::string other = gpu_trace();
  const std::string splits = R"("[64]", "[64]")";
  other.replace(other.rfind(splits), splits.size(), R"("[60]", "[64]")");
  for (const std::string& unknown : {three, other}) {
    const KinetoRank rank = test::value_of(parse_kineto_trace(unknown, "gpu.json"));
    BOOST_TEST((!rank.forward && !rank.backward && !rank.step.forward_exchange_ms));
    BOOST_TEST((rank.step.forward_bytes.empty() && rank.step.backward_bytes.empty()));
    BOOST_TEST(rank.step.forward_ms.value() == 0.07, near);
  }
}

BOOST_AUTO_TEST_CASE(a_format_that_changes_from_step_to_step_is_none) {
  std::string text = gpu_trace();
  swap_words(text, "c10::Half", "float");
  std::string steps = gpu_trace();
  const auto begin = text.find("{\"ph\"");
  text = text.substr(begin, text.rfind("{}]}") - begin);
  for (const char* place : {"10.", "12.", "16.", "20.", "30.", "31.", "40."}) {
    swap_words(text, "\"ts\": " + std::string(place), "\"ts\": 50" + std::string(place));
  }
  steps.insert(steps.rfind("{}]}"), text + event("user_annotation", "ProfilerStep#1", 0, 4000, "") +
                                        event("user_annotation", "ProfilerStep#2", 4000, 4000, ""));
  const KinetoRank rank = test::value_of(parse_kineto_trace(steps, "gpu.json"));
  BOOST_TEST(rank.steps == 2);
  BOOST_TEST((!rank.forward && !rank.backward));
  BOOST_TEST((rank.step.forward_bytes == std::vector<std::int64_t>{(128 + 256) / 2}));
}

BOOST_AUTO_TEST_CASE(gradients_of_sequences_say_no_batch) {
  std::string text = gpu_trace();
  swap_words(text, "CppNode<SplitLookupFunction", "CppNode<SplitNoBagLookupFunction");
  const KinetoRank rank = test::value_of(parse_kineto_trace(text, "gpu.json"));
  BOOST_TEST(!rank.batch_size.has_value());
  BOOST_TEST(rank.step.dims.value() == 12);
}

BOOST_AUTO_TEST_CASE(a_rank_without_tables_is_one_of_the_ranks) {
  std::string without = gloo_trace(1);
  swap_words(without, "fbgemm::", "other::");
  swap_words(without, "LookupFunction_", "OtherFunction_");
  const test::TemporaryFolder folder;
  put(folder, "worker_0.json", gloo_trace(0));
  put(folder, "worker_1.json", without);
  const StepTrace trace = test::value_of(read_kineto_steps(folder.path()));
  const StepTrace both = test::value_of(read_kineto_steps(kineto_folder()));
  BOOST_TEST((trace.ranks[0] == both.ranks[0]));
  BOOST_TEST((trace.ranks[1].dims == 0 && trace.ranks[1].lookups == 0));
  BOOST_TEST((trace.ranks[1].forward_ms == 0.0 && trace.ranks[1].backward_ms == 0.0));
  BOOST_TEST((trace.ranks[1].forward_bytes == both.ranks[1].forward_bytes));
  BOOST_TEST(trace.ranks[1].forward_exchange_ms.value() > 0);
  swap_words(without, "\"rank\": 1", "\"rank\": 0");
  std::filesystem::remove(folder.file("worker_1.json"));
  put(folder, "worker_0.json", without);
  check_refused(read_kineto_steps(folder.path()).status(), {"no rank with FBGEMM's fused lookups"});
}

BOOST_AUTO_TEST_CASE(times_may_be_since_1970_as_older_pytorch_writes_them) {
  const KinetoRank rank = test::value_of(parse_kineto_trace(gpu_trace(), "gpu.json"));
  const KinetoRank since_1970 =
      test::value_of(parse_kineto_trace(gpu_trace(1691508937187488.0), "gpu.json"));
  BOOST_TEST((since_1970 == rank));
  check_refused(
      parse_kineto_trace(gpu_trace(1.7e18), "gpu.json").status(),  // nanoseconds
      {"gpu.json: $.traceEvents[0].ts: found 17", "expected a number from -9e+15 to 9e+15"});
}

BOOST_AUTO_TEST_CASE(an_operator_that_starts_where_another_ends_is_not_inside_it) {
  const KinetoRank rank = test::value_of(parse_kineto_trace(gpu_trace(), "gpu.json"));
  BOOST_TEST((test::value_of(parse_kineto_trace(gpu_trace(0, 0), "gpu.json")) == rank));
  std::string short_one = gpu_trace();  // of whole microseconds: less than one
  swap_words(short_one, "\"ts\": 30.000000, \"dur\": 3.0", "\"ts\": 31.000000, \"dur\": 0.0");
  BOOST_TEST((test::value_of(parse_kineto_trace(short_one, "gpu.json")) == rank));
}

BOOST_AUTO_TEST_CASE(kernels_that_name_no_operator_say_no_times) {
  RankStep wanted = test::value_of(parse_kineto_trace(gpu_trace(), "gpu.json")).step;
  wanted.forward_ms = wanted.backward_ms = std::nullopt;
  for (const char* other :
       {"\"other\": 2", R"("External id": "2")", R"("External id": 9223372036854775810)"}) {
    std::string text = gpu_trace();
    swap_words(text, R"("dur": 70.000000, "args": {"External id": 2)",
               R"("dur": 70.000000, "args": {)" + std::string(other));
    const KinetoRank rank = test::value_of(parse_kineto_trace(text, "gpu.json"));
    BOOST_TEST((rank.step == wanted), other);
  }
}

BOOST_AUTO_TEST_CASE(a_folder_has_a_file_of_each_rank_whatever_its_name) {
  const StepTrace trace = test::value_of(read_kineto_steps(kineto_folder()));
  BOOST_TEST(trace.ranks.size() == 2u);
  BOOST_TEST((trace.exchange == ExchangeFormat{Precision::kFp32, Precision::kFp32}));
  BOOST_TEST(trace.ranks[1].dims.value() == 48);
  const test::TemporaryFolder folder;
  put(folder, "worker 7.json", gloo_trace(1));  // traces say their ranks
  put(folder, "worker 3.json", gloo_trace(0));
  BOOST_TEST((test::value_of(read_kineto_steps(folder.path())) == trace));
  put(folder, "again.json", gloo_trace(0));
  check_refused(read_kineto_steps(folder.path()).status(),
                {"is of rank 0, as ", "one file of each"});
  std::filesystem::remove(folder.file("again.json"));
  std::filesystem::remove(folder.file("worker 3.json"));
  check_refused(read_kineto_steps(folder.path()).status(), {"found no file of rank 0"});
  std::string other = gloo_trace(0);
  swap_words(other, "[[128, 80]]", "[[64, 80]]");
  put(folder, "other.json", other);
  check_refused(read_kineto_steps(folder.path()).status(), {"another batch"});
  std::filesystem::remove(folder.file("other.json"));
  std::string alone = gloo_trace(1);
  swap_words(alone, "\"rank\": 1", "\"rank\": 0");
  put(folder, "worker 7.json", alone);
  check_refused(read_kineto_steps(folder.path()).status(), {"exchanges of 2 ranks, expected 1"});
  put(folder, "worker 7.json", gpu_trace());  // which does not say it: the name does
  check_refused(read_kineto_steps(folder.path()).status(), {"found no file of rank 0"});
}

BOOST_AUTO_TEST_CASE(times_join_the_shapes_of_the_same_run) {
  StepTrace shapes = test::value_of(read_kineto_steps(kineto_folder()));
  const StepTrace times = shapes;
  shapes.ranks[0].forward_ms.reset();
  shapes.ranks[0].backward_exchange_ms.reset();
  BOOST_TEST(add_kineto_times(times, shapes).ok());
  BOOST_TEST((shapes.ranks == times.ranks));
  StepTrace other = times;
  other.ranks[1].dims = 52;
  check_refused(add_kineto_times(times, other), {"rank 1: found 48 columns", "expected 52"});
  other = times;
  other.batch_size = 64;
  check_refused(add_kineto_times(times, other), {"a batch of 128, expected 64"});
  other.ranks.pop_back();
  check_refused(add_kineto_times(times, other), {"of 2 ranks, expected 1"});
}

BOOST_AUTO_TEST_CASE(what_is_no_such_profile_is_refused) {
  check_refused(parse_kineto_trace("{}", "my.json").status(), {"my.json: $", "traceEvents"});
  check_refused(parse_kineto_trace("\x1f\x8b", "my.json").status(), {"found gzip"});
  check_refused(kineto_refusal("fbgemm::split_embedding_codegen_lookup", "other::lookup"),
                {"my.json: found no operator fbgemm::split"});
  check_refused(kineto_refusal("torch::autograd::CppNode<Split", "torch::Other<Split"),
                {"found 0 backward passes", "expected 1"});
  check_refused(kineto_refusal("\"dur\": ", "\"dur\": -"), {"traceEvents[1].dur"});
  check_refused(kineto_refusal("[[2], [384]", "[[2], [-384]"), {"Input Dims", "-384"});
  check_prefixes_refused(
      gloo_trace(0), "my.json",
      [](std::string_view bytes) { return parse_kineto_trace(bytes, "my.json"); }, 1);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace neuroshard::io
