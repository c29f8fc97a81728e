//! A complete copier in Rust: `rep movsb`, which newer x86 CPUs run as a fast loop of their own (ERMS), from a size on
//! that a scenario chooses; an ordinary copy below it.
//! Copy this directory anywhere, build it with `cargo build --release` and use it with
//! `engine = "./target/release/libmine.so"`. `plugins/copier` is the same copier in C.

mod abi;

use std::ffi::{c_void, CStr};
use std::mem::size_of;
use std::ptr::null;

/// The state of one application. Only its worker uses it during the run, so it needs no lock.
struct Mine {
    least: u32,
}

/// A scenario sets these with `options = { least = "4KiB" }`. An option has a default, a type and a line of help. The
/// engine checks the type; `open` checks the range.
static OPTIONS: [abi::Option; 2] = [
    abi::Option {
        name: b"least\0".as_ptr().cast(),
        fallback: b"512\0".as_ptr().cast(),
        choices: null(),
        help: b"smaller copies are made without rep movsb\0".as_ptr().cast(),
        option_type: abi::BYTES,
        reserved: 0,
    },
    abi::Option { name: null(), fallback: null(), choices: null(), help: null(), option_type: 0, reserved: 0 },
];

/// Writes the message that the user will read. Returns the result for `open`.
unsafe fn refuse(open: &abi::Copier_Open, message: &str) -> i32 {
    let bytes = message.len().min(open.error_size.saturating_sub(1));
    std::ptr::copy_nonoverlapping(message.as_ptr(), open.error.cast(), bytes);
    *open.error.add(bytes) = 0;
    -1
}

/// Before the run: the only place to allocate and to refuse. `open.options` has every option, in the order of the list
/// above.
unsafe extern "C" fn open(open: *const abi::Copier_Open, state: *mut *mut c_void) -> i32 {
    let open = &*open;
    let text = CStr::from_ptr((*open.options).value).to_string_lossy();
    match text.parse::<u32>() {
        Ok(least) => {
            *state = Box::into_raw(Box::new(Mine { least })).cast();
            0
        }
        Err(_) => refuse(open, &format!("least = {text} is more than a copy can have, {}", u32::MAX)),
    }
}

/// Once for each `open` that returned 0.
unsafe extern "C" fn close(state: *mut c_void) {
    drop(Box::from_raw(state.cast::<Mine>()));
}

#[cfg(target_arch = "x86_64")]
unsafe fn copy_string(to: *mut u8, from: *const u8, bytes: usize) {
    std::arch::asm!(
        "rep movsb",
        inout("rdi") to => _, inout("rsi") from => _, inout("rcx") bytes => _,
        options(nostack, preserves_flags),
    );
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_string(to: *mut u8, from: *const u8, bytes: usize) {
    std::ptr::copy_nonoverlapping(from, to, bytes);
}

/// During the run: one burst per call, on the worker's core. Must not allocate or wait. Without a hook `completed` all
/// copies have ended when it returns.
unsafe extern "C" fn submit(state: *mut c_void, pieces: *const abi::Copy_Piece, count: u32) -> u32 {
    let mine = &*state.cast::<Mine>();
    for piece in std::slice::from_raw_parts(pieces, count as usize) {
        let bytes = piece.bytes as usize;
        if piece.bytes < mine.least {
            std::ptr::copy_nonoverlapping(piece.from, piece.to, bytes);
        } else {
            copy_string(piece.to, piece.from, bytes);
        }
    }
    count
}

/// The symbol that the engine loads.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static wt_copier: abi::Copier = abi::Copier {
    abi: abi::COPIER_ABI,
    size: size_of::<abi::Copier>() as u32,
    name: b"mine\0".as_ptr().cast(),
    help: b"the worker copies, by rep movsb\0".as_ptr().cast(),
    kind: abi::COPIER_CORE,
    most_depth: 8192,
    options: OPTIONS.as_ptr(),
    open,
    close: Some(close),
    submit,
    completed: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_every_piece_is_copied_and_no_other() {
        for least in [0, 7, u32::MAX] {
            let from: Vec<u8> = (1..=20).collect();
            let mut to = [0u8; 20];
            let base = to.as_mut_ptr();
            let piece = |at: usize, bytes: usize| abi::Copy_Piece {
                to: unsafe { base.add(at) },
                from: from[at..].as_ptr(),
                bytes: bytes as u32,
                reserved: 0,
            };
            let pieces = [piece(1, 5), piece(7, 12)];
            let mut mine = Mine { least };
            assert_eq!(unsafe { submit((&mut mine as *mut Mine).cast(), pieces.as_ptr(), 2) }, 2);
            let copied = |at: usize| (1..6).contains(&at) || (7..19).contains(&at);
            let wanted: Vec<u8> = (0..20).map(|at| if copied(at) { from[at] } else { 0 }).collect();
            assert_eq!(to.as_mut_slice(), wanted);
        }
    }
}
