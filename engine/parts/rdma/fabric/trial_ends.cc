// The two endpoints of a trial: opened, and connected where the type connects.
#include <rdma/fi_eq.h>

#include <array>
#include <vector>

#include "parts/rdma/fabric/patience.h"
#include "parts/rdma/fabric/provider.h"
#include "parts/rdma/fabric/trial.h"

namespace wt {

namespace {

constexpr uint64_t connecting_ns = 500'000'000;

class trial_pair {
  public:
    trial_pair(const rdma_setup &setup, const fabric_ability &wanted);

    // False: the provider does not connect to itself.
    bool meet();
    trial talk() { return {from_, to_, bytes_, known_ ? fi_mr_desc(known_.get()) : nullptr}; }

  private:
    void open_objects();
    void open_end(trial_end &end, fi_info *offer, fabric_address own);
    bool connect();
    void follow(uint32_t event, fi_info *asking, uint32_t *connected);
    bool find_each_other();
    bool find(trial_end &end, const trial_end &other) const;

    const rdma_setup &setup_;
    const fabric_ability &wanted_;
    std::vector<uint8_t> bytes_;
    // closed in the opposite order
    fabric_handle<fi_info> offer_;
    fabric_handle<fid_fabric> fabric_;
    fabric_handle<fid_eq> events_;
    fabric_handle<fid_domain> domain_;
    fabric_handle<fid_mr> known_;
    fabric_handle<fid_pep> listening_;
    trial_end from_, to_;
};

trial_pair::trial_pair(const rdma_setup &setup, const fabric_ability &wanted)
    : setup_(setup),
      wanted_(wanted),
      bytes_(size_t{2} * wanted.largest),
      offer_(fabric_offer_at(setup, spare_address(setup))) {
    open_objects();
}

void trial_pair::open_objects() {
    const std::string &provider = setup_.provider;
    fabric_ = make_fabric<fid_fabric>(provider, "opening the fabric of a trial", [&](fid_fabric **f) {
        return libfabric().fabric(offer_->fabric_attr, f, nullptr);
    });
    events_ = open_events(provider, fabric_.get());
    domain_ = make_fabric<fid_domain>(provider, "opening the domain of a trial", [&](fid_domain **d) {
        return fi_domain(fabric_.get(), offer_.get(), d, nullptr);
    });
    if (!(offer_->domain_attr->mr_mode & FI_MR_LOCAL)) return;
    known_ = make_fabric<fid_mr>(provider, "registering the bytes of a trial", [&](fid_mr **m) {
        return fi_mr_reg(domain_.get(), bytes_.data(), bytes_.size(), FI_SEND | FI_RECV, 0, 0, 0, m, nullptr);
    });
}

void trial_pair::open_end(trial_end &end, fi_info *offer, fabric_address own) {
    const std::string &provider = setup_.provider;
    end.receives = open_completions(provider, domain_.get(), wanted_.receives);
    end.sends = open_completions(provider, domain_.get(), wanted_.sends);
    end.endpoint = make_fabric<fid_ep>(provider, "opening an endpoint of a trial", [&](fid_ep **e) {
        return fi_endpoint(domain_.get(), offer, e, nullptr);
    });
    const auto bind = [&](fid_t to, uint64_t flags) {
        check_fabric(provider, fi_ep_bind(end.endpoint.get(), to, flags), "binding the queues of a trial");
    };
    if (setup_.type == rdma_type::rc) {
        bind(&events_->fid, 0);
    } else {
        end.addresses = open_addresses(provider, domain_.get());
        bind(&end.addresses->fid, 0);
    }
    bind(&end.receives->fid, FI_RECV);
    bind(&end.sends->fid, FI_TRANSMIT | (wanted_.selective ? FI_SELECTIVE_COMPLETION : 0));
    check_fabric(provider, name_endpoint(provider, end.endpoint.get(), own), "naming an endpoint of a trial");
    check_fabric(provider, fi_enable(end.endpoint.get()), "enabling an endpoint of a trial");
}

bool trial_pair::meet() { return setup_.type == rdma_type::rc ? connect() : find_each_other(); }

void trial_pair::follow(uint32_t event, fi_info *asking, uint32_t *connected) {
    *connected += event == FI_CONNECTED;
    if (event != FI_CONNREQ) return;
    const fabric_handle<fi_info> offer(asking);
    open_end(to_, offer.get(), {});
    fi_accept(to_.endpoint.get(), nullptr, 0);
}

bool trial_pair::connect() {
    fid_pep *listening = nullptr;
    if (fi_passive_ep(fabric_.get(), offer_.get(), &listening, nullptr) != 0) return false;
    listening_.reset(listening);
    std::array<uint8_t, 256> own;
    size_t bytes = own.size();
    if (fi_pep_bind(listening, &events_->fid, 0) != 0 || fi_listen(listening) != 0 ||
        fi_getname(&listening->fid, own.data(), &bytes) != 0)
        return false;
    open_end(from_, offer_.get(), {});
    if (fi_connect(from_.endpoint.get(), own.data(), nullptr, 0) != 0) return false;
    uint32_t connected = 0;
    return with_patience(connecting_ns, [&] {
        fi_eq_cm_entry entry{};
        uint32_t event = 0;
        if (fi_eq_read(events_.get(), &event, &entry, sizeof entry, 0) >= static_cast<ssize_t>(sizeof entry))
            follow(event, entry.info, &connected);
        return connected == 2;
    });
}

bool trial_pair::find_each_other() {
    open_end(from_, offer_.get(), spare_address(setup_));
    const fabric_handle<fi_info> offer = fabric_offer_at(setup_, spare_address(setup_));
    open_end(to_, offer.get(), spare_address(setup_));
    return find(from_, to_) && find(to_, from_);
}

bool trial_pair::find(trial_end &end, const trial_end &other) const {
    std::array<uint8_t, 256> name;
    size_t bytes = name.size();
    return fi_getname(&other.endpoint->fid, name.data(), &bytes) == 0 &&
           fi_av_insert(end.addresses.get(), name.data(), 1, &end.peer, 0, nullptr) == 1;
}

}  // namespace

std::optional<fabric_ability> try_provider(const rdma_setup &setup, const fabric_ability &wanted) {
    trial_pair pair(setup, wanted);
    if (!pair.meet()) return std::nullopt;
    return pair.talk().find(wanted);
}

}  // namespace wt
