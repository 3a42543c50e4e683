// loop.h — the objects that statements make: loop inside a for, macros, callers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/interp.h"

namespace hearth::jinja {

class LoopObject final : public Object, public std::enable_shared_from_this<LoopObject> {
 public:
  LoopObject(const Stmt& loop, std::vector<Value> items, const Frame& outer, int depth)
      : loop_(loop), items_(std::move(items)), outer_(outer), depth_(depth) {}
  std::string_view type_name() const override { return "LoopContext"; }
  std::optional<Value> attribute(std::string_view name, Interp& in) override;
  bool callable() const override { return true; }
  Value call(Interp& in, Args& args) override;  // in a recursive loop: the same loop over other items
  bool changed(std::vector<Value> values, Interp& in);
  void release() override { last_changed_.reset(); }
  std::size_t index = 0;
  const std::vector<Value>& items() const { return items_; }

 private:
  const Stmt& loop_;
  std::vector<Value> items_;
  const Frame& outer_;
  int depth_;
  std::optional<std::vector<Value>> last_changed_;
};

class MacroObject final : public Object {
 public:
  MacroObject(const Macro& macro, const Frame* closure) : macro_(macro), closure_(closure) {}
  std::string_view type_name() const override { return "Macro"; }
  std::optional<Value> attribute(std::string_view name, Interp& in) override;
  bool callable() const override { return true; }
  Value call(Interp& in, Args& args) override { return in.call_macro(macro_, closure_, args); }

 private:
  const Macro& macro_;
  const Frame* closure_;
};

}  // namespace hearth::jinja
