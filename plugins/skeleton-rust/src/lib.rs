//! A handler of your own in Rust, complete: it answers each request with the request's bytes, `add` added to each.
//! Copy this directory anywhere, build it with `cargo build --release`, fly it with
//! `handler = "./target/release/libmine.so"`. It does what `plugins/skeleton` does in C.

mod abi;

use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::ptr::null;

/// One state an application: no other worker touches it, so there is nothing to lock.
struct Mine {
    add: u8,
}

/// A scenario sets these with `options = { add = 13 }`. An option has a default, a type and a line of help; the engine
/// has refused what is not of the type, the range is yours to check.
static OPTIONS: [abi::Option; 2] = [
    abi::Option {
        name: b"add\0".as_ptr().cast(),
        fallback: b"1\0".as_ptr().cast(),
        choices: null(),
        help: b"what is added to every byte, 0 to 255\0".as_ptr().cast(),
        option_type: abi::COUNT,
        reserved: 0,
    },
    abi::Option { name: null(), fallback: null(), choices: null(), help: null(), option_type: 0, reserved: 0 },
];

/// Writes words that the user will read; to be returned from `open`.
unsafe fn refuse(open: &abi::Open, words: &str) -> i32 {
    let bytes = words.len().min(open.error_size.saturating_sub(1));
    std::ptr::copy_nonoverlapping(words.as_ptr(), open.error.cast(), bytes);
    *open.error.add(bytes) = 0;
    -1
}

/// Before the flight: the one place to allocate and to refuse. Every option stands in `open.options`, in the order of
/// the list above.
unsafe extern "C" fn open(open: *const abi::Open, state: *mut *mut c_void) -> i32 {
    let open = &*open;
    let text = CStr::from_ptr((*open.options).value).to_string_lossy();
    match text.parse::<u8>() {
        Ok(add) => {
            *state = Box::into_raw(Box::new(Mine { add })).cast();
            0
        }
        Err(_) => refuse(open, &format!("add = {text} is more than a byte can hold, 255")),
    }
}

/// Once for each `open` that returned 0.
unsafe extern "C" fn close(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<Mine>()));
}

/// A walk over the bytes of a message, a piece at a time.
struct Walk<'a> {
    segments: std::slice::Iter<'a, abi::Segment>,
    at: *mut u8,
    left: u32, // in the present segment
}

impl<'a> Walk<'a> {
    unsafe fn over(message: &'a abi::Message) -> Self {
        let segments = std::slice::from_raw_parts(message.segments, message.segment_count as usize);
        Walk { segments: segments.iter(), at: std::ptr::null_mut(), left: 0 }
    }

    /// How many bytes lie at `self.at`; 0 behind the last segment.
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

/// One request, one answer. Both are cut into segments, and not at the same places: walk along both. The answer may lie
/// in the request's own memory (ANSWER_IN_REQUEST), so these are pointers, not slices: Rust forbids a `&mut` that
/// another reference overlaps. A byte is read before it is written over.
unsafe fn answer(mine: &Mine, exchange: &mut abi::Exchange) {
    // shorter is allowed, longer never
    exchange.answer.length = exchange.answer.length.min(exchange.request.length);
    let (mut from, mut to) = (Walk::over(&exchange.request), Walk::over(&exchange.answer));
    let mut left = exchange.answer.length;
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

/// In the flight: a burst at a time, on the worker's core. No allocation, no waiting, no pointer kept.
unsafe extern "C" fn message(state: *mut c_void, burst: *mut abi::Exchange, count: u32) {
    let mine = &*state.cast::<Mine>();
    for exchange in std::slice::from_raw_parts_mut(burst, count as usize) {
        answer(mine, exchange);
    }
}

/// The one symbol that the engine looks for.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static wt_handler: abi::Handler = abi::Handler {
    abi: abi::HANDLER_ABI,
    size: size_of::<abi::Handler>() as u32,
    name: b"mine\0".as_ptr().cast(),
    help: b"answers with the request's bytes, a number added to each\0".as_ptr().cast(),
    kind: abi::MESSAGE_HANDLER,
    flags: 0,
    options: OPTIONS.as_ptr(),
    open,
    close: Some(close),
    message: Some(message),
    request: None,
    packet: None,
    steps: None,
    figures: None,
    read_figures: None,
};

#[cfg(test)]
mod tests;
