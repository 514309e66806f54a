//! Healthy and faulty disks: each fault as a picture, the text of the verdict, the command.
//!
//! The disks are those of the written scenarios (`iowhy_lab::written`), the time is virtual: a load
//! is played against the model, what a tracer would have seen is written as a capture, and `iowhy`
//! draws and judges it. The same seed gives the same page.

mod page;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::programs::iowhy;
use iowhy_lab::written::{WrittenScenario, named};
use page::{PICTURES, Picture};

/// Where to.
#[derive(Args, Debug)]
pub struct Gallery {
    /// The folder of the page; pictures go to `gallery` in it
    #[arg(long, value_name = "FOLDER", default_value = "docs")]
    out: PathBuf,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 2026)]
    seed: u64,
}

/// Where the part of the page begins that no program writes.
const STORIES: &str = "<!-- stories -->";

impl Gallery {
    /// Draws every picture and writes the page.
    ///
    /// # Errors
    /// If `iowhy` was not built, or nothing can be written there.
    pub fn run(&self) -> io::Result<()> {
        let folder = self.out.join("gallery");
        fs::create_dir_all(&folder)?;
        let mut page = page::beginning(self.seed);
        for picture in PICTURES {
            let scenario = named(picture.scenario).map_err(io::Error::other)?;
            page.push_str(&self.hang(picture, scenario, &folder)?);
        }
        // The stories after the pictures are written by hand and stay.
        let file = self.out.join("GALLERY.md");
        let before = fs::read_to_string(&file).unwrap_or_default();
        if let Some(place) = before.find(STORIES) {
            page.push('\n');
            page.push_str(&before[place..]);
        }
        fs::write(file, page)
    }

    /// Draws one picture; its part of the page.
    fn hang(
        &self,
        picture: &Picture,
        scenario: &WrittenScenario,
        folder: &Path,
    ) -> io::Result<String> {
        let name = picture.scenario.replace('/', "-");
        // The verdict contains the name of the capture.
        let own = std::env::temp_dir().join(format!("iowhy-gallery-{}", std::process::id()));
        fs::create_dir_all(&own)?;
        let capture_name = format!("{name}.json");
        fs::write(own.join(&capture_name), scenario.capture(self.seed).map_err(io::Error::other)?)?;
        let png = fs::canonicalize(folder)?.join(format!("{name}.png"));
        let device = shown(scenario);
        let map = ["map", &capture_name, "--width", "110", "--device", &device, "--force", "--png"];
        ask(&own, Command::new(iowhy()?).args(map).arg(png))?;
        let verdict =
            ask(&own, Command::new(iowhy()?).args(["why", &capture_name, "--width", "96"]))?;
        fs::remove_dir_all(&own)?;
        Ok(page::part(picture, scenario, &name, &verdict))
    }
}

/// The disk whose picture is shown: the first, which is the faulty one if one is.
fn shown(scenario: &WrittenScenario) -> String {
    iowhy_lab::disk::Model::parse(&scenario.model).map(|model| model.device(0)).unwrap_or_default()
}

fn ask(folder: &Path, command: &mut Command) -> io::Result<String> {
    let output = command.current_dir(folder).output()?;
    if output.status.code().is_none_or(|code| code > 1) {
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("`iowhy` failed: {reported}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
