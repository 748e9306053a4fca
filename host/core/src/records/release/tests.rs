use super::*;
use pivot_worlds::mutants;
use serde_json::json;

fn list() -> ReleaseList {
    let kind = |group: &str, kind: &str| {
        Arc::new(ReleaseKind {
            group_kind: GroupKind::new(group, kind),
            version: "v1".into(),
            plural: format!("{}s", kind.to_lowercase()),
        })
    };
    let entry = |kind: Arc<ReleaseKind>, namespace: Option<&str>, name: &str, after: Vec<usize>| Entry {
        key: Key::new(kind.group_kind.clone(), namespace, name),
        digest: content_digest(&kind.group_kind, &json!({"spec": name}), false),
        kind,
        uid: Uid(format!("uid-{name}")),
        resource_version: "12".into(),
        fate: if namespace.is_some() { ReleaseFate::Delete } else { ReleaseFate::Keep },
        with_status: name == "b",
        pausing: if name == "b" { Pausing::Held } else { Pausing::Paused },
        used: name == "c",
        brought: name == "c",
        elsewhere: name == "c",
        no_finalizers: name == "a",
        last: name == "b",
        after,
    };
    ReleaseList {
        entries: vec![
            entry(kind("", "Secret"), Some("n"), "a", vec![]),
            entry(kind("x.io", "Machine"), Some("n"), "b", vec![0]),
            entry(kind("x.io", "Identity"), None, "c", vec![0, 1]),
        ],
    }
}

#[test]
fn a_list_reads_back_from_any_chunking() {
    for limit in [1, 80, 1_000_000] {
        let chunks = list().to_chunks(limit);
        assert_eq!(ReleaseList::parse(chunks.iter().map(String::as_str)).unwrap(), list(), "{limit}");
    }
    assert_eq!(list().to_chunks(1_000_000).len(), 1);
}

#[test]
fn lists_of_other_formats_are_refused() {
    let text = list().to_chunks(1_000_000).concat();
    for other in [2, 4] {
        let other_text = text.replacen("v 3\n", &format!("v {other}\n"), 1);
        assert_eq!(ReleaseList::parse([other_text.as_str()]), Err(ListError::Format(other)));
    }
    let without = text.replacen("v 3\n", "", 1);
    assert_eq!(ReleaseList::parse([without.as_str()]), Err(ListError::Damaged(1)));
}

#[test]
fn only_objects_of_the_core_group_are_deleted_as_they_are() {
    let mut list = list();
    let as_it_is =
        |list: &ReleaseList| list.entries.iter().map(Entry::can_be_deleted_directly).collect::<Vec<_>>();
    assert_eq!(as_it_is(&list), [true, false, false]);
    list.entries.iter_mut().for_each(|entry| entry.no_finalizers = true);
    assert_eq!(as_it_is(&list), [true, false, false]);
    list.entries[0].last = true;
    assert_eq!(as_it_is(&list), [false; 3], "it has to forget its owners");
}

#[test]
fn a_damaged_line_is_an_error() {
    for (text, line) in [
        ("nonsense", 1),
        ("o 0 n a u 1 d - - -", 1),
        ("v 3\nk v1 x", 2),
        ("v 3\nk /v1 secrets Secret\no 0 n a u 1 ? - - -", 3),
        ("v 3\nk /v1 secrets Secret\no 0 n a u 1 d - - -\n?", 4),
    ] {
        assert_eq!(ReleaseList::parse([text]), Err(ListError::Damaged(line)), "{text}");
    }
}

/// An empty UID or version makes a write unconditional.
#[test]
fn an_entry_without_its_uid_or_version_is_damaged() {
    let kind = "v 3\nk /v1 secrets Secret";
    assert!(ReleaseList::parse([format!("{kind}\no 0 n a u 1 d - - -").as_str()]).is_ok());
    for entry in ["o 0 n a  1 d - - -", "o 0 n a u  d - - -", "o 0 n  u 1 d - - -"] {
        let text = format!("{kind}\n{entry}");
        assert_eq!(ReleaseList::parse([text.as_str()]), Err(ListError::Damaged(3)), "{entry}");
    }
}

