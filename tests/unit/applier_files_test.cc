// How models lie in files: large values cut out of protobuf's bytes and joined again, mapped, staged and replaced.

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "applier/onnx/spill.h"
#include "applier/onnx/wire.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/text_file.h"

namespace pet::applier_files_test {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Pair;
using testing::UnorderedElementsAre;

namespace fs = std::filesystem;

// --- Messages by hand ---

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128U);
  return out + static_cast<char>(value);
}

std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}

std::string bytes(uint32_t field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}

std::string tensorOf(const std::string& name, const std::string& raw, const std::string& more = "") {
  return bytes(5, number(1, raw.size() / 4) + number(2, 1) + bytes(8, name) + bytes(9, raw) + more);
}

std::string modelOfGraph(const std::string& graph) {
  return number(1, 8) + bytes(2, "somebody") + bytes(7, graph) + bytes(8, number(2, 17));
}

const std::string kValues(40, '\1'), kOthers(80, '\2'), kFew(8, '\3');

std::string joinedText(std::string_view skeleton, const InitializerData& values) {
  auto pieces = joinModel(skeleton, values);
  EXPECT_TRUE(pieces.has_value());
  std::string text;
  for (const WirePiece& piece : pieces.value_or(std::vector<WirePiece>()))
    text += piece.text + std::string(piece.value);
  return text;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("pet-files-{}", ::getpid())) { fs::create_directory(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  std::string at(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(path_))
      result.push_back(entry.path().filename().string());
    return result;
  }

 private:
  fs::path path_;
};

// --- Bytes ---

TEST(Bytes, NullIsNotEmpty) {
  EXPECT_FALSE(Bytes());
  EXPECT_TRUE(Bytes(std::string()));
  EXPECT_NE(Bytes(), Bytes(std::string()));
  EXPECT_EQ(Bytes(), Bytes(nullptr));
}

TEST(Bytes, ArePartsAndCopiesOfWhatStaysAlive) {
  Bytes part;
  {
    const Bytes whole(std::string("a longer text that lies in memory of its own"));
    part = whole.part(whole->substr(2, 6));
  }
  EXPECT_EQ(*part, "longer");
  EXPECT_EQ(part, Bytes(std::string("longer")));
  EXPECT_NE(part, Bytes(std::string("shorter")));
}

// --- The wire ---

TEST(Wire, CutsLargeValuesOfInitializers) {
  const std::string node = bytes(1, bytes(1, "v")), last = bytes(10, "doc");
  const std::string model = modelOfGraph(node + tensorOf("v", kValues) + tensorOf("few", kFew) + node +
                                         tensorOf("w", kOthers, bytes(12, "doc")) + last);
  auto cut = cutModel(model, kValues.size());
  ASSERT_TRUE(cut.has_value());
  EXPECT_THAT(cut->values, ElementsAre(Pair(0, kValues), Pair(2, kOthers)));
  EXPECT_EQ(cut->values[0].second.data(), model.data() + model.find(kValues));  // not copied
  auto empty = [](const std::string& name, uint64_t extent, const std::string& more = "") {
    return bytes(5, number(1, extent) + number(2, 1) + bytes(8, name) + bytes(9, "") + more);
  };
  EXPECT_EQ(cut->skeleton, modelOfGraph(node + empty("v", 10) + tensorOf("few", kFew) + node +
                                        empty("w", 20, bytes(12, "doc")) + last));
  EXPECT_EQ(joinedText(cut->skeleton, cut->values), model);
}

TEST(Wire, JoinsLengthsOfAnySize) {
  for (size_t size : {1, 100, 127, 128, 16000, 16383, 16384, 70000, 3000000}) {
    const std::string values(size, '\5'), model = modelOfGraph(tensorOf("v", kFew) + tensorOf("w", values));
    auto cut = cutModel(model, size);
    ASSERT_TRUE(cut.has_value());
    EXPECT_EQ(joinedText(cut->skeleton, cut->values), model) << size;
  }
}

