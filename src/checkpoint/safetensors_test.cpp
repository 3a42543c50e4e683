#include "checkpoint/safetensors.h"

#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/temp_dir.h"

namespace hearth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string with_header(std::string_view json, std::size_t data_bytes) {
  std::string s;
  for (int i = 0; i < 8; ++i) s += static_cast<char>(json.size() >> (8 * i));
  s += json;
  for (std::size_t i = 0; i < data_bytes; ++i) s += static_cast<char>(i);
  return s;
}

std::string error_for(std::string_view json, std::size_t data_bytes) {
  TempDir dir;
  write_file(dir / "m.safetensors", with_header(json, data_bytes));
  return startup_error([&] { SafetensorsFile(dir / "m.safetensors"); });
}

TEST(Safetensors, ReadsAFileMadeByHand) {
  TempDir dir;
  // 1.0f, -2.0f as F32; 3 as BF16; 0x0504 as I16.
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]},)"
      R"("a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"n":{"dtype":"I16","shape":[],"data_offsets":[10,12]}}  )";
  std::string file = with_header(json, 0);
  file += std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0\x40\x40\x04\x05", 12);
  write_file(dir / "m.safetensors", file);
  const SafetensorsFile f(dir / "m.safetensors");
  ASSERT_EQ(f.tensors().size(), 3u);
  EXPECT_EQ(f.tensors()[0].name, "a");
  EXPECT_THAT(f.at("a").shape, ElementsAre(2, 1));
  EXPECT_THAT(f.read_f32("a"), ElementsAre(1.0f, -2.0f));
  EXPECT_THAT(f.read_f32("b"), ElementsAre(3.0f));
  EXPECT_THAT(f.read_i64("n"), ElementsAre(0x0504));
  EXPECT_EQ(f.metadata().at("format"), "pt");
  EXPECT_EQ(f.find("c"), nullptr);
  EXPECT_THAT(startup_error([&] { f.at("c"); }), HasSubstr("m.safetensors: c"));
  EXPECT_THAT(startup_error([&] { f.read_f32("n"); }), HasSubstr("floating-point"));
  std::byte part[2];
  f.read(f.at("a"), part, 6);
  EXPECT_EQ(part[1], std::byte{0xc0});
}

TEST(Safetensors, WritesWhatItReads) {
  TempDir dir;
  std::vector<SafetensorsTensor> tensors{{"x", Format::u8, {3}, {std::byte{1}, std::byte{2}, std::byte{3}}},
                                         {"empty", Format::f32, {0, 4}, {}}};
  write_safetensors(dir / "w.safetensors", tensors, {{"made", "by hand"}});
  const SafetensorsFile f(dir / "w.safetensors");
  EXPECT_THAT(f.read_i64("x"), ElementsAre(1, 2, 3));
  EXPECT_EQ(f.at("empty").bytes, 0u);
  EXPECT_EQ(f.metadata().at("made"), "by hand");
}

TEST(Safetensors, RefusesFilesThatAreCut) {
  TempDir dir;
  const std::string path = dir / "cut.safetensors";
  const std::string whole = with_header(R"({"a":{"dtype":"U8","shape":[40],"data_offsets":[0,40]}})", 40);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    write_file(path, std::string_view(whole).substr(0, n));
    ASSERT_THAT(startup_error([&] { SafetensorsFile f(path); }),
                AllOf(HasSubstr("expected"), HasSubstr("found"), HasSubstr("cut.safetensors")))
        << n;
  }
  write_file(path, whole + "x");
  EXPECT_THAT(startup_error([&] { SafetensorsFile f(path); }),
              HasSubstr("describes 40 bytes of tensors: expected as many, found 41"));
  write_file(path, whole);
  EXPECT_EQ(startup_error([&] { SafetensorsFile f(path); }), "");
}

TEST(Safetensors, RefusesRangesThatAreWrong) {
  const auto two = [](const char* a, const char* b) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  EXPECT_EQ(error_for(two("[0,4]", "[4,8]"), 8), "");
  EXPECT_THAT(error_for(two("[0,4]", "[3,7]"), 7), AllOf(HasSubstr("overlap"), HasSubstr("m.safetensors: b")));
  EXPECT_THAT(error_for(two("[0,4]", "[0,4]"), 4), HasSubstr("overlap"));
  EXPECT_THAT(error_for(two("[0,4]", "[6,10]"), 10), HasSubstr("gap"));
  EXPECT_THAT(error_for(two("[0,4]", "[4,8]"), 6),
              HasSubstr("describes 8 bytes of tensors: expected as many, found 6"));
  EXPECT_THAT(error_for(two("[0,4]", "[8,4]"), 8), HasSubstr("end before"));
  EXPECT_THAT(error_for(two("[0,4]", "[4,9]"), 9),
              HasSubstr("shape [4] of U8 takes 4 bytes: expected as many, found 5"));
  EXPECT_THAT(error_for(two("[0,4]", "[18446744073709551612,18446744073709551616]"), 8), Not(""));
  EXPECT_THAT(error_for(two("[0,4]", "[18446744073709551611,18446744073709551615]"), 8), HasSubstr("gap"));
  EXPECT_THAT(error_for(two("[0,4]", "[4]"), 8), HasSubstr("expected two data_offsets, found 1"));
  EXPECT_THAT(error_for(two("[0,4]", "[4,8,9]"), 8), HasSubstr("found more"));
  EXPECT_THAT(error_for(two("[0,4]", "[-4,8]"), 8), HasSubstr("negative"));
}

