//! `iowhy report`: the file as it is, and the page as a browser draws it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::Browser;
use crate::folder::Folder;
use crate::rig::{Loop, can_run};

impl Folder {
    /// The report of a capture.
    fn report(&self, capture: &Path) -> PathBuf {
        let page = self.0.join("report.html");
        let made = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .arg("report")
            .args([capture, "--force".as_ref(), "-o".as_ref(), page.as_path()])
            .output()
            .unwrap();
        let status = made.status.code().unwrap();
        assert!(status < 2, "{}", String::from_utf8_lossy(&made.stderr));
        page
    }
}

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name).join("capture.txt")
}

fn browser(name: &str) -> Option<Browser> {
    let found = Browser::start(name);
    if found.is_none() {
        println!("skipped: needs chromium");
    }
    found
}

#[test]
fn the_page_is_self_contained_and_shows_the_verdict() {
    let folder = Folder::new("alone");
    let page = std::fs::read_to_string(folder.report(&case("dusty-disk"))).unwrap();
    for (tag, hash) in [("script", "script-src 'sha256-"), ("style", "style-src 'sha256-")] {
        assert!(page.contains(hash), "no policy for the {tag}");
    }
    assert!(page.contains("default-src 'none'"), "the policy allows what it does not name");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let found: Vec<&str> = page.lines().filter(|line| line.contains(outside)).collect();
        // The name space of SVG is a name, nothing is loaded by it.
        let found: Vec<&&str> =
            found.iter().filter(|line| !line.contains("xmlns=\"http://www.w3.org")).collect();
        assert!(found.is_empty(), "{outside} in {found:?}");
    }
    for wanted in ["device.retry", "<svg", "Evidence", "Slowest I/Os", "iowhy why -v"] {
        assert!(page.contains(wanted), "{wanted} is missing");
    }
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
}

/// A biosnoop screen of reads that take so many milliseconds each, in turns.
fn reads(latencies: &[f64]) -> String {
    let mut screen = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_string();
    for place in 0..200 {
        let latency = latencies[place % latencies.len()];
        let (at, sector) = (0.05 * (place + 1) as f64, 8_000_000 + 977 * place);
        screen += &format!("{at:.6} dd 1 sdb R {sector} 4096 {latency:.3}\n");
    }
    screen
}

#[test]
fn a_ladder_has_its_steps_and_an_overload_its_queue() {
    let folder = Folder::new("pattern");
    let page = |capture: &Path| std::fs::read_to_string(folder.report(capture)).unwrap();
    let dusty = page(&case("dusty-disk"));
    let (_, ladder) = dusty.split_once(">Latency in revolutions</h2>").expect("a ladder");
    let ladder = &ladder[..ladder.find("</figure>").unwrap()];
    // The published disk turns at 7210 rpm and loses 28 revolutions at most.
    assert!(ladder.contains("one more revolution of 8.32 ms"), "{ladder}");
    assert!(ladder.contains(">+25<") && !ladder.contains(">+30<"), "{ladder}");
    let storm = "../read/samples/iostat/sysstat-7--random-storm-times.txt";
    let storm = page(&Path::new(env!("CARGO_MANIFEST_DIR")).join(storm));
    let (_, queue) = storm.split_once(">Queue over time</h2>").expect("a queue");
    let queue = &queue[..queue.find("</figure>").unwrap()];
    // aqu-sz of 142 and 105.
    assert!(queue.contains(">150<") && queue.contains("as the averages report it"), "{queue}");
    assert!(!dusty.contains("Queue over time") && !storm.contains("Latency in revolutions"));
}

#[test]
fn an_example_is_not_compared_with_itself() {
    let folder = Folder::new("example");
    let page = folder.0.join("report.html");
    let mut report = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    let made =
        report.args(["report", "--example", "dusty-disk", "-o"]).arg(&page).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("device.retry") && !page.contains("Before and after"));
}

/// The commands under "Reproduce" of a page, as a shell reads them.
fn reproduced(page: &Path) -> Vec<String> {
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("Reproduce and download").expect("the section");
    let rest = &rest[..rest.find("</dl>").unwrap()];
    let plain = |code: &str| code.replace("&#39;", "'").replace("&amp;", "&");
    rest.split("<code>").skip(1).map(|code| plain(code.split("</code>").next().unwrap())).collect()
}

