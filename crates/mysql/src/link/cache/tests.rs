use super::StatementCache;

fn text(number: usize) -> Vec<u8> {
    format!("SELECT {number} FROM a_table_whose_name_is_longer_than_eight").into_bytes()
}

/// What is in it, from the newest to the oldest, by both ways through the links.
fn order(cache: &StatementCache<usize>) -> Vec<usize> {
    let entries = |start: u32, next: fn(&super::Entry<usize>) -> u32| {
        let mut numbers = Vec::new();
        let mut at = start;
        while let Some(entry) = cache.entries.get(at as usize) {
            numbers.push(entry.statement);
            at = next(entry);
        }
        numbers
    };
    let forward = entries(cache.newest, |entry| entry.older);
    let mut back = entries(cache.oldest, |entry| entry.newer);
    back.reverse();
    assert_eq!(forward, back);
    assert_eq!(
        (forward.len(), cache.index.len()),
        (cache.entries.len(), cache.entries.len())
    );
    forward
}

#[test]
fn the_least_recently_used_statement_makes_room() {
    let mut cache = StatementCache::new(3);
    for number in 0..3 {
        cache.insert(&text(number), number).unwrap();
    }
    assert_eq!(order(&cache), [2, 1, 0]);
    assert_eq!(cache.find(&text(0)), Some(&0));
    assert_eq!(order(&cache), [0, 2, 1]);
    cache.insert(&text(3), 3).unwrap();
    assert_eq!(order(&cache), [3, 0, 2]);
    assert_eq!(cache.find(&text(1)), None);
    cache.remove(&text(0));
    assert_eq!(order(&cache), [3, 2]);
    cache.insert(&text(2), 20).unwrap();
    assert_eq!(order(&cache), [20, 3]);
    cache.clear();
    assert!(order(&cache).is_empty());
}

#[test]
fn it_behaves_as_a_list_would() {
    let mut random = 1_u64;
    let mut below = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % bound as u64).unwrap()
    };
    for capacity in [1, 2, 7, 32] {
        let mut cache = StatementCache::new(capacity);
        let mut list: Vec<usize> = Vec::new();
        for _ in 0..5_000 {
            let number = below(2 * capacity + 1);
            let place = list.iter().position(|&found| found == number);
            match below(8) {
                0 => {
                    cache.remove(&text(number));
                    list.retain(|&found| found != number);
                }
                1..4 => {
                    cache.insert(&text(number), number).unwrap();
                    list.retain(|&found| found != number);
                    list.insert(0, number);
                    list.truncate(capacity);
                }
                _ => {
                    assert_eq!(cache.find(&text(number)).copied(), place.map(|_| number));
                    if let Some(place) = place {
                        let found = list.remove(place);
                        list.insert(0, found);
                    }
                }
            }
            assert_eq!(order(&cache), list);
        }
    }
}

#[test]
fn without_a_capacity_or_for_a_long_text_nothing_is_kept() {
    let mut cache = StatementCache::new(0);
    cache.insert(b"DO 1", 1).unwrap();
    assert_eq!(cache.find(b"DO 1"), None);
    let mut cache = StatementCache::new(1);
    let long = vec![b'x'; super::MAX_TEXT + 1];
    cache.insert(&long, 1).unwrap();
    assert_eq!(cache.find(&long), None);
    cache.insert(&long[1..], 1).unwrap();
    assert_eq!(cache.find(&long[1..]), Some(&1));
}
