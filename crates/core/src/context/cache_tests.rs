use super::super::ContextMetadata;
use super::*;

fn context(text: &str) -> Arc<RenderedContext> {
    Arc::new(RenderedContext { text: text.to_owned(), metadata: ContextMetadata::default() })
}

fn text(found: Option<Arc<RenderedContext>>) -> Option<String> {
    found.map(|context| context.text.clone())
}

#[test]
fn by_session_and_state() {
    let mut cache = ContextCache::default();
    cache.put("a", 1, 0, context("a1"));
    cache.put("a", 2, 0, context("a2"));
    cache.put("b", 1, 0, context("b1"));
    assert_eq!(text(cache.get("a", 1, 5)).as_deref(), Some("a1"));
    assert_eq!(text(cache.get("b", 1, 5)).as_deref(), Some("b1"));
    assert_eq!(text(cache.get("b", 2, 5)), None);
    assert_eq!(cache.stats(), CacheStats { hits: 2, misses: 1, entries: 3 });
    assert_eq!(cache.invalidate("a"), 2);
    assert_eq!(text(cache.get("a", 1, 5)), None);
    assert_eq!(cache.clear(), 1);
    assert_eq!(cache.stats(), CacheStats { hits: 2, misses: 2, entries: 0 });
}

#[test]
fn good_for_thirty_seconds_from_when_it_was_made() {
    let mut cache = ContextCache::default();
    cache.put("a", 1, 1_000, context("a1"));
    assert!(cache.get("a", 1, 30_999).is_some());
    assert!(cache.get("a", 1, 31_000).is_none());
    cache.put("a", 1, 1_000, context("a1"));
    assert!(cache.get("a", 1, 999).is_none(), "a clock that was set back");
}

#[test]
fn the_least_recently_used_goes() {
    let mut cache = ContextCache::default();
    for hash in 0..50 {
        cache.put("a", hash, 0, context("x"));
    }
    assert!(cache.get("a", 0, 1).is_some());
    cache.put("a", 50, 1, context("x"));
    assert!(cache.get("a", 0, 2).is_some(), "used lately");
    assert!(cache.get("a", 1, 2).is_none(), "the least recently used");
    assert_eq!(cache.stats().entries, 50);
}

#[test]
fn put_again_replaces() {
    let mut cache = ContextCache::new(2, 10);
    cache.put("a", 1, 0, context("old"));
    cache.put("a", 1, 5, context("new"));
    assert_eq!(text(cache.get("a", 1, 12)).as_deref(), Some("new"));
    assert_eq!(cache.stats().entries, 1);
    let mut none = ContextCache::new(0, 10);
    none.put("a", 1, 0, context("x"));
    assert!(none.get("a", 1, 1).is_none());
}

#[test]
fn a_mark_finds_it_and_makes_it_no_younger() {
    let mut cache = ContextCache::default();
    cache.put("a", 1, 0, context("a1"));
    assert_eq!(text(cache.marked("a", 7, 1)), None);
    cache.mark("a", 1, 7);
    assert_eq!(text(cache.marked("b", 7, 1)), None);
    assert_eq!(text(cache.marked("a", 7, 29_999)).as_deref(), Some("a1"));
    cache.mark("a", 1, 8);
    assert_eq!(text(cache.marked("a", 7, 29_999)), None);
    assert_eq!(text(cache.marked("a", 8, 30_000)), None);
    assert_eq!(cache.stats(), CacheStats { hits: 1, misses: 0, entries: 0 });
}
