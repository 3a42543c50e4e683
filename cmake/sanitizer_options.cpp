// sanitizer_options.cpp — what every program of the debug and tsan presets does with a finding: it reports it and ends, with an
// exit code that no test expects. ASAN_OPTIONS, UBSAN_OPTIONS and TSAN_OPTIONS add to these.
extern "C" {
const char* __asan_default_options();
const char* __ubsan_default_options();
const char* __tsan_default_options();

const char* __asan_default_options() {
  return "exitcode=66:halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=1:check_initialization_order=1";
}
const char* __ubsan_default_options() { return "exitcode=66:halt_on_error=1:print_stacktrace=1"; }
const char* __tsan_default_options() { return "exitcode=66:halt_on_error=1:second_deadlock_stack=1"; }
}
