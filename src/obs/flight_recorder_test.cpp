#include "obs/flight_recorder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/check.h"

namespace hearth {
namespace {

std::string dumped(FlightRecorder& recorder) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* f = open_memstream(&text, &size);
  recorder.dump(f);
  std::fclose(f);
  std::string s(text, size);
  std::free(text);
  return s;
}

TEST(FlightRecorder, KeepsTheLastEventsOldestFirst) {
  FlightRecorder r;
  for (int i = 0; i < 300; ++i) r.record("step", {{"n", i}, {"twice", 2 * i}});
  const std::string s = dumped(r);
  EXPECT_EQ(s.find("n=43 "), std::string::npos);
  EXPECT_NE(s.find("the last 256 of 300 recorded events\n  #44 step n=44 twice=88\n"), std::string::npos)
      << s.substr(0, 200);
  EXPECT_NE(s.find("#299 step n=299 twice=598\n"), std::string::npos);
}

TEST(FlightRecorderDeath, AFailedCheckPrintsIt) {
  flight_recorder().record("step", {{"running", 7}});
  EXPECT_DEATH(check_failed("a == b", "x.cpp", 1, "1 == 2"), "a == b is false: 1 == 2(.|\n)*step running=7");
}

}  // namespace
}  // namespace hearth
