#include "checkpoint/gguf.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/testing/gguf_bytes.h"
#include "checkpoint/testing/temp_dir.h"

namespace hearth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string error_for(const GgufBytes& b) {
  TempDir dir;
  write_file(dir / "m.gguf", b.out);
  return startup_error([&] { GgufFile f(dir / "m.gguf"); });
}

GgufBytes small_file() {
  GgufBytes b;
  b.opening(2, 3).string_key("general.architecture", "llama");
  b.text("a.flag").u32(7).number<std::uint8_t>(1);
  b.text("a.list").u32(9).u32(5).u64(2).number<std::int32_t>(-7).number<std::int32_t>(8);
  b.tensor("x", {2, 3}, 0, 0).tensor("y", {32}, 8, 32).pad();
  for (float v : {0.f, 1.f, 2.f, 3.f, 4.f, 5.f}) b.number(v);
  b.pad().number<std::uint16_t>(0x3c00);
  for (int i = 0; i < 32; ++i) b.number(static_cast<std::int8_t>(i - 16));
  b.pad();
  return b;
}

TEST(Gguf, ReadsAFileMadeByHand) {
  TempDir dir;
  write_file(dir / "m.gguf", small_file().out);
  const GgufFile f(dir / "m.gguf");
  EXPECT_EQ(f.version(), 3u);
  EXPECT_EQ(f.get_string("general.architecture"), "llama");
  EXPECT_EQ(f.get_bool("a.flag"), true);
  EXPECT_THAT(*f.get_ints("a.list"), ElementsAre(-7, 8));
  EXPECT_EQ(f.get_int("absent"), std::nullopt);
  EXPECT_THAT(startup_error([&] { f.get_int("a.list"); }),
              AllOf(HasSubstr("expected an integer"), HasSubstr("m.gguf: a.list")));
  EXPECT_THAT(startup_error([&] { f.need_int("absent"); }), HasSubstr("no such key"));
  const GgufTensor* x = f.find_tensor("x");
  ASSERT_NE(x, nullptr);
  EXPECT_THAT(x->shape, ElementsAre(3, 2));  // row-major: the file's dimensions reversed
  EXPECT_THAT(f.read_f32(*x), ElementsAre(0, 1, 2, 3, 4, 5));
  const std::vector<float> y = f.read_f32(*f.find_tensor("y"));
  EXPECT_EQ(y[0], -16.0f);
  EXPECT_EQ(y[31], 15.0f);
}

TEST(Gguf, EveryValueType) {
  GgufBytes b;
  b.opening(0, 14, 2);
  b.text("u8").u32(0).number<std::uint8_t>(200).text("i8").u32(1).number<std::int8_t>(-3);
  b.text("u16").u32(2).number<std::uint16_t>(60000).text("i16").u32(3).number<std::int16_t>(-300);
  b.text("u32").u32(4).u32(4000000000u).text("i32").u32(5).number<std::int32_t>(-70000);
  b.text("f32").u32(6).number(0.5f).text("f64").u32(12).number(0.1);
  b.text("u64").u32(10).u64(5).text("huge").u32(10).u64(~0ull).text("i64").u32(11).number<std::int64_t>(-5);
  b.text("floats").u32(9).u32(6).u64(2).number(1.5f).number(-1.5f);
  b.text("texts").u32(9).u32(8).u64(2).text("ab").text("");
  b.text("bools").u32(9).u32(7).u64(2).number<std::uint8_t>(1).number<std::uint8_t>(0);
  TempDir dir;
  write_file(dir / "m.gguf", b.out);
  const GgufFile f(dir / "m.gguf");
  EXPECT_EQ(f.version(), 2u);
  EXPECT_EQ(f.get_int("u8"), 200);
  EXPECT_EQ(f.get_int("i8"), -3);
  EXPECT_EQ(f.get_int("u16"), 60000);
  EXPECT_EQ(f.get_int("i16"), -300);
  EXPECT_EQ(f.get_int("u32"), 4000000000);
  EXPECT_EQ(f.get_int("i32"), -70000);
  EXPECT_EQ(f.get_double("f32"), 0.5);
  EXPECT_EQ(f.get_double("f64"), 0.1);
  EXPECT_EQ(f.get_int("u64"), 5);
  EXPECT_EQ(f.get_double("u64"), 5.0);
  EXPECT_EQ(std::get<std::uint64_t>(*f.find("huge")), ~0ull);
  EXPECT_EQ(f.get_int("i64"), -5);
  EXPECT_THAT(*f.get_doubles("floats"), ElementsAre(1.5, -1.5));
  EXPECT_THAT(*f.get_strings("texts"), ElementsAre("ab", ""));
  EXPECT_THAT(*f.get_ints("bools"), ElementsAre(1, 0));
}

