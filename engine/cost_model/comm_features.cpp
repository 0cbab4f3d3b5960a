#include "engine/cost_model/comm_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "io/text.h"

namespace neuroshard {
namespace {

// Statistics of one value over the devices, summed in the order of the devices.
struct Statistics {
  explicit Statistics(std::span<const float> values) {
    if (values.empty()) return;
    max = min = values.front();
    for (const float value : values) {
      sum += value;
      max = std::max(max, double{value});
      min = std::min(min, double{value});
    }
    const auto count = static_cast<double>(values.size());
    mean = sum / count;
    double squares = 0;
    for (const float value : values) squares += (value - mean) * (value - mean);
    deviation = std::sqrt(squares / count);
  }

  double sum = 0;
  double mean = 0;
  double max = 0;
  double min = 0;
  double deviation = 0;
};

// From the links between hosts to those inside one; the network picks what its hardware has.
constexpr std::array kTailGigabytesPerSecond{12.5, 25.0, 50.0, 100.0, 200.0, 400.0, 800.0};
using Tails = std::array<double, kTailGigabytesPerSecond.size()>;

// When the slowest device would be done after the last start, ms, at each of the speeds.
Tails tails_of(const CommInput& input, double last_start) {
  Tails tails{};
  Tails ms_per_dim{};
  for (std::size_t k = 0; k < tails.size(); ++k) {
    // 4 bytes a value; GB are 10^9 bytes.
    ms_per_dim[k] = static_cast<double>(input.batch_size) * 4e-6 / kTailGigabytesPerSecond[k];
  }
  for (std::size_t device = 0; device < input.starts.size(); ++device) {
    const double start = input.starts[device] - last_start;
    for (std::size_t k = 0; k < tails.size(); ++k) {
      tails[k] = std::max(tails[k], start + input.dims[device] * ms_per_dim[k]);
    }
  }
  return tails;
}

struct Exchange {
  explicit Exchange(const CommInput& input)
      : devices(static_cast<double>(input.dims.size())),
        batch(static_cast<double>(input.batch_size)),
        dims(input.dims),
        starts(input.starts),
        tails(tails_of(input, starts.max)) {}

