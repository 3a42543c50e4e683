// The whole server over a fake model: what each endpoint says, and each refusal.
#include "server/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "server/http/http_server.h"
#include "server/testing/fake_service.h"
#include "server/testing/raw_client.h"
#include "text/detokenizer.h"

namespace hearth {
namespace {

using ::hearth::testing::ask;
using ::hearth::testing::CharTokenizer;
using ::hearth::testing::fake_runner_info;
using ::hearth::testing::fake_service;
using ::hearth::testing::FakeOptions;
using ::hearth::testing::RawAnswer;
using ::hearth::testing::RawClient;
using ::testing::HasSubstr;
using ::testing::Not;

class AppTest : public ::testing::Test {
 protected:
  void start(FakeOptions o = {}) {
    o.config.access_log = false;
    options = o;
    service = fake_service(o);
    app = std::make_unique<App>(service);
    HttpOptions http;
    http.host = "127.0.0.1";
    http.port = 0;
    http.session.linger_seconds = 0.2;
    http.session.parser.max_body_bytes = std::size_t{16} << 20;
    server = std::make_unique<HttpServer>(http);
    server->start(*app);
    port = server->port();
  }
  void TearDown() override {
    for (const auto& model : service->models) model->engine->stop();
    server->stop();
    app->finish_workers();
    server.reset();
    app.reset();
  }
  RawAnswer post(const std::string& path, const Json& body) { return ask(port, "POST", path, body.dump()); }
  RawAnswer chat(Json extra) {
    Json body = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                 {"max_tokens", 8},
                 {"temperature", 0},
                 {"ignore_eos", true}};
    body.update(extra);
    return post("/v1/chat/completions", body);
  }
  RawAnswer complete(Json extra) {
    Json body = {{"prompt", "Hello"}, {"max_tokens", 8}, {"temperature", 0}, {"ignore_eos", true}};
    body.update(extra);
    return post("/v1/completions", body);
  }
  // What the engine must say after a text.
  std::vector<std::int32_t> expected(const std::string& prompt, int max_tokens, bool ignore_eos = true) {
    Request request;
    request.prompt = CharTokenizer().encode(prompt, {false, true});
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    request.sampling.ignore_eos = ignore_eos;
    request.sampling.eos_token_ids = {CharTokenizer::kEnd};
    std::vector<std::int32_t> ids;
    for (const TokenOutput& t : straight_line(request, 0, fake_runner_info(options), options.max_model_len).tokens)
      ids.push_back(t.token);
    return ids;
  }
  static std::string spoken(const std::vector<std::int32_t>& ids) {
    static const CharTokenizer tokenizer;
    Detokenizer detokenizer(tokenizer, true);
    std::string text;
    for (const std::int32_t id : ids) text += detokenizer.push(id);
    return text + detokenizer.finish();
  }
  static std::vector<Json> events(const std::string& body) {
    std::vector<Json> out;
    std::size_t at = 0;
    while (at < body.size()) {
      const std::size_t end = body.find("\n\n", at);
      if (end == std::string::npos) break;
      const std::string event = body.substr(at, end - at);
      EXPECT_TRUE(event.starts_with("data: ")) << event;
      EXPECT_EQ(event.find('\n'), std::string::npos);
      if (event != "data: [DONE]") out.push_back(Json::parse(event.substr(6)));
      at = end + 2;
    }
    EXPECT_TRUE(body.ends_with("data: [DONE]\n\n"));
    return out;
  }
  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 500; ++i) {
      if (f()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  Engine& engine() { return *service->models.front()->engine; }

  FakeOptions options;
  std::shared_ptr<Service> service;
  std::unique_ptr<App> app;
  std::unique_ptr<HttpServer> server;
  int port = 0;
};

const std::string kHello = "<user>Hello<|end|><assistant>";

// --- the small endpoints ----------------------------------------------------------------------------------------------------

TEST_F(AppTest, HealthVersionModelsRoot) {
  start();
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  EXPECT_EQ(ask(port, "GET", "/health").body, "");
  EXPECT_EQ(ask(port, "POST", "/ping").status, 200);
  EXPECT_EQ(ask(port, "GET", "/version").json()["version"], "0.26.0");
  EXPECT_EQ(ask(port, "GET", "/load").json()["server_load"], 0);
  const Json list = ask(port, "GET", "/v1/models").json();
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][0]["id"], "fake");
  EXPECT_EQ(list["data"][0]["max_model_len"], 512);
  EXPECT_EQ(list["data"][0]["permission"][0]["object"], "model_permission");
  EXPECT_EQ(ask(port, "GET", "/v1/models/org%2Ffake").json()["id"], "org/fake");
  EXPECT_EQ(ask(port, "GET", "/v1/models/org/fake").json()["id"], "org/fake");
  const RawAnswer missing = ask(port, "GET", "/v1/models/nope");
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, HasSubstr("`nope` does not exist"));
  EXPECT_THAT(ask(port, "GET", "/").head, HasSubstr("text/plain"));
  EXPECT_THAT(ask(port, "GET", "/", "", "Accept: text/html,*/*\r\n").head, HasSubstr("text/html"));
  EXPECT_EQ(ask(port, "HEAD", "/").body, "");
  EXPECT_THAT(ask(port, "GET", "/metrics/").body,
              HasSubstr("vllm:num_requests_running{engine=\"0\",model_name=\"fake\"} 0"));
  EXPECT_EQ(ask(port, "GET", "/tokenizer_info").status, 404);
  EXPECT_EQ(ask(port, "GET", "/server_info").status, 404);
}

