//! The images that machines boot to be inspected and provisioned: they must be served before the first host needs them.

use pivot_sdk::prelude::*;

use crate::endpoint::missing_answer_finding;
use crate::setup::Setup;

/// Settings that name images.
const IMAGES: [&str; 3] = ["DEPLOY_KERNEL_URL", "DEPLOY_RAMDISK_URL", "DEPLOY_ISO_URL"];

/// Returns the images' URLs. URLs with other schemes are files inside Ironic.
pub(crate) fn image_urls(target: &Setup) -> Vec<String> {
    let urls = IMAGES.iter().filter_map(|key| target.get(key));
    urls.filter(|url| url.starts_with("http://") || url.starts_with("https://")).map(str::to_owned).collect()
}

/// Returns the finding for an answer about one image.
pub(crate) fn check_image(url: &str, answer: &Result<Answer>) -> Option<Finding> {
    match answer {
        Err(error) => Some(missing_answer_finding("images-silent", "the image server", url, error)),
        Ok(answer) if answer.is_success() => None,
        Ok(answer) => Some(
            Finding::wait("image-missing", format!("{url} is not served (status {})", answer.status))
                .with_remedy("the target's Ironic downloads its images when it starts: see its ironic-httpd and downloader containers"),
        ),
    }
}
