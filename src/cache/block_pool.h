// block_pool.h — which blocks of the KV cache belong to which sequence. Ids only: the tensors are the runner's.
//
//   positions   0 … N-1 | N … 2N-1 | …        of one sequence
//   blocks          b0       b1      …        BlockTable::blocks; several tables may hold the same block
//
// A sequence's life: start() finds what is already computed (nothing yet: prefix caching will answer here), grow() makes room
// before a step writes, commit() says after the step which positions now hold which tokens, release() gives everything back.
//
// Owns      the reference count of every block. A block is free exactly when its count is 0.
// Threads   the engine thread only.
// Errors    running out is no error: grow() takes nothing and says false. Misuse is a bug (HEARTH_CHECK).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth {

// The blocks one sequence holds, in the order of its positions.
struct BlockTable {
  std::vector<std::int32_t> blocks;
};

// What start() found: the table holds the blocks of the first num_cached_tokens positions.
struct PrefixMatch {
  std::int32_t num_cached_tokens = 0;  // a multiple of the block size, less than the number of tokens asked about
  std::int32_t state_checkpoint = -1;  // recurrent state after those tokens; -1: none is needed or kept
};

class BlockPool {
 public:
  BlockPool(std::int32_t num_blocks, std::int32_t block_tokens);

  std::int32_t num_blocks() const { return static_cast<std::int32_t>(refs_.size()); }
  std::int32_t num_free() const { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t block_tokens() const { return block_tokens_; }
  std::int32_t blocks_for(std::int64_t num_tokens) const;

  // Begins a sequence of these tokens in an empty table.
  PrefixMatch start(BlockTable& table, std::span<const std::int32_t> tokens);
  // Makes room for positions [0, num_tokens). All or nothing; false when blocks are lacking.
  bool grow(BlockTable& table, std::int64_t num_tokens);
  // Positions [0, num_computed) of the table hold these tokens now: whole blocks of them may be found by start().
  void commit(const BlockTable& table, std::span<const std::int32_t> tokens, std::int64_t num_computed);
  // The table of a second sequence with the same first num_tokens positions: shares the whole blocks; a last, partly filled one is
  // its own, for a copy of the contents once they are there. Nothing when the block for that copy is lacking.
  std::optional<BlockTable> fork(const BlockTable& table, std::int64_t num_tokens);
  // Gives the table's blocks back and empties it.
  void release(BlockTable& table);

  // Counts what is free, held and shared; aborts when they disagree. O(blocks).
  void check_integrity() const;
  std::int32_t ref_count(std::int32_t block) const { return refs_[static_cast<std::size_t>(block)]; }

 private:
  std::int32_t take();

  std::int32_t block_tokens_;
  std::vector<std::int32_t> refs_;
  std::vector<std::int32_t> free_;  // a stack: what was freed last is still warm
};

}  // namespace hearth
