#include "io/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "io/descriptor.h"
#include "io/safetensors.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_error;
using test::check_refused;
using test::TemporaryFolder;
using test::value_of;
using Clock = std::chrono::steady_clock;

/// Sends the process's standard output into a file while it lives.
class RedirectedStdout {
 public:
  explicit RedirectedStdout(const std::string& path) : saved_(::dup(STDOUT_FILENO)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    BOOST_REQUIRE(saved_ >= 0 && file >= 0);
    BOOST_REQUIRE(::dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    ::close(file);
  }
  RedirectedStdout(const RedirectedStdout&) = delete;
  RedirectedStdout& operator=(const RedirectedStdout&) = delete;
  ~RedirectedStdout() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

/// A process that writes a file over and over, and is killed in the midst of it.
class Writer {
 public:
  static constexpr std::size_t kBytes = 1 << 20;

  explicit Writer(const std::string& path, std::size_t bytes = kBytes) : child_(::fork()) {
    BOOST_REQUIRE(child_ >= 0);
    if (child_ > 0) return;
    for (char byte = 'a';; byte = byte == 'z' ? 'a' : static_cast<char>(byte + 1)) {
      if (!write_file_atomically(path, std::string(bytes, byte)).ok()) ::_exit(1);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    int status = 0;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, &status, 0);
    BOOST_TEST(WIFSIGNALED(status));
  }

 private:
  pid_t child_;
};

BOOST_AUTO_TEST_SUITE(file)

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  for (const std::size_t size : {0UL, 1UL, 4096UL, 3000001UL}) {
    std::string bytes(size, '\0');
    for (std::size_t index = 0; index < size; ++index) bytes[index] = static_cast<char>(index * 31);
    const Status written = write_file_atomically(path, bytes);
    BOOST_TEST(written.ok(), written.message());
    BOOST_TEST((value_of(read_file(path)) == bytes));
    BOOST_TEST(folder.entries() == 1);
  }
}

BOOST_AUTO_TEST_CASE(an_existing_file_keeps_its_mode_and_its_link) {
  const TemporaryFolder folder;
  const std::string real = folder.file("real");
  const std::string link = folder.file("link");
  BOOST_REQUIRE(write_file_atomically(real, "old").ok());
  BOOST_REQUIRE(::chmod(real.c_str(), 0640) == 0);
  std::filesystem::create_symlink("real", link);
  BOOST_REQUIRE(write_file_atomically(link, "new").ok());
  BOOST_TEST(std::filesystem::is_symlink(link));
  BOOST_TEST(value_of(read_file(real)) == "new");
  struct stat info {};
  BOOST_REQUIRE(::stat(real.c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0640U);
}

BOOST_AUTO_TEST_CASE(a_private_file_is_private_while_it_is_written_anew) {
  const TemporaryFolder folder;
  const std::string path = folder.file("private");
  BOOST_REQUIRE(write_file_atomically(path, "old").ok());
  BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
  const Writer writer(path, 32 * Writer::kBytes);  // takes a while
  int looked = 0;
  for (const auto end = Clock::now() + std::chrono::milliseconds(500); Clock::now() < end;) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      struct stat info {};
      if (::lstat(entry.path().c_str(), &info) != 0) continue;  // renamed meanwhile
      ++looked;
      BOOST_REQUIRE_EQUAL(info.st_mode & 077, 0U);
    }
  }
  BOOST_TEST(looked > 0);
}

BOOST_AUTO_TEST_CASE(a_new_file_has_the_mode_that_the_process_gives_new_files) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  const Status written = write_file_atomically(folder.file("new"), "x");
  ::umask(before);
  BOOST_TEST(written.ok(), written.message());
  struct stat info {};
  BOOST_REQUIRE(::stat(folder.file("new").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 0777) == 0640U);
}

BOOST_AUTO_TEST_CASE(a_killed_writer_leaves_whole_files_and_nothing_for_ever) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  for (int round = 0; round < 60; ++round) {
    {
      const Writer writer(path);
      while (!std::filesystem::exists(path)) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(200 + 97 * round));
    }
    const std::string bytes = value_of(read_file(path));
    BOOST_TEST(bytes == std::string(Writer::kBytes, bytes[0]));
  }
  BOOST_REQUIRE(write_file_atomically(path, "last").ok());
  BOOST_TEST(folder.entries() == 1);
}

BOOST_AUTO_TEST_CASE(a_writer_that_dies_half_way_leaves_nothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  BOOST_REQUIRE(write_file_atomically(path, "old").ok());
  const Descriptor unnamed(::open(folder.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!unnamed.is_open()) {
    BOOST_TEST_MESSAGE("skipped: this file system has no files without names");
    return;
  }
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    const rlimit half{Writer::kBytes / 2, Writer::kBytes / 2};
    ::signal(SIGXFSZ, SIG_DFL);  // kills who writes on
    if (::setrlimit(RLIMIT_CORE, &no_core) != 0 || ::setrlimit(RLIMIT_FSIZE, &half) != 0)
      ::_exit(2);
    write_file_atomically(path, std::string(Writer::kBytes, 'n')).ok() ? ::_exit(0) : ::_exit(1);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ));
  BOOST_TEST(value_of(read_file(path)) == "old");
  BOOST_TEST(folder.entries() == 1);
}

