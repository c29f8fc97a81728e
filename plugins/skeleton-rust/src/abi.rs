//! `windtunnel/handler.h`, ABI 3, in Rust: the same names without `wt_`, the same order, the same sizes.
//! The header documents each field. The sizes are asserted below; Windtunnel's tests compare them with the header.
#![allow(dead_code, non_camel_case_types)] // a handler uses only a part of the header

use std::ffi::c_void;
use std::mem::size_of;
use std::os::raw::c_char;

pub const HANDLER_ABI: u32 = 3;

pub const MESSAGE_HANDLER: u32 = 1;
pub const PACKET_HANDLER: u32 = 2;

pub const CLIENT: u32 = 1;
pub const SERVER: u32 = 2;

#[repr(C)]
pub struct Segment {
    pub data: *mut u8,
    pub length: u32,
}

#[repr(C)]
pub struct Message {
    pub segments: *const Segment,
    pub segment_count: u32,
    pub length: u32,
}

pub const RESPONSE_IN_REQUEST: u16 = 1 << 0;
pub const NO_RESPONSE: u16 = 1 << 1;

pub const MAX_COPIES: u32 = 4;

#[repr(C)]
pub struct Copy {
    pub from: *const u8,
    pub position: u32,
    pub length: u32,
}

#[repr(C)]
pub struct Copies {
    pub list: [Copy; MAX_COPIES as usize],
    pub count: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Exchange {
    pub request: Message,
    pub response: Message,
    pub copies: *mut Copies,
    pub workload: u16,
    pub flags: u16,
    pub reserved: u32,
}

impl Exchange {
    /// `wt_response_copy` of the header: the same rules.
    ///
    /// # Safety
    /// The segments of the response must be valid. The `length` bytes at `from` must stay as they are until `close`, and
    /// must not lie in the request.
    pub unsafe fn response_copy(&mut self, mut position: u32, mut from: *const u8, mut length: u32) {
        if position >= self.response.length || length == 0 {
            return;
        }
        length = length.min(self.response.length - position);
        if !self.copies.is_null() && (*self.copies).count < MAX_COPIES {
            let copies = &mut *self.copies;
            copies.list[copies.count as usize] = Copy { from, position, length };
            copies.count += 1;
            return;
        }
        for segment in std::slice::from_raw_parts(self.response.segments, self.response.segment_count as usize) {
            if position >= segment.length {
                position -= segment.length;
                continue;
            }
            let piece = length.min(segment.length - position);
            std::ptr::copy_nonoverlapping(from, segment.data.add(position as usize), piece as usize);
            from = from.add(piece as usize);
            length -= piece;
            position = 0;
        }
    }
}

#[repr(C)]
pub struct Part {
    pub data: *const u8,
    pub length: u32,
    pub position: u32,
    pub request: u64,
    pub wrong: u32,
    pub first: u32,
}

pub const PASS: u16 = 0;
pub const FORWARD: u16 = 1;
pub const DROP: u16 = 2;

#[repr(C)]
pub struct Packet {
    pub data: *mut u8,
    pub length: u32,
    pub headroom: u16,
    pub verdict: u16,
}

pub const BYTES: u32 = 1;
pub const COUNT: u32 = 2;
pub const CHOICE: u32 = 3;
pub const TEXT: u32 = 4;
pub const FILE: u32 = 5;

/// Texts end in a zero byte, as in `c"...".as_ptr()` or `b"...\0".as_ptr().cast()`.
#[repr(C)]
pub struct Option {
    pub name: *const c_char,
    pub fallback: *const c_char,
    pub choices: *const c_char,
    pub help: *const c_char,
    pub option_type: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Value {
    pub name: *const c_char,
    pub value: *const c_char,
}

pub const STEP_TRAFFIC: u32 = 1 << 0;

#[repr(C)]
pub struct Step_Name {
    pub name: *const c_char,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Step {
    pub cycles: u64,
    pub packets: u64,
    pub stamps: u64,
}

pub const MAX_STEPS: u32 = 24;

pub const COUNTER_TOTAL: u32 = 1;
pub const COUNTER_LEVEL: u32 = 2;
pub const COUNTER_ERROR: u32 = 3;

#[repr(C)]
pub struct Counter {
    pub of: *const c_char,
    pub name: *const c_char,
    pub unit: *const c_char,
    pub kind: u32,
    pub reserved: u32,
}

pub const MAX_COUNTERS: u32 = 128;

#[repr(C)]
pub struct Open {
    pub abi: u32,
    pub size: u32,
    pub role: u32,
    pub index: u32,
    pub workload: u32,
    pub request_length: u32,
    pub response_length: u32,
    pub scan: u32,
    pub numa_socket: i32,
    pub option_count: u32,
    pub copies: u32,
    pub reserved: u32,
    pub options: *const Value,
    pub seed: u64,
    pub error: *mut c_char,
    pub error_size: usize,
    pub steps: *const *mut Step,
}

pub const MOVES_DATA: u32 = 1 << 0;
pub const NAMES_COPIES: u32 = 1 << 1;

/// A hook that may be NULL is `None`: the same bytes.
#[repr(C)]
pub struct Handler {
    pub abi: u32,
    pub size: u32,
    pub name: *const c_char,
    pub help: *const c_char,
    pub kind: u32,
    pub flags: u32,
    pub options: *const Option,
    pub open: unsafe extern "C" fn(*const Open, *mut *mut c_void) -> i32,
    pub close: std::option::Option<unsafe extern "C" fn(*mut c_void)>,
    pub message: std::option::Option<unsafe extern "C" fn(*mut c_void, *mut Exchange, u32)>,
    pub request: std::option::Option<unsafe extern "C" fn(*mut c_void, *const Message, u32)>,
    pub packet: std::option::Option<unsafe extern "C" fn(*mut c_void, *mut Packet, u32)>,
    pub steps: std::option::Option<unsafe extern "C" fn(*mut c_void) -> *const Step_Name>,
    pub counters: std::option::Option<unsafe extern "C" fn(*mut c_void) -> *const Counter>,
    pub read_counters: std::option::Option<unsafe extern "C" fn(*mut c_void, *mut u64)>,
    pub check: std::option::Option<unsafe extern "C" fn(*mut c_void, *mut Part, u32)>,
}

// SAFETY: the tables are constants that are never written through their pointers.
unsafe impl Sync for Option {}
unsafe impl Sync for Handler {}

const _: () = assert!(size_of::<Segment>() == 16);
const _: () = assert!(size_of::<Message>() == 16);
const _: () = assert!(size_of::<Copy>() == 16);
const _: () = assert!(size_of::<Copies>() == 72);
const _: () = assert!(size_of::<Exchange>() == 48);
const _: () = assert!(size_of::<Part>() == 32);
const _: () = assert!(size_of::<Packet>() == 16);
const _: () = assert!(size_of::<Option>() == 40);
const _: () = assert!(size_of::<Value>() == 16);
const _: () = assert!(size_of::<Open>() == 88);
const _: () = assert!(size_of::<Handler>() == 112);
const _: () = assert!(size_of::<Step_Name>() == 16);
const _: () = assert!(size_of::<Step>() == 24);
const _: () = assert!(size_of::<Counter>() == 32);
