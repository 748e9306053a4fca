//! Text from other sources controls neither a terminal nor the lines of the program.

use super::*;

/// A plugin chooses its own name, too: it may be the head of a line of advice.
// proves: T177
#[test]
fn words_of_plugins_stand_behind_their_names() {
    let words = "pivot-host rollback --without-target";
    let (name, code) = ("next".to_owned(), "lost".to_owned());
    let event = |severity| {
        let (text, remedy) = (words.to_owned(), words.to_owned());
        Event::Finding { plugin: name.clone(), code: code.clone(), severity, object: None, text, remedy }
    };
    let (what, remedy) = (words.to_owned(), words.to_owned());
    let awaited = vec![Awaited { object: None, side: None, plugin: Some(name.clone()), what, remedy }];
    let waiting = Event::Waiting { awaited: awaited.clone(), more: 0, seconds_left: 1 };
    let (message, remedy) = (words.to_owned(), words.to_owned());
    let finding = Finding { severity: Severity::Stop, code: code.clone(), message, object: None, remedy };
    let failures =
        [Failure::Gate(vec![PluginFinding { plugin: name.clone(), finding }]), Failure::TimedOut(awaited)];
    let events = [event(Severity::Note), event(Severity::Warn), waiting];
    let told = events.iter().map(|event| events::event_line(event, SIDES));
    let failed = failures.iter().flat_map(|failure| failure.lines(true).lines.into_iter().skip(1));
    let told: Vec<String> = told.chain(failed).collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    for line in told {
        let (before, _) = line.split_once(words).unwrap();
        assert!(before.ends_with("plugin next: "), "{line}");
    }
}

#[test]
fn foreign_text_cannot_control_the_terminal() {
    let text = "gone\u{1b}[2J\nerror: all is lost";
    assert_eq!(shown(vec![note(text)], 0, LogFormat::Text), "note: gone\\u{1b}[2J\\nerror: all is lost\n");
    let json = shown(vec![note(text.to_owned() + "\u{9b}\u{202e}")], 0, LogFormat::Json);
    assert!(json.contains(r"gone\u001b[2J\nerror: all is lost\u009b\u202e"), "{json}");
}

#[test]
fn nor_can_it_in_a_librarys_log() {
    let logged = |log, line: &str| {
        let (output, _, err) = output(0, log);
        LogLines(output).write_all(line.as_bytes()).unwrap();
        err.text()
    };
    assert_eq!(
        logged(LogFormat::Text, " WARN it said \u{1b}[2Ja\nerror: b\n"),
        " WARN it said \\u{1b}[2Ja\\nerror: b\n"
    );
    let line = "{\"fields\":{\"message\":\"a\u{9b}2J\u{202e}\"}}\n";
    assert_eq!(logged(LogFormat::Json, line), "{\"fields\":{\"message\":\"a\\u009b2J\\u202e\"}}\n");
}

#[test]
fn nor_can_it_in_a_failure() {
    use pivot_core::plugins::hooks::Finding;
    use pivot_engine::{Exit, Failure, HeldObject, Stop};

    let text = "x\nerror: all is lost\u{1b}[2J";
    let said = |failure| {
        let stop = Stop {
            failure,
            phase: None,
            exit: Exit::PartWay,
            state: text.into(),
            next: Vec::new(),
            move_id: None,
            times: Vec::new(),
            done: Default::default(),
        };
        let (output, _, err) = output(0, LogFormat::Text);
        print_stop(&output, &stop, AlreadyShown::Nothing, &[text.into()]);
        let document = serde_json::to_value(error_document(&stop, Vec::new())).unwrap();
        (err.text(), document["message"].as_str().unwrap().to_owned())
    };
    let held = |text: &str| HeldObject { object: capi("Host", text), why: text.into() };
    let awaited = |text: &str| Awaited {
        object: Some(capi("Cluster", text)),
        side: None,
        plugin: Some(text.into()),
        what: text.into(),
        remedy: text.into(),
    };
    let finding = Finding {
        severity: Severity::Stop,
        code: text.into(),
        message: text.into(),
        object: Some(capi("Cluster", text)),
        remedy: text.into(),
    };
    for (failure, lines) in [
        (Failure::Refused(vec![Refusal::source("c", capi("Cluster", text), text, text)]), 5),
        (Failure::Refused(vec![Refusal::source("c", capi("Cluster", text), text, text); 2]), 7),
        (Failure::Empty(text.into()), 3),
        (Failure::Several(vec![text.into(); 30]), 24),
        (Failure::TimedOut(vec![awaited(text); 2]), 4),
        (Failure::Gate(vec![PluginFinding { plugin: text.into(), finding }]), 5),
        (Failure::Undecided(Box::new(Failure::TimedOut(vec![awaited(text)]))), 4),
        (Failure::Declined(text.into()), 3),
        (Failure::Unsettled(vec![held(text); 2]), 6),
        (Failure::Bug(text.into()), 3),
    ] {
        let (shown, message) = said(failure);
        for text in [&shown, &message] {
            assert!(!text.lines().skip(1).any(|line| line.trim_start().starts_with("error:")), "{text}");
            assert!(!text.contains('\u{1b}'), "{text:?}");
        }
        let first = shown.lines().filter(|line| !line.starts_with("fix:") && !line.starts_with("   or"));
        assert!(first.count() <= lines && shown.contains("x\\nerror: all is lost\\u{1b}[2J"), "{shown}");
    }
}

#[test]
fn nor_can_it_on_a_progress_bar() {
    let progress = progress_with_bars();
    progress.event(Event::PhaseBegun { phase: Phase::Copied, objects: 1 });
    let (verb, side, phase) = (Verb::Created, Side::Target, Phase::Copied);
    let object = capi("Machine", "a\u{1b}[2J\u{202e}\nerror: b");
    progress.event(Event::Object { verb, object, side, phase });
    assert_eq!(
        progress.on_the_bar().as_deref(),
        Some("created Machine ns/a\\u{1b}[2J\\u{202e}\\nerror: b in the target")
    );
    progress.end();
}
