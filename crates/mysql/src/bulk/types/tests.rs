use super::*;
use crate::params;

const INT: ParameterType = ParameterType::new(8, false);
const UINT: ParameterType = ParameterType::new(8, true);
const TEXT: ParameterType = ParameterType::new(0xFD, false);

#[test]
fn integers_of_both_signs_share_a_type_as_long_as_both_have_them() {
    let mut ty = None;
    assert!(agree(&mut ty, &Param::Null) && agree(&mut ty, &Param::Default));
    assert_eq!(ty, None, "what is no value decides nothing");
    assert!(agree(&mut ty, &Param::Int(-1)));
    assert!(agree(&mut ty, &Param::UInt(i64::MAX as u64)));
    assert!(!agree(&mut ty, &Param::UInt(1 << 63)));
    assert!(!agree(&mut ty, &Param::Str("1")) && agree(&mut ty, &Param::Null));
    let mut ty = None;
    assert!(agree(&mut ty, &Param::UInt(u64::MAX)) && agree(&mut ty, &Param::Int(5)));
    assert!(!agree(&mut ty, &Param::Int(-5)));
}

#[test]
fn rows_of_the_same_types_have_them_once() {
    let (mut types, mut sent) = (Types::new(2), Vec::new());
    types.add(&params![None::<i8>, "a"], 0);
    types.add(&params![1, None::<&str>], 1);
    assert_eq!(types.for_execution(&mut sent), (&[INT, TEXT][..], false));
    types.clear();
    types.add(&params![1, None::<&str>], 0);
    assert_eq!(
        types.for_execution(&mut sent),
        (&[INT, TEXT][..], true),
        "a column of NULLs is no reason to send the types again"
    );
    types.clear();
    types.add(&params![u64::MAX, "a"], 0);
    assert_eq!(types.for_execution(&mut sent), (&[UINT, TEXT][..], false));
}

#[test]
fn rows_of_other_types_have_their_own() {
    let (mut types, mut sent) = (Types::new(2), Vec::new());
    types.add(&params![1, None::<i8>], 0);
    types.add(&params!["a", None::<i8>], 1);
    types.add(&params![None::<i8>, 2], 2);
    let each = [INT, ANY, TEXT, ANY, ANY, INT];
    assert_eq!(types.for_execution(&mut sent), (&each[..], false));
    assert_eq!(types.for_execution(&mut sent), (&each[..], true));
    types.truncate(2);
    types.add(&params![1, 1], 1);
    assert_eq!(
        types.for_execution(&mut sent),
        (&[INT, ANY, INT, INT][..], false)
    );
    types.clear();
    types.add(&params![1, 1], 0);
    assert_eq!(types.for_execution(&mut sent), (&[INT, INT][..], false));
}
