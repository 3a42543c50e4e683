// builtins.cpp — the global functions of a template.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100000;  // as Jinja's sandbox

Value range(Interp& in, const Value&, Args& args) {
  const Params p(args, "range", {"start", "stop", "step"}, 1);
  const std::int64_t start = p[1] ? p.index(0, 0) : 0, stop = p[1] ? p.index(1, 0) : p.index(0, 0),
                     step = p.index(2, 1);
  if (step == 0) throw Error("ValueError", "range() arg 3 must not be zero");
  const Int distance = step > 0 ? Int{stop} - start : Int{start} - stop;
  const Int stride = step > 0 ? Int{step} : -Int{step};
  const Int n = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  if (n > kMaxRange)
    throw Error("OverflowError",
                fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange));
  in.budget.values(static_cast<std::size_t>(n));
  std::vector<Value> items;
  items.reserve(static_cast<std::size_t>(n));
  for (Int i = 0; i < n; ++i) items.emplace_back(static_cast<Int>(start + i * step));
  std::string name =
      step == 1 ? fmt::format("range({}, {})", start, stop) : fmt::format("range({}, {}, {})", start, stop, step);
  return make_list(std::move(items), List::Form::range, std::move(name));
}

// What dict() and namespace() take: a mapping or pairs, then names.
std::vector<std::pair<Value, Value>> entries(Interp& in, Args& args, const char* function) {
  std::vector<std::pair<Value, Value>> out;
  if (args.pos.size() > 1)
    throw Error("TypeError", fmt::format("{} expected at most 1 argument, got {}", function, args.pos.size()));
  if (!args.pos.empty() && args.pos[0].is_dict()) {
    out = args.pos[0].dict().items;
  } else if (!args.pos.empty()) {
    for (const Value& pair : iterate(args.pos[0], in)) {
      std::vector<Value> kv = iterate(pair, in);
      if (kv.size() != 2)
        throw Error("ValueError",
                    fmt::format("{}: pairs were expected, an element has length {}", function, kv.size()));
      if (!is_hashable(kv[0])) throw Error("TypeError", fmt::format("unhashable type: '{}'", type_name(kv[0])));
      out.emplace_back(std::move(kv[0]), std::move(kv[1]));
    }
  }
  for (auto& [name, value] : args.kw) out.emplace_back(Value(plain(name)), value);
  in.budget.values(2 * out.size());
  return out;
}

Value dict(Interp& in, const Value&, Args& args) {
  Dict d;
  for (auto& [key, value] : entries(in, args, "dict")) {
    in.budget.step(key.is_str() ? 1 : 1 + d.items.size());
    d.set(std::move(key), std::move(value));
  }
  return make_dict(std::move(d));
}

Value new_namespace(Interp& in, const Value&, Args& args) {
  const auto ns = in.new_namespace();
  for (auto& [key, value] : entries(in, args, "namespace")) {
    in.budget.step(1 + ns->names.size());
    ns->set(to_str(key, in).text, std::move(value));
  }
  return Value(ObjectPtr(ns));
}

Value raise_exception(Interp& in, const Value&, Args& args) {
  const Params p(args, "raise_exception", {"message"}, 1);
  throw Error("raise_exception", to_str(p.required(0), in).text);
}

Value strftime_now(Interp&, const Value&, Args& args) {
  const Params p(args, "strftime_now", {"format"}, 1);
  const std::string& format = p.str(0).text;
  if (format.empty()) return Value(Str{});
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buf[1024];
  const std::size_t n = std::strftime(buf, sizeof buf, format.c_str(), &local);
  if (n == 0) throw Error("ValueError", "strftime_now: the format gives no text, or more than 1023 bytes");
  return Value(plain(std::string_view(buf, n)));
}

// ---- objects -------------------------------------------------------------------------------------------------------
class Joiner final : public Object {
 public:
  explicit Joiner(Value between) : between_(std::move(between)) {}
  std::string_view type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Interp&, Args&) override { return std::exchange(used_, true) ? between_ : Value(Str{}); }

 private:
  Value between_;
  bool used_ = false;
};

class Cycler final : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(std::string_view name, Interp&) override {
    if (name == "current") return items_[at_];
    if (name != "next" && name != "reset") return std::nullopt;
    return Value(
        ObjectPtr(std::make_shared<Function>(name == "next" ? next : reset, Value(ObjectPtr(shared_from_this())))));
  }

 private:
  static Value next(Interp&, const Value& self, Args&) {
    auto& c = dynamic_cast<Cycler&>(self.object());
    const std::size_t at = c.at_;
    c.at_ = (at + 1) % c.items_.size();
    return c.items_[at];
  }
  static Value reset(Interp&, const Value& self, Args&) {
    dynamic_cast<Cycler&>(self.object()).at_ = 0;
    return Value();
  }
  std::vector<Value> items_;
  std::size_t at_ = 0;
};

Value joiner(Interp&, const Value&, Args& args) {
  const Params p(args, "joiner", {"sep"});
  return Value(ObjectPtr(std::make_shared<Joiner>(p[0] ? *p[0] : Value(plain(", ")))));
}

Value cycler(Interp&, const Value&, Args& args) {
  if (args.pos.empty()) throw Error("RuntimeError", "at least one item has to be provided");
  return Value(ObjectPtr(std::make_shared<Cycler>(args.pos)));
}

struct Row {
  std::string_view name;
  NativeFn fn;
};
constexpr Row kGlobals[] = {{"range", range},
                            {"dict", dict},
                            {"namespace", new_namespace},
                            {"raise_exception", raise_exception},
                            {"strftime_now", strftime_now},
                            {"joiner", joiner},
                            {"cycler", cycler}};

}  // namespace

std::optional<Value> find_global(std::string_view name) {
  for (const Row& r : kGlobals)
    if (r.name == name) return Value(ObjectPtr(std::make_shared<Function>(r.fn, Value())));
  return std::nullopt;
}

}  // namespace hearth::jinja
