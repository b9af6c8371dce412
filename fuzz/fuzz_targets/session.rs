#![no_main]
//! See `callstack_fuzz::session`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::session(data));
