/* Symbols are looked up as the loader does, by DT_GNU_HASH, which every file for glibc has had since 2006. */
#include "target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refusal.h"

/* Bounds of what a process may say of itself: the C library has fewer, and 2 MiB of code. */
enum { MOST_ENTRIES = 4096, MOST_CHAINED = 65536, MOST_CODE = 64 << 20 };

static bool read_at(const struct wt_target *target, uint64_t address, void *bytes, size_t count) {
    return pread(target->memory, bytes, count, (off_t)address) == (ssize_t)count;
}

struct wt_target wt_open_target(pid_t pid) {
    char path[64];
    Elf64_Ehdr header;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT)
        wt_refuse("pgrep -a dpdk shows processes", "there is no process %d, or it is one of the kernel's",
                  pid);
    if (file < 0)
        wt_refuse("be the same user, or root", "process %d may not be looked at: %s", pid, strerror(errno));
    const bool read_header = read(file, &header, sizeof header) == sizeof header;
    close(file);
    if (!read_header || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        wt_refuse("observe it by its telemetry alone", "process %d is no program for x86-64", pid);
    if (wt_status_of(pid, pid, "Tgid:", NULL) != pid)
        wt_refuse("name the process that it belongs to", "%d is a thread", pid);
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const struct wt_target target = {.pid = pid, .memory = open(path, O_RDWR | O_CLOEXEC)};
    if (target.memory < 0)
        wt_refuse("be the same user or root, with the right to ptrace it (CAP_SYS_PTRACE in a container)",
                  "the memory of process %d may not be read: %s", pid, strerror(errno));
    return target;
}

void wt_reopen_memory(struct wt_target *target, pid_t tid) {
    char path[64];
    close(target->memory);
    snprintf(path, sizeof path, "/proc/%d/task/%d/mem", target->pid, tid);
    target->memory = open(path, O_RDWR | O_CLOEXEC);
    if (target->memory < 0)
        wt_refuse("try it again", "process %d has begun another program, or ended, meanwhile", target->pid);
}

/* Calls `look` for each mapping until that returns true. */
struct mapping {
    uint64_t first, behind;
    bool code;
    const char *name; /* behind the last slash */
};
static void each_mapping(const struct wt_target *target, bool (*look)(const struct mapping *, void *),
                         void *to) {
    char path[64], line[4400];
    snprintf(path, sizeof path, "/proc/%d/maps", target->pid);
    FILE *const maps = fopen(path, "re");
    if (!maps) wt_refuse(WT_RESTART, "process %d has ended, or may not be read", target->pid);
    while (fgets(line, sizeof line, maps)) {
        struct mapping mapping;
        char execute;
        if (sscanf(line, "%lx-%lx %*c%*c%c", &mapping.first, &mapping.behind, &execute) != 3) continue;
        mapping.code = execute == 'x';
        const char *const slash = strrchr(line, '/');
        mapping.name = slash ? slash + 1 : "";
        if (look(&mapping, to)) break;
    }
    fclose(maps);
}

struct search {
    const char *name;
    struct wt_mapped *mapped;
    uint64_t address, bytes;
};

static bool look_for_file(const struct mapping *mapping, void *to) {
    struct search *const search = to;
    if (strncmp(mapping->name, search->name, strlen(search->name)) != 0) return search->mapped->code != 0;
    if (!search->mapped->base) search->mapped->base = mapping->first;
    if (!mapping->code) return false;
    search->mapped->code = mapping->first;
    search->mapped->code_end = mapping->behind;
    return true;
}

bool wt_find_mapped(const struct wt_target *target, const char *name, struct wt_mapped *mapped) {
    *mapped = (struct wt_mapped){0};
    each_mapping(target, look_for_file, &(struct search){.name = name, .mapped = mapped});
    return mapped->code != 0;
}

static bool look_for_address(const struct mapping *mapping, void *to) {
    struct search *const search = to;
    if (search->address < mapping->first || search->address >= mapping->behind) return false;
    search->bytes = search->address - mapping->first;
    return true;
}

