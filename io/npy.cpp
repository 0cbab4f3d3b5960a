#include "io/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 65536;
constexpr std::int64_t kMaxItems = std::int64_t{1} << 48;

/// Walks through the Python literal of a header: {'descr': '<i8', 'fortran_order': False, ..}.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  bool take(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool quoted(std::string_view& text) {
    skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const std::size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return false;
    text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool integer(std::int64_t& value) {
    skip();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool at_end() {
    skip();
    return rest_.empty();
  }

 private:
  void skip() {
    const std::size_t first = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(std::min(first, rest_.size()));
  }
  std::string_view rest_;
};

bool parse_shape(Literal& literal, std::vector<std::int64_t>& shape) {
  if (!literal.take("(")) return false;
  while (!literal.take(")")) {
    std::int64_t length = -1;
    if (!literal.integer(length) || length < 0 || shape.size() == 2) return false;
    shape.push_back(length);
    if (!literal.take(",")) return literal.take(")");
  }
  return true;
}

Status parse_dictionary(std::string_view text, const std::string& source, NpyHeader& header) {
  const auto malformed = [&] {
    return invalid_input(source + ": found the header " + excerpt(text) +
                         ", expected one of a one- or two-dimensional NumPy array");
  };
  Literal literal(text);
  if (!literal.take("{")) return malformed();
  int known = 0;
  while (!literal.take("}")) {
    std::string_view key;
    std::string_view type;
    if (!literal.quoted(key) || !literal.take(":")) return malformed();
    if (key == "descr" && header.item_bytes == 0 && literal.quoted(type)) {
      if (type != "<i8" && type != "<i4") {
        return invalid_input(source + ": found items of type " + excerpt(type) +
                             ", expected int64 or int32 ('<i8', '<i4')");
      }
      header.item_bytes = type == "<i8" ? 8 : 4;
    } else if (key == "fortran_order") {
      if (literal.take("True")) {
        return invalid_input(source + ": found Fortran order, expected C order");
      }
      if (!literal.take("False")) return malformed();
    } else if (key != "shape" || !header.shape.empty() || !parse_shape(literal, header.shape)) {
      return malformed();
    }
    ++known;
    if (!literal.take(",") && !literal.take("}")) return malformed();
    if (known == 3) break;
  }
  static_cast<void>(literal.take("}"));
  if (known != 3 || header.item_bytes == 0 || header.shape.empty() || !literal.at_end()) {
    return malformed();
  }
  std::int64_t items = 1;
  for (const std::int64_t length : header.shape) {
    if (length > 0 && items > kMaxItems / length) {
      return invalid_input(source + ": found more than 2^48 items, expected fewer");
    }
    items *= length;
  }
  return {};
}

}  // namespace

std::int64_t NpyHeader::items() const {
  std::int64_t items = 1;
  for (const std::int64_t length : shape) items *= length;
  return items;
}

Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& source) {
  const auto at = [&](std::size_t index) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[index]));
  };
  if (!bytes.starts_with(kMagic) || bytes.size() < 10 || at(6) < 1 || at(6) > 3) {
    return invalid_input(source + ": found " + excerpt(bytes.substr(0, 8)) +
                         ", expected a NumPy array file (.npy) of version 1 to 3");
  }
  const bool short_length = at(6) == 1;
  const std::size_t begin = short_length ? 10 : 12;
  if (bytes.size() < begin) return invalid_input(source + ": found a cut-off header");
  std::size_t length = at(8) | at(9) << 8;
  if (!short_length) length |= at(10) << 16 | at(11) << 24;
  if (length > kMaxHeaderBytes || bytes.size() - begin < length) {
    return invalid_input(source + ": found a header of " + std::to_string(length) +
                         " bytes, expected all of it and at most " +
                         std::to_string(kMaxHeaderBytes));
  }
  NpyHeader header;
  header.data_offset = static_cast<std::int64_t>(begin + length);
  NEUROSHARD_RETURN_IF_ERROR(parse_dictionary(bytes.substr(begin, length), source, header));
  return header;
}

std::string format_npy_header(std::span<const std::int64_t> shape) {
  constexpr std::size_t kAligned = 64;  // where the items begin, as NumPy has it
  constexpr std::size_t kFixed = 10;    // magic bytes, version, length
  std::string text = "{'descr': '<i8', 'fortran_order': False, 'shape': (";
  for (std::size_t k = 0; k < shape.size(); ++k) {
    text += (k == 0 ? "" : " ") + std::to_string(shape[k]) + (k + 1 < shape.size() ? "," : "");
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  text.append(kAligned - 1 - (kFixed + text.size()) % kAligned, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

Result<NpyFile> NpyFile::open(const std::string& path) {
  // Not waiting for whoever might write to a pipe of that name, which is no such file.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return invalid_input(path + ": " + std::strerror(errno) + ", expected a readable file");
  }
  NpyFile file(path, descriptor);
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    return invalid_input(path + ": found no regular file, expected a NumPy array file (.npy)");
  }
  std::string head(kMaxHeaderBytes + 12, '\0');
  const ssize_t got = ::pread(descriptor, head.data(), head.size(), 0);
  if (got < 0) return io_error(path + ": " + std::strerror(errno));
  head.resize(static_cast<std::size_t>(got));
  NEUROSHARD_ASSIGN_OR_RETURN(file.header_, parse_npy_header(head, path));
  const std::int64_t expected =
      file.header_.data_offset + file.header_.items() * file.header_.item_bytes;
  if (info.st_size != expected) {
    return invalid_input(path + ": found " + std::to_string(info.st_size) + " bytes, expected " +
                         std::to_string(expected) + " for its shape");
  }
  return file;
}

NpyFile::NpyFile(NpyFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      header_(std::move(other.header_)) {}

NpyFile::~NpyFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status NpyFile::read(std::int64_t first, std::span<std::int64_t> values,
                     std::vector<std::int32_t>& scratch) const {
  const bool narrow = header_.item_bytes == 4;
  if (narrow) scratch.resize(values.size());
  char* target =
      narrow ? reinterpret_cast<char*>(scratch.data()) : reinterpret_cast<char*>(values.data());
  std::int64_t place = header_.data_offset + first * header_.item_bytes;
  for (std::size_t left = values.size() * static_cast<std::size_t>(header_.item_bytes); left > 0;) {
    const ssize_t got = ::pread(descriptor_, target, left, place);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return io_error(path_ + ": " + (got == 0 ? "ended early" : std::strerror(errno)));
    }
    target += got;
    place += got;
    left -= static_cast<std::size_t>(got);
  }
  for (std::size_t index = 0; narrow && index < values.size(); ++index) {
    values[index] = scratch[index];
  }
  return {};
}

}  // namespace neuroshard::io
