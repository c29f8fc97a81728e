#include "wires/steering.h"

#include <netinet/in.h>
#include <rte_flow.h>

#include <bit>

#include "core/refusal.h"
#include "wires/device.h"

namespace wt {

namespace {

constexpr size_t usual_key_bytes = 40;  // what a driver means that gives no size
constexpr uint32_t hashed_bits = 96;    // of IPv4 and UDP: two addresses, two ports, the destination's last
constexpr uint32_t hash_bits = 32;
constexpr const char *misdirected = "; what comes to another queue is dropped as misdirected";

// The table's entry for a port: Toeplitz's bits come out in reverse.
uint32_t entry_of(uint16_t udp_port, uint32_t index_bits) {
    uint32_t entry = 0;
    for (uint32_t i = 0; i < index_bits; i++) entry |= (udp_port >> i & 1) << (index_bits - 1 - i);
    return entry;
}

// Whether a rule says UDP twice: as the protocol of its IPv4, too. igb takes no rule without it (igb_flow.c,
// "Invalid ntuple mask"), and others may take none with it.
enum class protocol : uint8_t { follows, is_said };

// "IPv4 UDP to this port goes to this queue." Returns the driver's words where it does not take the rule.
std::string add_rule(const port &made, uint16_t udp_port, uint16_t queue, protocol of_ipv4) {
    rte_flow_attr attributes{};
    attributes.ingress = 1;
    rte_flow_item_ipv4 udp{}, whole{};
    udp.hdr.next_proto_id = IPPROTO_UDP;
    whole.hdr.next_proto_id = 0xff;
    rte_flow_item_udp to{}, mask{};
    to.hdr.dst_port = rte_cpu_to_be_16(udp_port);
    mask.hdr.dst_port = 0xffff;
    rte_flow_item pattern[4]{};
    pattern[0].type = RTE_FLOW_ITEM_TYPE_ETH;
    pattern[1].type = RTE_FLOW_ITEM_TYPE_IPV4;
    if (of_ipv4 == protocol::is_said) pattern[1].spec = &udp, pattern[1].mask = &whole;
    pattern[2] = {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &to, .last = nullptr, .mask = &mask};
    pattern[3].type = RTE_FLOW_ITEM_TYPE_END;
    const rte_flow_action_queue chosen = {.index = queue};
    const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &chosen},
                                       {RTE_FLOW_ACTION_TYPE_END, nullptr}};
    rte_flow_error error{};
    if (rte_flow_create(made.id, &attributes, pattern, actions, &error)) return {};
    return error.message ? error.message : "no reason given";
}

// All rules or none.
std::string add_rules(const port &made, uint16_t first_port, protocol of_ipv4) {
    for (uint16_t q = 0; q < made.queues; q++) {
        const std::string why = add_rule(made, static_cast<uint16_t>(first_port + q), q, of_ipv4);
        if (why.empty()) continue;
        rte_flow_error ignored{};
        if (q > 0) rte_flow_flush(made.id, &ignored);
        return why;
    }
    return {};
}

bool write_table(const port &made, const rss_setup &setup) {
    if (setup.queue_of_entry.empty()) return false;
    std::vector<rte_eth_rss_reta_entry64> table((setup.queue_of_entry.size() + RTE_ETH_RETA_GROUP_SIZE - 1) /
                                                RTE_ETH_RETA_GROUP_SIZE);
    for (size_t i = 0; i < setup.queue_of_entry.size(); i++) {
        rte_eth_rss_reta_entry64 &group = table[i / RTE_ETH_RETA_GROUP_SIZE];
        group.mask |= uint64_t{1} << i % RTE_ETH_RETA_GROUP_SIZE;
        group.reta[i % RTE_ETH_RETA_GROUP_SIZE] = setup.queue_of_entry[i];
    }
    return rte_eth_dev_rss_reta_update(made.id, table.data(),
                                       static_cast<uint16_t>(setup.queue_of_entry.size())) == 0;
}

}  // namespace

bool hashes_udp(const rte_eth_dev_info &info) {
    return (info.flow_type_rss_offloads & RTE_ETH_RSS_NONFRAG_IPV4_UDP) != 0;
}

rss_setup rss_for_ports(const rte_eth_dev_info &info, uint16_t first_port, uint16_t queues) {
    rss_setup setup;
    if (queues < 2 || !hashes_udp(info)) return setup;
    if (!std::has_single_bit(info.reta_size) || info.reta_size < queues) return setup;
    const auto index_bits = static_cast<uint32_t>(std::countr_zero(info.reta_size));
    // The port's last bit is combined with this bit of the key in the hash's highest index bit, the bit
    // before it in the next.
    const uint32_t bit = hashed_bits - 1 + hash_bits - index_bits;
    setup.key.resize(info.hash_key_size ? info.hash_key_size : usual_key_bytes);
    setup.key[bit / 8] = static_cast<uint8_t>(0x80 >> bit % 8);
    setup.queue_of_entry.resize(info.reta_size);
    for (uint16_t q = 0; q < queues; q++)
        setup.queue_of_entry[entry_of(static_cast<uint16_t>(first_port + q), index_bits)] = q;
    return setup;
}

void ask_for_rss(rte_eth_conf &conf, const rte_eth_dev_info &info, const rss_setup &setup) {
    if (!hashes_udp(info)) return;
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = RTE_ETH_RSS_NONFRAG_IPV4_UDP;
    if (setup.key.empty()) return;
    conf.rx_adv_conf.rss_conf.rss_key = const_cast<uint8_t *>(setup.key.data());  // which only reads it
    conf.rx_adv_conf.rss_conf.rss_key_len = static_cast<uint8_t>(setup.key.size());
}

void steer(port &made, uint16_t first_port, enum steering way, const rte_eth_dev_info &info,
           const rss_setup &setup) {
    if (made.queues == 1) return;
    std::string why = "not asked for";
    if (way != steering::rss) {
        why = add_rules(made, first_port, protocol::follows);
        if (!why.empty() && add_rules(made, first_port, protocol::is_said).empty()) why.clear();
        if (why.empty()) {
            // a driver may take rules that its device does not know
            const bool both = way == steering::automatic && write_table(made, setup);
            made.notes.push_back(name_of(made) + ": rte_flow rules bring each UDP port to its queue" +
                                 (both ? ", and so does RSS, where they do not" : "") + misdirected);
            return;
        }
        if (way == steering::flow)
            throw refusal(name_of(made) + " rejects an rte_flow rule from a UDP port to a queue: " + why,
                          "use steering = \"auto\" or \"rss\", or one dispatcher");
    }
    if (!hashes_udp(info))
        throw refusal(name_of(made) + " has no RSS over UDP ports and no rte_flow rules (" + why +
                          "): " + std::to_string(made.queues) + " queues cannot be separated",
                      "use one dispatcher, which is one queue");
    made.notes.push_back(name_of(made) +
                         (write_table(made, setup)
                              ? ": RSS, with a key that looks at the UDP port alone, brings each to its queue"
                              : ": RSS spreads flows as its own hash has it") +
                         misdirected);
}

}  // namespace wt