TEST(Safetensors, AShapeTooLargeBeforeItsZeroIsRefused) {
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[281474976710656,32768,0],"data_offsets":[0,0]}})", 0),
              HasSubstr("does not fit 64 bits"));
  EXPECT_EQ(error_for(R"({"a":{"dtype":"U8","shape":[0,281474976710656,32768],"data_offsets":[0,0]}})", 0), "");
}

TEST(Safetensors, RefusesHeadersThatAreNoHeaders) {
  EXPECT_THAT(error_for(R"({"a":{"dtype":"F4","shape":[4],"data_offsets":[0,4]}})", 4), HasSubstr("found \"F4\""));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[4,281474976710657],"data_offsets":[0,4]}})", 4),
              HasSubstr("2^48"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[281474976710656,281474976710656],"data_offsets":[0,4]}})", 4),
              HasSubstr("64 bits"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1),
              HasSubstr("8 dimensions"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[1]}})", 1), HasSubstr("only a part"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1), HasSubstr("found \"x\""));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
              HasSubstr("given twice"));
  EXPECT_THAT(
      error_for(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          2),
      HasSubstr("listed twice"));
  EXPECT_THAT(error_for(R"({"a":1})", 1), HasSubstr("m.safetensors: a"));
  EXPECT_THAT(error_for(R"({"a":[]})", 1), HasSubstr("array"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1), HasSubstr("array"));
  EXPECT_THAT(error_for(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}})", 1), HasSubstr("fraction"));
  EXPECT_THAT(error_for(R"({"__metadata__":{"a":1}})", 0), HasSubstr("__metadata__"));
  EXPECT_THAT(error_for("[]", 0), HasSubstr("array"));
  EXPECT_THAT(error_for("7", 0), HasSubstr("number"));
  EXPECT_THAT(error_for("", 0), HasSubstr("at byte"));
  EXPECT_THAT(error_for("{\"a\":", 0), HasSubstr("at byte"));
  EXPECT_THAT(error_for("{} {}", 0), HasSubstr("at byte"));
  EXPECT_THAT(error_for(std::string(100000, '{'), 0), Not(""));
  EXPECT_THAT(error_for(std::string(R"({"a)") + "\xff" + R"(":1})", 0), HasSubstr("at byte"));
  EXPECT_EQ(error_for("{}", 0), "");
}

TEST(Safetensors, RefusesEveryFlippedBitOfAHeaderOrStaysWhole) {
  const std::string whole = R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})";
  int refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const std::string error = startup_error([&] {
      // What still parses describes the same bytes: a letter of the name changed, or I16 for F16.
      const SafetensorsHeader h = parse_safetensors_header(flipped, 12, "bits.safetensors");
      ASSERT_EQ(h.entries.size(), 1u);
      EXPECT_EQ(h.entries[0].bytes, 12u);
    });
    refused += error.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 400);
}

TEST(Safetensors, RefusesEveryFlippedBitOfTheHeaderLength) {
  TempDir dir;
  const std::string whole = with_header(R"({"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}})", 12);
  for (std::size_t bit = 0; bit < 64; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(dir / "bits.safetensors", flipped);
    EXPECT_THAT(startup_error([&] { SafetensorsFile f(dir / "bits.safetensors"); }), HasSubstr("bits.safetensors"))
        << bit;
  }
}

TEST(Safetensors, FileThatIsMissingOrNoFile) {
  TempDir dir;
  EXPECT_THAT(startup_error([&] { SafetensorsFile f(dir / "none"); }),
              AllOf(HasSubstr("No such file"), HasSubstr("none")));
  EXPECT_THAT(startup_error([&] { SafetensorsFile f(dir.path()); }), HasSubstr("regular file"));
}

TEST(Safetensors, Fixtures) {
  const SafetensorsFile f(std::string(HEARTH_GOLDEN) + "/kernels/rope_mrope.safetensors");
  const std::vector<float> inv_freq = f.read_f32("inv_freq");
  ASSERT_EQ(inv_freq.size(), 32u);
  EXPECT_EQ(inv_freq[0], 1.0f);
  EXPECT_NEAR(inv_freq[31], 1.6548171e-7f, 1e-13f);
  EXPECT_EQ(f.at("text.positions").format, Format::i64);
}

}  // namespace
}  // namespace hearth
