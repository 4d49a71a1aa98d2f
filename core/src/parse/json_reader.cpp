// text -> json::Value through nlohmann's SAX interface, which, unlike its DOM, lets us see places,
// duplicate keys and depth before memory is spent.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "parse/encoding.h"
#include "parse/python_numbers.h"
#include "parse/syntax_error.h"
#include "peakline/json.h"
#include "peakline/small_sort.h"

namespace peakline::json {
namespace {

// Values in one document. A config has a few thousand; the bound keeps 10 MB of "[],[],..." from
// taking hundreds of megabytes.
constexpr std::size_t kMaxValues = 500'000;
constexpr std::size_t kMaxReportedErrors = 50;

struct Place {
  std::int32_t line = 1;
  std::int32_t column = 0;
};

// How far the lexer has read; `before` is the place of the character before the last one.
struct Cursor {
  std::size_t offset = 0;
  Place last;
  Place before;

  void advance(char read) {
    before = last;
    ++offset;
    if (read == '\n') {
      ++last.line;
      last.column = 0;
    } else {
      ++last.column;
    }
  }
};

// The lexer copies its iterators; the copies share one cursor.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Cursor* cursor) : at_(at), cursor_(cursor) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    cursor_->advance(*at_);
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  Cursor* cursor_;
};

std::string place_text(Place place) {
  return "line " + std::to_string(place.line) + ", column " +
         std::to_string(std::max(place.column, 1));
}

// nlohmann calls these; returning false ends the reading.
class Reader {
 public:
  Reader(const PythonNumbers& numbers, const Cursor& cursor)
      : numbers_(numbers), text_(numbers.text()), cursor_(cursor) {}

  bool null() { return add(Null{}, cursor_.last); }
  bool boolean(bool value) { return add(value, cursor_.last); }
  bool number_integer(std::int64_t value) { return add(value, number_end()); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(INT64_MAX))
      return add(static_cast<double>(value), number_end());
    return add(static_cast<std::int64_t>(value), number_end());
  }
  bool number_float(double value, const std::string&) {
    return add(numbers_.value_at(cursor_.offset, value), number_end());
  }
  bool string(std::string& value) { return add(std::move(value), cursor_.last); }
  bool binary(nlohmann::json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(Object{}); }
  bool start_array(std::size_t) { return open(Array{}); }
  bool key(std::string& name) {
    frames_.back().key = std::move(name);
    return true;
  }
  bool end_object() {
    drop_duplicates();
    return close();
  }
  bool end_array() { return close(); }

  bool parse_error(std::size_t, const std::string& token, const nlohmann::detail::exception& e) {
    if (stopped_at_zero_byte()) return zero_byte();
    const SyntaxProblem problem{text_, cursor_.offset, e.what(), token, frames_.size()};
    Error error = explain_syntax_error(problem);
    if (error.where.empty()) error.where = place_text(cursor_.last);
    errors_.push_back(std::move(error));
    return false;
  }

  Result<Value> finish(bool complete) {
    if (complete && stopped_at_zero_byte()) zero_byte();
    append_duplicates();
    if (!errors_.empty()) return std::move(errors_);
    if (!complete || !root_) {
      return Error{ErrorCode::Internal, "", "the JSON reader stopped without a reason", ""};
    }
    return std::move(*root_);
  }

 private:
  struct Frame {
    Value value;
    std::string key;  // of the member being read, where value is an object
  };

  // To the lexer a zero byte is the end of the text, whatever follows.
  bool stopped_at_zero_byte() const {
    return cursor_.offset > 0 && text_[cursor_.offset - 1] == '\0';
  }

  bool zero_byte() {
    return stop(ErrorCode::JsonSyntax,
                "got a zero byte, expected text",
                "The file is damaged or is no text: copy or download it again.");
  }

  // The lexer has read one character beyond a number, unless the number ends the document.
  Place number_end() const {
    const char last = cursor_.offset > 0 ? text_[cursor_.offset - 1] : ' ';
    const bool number_is_last = last >= '0' && last <= '9';
    return number_is_last ? cursor_.last : cursor_.before;
  }

  bool stop(ErrorCode code, std::string message, std::string hint) {
    errors_.push_back({code, place_text(cursor_.last), std::move(message), std::move(hint)});
    return false;
  }

  template <class T>
  bool add(T data, Place place) {
    if (++num_values_ > kMaxValues) {
      return stop(
          ErrorCode::JsonTooLarge,
          "got more than " + std::to_string(kMaxValues) + " values, expected a configuration",
          "A model's config.json has a few hundred values; is this the right file?");
    }
    attach(Value{std::move(data), place.line, place.column});
    return true;
  }

