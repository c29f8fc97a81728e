//! `windtunnel/copier.h`, ABI 1, in Rust: the same names without `wt_`, the same order, the same sizes.
//! The header documents each field. The sizes are asserted below; Windtunnel's tests compare them with the header.
#![allow(dead_code, non_camel_case_types)] // a copier uses only a part of the header

use std::ffi::c_void;
use std::mem::size_of;
use std::os::raw::c_char;

pub const COPIER_ABI: u32 = 1;

pub const COPIER_CORE: u32 = 1;
pub const COPIER_HARDWARE: u32 = 2;

#[repr(C)]
pub struct Copy_Piece {
    pub to: *mut u8,
    pub from: *const u8,
    pub bytes: u32,
    pub reserved: u32,
}

pub const COPY_WELL: u8 = 0;
pub const COPY_FAILED: u8 = 1;

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

#[repr(C)]
pub struct Copier_Open {
    pub abi: u32,
    pub size: u32,
    pub application: u32,
    pub depth: u32,
    pub option_count: u32,
    pub reserved: u32,
    pub options: *const Value,
    pub seed: u64,
    pub error: *mut c_char,
    pub error_size: usize,
}

/// A hook that may be NULL is `None`: the same bytes.
#[repr(C)]
pub struct Copier {
    pub abi: u32,
    pub size: u32,
    pub name: *const c_char,
    pub help: *const c_char,
    pub kind: u32,
    pub most_depth: u32,
    pub options: *const Option,
    pub open: unsafe extern "C" fn(*const Copier_Open, *mut *mut c_void) -> i32,
    pub close: std::option::Option<unsafe extern "C" fn(*mut c_void)>,
    pub submit: unsafe extern "C" fn(*mut c_void, *const Copy_Piece, u32) -> u32,
    pub completed: std::option::Option<unsafe extern "C" fn(*mut c_void, *mut u8, u32) -> u32>,
}

// SAFETY: the tables are constants that are never written through their pointers.
unsafe impl Sync for Option {}
unsafe impl Sync for Copier {}

const _: () = assert!(size_of::<Copy_Piece>() == 24);
const _: () = assert!(size_of::<Option>() == 40);
const _: () = assert!(size_of::<Value>() == 16);
const _: () = assert!(size_of::<Copier_Open>() == 56);
const _: () = assert!(size_of::<Copier>() == 72);
