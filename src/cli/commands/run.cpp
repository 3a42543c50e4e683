// hearth run MODEL [TEXT] — a conversation in the terminal; with TEXT or a pipe, one answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/args.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/chat_session.h"
#include "cli/command_def.h"
#include "cli/line_editor.h"
#include "cli/load_model.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/verb_args.h"

namespace hearth {
namespace {

std::atomic<bool> g_interrupted{false};
void on_interrupt(int) { g_interrupted.store(true); }

constexpr const char* kHelp =
    "  /set parameter NAME VALUE   temperature, top_p, top_k, min_p, repetition_penalty, seed, num_predict, stop …\n"
    "  /set system TEXT            the system message; the conversation starts anew\n"
    "  /set verbose | quiet        print token counts and speed after each answer, or not\n"
    "  /show [parameters | system | model | template | messages]\n"
    "  /clear                      forget the conversation\n"
    "  /bye                        leave (or Ctrl-D)\n"
    "  \"\"\"                         begins and ends a text of several lines\n"
    "  Ctrl-C                      stops the answer, or drops what is typed\n";

// Where neither the model nor the command line says how to draw: what `ollama run` does. At temperature 1, the API's default,
// a small model soon talks nonsense.
Json usual_sampling() { return {{"temperature", 0.8}, {"top_k", 40}, {"top_p", 0.9}}; }

std::string history_file() {
  const auto home = env_value("HOME");
  if (!home) return {};
  const std::filesystem::path dir = std::filesystem::path(*home) / ".cache" / "hearth";
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  return error ? std::string() : (dir / "history").string();
}

// Says text and prints the answer. False when it failed.
bool answer(ChatSession& chat, const std::string& text, bool verbose) {
  g_interrupted = false;
  const Generated g = chat.say(text, print_now);
  print_now(isatty(STDOUT_FILENO) ? "\n\n" : "\n");
  if (g.finish == FinishReason::error) {
    std::fprintf(stderr, "hearth: error: %s\n", g.error.message.c_str());
    return false;
  }
  if (verbose) {
    const auto rate = [](int tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0.0; };
    std::fprintf(stderr, "prompt %d tokens in %.3f s (%.1f tok/s); answer %d tokens in %.3f s (%.1f tok/s)\n",
                 g.num_prompt_tokens, g.prompt_seconds, rate(g.num_prompt_tokens, g.prompt_seconds), g.num_tokens,
                 g.answer_seconds, rate(std::max(0, g.num_tokens - 1), g.answer_seconds));
  }
  return true;
}

std::string rest_of(const std::string& line, std::size_t words) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < words; ++i) {
    at = line.find_first_not_of(' ', at);
    if (at == std::string::npos) return {};
    at = line.find(' ', at);
    if (at == std::string::npos) return {};
  }
  at = line.find_first_not_of(' ', at);
  return at == std::string::npos ? std::string() : line.substr(at);
}

std::string word(const std::string& line, std::size_t index) {
  const std::string rest = rest_of(line, index);
  return rest.substr(0, rest.find(' '));
}

class Conversation {
 public:
  Conversation(ChatSession& chat, const OpenedModel& model, bool verbose)
      : chat_(chat), model_(model), verbose_(verbose) {}

  void loop() {
    LineEditor editor(history_file());
    std::string line;
    for (LineEnd end = editor.read(">>> ", line); end != LineEnd::end_of_input; end = editor.read(">>> ", line)) {
      if (end == LineEnd::interrupt || line.find_first_not_of(" \t") == std::string::npos) continue;
      std::string text = line;
      if (text.starts_with("\"\"\"")) {
        end = read_more(editor, text);
        if (end == LineEnd::interrupt) continue;
        if (end == LineEnd::end_of_input) break;
      }
      editor.remember(line);
      if (text.starts_with("/")) {
        if (!command(text)) break;
      } else {
        answer(chat_, text, verbose_);
      }
    }
    std::fputs("\n", stdout);
  }

 private:
  // text begins with """; takes lines up to the closing """. Otherwise than by enter, the text is dropped.
  static LineEnd read_more(LineEditor& editor, std::string& text) {
    text.erase(0, 3);
    std::string line;
    while (!text.ends_with("\"\"\"")) {
      if (const LineEnd end = editor.read("... ", line); end != LineEnd::enter) return end;
      text += "\n" + line;
    }
    text.resize(text.size() - 3);
    return LineEnd::enter;
  }

