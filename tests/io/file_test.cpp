#include "io/file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "io/descriptor.h"
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

/// A small file system on a folder, where the test may mount one.
class SmallDisk {
 public:
  SmallDisk(std::string folder, const char* options, unsigned long flags)
      : folder_(std::move(folder)),
        mounted_(::mount("tmpfs", folder_.c_str(), "tmpfs", flags, options) == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount(folder_.c_str());
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_;
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
  int left = 0;
  for (int round = 0; round < 60; ++round) {
    {
      const Writer writer(path);
      while (!std::filesystem::exists(path)) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(200 + 97 * round));
    }
    const std::string bytes = value_of(read_file(path));
    BOOST_TEST(bytes == std::string(Writer::kBytes, bytes[0]));
    left += folder.entries() > 1 ? 1 : 0;
  }
  BOOST_TEST_MESSAGE(left << " of 60 killed writers left a temporary file");
  BOOST_TEST(left <= 6);  // a writer has a named one for a moment only
  BOOST_REQUIRE(write_file_atomically(path, "last").ok());
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

// On device nodes of the test's own: as root, a writer that renames over its target would replace
// the machine's /dev/full.
BOOST_AUTO_TEST_CASE(a_full_device_is_an_error_and_stays_a_device) {
  const TemporaryFolder folder;
  const std::string full = folder.file("full");
  const std::string null = folder.file("null");
  if (::mknod(full.c_str(), S_IFCHR | 0666, ::makedev(1, 7)) != 0 ||
      ::mknod(null.c_str(), S_IFCHR | 0666, ::makedev(1, 3)) != 0 || !std::ofstream(null)) {
    BOOST_TEST_MESSAGE("skipped: device nodes cannot be made and used here");
    return;
  }
  check_error(write_file_atomically(full, "bytes"), StatusCode::kIoError, {full, "No space left"});
  BOOST_TEST(std::filesystem::is_character_file(full));
  BOOST_TEST(write_file_atomically(null, "bytes").ok());
  BOOST_TEST(std::filesystem::is_character_file(null));
  BOOST_TEST(folder.entries() == 2);
}

BOOST_AUTO_TEST_CASE(a_pipe_is_written_in_place) {
  const TemporaryFolder folder;
  const std::string path = folder.file("pipe");
  BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  BOOST_REQUIRE(reader >= 0);
  const Status written = write_file_atomically(path, "bytes");
  BOOST_TEST(written.ok(), written.message());
  char bytes[8];
  BOOST_TEST(::read(reader, bytes, sizeof bytes) == 5);
  ::close(reader);
  BOOST_TEST(std::filesystem::is_fifo(path));
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_is_not_open_is_an_error) {
  check_error(write_file_atomically("/dev/fd/12345", "bytes"), StatusCode::kIoError,
              {"/dev/fd/12345", "Bad file descriptor"});
}

BOOST_AUTO_TEST_CASE(a_target_that_cannot_be_leaves_nothing_behind) {
  const TemporaryFolder folder;
  check_error(write_file_atomically(folder.file("no/such/out"), "x"), StatusCode::kIoError,
              {"no/such/out", "No such file"});
  check_error(write_file_atomically(folder.path(), "x"), StatusCode::kIoError, {"directory"});
  BOOST_REQUIRE(write_file_atomically(folder.file("plain"), "x").ok());
  check_error(write_file_atomically(folder.file("plain/out"), "x"), StatusCode::kIoError,
              {"Not a directory"});
  check_error(write_file_atomically(folder.file(std::string(300, 'n')), "x"), StatusCode::kIoError,
              {"name too long"});
  check_error(write_file_atomically("", "x"), StatusCode::kIoError, {"cannot write"});
  for (const std::string& path :
       {folder.file("no/such/out"), folder.file("plain/out"), folder.path()}) {
    BOOST_TEST(check_writable(path).message() == write_file_atomically(path, "x").message());
  }
  BOOST_TEST(check_writable(folder.file("new")).ok());
  BOOST_TEST(folder.entries() == 1);
}

/// Leaves a process one descriptor that it may open, while it lives.
class OneMoreDescriptor {
 public:
  OneMoreDescriptor() {
    BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const int next = ::dup(STDOUT_FILENO);
    ::close(next);
    const rlimit one_more{static_cast<rlim_t>(next) + 1, before_.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &one_more) == 0);
  }
  OneMoreDescriptor(const OneMoreDescriptor&) = delete;
  OneMoreDescriptor& operator=(const OneMoreDescriptor&) = delete;
  ~OneMoreDescriptor() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_synced_is_written_to_once) {
  const TemporaryFolder folder;
  const std::string path = folder.file("plan.json");
  const Descriptor watch(::inotify_init1(IN_NONBLOCK));
  BOOST_REQUIRE(::inotify_add_watch(watch.get(), folder.path().c_str(), IN_MOVED_TO) >= 0);
  Status status;
  {
    const OneMoreDescriptor only;  // for the file: there is none to sync its folder by
    status = write_file_atomically(path, "new");
  }
  check_error(status, StatusCode::kIoError, {path, "written, but lost if", "Too many open files"});
  BOOST_TEST(value_of(read_file(path)) == "new");
  BOOST_TEST(folder.entries() == 1);
  std::array<char, 4096> events{};
  const ssize_t read = ::read(watch.get(), events.data(), events.size());
  BOOST_REQUIRE(read > 0);
  inotify_event first{};
  std::memcpy(&first, events.data(), sizeof first);
  BOOST_TEST(static_cast<std::size_t>(read) == sizeof first + first.len);  // a single one
}

