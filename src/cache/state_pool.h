// state_pool.h — slots of recurrent state, one a running sequence. Ids only: the tensors are the runner's.
//
// Threads   the engine thread only.
// Errors    allocate() gives -1 when no slot is free; freeing what is not held is a bug (HEARTH_CHECK).
#pragma once

#include <cstdint>
#include <vector>

namespace hearth {

class StatePool {
 public:
  explicit StatePool(std::int32_t num_slots);

  std::int32_t num_slots() const { return static_cast<std::int32_t>(held_.size()); }
  std::int32_t num_free() const { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t allocate();  // its contents are whatever was left; a sequence starts from zeros by position 0
  void release(std::int32_t slot);
  void check_integrity() const;

 private:
  std::vector<std::int32_t> free_;
  std::vector<char> held_;
};

}  // namespace hearth