uint64_t wt_bytes_below(const struct wt_target *target, uint64_t address) {
    struct search search = {.address = address};
    each_mapping(target, look_for_address, &search);
    return search.bytes;
}

/* What the dynamic section says; addresses in it are those of the process, or of the file. */
struct dynamic {
    uint64_t symbols, strings, hash;
};
static bool read_dynamic(const struct wt_target *target, uint64_t base, struct dynamic *dynamic) {
    Elf64_Ehdr header;
    Elf64_Phdr segment = {0};
    if (!read_at(target, base, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    for (unsigned i = 0; i < header.e_phnum && segment.p_type != PT_DYNAMIC; i++)
        if (!read_at(target, base + header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
    if (segment.p_type != PT_DYNAMIC) return false;
    Elf64_Dyn entry = {.d_tag = 1};
    uint64_t at = base + segment.p_vaddr;
    for (unsigned i = 0; i < MOST_ENTRIES && entry.d_tag != DT_NULL; i++, at += sizeof entry) {
        if (!read_at(target, at, &entry, sizeof entry)) return false;
        const uint64_t place = entry.d_un.d_ptr < base ? base + entry.d_un.d_ptr : entry.d_un.d_ptr;
        if (entry.d_tag == DT_SYMTAB) dynamic->symbols = place;
        if (entry.d_tag == DT_STRTAB) dynamic->strings = place;
        if (entry.d_tag == DT_GNU_HASH) dynamic->hash = place;
    }
    return dynamic->symbols && dynamic->strings && dynamic->hash;
}

/* The function that symbol `index` is, if it has this name. */
static uint64_t function_at(const struct wt_target *target, const struct dynamic *dynamic, uint64_t base,
                            uint32_t index, const char *name) {
    Elf64_Sym symbol;
    char text[64] = "";
    if (!read_at(target, dynamic->symbols + index * sizeof symbol, &symbol, sizeof symbol)) return 0;
    if (!read_at(target, dynamic->strings + symbol.st_name, text, strlen(name) + 1)) return 0;
    return !strcmp(text, name) && symbol.st_shndx && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC
               ? base + symbol.st_value
               : 0;
}

uint64_t wt_find_function(const struct wt_target *target, uint64_t base, const char *name) {
    struct dynamic dynamic = {0};
    struct {
        uint32_t buckets, first, words, shift;
    } table;
    if (!read_dynamic(target, base, &dynamic) || !read_at(target, dynamic.hash, &table, sizeof table))
        return 0;
    uint32_t hash = 5381, index;
    for (const char *c = name; *c; c++) hash = hash * 33 + (unsigned char)*c;
    const uint64_t buckets = dynamic.hash + sizeof table + 8ull * table.words;
    const uint64_t chains = buckets + 4ull * table.buckets;
    if (!table.buckets || !read_at(target, buckets + 4ull * (hash % table.buckets), &index, sizeof index))
        return 0;
    const uint32_t last = index + MOST_CHAINED;
    for (uint32_t chain = 0; index >= table.first && index < last && !(chain & 1); index++) {
        if (!read_at(target, chains + 4ull * (index - table.first), &chain, sizeof chain)) return 0;
        const uint64_t function =
            (chain | 1) == (hash | 1) ? function_at(target, &dynamic, base, index, name) : 0;
        if (function) return function;
    }
    return 0;
}

uint64_t wt_find_bytes(const struct wt_target *target, const struct wt_mapped *mapped, const void *bytes,
                       size_t count) {
    const size_t size = mapped->code_end - mapped->code;
    char *const code = size < MOST_CODE ? malloc(size) : NULL;
    const char *const place =
        code && read_at(target, mapped->code, code, size) ? memmem(code, size, bytes, count) : NULL;
    const uint64_t address = place ? mapped->code + (uint64_t)(place - code) : 0;
    free(code);
    return address;
}

long wt_status_of(pid_t pid, pid_t tid, const char *key, const char *text) {
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
    FILE *const status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, key, strlen(key)))
            value = text ? strstr(line, text) != NULL : strtol(line + strlen(key), NULL, 10);
    if (status) fclose(status);
    return value;
}
