use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Lists = BTreeMap<u32, BTreeSet<u64>>;

fn list_of(places: &BTreeSet<u64>) -> Vec<u8> {
    let mut list = List::default();
    for place in places {
        list.push(*place);
    }
    list.bytes().to_vec()
}

fn rows_of(all: &Lists) -> Vec<Row> {
    let mut row = Row::default();
    let mut rows: Vec<_> =
        all.iter().filter_map(|(term, places)| row.put(*term, &list_of(places))).collect();
    rows.push(row);
    rows
}

fn all_lists() -> impl Strategy<Value = Lists> {
    let place = prop_oneof![0..300_u64, 0..1_u64 << 40];
    let places = prop_oneof![
        9 => prop::collection::btree_set(place, 1..20),
        1 => prop::collection::btree_set(0..1_u64 << 20, 1_500..2_000),
    ];
    prop::collection::btree_map(prop_oneof![0..1_000_u32, any::<u32>()], places, 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_is_read_and_rows_fit_their_pages(all in all_lists()) {
        let mut read = Lists::new();
        for row in rows_of(&all) {
            let of_row: Vec<_> = lists(row.first(), row.bytes()).collect();
            prop_assert!(row.bytes().len() <= ROW || of_row.len() == 1);
            prop_assert_eq!(of_row.last().map(|(term, _)| *term), Some(row.last()));
            read.extend(of_row.into_iter().map(|(term, list)| (term, places(list).collect())));
        }
        prop_assert_eq!(read, all);
    }

    #[test]
    fn what_is_in_both_is_kept(
        list in prop::collection::btree_set(0..500_u64, 0..80),
        other in prop::collection::btree_set(0..500_u64, 0..80),
    ) {
        let mut kept: Vec<u64> = other.iter().copied().collect();
        keep(&list_of(&list), &mut kept);
        prop_assert_eq!(kept, list.intersection(&other).copied().collect::<Vec<_>>());
    }

    #[test]
    fn of_a_row_that_is_damaged_is_read_what_can_be(
        all in all_lists(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        for row in rows_of(&all) {
            let mut bytes = row.bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            for (_, list) in lists(row.first(), &bytes).chain(lists(row.first(), &row.bytes()[..at])) {
                places(list).for_each(drop);
            }
        }
    }
}
