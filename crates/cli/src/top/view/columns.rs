//! Which columns fit, and how wide they are.

use unicode_width::UnicodeWidthStr;

use crate::top::table::{Column, Order};

/// Between two columns: two blanks, unless that costs a column that people want.
pub(super) fn gap(room: usize) -> usize {
    match room < ROOMY {
        true => 1,
        false => 2,
    }
}

const ROOMY: usize = 100;

/// The widest that a text is at first, and that one in the first column is; it gets what is left.
const TEXT: usize = 24;
const FIRST: usize = 28;

/// Numbers are at least this wide, so that columns stay where they are from one refresh to the next.
const NUMBER: usize = 6;

/// A column that is shown: its number, and its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) column: usize,
    pub(super) width: usize,
}

/// The columns from left to right. The first one is always there, and so is the one that rows are sorted by. `texts` are those of visible rows.
pub(super) fn place(
    columns: &[Column],
    texts: &[Vec<String>],
    order: Option<Order>,
    room: usize,
) -> Vec<Placed> {
    let wanted: Vec<usize> = (0..columns.len())
        .map(|at| wanted(columns, texts, order, at))
        .collect();
    let (gap, first_most) = (gap(room), FIRST.max(room / 3));
    let narrow = |at: usize| {
        let wanted = wanted.get(at).copied().unwrap_or_default();
        let is_number = columns.get(at).is_some_and(|column| column.is_number);
        match (at, is_number) {
            (_, true) => wanted.max(NUMBER),
            (0, false) => wanted.min(first_most),
            (_, false) => wanted.min(TEXT),
        }
    };
    let sorted = order.map_or(0, |order| order.column);
    let mut start = 1;
    let widths = |from: usize, to: usize| (from..=to).map(|at| narrow(at) + gap).sum::<usize>();
    while start < sorted && narrow(0) + widths(start, sorted) > room {
        start += 1;
    }
    let mut left = room.saturating_sub(narrow(0));
    let mut placed = vec![Placed {
        column: 0,
        width: narrow(0).min(room),
    }];
    for column in start..columns.len() {
        let width = narrow(column);
        if left < width + gap {
            break;
        }
        left -= width + gap;
        placed.push(Placed { column, width });
    }
    // What is left is for texts that were cut, the first column before the others.
    for one in &mut placed {
        let more = wanted.get(one.column).copied().unwrap_or_default();
        let more = more.saturating_sub(one.width).min(left);
        one.width += more;
        left -= more;
    }
    placed
}

fn wanted(columns: &[Column], texts: &[Vec<String>], order: Option<Order>, at: usize) -> usize {
    let is_sorted = order.is_some_and(|order| order.column == at);
    let name = columns.get(at).map_or(0, |column| column.name.width());
    let texts = texts.iter().filter_map(|row| row.get(at));
    let widest = texts.map(|text| text.width()).max().unwrap_or_default();
    widest.max(name + usize::from(is_sorted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::top::table::{number, text};

    const COLUMNS: [Column; 5] = [
        text("Name", "Name"),
        number("A", "A"),
        number("B", "B"),
        text("Error", "Error"),
        number("C", "C"),
    ];

    fn placed(room: usize, sorted: Option<usize>) -> Vec<(usize, usize)> {
        let row = ["db1", "1", "12,345,678", &"e".repeat(60), "3"].map(str::to_owned);
        let order = sorted.map(|column| Order::by(&COLUMNS, column));
        let placed = place(&COLUMNS, &[row.to_vec()], order, room);
        placed.iter().map(|one| (one.column, one.width)).collect()
    }

    #[test]
    fn columns_from_the_left_fit_and_texts_get_what_is_left() {
        assert_eq!(placed(80, None), [(0, 4), (1, 6), (2, 10), (3, 50), (4, 6)]);
        assert_eq!(
            placed(200, None),
            [(0, 4), (1, 6), (2, 10), (3, 60), (4, 6)]
        );
        assert_eq!(placed(22, None), [(0, 4), (1, 6), (2, 10)]);
        assert_eq!(placed(21, None), [(0, 4), (1, 6)]);
        assert_eq!(placed(2, None), [(0, 2)]);
        assert_eq!(placed(0, None), [(0, 0)]);
    }

    #[test]
    fn the_column_that_rows_are_sorted_by_is_visible() {
        assert_eq!(placed(24, Some(4)), [(0, 4), (4, 6)]);
        assert_eq!(placed(22, Some(2)), [(0, 4), (1, 6), (2, 10)]);
        assert_eq!(placed(4, Some(4)), [(0, 4)]);
    }
}
