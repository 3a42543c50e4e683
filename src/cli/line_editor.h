// line_editor.h — lines from a terminal, with editing and history; or plain lines from a pipe.
//
// Owns      the terminal's state while a line is being edited.
// Threads   one, the caller's.
#pragma once

#include <memory>
#include <string>

namespace hearth {

enum class LineEnd {
  enter,
  interrupt,     // Ctrl-C: what was typed is dropped
  end_of_input,  // Ctrl-D on an empty line
};

class LineEditor {
 public:
  explicit LineEditor(const std::string& history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;

  LineEnd read(const char* prompt, std::string& line);
  void remember(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