TEST(Wire, LeavesWhatIsUnusualToProtobuf) {
  const std::string good = tensorOf("v", kValues), group = varint(100 << 3 | 3) + varint(100 << 3 | 4);
  const std::pair<const char*, std::string> cases[] = {
      {"nothing", ""},
      {"no graph", number(1, 8)},
      {"two graphs", modelOfGraph(good) + bytes(7, good)},
      {"a graph that is a number", number(1, 8) + number(7, 1)},
      {"a group beside the graph", modelOfGraph(good) + group},
      {"a group in the graph", modelOfGraph(good + group)},
      {"a group in a tensor", modelOfGraph(tensorOf("v", kValues, group))},
      {"an initializer that is a number", modelOfGraph(good + number(5, 1))},
      {"values twice", modelOfGraph(tensorOf("v", kValues, bytes(9, kValues)))},
      {"values that are a number", modelOfGraph(tensorOf("v", kValues, number(9, 1)))},
      {"field 0", modelOfGraph(good + number(0, 1))},
      {"a tag of more than 32 bits", modelOfGraph(good) + std::string("\xf8\xff\xff\xff\x1f\1", 6)},
      {"a tag of six bytes", modelOfGraph(good) + std::string("\x88\x80\x80\x80\x80\0\1", 7)},
      {"a length of six bytes", modelOfGraph(good) + std::string("\x12\x81\x80\x80\x80\x80\0a", 8)},
      {"a number without end", modelOfGraph(good) + std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", 12)},
      {"wire type 6", modelOfGraph(good) + varint(1 << 3 | 6)},
      {"a tag alone", modelOfGraph(good) + varint(1 << 3)},
      {"four bytes of eight", modelOfGraph(good) + varint(20 << 3 | 1) + "1234"},
  };
  for (const auto& [what, model] : cases)
    EXPECT_FALSE(cutModel(model, 1).has_value()) << what;
  const std::string model = modelOfGraph(good);
  for (size_t size = 0; size < model.size(); ++size) {
    auto cut = cutModel(std::string_view(model).substr(0, size), 1);
    if (!cut) continue;  // else it ends behind the graph and before the opset
    EXPECT_EQ(joinedText(cut->skeleton, cut->values), model.substr(0, size));
  }
  EXPECT_TRUE(cutModel(model + varint(20 << 3 | 5) + "1234" + varint(20 << 3 | 1) + "12345678", 1).has_value());
}

TEST(Wire, JoinsNothingThatDoesNotFit) {
  const std::string model = modelOfGraph(tensorOf("v", "") + tensorOf("w", kFew));
  EXPECT_TRUE(joinModel(model, {{0, kValues}}).has_value());
  EXPECT_FALSE(joinModel(model, {{1, kValues}}).has_value());  // has values
  EXPECT_FALSE(joinModel(model, {{2, kValues}}).has_value());
  EXPECT_FALSE(joinModel("", {{0, kValues}}).has_value());
}

TEST(Wire, CutsAndJoinsWhatProtobufWrites) {
  for (const char* text :
       {"x: [1, 2, 6, 6]  w: const [2, 2, 3, 3]  v: const [3, 2, 1, 1]  t = Conv(x, w)  y = Conv(t, v)",
        "x: [4]  w: const [4]  y = Add(x, w)", "x: [4]  y = Relu(x)"}) {
    const std::string model = serialize(modelOf(text)).value();
    auto cut = cutModel(model, 1);
    ASSERT_TRUE(cut.has_value());
    EXPECT_EQ(joinedText(cut->skeleton, cut->values), model);
  }
}

// --- Files ---

const char* const kLargeModel = "x: [1, 64]  w: const [64, 64]  v: const [64, 8]  t = MatMul(x, w)  y = MatMul(t, v)";

TEST(StagedModel, IsWhatSerializeGives) {
  Folder folder;
  const Model model = modelOf(kLargeModel);
  const std::string expected = serialize(model).value();
  ASSERT_GT(expected.size(), 16384U);
  ASSERT_TRUE(writeModel(model, folder.at("a.onnx")).has_value());
  EXPECT_EQ(textOf(folder.at("a.onnx")), expected);
  auto mapped = load(folder.at("a.onnx"));  // its large values lie in the file
  ASSERT_TRUE(mapped.has_value());
  EXPECT_TRUE(mapped->graph.initializers.at(0).value.bytes.mapped());
  EXPECT_EQ(serialize(*mapped).value(), expected);
  ASSERT_TRUE(writeModel(*mapped, folder.at("a.onnx")).has_value());  // over itself
  EXPECT_EQ(textOf(folder.at("a.onnx")), expected);
  Model anew{mapped->graph, nullptr};  // new initializers are referred to as well
  for (Initializer& i : anew.graph.initializers)
    i.original = -1;
  for (GraphNode& n : anew.graph.nodes)
    n.original = nullptr;
  ASSERT_TRUE(writeModel(anew, folder.at("b.onnx")).has_value());
  EXPECT_EQ(textOf(folder.at("b.onnx")), serialize(anew).value());
  EXPECT_THAT(folder.names(), UnorderedElementsAre("a.onnx", "b.onnx"));
}

TEST(StagedModel, IsThereOnlyAfterTheCommit) {
  Folder folder;
  folder.write("a.onnx", "what was there before");
  const Model model = modelOf(kLargeModel);
  {
    auto staged = StagedModel::write(model, folder.at("a.onnx"));
    ASSERT_TRUE(staged.has_value());
    EXPECT_EQ(serialize(staged->read().value()).value(), serialize(model).value());
    EXPECT_EQ(textOf(folder.at("a.onnx")), "what was there before");
    EXPECT_EQ(folder.names().size(), 2U);
  }
  EXPECT_THAT(folder.names(), ElementsAre("a.onnx"));
  EXPECT_EQ(textOf(folder.at("a.onnx")), "what was there before");
}

/// y = Relu(w), and w's values are in a file.
std::string externalModel(const std::string& file, size_t offset, size_t elements) {
  auto entry = [](const std::string& key, const std::string& value) {
    return bytes(13, bytes(1, key) + bytes(2, value));
  };
  const std::string w = number(1, elements) + number(2, 1) + bytes(8, "w") + entry("location", file) +
                        entry("offset", std::to_string(offset)) + number(14, 1);
  return modelOfGraph(bytes(1, bytes(1, "w") + bytes(2, "y") + bytes(4, "Relu")) + bytes(2, "g") + bytes(5, w) +
                      bytes(12, bytes(1, "y")));
}

TEST(StagedModel, HasADataFileWhereTheModelHadOne) {
  Folder folder;
  std::string values(4096, '\0');
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<char>(i * 7);
  folder.write("w.bin", "12345" + values);
  folder.write("m.onnx", externalModel("w.bin", 5, 1024));
  auto model = load(folder.at("m.onnx"));
  ASSERT_TRUE(model.has_value()) << model.error().message();
  const Bytes read = model->graph.initializers.at(0).value.bytes;
  EXPECT_EQ(*read, values);
  EXPECT_TRUE(read.mapped());
  EXPECT_EQ(parseModel(serialize(*model).value(), "inline").value().graph.initializers.at(0).value.bytes, read);
  ASSERT_TRUE(writeModel(*model, folder.at("out.onnx")).has_value());
  EXPECT_THAT(folder.names(), testing::Contains(MatchesRegex("out\\.onnx\\.[0-9a-f]{32}\\.data")));
  EXPECT_EQ(load(folder.at("out.onnx")).value().graph.initializers.at(0).value.bytes, read);
  fs::remove(folder.at("w.bin"));  // the copy does without
  EXPECT_TRUE(load(folder.at("out.onnx")).has_value());
}

TEST(Load, NamesTensorAndFile) {
  Folder folder;
  folder.write("m.onnx", externalModel("w.bin", 5, 1024));
  auto missing = load(folder.at("m.onnx"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::kModel);
  EXPECT_THAT(missing.error().message(), HasSubstr("initializer 'w' has its values in 'w.bin', which cannot be read"));
  auto fromMemory = parseModel(externalModel("w.bin", 5, 1024), "memory");
  ASSERT_FALSE(fromMemory.has_value());
  EXPECT_THAT(fromMemory.error().message(), HasSubstr("the model comes from no folder"));
}

TEST(Keep, MovesLargeValuesToFilesWithoutNames) {
  Folder folder;
  const Bytes large(std::string(1 << 20, 'v')), small(std::string(100, 'v'));
  const KeepBytes keep = keepInFolder(folder.at(""));
  EXPECT_EQ(keep(large), large);
  EXPECT_EQ(keep(small), small);
  EXPECT_FALSE(keep(small).mapped());
  EXPECT_FALSE(keep(Bytes()));
  EXPECT_EQ(keepInFolder(folder.at("none"))(large), large);
  EXPECT_THAT(folder.names(), IsEmpty());
}

}  // namespace
}  // namespace pet::applier_files_test
