// gguf_parse.cpp — metadata and tensor infos of a GGUF file. Every count is compared with the bytes left before it is used.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/status.h"
#include "checkpoint/gguf.h"

namespace hearth {
namespace {

constexpr const char* kDamaged = "the file is damaged or cut: fetch it again";
constexpr std::uint64_t kMaxNameBytes = 1 << 16;
constexpr std::uint64_t kMaxStringBytes = 64u << 20;
constexpr std::uint64_t kBufferBytes = 1u << 20;

enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// Bytes that one value takes at least.
std::uint64_t least_bytes(ValueType t) {
  switch (t) {
    case ValueType::u8:
    case ValueType::i8:
    case ValueType::boolean:
      return 1;
    case ValueType::u16:
    case ValueType::i16:
      return 2;
    case ValueType::u32:
    case ValueType::i32:
    case ValueType::f32:
      return 4;
    case ValueType::string:
    case ValueType::u64:
    case ValueType::i64:
    case ValueType::f64:
      return 8;
    case ValueType::array:
      return 12;
  }
  return 0;
}

class Parser {
 public:
  Parser(const GgufRead& read, std::uint64_t size, const std::string& file) : read_(read), size_(size), file_(file) {}

  GgufHeader parse() {
    std::uint64_t num_tensors = 0, num_keys = 0;
    opening(num_tensors, num_keys);
    std::unordered_set<std::string> seen;
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      place_ = fmt::format("metadata {} of {}", i + 1, num_keys);
      std::string key = string(kMaxNameBytes);
      place_ = key;
      if (!seen.insert(key).second) fail("the key is given twice");
      GgufValue v = value(value_type());
      if (key == "general.alignment") set_alignment(v);
      if (key == "split.count") refuse_split(v);
      out_.metadata.emplace_back(std::move(key), std::move(v));
    }
    seen.clear();
    for (std::uint64_t i = 0; i < num_tensors; ++i) {
      place_ = fmt::format("tensor {} of {}", i + 1, num_tensors);
      tensor_info();
      if (!seen.insert(out_.tensors.back().name).second) fail("the tensor is listed twice");
    }
    place_.clear();
    check_ranges();
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const char* hint = kDamaged) const {
    throw StartupError(what, place_.empty() ? file_ : file_ + ": " + place_, hint);
  }

  std::uint64_t left() const { return size_ - pos_; }

  void take(void* dst, std::uint64_t n) {
    if (n > left()) fail(fmt::format("expected {} more bytes at {}, found the end of the file at {}", n, pos_, size_));
    auto* to = static_cast<std::byte*>(dst);
    while (n > 0) {
      if (pos_ < buffer_begin_ || pos_ >= buffer_begin_ + buffer_.size()) {
        buffer_begin_ = pos_;
        buffer_.resize(static_cast<std::size_t>(std::min(kBufferBytes, left())));
        read_(pos_, buffer_);
      }
      const std::uint64_t at = pos_ - buffer_begin_;
      const std::uint64_t piece = std::min<std::uint64_t>(n, buffer_.size() - at);
      std::memcpy(to, buffer_.data() + at, piece);
      to += piece;
      pos_ += piece;
      n -= piece;
    }
  }

  template <class T>
  T number() {
    T v{};
    take(&v, sizeof(T));
    return v;
  }

  std::string string(std::uint64_t limit) {
    const auto n = number<std::uint64_t>();
    if (n > left() || n > limit)
      fail(fmt::format("expected a text of at most {} bytes at {}, found a length of {}", std::min(limit, left()), pos_,
                       n));
    std::string s(static_cast<std::size_t>(n), '\0');
    take(s.data(), n);
    return s;
  }

  ValueType value_type() {
    const auto t = number<std::uint32_t>();
    if (t > static_cast<std::uint32_t>(ValueType::f64))
      fail(fmt::format("expected a value type from 0 to 12, found {}", t));
    return static_cast<ValueType>(t);
  }

