// filters.h — the tables of filters; find_filter (parser.h) looks through all of them.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/parser.h"

namespace hearth::jinja {

struct FilterRow {
  std::string_view name;
  FilterFn fn;
};

std::span<const FilterRow> text_filters();      // strings and numbers
std::span<const FilterRow> sequence_filters();  // lists and dicts

// The value at "a.b.0" of an item, as map(attribute=…) reads it.
Value attribute_path(const Value& item, const Value& path, Interp& in);

}  // namespace hearth::jinja
