#![no_main]
//! See `callstack_fuzz::protocol`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::protocol(data));