/// Runs each of them.
fn run_all(commands: &[String], folder: &Path) {
    assert_eq!(commands.len(), 5, "{commands:?}");
    for command in commands {
        let words = command.strip_prefix("iowhy ").expect("iowhy itself");
        let program = env!("CARGO_BIN_EXE_iowhy");
        let output = Command::new("sh")
            .args(["-c", &format!("'{program}' {words}")])
            .current_dir(folder)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() < Some(2), "{command}: {message}");
    }
}

#[test]
fn the_lines_that_reproduce_a_report_run() {
    let folder = Folder::new("reproduce");
    let page = folder.0.join("page.html");
    let report = |words: &[&str]| {
        let made = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .arg("report")
            .args(words)
            .args(["--force", "-o"])
            .arg(&page)
            .current_dir(&folder.0)
            .output()
            .unwrap();
        assert!(made.status.code() < Some(2), "{}", String::from_utf8_lossy(&made.stderr));
        reproduced(&page)
    };
    std::fs::copy(case("dusty-disk"), folder.0.join("it's a disk.txt")).unwrap();
    run_all(&report(&["it's a disk.txt"]), &folder.0);
    let example = report(&["--example", "dusty-disk"]);
    assert!(example[0].ends_with(" --example dusty-disk"), "{example:?}");
    run_all(&example, &folder.0);
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::beside_others(16);
    let load = disk.under_load(&["--rw=randread", "--rate_iops=300"]);
    let watched = report(&["--for", "1s", "-d", &disk.name]);
    assert!(watched[0].contains(&format!(" -d {}", disk.name)), "{watched:?}");
    run_all(&watched, &folder.0);
    drop(load);
}

#[test]
fn before_and_after_stand_beside_each_other() {
    let folder = Folder::new("beside");
    let (before, after) = (folder.0.join("before.txt"), folder.0.join("after.txt"));
    std::fs::write(&before, reads(&[9.1, 12.3, 10.7])).unwrap();
    std::fs::write(&after, reads(&[4.1, 5.3, 4.7])).unwrap();
    let page = folder.0.join("report.html");
    let made = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["report", "--against"])
        .args([&before, &after])
        .arg("-o")
        .arg(&page)
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    let start = page.find("Before and after").expect("no section");
    let rest = &page[start..];
    let section = &rest[..rest[4..].find("<h2").map_or(rest.len(), |end| end + 4)];
    // The medians are 10.7 and 4.7 ms; the ratio is theirs.
    let row = section.lines().find(|line| line.contains("latency, median")).unwrap();
    assert!(row.contains("10.7 ms") && row.contains("4.7 ms") && row.contains("0.439"), "{row}");
    assert!(row.contains("<td>yes"), "{row}");
    assert!(section.contains("<svg"), "no picture of the state before");
    // A capture that is not there fails, and nothing is written.
    let missing = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["report", "--against", "no-such-file"])
        .args([&after, &"-o".into(), &folder.0.join("none.html")])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
    assert!(!folder.0.join("none.html").exists());
}

#[test]
fn a_file_is_replaced_only_when_told() {
    let folder = Folder::new("force");
    let target = folder.0.join("kept.html");
    std::fs::write(&target, "mine").unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .arg("report")
        .args([case("dusty-disk").as_path(), "-o".as_ref(), target.as_path()])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
    assert!(String::from_utf8_lossy(&made.stderr).contains("--force"));
}

