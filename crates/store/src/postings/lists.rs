//! The format of lists of messages: rows of lists in the order of their terms, each list as the distances from one
//! message to the next.

/// Bytes of a row, so that it fills a page of the file. A longer list has a row of its own.
pub(super) const ROW: usize = 4_040;

/// A list that is being written.
#[derive(Debug, Default)]
pub(super) struct List {
    bytes: Vec<u8>,
    last: u64,
}

impl List {
    /// Adds a message after all others, by its place in the run.
    pub(super) fn push(&mut self, place: u64) {
        write(&mut self.bytes, place.saturating_sub(self.last));
        self.last = place;
    }

    /// Begins another one.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.last = 0;
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The places in a list, ascending.
pub(super) fn places(mut list: &[u8]) -> impl Iterator<Item = u64> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let step;
        (step, list) = read(list)?;
        place += step;
        Some(place)
    })
}

/// Keeps those of some ascending places that are in a list.
pub(super) fn keep(list: &[u8], kept: &mut Vec<u64>) {
    let mut places = places(list).peekable();
    kept.retain(|wanted| {
        while places.next_if(|place| place < wanted).is_some() {}
        places.peek() == Some(wanted)
    });
}

/// A row that is being written.
#[derive(Debug, Default)]
pub(super) struct Row {
    first: u32,
    last: u32,
    bytes: Vec<u8>,
}

impl Row {
    /// Adds the list of a term that comes after all others; returns the row that has to be written before, if there
    /// is no room left in it.
    pub(super) fn put(&mut self, term: u32, list: &[u8]) -> Option<Self> {
        let is_full = !self.bytes.is_empty() && self.bytes.len() + list.len() + 8 > ROW;
        let full = is_full.then(|| std::mem::take(self));
        if self.bytes.is_empty() {
            (self.first, self.last) = (term, term);
        }
        write(&mut self.bytes, u64::from(term.saturating_sub(self.last)));
        write(&mut self.bytes, list.len() as u64);
        self.bytes.extend_from_slice(list);
        self.last = term;
        full
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Its first term.
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Its last term.
    pub(super) fn last(&self) -> u32 {
        self.last
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Returns the next list in the rest of a row after the term `before`, which for the first list is the row's first
/// term: the list's term, the list, and the rest.
pub(super) fn next(row: &[u8], before: u32) -> Option<(u32, &[u8], &[u8])> {
    let (step, row) = read(row)?;
    let (length, row) = read(row)?;
    let (list, rest) = row.split_at_checked(usize::try_from(length).ok()?)?;
    Some((before.checked_add(u32::try_from(step).ok()?)?, list, rest))
}

/// The lists of a row, with their terms.
pub(super) fn lists(first: u32, mut row: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut term = first;
    std::iter::from_fn(move || {
        let list;
        (term, list, row) = next(row, term)?;
        Some((term, list))
    })
}

/// Writes a number with seven bits in each byte, the lowest first; all but the last byte have the eighth bit set.
fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(at + 1..).unwrap_or_default()));
        }
    }
    None
}

#[cfg(test)]
#[path = "lists_tests.rs"]
mod tests;
