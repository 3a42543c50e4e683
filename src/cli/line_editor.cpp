#include "cli/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cwchar>
#include <string>

namespace hearth {
namespace {

constexpr int kHistoryLines = 1000;
constexpr int kPollMs = 50;
std::atomic<bool> g_interrupted{false};  // the signal comes to any thread
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) { g_interrupted = true; }

}  // namespace

struct LineEditor::Impl {
  EditLine* el = nullptr;
  History* history = nullptr;
  HistEvent event{};
  const char* prompt = "";
  std::string history_file;

  static char* prompt_of(EditLine* e) {
    void* self = nullptr;
    el_get(e, EL_CLIENTDATA, &self);
    return const_cast<char*>(static_cast<Impl*>(self)->prompt);
  }

  // One character; none after Ctrl-C.
  static int next_char(EditLine*, wchar_t* out) {
    std::mbstate_t state{};
    while (true) {
      if (g_interrupted) return 0;
      // The signal may have gone to another thread: look at the flag, too, before waiting and before taking what came.
      pollfd input{STDIN_FILENO, POLLIN, 0};
      const int ready = ::poll(&input, 1, kPollMs);
      if (g_interrupted || ready <= 0) continue;
      char byte = 0;
      const ssize_t n = ::read(STDIN_FILENO, &byte, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return static_cast<int>(n);
      const std::size_t used = std::mbrtowc(out, &byte, 1, &state);
      if (used == static_cast<std::size_t>(-2)) continue;  // more bytes to come
      if (used == static_cast<std::size_t>(-1)) {
        *out = L'?';
        return 1;
      }
      return 1;
    }
  }
};

LineEditor::LineEditor(const std::string& history_file) : impl_(std::make_unique<Impl>()) {
  // Names and texts are UTF-8 whatever the terminal's language.
  if (!std::setlocale(LC_CTYPE, "C.UTF-8")) std::setlocale(LC_CTYPE, "");
  impl_->history_file = history_file;
  if (isatty(STDIN_FILENO) != 1) return;
  impl_->el = el_init("hearth", stdin, stdout, stderr);
  el_set(impl_->el, EL_CLIENTDATA, impl_.get());
  el_set(impl_->el, EL_PROMPT, &Impl::prompt_of);
  el_set(impl_->el, EL_EDITOR, "emacs");
  el_set(impl_->el, EL_SIGNAL, 0);
  el_wset(impl_->el, EL_GETCFN, &Impl::next_char);
  impl_->history = history_init();
  history(impl_->history, &impl_->event, H_SETSIZE, kHistoryLines);
  history(impl_->history, &impl_->event, H_SETUNIQUE, 1);
  if (!history_file.empty()) history(impl_->history, &impl_->event, H_LOAD, history_file.c_str());
  el_set(impl_->el, EL_HIST, history, impl_->history);
}

LineEditor::~LineEditor() {
  if (!impl_->el) return;
  if (!impl_->history_file.empty()) history(impl_->history, &impl_->event, H_SAVE, impl_->history_file.c_str());
  history_end(impl_->history);
  el_end(impl_->el);
}

LineEnd LineEditor::read(const char* prompt, std::string& line) {
  line.clear();
  if (!impl_->el) {
    int c = 0;
    while ((c = std::getchar()) != EOF && c != '\n') line += static_cast<char>(c);
    return c == EOF && line.empty() ? LineEnd::end_of_input : LineEnd::enter;
  }
  impl_->prompt = prompt;
  struct sigaction ours {
  }, before{};
  ours.sa_handler = on_interrupt;
  sigaction(SIGINT, &ours, &before);
  int length = 0;
  const char* text = el_gets(impl_->el, &length);
  sigaction(SIGINT, &before, nullptr);
  if (g_interrupted) {
    g_interrupted = false;
    std::fputs("\n", stdout);
    return LineEnd::interrupt;
  }
  if (!text || length <= 0) return LineEnd::end_of_input;
  line.assign(text, static_cast<std::size_t>(length));
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  return LineEnd::enter;
}

void LineEditor::remember(const std::string& line) {
  if (impl_->history && !line.empty()) history(impl_->history, &impl_->event, H_ENTER, line.c_str());
}

}  // namespace hearth