TEST_F(AppTest, ErrorsOfRoutesAreInTheDialectOfThePath) {
  start();
  EXPECT_EQ(ask(port, "GET", "/v1/nothing").json(),
            Json::parse(R"({"error":{"message":"Not Found","type":"Not Found","param":null,"code":404}})"));
  EXPECT_EQ(ask(port, "GET", "/api/nothing").json(), Json::parse(R"({"error":"Not Found"})"));
  EXPECT_EQ(ask(port, "GET", "/v1/messages/x").json()["error"]["type"], "not_found_error");
  const RawAnswer method = ask(port, "GET", "/v1/chat/completions");
  EXPECT_EQ(method.status, 405);
  EXPECT_THAT(method.head, HasSubstr("allow: POST\r\n"));
  EXPECT_THAT(ask(port, "GET", "/health", "", "X-Request-Id: abc\r\n").head, HasSubstr("x-request-id: abc\r\n"));
}

TEST_F(AppTest, OpenapiDescribesEveryRoute) {
  start();
  const Json doc = ask(port, "GET", "/openapi.json").json();
  for (const Route& route : app->router().routes()) {
    std::string path = route.pattern;
    if (const auto dots = path.find("...}"); dots != std::string::npos) path.erase(dots, 3);
    EXPECT_TRUE(doc["paths"].contains(path)) << path;
    EXPECT_FALSE(route.summary.empty()) << path;
  }
  const Json& fields = doc["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
                          ["schema"]["properties"];
  EXPECT_EQ(fields["temperature"]["maximum"], 2);
  EXPECT_THAT(fields["guided_json"]["description"].get<std::string>(), HasSubstr("Refused"));
}

TEST_F(AppTest, KeysAndCors) {
  FakeOptions o;
  o.config.api_keys = {"sk-1"};
  start(o);
  const RawAnswer no = ask(port, "GET", "/v1/models", "", "Origin: http://a\r\n");
  EXPECT_EQ(no.status, 401);
  EXPECT_EQ(no.json()["error"]["type"], "AuthenticationError");
  EXPECT_THAT(no.head, HasSubstr("www-authenticate: Bearer\r\n"));
  EXPECT_THAT(no.head, HasSubstr("access-control-allow-origin: *\r\n"));
  EXPECT_EQ(ask(port, "GET", "/v1/models", "", "Authorization: Bearer sk-1\r\n").status, 200);
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  EXPECT_EQ(ask(port, "OPTIONS", "/v1/models", "", "Origin: http://a\r\nAccess-Control-Request-Method: GET\r\n").status,
            200);
}

TEST_F(AppTest, ForeignHostNamesAreRefusedOnLoopback) {
  FakeOptions o;
  o.config.host = "127.0.0.1";
  start(o);
  EXPECT_EQ(ask(port, "GET", "/health", "", "Host: evil.com\r\n").status, 403);
  EXPECT_EQ(ask(port, "GET", "/health", "", "Host: localhost:1\r\n").status, 200);
}

TEST_F(AppTest, RootPathIsStripped) {
  FakeOptions o;
  o.config.root_path = "/proxy";
  start(o);
  EXPECT_EQ(ask(port, "GET", "/proxy/health").status, 200);
  EXPECT_EQ(ask(port, "GET", "/health").status, 200);
  EXPECT_EQ(ask(port, "GET", "/proxyhealth").status, 404);
}

TEST_F(AppTest, Tokenize) {
  start();
  const Json t = post("/tokenize", {{"prompt", "Hi<|end|>"}, {"return_token_strs", true}}).json();
  EXPECT_EQ(t["tokens"], Json::parse("[40,73,96]"));
  EXPECT_EQ(t["count"], 3);
  EXPECT_EQ(t["max_model_len"], 512);
  EXPECT_EQ(t["token_strs"][2], "<|end|>");
  const Json m = post("/tokenize", {{"messages", {{{"role", "user"}, {"content", "<|end|>"}}}}}).json();
  EXPECT_EQ(m["count"], 6 + 7 + 1 + 11);  // the client's <|end|> stays seven characters, the template's is one token
  EXPECT_EQ(post("/detokenize", {{"tokens", {40, 73}}}).json()["prompt"], "Hi");
  EXPECT_EQ(post("/detokenize", {{"tokens", Json::array()}}).json()["prompt"], "");
  EXPECT_EQ(post("/detokenize", {{"tokens", {99}}}).status, 400);
  EXPECT_EQ(post("/detokenize", Json::object()).json()["error"]["param"], "body.tokens");
  EXPECT_EQ(post("/tokenize", Json::object()).status, 400);
}

// --- chat -------------------------------------------------------------------------------------------------------------------

TEST_F(AppTest, ChatSaysWhatTheEngineSays) {
  start();
  const RawAnswer a = chat({{"request_id", "r1"}});
  ASSERT_EQ(a.status, 200) << a.body;
  const Json body = a.json();
  EXPECT_EQ(body["id"], "chatcmpl-r1");
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "fake");
  EXPECT_THAT(body["system_fingerprint"].get<std::string>(), HasSubstr("hearth-"));
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["message"]["role"], "assistant");
  EXPECT_EQ(choice["message"]["content"], spoken(expected(kHello, 8)));
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(body["usage"], Json::parse(R"({"prompt_tokens":23,"total_tokens":31,"completion_tokens":8})"));
}

