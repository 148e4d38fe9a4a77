//! Names that somebody may have meant.

/// The name that differs least, if it does so by a few letters only.
pub(super) fn similar<'n>(name: &str, names: impl Iterator<Item = &'n String>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let most = match name.chars().count() {
        0..=2 => return None,
        3..=5 => 1,
        6..=9 => 2,
        _ => 3,
    };
    let distances = names.map(|other| (distance(&name, &other.to_lowercase(), most), other));
    let near = distances.filter(|(distance, _)| *distance <= most);
    near.min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.as_str())
}

/// Letters to insert, drop, change, or swap with the next one. What is more than `most` may be any number above it.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    // The last two rows of the table of all starts of `a` and `b`.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_wrong_letters_are_forgiven() {
        let names = ["customer", "cup", "order_item", "id"].map(str::to_owned);
        for (typed, meant) in [
            ("custmer", Some("customer")),
            ("CUSTOMERS", Some("customer")),
            ("cutsomer", Some("customer")),
            ("orderitem", Some("order_item")),
            ("cpu", Some("cup")),
            ("ip", None),
            ("invoice", None),
            ("", None),
        ] {
            assert_eq!(similar(typed, names.iter()), meant, "{typed}");
        }
    }
}