BOOST_AUTO_TEST_CASE(a_link_to_no_file_leads_to_a_new_one) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("sub"));
  std::filesystem::create_symlink("sub/later", folder.file("link"));
  std::filesystem::create_symlink(folder.file("link"), folder.file("again"));
  BOOST_REQUIRE(write_file_atomically(folder.file("again"), "new").ok());
  BOOST_TEST(std::filesystem::is_symlink(folder.file("link")));
  BOOST_TEST(value_of(read_file(folder.file("sub/later"))) == "new");
}

BOOST_AUTO_TEST_CASE(a_path_in_the_working_folder_needs_no_slash) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const Status written = write_file_atomically("plain.json", "{}");
  std::filesystem::current_path(before);
  BOOST_TEST(written.ok(), written.message());
  BOOST_TEST(value_of(read_file(folder.file("plain.json"))) == "{}");
}

BOOST_AUTO_TEST_CASE(reading_what_is_no_file_names_the_path) {
  const TemporaryFolder folder;
  check_refused(read_file(folder.file("missing.json")).status(),
                {folder.file("missing.json"), "No such file"});
  check_refused(read_file(folder.path()).status(), {folder.path(), "directory"});
  check_refused(read_file(folder.file("missing.json") + "/x").status(), {"missing.json/x"});
  check_refused(read_file("").status(), {"No such file"});
}

BOOST_AUTO_TEST_CASE(a_file_above_the_limit_is_refused_before_it_is_read) {
  const TemporaryFolder folder;
  const std::string path = folder.file("sparse");
  std::ofstream(path).close();
  std::filesystem::resize_file(path, (1ULL << 31) + 1);
  check_refused(read_file(path).status(), {path, "2147483649 bytes", "at most 2 GiB"});
}

BOOST_AUTO_TEST_CASE(what_no_text_begins_with_is_refused_after_a_block) {
  for (const char* endless : {"/dev/zero", "/dev/urandom"}) {
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_SELF, &before);
    check_refused(read_text_file(endless).status(), {endless, "found byte", " text"});
    ::getrusage(RUSAGE_SELF, &after);
    BOOST_TEST(after.ru_maxrss - before.ru_maxrss < 64 * 1024, endless);
  }
  const TemporaryFolder folder;
  const std::string path = folder.file("text");
  for (const std::string text : {"", "\xEF\xBB\xBF{}", "\t\r\n {}", "\xC3\xA9"}) {
    BOOST_REQUIRE(write_file_atomically(path, text).ok());
    BOOST_TEST(value_of(read_text_file(path)) == text);
  }
  std::filesystem::resize_file(path, (1ULL << 30) + 1);
  check_refused(read_text_file(path).status(), {path, "at most 1 GiB (1073741824)"});
}

BOOST_AUTO_TEST_CASE(what_no_file_of_tensors_begins_with_is_refused_after_a_block) {
  for (const char* endless : {"/dev/zero", "/dev/urandom"}) {
    rusage before{};
    rusage after{};
    ::getrusage(RUSAGE_SELF, &before);
    check_refused(read_safetensors_file(endless).status(), {endless, "found a header"});
    ::getrusage(RUSAGE_SELF, &after);
    BOOST_TEST(after.ru_maxrss - before.ru_maxrss < 64 * 1024, endless);
  }
  const TemporaryFolder folder;
  const std::string path = folder.file("tensors");
  const std::string tensors = format_safetensors({{}, {{"one", {{1}, {1.F}}}}});
  for (const std::string& bytes : {tensors, std::string(), std::string("short")}) {
    BOOST_REQUIRE(write_file_atomically(path, bytes).ok());
    BOOST_TEST(value_of(read_safetensors_file(path)) == bytes);
  }
  std::filesystem::resize_file(path, (1ULL << 28) + 1);
  check_refused(read_safetensors_file(path).status(), {path, "at most 256 MiB (268435456)"});
}

BOOST_AUTO_TEST_CASE(a_pipe_is_read_to_its_end) {
  int ends[2];
  BOOST_REQUIRE(::pipe(ends) == 0);
  BOOST_REQUIRE(::write(ends[1], "through a pipe", 14) == 14);
  ::close(ends[1]);
  BOOST_TEST(value_of(read_file("/proc/self/fd/" + std::to_string(ends[0]))) == "through a pipe");
  ::close(ends[0]);
}

BOOST_AUTO_TEST_CASE(standard_output_has_several_names) {
  const TemporaryFolder folder;
  const std::string path = folder.file("stdout");
  Status dash;
  Status device;
  {
    const RedirectedStdout redirected(path);
    dash = write_file_atomically("-", "one ");
    device = write_file_atomically("/dev/stdout", "two ");
  }
  BOOST_TEST(dash.ok(), dash.message());
  BOOST_TEST(device.ok(), device.message());
  BOOST_TEST(value_of(read_file(path)) == "one two ");
  BOOST_TEST(folder.entries() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