TEST_F(AppTest, StreamEqualsTheWhole) {
  start();
  for (const Json& extra :
       {Json{{"max_tokens", 200}}, Json{{"max_tokens", 100}, {"ignore_eos", false}},
        Json{{"stop", {"a", "Q"}}, {"max_tokens", 300}}, Json{{"logprobs", true}, {"top_logprobs", 2}},
        Json{{"n", 3}, {"temperature", 1}, {"seed", 5}}, Json{{"stream_interval", 7}, {"max_tokens", 50}}}) {
    const Json whole = chat(extra).json();
    Json ask_stream = extra;
    ask_stream["stream"] = true;
    ask_stream["stream_options"] = {{"include_usage", true}};
    const RawAnswer streamed = chat(ask_stream);
    EXPECT_THAT(streamed.head, HasSubstr("content-type: text/event-stream; charset=utf-8\r\n"));
    const std::vector<Json> list = events(streamed.body);
    std::vector<std::string> texts(whole["choices"].size());
    std::vector<Json> logprobs(texts.size(), Json::array()), finishes(texts.size()), reasons(texts.size());
    std::vector<bool> seen(texts.size(), false);
    for (const Json& e : list) {
      EXPECT_EQ(e["object"], "chat.completion.chunk");
      EXPECT_EQ(e["id"], list[0]["id"]);
      ASSERT_TRUE(e.contains("choices"));
      for (const Json& c : e["choices"]) {
        const auto i = c["index"].get<std::size_t>();
        if (!seen[i]) {
          EXPECT_EQ(c["delta"], Json::parse(R"({"role":"assistant","content":""})"));
        }
        seen[i] = true;
        EXPECT_TRUE(finishes[i].is_null());
        texts[i] += c["delta"].value("content", "");
        if (!c["logprobs"].is_null())
          for (const Json& l : c["logprobs"]["content"]) logprobs[i].push_back(l);
        finishes[i] = c["finish_reason"];
        if (c.contains("stop_reason")) reasons[i] = c["stop_reason"];
      }
    }
    EXPECT_EQ(list.back()["choices"], Json::array());
    EXPECT_EQ(list.back()["usage"], whole["usage"]);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(texts[i], whole["choices"][i]["message"]["content"]) << extra;
      EXPECT_EQ(finishes[i], whole["choices"][i]["finish_reason"]);
      EXPECT_EQ(reasons[i], whole["choices"][i]["stop_reason"]);
      if (!whole["choices"][i]["logprobs"].is_null()) {
        EXPECT_EQ(logprobs[i], whole["choices"][i]["logprobs"]["content"]);
      }
    }
  }
}

