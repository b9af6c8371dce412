#![no_main]
//! See `callstack_fuzz::masking`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::masking(data));
