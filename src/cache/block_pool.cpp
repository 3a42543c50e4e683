#include "cache/block_pool.h"

#include "base/check.h"

namespace hearth {

BlockPool::BlockPool(std::int32_t num_blocks, std::int32_t block_tokens)
    : block_tokens_(block_tokens), refs_(static_cast<std::size_t>(num_blocks), 0) {
  HEARTH_CHECK(block_tokens >= 1);
  free_.reserve(refs_.size());
  for (std::int32_t b = num_blocks; b-- > 0;) free_.push_back(b);  // block 0 is handed out first
}

std::int32_t BlockPool::blocks_for(std::int64_t num_tokens) const {
  return static_cast<std::int32_t>((num_tokens + block_tokens_ - 1) / block_tokens_);
}

std::int32_t BlockPool::take() {
  const std::int32_t block = free_.back();
  free_.pop_back();
  HEARTH_CHECK_EQ(refs_[static_cast<std::size_t>(block)], 0);
  refs_[static_cast<std::size_t>(block)] = 1;
  return block;
}

PrefixMatch BlockPool::start(BlockTable& table, std::span<const std::int32_t> tokens) {
  HEARTH_CHECK(table.blocks.empty());
  (void)tokens;  // nothing is kept after a sequence ends, so nothing is found
  return {};
}

bool BlockPool::grow(BlockTable& table, std::int64_t num_tokens) {
  const auto wanted = static_cast<std::size_t>(blocks_for(num_tokens));
  if (wanted <= table.blocks.size()) return true;
  if (wanted - table.blocks.size() > free_.size()) return false;
  while (table.blocks.size() < wanted) table.blocks.push_back(take());
  return true;
}

void BlockPool::commit(const BlockTable& table, std::span<const std::int32_t> tokens, std::int64_t num_computed) {
  HEARTH_CHECK_LE(num_computed, static_cast<std::int64_t>(tokens.size()));
  HEARTH_CHECK_LE(num_computed, static_cast<std::int64_t>(table.blocks.size()) * block_tokens_);
}

std::optional<BlockTable> BlockPool::fork(const BlockTable& table, std::int64_t num_tokens) {
  HEARTH_CHECK_LE(num_tokens, static_cast<std::int64_t>(table.blocks.size()) * block_tokens_);
  const auto whole = static_cast<std::size_t>(num_tokens / block_tokens_);
  const bool partial = num_tokens % block_tokens_ != 0;
  if (partial && free_.empty()) return std::nullopt;
  BlockTable result;
  for (std::size_t i = 0; i < whole; ++i) {
    ++refs_[static_cast<std::size_t>(table.blocks[i])];
    result.blocks.push_back(table.blocks[i]);
  }
  if (partial) result.blocks.push_back(take());
  return result;
}

void BlockPool::release(BlockTable& table) {
  // Backwards, so that a sequence of the same length gets the same blocks in the same order.
  for (std::size_t i = table.blocks.size(); i-- > 0;) {
    std::int32_t& refs = refs_[static_cast<std::size_t>(table.blocks[i])];
    HEARTH_CHECK_LT(0, refs);
    if (--refs == 0) free_.push_back(table.blocks[i]);
  }
  table.blocks.clear();
}

void BlockPool::check_integrity() const {
  std::vector<char> is_free(refs_.size(), 0);
  for (const std::int32_t block : free_) {
    HEARTH_CHECK_EQ(refs_[static_cast<std::size_t>(block)], 0);
    HEARTH_CHECK_EQ(static_cast<int>(is_free[static_cast<std::size_t>(block)]), 0);  // listed once
    is_free[static_cast<std::size_t>(block)] = 1;
  }
  std::size_t held = 0;
  for (const std::int32_t refs : refs_) held += refs > 0 ? 1 : 0;
  HEARTH_CHECK_EQ(held + free_.size(), refs_.size());
}

}  // namespace hearth
