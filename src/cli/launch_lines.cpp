#include "cli/launch_lines.h"

#include <fmt/format.h>

#include "base/status.h"
#include "cli/serve_options.h"

namespace hearth {
namespace {

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string shell_word(const std::string& word) {
  return word.find_first_of(" {}\"*") == std::string::npos ? word : "'" + word + "'";
}

std::vector<LaunchLine> make_lines() {
  const std::vector<std::string> line1{"serve", "MODEL", "--max-model-len", "262144", "--reasoning-parser", "qwen3"};
  const std::vector<std::string> line2 =
      joined(line1, {"--enable-auto-tool-choice", "--tool-call-parser", "qwen3_coder"});
  auto mtp = [&](const char* method, int tokens) {
    return joined(line2, {"--speculative-config",
                          fmt::format(R"({{"method":"{}","num_speculative_tokens":{}}})", method, tokens)});
  };
  constexpr std::string_view kParser = "--reasoning-parser",
                             kTools = "--enable-auto-tool-choice --reasoning-parser --tool-call-parser";
  const std::vector<std::string> extras{"--attention-backend",
                                        "flashinfer",
                                        "--moe-backend",
                                        "marlin",
                                        "--linear-backend",
                                        "marlin",
                                        "--safetensors-load-strategy",
                                        "prefetch",
                                        "--load-format",
                                        "fastsafetensors",
                                        "--compilation-config",
                                        R"({"cudagraph_mode": "FULL"})"};
  return {
      {"1", line1, kParser},
      {"2", line2, kTools},
      {"3", mtp("mtp", 1), kTools},
      {"3 (qwen3_next_mtp)", mtp("qwen3_next_mtp", 2), kTools},
      {"3 (5 tokens)", mtp("mtp", 5), kTools},
      {"4",
       {"serve",
        "--model",
        "MODEL",
        "--served-model-name",
        "qwen",
        "--dtype",
        "auto",
        "--max-model-len",
        "32768",
        "--gpu-memory-utilization",
        "0.85",
        "--tensor-parallel-size",
        "1",
        "--kv-cache-dtype",
        "fp8",
        "--max-num-seqs",
        "16",
        "--max-num-batched-tokens",
        "8192",
        "--disable-log-requests",
        "--enable-prefix-caching",
        "--enable-chunked-prefill",
        "--trust-remote-code",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--api-key",
        "sk-x",
        "--seed",
        "42",
        "--swap-space",
        "8",
        "--load-format",
        "auto",
        "--limit-mm-per-prompt",
        R"({"image":4})"},
       "--kv-cache-dtype --limit-mm-per-prompt"},
      {"4 (without the two)",
       {"serve",
        "--model",
        "MODEL",
        "--served-model-name",
        "qwen",
        "--dtype",
        "auto",
        "--max-model-len",
        "32768",
        "--gpu-memory-utilization",
        "0.85",
        "--tensor-parallel-size",
        "1",
        "--max-num-seqs",
        "16",
        "--max-num-batched-tokens",
        "8192",
        "--disable-log-requests",
        "--enable-prefix-caching",
        "--enable-chunked-prefill",
        "--trust-remote-code",
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--api-key",
        "sk-x",
        "--seed",
        "42",
        "--swap-space",
        "8",
        "--load-format",
        "auto"},
       ""},
      {"5",
       joined(line1, {"--language-model-only", "--default-chat-template-kwargs", R"({"enable_thinking": false})",
                      "--generation-config", "vllm", "--enforce-eager"}),
       kParser},
      {"5 (without the parser)",
       {"serve", "MODEL", "--max-model-len", "262144", "--language-model-only", "--default-chat-template-kwargs",
        R"({"enable_thinking": false})", "--generation-config", "vllm", "--enforce-eager"},
       ""},
      {"6", joined({"serve", "MODEL"}, extras), ""},
  };
}

}  // namespace

std::span<const LaunchLine> launch_lines() {
  static const std::vector<LaunchLine> lines = make_lines();
  return lines;
}

std::string launch_lines_markdown() {
  std::string out =
      "# Launch lines\n\n"
      "Written by `hearth docs launch-lines` from the table in `src/cli/launch_lines.cpp`; the tests run these lines. "
      "A line is refused as long\n"
      "as it asks for something that would change results and is not there yet; what only changes speed is warned "
      "about. Exit code 2.\n";
  std::string lines, table = "\n| line | today | by which option, with what words |\n|---|---|---|\n";
  for (const LaunchLine& line : launch_lines()) {
    std::string words = "hearth";
    for (const std::string& w : line.args) words += " " + shell_word(w);
    lines += fmt::format("\nLine {}:\n\n```\n{}\n```\n", line.name, words);
    std::string said;
    try {
      const ServeOptions o = read_serve_options({line.args.begin() + 1, line.args.end()});
      for (const std::string& w : o.warnings) said += (said.empty() ? "" : "<br>") + w;
      table += fmt::format("| {} | starts{} | {} |\n", line.name, said.empty() ? "" : ", with warnings", said);
    } catch (const StartupError& e) {
      said = e.what();
      for (std::size_t at = said.find("; --"); at != std::string::npos; at = said.find("; --", at))
        said.replace(at, 2, "<br>");
      table += fmt::format("| {} | refused | {} |\n", line.name, said);
    }
  }
  out += table + lines;
  return out;
}

}  // namespace hearth