TEST_F(AppTest, StopStringsCutAndAreNamed) {
  start();
  const std::vector<std::int32_t> ids = expected(kHello, 60);
  const std::string text = spoken(ids);
  const std::string stop = text.substr(20, 3);
  Json body = chat({{"max_tokens", 60}, {"stop", stop}}).json();
  EXPECT_EQ(body["choices"][0]["message"]["content"], text.substr(0, text.find(stop)));
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["choices"][0]["stop_reason"], stop);
  body = chat({{"max_tokens", 60}, {"stop", stop}, {"include_stop_str_in_output", true}}).json();
  EXPECT_EQ(body["choices"][0]["message"]["content"], text.substr(0, text.find(stop) + stop.size()));
  EXPECT_TRUE(eventually([&] { return engine().stats().num_running == 0; }));
}

TEST_F(AppTest, StopTokensAndEos) {
  start();
  const std::vector<std::int32_t> ids = expected(kHello, 60);
  Json body = chat({{"max_tokens", 60}, {"stop_token_ids", {ids[5]}}, {"return_token_ids", true}}).json();
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["stop_reason"], ids[5]);
  const auto first = static_cast<std::ptrdiff_t>(std::find(ids.begin(), ids.end(), ids[5]) - ids.begin());
  EXPECT_EQ(choice["token_ids"].size(), static_cast<std::size_t>(first) + 1);
  EXPECT_EQ(choice["message"]["content"], spoken({ids.begin(), ids.begin() + first}));
  EXPECT_EQ(body["prompt_token_ids"].size(), 23u);
}

TEST_F(AppTest, ContinueEchoAndThinking) {
  start();
  const Json messages = {{{"role", "user"}, {"content", "Hi"}}, {{"role", "assistant"}, {"content", "I am"}}};
  Json body = chat({{"messages", messages}, {"continue_final_message", true}, {"echo", true}}).json();
  EXPECT_EQ(body["choices"][0]["message"]["content"], "I am" + spoken(expected("<user>Hi<|end|><assistant>I am", 8)));
  for (const Json& on : {Json{{"chat_template_kwargs", {{"enable_thinking", true}}}}, Json{{"enable_thinking", true}},
                         Json{{"thinking", {{"type", "enabled"}}}}, Json{{"reasoning_effort", "low"}},
                         Json{{"reasoning", {{"effort", "high"}}}}}) {
    Json ask_it = on;
    ask_it["messages"] = {{{"role", "user"}, {"content", "x"}}};
    EXPECT_THAT(post("/v1/chat/completions/render", ask_it).json()["prompt"].get<std::string>(),
                ::testing::EndsWith("<think>"))
        << on;
  }
  EXPECT_THAT(post("/v1/chat/completions/render", {{"messages", messages}, {"reasoning_effort", "none"}})
                  .json()["prompt"]
                  .get<std::string>(),
              ::testing::EndsWith("<assistant>"));
}

TEST_F(AppTest, BodiesThatAreNoRequest) {
  start();
  const auto raw = [&](const std::string& body, const std::string& headers = "") {
    return ask(port, "POST", "/v1/chat/completions", body, headers);
  };
  for (const char* body : {"not json", "[]", "\"x\"", "{\"messages\":", "{\"a\":\"\xff\xfe\"}", "123"}) {
    const RawAnswer a = raw(body);
    EXPECT_EQ(a.status, 400) << body;
    EXPECT_EQ(a.json()["error"]["type"], "Bad Request") << body;
    EXPECT_EQ(a.body.find("exception"), std::string::npos) << a.body;  // words of a library
  }
  EXPECT_EQ(ask(port, "GET", "/v1/%zz").json()["error"]["code"], 400);
  EXPECT_EQ(raw("{\"a\":" + std::string(2000, '[') + std::string(2000, ']') + "}").status, 400);
  EXPECT_EQ(raw("{\"a\":\"" + std::string(17 << 20, 'x') + "\"}").status, 413);
  EXPECT_EQ(raw("{}", "Content-Type: text/plain\r\n").status, 400);
  EXPECT_EQ(raw("{}", "Content-Type: application/vnd.x+json; charset=utf-8\r\n").json()["error"]["param"],
            "body.messages");
}

