/* `kv`: a key-value store, one table an application. GET and SET by key; docs/reference/handlers.md has the
 * formats.
 *
 * The keys 0 to keys - 1 are loaded at open. A burst is looked at twice: first to fetch every key's slot into
 * the cache, then to act, so that the misses of a burst overlap.
 *
 * It names no copies (wt_response_copy): a later SET would change a value while a copier reads it. */
#include <stdlib.h>

#include "handlers/applications/body.h"
#include "handlers/applications/kv_keys.h"
#include "handlers/applications/kv_table.h"
#include "handlers/applications/opening.h"

enum { KV_GET = 1, KV_SET = 2 };
enum { KV_DONE = 0, KV_NOT_FOUND = 1, KV_NO_ROOM = 2, KV_BAD_REQUEST = 3 };

/* Head of a request and of a response; the value follows. */
struct kv_head {
    uint8_t what; /* request: GET or SET; response: the outcome */
    uint8_t zero[3];
    uint32_t value_length;
    uint64_t word; /* request: the key; response: the scan of the request, 0 without */
};
_Static_assert(sizeof(struct kv_head) == 16, "as it stands in docs/reference/handlers.md");

enum { HEAD = sizeof(struct kv_head) };
enum { LOOK_AHEAD = 32 }; /* requests whose slots are fetched together */

struct kv {
    struct kv_table table;
    struct kv_keys keys;
    uint64_t get_percent;
    uint64_t random;       /* client: the generator's state */
    uint32_t value_length; /* the longest */
    uint32_t scan;
};

static void kv_close(void *state) {
    struct kv *self = state;
    free(self->table.slots);
    free(self->table.values);
    kv_keys_close(&self->keys);
    free(self);
}

/* The value with which a key is loaded: a word made of the key, over and over. */
static void load_keys(struct kv *self) {
    for (uint64_t key = 0; key < self->keys.count; ++key) {
        struct kv_slot *slot = kv_claim(&self->table, key);
        slot->length = self->value_length;
        const struct wt_segment room = {kv_value(&self->table, slot), slot->length};
        body_fill(&(struct wt_message){&room, 1, room.length}, 0, mix64(key));
    }
}

static int open_server(const struct wt_open *open, struct kv *self) {
    const uint32_t response = sizeof(struct kv_head) + self->value_length;
    if (open->response_length < response)
        return wt_refuse(
            open,
            "a response body of %u bytes has no room for its head of 16 bytes and a value of %u: "
            "make the response %u bytes longer, or the value shorter",
            open->response_length, self->value_length, response - open->response_length);
    struct kv_table *table = &self->table;
    uint64_t slots = 2;
    while (slots < 2 * self->keys.count) slots *= 2;
    table->mask = slots - 1;
    table->most = (uint32_t)(slots / 2);
    table->stride = (self->value_length + 7u) & ~7u;
    table->salt = mix64(open->seed);
    table->slots = wt_take_memory(open, "keys", slots * sizeof *table->slots);
    if (!table->slots) return -1;
    table->values = wt_take_memory(open, "keys x value", (uint64_t)table->most * table->stride);
    if (!table->values) return -1;
    if (!wt_left_untouched()) load_keys(self);
    return 0;
}

static int open_client(const struct wt_open *open, const struct kv *self) {
    const uint32_t request = sizeof(struct kv_head) + (self->get_percent == 100 ? 0 : self->value_length);
    if (open->request_length >= request) return 0;
    return wt_refuse(
        open, "a request body of %u bytes has no room for the %u of a %s: make the request %u bytes longer",
        open->request_length, request, self->get_percent == 100 ? "GET" : "SET",
        request - open->request_length);
}

static int kv_open(const struct wt_open *open, void **state) {
    const uint64_t keys = wt_number(open, "keys");
    const uint64_t value = wt_number(open, "value");
    const uint64_t get_percent = wt_number(open, "get_percent");
    if (keys < 1 || keys > 1u << 30)
        return wt_refuse(open, "keys = %llu is not between 1 and 2^30", (unsigned long long)keys);
    if (value < 1 || value > 4u << 20)
        return wt_refuse(open, "value = %llu is not between 1 and 4 MiB", (unsigned long long)value);
    if (get_percent > 100)
        return wt_refuse(open, "get_percent = %llu is more than 100", (unsigned long long)get_percent);
    struct kv *self = wt_take_memory(open, "kv", sizeof *self);
    if (!self) return -1;
    self->value_length = (uint32_t)value;
    self->get_percent = get_percent;
    self->random = mix64(open->seed + open->index);
    self->scan = open->scan;
    if (kv_keys_open(open, keys, &self->keys) != 0 ||
        (open->role == WT_SERVER ? open_server(open, self) : open_client(open, self)) != 0) {
        kv_close(self);
        return -1;
    }
    *state = self;
    return 0;
}

