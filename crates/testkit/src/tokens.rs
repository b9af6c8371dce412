//! Exact token counts, for the tests of budgets.

/// Returns the number of tokens of a text in the encoding `o200k_base`. The first call takes about 0.2 s.
pub fn count_o200k(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().count_ordinary(text)
}

#[cfg(test)]
mod tests {
    use super::count_o200k;

    #[test]
    fn known_texts_have_their_known_counts() {
        assert_eq!(count_o200k(""), 0);
        assert_eq!(count_o200k("hello world"), 2);
        assert_eq!(count_o200k("<|endoftext|>"), 7, "special tokens are plain text here");
    }
}