  std::int64_t integer(ValueType t) {
    switch (t) {
      case ValueType::u8:
        return number<std::uint8_t>();
      case ValueType::i8:
        return number<std::int8_t>();
      case ValueType::u16:
        return number<std::uint16_t>();
      case ValueType::i16:
        return number<std::int16_t>();
      case ValueType::u32:
        return number<std::uint32_t>();
      case ValueType::i32:
        return number<std::int32_t>();
      case ValueType::boolean:
        return number<std::uint8_t>() != 0;
      default:
        return number<std::int64_t>();  // u64 keeps its bits
    }
  }

  GgufValue value(ValueType t) {
    switch (t) {
      case ValueType::boolean:
        return integer(t) != 0;
      case ValueType::f32:
        return static_cast<double>(number<float>());
      case ValueType::f64:
        return number<double>();
      case ValueType::string:
        return string(kMaxStringBytes);
      case ValueType::array:
        return array();
      case ValueType::u64: {
        const auto v = number<std::uint64_t>();
        if (v > static_cast<std::uint64_t>(INT64_MAX)) return v;
        return static_cast<std::int64_t>(v);
      }
      default:
        return integer(t);
    }
  }

  GgufValue array() {
    const ValueType t = value_type();
    const auto n = number<std::uint64_t>();
    if (t == ValueType::array)
      fail("expected an array of numbers or texts, found an array of arrays", "this form of metadata is not read here");
    if (n > left() / least_bytes(t)) {
      fail(fmt::format("expected an array of at most {} values in the {} bytes left, found a count of {}",
                       left() / least_bytes(t), left(), n));
    }
    if (t == ValueType::string) {
      std::vector<std::string> v;
      v.reserve(static_cast<std::size_t>(n));
      for (std::uint64_t i = 0; i < n; ++i) v.push_back(string(kMaxStringBytes));
      return v;
    }
    if (t == ValueType::f32 || t == ValueType::f64) {
      std::vector<double> v(static_cast<std::size_t>(n));
      for (double& x : v) x = t == ValueType::f32 ? static_cast<double>(number<float>()) : number<double>();
      return v;
    }
    std::vector<std::int64_t> v(static_cast<std::size_t>(n));
    for (std::int64_t& x : v) x = integer(t);
    return v;
  }

  void opening(std::uint64_t& num_tensors, std::uint64_t& num_keys) {
    char magic[4];
    take(magic, 4);
    if (std::memcmp(magic, "GGUF", 4) != 0)
      fail("expected the file to begin with \"GGUF\", found something else", "give a .gguf file");
    out_.version = number<std::uint32_t>();
    if (out_.version != 2 && out_.version != 3) {
      const std::uint32_t swapped = __builtin_bswap32(out_.version);
      if (swapped >= 1 && swapped <= 3)
        fail("expected a little-endian file, found a big-endian one", "convert the model again for this machine");
      fail(fmt::format("expected GGUF version 2 or 3, found {}", out_.version),
           "convert the model again with a current converter");
    }
    num_tensors = number<std::uint64_t>();
    num_keys = number<std::uint64_t>();
    if (num_keys > left() / 13)
      fail(fmt::format("found a count of {} metadata keys: expected at most {} in a file of {} bytes", num_keys,
                       left() / 13, size_));
    if (num_tensors > left() / 32)
      fail(fmt::format("found a count of {} tensors: expected at most {} in a file of {} bytes", num_tensors,
                       left() / 32, size_));
  }

  void set_alignment(const GgufValue& v) {
    const auto* n = std::get_if<std::int64_t>(&v);
    if (n == nullptr || *n < 1 || *n > (1 << 20) || (*n & (*n - 1)) != 0)
      fail("expected a power of two up to 2^20 as alignment");
    out_.alignment = static_cast<std::uint64_t>(*n);
  }

  void refuse_split(const GgufValue& v) const {
    const auto* n = std::get_if<std::int64_t>(&v);
    if (n != nullptr && *n > 1) {
      fail(fmt::format("expected a model in one file, found one of {} parts", *n),
           "join the parts first: llama-gguf-split --merge FIRST_PART WHOLE.gguf");
    }
  }

