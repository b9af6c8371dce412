//! A todo list that is written as a whole each time: maps its items to those of the list before.

use crate::text::extract_keywords;

/// The status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

/// An item of a todo list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// The host's id of it, where it gives one. Each list may give the same ids to other items.
    pub id: Option<String>,
    /// The task.
    pub content: String,
    /// Its status.
    pub status: TodoStatus,
}

impl TodoStatus {
    fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled)
    }
}

/// The list as it was written last, each item with a number that it keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Todos {
    pub(super) items: Vec<(u64, Todo)>,
    next: u64,
    /// Whether this is the whole list as the agent wrote it.
    pub(super) whole: bool,
    /// Items that were forgotten, or set aside, while they were in progress.
    pub(super) forgotten: Vec<u64>,
}

impl Todos {
    /// Takes over a new list. An item is the same as one of the last list if its words are the same, or if that one
    /// was not over and has the same id or a similar meaning.
    pub(super) fn write(&mut self, list: &[Todo]) {
        let before = std::mem::take(&mut self.items);
        let mut known: Vec<Option<u64>> = vec![None; list.len()];
        let mut used = vec![false; before.len()];
        let same: [fn(&Todo, &Todo) -> bool; 3] = [
            |was, is| plain(&was.content) == plain(&is.content),
            |was, is| !was.status.is_over() && was.id.is_some() && was.id == is.id,
            |was, is| !was.status.is_over() && about_the_same(&was.content, &is.content),
        ];
        for same in same {
            for (is, number) in list.iter().zip(&mut known).filter(|(_, number)| number.is_none()) {
                let found =
                    before.iter().zip(&used).position(|((_, was), used)| !used && same(was, is));
                if let Some(found) = found {
                    used[found] = true;
                    *number = Some(before[found].0);
                }
            }
        }
        for (item, number) in list.iter().zip(known) {
            let number = number.unwrap_or_else(|| {
                self.next += 1;
                self.next
            });
            self.items.push((number, item.clone()));
        }
    }

    pub(super) fn status_of(&self, number: u64) -> Option<TodoStatus> {
        self.items.iter().find(|(known, _)| *known == number).map(|(_, item)| item.status)
    }

    /// Whether an item and another one are both in progress.
    pub(super) fn is_beside_another(&self, item: Option<u64>) -> bool {
        let in_progress = |it: &&(u64, Todo)| it.1.status == TodoStatus::InProgress;
        let (this, others): (Vec<_>, Vec<_>) =
            self.items.iter().filter(in_progress).partition(|(number, _)| Some(*number) == item);
        !this.is_empty() && !others.is_empty()
    }

    /// The items in progress.
    pub(super) fn in_progress(&self) -> Vec<u64> {
        let in_progress = self.items.iter().filter(|(_, it)| it.status == TodoStatus::InProgress);
        in_progress.map(|(number, _)| *number).collect()
    }

    /// Returns the item that is worked on: the first in progress, preferably one that was not forgotten.
    pub(super) fn first_in_progress(&self) -> Option<(u64, &Todo)> {
        let all = || self.items.iter().filter(|(_, it)| it.status == TodoStatus::InProgress);
        let found = all().find(|(number, _)| !self.forgotten.contains(number));
        found.or_else(|| all().next()).map(|(number, item)| (*number, item))
    }

    /// Returns the open items of the list; none where the list is not known.
    pub(super) fn left(&self) -> Option<Vec<String>> {
        self.whole.then(|| open_items(self.items.iter().map(|(_, item)| item)))
    }
}

/// Returns the open items of a list: those in progress, then those to come.
pub fn open_items<'a>(list: impl IntoIterator<Item = &'a Todo>) -> Vec<String> {
    let list: Vec<&Todo> = list.into_iter().collect();
    let of = |status| list.iter().filter(move |item| item.status == status);
    let open = of(TodoStatus::InProgress).chain(of(TodoStatus::Pending));
    open.map(|item| item.content.trim().to_owned()).collect()
}

fn plain(content: &str) -> String {
    content.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Whether two items share at least half of the significant words of the shorter one.
fn about_the_same(was: &str, is: &str) -> bool {
    let (was, is) = (extract_keywords(was), extract_keywords(is));
    let shared = was.iter().filter(|word| is.contains(word)).count();
    shared > 0 && 2 * shared >= was.len().min(is.len())
}
