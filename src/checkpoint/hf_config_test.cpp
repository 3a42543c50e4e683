#include "checkpoint/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/temp_dir.h"

namespace hearth {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(HfConfig, TypedAccess) {
  const Json c = *parse_json(
      R"({"n": 3, "f": 2.0, "half": 0.5, "s": "silu", "b": true, "nothing": null, "neg": -1, "big": 18446744073709551615})");
  EXPECT_EQ(get_int(c, "n"), 3);
  EXPECT_EQ(get_int(c, "f"), 2);
  EXPECT_EQ(get_int(c, "nothing", 7), 7);
  EXPECT_EQ(get_double(c, "n"), 3.0);
  EXPECT_EQ(get_string(c, "s"), "silu");
  EXPECT_TRUE(get_bool(c, "b", false));
  EXPECT_TRUE(get_bool(c, "absent", true));
  EXPECT_THAT(startup_error([&] { get_int(c, "absent"); }),
              AllOf(HasSubstr("expected an integer, found nothing"), HasSubstr("config.json: absent")));
  EXPECT_THAT(startup_error([&] { get_int(c, "half"); }), HasSubstr("expected an integer, found 0.5"));
  EXPECT_THAT(startup_error([&] { get_int(c, "s"); }), HasSubstr("found \"silu\""));
  EXPECT_THAT(startup_error([&] { get_int(c, "big"); }), HasSubstr("64 bits"));
  EXPECT_THAT(startup_error([&] { get_count(c, "neg"); }), HasSubstr("from 1 to"));
  EXPECT_THAT(startup_error([&] { get_bool(c, "n", false); }), HasSubstr("true or false"));
  EXPECT_THAT(startup_error([&] { get_string(c, "n"); }), HasSubstr("a string"));
}

TEST(HfConfig, TextConfig) {
  const Json flat = *parse_json(R"({"hidden_size": 8})");
  EXPECT_EQ(get_int(text_config(flat), "hidden_size"), 8);
  const Json nested = *parse_json(R"({"text_config": {"hidden_size": 9}})");
  EXPECT_EQ(get_int(text_config(nested), "hidden_size"), 9);
  EXPECT_THAT(startup_error([] { text_config(*parse_json(R"({"text_config": 3})")); }), HasSubstr("text_config"));
}

TEST(HfConfig, ExpertsUnderBothNames) {
  EXPECT_EQ(get_num_experts(*parse_json(R"({"num_experts": 128})")), 128);
  EXPECT_EQ(get_num_experts(*parse_json(R"({"num_local_experts": 6})")), 6);
  EXPECT_THAT(startup_error([] { get_num_experts(*parse_json("{}")); }), HasSubstr("config.json: num_experts"));
}

TEST(HfConfig, RopeInBothForms) {
  const Json five =
      rope_parameters(*parse_json(R"({"rope_parameters": {"rope_type": "default", "rope_theta": 1000000}})"));
  EXPECT_EQ(get_double(five, "rope_theta"), 1e6);
  const Json four =
      rope_parameters(*parse_json(R"({"rope_theta": 500000.0, "rope_scaling": {"type": "llama3", "factor": 8}})"));
  EXPECT_EQ(get_string(four, "rope_type"), "llama3");
  EXPECT_EQ(get_double(four, "factor"), 8);
  EXPECT_EQ(get_double(four, "rope_theta"), 5e5);
  const Json none = rope_parameters(*parse_json(R"({"rope_scaling": null})"));
  EXPECT_EQ(get_string(none, "rope_type"), "default");
  EXPECT_EQ(get_double(none, "rope_theta"), 1e4);
}

}  // namespace
}  // namespace hearth
