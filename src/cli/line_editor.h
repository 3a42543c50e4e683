// line_editor.h — lines from a terminal, with editing and history; or plain lines from a pipe.
//
// Owns      the terminal's state while a line is being edited.
// Threads   one, the caller's. Ctrl-C at the prompt clears the line.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace hearth {

class LineEditor {
 public:
  explicit LineEditor(const std::string& history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;

  // Nothing at the end of input (Ctrl-D on an empty line).
  std::optional<std::string> read(const char* prompt);
  void remember(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
