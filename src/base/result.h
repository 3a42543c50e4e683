// result.h — a value or the Status that says why there is none. Shaped after std::expected, which replaces it some day.
//
//   Result<int> r = parse(text);
//   if (!r) return r.status();
//   use(*r);
#pragma once

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/status.h"

namespace hearth {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}        // NOLINT: implicit by design
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {  // NOLINT: implicit by design
    HEARTH_CHECK(!std::get<1>(v_).ok());
  }
  explicit operator bool() const { return v_.index() == 0; }
  bool ok() const { return v_.index() == 0; }
  T& operator*() & { return std::get<0>(v_); }
  const T& operator*() const& { return std::get<0>(v_); }
  T&& operator*() && { return std::get<0>(std::move(v_)); }
  T* operator->() { return &std::get<0>(v_); }
  const T* operator->() const { return &std::get<0>(v_); }
  const Status& status() const { return std::get<1>(v_); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace hearth
