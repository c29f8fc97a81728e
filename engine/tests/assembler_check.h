// Drives an assembler beside a naive model (maps, no fixed places) and says where they differ. For the tests
// and the fuzzer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/assembler.h"

namespace wt {

class assembler_check {
  public:
    assembler_check(uint32_t applications, uint32_t slots, const segmentation &largest,
                    bool sizes_vary = false)
        : real_(applications, slots, largest, sizes_vary) {}

    // Gives both the next packet as one segment. Returns what differs, or nothing.
    std::optional<std::string> take(const message_header &h, uint32_t body_bytes) {
        void *const packet = reinterpret_cast<void *>(++packets_);
        held_.insert(packet);
        assembly *message = nullptr;
        superseded old{};
        drop why = drop::count;
        result = assemble(real_, packet, h, body_bytes, &message, &old, &why);
        reason = why;

        const drop expected = expected_drop(h, body_bytes);
        if (expected != drop::count) {
            if (result != assembled::dropped || why != expected || old.places != 0)
                return std::string("should be dropped: ") + drop_names[static_cast<uint32_t>(expected)];
            return release(packet);
        }
        if (result == assembled::dropped)
            return std::string("should not be dropped: ") + drop_names[static_cast<uint32_t>(why)];
        return expect_taken(h, packet, message, old);
    }

    // What the assembler holds at the end must be every packet that has not been given back.
    std::optional<std::string> finish() {
        for (const assembly &m : real_.assemblies) {
            if (!assembly_is_open(m)) continue;
            for (uint32_t i = 0; i < m.segments; i++)
                if (auto wrong = m.packets[i] ? release(m.packets[i]) : std::nullopt) return wrong;
        }
        if (!held_.empty()) return "a packet is lost";
        return {};
    }

    assembled result{};  // of the last call
    drop reason{};       // likewise, where dropped

  private:
    struct model_message {
        uint32_t generation;
        uint32_t segments;
        std::map<uint32_t, void *> packets;
        bool complete() const { return packets.size() == segments; }
    };

    drop expected_drop(const message_header &h, uint32_t body_bytes) const {
        if (h.application >= real_.applications) return drop::unknown_application;
        if (h.slot >= real_.slots) return drop::bad_slot;
        const segmentation &most = real_.largest;
        if (real_.sizes_vary ? h.segments == 0 || h.segments > most.segments : h.segments != most.segments)
            return drop::bad_segment_count;
        if (h.segment >= h.segments) return drop::bad_segment_index;
        // The bytes that the message has with this segment as it is; only its last one may differ from a full
        // one.
        const uint32_t before = h.segment * most.segment_body, bytes = before + body_bytes;
        const bool last = h.segment == h.segments - 1;
        if (!last && body_bytes != most.segment_body) return drop::bad_segment_length;
        if (last && !real_.sizes_vary && bytes != most.body_bytes) return drop::bad_segment_length;
        if (last &&
            (body_bytes > most.segment_body || bytes > most.body_bytes || (before > 0 && body_bytes == 0)))
            return drop::bad_segment_length;
        const auto at = model_.find({h.application, h.slot});
        if (at == model_.end()) return drop::count;
        const model_message &m = at->second;
        if (m.generation == h.generation && m.segments != h.segments) return drop::bad_segment_count;
        if (m.generation == h.generation)
            return m.complete() || m.packets.contains(h.segment) ? drop::duplicate_segment : drop::count;
        // RFC 1982 in so many words: newer is up to half of the circle ahead.
        const uint64_t ahead =
            (uint64_t{h.generation} + (uint64_t{1} << 32) - m.generation) % (uint64_t{1} << 32);
        return ahead < uint64_t{1} << 31 ? drop::count : drop::stale_segment;
    }

    std::optional<std::string> expect_taken(const message_header &h, void *packet, assembly *message,
                                            const superseded &old) {
        model_message &m =
            model_.try_emplace({h.application, h.slot}, model_message{h.generation, h.segments, {}})
                .first->second;
        std::map<uint32_t, void *> given_up;
        if (m.generation != h.generation) {
            if (!m.complete()) given_up = std::move(m.packets);
            m = {h.generation, h.segments, {}};
        }
        m.packets[h.segment] = packet;

        if (given_up.empty() != (old.places == 0)) return "superseded: one has packets, the other none";
        for (uint32_t i = 0; i < old.places; i++) {
            const auto at = given_up.find(i);
            if (old.packets[i] != (at == given_up.end() ? nullptr : at->second))
                return "superseded: other packets";
            if (old.packets[i] == nullptr) continue;
            if (auto wrong = release(old.packets[i])) return wrong;
        }
        if (m.complete() != (result == assembled::complete)) return "complete: one is, the other is not";
        if (!m.complete()) return {};
        for (const auto &[segment, its_packet] : m.packets) {
            if (message->packets[segment] != its_packet) return "complete: other packets";
            if (auto wrong = release(its_packet)) return wrong;
            message->packets[segment] = nullptr;  // they are the caller's now, the places with them
        }
        return {};
    }

    std::optional<std::string> release(void *packet) {
        if (held_.erase(packet) == 0) return "a packet has two owners";
        return {};
    }

    assembler real_;
    std::map<std::pair<uint32_t, uint32_t>, model_message> model_;
    std::set<void *> held_;  // given to the assembler and not given back
    uintptr_t packets_ = 0;
};

}  // namespace wt