  void attach(Value value) {
    if (frames_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (Array* array = std::get_if<Array>(&frame.value.data)) {
      array->push_back(std::move(value));
    } else if (Object* object = std::get_if<Object>(&frame.value.data)) {
      object->emplace_back(std::move(frame.key), std::move(value));
    }
  }

  template <class Container>
  bool open(Container container) {
    if (frames_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      return stop(ErrorCode::JsonTooDeep,
                  "got more than " + std::to_string(kMaxDepth) + " nested objects and arrays",
                  "A model's config.json nests 4 or 5 deep; is this the right file?");
    }
    frames_.push_back({Value{std::move(container), cursor_.last.line, cursor_.last.column}, {}});
    return true;
  }

  bool close() {
    Value value = std::move(frames_.back().value);
    frames_.pop_back();
    if (++num_values_ > kMaxValues) return add(Null{}, cursor_.last);
    attach(std::move(value));
    return true;
  }

  // Path of the object on top: "/text_config".
  std::string path() const {
    std::string result;
    for (std::size_t i = 0; i + 1 < frames_.size(); ++i) {
      const Array* array = frames_[i].value.as_array();
      result += "/" + (array ? std::to_string(array->size()) : frames_[i].key);
    }
    return result;
  }

  // Keeps the first of each key and reports the others.
  void drop_duplicates() {
    Object& object = *std::get_if<Object>(&frames_.back().value.data);
    std::vector<std::size_t> order(object.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return object[a].first < object[b].first;
    });
    std::vector<bool> repeated(object.size(), false);
    bool any = false;
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (object[order[i]].first != object[order[first]].first) {
        first = i;
        continue;
      }
      report_duplicate(object[order[first]], object[order[i]].second);
      repeated[order[i]] = true;
      any = true;
    }
    if (!any) return;
    Object kept;
    for (std::size_t i = 0; i < object.size(); ++i) {
      if (!repeated[i]) kept.push_back(std::move(object[i]));
    }
    object = std::move(kept);
  }

  void report_duplicate(const Member& first, const Value& again) {
    if (duplicates_.size() >= kMaxReportedErrors) {
      ++num_unreported_;
      return;
    }
    const Place place{again.line, again.column};
    Error error{ErrorCode::JsonDuplicateKey,
                place_text(place),
                "got the key \"" + path() + "/" + first.first +
                    "\" twice, expected it once; the first is on line " +
                    std::to_string(first.second.line),
                "Remove one of the two."};
    duplicates_.push_back({place, std::move(error)});
  }

  // Objects end from the inside out; the errors are told from top to bottom.
  void append_duplicates() {
    small_sort(duplicates_.begin(), duplicates_.end(), [](const Located& a, const Located& b) {
      return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
    });
    for (Located& duplicate : duplicates_) errors_.push_back(std::move(duplicate.error));
    if (num_unreported_ > 0) {
      errors_.push_back({ErrorCode::JsonDuplicateKey,
                         "",
                         "got " + std::to_string(num_unreported_) + " more duplicate keys",
                         ""});
    }
  }

  const PythonNumbers& numbers_;
  std::string_view text_;
  const Cursor& cursor_;
  std::vector<Frame> frames_;
  std::optional<Value> root_;
  struct Located {
    Place place;
    Error error;
  };

  Errors errors_;
  std::vector<Located> duplicates_;
  std::size_t num_values_ = 0;
  std::size_t num_unreported_ = 0;
};

}  // namespace

Result<Value> parse(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    return Error{ErrorCode::JsonTooLarge,
                 "",
                 "got " + std::to_string(text.size()) + " bytes, expected at most " +
                     std::to_string(kMaxDocumentBytes),
                 "A model's config.json has a few kilobytes; is this the right file?"};
  }
  if (const std::optional<std::string_view> encoding = foreign_encoding(text)) {
    return Error{ErrorCode::JsonEncoding,
                 "line 1, column 1",
                 "got " + std::string(*encoding) + " text, expected UTF-8 text",
                 "Save the file as UTF-8."};
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return Error{ErrorCode::JsonEmpty,
                 "",
                 text.empty() ? "got an empty document, expected a JSON object"
                              : "got only blanks, expected a JSON object",
                 ""};
  }
  const PythonNumbers numbers(text);
  const std::string& readable = numbers.text();
  Cursor cursor;
  Reader reader(numbers, cursor);
  const CountingIterator first(readable.data(), &cursor);
  const CountingIterator last(readable.data() + readable.size(), &cursor);
  const bool complete = nlohmann::json::sax_parse(first, last, &reader);
  return reader.finish(complete);
}

}  // namespace peakline::json
