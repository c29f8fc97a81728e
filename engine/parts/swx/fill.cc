#include "parts/swx/fill.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/refusal.h"
#include "parts/swx/heap.h"
#include "parts/swx/meters.h"

namespace wt {

namespace {

struct entry_free {
    void operator()(rte_swx_table_entry *entry) const {
        if (!entry) return;
        std::free(entry->key);
        std::free(entry->key_mask);
        std::free(entry->action_data);
        std::free(entry);
    }
};
using entry_pointer = std::unique_ptr<rte_swx_table_entry, entry_free>;

struct control_free {
    void operator()(rte_swx_ctl_pipeline *control) const { rte_swx_ctl_pipeline_free(control); }
};

std::vector<rte_swx_ctl_table_match_field_info> fields_of(rte_swx_pipeline *p, uint32_t id, uint32_t count) {
    std::vector<rte_swx_ctl_table_match_field_info> all(count);
    for (uint32_t i = 0; i < count; i++) rte_swx_ctl_table_match_field_info_get(p, id, i, &all[i]);
    return all;
}

key_field field_of(const rte_swx_ctl_table_match_field_info &info) {
    using match = key_field::match;
    const match how = info.match_type == RTE_SWX_TABLE_MATCH_EXACT ? match::exact
                      : info.match_type == RTE_SWX_TABLE_MATCH_LPM ? match::lpm
                                                                   : match::wildcard;
    return {how, info.n_bits};
}

action_shape action_of(rte_swx_pipeline *p, const rte_swx_ctl_table_action_info &info) {
    rte_swx_ctl_action_info about;
    rte_swx_ctl_action_info_get(p, info.action_id, &about);
    action_shape action{
        about.name, {}, info.action_is_for_table_entries != 0, info.action_is_for_default_entry != 0};
    for (uint32_t i = 0; i < about.n_args; i++) {
        rte_swx_ctl_action_arg_info argument;
        rte_swx_ctl_action_arg_info_get(p, info.action_id, i, &argument);
        action.arguments.push_back({argument.name, argument.n_bits});
    }
    return action;
}

// Each entry has room for the arguments of any of its table's actions.
uint32_t most_data_bytes(const table_shape &table) {
    uint32_t most = 0;
    for (const action_shape &action : table.actions) {
        uint32_t bits = 0;
        for (const entry_number &argument : action.arguments) bits += argument.bits;
        most = std::max(most, bits / 8);
    }
    return most;
}

// The layout of a table's key, as DPDK lays it out: from the first field to the last, with what lies between
// masked out.
struct key_layout {
    uint32_t offset = 0, size = 0;
    std::vector<uint8_t> mask;

    explicit key_layout(const std::vector<rte_swx_ctl_table_match_field_info> &fields) {
        if (fields.empty()) return;
        const auto by_offset = [](const auto &a, const auto &b) { return a.offset < b.offset; };
        const auto [first, last] = std::ranges::minmax_element(fields, by_offset);
        offset = first->offset / 8;
        size = (last->offset + last->n_bits - first->offset) / 8;
        mask.resize(size);
        for (const auto &field : fields)
            std::fill_n(mask.begin() + (field.offset - first->offset) / 8, field.n_bits / 8, uint8_t{0xff});
    }
};

// The entries of one table while its file is read.
class filling {
  public:
    filling(rte_swx_pipeline *p, uint32_t id, int socket, const table_shape &shape)
        : shape_(shape), socket_(socket) {
        rte_swx_ctl_table_info_get(p, id, &info_);
        layout_ = key_layout(fields_of(p, id, info_.n_match_fields));
        rte_swx_ctl_table_ops_get(p, id, &ops_, &is_stub_);
        rte_swx_table_state *states = nullptr;
        rte_swx_pipeline_table_state_get(p, &states);
        state_ = &states[id];
        TAILQ_INIT(&list_);
        if (is_built_whole()) state_->obj = nullptr;
    }
    filling(const filling &) = delete;
    filling &operator=(const filling &) = delete;

    // DPDK's control takes the object of a table that is built whole for its own, and frees it with itself
    // (22.11): the pipeline needs another, even if it stays empty.
    void make_own() {
        if (is_built_whole()) state_->obj = create();
        if (is_built_whole() && !state_->obj)
            throw out_of_table_memory("table " + shape_.name + " finds no memory");
    }

    void take(entry_pointer entry, const entry_line &line, bool is_default) {
        if (is_default) return take_default(*entry, line);
        apply_masks(*entry);
        refuse_twin(*entry, line);
        if (lines_.size() > info_.size) refuse_room(line);
        if (ops_.add) {
            if (ops_.add(state_->obj, entry.get()) != 0) refuse_room(line);
        } else {
            TAILQ_INSERT_TAIL(&list_, entry.get(), node);
            kept_.push_back(std::move(entry));
        }
    }

    // Builds what takes no entries one by one. Returns how many entries there are.
    uint64_t finish(const std::string &file) {
        if (kept_.empty()) return lines_.size();
        void *whole = create();
        if (!whole)
            throw out_of_table_memory(file + ": table " + shape_.name + " cannot be built with its " +
                                      std::to_string(kept_.size()) + " entries: memory does not suffice");
        ops_.free(state_->obj);
        state_->obj = whole;
        kept_.clear();
        return lines_.size();
    }

