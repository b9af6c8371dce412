#![no_main]
//! See `callstack_fuzz::store`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::store(data));
