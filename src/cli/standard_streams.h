// standard_streams.h — standard input and output of the verbs, so that what cannot be read or written is said.
//
// Errors    StartupError: a full disk or an unreadable input never looks like success. A reader that has left (`| head`)
//           ends the program by SIGPIPE, as it ends any other.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// First thing in main. A standard stream that the caller has closed would be the next file opened: the model would be read
// as the question. /dev/null, for reading only, takes its place: reading ends at once, writing fails.
void fill_standard_streams();

std::string read_standard_input();  // up to its end
void flush_output();
void print_now(std::string_view text);

}  // namespace hearth