#[test]
fn a_browser_draws_zooms_and_prints_it() {
    let Some(mut browser) = browser("zooms") else { return };
    let folder = Folder::new("zooms");
    browser.open(&folder.report(&case("dusty-disk")));
    let maps = browser.eval("document.querySelectorAll('figure[data-map] canvas').length");
    assert!(maps.as_u64().unwrap() >= 4, "{maps} canvases");
    let bars = "document.querySelector('figure[data-map]').scrollIntoView(); \
                document.querySelector('figure[data-map] output').textContent";
    browser.eval(bars);
    let place = "(() => { const b = document.querySelector('figure[data-map] canvas')\
                 .getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()";
    let place: Vec<f64> = serde_json::from_value(browser.eval(place)).unwrap();
    let at = |share: f64| (place[0] + place[2] * share, place[1] + place[3] * 0.5);
    browser.mouse("mouseMoved", at(0.5), 0);
    let hover = browser.eval(bars);
    assert!(hover.as_str().unwrap().contains("I/Os in"), "{hover}");
    let picture = "document.querySelector('figure[data-map] canvas').toDataURL()";
    let before = browser.eval(picture);
    browser.mouse("mousePressed", at(0.3), 1);
    browser.mouse("mouseMoved", at(0.6), 1);
    browser.mouse("mouseReleased", at(0.6), 1);
    let zoomed = browser.eval(picture);
    assert_ne!(before, zoomed, "dragging over the map does not zoom");
    for _ in 0..2 {
        browser.mouse("mousePressed", at(0.5), 2);
        browser.mouse("mouseReleased", at(0.5), 2);
    }
    browser.eval("document.querySelector('.controls button').click()");
    assert_eq!(before, browser.eval(picture), "the button does not show all of the time");
    let printed = browser.call("Page.printToPDF", serde_json::json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().len() > 10_000, "an empty PDF");
    assert_eq!(browser.complaints, [""; 0], "the page complained");
}

#[test]
fn the_page_tells_the_time_of_day_where_the_capture_knows_it() {
    let Some(mut browser) = browser("clock") else { return };
    let folder = Folder::new("clock");
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples");
    let known = samples.join("iowhy_capture/iowhy-0.1--loop-device.bin");
    for (capture, reported) in [
        (known, "^at \\d\\d:\\d\\d:\\d\\d\\.\\d{3}[:,]"),
        (case("dusty-disk"), "^at [\\d.]+ s[:,]"),
    ] {
        browser.open(&folder.report(&capture));
        let at = format!(
            "(() => {{ const f = document.querySelector('figure[data-map]'); \
             f.dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight'}})); \
             const t = f.querySelector('output').textContent; \
             return /{reported}/.test(t) ? 'right' : t; }})()"
        );
        assert_eq!(browser.eval(&at), "right", "{}", capture.display());
    }
    assert_eq!(browser.complaints, [""; 0], "the page complained");
}

/// Every case, and the first sample of each format; every sample with `IOWHY_EVERY=1`.
fn captures() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let children = |folder: &Path| {
        let found = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = found.collect();
        found.sort();
        found
    };
    let is_data = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path.is_file() && !name.starts_with("README") && !name.ends_with(".golden")
    };
    let cases = children(&here.join("tests/cases")).into_iter();
    let cases = cases.map(|case| case.join("capture.txt")).filter(|capture| capture.exists());
    let samples = children(&here.join("../read/samples")).into_iter().filter(|path| path.is_dir());
    let most = if std::env::var_os("IOWHY_EVERY").is_some() { usize::MAX } else { 1 };
    cases
        .chain(samples.flat_map(|folder| children(&folder).into_iter().filter(is_data).take(most)))
        .collect()
}

/// The words in tables that stand on two lines.
const TORN: &str = r"
(() => {
  const torn = [], range = document.createRange();
  for (const cell of document.querySelectorAll('td, th')) {
    const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode())
      for (const word of node.data.matchAll(/[A-Za-z0-9_.]+/g)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) torn.push(word[0]);
      }
  }
  return torn.slice(0, 5).join(' ');
})()";