static uint8_t kv_set(struct kv *self, const struct wt_message *request, const struct kv_head *head) {
    if (head->value_length > request->length - sizeof *head) return KV_BAD_REQUEST;
    struct kv_slot *slot =
        head->value_length <= self->value_length ? kv_claim(&self->table, head->word) : NULL;
    if (!slot) return KV_NO_ROOM;
    slot->length = body_read(request, sizeof *head, kv_value(&self->table, slot), head->value_length);
    return KV_DONE;
}

/* The request's memory may be the response's: it is read to the end before the response is begun. */
static void kv_response(struct kv *self, struct wt_exchange *e, const struct kv_head *head) {
    struct kv_head reply = {.word = self->scan ? body_scan(&e->request) : 0};
    const uint8_t *value = NULL;
    if (head->what == KV_GET) {
        const struct kv_slot *slot = kv_find(&self->table, head->word);
        if (slot->entry != 0) {
            value = kv_value(&self->table, slot);
            reply.value_length = slot->length;
        }
        reply.what = value ? KV_DONE : KV_NOT_FOUND;
    } else if (head->what == KV_SET) {
        reply.what = kv_set(self, &e->request, head);
    } else {
        reply.what = KV_BAD_REQUEST;
    }
    uint32_t length = body_write(&e->response, 0, &reply, sizeof reply);
    if (value) length += body_write(&e->response, sizeof reply, value, reply.value_length);
    e->response.length = length;
}

static void kv_message(void *state, struct wt_exchange *burst, uint32_t count) {
    struct kv *self = state;
    struct kv_head heads[LOOK_AHEAD];
    while (count != 0) {
        const uint32_t now = count < LOOK_AHEAD ? count : LOOK_AHEAD;
        for (uint32_t i = 0; i < now; ++i) {
            if (body_read(&burst[i].request, 0, &heads[i], sizeof heads[i]) < sizeof heads[i])
                heads[i] = (struct kv_head){0};
            __builtin_prefetch(kv_home(&self->table, heads[i].word));
        }
        for (uint32_t i = 0; i < now; ++i) kv_response(self, &burst[i], &heads[i]);
        burst += now;
        count -= now;
    }
}

/* Client: GET or SET of a key that is drawn. A SET's value is random too, and as long as the request has room
 * where requests are of many sizes; a GET's body ends in zeros. */
static void kv_request(void *state, const struct wt_message *burst, uint32_t count) {
    struct kv *self = state;
    for (uint32_t i = 0; i < count; ++i) {
        const int get = random_below(&self->random, 100) < self->get_percent;
        const uint32_t room = burst[i].length > HEAD ? burst[i].length - HEAD : 0;
        const uint32_t value = room < self->value_length ? room : self->value_length;
        const struct kv_head head = {.what = get ? KV_GET : KV_SET,
                                     .value_length = get ? 0 : value,
                                     .word = kv_keys_next(&self->keys, &self->random)};
        body_write(&burst[i], 0, &head, sizeof head);
        body_fill(&burst[i], sizeof head, get ? 0 : random_next(&self->random));
    }
}

static const struct wt_option kv_options[] = {
    {"keys", "100000", NULL, "keys in each application's table, all loaded at the start", WT_COUNT, 0},
    {"value", "32", NULL, "length of a value", WT_BYTES, 0},
    {"get_percent", "95", NULL, "share of GET among the client's requests, the rest is SET", WT_COUNT, 0},
    {"distribution", "uniform", "uniform|zipf|fixed|file", "how the client draws its keys", WT_CHOICE, 0},
    {"exponent", "0.99", NULL, "zipf: rank k has a weight of 1 / k^exponent; above 0; 0.99 is YCSB's",
     WT_TEXT, 0},
    {"hot", "scattered", "scattered|together", "zipf: places of the most popular keys; together: first",
     WT_CHOICE, 0},
    {"key", "0", NULL, "fixed: the one key", WT_COUNT, 0},
    {"file", "", NULL, "file: lines of a key and its weight (1)", WT_FILE, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

const struct wt_handler wt_kv = {
    .abi = WT_HANDLER_ABI,
    .size = sizeof(struct wt_handler),
    .name = "kv",
    .help = "a key-value store: GET and SET by key in a hash table",
    .kind = WT_MESSAGE_HANDLER,
    .options = kv_options,
    .open = kv_open,
    .close = kv_close,
    .message = kv_message,
    .request = kv_request,
};