TEST_F(AppTest, UnknownAndNullFieldsAreAccepted) {
  start();
  EXPECT_EQ(chat({{"never_heard_of", {1, 2}},
                  {"top_p", nullptr},
                  {"tools", nullptr},
                  {"stop", nullptr},
                  {"model", ""},
                  {"user", "u"},
                  {"metadata", {{"a", 1}}},
                  {"max_tokens", "5"},
                  {"temperature", 0},
                  {"tools", Json::array()},
                  {"response_format", {{"type", "text"}}}})
                .status,
            200);
}

struct Refusal {
  const char* body;
  const char* param;
  const char* type = "BadRequestError";
};

TEST_F(AppTest, EveryRefusalNamesItsField) {
  start();
  const Refusal cases[] = {
      {R"({"messages":[]})", "messages"},
      {R"({"messages":"x"})", "body.messages", "Bad Request"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,"}}]}]})", "messages"},
      {R"({"temperature":3})", "temperature"},
      {R"({"temperature":-0.1})", "temperature"},
      {R"({"temperature":"hot"})", "body.temperature", "Bad Request"},
      {R"({"top_p":0})", "top_p"},
      {R"({"top_p":1.1})", "top_p"},
      {R"({"top_k":-2})", "top_k"},
      {R"({"top_k":1.5})", "body.top_k", "Bad Request"},
      {R"({"min_p":1.5})", "min_p"},
      {R"({"presence_penalty":2.5})", "presence_penalty"},
      {R"({"frequency_penalty":-3})", "frequency_penalty"},
      {R"({"repetition_penalty":0})", "repetition_penalty"},
      {R"({"seed":"x"})", "body.seed", "Bad Request"},
      {R"({"n":0})", "n"},
      {R"({"n":2})", "n"},
      {R"({"n":99999,"temperature":1})", "n"},
      {R"({"best_of":3})", "best_of"},
      {R"({"best_of":1,"n":2,"temperature":1})", "best_of"},
      {R"({"max_tokens":0})", "max_tokens"},
      {R"({"max_tokens":-1})", "max_tokens"},
      {R"({"max_tokens":600})", "max_tokens"},
      {R"({"max_tokens":500})", "input_tokens"},
      {R"({"max_completion_tokens":0})", "max_completion_tokens"},
      {R"({"min_tokens":9,"max_tokens":3})", "min_tokens"},
      {R"({"min_tokens":-1})", "min_tokens"},
      {R"({"stop":""})", "stop"},
      {R"({"stop":["a","b","c","d","e"]})", "stop"},
      {R"({"stop":[1]})", "body.stop", "Bad Request"},
      {R"({"stop_token_ids":[99]})", "stop_token_ids"},
      {R"({"stop_token_ids":[-1]})", "stop_token_ids"},
      {R"({"stop_token_ids":["a"]})", "body.stop_token_ids.0", "Bad Request"},
      {R"({"logit_bias":{"x":1}})", "logit_bias"},
      {R"({"logit_bias":{"99":1}})", "logit_bias"},
      {R"({"logit_bias":[1]})", "body.logit_bias", "Bad Request"},
      {R"({"bad_words":[""]})", "bad_words"},
      {R"({"allowed_token_ids":[]})", "allowed_token_ids"},
      {R"({"allowed_token_ids":[1000]})", "allowed_token_ids"},
      {R"({"top_logprobs":3})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":21})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":-1})", "top_logprobs"},
      {R"({"logprobs":5})", "body.logprobs", "Bad Request"},
      {R"({"prompt_logprobs":21})", "prompt_logprobs"},
      {R"({"prompt_logprobs":1,"stream":true})", "prompt_logprobs"},
      {R"({"prompt_logprobs":-1})", "prompt_logprobs"},
      {R"({"stream_options":{"include_usage":true}})", "stream_options"},
      {R"({"stream":"maybe"})", "body.stream", "Bad Request"},
      {R"({"continue_final_message":true,"add_generation_prompt":true})", "continue_final_message"},
      {R"({"tools":[{"type":"function","function":{"name":"f"}}]})", "tools"},
      {R"({"tool_choice":"auto"})", "tool_choice"},
      {R"({"tool_choice":"sometimes"})", "tool_choice"},
      {R"({"tool_choice":{"type":"function","function":{"name":"f"}}})", "tool_choice"},
      {R"({"response_format":{"type":"json_object"}})", "response_format"},
      {R"({"structured_outputs":{"json":{}}})", "structured_outputs"},
      {R"({"guided_json":{}})", "guided_json"},
      {R"({"guided_choice":["a"]})", "guided_choice"},
      {R"({"chat_template":"x"})", "chat_template"},
      {R"({"chat_template_kwargs":{"messages":[]}})", "chat_template_kwargs"},
      {R"({"reasoning_effort":"huge"})", "reasoning_effort"},
      {R"({"thinking_token_budget":10})", "thinking_token_budget"},
      {R"({"priority":3})", "priority"},
      {R"({"cache_salt":""})", "cache_salt"},
      {R"({"use_beam_search":true})", "use_beam_search"},
      {R"({"truncate_prompt_tokens":-2})", "truncate_prompt_tokens"},
      {R"({"truncate_prompt_tokens":1000})", "truncate_prompt_tokens"},
      {R"({"truncation_side":"up"})", "truncation_side"},
  };
  for (const Refusal& c : cases) {
    const RawAnswer a = chat(Json::parse(c.body));
    EXPECT_EQ(a.status, 400) << c.body << a.body;
    const Json error = a.json()["error"];
    EXPECT_EQ(error["param"], c.param) << c.body << a.body;
    EXPECT_EQ(error["type"], c.type) << c.body << a.body;
    EXPECT_EQ(error["code"], 400);
  }
  const RawAnswer model = chat({{"model", "nope"}});
  EXPECT_EQ(model.status, 404);
  EXPECT_EQ(model.json()["error"],
            Json::parse(
                R"({"message":"The model `nope` does not exist.","type":"NotFoundError","param":"model","code":404})"));
  EXPECT_EQ(engine().stats().num_running, 0);
}

