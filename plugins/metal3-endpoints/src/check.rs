//! Applies the rules of each point.

use pivot_sdk::endpoints::probe_all;
use pivot_sdk::prelude::*;

use crate::config::Vantage;
use crate::gather::HOST;
use crate::setup::Setup;
use crate::{Metal3Endpoints, addresses, endpoint, gather, images, management, serving};

pub(crate) fn check_point(config: &Metal3Endpoints, point: Point, moving: &Move) -> Result<Vec<Finding>> {
    let has_target = context::is_cluster(Side::Target);
    if point == Point::Other || !has_target || moving.of_kind(&HOST).next().is_none() {
        return Ok(Vec::new());
    }
    let (source, target) = gather::read_both_sides(config)?;
    let mut found = Vec::new();
    // Reported once: addresses don't change during a move.
    if point == Point::BeforePause {
        found.extend(addresses::compare_addresses(config, &source, &target));
        found.extend(report_unknown_sides(config, &source, &target));
        found.extend(report_foreign_endpoint(config, &target));
        found.extend(report_missing_network(&source, &target));
    }
    found.extend(management::check_operators(config, point, moving, &target));
    found.extend(serving::compare_serving(config, point, &source, &target));
    if config.must_be_up(point) && serving::can_answer(&target) {
        found.extend(probe_target(config, &target));
    }
    Ok(found)
}

/// Reports sides without any known configuration.
fn report_unknown_sides(config: &Metal3Endpoints, source: &Setup, target: &Setup) -> Vec<Finding> {
    let places = config.namespaces.join(", ");
    let remedy = "say where the baremetal operator and Ironic are installed: namespaces = [\"…\"] in this plugin's configuration";
    let mut found = Vec::new();
    if source.is_empty() {
        let what =
            format!("no configuration of Ironic in {places} of the source: the two sides can't be compared");
        found.push(Finding::warn("source-unknown", what).with_remedy(remedy));
    }
    if target_url(config, target).is_none() {
        let what = format!("no endpoint of Ironic in {places} of the target: its operator can't reach one");
        let finding = match target.ironics.is_empty() {
            true => Finding::stop("no-endpoint", what),
            // The operator finds Ironic's Service by that name on its own; from outside the target nothing can.
            false => Finding::warn(
                "no-endpoint",
                format!("{what}, or its address is known inside the target only"),
            ),
        };
        found.push(
            finding
                .with_remedy(format!("{remedy}, or the endpoint itself: endpoint = \"http://…:6385/v1/\"")),
        );
    }
    found
}

/// Reports an operator that queries another address than Ironic's.
fn report_foreign_endpoint(config: &Metal3Endpoints, target: &Setup) -> Option<Finding> {
    let url = target_url(config, target)?;
    let asked: std::net::IpAddr = endpoint::url_host(&url).parse().ok()?;
    let addresses = target.parse_addresses().ok().filter(|addresses| !addresses.is_empty())?;
    (!addresses.iter().any(|address| address.ip == asked)).then(|| {
        let from = target.source_of("IRONIC_ENDPOINT").map(|key| format!(" ({key})")).unwrap_or_default();
        Finding::warn(
            "endpoint-elsewhere",
            format!(
                "the target's operator asks at {url}{from}, which is not an address that Ironic has there"
            ),
        )
        .with_remedy("is IRONIC_ENDPOINT still another cluster's?")
    })
}

/// Reports a target that can't register all of the source's hosts: those whose driver boots them over the network.
fn report_missing_network(source: &Setup, target: &Setup) -> Option<Finding> {
    let differs = target.has_no_network() && !source.is_empty() && !source.has_no_network();
    differs.then(|| {
        let what = "the target's operator has no provisioning network (PROVISIONING_NETWORK_DISABLED), and the source's has one: \
                    it registers only hosts with virtual media";
        Finding::warn("network-disabled", what)
            .with_remedy("give the target a provisioning network if a host's spec.bmc.address has ipmi, redfish or another scheme without media")
    })
}

fn target_url(config: &Metal3Endpoints, target: &Setup) -> Option<String> {
    config.endpoint.as_deref().or_else(|| target.get("IRONIC_ENDPOINT")).map(endpoint::normalize_url)
}

/// Probes the target's endpoint and images. All probes run concurrently.
fn probe_target(config: &Metal3Endpoints, target: &Setup) -> Vec<Finding> {
    if config.vantage == Vantage::Nowhere {
        return Vec::new();
    }
    let api: Vec<String> = target_url(config, target)
        .into_iter()
        .flat_map(|url| [url.clone(), format!("{url}drivers")])
        .collect();
    let urls: Vec<String> = api.iter().cloned().chain(images::image_urls(target)).collect();
    let asked: Vec<(&String, Probe)> =
        urls.iter().filter_map(|url| Some((url, endpoint::build_probe(config, url)?))).collect();
    let probes: Vec<Probe> = asked.iter().map(|(_, probe)| probe.clone()).collect();
    let answers = asked.iter().map(|(url, _)| *url).zip(probe_all(&probes));
    let findings = answers.filter_map(|(url, answer)| match api.iter().position(|asked| asked == url) {
        Some(0) => endpoint::check_version(config, url, &answer),
        Some(_) => endpoint::check_drivers(url, &answer),
        None => images::check_image(url, &answer),
    });
    findings.collect()
}
