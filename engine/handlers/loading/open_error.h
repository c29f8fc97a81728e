// What a table's hook `open` says if it refuses.
#pragma once

#include <string>

#include "core/refusal.h"

namespace wt {

// Room for its message.
struct open_error {
    char message[512] = "";

    // `refused`: what `open` returned. Throws refusal with the message, led by `who`, if it is not 0.
    void check(const std::string &who, int refused) {
        message[sizeof message - 1] = '\0';  // a plug-in that filled the room to its end
        if (refused)
            throw refusal(
                who + ": " +
                (*message ? message : "open returned " + std::to_string(refused) + " without a reason"));
    }
};

}  // namespace wt
