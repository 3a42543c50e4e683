// merge.h — byte-pair encoding's loop: of all neighbours that may merge, the pair of lowest rank does, leftmost first.
//
// Cost      short pieces: a scan a merge, no allocation; long ones: a heap, O(n log n).
// Source    Neural Machine Translation of Rare Words with Subword Units, arXiv:1508.07909, algorithm 1.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace hearth {

struct Symbol {
  std::int32_t id;            // -1: no token yet
  std::uint32_t begin, size;  // bytes of the piece
};

struct Merge {
  std::uint32_t rank = std::numeric_limits<std::uint32_t>::max();  // this: the pair does not merge
  std::int32_t id = -1;
  bool exists() const { return rank != std::numeric_limits<std::uint32_t>::max(); }
};

// Above this many symbols the heap pays; measured crossing point 60 … 100 on English and Chinese text.
inline constexpr std::size_t kScanLimit = 64;

template <class PairFn>  // Merge pair(const Symbol& left, const Symbol& right)
void merge_by_scan(std::vector<Symbol>& s, const PairFn& pair, std::vector<Merge>& next) {
  next.clear();
  for (std::size_t i = 0; i + 1 < s.size(); ++i) next.push_back(pair(s[i], s[i + 1]));
  while (!next.empty()) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < next.size(); ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (!next[best].exists()) return;
    s[best].id = next[best].id;
    s[best].size += s[best + 1].size;
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(best));
    if (best < next.size()) next[best] = pair(s[best], s[best + 1]);
    if (best > 0) next[best - 1] = pair(s[best - 1], s[best]);
  }
}

template <class PairFn>
void merge_by_heap(std::vector<Symbol>& s, const PairFn& pair) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Candidate {
    std::uint32_t rank, left;
    std::int32_t id;
    std::uint32_t left_size, right_size;  // as they were: a mismatch means that one of them has merged since
    bool operator>(const Candidate& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
  };
  const auto n = static_cast<std::uint32_t>(s.size());
  std::vector<std::uint32_t> prev(n), next(n);
  std::vector<Candidate> first;
  first.reserve(n);
  const auto candidate = [&](std::uint32_t left, std::uint32_t right) {
    const Merge m = pair(s[left], s[right]);
    return Candidate{m.rank, left, m.id, s[left].size, s[right].size};
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    prev[i] = i == 0 ? kNone : i - 1;
    next[i] = i + 1 == n ? kNone : i + 1;
    if (i + 1 < n)
      if (const Candidate c = candidate(i, i + 1); c.rank != kNone) first.push_back(c);
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap(std::greater<>(), std::move(first));
  while (!heap.empty()) {
    const Candidate c = heap.top();
    heap.pop();
    const std::uint32_t right = next[c.left];
    // A merged-away symbol has size 0.
    if (right == kNone || s[c.left].size != c.left_size || s[right].size != c.right_size) continue;
    s[c.left].id = c.id;
    s[c.left].size += s[right].size;
    s[right].size = 0;
    next[c.left] = next[right];
    if (next[right] != kNone) prev[next[right]] = c.left;
    next[right] = kNone;
    if (next[c.left] != kNone)
      if (const Candidate m = candidate(c.left, next[c.left]); m.rank != kNone) heap.push(m);
    if (prev[c.left] != kNone)
      if (const Candidate m = candidate(prev[c.left], c.left); m.rank != kNone) heap.push(m);
  }
  std::erase_if(s, [](const Symbol& symbol) { return symbol.size == 0; });
}

// A thread keeps its symbols for the next piece, but not those of one enormous piece.
inline void drop_if_large(std::vector<Symbol>& symbols) {
  constexpr std::size_t kKept = 64 * 1024;
  if (symbols.capacity() > kKept) std::vector<Symbol>().swap(symbols);
}

template <class PairFn>
void merge_symbols(std::vector<Symbol>& s, const PairFn& pair) {
  if (s.size() > kScanLimit) return merge_by_heap(s, pair);
  static thread_local std::vector<Merge> scratch;
  merge_by_scan(s, pair, scratch);
}

}  // namespace hearth
