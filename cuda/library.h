#pragma once

#include <string>

#include "engine/core/status.h"

namespace neuroshard::cuda {

/// A shared library that is opened when it is needed and never closed. A value; const use is
/// thread-safe.
class Library {
 public:
  /// Tries `file` (such as "libnccl.so.2") where the system looks, then in the folders
  /// NEUROSHARD_CUDA_LIBRARIES (several with ':' between them), CUDA_HOME/lib64 and
  /// /usr/local/cuda/lib64.
  /// Errors: kUnavailable: what the loader said of the first path that is there, if one is, or of
  /// `file`.
  static Result<Library> open(const std::string& file);

  /// Sets `function` to the symbol `name`. Errors: kUnavailable naming both.
  template <typename Function>
  Status find(const char* name, Function*& function) const {
    NEUROSHARD_ASSIGN_OR_RETURN(void* const address, symbol(name));
    function = reinterpret_cast<Function*>(address);
    return {};
  }

 private:
  Library(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  Result<void*> symbol(const char* name) const;

  void* handle_;
  std::string file_;
};

}  // namespace neuroshard::cuda
