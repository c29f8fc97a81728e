// The wire: queues that are endpoints of an RDMA library, in place of an ethdev.
#include "core/refusal.h"
#include "parts/rdma/rdma.h"

namespace wt {

namespace {

constexpr wt_wire_option options[] = {
    {.name = "type",
     .fallback = "rc",
     .choices = "rc|ud|rdm",
     .help = "rc: reliable, connected; ud: datagrams, which may be lost; rdm: reliable, unconnected",
     .lossy = "ud",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "provider",
     .fallback = "auto",
     .choices = "auto|tcp|udp|shm|efa|verbs",
     .help = "verbs: RDMA devices by libibverbs, for rc and ud; others are libfabric's; "
             "auto: tcp for rc, udp for ud, shm for rdm, which every host has",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "inline",
     .fallback = "128",
     .help = "messages up to this are copied when they are posted, if the provider copies as much",
     .most = 4096,
     .type = WT_WIRE_BYTES,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "signal_every",
     .fallback = "16",
     .help = "rc, verbs: every Nth send that is not inline requests a completion, which also confirms the "
             "earlier ones; verbs counts inline sends too",
     .least = 1,
     .most = 256,
     .type = WT_WIRE_COUNT,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "operation",
     .fallback = "send",
     .choices = "send|read|write",
     .help = "rc, rdm: read or write a piece of the server's region in place of each request; the server "
             "stays idle",
     .packets = "send",
     .type = WT_WIRE_CHOICE,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "piece",
     .fallback = "65536",
     .help = "read, write: bytes of an operation, a multiple of 8",
     .least = 8,
     .most = 4 << 20,
     .type = WT_WIRE_BYTES,
     .scope = WT_WIRE_OF_WIRE},
    {.name = "region",
     .fallback = "67108864",
     .help = "read, write: bytes of the server's region; pieces are taken from all over it",
     .least = 4096,
     .most = 1 << 30,
     .type = WT_WIRE_BYTES,
     .scope = WT_WIRE_OF_WIRE},
    {},
};

rdma_type type_of(const std::string &word) {
    return word == "rc" ? rdma_type::rc : word == "ud" ? rdma_type::ud : rdma_type::rdm;
}

// What each provider has; "auto" takes the first one of its type.
constexpr struct {
    const char *name;
    rdma_type type;
} providers[] = {{"tcp", rdma_type::rc},  {"udp", rdma_type::ud},   {"shm", rdma_type::rdm},
                 {"efa", rdma_type::rdm}, {"verbs", rdma_type::rc}, {"verbs", rdma_type::ud}};

std::string provider_of(const wire_end &end, rdma_type type) {
    const std::string &asked = end.values.text("provider");
    std::string fitting;
    for (const auto &[name, of_type] : providers) {
        if (of_type != type) continue;
        if (asked == name || asked == "auto") return name;
        fitting += (fitting.empty() ? "\"" : " or \"") + std::string(name) + "\"";
    }
    throw refusal("rdma wire: the provider " + asked + " has no type " + end.values.text("type"),
                  "provider = " + fitting + ", or another type");
}

rdma_operation operation_of(const wire_end &end, rdma_type type, const region_shape &region) {
    const std::string &word = end.values.text("operation");
    if (word == "send") return rdma_operation::send;
    if (type == rdma_type::ud)
        throw refusal("rdma wire: datagrams cannot " + word + " the other side's memory",
                      "type = \"rc\" or \"rdm\", or operation = \"send\"");
    if (region.piece % sizeof(uint64_t) || region.piece > region.bytes)
        throw refusal("rdma wire: pieces of " + std::to_string(region.piece) + " bytes of a region of " +
                          std::to_string(region.bytes),
                      "a piece is a multiple of 8 bytes, and fits the region");
    return word == "read" ? rdma_operation::read : rdma_operation::write;
}

std::vector<port> open_rdma(std::span<const wire_end> ends) {
    const wire_end &end = ends[0];
    if (end.plan.port.chains)
        throw refusal("rdma wire: a send is one mbuf, and way = \"zero\" makes packets of several",
                      "use another wire, or another way of the copies");
    const rdma_type type = type_of(end.values.text("type"));
    const region_shape region = {end.values.number("region"), end.values.number("piece")};
    const rdma_setup setup = {end,
                              provider_of(end, type),
                              type,
                              static_cast<uint32_t>(end.values.number("inline")),
                              static_cast<uint32_t>(end.values.number("signal_every")),
                              introduction_of(end.plan_hash, end.plan.side),
                              introduction_of(end.plan_hash, other_side(end.plan.side)),
                              operation_of(end, type, region),
                              region};
    std::vector<port> made;
    made.push_back(setup.provider == "verbs" ? open_verbs(setup) : open_fabric(setup));
    if (type == rdma_type::ud) made[0].lost_as = "in_fabric";
    made[0].one_sided = setup.operation != rdma_operation::send;
    return made;
}

rdma_port &of(const port &p) { return *static_cast<rdma_port *>(p.keeps.get()); }

constexpr port_operations operations = {
    .link = [](const port &p) { return of(p).link(); },
    .words = [](const port &p) { return of(p).words(); },
    .missed = [](const port &p) { return of(p).missed(); },
    .failed = [](const port &p) { return of(p).failed(); },
    .statistics = [](const port &p) { return of(p).statistics(); },
    .drain = [](const port &sender, const port &receiver) { return of(receiver).drain(of(sender)); },
    .close = [](port &p) { p.keeps.reset(); },
};

}  // namespace

WT_WIRE(rdma) = {
    .about = {.abi = WT_WIRE_ABI,
              .size = sizeof(wt_wire),
              .name = "rdma",
              .help = "RDMA endpoints: reliable connections, datagrams or reliable messages",
              .driver = "libfabric or libibverbs",
              .peer = "the other endpoint, in this process or another one",
              .copies = "the provider's",
              .flags = WT_WIRE_SERVER | WT_WIRE_CLIENT | WT_WIRE_BOTH_ENDS | WT_WIRE_FOREIGN_PEER |
                       WT_WIRE_EMULATES | WT_WIRE_LEAVES_MAC | WT_WIRE_DENSE_POOL | WT_WIRE_UNFRAMED |
                       WT_WIRE_PAIRED_QUEUES,
              .most_queues = 64,
              .options = options,
              .mbufs = {.rx = 1, .tx = 1}},  // a posted one for each descriptor
    .open = open_rdma,
    .await_link = [](const port &made, uint32_t) { of(made).connect(); },
    .operations = &operations,
};

}  // namespace wt
