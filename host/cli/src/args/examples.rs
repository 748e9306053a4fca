//! The examples at the end of `--help`. A test parses each of them.

/// What the example does, and its command line.
type Example = (&'static str, &'static str);

/// The examples of a command; those of the program itself if no command is named.
pub(super) fn of(command: Option<&str>) -> &'static [Example] {
    match command {
        None => &[
            (
                "What would move, and whether anything is in its way",
                "pivot-host plan --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3",
            ),
            (
                "Move it",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3",
            ),
            (
                "See how far that is, and which command continues it",
                "pivot-host status --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig",
            ),
        ],
        Some("plan") => &[
            (
                "One namespace, with everything that can be checked in the target",
                "pivot-host plan --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --plugins plugins",
            ),
            ("Everything, as a document", "pivot-host plan --kubeconfig boot.kubeconfig -A -o json"),
            ("A directory of manifests", "pivot-host plan --from-directory backup -v"),
            (
                "As a page, for a browser or a ticket",
                "pivot-host plan --kubeconfig boot.kubeconfig -A -o html",
            ),
            (
                "Saved, to be approved",
                "pivot-host plan --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --out plan.json",
            ),
        ],
        Some("doctor") => &[
            (
                "All Clusters of a management cluster",
                "pivot-host doctor --kubeconfig prod.kubeconfig --plugins plugins",
            ),
            (
                "And whether another management cluster runs any of them, too",
                "pivot-host doctor --kubeconfig prod.kubeconfig --to-kubeconfig old.kubeconfig -o json",
            ),
        ],
        Some("generate" | "generate rbac") => &[
            (
                "For the user who moves a namespace out of a cluster",
                "pivot-host generate rbac --side source --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3",
            ),
            (
                "For the target, bound to its user there",
                "pivot-host generate rbac --side target --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --bind-to jane",
            ),
        ],
        Some("generate backup") => &[(
            "A backup each night, encrypted",
            "pivot-host generate backup -A --image example.com/pivot-host:v1 --encrypt-to recipients.txt",
        )],
        Some("generate controller") => &[(
            "What to install in a cluster for a controller",
            "pivot-host generate controller --image registry.example.com/pivot-host:v1",
        )],
        Some("generate agent") => &[(
            "What to install for an agent with a certificate of another authority",
            "pivot-host generate agent --image registry.example.com/pivot-host:v1 --call pivot.example.com:8443 --allow-namespace shop",
        )],
        Some("controller" | "controller run") => &[(
            "From outside, for the cluster of a kubeconfig",
            "pivot-host controller run --kubeconfig boot.kubeconfig",
        )],
        Some("agent") => &[
            (
                "Let a cluster's agent enrol with the controller of another, once",
                "pivot-host agent invite edge -n shop --image example.com/pivot-host:v1 --call pivot.example.com:8443 --allow-namespace shop",
            ),
            (
                "From outside, for the cluster of a kubeconfig",
                "pivot-host agent run --kubeconfig prod.kubeconfig --call localhost:8443 --tls DIR --allow-namespace shop",
            ),
        ],
        Some("agent invite") => &[(
            "Let a cluster's agent enrol with the controller of another, once",
            "pivot-host agent invite edge -n shop --image example.com/pivot-host:v1 --call pivot.example.com:8443 --allow-namespace shop",
        )],
        Some("agent remove") => &[(
            "End the link of an agent, so that it can't call again",
            "pivot-host agent remove edge -n shop --kubeconfig boot.kubeconfig",
        )],
        Some("agent run") => &[(
            "From outside, for the cluster of a kubeconfig",
            "pivot-host agent run --kubeconfig prod.kubeconfig --call localhost:8443 --tls DIR --allow-namespace shop",
        )],
        Some("generate protection") => &[
            (
                "For a cluster whose own objects are in a namespace of it",
                "pivot-host generate protection -n metal3",
            ),
            (
                "If it makes other clusters there, which may come and go",
                "pivot-host generate protection -n metal3 --cluster prod",
            ),
        ],
        Some("move") => &[
            (
                "One namespace from one cluster to another",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --plugins plugins",
            ),
            (
                "What was planned and approved, and nothing else",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig --plan plan.json",
            ),
            (
                "With a report, also if it stops",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --report report.html",
            ),
            (
                "Two of its Clusters, with what they need",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --cluster edge --cluster core",
            ),
            (
                "With a ConfigMap that an installer expects in the target",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --with-manifest bom.yaml",
            ),
            (
                "From a bootstrap cluster into the cluster that it made",
                "pivot-host move --kubeconfig boot.kubeconfig -n metal3 --to-workload prod",
            ),
            (
                "Everything, between two contexts of one kubeconfig",
                "pivot-host move --kubeconfig-context boot --to-kubeconfig-context prod -A",
            ),
            (
                "Change nothing, but ask the target's server about each object",
                "pivot-host move --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig -n metal3 --dry-run=server",
            ),
            (
                "Copy into a directory; the source keeps running",
                "pivot-host move --kubeconfig boot.kubeconfig -A --to-directory backup",
            ),
            ("The same, encrypted", "pivot-host move -A --to-directory backup --encrypt-to recipients.txt"),
            (
                "Restore a backup whose management cluster is lost",
                "pivot-host move --from-directory backup --to-kubeconfig prod.kubeconfig --accept source-may-run",
            ),
        ],
        Some("status") => &[
            (
                "The moves between two clusters",
                "pivot-host status --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig",
            ),
            (
                "All moves out of one cluster and into it",
                "pivot-host status --kubeconfig prod.kubeconfig -o yaml",
            ),
        ],
        Some("resume") => &[
            (
                "Continue a move that stopped",
                "pivot-host resume --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig --plugins plugins",
            ),
            (
                "Finish a committed move whose source is lost for good",
                "pivot-host resume --without-source --to-kubeconfig prod.kubeconfig --plugins plugins",
            ),
        ],
        Some("rollback") => &[
            (
                "Undo a move that is not committed",
                "pivot-host rollback --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig",
            ),
            (
                "The same where the target is lost for good",
                "pivot-host rollback --without-target --kubeconfig boot.kubeconfig",
            ),
        ],
        Some("backup") => &[
            ("All namespaces", "pivot-host backup backup-2026-11-26 --kubeconfig prod.kubeconfig -A"),
            (
                "The same, encrypted",
                "pivot-host backup backup-2026-11-26 --kubeconfig prod.kubeconfig -A --encrypt-to recipients.txt",
            ),
        ],
        Some("handover") => &[
            (
                "Copy into a directory; the source waits, paused",
                "pivot-host handover start out --kubeconfig boot.kubeconfig -A",
            ),
            (
                "Import it where it was carried",
                "pivot-host move --from-directory out --to-kubeconfig prod.kubeconfig",
            ),
            (
                "Delete the moved objects from the source, once both can be reached",
                "pivot-host handover finish --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig",
            ),
            (
                "Unpause the source instead, if no cluster imported the directory",
                "pivot-host handover cancel --accept maybe-imported",
            ),
        ],
        Some("handover start") => &[
            (
                "Copy into a directory; the source waits, paused",
                "pivot-host handover start out --kubeconfig boot.kubeconfig -A",
            ),
            (
                "The same, encrypted",
                "pivot-host handover start out --kubeconfig boot.kubeconfig -A --encrypt-to recipients.txt",
            ),
        ],
        Some("handover finish") => &[(
            "Delete the moved objects from the source, once both can be reached",
            "pivot-host handover finish --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig",
        )],
        Some("handover cancel") => &[
            (
                "Unpause the source, if no cluster imported the directory",
                "pivot-host handover cancel --kubeconfig boot.kubeconfig --accept maybe-imported",
            ),
            (
                "Ask the cluster that may have imported it",
                "pivot-host handover cancel --kubeconfig boot.kubeconfig --to-kubeconfig prod.kubeconfig --accept maybe-imported",
            ),
        ],
        Some("describe" | "describe cluster") => &[
            (
                "A Cluster of the context's namespace",
                "pivot-host describe cluster edge --kubeconfig boot.kubeconfig",
            ),
            (
                "Each Machine, with all conditions that need attention",
                "pivot-host describe cluster edge --grouping=false --show-conditions all+",
            ),
            (
                "One in a backup, as a document",
                "pivot-host describe cluster edge --from-directory backup -o json",
            ),
        ],
        Some("verify") => &[
            ("Before it is carried to another site, and there", "pivot-host verify backup"),
            ("An encrypted one, with a look into its files", "pivot-host verify backup --identity key.txt"),
            ("Also who signed it", "pivot-host verify backup --trust trust.toml"),
            ("Restore it into memory, and compare", "pivot-host verify backup --restore --plugins plugins"),
        ],
        Some("sign") => &[
            ("With a key in a file", "pivot-host sign backup --key me.pem"),
            (
                "With a tool that holds the key: print the statement",
                "pivot-host sign backup --statement-only",
            ),
            ("Then add the signature", "pivot-host sign backup --attach signed.json"),
        ],
        Some("plugin") => &[
            ("Begin a plugin of your own", "pivot-host plugin new my-hosts"),
            (
                "Make a component of a module in Go",
                "pivot-host plugin componentize core.wasm --out hosts.wasm",
            ),
            ("See what a component could do, and asks for", "pivot-host plugin inspect plugins/hosts.wasm"),
            ("Compare a new version with what was added", "pivot-host plugin diff plugins new/hosts.wasm"),
            (
                "Vouch for one that you reviewed",
                "pivot-host plugin sign hosts.wasm --claim vetted --key me.pem",
            ),
            ("Add it as it is now, granting nothing yet", "pivot-host plugin add plugins/hosts.wasm"),
            ("Check a directory as a move does", "pivot-host plugin verify plugins"),
            ("Make one file of it, for another site", "pivot-host plugin bundle plugins --out site.tar"),
            ("See what that would change there", "pivot-host plugin import site.tar plugins --dry-run"),
            (
                "Check your own in CI, and keep the report",
                "pivot-host plugin check hosts.wasm --scenes scenes -o json",
            ),
            ("Compare its answers with those in scenes", "pivot-host plugin test hosts.wasm scenes"),
            (
                "Rehearse a whole move in memory",
                "pivot-host plugin rehearse --plugins plugins --objects objects.yaml",
            ),
            (
                "Make the calls of a recorded move to a new version",
                "pivot-host plugin replay move.jsonl hosts.wasm --config plugins/plugins.toml",
            ),
            (
                "Measure it on objects of your own",
                "pivot-host plugin bench hosts.wasm --objects objects.yaml",
            ),
            (
                "Call a hook without a cluster",
                "pivot-host plugin run plugins/hosts.wasm --hook relate --objects objects.yaml",
            ),
        ],
        Some(_) => &[],
    }
}
