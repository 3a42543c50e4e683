// hearth tokenize MODEL [TEXT | -] — the ids and pieces of a text; with --detokenize the text of ids.
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "base/json.h"
#include "base/status.h"
#include "cli/command_def.h"
#include "cli/load_text.h"
#include "cli/resolve_model.h"
#include "cli/standard_streams.h"
#include "cli/verb_args.h"

namespace hearth {
namespace {

std::vector<std::int32_t> ids_in(const std::string& text, std::int32_t vocab_size) {
  std::vector<std::int32_t> ids;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',' || *at == '[' || *at == ']' || *at == '\n' || *at == '\t' || *at == '\r') {
      ++at;
      continue;
    }
    std::int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc())
      throw StartupError(fmt::format("no token id at '{}'", std::string(at, std::min(end, at + 20))), "ids",
                         "give numbers, separated by spaces or commas", 2);
    if (id < 0 || id >= vocab_size)
      throw StartupError(fmt::format("token id {} is not in the vocabulary", id), "ids",
                         fmt::format("ids are 0 to {}", vocab_size - 1), 2);
    ids.push_back(id);
    at = next;
  }
  return ids;
}

int run(const std::vector<std::string>& words) {
  const auto v = read_verb_args("hearth tokenize MODEL [TEXT | -] [options]",
                                {{{"detokenize", Arity::flag}, "the arguments are ids; print their text"},
                                 {{"ids", Arity::flag}, "print only the ids, as a JSON list"},
                                 {{"add-special", Arity::flag}, "add BOS and EOS as the model asks"},
                                 {{"plain", Arity::flag}, "spellings of special tokens stay text"}},
                                words);
  if (!v) return 0;
  const LoadOptions& l = v->load;
  const std::string model = l.tokenizer.empty() ? resolve_model(l.model, l.revision, l.cache_dir)
                                                : resolve_tokenizer(l.tokenizer, l.tokenizer_revision, l.cache_dir);
  const std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer_at(model);

  std::string text;
  for (const std::string& word : v->rest) text += (text.empty() ? "" : " ") + word;
  if (v->rest.empty() || text == "-") text = read_standard_input();

  if (v->args.on("detokenize")) {
    const std::string out = tokenizer->decode(ids_in(text, tokenizer->vocab_size()), false);
    print_now(out);
    if (isatty(STDOUT_FILENO)) std::fputc('\n', stdout);
    return 0;
  }
  const std::vector<std::int32_t> ids =
      tokenizer->encode(text, {.add_special = v->args.on("add-special"), .parse_special = !v->args.on("plain")});
  if (v->args.on("ids")) {
    std::puts(dump_json(Json(ids)).c_str());
    return 0;
  }
  for (std::int32_t id : ids)
    std::printf("%7d  %s%s\n", id, dump_json(Json(std::string(tokenizer->bytes(id)))).c_str(),
                tokenizer->is_special(id) ? "  special" : "");
  std::printf("%zu tokens\n", ids.size());
  return 0;
}

}  // namespace

extern const CommandDef commands_tokenize;
const CommandDef commands_tokenize{"tokenize", "ids and pieces of a text, or the text of ids", run};

}  // namespace hearth
