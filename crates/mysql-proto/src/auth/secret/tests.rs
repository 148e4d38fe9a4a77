use super::*;

#[test]
fn a_secret_is_not_shown() {
    let secret = Secret::new("pa55word");
    assert_eq!(format!("{secret:?}"), "***");
    assert_eq!(format!("{:#?}", Some(secret.clone())), "Some(\n    ***,\n)");
    assert_eq!(secret.expose(), b"pa55word");
    assert!(!secret.is_empty() && Secret::default().is_empty());
}
