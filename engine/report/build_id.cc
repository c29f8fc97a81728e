#include "report/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <span>

namespace wt {

// A note is a header, a name and a description, each padded to four bytes.
static size_t padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

static std::string hex(std::span<const uint8_t> bytes) {
    std::string text;
    for (const uint8_t byte : bytes) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

static std::string id_among(std::span<const uint8_t> notes) {
    ElfW(Nhdr) note;
    while (notes.size() >= sizeof(note)) {
        std::memcpy(&note, notes.data(), sizeof(note));
        const size_t name = sizeof(note), description = name + padded(note.n_namesz);
        const size_t next = description + padded(note.n_descsz);
        if (next > notes.size()) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
            std::memcmp(notes.data() + name, "GNU", sizeof("GNU")) == 0)
            return hex(notes.subspan(description, note.n_descsz));
        notes = notes.subspan(next);
    }
    return {};
}

// Called for the executable first, which is the only one that is asked.
static int look(dl_phdr_info *info, size_t, void *into) {
    std::string &id = *static_cast<std::string *>(into);
    for (size_t i = 0; i < info->dlpi_phnum && id.empty(); i++) {
        const ElfW(Phdr) &header = info->dlpi_phdr[i];
        if (header.p_type != PT_NOTE) continue;
        id = id_among({reinterpret_cast<const uint8_t *>(info->dlpi_addr + header.p_vaddr), header.p_memsz});
    }
    return 1;
}

std::string build_id() {
    std::string id;
    dl_iterate_phdr(look, &id);
    return id;
}

}  // namespace wt
