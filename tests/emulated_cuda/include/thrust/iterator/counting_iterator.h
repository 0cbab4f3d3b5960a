#pragma once

namespace thrust {

/// The numbers from `first` on.
template <typename Number>
class counting_iterator {
 public:
  explicit counting_iterator(Number first) : first_(first) {}
  Number operator[](int i) const { return first_ + static_cast<Number>(i); }

 private:
  Number first_;
};

}  // namespace thrust