TEST(Gguf, RefusesFilesThatAreCut) {
  TempDir dir;
  const std::string whole = small_file().out;
  const std::size_t last = whole.size() - 30;  // the end of the last tensor; what follows is padding
  for (std::size_t n = 0; n < last; ++n) {
    write_file(dir / "cut.gguf", std::string_view(whole).substr(0, n));
    ASSERT_THAT(startup_error([&] { GgufFile f(dir / "cut.gguf"); }),
                AllOf(HasSubstr("expected"), HasSubstr("found"), HasSubstr("cut.gguf")))
        << n;
  }
  write_file(dir / "cut.gguf", std::string_view(whole).substr(0, last));
  EXPECT_EQ(startup_error([&] { GgufFile f(dir / "cut.gguf"); }), "");
  write_file(dir / "cut.gguf", whole + std::string(32, 'x'));
  EXPECT_THAT(startup_error([&] { GgufFile f(dir / "cut.gguf"); }), HasSubstr("expected the file to end"));
}

TEST(Gguf, SurvivesEveryFlippedBitOfItsHeader) {
  const std::string whole = small_file().out;
  int refused = 0;
  for (std::size_t bit = 0; bit < 200 * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto read = [&](std::uint64_t offset, std::span<std::byte> dst) {
      std::memcpy(dst.data(), flipped.data() + offset, dst.size());
    };
    const std::string error = startup_error([&] {
      const GgufHeader h = parse_gguf(read, flipped.size(), "bits.gguf");
      for (const GgufTensor& t : h.tensors) EXPECT_LE(h.data_begin + t.offset + t.bytes, flipped.size());
    });
    refused += error.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 900);
}

TEST(Gguf, RefusesOpeningsThatAreWrong) {
  EXPECT_THAT(error_for(GgufBytes{"GGML" + std::string(20, '\0')}), HasSubstr("begin with \"GGUF\""));
  EXPECT_THAT(error_for(GgufBytes().opening(0, 0, 1)), HasSubstr("version 2 or 3, found 1"));
  EXPECT_THAT(error_for(GgufBytes().opening(0, 0, 0x03000000)), HasSubstr("big-endian"));
  EXPECT_THAT(error_for(GgufBytes().opening(0, 1ull << 60)), HasSubstr("metadata keys: expected at most 0"));
  EXPECT_THAT(error_for(GgufBytes().opening(~0ull, 0)), HasSubstr("tensors: expected at most 0"));
  EXPECT_EQ(error_for(GgufBytes().opening(0, 0)), "");
}

TEST(Gguf, RefusesCountsLargerThanTheFile) {
  GgufBytes b;
  b.opening(0, 1).text("k").u32(9).u32(4).u64(1ull << 61);
  EXPECT_THAT(error_for(b), AllOf(HasSubstr("found a count of 2305843009213693952"), HasSubstr("m.gguf: k")));
  GgufBytes s;
  s.opening(0, 1).text("k").u32(8).u64(~0ull);
  EXPECT_THAT(error_for(s), HasSubstr("found a length of 18446744073709551615"));
  GgufBytes n;
  n.opening(0, 1).u64(1ull << 40).text("").text("");
  EXPECT_THAT(error_for(n), HasSubstr("found a length"));
}