#[test]
fn twenty_seconds_of_three_devices_are_five_pages_on_paper() {
    let Some(mut browser) = browser("paper") else { return };
    let folder = Folder::new("paper");
    let capture = folder.0.join("capture.txt");
    let mut text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_string();
    for k in 0..6000 {
        let (at, place) = (f64::from(k) / 300.0, k / 3);
        let (disk, comm) = [("sda", "postgres"), ("sdb", "dd"), ("sdc", "rsync")][k as usize % 3];
        let turns = if disk == "sdb" && place % 3 == 0 { 1 + place % 4 } else { 0 };
        let latency = 2.1 + 8.33 * f64::from(turns) + 0.01 * f64::from(place % 7);
        let op = if k % 5 == 0 { "W" } else { "R" };
        let sector = 8_000_000 + 977 * k;
        text += &format!("{at:.6} {comm} 7 {disk} {op} {sector} 4096 {latency:.3}\n");
    }
    std::fs::write(&capture, text).unwrap();
    browser.open(&folder.report(&capture));
    let paper = serde_json::json!({"printBackground": true, "preferCSSPageSize": true});
    let printed = browser.call("Page.printToPDF", paper);
    let pages =
        format!("atob('{}').match(/.Type .Page\\b/g).length", printed["data"].as_str().unwrap());
    let pages = browser.eval(&pages).as_u64().unwrap();
    assert!((1..=5).contains(&pages), "{pages} pages");
    let media = serde_json::json!({"media": "print"});
    browser.call("Emulation.setEmulatedMedia", media);
    assert_eq!(browser.eval(TORN), "", "torn on paper");
}

/// Texts whose contrast with what lies after them is below 4.5, that of WCAG 2.2, 1.4.3.
const PALE: &str = r"
(() => {
  const rgb = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
    }
    return rgb(getComputedStyle(document.body).backgroundColor);
  };
  const pale = [];
  for (const e of document.querySelectorAll('p, h1, h2, h3, li, td, th, dt, dd, code, summary')) {
    if (!e.offsetParent || !e.textContent.trim()) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) pale.push(e.textContent.slice(0, 20));
  }
  return pale.slice(0, 5).join(' | ');
})()";

#[test]
fn on_any_screen_light_or_dark_it_fits_and_can_be_read() {
    let Some(mut browser) = browser("screens") else { return };
    let folder = Folder::new("screens");
    browser.open(&folder.report(&case("dusty-disk")));
    for (width, scheme) in [(1400, "light"), (1400, "dark"), (800, "light"), (800, "dark")] {
        let size = serde_json::json!(
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}
        );
        browser.call("Emulation.setDeviceMetricsOverride", size);
        let features = [serde_json::json!({"name": "prefers-color-scheme", "value": scheme})];
        browser.call("Emulation.setEmulatedMedia", serde_json::json!({"features": features}));
        let wide = browser.eval("document.documentElement.scrollWidth").as_u64();
        assert!(wide <= Some(width), "{wide:?} at {width}");
        assert_eq!(browser.eval(TORN), "", "torn at {width}");
        assert_eq!(browser.eval(PALE), "", "hard to read at {width}, {scheme}");
    }
    assert_eq!(browser.complaints, [""; 0], "the page complained");
}

#[test]
fn the_first_line_says_whose_machine_it_was() {
    let folder = Folder::new("whose");
    let first = |capture: &Path| {
        let page = std::fs::read_to_string(folder.report(capture)).unwrap();
        let line = page.lines().find(|line| line.starts_with("<p class=\"about\">")).unwrap();
        let heading = page.find("<h1>").unwrap();
        assert!(page.find(line).unwrap() < heading, "not the first line");
        line.to_string()
    };
    let dusty = first(&case("dusty-disk"));
    for reported in ["sdb", "by iostat, ", "biosnoop", env!("CARGO_PKG_VERSION")] {
        assert!(dusty.contains(reported), "{reported} in {dusty}");
    }
    let capture = folder.0.join("capture.iowhy");
    let recorded = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["record", "--for", "500ms", "-o"])
        .arg(&capture)
        .env("TZ", "America/St_Johns")
        .output()
        .unwrap();
    if !capture.exists() {
        println!(
            "skipped: a capture of this machine: {}",
            String::from_utf8_lossy(&recorded.stderr)
        );
        return;
    }
    let line = first(&capture);
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy().into_owned();
    let kernel = format!("Linux {}", system.release().to_string_lossy());
    for reported in
        [host.as_str(), &kernel, "time zone America/St_Johns", " to 20", "by iowhy-capture"]
    {
        assert!(line.contains(reported), "{reported} in {line}");
    }
}