  double devices;
  double batch;
  Statistics dims;
  Statistics starts;
  Tails tails;
};

struct Own {
  double dim = 0;
  double start = 0;
};

/// A device's own input reads both, one that all devices have in common the exchange alone.
struct KnownInput {
  std::string_view name;
  double (*formula)(const Exchange&, const Own&);
  bool own = false;
};

using E = Exchange;
using O = Own;
constexpr std::array kKnown{
    KnownInput{"devices", [](const E& e, const O&) { return e.devices; }},
    KnownInput{"log_devices", [](const E& e, const O&) { return std::log(e.devices); }},
    KnownInput{"log_batch_size", [](const E& e, const O&) { return std::log(e.batch); }},
    KnownInput{"dim", [](const E&, const O& o) { return o.dim; }, true},
    KnownInput{"dim_mean", [](const E& e, const O&) { return e.dims.mean; }},
    KnownInput{"dim_max", [](const E& e, const O&) { return e.dims.max; }},
    KnownInput{"dim_min", [](const E& e, const O&) { return e.dims.min; }},
    KnownInput{"dim_std", [](const E& e, const O&) { return e.dims.deviation; }},
    KnownInput{"dim_other", [](const E& e, const O& o) { return e.dims.sum - o.dim; }, true},
    KnownInput{"dim_share",
               [](const E& e, const O& o) { return e.dims.sum > 0 ? o.dim / e.dims.sum : 0; },
               true},
    KnownInput{"volume", [](const E& e, const O& o) { return e.batch * o.dim; }, true},
    KnownInput{"volume_mean", [](const E& e, const O&) { return e.batch * e.dims.mean; }},
    KnownInput{"volume_max", [](const E& e, const O&) { return e.batch * e.dims.max; }},
    KnownInput{"volume_min", [](const E& e, const O&) { return e.batch * e.dims.min; }},
    KnownInput{"volume_max_peer",
               [](const E& e, const O&) { return e.batch * e.dims.max / e.devices; }},
    KnownInput{"volume_std", [](const E& e, const O&) { return e.batch * e.dims.deviation; }},
    KnownInput{"start", [](const E&, const O& o) { return o.start; }, true},
    KnownInput{"start_mean", [](const E& e, const O&) { return e.starts.mean; }},
    KnownInput{"start_max", [](const E& e, const O&) { return e.starts.max; }},
    KnownInput{"start_min", [](const E& e, const O&) { return e.starts.min; }},
    KnownInput{"start_std", [](const E& e, const O&) { return e.starts.deviation; }},
    KnownInput{"start_wait", [](const E& e, const O& o) { return e.starts.max - o.start; }, true},
    KnownInput{"start_tail_12", [](const E& e, const O&) { return e.tails[0]; }},
    KnownInput{"start_tail_25", [](const E& e, const O&) { return e.tails[1]; }},
    KnownInput{"start_tail_50", [](const E& e, const O&) { return e.tails[2]; }},
    KnownInput{"start_tail_100", [](const E& e, const O&) { return e.tails[3]; }},
    KnownInput{"start_tail_200", [](const E& e, const O&) { return e.tails[4]; }},
    KnownInput{"start_tail_400", [](const E& e, const O&) { return e.tails[5]; }},
    KnownInput{"start_tail_800", [](const E& e, const O&) { return e.tails[6]; }},
};

const KnownInput& known(int id) { return kKnown[static_cast<std::size_t>(id)]; }

Own own_of(const CommInput& input, std::size_t device) {
  return {input.dims[device], input.starts.empty() ? 0 : input.starts[device]};
}

bool needs_starts(int id) { return known(id).name.starts_with("start"); }

Result<int> find_input(std::string_view name) {
  std::string names;
  for (std::size_t k = 0; k < kKnown.size(); ++k) {
    if (kKnown[k].name == name) return static_cast<int>(k);
    names += (k > 0 ? ", " : "") + std::string(kKnown[k].name);
  }
  return invalid_input("unknown communication feature " + io::excerpt(name) + ", expected one of " +
                       names);
}

}  // namespace

Result<CommFeatureSet> CommFeatureSet::parse(std::string_view comma_list) {
  CommFeatureSet set;
  for (bool more = true; more;) {
    const std::size_t comma = comma_list.find(',');
    const std::string_view name = comma_list.substr(0, comma);
    NEUROSHARD_ASSIGN_OR_RETURN(const int id, find_input(name));
    const std::vector<int>& taken = set.forward_.ids;
    if (std::find(taken.begin(), taken.end(), id) != taken.end()) {
      return invalid_input("communication feature " + io::excerpt(name) + " is named twice");
    }
    set.forward_.add(id);
    if (!needs_starts(id)) set.backward_.add(id);
    more = comma != std::string_view::npos;
    if (more) comma_list.remove_prefix(comma + 1);
  }
  if (set.backward_.ids.empty()) {
    return invalid_input(
        "communication features: every one is about starts, expected at least one "
        "for the backward direction");
  }
  return set;
}

std::string CommFeatureSet::to_string() const {
  std::string text;
  for (const int id : forward_.ids) text += (text.empty() ? "" : ",") + std::string(known(id).name);
  return text;
}

void CommFeatureSet::Direction::add(int id) {
  ids.push_back(id);
  (known(id).own ? own : common).push_back(id);
}

void CommFeatureSet::compute(const CommInput& input, std::span<float> out) const {
  const Exchange exchange(input);
  std::size_t at = 0;
  for (std::size_t device = 0; device < input.dims.size(); ++device) {
    const Own own = own_of(input, device);
    for (const int id : direction(!input.starts.empty()).ids) {
      out[at++] = static_cast<float>(known(id).formula(exchange, own));
    }
  }
}

CommFeatureSet::Split CommFeatureSet::split(bool with_starts) const {
  Split split;
  const std::vector<int>& ids = direction(with_starts).ids;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    (known(ids[k]).own ? split.own : split.common).push_back(static_cast<int>(k));
  }
  return split;
}

void CommFeatureSet::compute_split(const CommInput& input, std::span<float> common,
                                   std::span<float> own) const {
  const Exchange exchange(input);
  const Direction& inputs = direction(!input.starts.empty());
  for (std::size_t k = 0; k < inputs.common.size(); ++k) {
    common[k] = static_cast<float>(known(inputs.common[k]).formula(exchange, {}));
  }
  std::size_t at = 0;
  for (std::size_t device = 0; device < input.dims.size(); ++device) {
    for (const int id : inputs.own) {
      own[at++] = static_cast<float>(known(id).formula(exchange, own_of(input, device)));
    }
  }
}

bool CommFeatureSet::sees_batch_size() const {
  const std::vector<float> dims = {64, 128};
  std::vector<float> small(2 * static_cast<std::size_t>(backward_size()));
  std::vector<float> large = small;
  compute({dims, {}, 1024}, small);
  compute({dims, {}, 4096}, large);
  return small != large;
}

std::vector<bool> CommFeatureSet::proportional(bool with_starts) const {
  const auto inputs = [&](float scale) {
    const std::vector<float> dims = {64 * scale, 192 * scale};
    const std::vector<float> starts = {scale, 3 * scale};
    std::vector<float> out(2 * direction(with_starts).ids.size());
    compute({dims, with_starts ? starts : std::span<const float>{}, 1024}, out);
    return out;
  };
  const std::vector<float> once = inputs(1);
  const std::vector<float> twice = inputs(2);
  std::vector<bool> proportional;
  for (std::size_t k = 0; k < once.size() / 2; ++k) proportional.push_back(twice[k] == 2 * once[k]);
  return proportional;
}

std::string default_comm_features() {
  return "log_devices,volume,volume_mean,volume_max,volume_max_peer,volume_std,"
         "start_mean,start_max,start_std,start_wait,start_tail_12,start_tail_25,"
         "start_tail_50,start_tail_100,start_tail_200,start_tail_400,start_tail_800";
}

}  // namespace neuroshard
