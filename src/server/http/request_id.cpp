#include "server/http/request_id.h"

#include <algorithm>
#include <random>

namespace hearth {

std::string random_hex(int digits) {
  thread_local std::mt19937_64 generator = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  std::string out(static_cast<std::size_t>(digits), '0');
  for (std::size_t i = 0; i < out.size(); i += 16) {
    std::uint64_t value = generator();
    for (std::size_t j = i; j < std::min(out.size(), i + 16); ++j, value >>= 4) out[j] = "0123456789abcdef"[value & 15];
  }
  return out;
}

std::string request_id_from(std::string_view header) {
  const bool sane = !header.empty() && header.size() <= 256 &&
                    std::all_of(header.begin(), header.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  return sane ? std::string(header) : random_hex(32);
}

}  // namespace hearth
