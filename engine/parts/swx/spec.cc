#include "parts/swx/spec.h"

#include <rte_swx_pipeline.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>

#include "core/refusal.h"
#include "host/regular_file.h"
#include "parts/swx/blocks.h"

namespace wt {

namespace {

constexpr size_t most_spec_bytes = 4 << 20;

using stream = std::unique_ptr<FILE, int (*)(FILE *)>;

struct generated {
    int status;
    uint32_t line;  // 0: DPDK names none
    std::string words, code;
};

generated generate(const std::string &text) {
    stream in(fmemopen(const_cast<char *>(text.data()), text.size(), "r"), fclose);
    char *room = nullptr;
    size_t bytes = 0;
    stream out(open_memstream(&room, &bytes), fclose);
    uint32_t line = 0;
    const char *words = nullptr;
    const int status = rte_swx_pipeline_codegen(in.get(), out.get(), &line, &words);
    out.reset();
    generated g{status, line, words ? words : "", std::string(room, bytes)};
    std::free(room);
    return g;
}

std::string without_stop(std::string words) {
    if (words.ends_with('.')) words.pop_back();
    return words;
}

bool configures(const std::string &text) { return !text.empty() && generate(text).status == 0; }

}  // namespace

std::string read_spec(const std::string &file) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file, unknown);
    if (unknown || !std::filesystem::is_regular_file(file)) throw refusal(file + ": no such file");
    if (bytes == 0 || bytes > most_spec_bytes)
        throw refusal(file + ": " + std::to_string(bytes) + " bytes cannot be a spec");
    auto in = regular_file(file);
    if (!in.is_open()) throw refusal(file + " cannot be read: " + std::strerror(errno));
    std::string text{std::istreambuf_iterator<char>(&in), {}};
    if (const size_t at = text.find('\0'); at != std::string::npos)
        throw refusal(
            file + ":" +
            std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n')) +
            ": a zero byte: this is not a text file");
    if (const auto foreign = foreign_word_in(text))
        throw refusal(
            file + ":" + std::to_string(foreign->line) + ": \"" + foreign->word +
                "\" is no name, number, bit<N>, brace or colon",
            "names are of letters, digits and _, with points between; a line has at most 2000 bytes");
    return text;
}

std::string generate_code(const std::string &file, const std::string &text) {
    if (const auto line = first_use(text, "mirror"))
        throw refusal(
            file + ":" + std::to_string(*line) + ": mirror makes a second packet, which a handler cannot do",
            "remove the instruction");
    generated g = generate(text);
    if (g.status == 0) return std::move(g.code);
    const uint32_t line = g.line ? g.line : stumbling_line(text, configures);
    throw refusal(file + ":" + (line ? std::to_string(line) + ":" : "") + " " + without_stop(g.words));
}

}  // namespace wt