  bool command(const std::string& line) {
    const std::string verb = word(line, 0);
    if (verb == "/bye" || verb == "/exit" || verb == "/quit") return false;
    if (verb == "/clear") {
      chat_.clear();
      std::puts("The conversation starts anew.");
    } else if (verb == "/set") {
      set(line);
    } else if (verb == "/show") {
      show(word(line, 1));
    } else if (verb == "/help" || verb == "/?") {
      std::fputs(kHelp, stdout);
    } else {
      std::printf("There is no command %s; /help lists them.\n", verb.c_str());
    }
    return true;
  }

  void set(const std::string& line) {
    const std::string what = word(line, 1);
    if (what == "parameter") {
      std::string value = rest_of(line, 3);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
      const Status status = chat_.set_parameter(word(line, 2), value);
      std::puts(status.ok() ? fmt::format("{} is {}.", word(line, 2), value).c_str() : status.message.c_str());
    } else if (what == "system") {
      chat_.set_system(rest_of(line, 2));
      std::puts("The system message is set; the conversation starts anew.");
    } else if (what == "verbose" || what == "quiet") {
      verbose_ = what == "verbose";
    } else {
      std::puts("/set parameter NAME VALUE, /set system TEXT, /set verbose, /set quiet");
    }
  }

  void show(const std::string& what) {
    if (what == "system")
      std::puts(chat_.system().empty() ? "There is no system message." : chat_.system().c_str());
    else if (what == "template")
      std::puts(chat_.text().chat_template ? chat_.text().chat_template->source().c_str() : "There is no template.");
    else if (what == "messages")
      std::puts(chat_.messages().dump(2, ' ', false, Json::error_handler_t::replace).c_str());
    else if (what == "model")
      std::printf("%s: %s, %d layers\n", model_.path.c_str(), model_.info.architecture.c_str(), model_.info.num_layers);
    else
      std::puts(chat_.parameters().empty() ? "No parameter is set." : chat_.parameters().dump(2).c_str());
  }

  ChatSession& chat_;
  const OpenedModel& model_;
  bool verbose_;
};

int run(const std::vector<std::string>& words) {
  auto v = read_verb_args("hearth run MODEL [TEXT] [options]",
                          {{{"verbose", Arity::flag}, "print token counts and speed after each answer"},
                           {{"system", Arity::value}, "the system message"}},
                          words);
  if (!v) return 0;
  if (env_value("VLLM_LOGGING_LEVEL") == std::nullopt) set_log_level(LogLevel::warning);
  LoadOptions& load = v->load;
  if (!v->args.has("max-num-seqs")) load.engine.max_num_seqs = 1;
  if (!v->args.has("max-num-batched-tokens")) load.engine.max_num_batched_tokens = 512;

  OpenedModel model = open_model(load);
  ModelText text = load_text(model.path, load);
  SamplingDefaults sampling =
      sampling_defaults(model.source->generation_config(), load.generation_config, load.override_generation_config);
  if (sampling.sampling.empty() && load.generation_config == "auto") sampling.sampling = usual_sampling();
  std::shared_ptr<Ops> ops = make_ops(load);
  const StartPlan plan = plan_model(model, *ops, load, machine_memory(), text.bytes);
  std::shared_ptr<Engine> engine;
  {
    Progress progress(true);
    engine = load_engine(model, ops, plan, load, progress);
  }
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  engine->start();
  if (!text.chat_template) log_warning("the model has no chat template: it continues the text it is given");
  ChatSession chat(*engine, std::move(text), std::move(sampling), g_interrupted);
  if (v->args.has("system")) chat.set_system(v->args.text("system"));
  const bool verbose = v->args.on("verbose");

  std::string once;
  for (const std::string& w : v->rest) once += (once.empty() ? "" : " ") + w;
  const bool piped = isatty(STDIN_FILENO) != 1;
  if (piped) {
    const std::string input = read_standard_input();
    once += (once.empty() || input.empty() ? "" : "\n\n") + input;
  }
  int code = 0;
  if (!once.empty()) {
    code = answer(chat, once, verbose) ? (g_interrupted ? 130 : 0) : 1;
  } else if (piped) {
    std::fputs("hearth: error: nothing to answer: the input is empty\n", stderr);
    code = 2;
  } else {
    std::fprintf(stderr, "%s; /help lists the commands, /bye leaves\n", model.info.architecture.c_str());
    Conversation(chat, model, verbose).loop();
  }
  engine->stop();
  return code;
}

}  // namespace

extern const CommandDef commands_run;
const CommandDef commands_run{"run", "talk to a model in the terminal, or answer once", run};

}  // namespace hearth
