#![no_main]
//! See `callstack_fuzz::evidence`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::evidence(data));
