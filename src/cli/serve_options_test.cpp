#include "cli/serve_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/status.h"
#include "cli/launch_lines.h"
#include "cli/serve_flags.h"

namespace hearth {
namespace {

using testing::HasSubstr;

std::string error_of(const std::vector<std::string>& args) {
  try {
    (void)read_serve_options(args);
  } catch (const StartupError& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return std::string(e.what()) + " | " + e.where() + " | " + e.hint();
  }
  return "no error";
}

TEST(ServeFlags, TableIsWhole) {
  std::set<std::string_view> names;
  for (const FlagDef& f : serve_flags()) {
    EXPECT_TRUE(names.insert(f.name).second) << "twice: " << f.name;
    EXPECT_FALSE(f.help.empty()) << f.name;
    EXPECT_EQ(f.test.empty(), f.cls != FlagClass::implemented) << f.name;
    const bool refuses = f.cls == FlagClass::refused || (f.cls == FlagClass::implemented && !f.accepts.empty());
    EXPECT_EQ(f.nearest.empty(), !refuses) << f.name;
    EXPECT_EQ(f.name.find('_'), std::string_view::npos) << f.name;
  }
  EXPECT_GT(names.size(), 240u);
}

TEST(ServeFlags, EveryIgnoredOptionWarnsByName) {
  for (const FlagDef& f : serve_flags()) {
    if (f.cls != FlagClass::ignored || f.accepts == "*") continue;
    std::vector<std::string> args{"M", "--" + std::string(f.name)};
    if (f.arity == Arity::value || f.arity == Arity::many) args.push_back(f.name == "spec-method" ? "mtp" : "7");
    if (f.arity == Arity::json || f.arity == Arity::json_or_number) args.push_back("{}");
    const ServeOptions o = read_serve_options(args);
    ASSERT_EQ(o.warnings.size(), 1u) << f.name;
    EXPECT_THAT(o.warnings[0], HasSubstr("--" + std::string(f.name) + " is ignored: "));
    EXPECT_EQ(o.load.model, "M") << f.name << " swallowed the model or left a word";
  }
}

TEST(ServeFlags, EveryRefusedOptionIsRefusedByName) {
  for (const FlagDef& f : serve_flags()) {
    if (f.cls != FlagClass::refused) continue;
    std::vector<std::string> args{"M", "--" + std::string(f.name)};
    if (f.arity == Arity::value || f.arity == Arity::many) args.push_back("77");
    if (f.arity == Arity::json || f.arity == Arity::json_or_number) args.push_back("{\"a\":1}");
    EXPECT_THAT(error_of(args), HasSubstr("--" + std::string(f.name))) << f.name;
    EXPECT_THAT(error_of(args), HasSubstr("is not supported")) << f.name;
    // What holds anyway passes.
    if (f.arity == Arity::flag) {
      EXPECT_EQ(error_of({"M", "--no-" + std::string(f.name)}), "no error") << f.name;
    }
    if (f.arity == Arity::value && !f.accepts.empty()) {
      EXPECT_EQ(error_of({"M", "--" + std::string(f.name), std::string(f.accepts.substr(0, f.accepts.find(' ')))}),
                "no error");
    }
  }
}

TEST(ServeFlags, HelpAndDocument) {
  EXPECT_THAT(serve_help(""), HasSubstr("--max-model-len X"));
  EXPECT_THAT(serve_help(""), testing::Not(HasSubstr("--swap-space")));
  EXPECT_THAT(serve_help("all"), HasSubstr("--swap-space"));
  EXPECT_THAT(serve_help("ssl"), HasSubstr("--ssl-keyfile"));
  EXPECT_THAT(serve_help("ssl"), testing::Not(HasSubstr("--max-model-len")));
  EXPECT_THAT(serve_flags_markdown(), HasSubstr("| `--max-num-seqs X` | works | 256 |"));
}

TEST(ServeOptions, ModelBySpellings) {
  EXPECT_EQ(read_serve_options({"A"}).load.model, "A");
  EXPECT_EQ(read_serve_options({"--model", "A"}).load.model, "A");
  const ServeOptions both = read_serve_options({"A", "--model", "B"});
  EXPECT_EQ(both.load.model, "A");
  EXPECT_THAT(both.warnings, testing::ElementsAre("--model is ignored: the positional MODEL counts"));
  EXPECT_THAT(error_of({}), HasSubstr("no MODEL is given"));
  EXPECT_THAT(error_of({"A", "B"}), HasSubstr("one MODEL is expected"));
  EXPECT_EQ(read_serve_options({"A"}).names, std::vector<std::string>{"A"});
  EXPECT_EQ(read_serve_options({"A", "--served-model-name", "x", "y"}).names, (std::vector<std::string>{"x", "y"}));
}

TEST(ServeOptions, Values) {
  const ServeOptions o = read_serve_options({"M",
                                             "--max-model-len",
                                             "32K",
                                             "--gpu-memory-utilization",
                                             "0.85",
                                             "--max-num-seqs",
                                             "16",
                                             "--max-num-batched-tokens",
                                             "8k",
                                             "--memory",
                                             "4GiB",
                                             "--kv-cache-memory-bytes",
                                             "1G",
                                             "--dtype",
                                             "half",
                                             "--port",
                                             "9000",
                                             "--allowed-origins",
                                             "[\"http://a\"]",
                                             "--disable-log-stats",
                                             "--seed",
                                             "42",
                                             "--rope-theta",
                                             "5e5",
                                             "--no-enable-chunked-prefill"});
  EXPECT_EQ(o.load.max_model_len, 32768);
  EXPECT_EQ(o.load.memory.utilization, 0.85);
  EXPECT_EQ(o.load.engine.max_num_seqs, 16);
  EXPECT_EQ(o.load.engine.max_num_batched_tokens, 8000);
  EXPECT_FALSE(o.load.engine.enable_chunked_prefill);
  EXPECT_EQ(o.load.memory.cap_bytes, 4ll << 30);
  EXPECT_EQ(o.load.memory.kv_cache_bytes, 1ll << 30);
  EXPECT_EQ(o.load.dtype, "float16");
  EXPECT_EQ(o.load.engine.seed, 42u);
  EXPECT_EQ(o.load.hf_overrides.dump(), R"({"rope_theta":500000.0})");
  EXPECT_EQ(o.server.port, 9000);
  EXPECT_EQ(o.server.allowed_origins, std::vector<std::string>{"http://a"});
  EXPECT_FALSE(o.server.log_stats);
  EXPECT_EQ(read_serve_options({"M", "--max-model-len", "auto"}).load.max_model_len, -1);
  EXPECT_EQ(read_serve_options({"M", "--max-model-len", "-1"}).load.max_model_len, -1);
  EXPECT_EQ(read_serve_options({"M", "--max-num-batched-tokens", "64"}).load.engine.max_num_seqs, 64);
}

TEST(ServeOptions, ValuesThatAreRefused) {
  EXPECT_THAT(error_of({"M", "--kv-cache-dtype", "fp8"}), HasSubstr("--kv-cache-dtype fp8 is not supported: "));
  EXPECT_THAT(error_of({"M", "--kv-cache-dtype", "nvfp4"}), HasSubstr("auto, bfloat16, float16 or float32"));
  EXPECT_THAT(error_of({"M", "--device", "tpu"}), HasSubstr("ref-w8a8"));
  EXPECT_THAT(error_of({"M", "--tensor-parallel-size", "2"}), HasSubstr("--tensor-parallel-size 2 is not supported"));
  EXPECT_THAT(error_of({"M", "-tp", "2"}), HasSubstr("-tp 2 is not supported"));
  EXPECT_THAT(error_of({"M", "--max-model-len", "0"}), HasSubstr("at least 1"));
  EXPECT_THAT(error_of({"M", "--gpu-memory-utilization", "0"}), HasSubstr("above 0"));
  EXPECT_THAT(error_of({"M", "--gpu-memory-utilization", "1.5"}), HasSubstr("not a number from 0 to 1"));
  EXPECT_THAT(error_of({"M", "--max-num-seqs", "64", "--max-num-batched-tokens", "32"}),
              HasSubstr("less than --max-num-seqs 64"));
  EXPECT_THAT(error_of({"M", "--ssl-keyfile", "k"}), HasSubstr("both --ssl-certfile and --ssl-keyfile"));
  EXPECT_THAT(error_of({"M", "--enable-log-outputs"}), HasSubstr("needs --enable-log-requests"));
  EXPECT_THAT(error_of({"M", "--load-format", "pickle"}), HasSubstr("auto, safetensors, gguf or dummy"));
  EXPECT_THAT(error_of({"M", "--speculative-config", R"({"metod":"mtp"})"}), HasSubstr("no key 'metod'"));
  EXPECT_THAT(error_of({"M", "--speculative-config.method", "eagle3"}), HasSubstr("'eagle3' is not supported"));
  EXPECT_THAT(error_of({"M", "--limit-mm-per-prompt", "image=4,video=0"}), HasSubstr("pictures are not offered yet"));
  EXPECT_EQ(error_of({"M", "--limit-mm-per-prompt", R"({"image":0,"video":{"count":0}})"}), "no error");
  EXPECT_THAT(error_of({"M", "--definitely-unknown"}), HasSubstr("unknown option --definitely-unknown"));
  EXPECT_THAT(error_of({"M", "--max-model-lenn", "3"}), HasSubstr("did you mean --max-model-len?"));
  EXPECT_EQ(error_of({"M", "--definitely-unknown", "--ignore-unknown-args"}), "no error");
}

TEST(ServeOptions, AllRefusalsAreNamedAtOnce) {
  const std::string e =
      error_of({"M", "--reasoning-parser", "qwen3", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"});
  EXPECT_THAT(e, HasSubstr("| --enable-auto-tool-choice, --reasoning-parser, --tool-call-parser |"));
}

TEST(ServeOptions, LaunchLines) {
  for (const LaunchLine& line : launch_lines()) {
    const std::string e = error_of({line.args.begin() + 1, line.args.end()});
    if (line.refused.empty()) {
      EXPECT_EQ(e, "no error") << line.name;
      continue;
    }
    std::string_view rest = line.refused;
    while (!rest.empty()) {
      const std::string_view flag = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), flag.size() + 1));
      EXPECT_THAT(e, HasSubstr(std::string(flag))) << line.name;
    }
  }
}

TEST(ServeOptions, LegacyOptionsParse) {
  const ServeOptions o = read_serve_options({"M",
                                             "--disable-log-requests",
                                             "--swap-space",
                                             "4",
                                             "--guided-decoding-backend",
                                             "xgrammar",
                                             "--enable-reasoning",
                                             "--task",
                                             "generate",
                                             "--max-seq-len-to-capture",
                                             "8192",
                                             "--num-scheduler-steps",
                                             "8",
                                             "--rope-scaling",
                                             R"({"type":"yarn"})",
                                             "--use-v2-block-manager",
                                             "--disable-frontend-multiprocessing",
                                             "--device",
                                             "auto",
                                             "--preemption-mode",
                                             "recompute",
                                             "--engine-use-ray",
                                             "--worker-use-ray",
                                             "--disable-async-output-proc",
                                             "--calculate-kv-scales",
                                             "--cuda-graph-sizes",
                                             "1",
                                             "2",
                                             "--num-speculative-tokens",
                                             "3",
                                             "-O3",
                                             "--compilation-config",
                                             "3"});
  EXPECT_EQ(o.load.model, "M");
  EXPECT_EQ(o.load.hf_overrides.dump(), R"({"rope_scaling":{"type":"yarn"}})");
  EXPECT_FALSE(o.server.log_requests);
  EXPECT_THAT(error_of({"M", "--task", "embed"}), HasSubstr("--task embed is not supported"));
}

}  // namespace
}  // namespace hearth
