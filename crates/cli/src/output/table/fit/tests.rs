use super::*;

#[test]
fn columns_that_fit_are_left_as_they_are() {
    assert_eq!(fit(&[3, 10, 7], &[true, false, false], 20), [3, 10, 7]);
    assert_eq!(fit(&[], &[], 0), [0; 0]);
}

#[test]
fn the_widest_texts_are_cut_to_one_width_and_numbers_stay() {
    assert_eq!(
        fit(&[12, 5, 100, 80], &[true, false, false, false], 57),
        [12, 5, 20, 20]
    );
}

#[test]
fn numbers_are_cut_where_texts_have_nothing_left_to_give() {
    assert_eq!(fit(&[30, 30, 5], &[true, true, false], 35), [15, 15, 5]);
    let numeric = [true, false, false];
    assert_eq!(fit(&[6, 10, 10], &numeric, 13), [4, 4, 4]);
    assert_eq!(fit(&[6, 10, 10], &numeric, 14), [6, 4, 4]);
}

#[test]
fn more_columns_than_fit_keep_the_least_width() {
    assert_eq!(fit(&[9, 9, 2, 9], &[false; 4], 6), [4, 4, 2, 4]);
}
