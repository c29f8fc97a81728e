#include "parts/rdma/fabric/libfabric.h"

#include <dlfcn.h>

#include <string>

#include "core/refusal.h"

namespace wt {

namespace {

constexpr const char *file = "libfabric.so.1";
constexpr const char *remedy = "install libfabric 1.17 or later";
constexpr uint32_t built_with = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

std::string text_of(uint32_t version) {
    return std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version));
}

template <typename Call>
void find(void *library, const char *name, Call *&call) {
    call = reinterpret_cast<Call *>(dlsym(library, name));
    if (call == nullptr) throw refusal(std::string("rdma wire: ") + file + " has no " + name, remedy);
}

libfabric_calls open() {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw refusal(std::string("rdma wire: ") + dlerror(), remedy);
    libfabric_calls calls{};
    find(library, "fi_getinfo", calls.getinfo);
    find(library, "fi_dupinfo", calls.dupinfo);
    find(library, "fi_freeinfo", calls.freeinfo);
    find(library, "fi_fabric", calls.fabric);
    find(library, "fi_strerror", calls.strerror);
    find(library, "fi_version", calls.version);
    if (const uint32_t version = calls.version(); version < built_with)
        throw refusal(std::string("rdma wire: ") + file + " is " + text_of(version) +
                          ", this engine was built with " + text_of(built_with),
                      "build the engine again, or install the libfabric that it was built with");
    return calls;
}

}  // namespace

const libfabric_calls &libfabric() {
    static const libfabric_calls calls = open();
    return calls;
}

}  // namespace wt
