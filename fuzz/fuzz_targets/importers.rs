#![no_main]
//! See `callstack_fuzz::importers`.

libfuzzer_sys::fuzz_target!(|data: &[u8]| callstack_fuzz::importers(data));
