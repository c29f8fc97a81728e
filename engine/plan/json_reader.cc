#include "plan/json_reader.h"

#include "core/refusal.h"

namespace wt {

using json = nlohmann::ordered_json;

namespace {

constexpr int deepest = 16;  // a plan needs 10; the parser's memory stays bounded
constexpr size_t longest_shown = 60;

// Cut where it is long, between characters.
std::string readable(std::string_view text) {
    if (text.size() <= longest_shown) return std::string(text);
    size_t end = longest_shown;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) end--;
    return std::string(text.substr(0, end)) + "...";
}

// What a tree of values does not show. The parser could call back while it builds the tree, but then it goes
// through all elements of a list at the end of each object in it.
class shape final : public nlohmann::json_sax<json> {
  public:
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t &) override { return true; }
    bool string(string_t &) override { return true; }
    bool binary(binary_t &) override { return true; }
    bool start_object(std::size_t) override {
        keys_.emplace_back();
        return go_deeper();
    }
    bool key(string_t &key) override {
        if (!keys_.back().insert(key).second)
            throw refusal("the plan has " + in_quotes(key) + " twice in one object");
        return true;
    }
    bool end_object() override {
        keys_.pop_back();
        return end_array();
    }
    bool start_array(std::size_t) override { return go_deeper(); }
    bool end_array() override {
        depth_--;
        return true;
    }
    bool parse_error(std::size_t, const std::string &, const json::exception &) override { return false; }

  private:
    bool go_deeper() {
        if (++depth_ > deepest)
            throw refusal("the plan is nested deeper than " + std::to_string(deepest) + " levels");
        return true;
    }

    std::vector<std::set<std::string>> keys_;  // of the objects that are open
    int depth_ = 0;
};

}  // namespace

json parse_json(std::string_view text) {
    shape watch;
    json::sax_parse(text, &watch);  // what is no JSON is refused below
    try {
        return json::parse(text);
    } catch (const json::parse_error &e) {
        // The exception's own words quote the input, which need not be UTF-8.
        throw refusal("the plan is not JSON: byte " + std::to_string(e.byte) + " does not belong there");
    } catch (const json::exception &) {
        throw refusal("the plan is not JSON: a number in it does not fit a double");
    }
}

std::string in_quotes(std::string_view text) {
    std::string quoted(1, '"');
    return quoted.append(readable(text)).append(1, '"');  // operator+ here sets off GCC 12's false -Wrestrict
}

void json_value::refuse(const std::string &why) const {
    throw refusal("plan: " + (path_.empty() ? "" : path_ + ": ") + why);
}

std::string json_value::shown() const {
    switch (value_.type()) {
        case json::value_t::object: return "an object";
        case json::value_t::array: return "a list";
        case json::value_t::string: return in_quotes(value_.get_ref<const std::string &>());
        default: return value_.dump();
    }
}

json_value json_value::member(const std::string &key) const {
    return json_value(value_.at(key), (path_.empty() ? "" : path_ + ".") + readable(key));
}

uint64_t json_value::whole_number(uint64_t lowest, uint64_t highest) const {
    if (!value_.is_number_integer()) refuse(shown() + " is not a whole number");
    const bool negative = !value_.is_number_unsigned() && value_.get<int64_t>() < 0;
    if (negative || value_.get<uint64_t>() < lowest) refuse(shown() + " is below " + std::to_string(lowest));
    if (value_.get<uint64_t>() > highest) refuse(shown() + " is above " + std::to_string(highest));
    return value_.get<uint64_t>();
}

double json_value::real(double lowest, double highest, bool with_lowest) const {
    if (!value_.is_number()) refuse(shown() + " is not a number");
    const double number = value_.get<double>();
    if (number < lowest) refuse(shown() + " is below " + json(lowest).dump());
    if (number == lowest && !with_lowest) refuse(shown() + " is not above " + json(lowest).dump());
    if (number > highest) refuse(shown() + " is above " + json(highest).dump());
    return number;
}

bool json_value::truth() const {
    if (!value_.is_boolean()) refuse(shown() + " is neither true nor false");
    return value_.get<bool>();
}

std::string json_value::text() const {
    if (!value_.is_string()) refuse(shown() + " is not text");
    const auto &text = value_.get_ref<const std::string &>();
    if (text.find('\0') != std::string::npos) refuse("text that holds a NUL character");
    return text;
}

size_t json_value::elements(size_t at_least, size_t at_most) const {
    if (!value_.is_array()) refuse(shown() + " is not a list");
    const size_t count = value_.size();
    if (count < at_least)
        refuse("needs at least " + std::to_string(at_least) + ", has " + std::to_string(count));
    if (count > at_most)
        refuse("takes at most " + std::to_string(at_most) + ", has " + std::to_string(count));
    return count;
}

std::map<std::string, std::string> json_value::texts_by_name() const {
    if (!value_.is_object()) refuse(shown() + " is not an object");
    std::map<std::string, std::string> all;
    for (const auto &[name, unused] : value_.items()) all[name] = member(name).text();
    return all;
}

json_object::json_object(const json_value &value) : value_(value) {
    if (!value.value().is_object()) value.refuse("must be an object");
}

json_value json_object::operator[](const char *key) {
    if (!value_.value().contains(key)) value_.refuse("key \"" + std::string(key) + "\" is missing");
    read_.insert(key);
    return value_.member(key);
}

void json_object::refuse_unread() const {
    for (const auto &[key, unused] : value_.value().items())
        if (!read_.contains(key)) value_.member(key).refuse("unknown key");
}

}  // namespace wt