/// Anyone with permission to write ConfigMaps can write a list.
#[test]
fn a_list_that_no_move_wrote_is_damaged() {
    let kinds = "v 3\nk /v1 secrets Secret\nk x.io/v1 machines Machine";
    let good = "o 0 n a u 1 d - - -";
    let read = |entry: &str| ReleaseList::parse([format!("{kinds}\n{good}\n{entry}\n").as_str()]);
    assert_eq!(read("o 1 n b v 1 d 0123456789abcdef0123456789ABCDEF shun 0").unwrap().entries.len(), 2);
    let digest = "0".repeat(31);
    for entry in [
        // Invalid predecessors: itself, a later entry, a missing one, the same twice, not a number.
        "o 1 n b v 1 d - - 1",
        "o 1 n b v 1 d - - 2",
        "o 1 n b v 1 d - - 18446744073709551615",
        "o 1 n b v 1 d - - 18446744073709551616",
        "o 1 n b v 1 d - - 0,0",
        "o 1 n b v 1 d - - -1",
        "o 1 n b v 1 d - - ,",
        // An entry that exists already.
        good,
        "o 0 n a v 1 d - - -",
        "o 0 n b u 1 d - - -",
        // Unknown values: a kind, a fate, flags, a digest, extra words.
        "o 2 n b v 1 d - - -",
        "o 18446744073709551616 n b v 1 d - - -",
        "o 1 n b v 1 x - - -",
        "o 1 n b v 1 d - z -",
        "o 1 n b v 1 k - l -",
        "o 1 n b v 1 d x - -",
        &format!("o 1 n b v 1 d {digest} - -"),
        "o 1 n b v 1 d - - - -",
        "o 1 n b v 1 d - -",
        // Names that lead elsewhere.
        "o 1 .. b v 1 d - - -",
        "o 1 n ../b v 1 d - - -",
        &format!("o 1 n {} v 1 d - - -", "b".repeat(254)),
        &format!("o 1 n b {} 1 d - - -", "v".repeat(254)),
        "k x.io/v1 ../secrets Other",
        "k ../v1 secrets Other",
        "k x.io/.. secrets Other",
        "k x.io/v1 secrets ../Other",
        "k x.io/v1 secrets Other more",
    ] {
        assert_eq!(read(entry), Err(ListError::Damaged(5)), "{entry}");
    }
}

#[test]
fn a_list_without_end_is_not_read_to_its_end() {
    let lines =
        |count: usize| -> String { (0..count).map(|n| format!("o 0 n a{n} u{n} 1 d - - -\n")).collect() };
    let read = |count| ReleaseList::parse_up_to(10, ["v 3\nk /v1 secrets Secret\n", &lines(count)]);
    assert_eq!(read(9).unwrap().entries.len(), 9);
    assert_eq!(read(10), Err(ListError::TooLong));
    let kinds = "k /v1 secrets Secret\n".repeat(10);
    assert_eq!(ReleaseList::parse_up_to(10, ["v 3\n", &kinds]), Ok(ReleaseList::default()));
    assert_eq!(ReleaseList::parse_up_to(10, ["v 3\n", &kinds, "k /v1 a A\n"]), Err(ListError::TooLong));
}

#[test]
fn a_digest_sees_content_and_only_content() {
    let machine = GroupKind::new("x.io", "Machine");
    let before = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "spec": 1, "status": 1});
    let touched = json!({"metadata": {"name": "a", "resourceVersion": "2", "finalizers": ["f"],
        "annotations": {names::DELETE_FOR_MOVE: ""}}, "spec": 1, "status": 2});
    let changed = json!({"metadata": {"name": "a", "labels": {"l": ""}}, "spec": 1, "status": 1});
    assert_eq!(content_digest(&machine, &before, false), content_digest(&machine, &touched, false));
    assert_ne!(content_digest(&machine, &before, true), content_digest(&machine, &touched, true));
    assert_ne!(content_digest(&machine, &before, false), content_digest(&machine, &changed, false));
}

// proves: I8, T130
#[test]
fn no_digest_is_made_of_secret_data() {
    assert_eq!(content_digest(&GroupKind::new("", "Secret"), &json!({"data": {"p": "x"}}), false), None);
}

#[test]
fn any_text_is_a_list_or_refused() {
    const LIST: &str = "v 3\nk g/v1 machines Machine\no 0 ns m uid-m 17 d 0123456789abcdef0123456789abcdef p -\n\
        k /v1 secrets Secret\no 1 ns s uid-s 18 d - n -\no 1 - t uid-t 19 k - sube 0,1\no 0 ns n uid-n 20 d - hl 2\n";
    let (mut good, mut refused) = (0, 0);
    assert!(ReleaseList::parse([LIST]).is_ok());
    mutants::each(&[LIST.as_bytes()], 5_000, |bytes| {
        match ReleaseList::parse([&*String::from_utf8_lossy(bytes)]) {
            Ok(list) => {
                good += 1;
                let chunks = list.to_chunks(60);
                assert_eq!(ReleaseList::parse(chunks.iter().map(String::as_str)).unwrap(), list);
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() < 200, "{error}");
            }
        }
    });
    assert!(good > 200 && refused > 1_000, "{good} good, {refused} refused");
}