TEST_F(AppTest, ContextOverflowSaysTheNumbers) {
  start();
  const RawAnswer fits = complete({{"prompt", std::string(511, 'a')}, {"max_tokens", 1}});
  EXPECT_EQ(fits.status, 200) << fits.body;
  const RawAnswer a = complete({{"prompt", std::string(512, 'a')}, {"max_tokens", 1}});
  EXPECT_EQ(a.status, 400);
  const std::string message = a.json()["error"]["message"];
  EXPECT_THAT(message, HasSubstr("maximum context length is 512 tokens"));
  EXPECT_THAT(message, HasSubstr("512 input tokens"));
  EXPECT_THAT(message, HasSubstr("1 output tokens"));
  EXPECT_EQ(a.json()["error"]["param"], "input_tokens");
  EXPECT_EQ(complete({{"prompt", std::string(600, 'a')}, {"max_tokens", 5}, {"truncate_prompt_tokens", 100}})
                .json()["usage"]["prompt_tokens"],
            100);
  EXPECT_EQ(complete({{"prompt", std::string(600, 'a')}, {"max_tokens", 5}, {"truncate_prompt_tokens", -1}})
                .json()["usage"]["prompt_tokens"],
            507);
  // The default never makes a long prompt fail.
  Json body = {{"prompt", std::string(510, 'a')}, {"temperature", 0}, {"ignore_eos", true}};
  EXPECT_EQ(post("/v1/completions", body).json()["usage"]["completion_tokens"], 2);
}

TEST_F(AppTest, ClampCutsInsteadOfRefusing) {
  FakeOptions o;
  o.config.clamp_max_tokens = true;
  start(o);
  EXPECT_EQ(complete({{"prompt", std::string(500, 'a')}, {"max_tokens", 100000}}).json()["usage"]["completion_tokens"],
            12);
  EXPECT_EQ(complete({{"prompt", std::string(500, 'a')}, {"max_tokens", std::numeric_limits<std::int64_t>::max()}})
                .json()["usage"]["completion_tokens"],
            12);
  EXPECT_EQ(complete({{"prompt", std::string(600, 'a')}, {"max_tokens", std::numeric_limits<std::int64_t>::max()}})
                .json()["error"]["param"],
            "input_tokens");
}

TEST_F(AppTest, ManyTemplateKwargsAreRefused) {
  start();
  Json kwargs = Json::object();
  for (int i = 0; i < 257; ++i) kwargs["k" + std::to_string(i)] = i;
  EXPECT_EQ(chat({{"chat_template_kwargs", kwargs}}).json()["error"]["param"], "chat_template_kwargs");
  kwargs.erase("k0");
  EXPECT_EQ(chat({{"chat_template_kwargs", kwargs}}).status, 200);
}

// --- completions ------------------------------------------------------------------------------------------------------------