BOOST_AUTO_TEST_CASE(a_full_disk_keeps_the_old_file_and_nothing_else) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "size=64k", 0);
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: a tmpfs cannot be mounted here");
    return;
  }
  const std::string path = folder.file("plan.json");
  BOOST_REQUIRE(write_file_atomically(path, "old").ok());
  check_error(write_file_atomically(path, std::string(100000, 'x')), StatusCode::kIoError,
              {path, "No space left"});
  BOOST_TEST(value_of(read_file(path)) == "old");
  check_error(write_file_atomically(folder.file("new.json"), std::string(100000, 'x')),
              StatusCode::kIoError, {"new.json"});
  BOOST_TEST(folder.entries() == 1);
}

BOOST_AUTO_TEST_CASE(a_read_only_disk_is_an_error) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path(), "size=64k", MS_RDONLY);
  if (!disk.mounted()) {
    BOOST_TEST_MESSAGE("skipped: a tmpfs cannot be mounted here");
    return;
  }
  check_error(write_file_atomically(folder.file("out"), "x"), StatusCode::kIoError,
              {folder.file("out"), "Read-only"});
  BOOST_TEST(folder.entries() == 0);
}

BOOST_AUTO_TEST_CASE(a_read_only_file_or_folder_is_an_error) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  BOOST_REQUIRE(write_file_atomically(path, "old").ok());
  std::filesystem::create_directory(folder.file("sub"));
  BOOST_REQUIRE(::chmod(path.c_str(), 0444) == 0);
  BOOST_REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  BOOST_REQUIRE(::chmod(folder.file("sub").c_str(), 0555) == 0);
  const bool root = ::geteuid() == 0;  // root may write anywhere: act as nobody
  BOOST_REQUIRE(!root || ::seteuid(65534) == 0);
  const Status file_status = write_file_atomically(path, "new");
  const Status folder_status = write_file_atomically(folder.file("sub/out"), "new");
  const Status file_check = check_writable(path);
  const Status folder_check = check_writable(folder.file("sub/out"));
  BOOST_REQUIRE(!root || ::seteuid(0) == 0);
  check_error(file_status, StatusCode::kIoError, {path, "Permission denied"});
  check_error(folder_status, StatusCode::kIoError, {"sub/out", "Permission denied"});
  BOOST_TEST(value_of(read_file(path)) == "old");
  BOOST_TEST(folder.entries() == 2);
  BOOST_REQUIRE(::chmod(folder.file("sub").c_str(), 0755) == 0);
  BOOST_TEST(file_check.message() == file_status.message());
  BOOST_TEST(folder_check.message() == folder_status.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace neuroshard::io
