//! A complete handler in Rust: each response is the request's bytes with `add` added to each.
//! Copy this directory anywhere, build it with `cargo build --release` and use it with
//! `handler = "./target/release/libmine.so"`. `plugins/skeleton` is the same handler in C.

mod abi;

use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::ptr::null;

/// The state of one application. Only its worker uses it, so it needs no lock.
struct Mine {
    add: u8,
}

/// A scenario sets these with `options = { add = 13 }`. An option has a default, a type and a line of help. The engine
/// checks the type; `open` checks the range.
static OPTIONS: [abi::Option; 2] = [
    abi::Option {
        name: b"add\0".as_ptr().cast(),
        fallback: b"1\0".as_ptr().cast(),
        choices: null(),
        help: b"number to add to every byte, 0 to 255\0".as_ptr().cast(),
        option_type: abi::COUNT,
        reserved: 0,
    },
    abi::Option { name: null(), fallback: null(), choices: null(), help: null(), option_type: 0, reserved: 0 },
];

/// Writes the message that the user will read. Returns the result for `open`.
unsafe fn refuse(open: &abi::Open, message: &str) -> i32 {
    let bytes = message.len().min(open.error_size.saturating_sub(1));
    std::ptr::copy_nonoverlapping(message.as_ptr(), open.error.cast(), bytes);
    *open.error.add(bytes) = 0;
    -1
}

/// Before the run: the only place to allocate and to refuse. `open.options` has every option, in the order of the list
/// above.
unsafe extern "C" fn open(open: *const abi::Open, state: *mut *mut c_void) -> i32 {
    let open = &*open;
    let text = CStr::from_ptr((*open.options).value).to_string_lossy();
    match text.parse::<u8>() {
        Ok(add) => {
            *state = Box::into_raw(Box::new(Mine { add })).cast();
            0
        }
        Err(_) => refuse(open, &format!("add = {text} does not fit into a byte; the largest value is 255")),
    }
}

/// Once for each `open` that returned 0.
unsafe extern "C" fn close(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<Mine>()));
}

/// An iterator over the bytes of a message, a piece of a segment at a time.
struct Walk<'a> {
    segments: std::slice::Iter<'a, abi::Segment>,
    at: *mut u8,
    left: u32, // in the current segment
}

impl<'a> Walk<'a> {
    unsafe fn over(message: &'a abi::Message) -> Self {
        let segments = std::slice::from_raw_parts(message.segments, message.segment_count as usize);
        Walk { segments: segments.iter(), at: std::ptr::null_mut(), left: 0 }
    }

    /// The number of bytes at `self.at`; 0 after the last segment.
    fn here(&mut self) -> u32 {
        while self.left == 0 {
            match self.segments.next() {
                Some(next) => (self.at, self.left) = (next.data, next.length),
                None => break,
            }
        }
        self.left
    }

    unsafe fn go(&mut self, bytes: u32) {
        self.at = self.at.add(bytes as usize);
        self.left -= bytes;
    }
}

/// Writes one response. Request and response are divided into segments at different places, so both are walked. The
/// response may be in the request's own memory (RESPONSE_IN_REQUEST), so these are pointers, not slices: Rust forbids a
/// `&mut` that overlaps another reference. A byte is read before it is overwritten.
unsafe fn respond(mine: &Mine, exchange: &mut abi::Exchange) {
    // a response may be shorter than its room, never longer
    exchange.response.length = exchange.response.length.min(exchange.request.length);
    let (mut from, mut to) = (Walk::over(&exchange.request), Walk::over(&exchange.response));
    let mut left = exchange.response.length;
    while left != 0 {
        let bytes = left.min(from.here()).min(to.here());
        for i in 0..bytes as usize {
            *to.at.add(i) = (*from.at.add(i)).wrapping_add(mine.add);
        }
        from.go(bytes);
        to.go(bytes);
        left -= bytes;
    }
}

/// During the run: one burst per call, on the worker's core. Must not allocate, wait or keep a pointer.
unsafe extern "C" fn message(state: *mut c_void, burst: *mut abi::Exchange, count: u32) {
    let mine = &*state.cast::<Mine>();
    for exchange in std::slice::from_raw_parts_mut(burst, count as usize) {
        respond(mine, exchange);
    }
}

/// The symbol that the engine loads.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static wt_handler: abi::Handler = abi::Handler {
    abi: abi::HANDLER_ABI,
    size: size_of::<abi::Handler>() as u32,
    name: b"mine\0".as_ptr().cast(),
    help: b"returns the request's bytes with a number added to each\0".as_ptr().cast(),
    kind: abi::MESSAGE_HANDLER,
    flags: 0,
    options: OPTIONS.as_ptr(),
    open,
    close: Some(close),
    message: Some(message),
    request: None,
    packet: None,
    steps: None,
    counters: None,
    read_counters: None,
    check: None,
};

#[cfg(test)]
mod tests;
