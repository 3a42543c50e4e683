// safetensors_header.cpp — the header's JSON, read event by event: nothing is built but the entries, and a header that
// says anything else than the format allows is refused where it does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "base/json.h"
#include "base/status.h"
#include "checkpoint/safetensors.h"

namespace hearth {
namespace {

constexpr std::size_t kMaxRank = 8;
constexpr const char* kDamaged = "the file is damaged or was not written as safetensors: fetch it again";

class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}
  SafetensorsHeader result;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t v) override {
    if (where_ == Where::shape) {
      if (entry_.shape.size() == kMaxRank) fail(fmt::format("expected at most {} dimensions", kMaxRank));
      if (v > (std::uint64_t{1} << 48)) fail(fmt::format("expected a dimension below 2^48, found {}", v));
      entry_.shape.push_back(static_cast<std::int64_t>(v));
    } else if (where_ == Where::offsets) {
      if (num_offsets_ == 2) fail("expected two data_offsets, found more");
      (num_offsets_++ == 0 ? entry_.begin : end_) = v;
    } else {
      return unexpected("a number");
    }
    return true;
  }

  bool string(string_t& s) override {
    if (where_ == Where::metadata) {
      result.metadata[key_] = s;
    } else if (where_ == Where::entry && key_ == "dtype") {
      if (!safetensors_format(s, entry_.format)) {
        fail(fmt::format("expected a dtype such as BF16, F16, F32 or F8_E4M3, found \"{}\"", s));
      }
    } else {
      return unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (where_ == Where::nothing) {
      where_ = Where::top;
    } else if (where_ == Where::top) {
      where_ = key_ == "__metadata__" ? Where::metadata : Where::entry;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (where_ == Where::entry) finish_entry();
    where_ = where_ == Where::top ? Where::done : Where::top;
    return true;
  }

  bool key(string_t& k) override {
    key_ = k;
    if (where_ == Where::top) {
      if (!names_.insert(k).second) fail_at(k, "the tensor is listed twice");
      entry_ = SafetensorsEntry{};
      entry_.name = k;
      num_offsets_ = 0;
      seen_ = 0;
    } else if (where_ == Where::entry) {
      const unsigned bit = k == "dtype" ? 1u : k == "shape" ? 2u : k == "data_offsets" ? 4u : 0u;
      if (bit == 0) fail(fmt::format("expected dtype, shape and data_offsets, found \"{}\"", k));
      if ((seen_ & bit) != 0) fail(fmt::format("\"{}\" is given twice", k));
      seen_ |= bit;
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (where_ != Where::entry || key_ == "dtype") return unexpected("an array");
    where_ = key_ == "shape" ? Where::shape : Where::offsets;
    return true;
  }
  bool end_array() override {
    where_ = Where::entry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    throw StartupError(fmt::format("the header is not valid JSON at byte {}: {}", position, e.what()), file_, kDamaged);
  }

  bool complete() const { return where_ == Where::done; }

 private:
  enum class Where { nothing, top, metadata, entry, shape, offsets, done };

  [[noreturn]] void fail_at(const std::string& tensor, const std::string& what) const {
    throw StartupError(what, file_ + ": " + tensor, kDamaged);
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(entry_.name, what); }

  bool unexpected(const char* found) {
    switch (where_) {
      case Where::nothing:
      case Where::done:
        throw StartupError(fmt::format("expected a JSON object as header, found {}", found), file_, kDamaged);
      case Where::top:
        fail(fmt::format("expected an object with dtype, shape and data_offsets, found {}", found));
      case Where::metadata:
        throw StartupError(fmt::format("expected strings in __metadata__, found {}", found), file_, kDamaged);
      default:
        fail(fmt::format("expected another value for \"{}\", found {}", key_, found));
    }
  }

  void finish_entry() {
    if (seen_ != 7) fail("expected dtype, shape and data_offsets, found only a part of them");
    if (num_offsets_ != 2) fail(fmt::format("expected two data_offsets, found {}", num_offsets_));
    if (end_ < entry_.begin) fail(fmt::format("data_offsets [{}, {}] end before they begin", entry_.begin, end_));
    std::int64_t expected = format_info(entry_.format).block_bytes;
    for (std::int64_t n : entry_.shape) {
      if (__builtin_mul_overflow(expected, n, &expected)) fail("the shape's size does not fit 64 bits");
    }
    entry_.bytes = end_ - entry_.begin;
    if (entry_.bytes != static_cast<std::uint64_t>(expected)) {
      fail(fmt::format("shape [{}] of {} takes {} bytes: expected as many, found {} in data_offsets [{}, {}]",
                       fmt::join(entry_.shape, ", "), safetensors_dtype(entry_.format), expected, entry_.bytes,
                       entry_.begin, end_));
    }
    result.entries.push_back(std::move(entry_));
  }

  const std::string& file_;
  Where where_ = Where::nothing;
  std::string key_;
  std::unordered_set<std::string> names_;
  SafetensorsEntry entry_;
  std::uint64_t end_ = 0;
  int num_offsets_ = 0;
  unsigned seen_ = 0;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file) {
  HeaderReader reader(file);
  Json::sax_parse(json, &reader);
  if (!reader.complete()) throw StartupError("expected a JSON object as header, found nothing", file, kDamaged);
  std::vector<SafetensorsEntry>& entries = reader.result.entries;
  std::stable_sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.bytes < b.bytes;
  });
  std::uint64_t end = 0;
  for (const SafetensorsEntry& e : entries) {
    if (e.begin != end) {
      throw StartupError(fmt::format("data_offsets [{}, {}] {}: expected to begin at {}", e.begin, e.begin + e.bytes,
                                     e.begin < end ? "overlap another tensor" : "leave a gap before them", end),
                         file + ": " + e.name, kDamaged);
    }
    end += e.bytes;
  }
  if (end != data_bytes) {
    throw StartupError(fmt::format("the header describes {} bytes of tensors: expected as many, found {} in the file",
                                   end, data_bytes),
                       file, end > data_bytes ? "the file is truncated: fetch it again" : kDamaged);
  }
  return std::move(reader.result);
}

}  // namespace hearth
