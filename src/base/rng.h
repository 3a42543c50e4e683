// rng.h — counter-based random numbers: the n-th number of a seed is a function of (seed, n) alone, so what a request
// draws does not depend on what else runs.
//
// Source    splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators), as a mixing function.
#pragma once

#include <cstdint>

namespace hearth {

inline std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  return mix64(mix64(seed) ^ mix64(counter * 0xd1342543de82ef95ull + 1));
}

// Uniform in [0, 1), 53 bits.
inline double random_uniform(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1.0p-53;
}

// A stream for tests and seeded weights.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() { return random_bits(seed_, counter_++); }
  double uniform() { return random_uniform(seed_, counter_++); }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  double normal();

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace hearth