  private:
    bool is_built_whole() const { return !is_stub_ && !ops_.add; }

    // A table of the entries that are kept; null without memory.
    void *create() {
        rte_swx_table_params params = {};
        params.match_type = RTE_SWX_TABLE_MATCH_WILDCARD;
        params.key_size = layout_.size;
        params.key_offset = layout_.offset;
        params.key_mask0 = layout_.mask.data();
        params.action_data_size = most_data_bytes(shape_);
        params.hash_func = info_.hash_func;
        params.n_keys_max = info_.size;
        return ops_.create(&params, &list_, info_.args, socket_);
    }

    void take_default(const rte_swx_table_entry &entry, const entry_line &line) {
        if (default_line_ != 0)
            throw refusal(line.where() + ": table " + shape_.name + " has its default in line " +
                          std::to_string(default_line_));
        default_line_ = line.number;
        state_->default_action_id = entry.action_id;
        const uint32_t bytes = most_data_bytes(shape_);
        if (bytes > 0) std::memcpy(state_->default_action_data, entry.action_data, bytes);
    }

    // Bits of a key that its mask leaves out say nothing; as zeros they cannot hide that two entries are the
    // same.
    void apply_masks(rte_swx_table_entry &entry) const {
        for (uint32_t i = 0; i < layout_.size; i++) {
            if (entry.key_mask) entry.key_mask[i] &= layout_.mask[i];
            entry.key[i] &= entry.key_mask ? entry.key_mask[i] : layout_.mask[i];
        }
    }

    void refuse_twin(const rte_swx_table_entry &entry, const entry_line &line) {
        std::string key(reinterpret_cast<const char *>(entry.key), layout_.size);
        if (entry.key_mask) key.append(reinterpret_cast<const char *>(entry.key_mask), layout_.size);
        const auto [other, fresh] = lines_.try_emplace(std::move(key), line.number);
        if (!fresh)
            throw refusal(line.where() + ": table " + shape_.name + " has an entry of this key in line " +
                          std::to_string(other->second));
    }

    [[noreturn]] void refuse_room(const entry_line &line) const {
        throw refusal(line.where() + ": table " + shape_.name + " is full: its size in the spec is " +
                      std::to_string(info_.size));
    }

    const table_shape &shape_;
    const int socket_;
    rte_swx_ctl_table_info info_{};
    rte_swx_table_ops ops_{};
    int is_stub_ = 0;
    key_layout layout_{{}};
    rte_swx_table_state *state_ = nullptr;
    rte_swx_table_entry_list list_;
    std::vector<entry_pointer> kept_;
    std::unordered_map<std::string, uint32_t> lines_;  // key and mask -> line
    uint32_t default_line_ = 0;
};

}  // namespace

std::vector<pipeline_table> tables_of(rte_swx_pipeline *pipeline) {
    rte_swx_ctl_pipeline_info all;
    rte_swx_ctl_pipeline_info_get(pipeline, &all);
    std::vector<pipeline_table> tables;
    for (uint32_t id = 0; id < all.n_tables; id++) {
        rte_swx_ctl_table_info info;
        rte_swx_ctl_table_info_get(pipeline, id, &info);
        pipeline_table table{{info.name, {}, {}, info.default_action_is_const != 0}, 0, info.size};
        for (const auto &field : fields_of(pipeline, id, info.n_match_fields))
            table.shape.key.push_back(field_of(field));
        for (uint32_t i = 0; i < info.n_actions; i++) {
            rte_swx_ctl_table_action_info action;
            rte_swx_ctl_table_action_info_get(pipeline, id, i, &action);
            table.shape.actions.push_back(action_of(pipeline, action));
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

void fill_tables(rte_swx_pipeline *pipeline, const std::string &file, int socket,
                 std::vector<pipeline_table> &tables, const std::vector<selector_shape> &selectors,
                 selector_groups &groups) {
    const std::unique_ptr<rte_swx_ctl_pipeline, control_free> control(rte_swx_ctl_pipeline_create(pipeline));
    if (!control) throw out_of_table_memory(file + ": the tables find no memory");
    std::vector<table_shape> shapes;
    std::vector<std::unique_ptr<filling>> fillings;
    for (const pipeline_table &table : tables) shapes.push_back(table.shape);
    for (uint32_t id = 0; id < tables.size(); id++)
        fillings.push_back(std::make_unique<filling>(pipeline, id, socket, shapes[id]));
    for (const auto &one : fillings) one->make_own();
    entry_takers take;
    take.entry = [&](size_t id, const entry_line &line, bool is_default) {
        int is_blank = 0;
        entry_pointer entry(rte_swx_ctl_pipeline_table_entry_read(control.get(), shapes[id].name.c_str(),
                                                                  line.text.c_str(), &is_blank));
        if (!entry) throw refusal(line.where() + ": DPDK cannot read this entry of table " + shapes[id].name);
        fillings[id]->take(std::move(entry), line, is_default);
    };
    take.member = [&](size_t id, const entry_line &line, const selector_member &member) {
        groups.take(id, line, member);
    };
    take.meter = [&](const entry_line &line, const std::vector<std::string> &words) {
        set_meters(pipeline, line, words);
    };
    read_entries(file, shapes, selectors, take);
    for (size_t id = 0; id < tables.size(); id++) tables[id].entries = fillings[id]->finish(file);
}

}  // namespace wt
