// The server's region that a client reads from or writes to, piece by piece.
//
// Its bytes follow from their position (core/random_bytes.h): what was read is checked without having been
// sent.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/random_bytes.h"

namespace wt {

struct region_shape {
    uint64_t bytes = 0, piece = 0;
    uint64_t pieces() const { return bytes / piece; }
};

constexpr uint64_t region_seed = 0x5774526567696f6e;

// Where the piece begins that a message names: by slot and generation, as they stand in its header.
inline uint64_t position_of(const region_shape &r, uint64_t message_name) {
    return mix64(message_name) % r.pieces() * r.piece;
}

// Whether what was read is what stands at its position: its first word, its last, and one between them that
// moves from piece to piece. All of them would cost more than the READ.
inline bool piece_is_right(const region_shape &r, uint64_t position, const uint8_t *at) {
    const uint64_t words = r.piece / sizeof(uint64_t), first = position / sizeof(uint64_t);
    for (const uint64_t word : {uint64_t{0}, mix64(position) % words, words - 1}) {
        uint64_t found;
        std::memcpy(&found, at + word * sizeof found, sizeof found);
        if (found != random_word(region_seed, first + word)) return false;
    }
    return true;
}

// Bytes that are neither 0, as they were, nor what a WRITE brings there.
inline uint64_t wrongly_written(const uint8_t *at, uint64_t bytes) {
    uint64_t wrong = 0;
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        const uint64_t right = random_word(region_seed, done / sizeof right);
        uint64_t found;
        std::memcpy(&found, at + done, sizeof found);
        if (found == right || found == 0) continue;
        for (uint32_t bit = 0; bit < 64; bit += 8) {
            const auto byte = static_cast<uint8_t>(found >> bit);
            wrong += byte != 0 && byte != static_cast<uint8_t>(right >> bit);
        }
    }
    return wrong;
}

// Memory beside the pools. Throws refusal.
class rdma_memory {
  public:
    rdma_memory() = default;
    // `at`: an address that nothing else has; null: any.
    rdma_memory(uint64_t bytes, void *at);
    ~rdma_memory();
    rdma_memory(rdma_memory &&other) noexcept { *this = static_cast<rdma_memory &&>(other); }
    rdma_memory &operator=(rdma_memory &&other) noexcept {
        std::swap(first_, other.first_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    uint8_t *first() const { return first_; }
    uint64_t bytes() const { return bytes_; }

  private:
    uint8_t *first_ = nullptr;
    uint64_t bytes_ = 0;
};

}  // namespace wt
