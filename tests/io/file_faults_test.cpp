// Files that cannot be written: full devices and disks, closed descriptors, folders that refuse.
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <fstream>

#include "io/descriptor.h"
#include "io/file.h"
#include "support.h"

namespace neuroshard::io {
namespace {

using test::check_error;
using test::TemporaryFolder;
using test::value_of;

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

BOOST_AUTO_TEST_SUITE(file_faults)

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