#[test]
fn every_case_and_format_opens_on_a_telephone_without_a_complaint() {
    let Some(mut browser) = browser("every") else { return };
    let folder = Folder::new("every");
    let all = captures();
    assert!(all.len() > 100, "{} captures", all.len());
    let telephone = serde_json::json!(
        {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true}
    );
    browser.call("Emulation.setDeviceMetricsOverride", telephone);
    for (number, capture) in all.iter().enumerate() {
        // A page of its own name, or the one before would pass for it.
        let page = folder.0.join(format!("{number}.html"));
        std::fs::rename(folder.report(capture), &page).unwrap();
        browser.open(&page);
        let wide = browser.eval("document.documentElement.scrollWidth").as_u64();
        let widest = browser.eval(
            "[...document.querySelectorAll('body *')].filter((one) => !one.closest('.scroll') && \
             one.getBoundingClientRect().right > 361).map((one) => one.tagName + ' ' + \
             one.textContent.slice(0, 60)).slice(0, 3).join('; ')",
        );
        assert!(wide <= Some(360), "{}: {wide:?} wide: {widest}", capture.display());
        let torn = browser.eval(TORN);
        assert_eq!(torn, "", "torn in a table of {}", capture.display());
        assert_eq!(browser.complaints, [""; 0], "{}", capture.display());
        std::fs::remove_file(&page).unwrap();
    }
}

#[test]
fn names_of_a_capture_stay_text_in_a_browser() {
    let Some(mut browser) = browser("hostile") else { return };
    let folder = Folder::new("hostile");
    let capture = folder.0.join("capture.txt");
    let mut text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_string();
    for k in 0..60 {
        let comm = ["<img/src=x/onerror=alert(1)>", "</script><b>x", "'\"&amp;`code`"][k % 3];
        text += &format!("{}.{:03} {comm} 7 sd<i>a R {} 4096 {}.5\n", k / 10, k * 16, k * 8, k % 9);
    }
    std::fs::write(&capture, text).unwrap();
    browser.open(&folder.report(&capture));
    let foreign = browser.eval("document.querySelectorAll('img, i, b, iframe, object').length");
    assert_eq!(foreign, 0, "a name became markup");
    let shown = browser.eval("document.body.innerText.includes('onerror=alert(1)')");
    assert_eq!(shown, true, "the name is not shown");
    assert_eq!(browser.complaints, [""; 0], "the page complained");
}

#[test]
fn sixty_thousand_cells_are_drawn_in_time() {
    let Some(mut browser) = browser("speed") else { return };
    let folder = Folder::new("speed");
    let capture = folder.0.join("capture.txt");
    let mut text = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_string();
    // 300 columns by some 200 rows, nearly all of them filled.
    for k in 0..240_000u64 {
        let latency = 0.01 * 1.000_05_f64.powi(((k * 7919) % 240_000) as i32);
        text += &format!("{:.6} fio 7 sda R {} 4096 {latency:.4}\n", k as f64 * 2.5e-4, k * 8);
    }
    std::fs::write(&capture, text).unwrap();
    browser.open(&folder.report(&capture));
    let cells = "(() => { const t = performance.now(); \
                 window.dispatchEvent(new Event('resize')); return performance.now() - t; })()";
    // The same number of cells the simple way, in the same browser.
    let peer = "(() => { const c = document.createElement('canvas'); c.width = 1000; \
                c.height = 300; const pen = c.getContext('2d'), t = performance.now(); \
                for (let k = 0; k < 60000; k++) { pen.fillStyle = 'rgb(' + k % 255 + ',0,9)'; \
                pen.fillRect(k % 300 * 3, k / 300, 3, 1); } pen.getImageData(0, 0, 1, 1); \
                return performance.now() - t; })()";
    let mut median = |what: &str| {
        let mut times: Vec<f64> = (0..9).map(|_| browser.eval(what).as_f64().unwrap()).collect();
        times.sort_by(f64::total_cmp);
        times[4]
    };
    let (ours, peers) = (median(cells), median(peer));
    println!("all pictures of the page: {ours:.1} ms; 60,000 rectangles: {peers:.1} ms");
    assert!(ours <= peers, "{ours} ms for the page, {peers} ms for a rectangle per cell");
}
