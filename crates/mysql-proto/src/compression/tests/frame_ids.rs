use super::*;

const SEQUENCE: fn(u8, u8) -> Result<(), CompressionError> =
    |expected, found| Err(CompressionError::Sequence { expected, found });

#[test]
fn a_reply_goes_on_from_the_commands_frames_and_the_next_command_begins_anew() {
    // Towards a server.
    let mut ids = FrameIds::new();
    for _ in 0..2 {
        ids.command(true, true).unwrap();
        ids.begin(true);
        assert_eq!([ids.to_server(), ids.to_server()], [0, 1]);
        ids.from_server(2, Due::Start).unwrap();
        ids.from_server(3, Due::Reply).unwrap();
        assert_eq!(ids.from_server(5, Due::Reply), SEQUENCE(4, 5));
        ids.done();
    }
    // Towards a client.
    let mut ids = FrameIds::new();
    for _ in 0..2 {
        ids.from_client(0, true).unwrap();
        ids.command(true, true).unwrap();
        ids.begin_heard(true);
        ids.from_client(1, false).unwrap();
        assert_eq!(ids.from_client(1, false), SEQUENCE(2, 1));
        assert_eq!([ids.to_client(), ids.to_client()], [2, 3]);
        ids.done();
        assert_eq!(ids.from_client(4, true), SEQUENCE(0, 4));
    }
}

#[test]
fn ids_wrap() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    for expected in (0..=255).chain(0..=255) {
        assert_eq!(ids.to_server(), expected);
    }
    ids.from_server(0, Due::Start).unwrap();
}

#[test]
fn a_file_goes_on_from_what_the_server_said() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    ids.from_server(1, Due::Start).unwrap(); // asks for the file
    assert_eq!([ids.to_server(), ids.to_server()], [2, 3]);
    ids.from_server(4, Due::Reply).unwrap();

    let mut ids = FrameIds::new();
    ids.from_client(0, true).unwrap();
    ids.command(true, true).unwrap();
    ids.begin_heard(true);
    assert_eq!(ids.to_client(), 1);
    ids.from_client(2, false).unwrap();
    ids.from_client(3, false).unwrap();
    assert_eq!(ids.to_client(), 4);
}

#[test]
fn each_of_the_commands_that_are_sent_ahead_has_its_own_count() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    // One of two frames, of which the second is sent when its turn has come.
    ids.command(true, false).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    ids.from_server(1, Due::Start).unwrap();
    ids.from_server(2, Due::Reply).unwrap();
    ids.done();
    assert_eq!(ids.to_server(), 1);
    ids.from_server(2, Due::Start).unwrap();
    ids.done();

    let mut ids = FrameIds::new();
    for is_next in [true, false, false] {
        ids.from_client(0, true).unwrap();
        ids.command(true, is_next).unwrap();
        ids.begin_heard(true);
    }
    ids.from_client(1, false).unwrap();
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.push([ids.to_client(), ids.to_client()]);
        ids.done();
    }
    assert_eq!(replies, [[1, 2], [1, 2], [2, 3]]);
}

#[test]
fn a_long_list_of_commands_ahead_is_kept_to_its_end() {
    let mut ids = FrameIds::new();
    for command in 0..40 {
        ids.command(true, command == 0).unwrap();
        ids.begin(true);
        assert_eq!([ids.to_server(), ids.to_server()], [0, 1]);
    }
    for _ in 0..40 {
        assert_eq!(ids.to_client(), 2);
        ids.done();
    }
}

#[test]
fn a_command_is_counted_before_the_one_in_front_of_it_is_sent() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    ids.command(true, false).unwrap();
    ids.begin(true);
    // Its frames continue while the next one is known already.
    assert_eq!(ids.to_server(), 0);
    ids.command(true, false).unwrap();
    assert_eq!([ids.to_server(), ids.to_server()], [1, 2]);
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    for first in [1, 3, 1] {
        ids.from_server(first, Due::Start).unwrap();
        ids.done();
    }
}

#[test]
fn commands_that_nobody_answers_leave_the_reply_under_way_alone() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    ids.command(false, false).unwrap(); // COM_STMT_SEND_LONG_DATA of two frames
    ids.begin(false);
    assert_eq!([ids.to_server(), ids.to_server()], [0, 1]);
    ids.from_server(1, Due::Start).unwrap();
    ids.done();

    let mut ids = FrameIds::new();
    ids.from_client(0, true).unwrap();
    ids.command(true, true).unwrap();
    ids.begin_heard(true);
    ids.from_client(0, true).unwrap();
    ids.command(false, false).unwrap();
    ids.begin_heard(false);
    ids.from_client(1, false).unwrap();
    assert_eq!(ids.to_client(), 1);
}

#[test]
fn a_killed_servers_last_words_may_be_one_behind_and_a_farewell_anything() {
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    assert_eq!(ids.from_server(2, Due::Start), SEQUENCE(1, 2));
    ids.from_server(0, Due::Start).unwrap();
    ids.done();
    ids.from_server(77, Due::Nothing).unwrap();
}

#[test]
fn a_header_that_is_cut_over_frames_belongs_to_one_command() {
    let mut ids = FrameIds::new();
    ids.from_client(0, true).unwrap(); // three bytes: what it is, is not known yet
    ids.from_client(1, false).unwrap();
    ids.command(true, true).unwrap();
    ids.begin_heard(true);
    assert_eq!(ids.to_client(), 2);
}

#[test]
fn a_frame_of_nothing_counts_for_the_command_behind_it() {
    let mut ids = FrameIds::new();
    for _ in 0..2 {
        ids.from_client(0, true).unwrap();
        ids.from_client(1, true).unwrap();
        assert_eq!(ids.from_client(3, true), SEQUENCE(0, 3));
        ids.command(true, true).unwrap();
        ids.begin_heard(true);
        assert_eq!(ids.to_client(), 2);
        ids.done();
    }
}

#[test]
fn a_command_that_the_relay_answers_itself_counts() {
    let mut ids = FrameIds::new();
    ids.from_client(0, true).unwrap();
    ids.from_client(1, false).unwrap();
    ids.answer();
    assert_eq!(ids.to_client(), 2);
    ids.from_client(0, true).unwrap();
}

#[test]
fn a_binary_log_counts_from_1_again_behind_an_event_that_is_acknowledged() {
    // MariaDB 10.11 to a replica with slave_compressed_protocol and rpl_semi_sync_slave_enabled.
    let mut ids = FrameIds::new();
    ids.command(true, true).unwrap();
    ids.begin(true);
    assert_eq!(ids.to_server(), 0);
    for sequence in [1, 2, 1, 2, 3, 1, 1] {
        ids.from_server(sequence, Due::Log).unwrap();
        // The acknowledgement is a count of its own, and leaves the server's alone.
        ids.begin(false);
        assert_eq!(ids.to_server(), 0);
    }
    assert!(ids.from_server(3, Due::Log).is_err());
    assert!(ids.from_server(0, Due::Log).is_err());
}