TEST(Gguf, RefusesMetadataThatIsWrong) {
  GgufBytes twice;
  twice.opening(0, 2).string_key("k", "a").string_key("k", "b");
  EXPECT_THAT(error_for(twice), HasSubstr("twice"));
  GgufBytes type;
  type.opening(0, 1).text("k").u32(13).u64(0);
  EXPECT_THAT(error_for(type), HasSubstr("value type from 0 to 12, found 13"));
  GgufBytes nested;
  nested.opening(0, 1).text("k").u32(9).u32(9).u64(0).u64(0);
  EXPECT_THAT(error_for(nested), HasSubstr("array of arrays"));
  GgufBytes alignment;
  alignment.opening(0, 1).text("general.alignment").u32(4).u32(24);
  EXPECT_THAT(error_for(alignment), HasSubstr("power of two"));
  GgufBytes split;
  split.opening(0, 1).text("split.count").u32(2).number<std::uint16_t>(3);
  EXPECT_THAT(error_for(split), AllOf(HasSubstr("one of 3 parts"), HasSubstr("--merge")));
}

TEST(Gguf, RefusesTensorsThatAreWrong) {
  const auto one = [](std::initializer_list<std::uint64_t> dims, std::uint32_t type, std::uint64_t offset) {
    GgufBytes b;
    b.opening(1, 0).tensor("t", dims, type, offset).pad();
    b.out.resize(b.out.size() + 64);
    return error_for(b);
  };
  EXPECT_EQ(one({16}, 0, 0), "");
  EXPECT_THAT(one({16}, 0, 32), AllOf(HasSubstr("gap"), HasSubstr("m.gguf: t")));
  EXPECT_THAT(one({32}, 0, 0), HasSubstr("ends at byte"));
  EXPECT_THAT(one({16}, 16, 0), HasSubstr("found IQ2_XXS"));
  EXPECT_THAT(one({16}, 99, 0), HasSubstr("found type 99"));
  EXPECT_THAT(one({16}, 8, 0), HasSubstr("blocks of 32 (q8_0)"));
  EXPECT_THAT(one({0}, 0, 0), HasSubstr("dimensions from 1"));
  EXPECT_THAT(one({}, 0, 0), HasSubstr("1 to 4 dimensions, found 0"));
  EXPECT_THAT(one({1, 1, 1, 1, 1}, 0, 0), HasSubstr("found 5"));
  EXPECT_THAT(one({1ull << 47, 1ull << 47}, 0, 0), HasSubstr("64 bits"));
  EXPECT_THAT(one({1ull << 40}, 0, 0), HasSubstr("more bytes than the whole file"));
  const auto two = [](std::string_view second, std::uint64_t offset) {
    GgufBytes b;
    b.opening(2, 0).tensor("t", {8}, 0, 0).tensor(second, {8}, 0, offset).pad();
    b.out.resize(b.out.size() + 64);
    return error_for(b);
  };
  EXPECT_EQ(two("u", 32), "");
  EXPECT_THAT(two("t", 32), HasSubstr("listed twice"));
  EXPECT_THAT(two("u", 0), HasSubstr("overlaps"));
  EXPECT_THAT(two("u", 16), HasSubstr("overlaps"));
}

TEST(Gguf, WritesWhatItReads) {
  TempDir dir;
  GgufMetadata metadata{{"s", std::string("text")},
                        {"i", std::int64_t{-4}},
                        {"d", 0.25},
                        {"b", true},
                        {"list", std::vector<std::string>{"a", "b"}},
                        {"n", std::vector<std::int64_t>{1, -1}}};
  std::vector<GgufOutTensor> tensors{{"one", Format::i8, {3}, std::vector<std::byte>(3, std::byte{7})},
                                     {"two", Format::q4_0, {2, 32}, std::vector<std::byte>(36, std::byte{1})}};
  write_gguf(dir / "w.gguf", metadata, tensors, 2);
  const GgufFile f(dir / "w.gguf");
  EXPECT_EQ(f.metadata(), metadata);
  EXPECT_THAT(f.find_tensor("two")->shape, ElementsAre(2, 32));
  std::vector<std::byte> got(36);
  f.read(*f.find_tensor("two"), got);
  EXPECT_EQ(got, tensors[1].data);
}

}  // namespace
}  // namespace hearth
