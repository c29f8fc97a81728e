#include "wires/planned.h"

#include "plan/check.h"
#include "wires/registry.h"

namespace wt {

namespace {

// By their words, as a descriptor has them.
std::vector<std::string> traits_in(const port_plan &port) {
    std::vector<std::string> words;
    for (const trait t : port.traits) words.emplace_back(name_of(t));
    return words;
}

// The wire and its options, as its descriptor has them; and that the plan was made for this descriptor.
void check_port(const std::string &path, const endpoint_plan &e) {
    const wire *kind = find_wire(e.port.wire);
    if (!kind) refuse_plan(path + ".wire", no_such_wire(e.port.wire));
    const wire_values values("plan: " + path + ".options", kind->about, e.port.options);
    if (traits_of(kind->about, values) != traits_in(e.port))
        refuse_plan(path + ".traits", "they are not those of this engine's wire " + e.port.wire);
    if (!has(*kind, e.side == side::client ? WT_WIRE_CLIENT : WT_WIRE_SERVER))
        refuse_plan(path + ".wire", std::string("no ") + side_names[static_cast<int>(e.side)] +
                                        " may be on the wire " + e.port.wire);
    if (!e.mac && !has(*kind, WT_WIRE_OWN_MAC))
        refuse_plan(path + ".wire", "the endpoint has no MAC, nor has a port on the wire " + e.port.wire);
}

// Both ends of a wire that is opened as one.
void check_ends(const plan &p) {
    const port_plan &first = p.endpoints[0].port, &last = p.endpoints.back().port;
    const wire &kind = wire_named(first.wire);
    if (last.wire != first.wire)
        refuse_plan("endpoints[1].port.wire", "the other end is on the wire " + first.wire);
    if (p.endpoints.size() == 1) {
        if (has(kind, WT_WIRE_TOGETHER))
            refuse_plan("endpoints[0].port.wire",
                        "a " + first.wire + " wire needs both its ends in one plan");
        return;
    }
    for (const wt_wire_option &o : wire_options(kind.about))
        if (o.type == WT_WIRE_PCI && first.options.at(o.name) == last.options.at(o.name))
            refuse_plan(std::string("endpoints[1].port.options.") + o.name, "the other side has this NIC");
}

// A hello goes out to another process.
void check_hello(const plan &p) {
    if (p.hello_wait_ns && !has(wire_of(p.endpoints[0]), WT_WIRE_FOREIGN_PEER))
        refuse_plan("hello_wait_ns", "is set, but this wire has no foreign peer");
}

}  // namespace

void check_planned_wires(const plan &p) {
    for (size_t i = 0; i < p.endpoints.size(); i++)
        check_port("endpoints[" + std::to_string(i) + "].port", p.endpoints[i]);
    check_ends(p);
    check_hello(p);
}

}  // namespace wt
