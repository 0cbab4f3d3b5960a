#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard {

/// One all-to-all, as the networks see it. The backward direction has no starts.
struct CommInput {
  std::span<const float> dims;    ///< sum of dims per device
  std::span<const float> starts;  ///< ms per device; empty when all start together
  std::int64_t batch_size;
};

/// An ordered choice of named inputs of `pooled-devices-mlp`, the communication network for any
/// number of devices: one row a device, its own values and statistics over all devices. Order of
/// the devices does not matter. The list is the metadata `comm_features` of the model file and
/// serves both directions: the backward network gets the names that do not begin with "start", in
/// the same order. A value; thread-safe once made.
///
/// Names: devices, log_devices, log_batch_size; dim (own), dim_mean, dim_max, dim_min, dim_std
/// (population), dim_other (sum of the other devices' dims, what is received), dim_share (own /
/// sum of all; 0 when all are 0); volume, volume_mean, volume_max, volume_min, volume_std: dims x
/// batch size, the values that travel; volume_max_peer: volume_max / devices, the most that one
/// sends another; start, start_mean, start_max, start_min, start_std (ms), and start_wait
/// (start_max - start: how long the last device lets this one wait), start_tail_R with R of 12, 25,
/// 50, 100, 200, 400, 800: how long after the last start the last device is done, ms, if each needs
/// its own volume x 4 bytes / R GB/s (12: 12.5) from its start on.
class CommFeatureSet {
 public:
  CommFeatureSet() = default;
  /// From "dim,dim_max,...". Errors: an unknown or repeated name, listing the known ones; no name
  /// left for the backward network.
  static Result<CommFeatureSet> parse(std::string_view comma_list);

  [[nodiscard]] std::string to_string() const;
  /// Whether an input changes with the batch size, in both directions.
  [[nodiscard]] bool sees_batch_size() const;
  /// Which of the forward (`with_starts`) or backward inputs double with all dims and starts.
  [[nodiscard]] std::vector<bool> proportional(bool with_starts) const;
  /// Number of inputs a device with starts (forward) or without (backward).
  [[nodiscard]] int forward_size() const { return static_cast<int>(forward_.ids.size()); }
  [[nodiscard]] int backward_size() const { return static_cast<int>(backward_.ids.size()); }
  /// Writes [devices, forward_size()] values, or [devices, backward_size()] when input.starts is
  /// empty; unscaled. REQUIRES dims not empty, starts empty or as long.
  void compute(const CommInput& input, std::span<float> out) const;

  /// Positions of the forward (`with_starts`) or backward inputs: first those that are the same for
  /// all devices, then those that are a device's own.
  struct Split {
    std::vector<int> common;
    std::vector<int> own;
  };
  [[nodiscard]] Split split(bool with_starts) const;
  /// What compute() writes, split that way: the values that all devices have in common once, and
  /// [devices, own] others. For predictions, which need a first layer of the common ones only once.
  void compute_split(const CommInput& input, std::span<float> common, std::span<float> own) const;

  friend bool operator==(const CommFeatureSet&, const CommFeatureSet&) = default;

 private:
  /// Indices into the list of known names: in order, and split.
  struct Direction {
    std::vector<int> ids;
    std::vector<int> common;
    std::vector<int> own;

    void add(int id);
    friend bool operator==(const Direction&, const Direction&) = default;
  };
  [[nodiscard]] const Direction& direction(bool with_starts) const {
    return with_starts ? forward_ : backward_;
  }

  Direction forward_;
  Direction backward_;
};

/// What `train comm` uses unless told otherwise.
std::string default_comm_features();

}  // namespace neuroshard
