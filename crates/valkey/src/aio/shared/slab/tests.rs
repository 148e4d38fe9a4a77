use std::collections::VecDeque;

use super::*;

/// What a list holds, from both ends.
fn shown<const BY: usize>(list: &List<BY>, slab: &mut Slab<u32>) -> Vec<u32> {
    let mut shown = Vec::new();
    let mut next = list.first();
    while let Some(index) = next {
        shown.push(*slab.get(index).unwrap());
        next = list.behind(slab, index);
    }
    assert_eq!(shown.len(), list.len());
    assert_eq!(
        list.last().map(|index| *slab.get(index).unwrap()),
        shown.last().copied()
    );
    shown
}

#[test]
fn a_freed_slot_is_the_next_one_taken() {
    let mut slab = Slab::new();
    let first = slab.insert(1).unwrap();
    let second = slab.insert(2).unwrap();
    assert_ne!(first, second);
    slab.remove(first);
    slab.remove(first); // it is free already
    assert_eq!((slab.get(first), slab.len()), (None, 1));
    assert_eq!(slab.insert(3).unwrap(), first);
    assert_eq!((slab.get(first), slab.get(second)), (Some(&3), Some(&2)));
}

#[test]
fn many_slots_are_given_back_once_all_are_free() {
    let mut slab = Slab::new();
    let taken: Vec<_> = (0..1000).map(|n| slab.insert(n).unwrap()).collect();
    for &index in &taken {
        slab.remove(index);
    }
    assert_eq!((slab.len(), slab.slots.capacity()), (0, 0));
    for n in 0..KEPT / 2 {
        let index = slab.insert(n).unwrap();
        slab.remove(index);
    }
    assert!(slab.slots.capacity() > 0, "few are kept");
}

#[test]
fn a_list_is_left_at_its_ends_and_in_its_middle() {
    let mut slab = Slab::new();
    let mut list = List::<0>::new();
    let taken: Vec<_> = (0..5).map(|n| slab.insert(n).unwrap()).collect();
    for &index in &taken {
        list.push_back(&mut slab, index);
    }
    list.remove(&mut slab, taken[2]);
    assert_eq!(shown(&list, &mut slab), [0, 1, 3, 4]);
    list.remove(&mut slab, taken[0]);
    list.remove(&mut slab, taken[4]);
    assert_eq!(shown(&list, &mut slab), [1, 3]);
    list.insert_before(&mut slab, taken[0], Some(taken[1]));
    list.insert_before(&mut slab, taken[2], Some(taken[3]));
    list.insert_before(&mut slab, taken[4], None);
    assert_eq!(shown(&list, &mut slab), [0, 1, 2, 3, 4]);
}

#[test]
fn a_slot_is_in_two_lists_at_once() {
    let mut slab = Slab::new();
    let (mut one, mut two) = (List::<0>::new(), List::<1>::new());
    for n in 0..4 {
        let index = slab.insert(n).unwrap();
        one.push_back(&mut slab, index);
        let first = two.first();
        two.insert_before(&mut slab, index, first);
    }
    let first = one.first().unwrap();
    one.remove(&mut slab, first);
    assert_eq!(shown(&one, &mut slab), [1, 2, 3]);
    assert_eq!(shown(&two, &mut slab), [3, 2, 1, 0]);
}

#[test]
fn a_list_does_what_a_deque_does_whatever_the_order_of_acts() {
    let mut slab = Slab::new();
    let mut list = List::<1>::new();
    let mut model: VecDeque<Index> = VecDeque::new();
    // Every third act removes from somewhere, others insert somewhere: reproducible, and every place is met.
    for step in 0..2000_usize {
        let place = (step * 7919) % (model.len() + 1);
        if step % 3 == 2 && place < model.len() {
            let index = model.remove(place).unwrap();
            list.remove(&mut slab, index);
            slab.remove(index);
        } else {
            let index = slab.insert(u32::try_from(step).unwrap()).unwrap();
            list.insert_before(&mut slab, index, model.get(place).copied());
            model.insert(place, index);
        }
    }
    let expected: Vec<u32> = model.iter().map(|&i| *slab.get(i).unwrap()).collect();
    assert_eq!(shown(&list, &mut slab), expected);
}
