// format.h — Python's two ways to fill values into a string. The format keeps its marks, and so does what is filled in.
#pragma once

#include "text/jinja/interp.h"

namespace hearth::jinja {

Value format_percent(const Str& format, const Value& args, Interp& in);  // format % args
Str format_braces(const Str& format, const Args& args, Interp& in);      // format.format(…)

}  // namespace hearth::jinja