TEST_F(AppTest, CompletionsOfManyPrompts) {
  start();
  const Json body = complete({{"prompt", {"abc", "de"}}, {"n", 2}, {"temperature", 1}, {"seed", 3}}).json();
  ASSERT_EQ(body["choices"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(body["choices"][i]["index"], i);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(body["usage"]["completion_tokens"], 32);
  EXPECT_EQ(body["object"], "text_completion");
  const Json alone = complete({{"prompt", "de"}, {"temperature", 1}, {"seed", 4}}).json();
  EXPECT_EQ(alone["choices"][0]["text"], body["choices"][3]["text"]);  // choice i draws with seed + i
  const Json ids = complete({{"prompt", {{65, 66, 67}}}, {"return_token_ids", true}}).json();
  EXPECT_EQ(ids["choices"][0]["prompt_token_ids"], Json::parse("[65,66,67]"));
  EXPECT_EQ(ids["choices"][0]["text"], complete({{"prompt", "abc"}}).json()["choices"][0]["text"]);
  for (const Json& bad :
       {Json{{"prompt", Json::array()}}, Json{{"prompt", ""}}, Json{{"prompt", {{1}, Json::array()}}},
        Json{{"prompt", {500}}}, Json{{"prompt", {{"a", 1}}}}, Json{{"prompt", {1, "a"}}}, Json{{"suffix", "x"}},
        Json{{"prompt_embeds", "x"}}, Json{{"max_tokens", 0}}, Json{{"logprobs", 21}}, Json{{"logprobs", -1}}})
    EXPECT_EQ(complete(bad).status, 400) << bad;
}

TEST_F(AppTest, EchoWithLogprobsAsEvaluatorsAsk) {
  start();
  for (const int max_tokens : {0, 1}) {
    const Json body =
        complete({{"prompt", {{40, 41, 42}}}, {"echo", true}, {"logprobs", 1}, {"max_tokens", max_tokens}}).json();
    const Json& choice = body["choices"][0];
    const Json& l = choice["logprobs"];
    const std::size_t n = 3 + static_cast<std::size_t>(max_tokens);
    ASSERT_EQ(l["tokens"].size(), n) << body;
    EXPECT_EQ(l["token_logprobs"].size(), n);
    EXPECT_EQ(l["top_logprobs"].size(), n);
    EXPECT_TRUE(l["token_logprobs"][0].is_null());
    EXPECT_TRUE(l["top_logprobs"][0].is_null());
    EXPECT_TRUE(l["token_logprobs"][1].is_number());
    EXPECT_TRUE(l["top_logprobs"][1].contains("I"));
    EXPECT_EQ(l["text_offset"][2], 2);
    EXPECT_THAT(choice["text"].get<std::string>(), ::testing::StartsWith("HIJ"));
    EXPECT_EQ(body["usage"]["completion_tokens"], max_tokens);
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_TRUE(choice["prompt_logprobs"].is_null());
  }
  const Json p = complete({{"prompt", "HIJ"}, {"prompt_logprobs", 0}}).json()["choices"][0]["prompt_logprobs"];
  ASSERT_EQ(p.size(), 3u);
  EXPECT_TRUE(p[0].is_null());
  EXPECT_EQ(p[1]["41"]["decoded_token"], "I");
}

TEST_F(AppTest, CompletionStreamsInterleaveAndAddUp) {
  start();
  const Json ask_it = {{"prompt", {"abc", "xyz", "q"}}, {"max_tokens", 40}, {"logprobs", 0}, {"echo", true}};
  const Json whole = complete(ask_it).json();
  Json streaming = ask_it;
  streaming["stream"] = true;
  std::vector<std::string> texts(3);
  std::vector<Json> tokens(3, Json::array()), offsets(3, Json::array());
  for (const Json& e : events(complete(streaming).body))
    for (const Json& c : e["choices"]) {
      const auto i = c["index"].get<std::size_t>();
      texts[i] += c["text"];
      for (const Json& t : c["logprobs"]["tokens"]) tokens[i].push_back(t);
      for (const Json& t : c["logprobs"]["text_offset"]) offsets[i].push_back(t);
    }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(texts[i], whole["choices"][i]["text"]);
    EXPECT_EQ(tokens[i], whole["choices"][i]["logprobs"]["tokens"]);
    EXPECT_EQ(offsets[i], whole["choices"][i]["logprobs"]["text_offset"]);
  }
}

// --- bodies that would take much memory -------------------------------------------------------------------------------------

TEST_F(AppTest, ABodyOfTooManyValuesOrAnswersIsRefused) {
  start();
  const auto raw = [&](const std::string& body) { return ask(port, "POST", "/v1/completions", body); };
  std::string many = "{\"prompt\":\"a\",\"x\":[";
  for (int i = 0; i < 4'200'000; ++i) many += "0,";
  const RawAnswer values = raw(many + "0]}");
  EXPECT_EQ(values.status, 400);
  EXPECT_THAT(values.body, HasSubstr("JSON values"));
  const std::string in_string = std::string(4'200'000, ',');
  EXPECT_EQ(complete({{"prompt", "a"}, {"max_tokens", 1}, {"x", in_string}}).status, 200);

  const RawAnswer answers =
      complete({{"prompt", std::vector<std::string>(1024, "a")}, {"n", 17}, {"max_tokens", 1}, {"temperature", 1}});
  EXPECT_EQ(answers.status, 400);
  EXPECT_THAT(answers.body, HasSubstr("1024 prompts with n 17 are 17408 answers"));
}

TEST_F(AppTest, APromptThatCannotFitIsRefusedUntokenised) {
  start();
  const std::string endless(200'000, 'a');  // of 512 tokens, 7 bytes at most
  for (const RawAnswer& a : {complete({{"prompt", endless}, {"max_tokens", 3}}),
                             chat({{"messages", {{{"role", "user"}, {"content", endless}}}}, {"max_tokens", 3}})}) {
    EXPECT_EQ(a.status, 400);
    EXPECT_THAT(a.body, HasSubstr("maximum context length is 512 tokens. The request asks for 3 output tokens and its "
                                  "prompt has at least 714"));
  }
  EXPECT_EQ(complete({{"prompt", endless}, {"max_tokens", 3}, {"truncate_prompt_tokens", 5}}).status, 200);
}

// --- clients that leave, many clients, the end ----------------------------------------------------------------------------------

TEST_F(AppTest, LeavingEndsTheWork) {
  FakeOptions o;
  o.step_seconds = 0.01;
  start(o);
  for (const bool stream : {false, true}) {
    RawClient c(port);
    const std::string body =
        Json{{"prompt", "abc"}, {"max_tokens", 500}, {"ignore_eos", true}, {"stream", stream}}.dump();
    c.send("POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body);
    ASSERT_TRUE(eventually([&] { return engine().stats().num_running == 1; }));
    c.close();
    EXPECT_TRUE(eventually([&] { return engine().stats().num_running == 0; }));
    EXPECT_EQ(engine().stats().num_free_blocks, engine().stats().num_blocks);
  }
  EXPECT_TRUE(eventually([&] { return app->state().load == 0; }));
  EXPECT_THAT(ask(port, "GET", "/metrics").body, HasSubstr("finished_reason=\"abort\",model_name=\"fake\"} 2"));
}

TEST_F(AppTest, ManyClientsGetWhatOneGets) {
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 256; ++i) {
    clients.push_back(std::make_unique<RawClient>(port));
    const std::string body = Json{
        {"prompt", "p" + std::to_string(i % 7)},
        {"max_tokens", 20},
        {"temperature", 0},
        {"ignore_eos", true}}.dump();
    clients.back()->send("POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: " +
                         std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  std::vector<std::string> alone(7);
  for (int i = 0; i < 256; ++i) {
    const std::string answer = clients[static_cast<std::size_t>(i)]->read_all();
    ASSERT_THAT(answer, HasSubstr("200 OK"));
    const std::string text = Json::parse(answer.substr(answer.find("\r\n\r\n") + 4))["choices"][0]["text"];
    EXPECT_EQ(text, spoken(expected("p" + std::to_string(i % 7), 20)));
  }
}

TEST_F(AppTest, AnEngineThatEndsSaysAbort) {
  FakeOptions o;
  o.step_seconds = 0.01;
  start(o);
  RawClient c(port);
  const std::string body = Json{{"prompt", "abc"}, {"max_tokens", 500}, {"ignore_eos", true}, {"stream", true}}.dump();
  c.send("POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(eventually([&] { return engine().stats().num_running == 1; }));
  server->stop_accepting();
  engine().stop();
  const std::string got = c.read_all();
  EXPECT_THAT(got, HasSubstr("\"finish_reason\":\"abort\""));
  EXPECT_THAT(got, HasSubstr("data: [DONE]"));
  EXPECT_TRUE(server->wait_idle(3));
}

}  // namespace
}  // namespace hearth
