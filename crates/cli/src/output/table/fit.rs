//! Widths that fit a terminal.

/// Columns are never made narrower than this: a table of more columns than fit is wider than the terminal.
pub(super) const MIN_WIDTH: usize = 4;

/// Widths whose sum is within `room`, where that can be. Numbers keep theirs as long as texts can give; the widest are
/// cut first, to an equal width.
pub(super) fn fit(natural: &[usize], numeric: &[bool], room: usize) -> Vec<usize> {
    let numbers: usize = natural
        .iter()
        .zip(numeric)
        .filter(|(_, is)| **is)
        .map(|(width, _)| width)
        .sum();
    let texts = numeric.iter().filter(|is| !**is).count();
    let numbers_stay = numbers + texts * MIN_WIDTH <= room;
    let limit = if numbers_stay {
        let texts = natural
            .iter()
            .zip(numeric)
            .filter(|(_, is)| !**is)
            .map(|(width, _)| *width);
        cap(texts.collect(), room - numbers)
    } else {
        cap(natural.to_vec(), room)
    };
    let limited = |(&width, &is_number): (&usize, &bool)| {
        if is_number && numbers_stay {
            width
        } else {
            width.min(limit)
        }
    };
    natural.iter().zip(numeric).map(limited).collect()
}

/// The largest width to which all can be limited so that their sum is within `room`.
fn cap(mut widths: Vec<usize>, mut room: usize) -> usize {
    widths.sort_unstable();
    let mut left = widths.len();
    for width in widths {
        let share = room / left;
        if width > share {
            return share.max(MIN_WIDTH);
        }
        room -= width;
        left -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests;