  void tensor_info() {
    GgufTensor t;
    t.name = string(kMaxNameBytes);
    place_ = t.name;
    const auto rank = number<std::uint32_t>();
    if (rank < 1 || rank > 4) fail(fmt::format("expected 1 to 4 dimensions, found {}", rank));
    for (std::uint32_t i = 0; i < rank; ++i) {
      const auto d = number<std::uint64_t>();
      if (d < 1 || d > (std::uint64_t{1} << 48)) fail(fmt::format("expected dimensions from 1 to 2^48, found {}", d));
      t.shape.push_back(static_cast<std::int64_t>(d));
    }
    std::reverse(t.shape.begin(), t.shape.end());
    const auto type = number<std::uint32_t>();
    const std::optional<Format> format = gguf_format(type);
    if (!format) {
      fail(fmt::format("expected a tensor type that is read here (F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q2_K … "
                       "Q6_K, IQ4_NL, IQ4_XS, MXFP4), found {}",
                       gguf_type_name(type)),
           "take another quantisation of this model");
    }
    t.format = *format;
    const FormatInfo& info = format_info(t.format);
    if (t.shape.back() % info.block_elems != 0) {
      fail(fmt::format("rows of {} numbers do not fill blocks of {} ({}): expected a multiple, found shape [{}]",
                       t.shape.back(), info.block_elems, info.name, fmt::join(t.shape, ", ")));
    }
    std::uint64_t blocks = static_cast<std::uint64_t>(t.shape.back() / info.block_elems);
    for (std::size_t i = 0; i + 1 < t.shape.size(); ++i) {
      if (__builtin_mul_overflow(blocks, static_cast<std::uint64_t>(t.shape[i]), &blocks))
        fail("the shape's size does not fit 64 bits");
    }
    if (__builtin_mul_overflow(blocks, static_cast<std::uint64_t>(info.block_bytes), &t.bytes) || t.bytes > size_) {
      fail(fmt::format("shape [{}] of {} takes more bytes than the whole file: found {}", fmt::join(t.shape, ", "),
                       info.name, size_));
    }
    t.offset = number<std::uint64_t>();
    out_.tensors.push_back(std::move(t));
  }

  std::uint64_t align(std::uint64_t n) const { return (n + out_.alignment - 1) / out_.alignment * out_.alignment; }

  void check_ranges() {
    out_.data_begin = align(pos_);
    std::vector<const GgufTensor*> order;
    for (const GgufTensor& t : out_.tensors) order.push_back(&t);
    std::sort(order.begin(), order.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    std::uint64_t end = 0;
    for (const GgufTensor* t : order) {
      place_ = t->name;
      const std::uint64_t expected = align(end);
      if (t->offset != expected) {
        fail(fmt::format("expected the tensor's data at offset {}, found {}: it {}", expected, t->offset,
                         t->offset < expected ? "overlaps another or is not aligned" : "leaves a gap"));
      }
      end = expected + t->bytes;
      if (out_.data_begin > size_ || end > size_ - out_.data_begin) {
        fail(fmt::format("the tensor's data ends at byte {}: expected a file at least as long, found {} bytes",
                         out_.data_begin + end, size_),
             "the file is truncated: fetch it again");
      }
    }
    place_.clear();
    if (!order.empty() && size_ - out_.data_begin > align(end)) {
      fail(fmt::format("expected the file to end with its last tensor at byte {}, found {} bytes",
                       out_.data_begin + align(end), size_));
    }
  }

  const GgufRead& read_;
  const std::uint64_t size_;
  const std::string& file_;
  std::string place_;  // key or tensor being read, for messages
  std::uint64_t pos_ = 0;
  std::uint64_t buffer_begin_ = 0;
  std::vector<std::byte> buffer_;
  GgufHeader out_;
};

}  // namespace

GgufHeader parse_gguf(const GgufRead& read, std::uint64_t size, const std::string& file) {
  return Parser(read, size, file).parse();
}

}  // namespace hearth
