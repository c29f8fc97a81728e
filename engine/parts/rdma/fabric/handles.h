// libfabric's objects with their ends: each is closed when its owner goes.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <string>

#include "parts/rdma/fabric/libfabric.h"

namespace wt {

struct close_fabric {
    template <typename Object>
    void operator()(Object *o) const {
        fi_close(&o->fid);
    }
    void operator()(fi_info *info) const { libfabric().freeinfo(info); }
};

template <typename Object>
using fabric_handle = std::unique_ptr<Object, close_fabric>;

// Throws refusal where a call has failed: "rdma wire: tcp: opening the domain: ...".
void check_fabric(const std::string &provider, int64_t error, const std::string &what);

// Makes an object by one of libfabric's calls: `make(&object)`.
template <typename Object, typename Make>
fabric_handle<Object> make_fabric(const std::string &provider, const std::string &what, Make make) {
    Object *made = nullptr;
    check_fabric(provider, make(&made), what);
    return fabric_handle<Object>(made);
}

// Objects that a run and a trial open alike. A completion queue has places for so many completions; the
// address table is for one peer. None waits.
fabric_handle<fid_cq> open_completions(const std::string &provider, fid_domain *domain, size_t places);
fabric_handle<fid_av> open_addresses(const std::string &provider, fid_domain *domain);
fabric_handle<fid_eq> open_events(const std::string &provider, fid_fabric *fabric);

}  // namespace wt
