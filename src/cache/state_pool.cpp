#include "cache/state_pool.h"

#include "base/check.h"

namespace hearth {

StatePool::StatePool(std::int32_t num_slots) : held_(static_cast<std::size_t>(num_slots), 0) {
  for (std::int32_t s = num_slots; s-- > 0;) free_.push_back(s);
}

std::int32_t StatePool::allocate() {
  if (free_.empty()) return -1;
  const std::int32_t slot = free_.back();
  free_.pop_back();
  HEARTH_CHECK(!held_[static_cast<std::size_t>(slot)]);
  held_[static_cast<std::size_t>(slot)] = 1;
  return slot;
}

void StatePool::release(std::int32_t slot) {
  HEARTH_CHECK(slot >= 0 && slot < num_slots());
  HEARTH_CHECK(held_[static_cast<std::size_t>(slot)]);
  held_[static_cast<std::size_t>(slot)] = 0;
  free_.push_back(slot);
}

void StatePool::check_integrity() const {
  std::size_t held = 0;
  for (const char h : held_) held += h ? 1 : 0;
  HEARTH_CHECK_EQ(held + free_.size(), held_.size());
  for (const std::int32_t slot : free_) HEARTH_CHECK(!held_[static_cast<std::size_t>(slot)]);
}

}  // namespace hearth
