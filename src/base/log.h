// log.h — one line an event on stderr: time, level, text. Format strings are {fmt}'s.
//
// Threads   any; a line is written whole.
// Limits    below the level (VLLM_LOGGING_LEVEL or set_log_level) nothing is formatted.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace hearth {

enum class LogLevel { debug, info, warning, error, off };

void set_log_level(LogLevel level);
LogLevel log_level();
void write_log_line(LogLevel level, std::string_view text);

template <class... A>
void log_at(LogLevel level, fmt::format_string<A...> f, A&&... args) {
  if (level >= log_level()) write_log_line(level, fmt::format(f, std::forward<A>(args)...));
}
template <class... A>
void log_debug(fmt::format_string<A...> f, A&&... a) {
  log_at(LogLevel::debug, f, std::forward<A>(a)...);
}
template <class... A>
void log_info(fmt::format_string<A...> f, A&&... a) {
  log_at(LogLevel::info, f, std::forward<A>(a)...);
}
template <class... A>
void log_warning(fmt::format_string<A...> f, A&&... a) {
  log_at(LogLevel::warning, f, std::forward<A>(a)...);
}
template <class... A>
void log_error(fmt::format_string<A...> f, A&&... a) {
  log_at(LogLevel::error, f, std::forward<A>(a)...);
}

}  // namespace hearth
