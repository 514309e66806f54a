//! The page: its pictures, their order, and what to look for.

use iowhy_lab::written::WrittenScenario;

/// A picture of the gallery.
pub(super) struct Picture {
    /// The scenario it shows.
    pub scenario: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// What to look at.
    pub look: &'static str,
}

const fn picture(scenario: &'static str, title: &'static str, look: &'static str) -> Picture {
    Picture { scenario, title, look }
}

/// All pictures, healthy disks first.
pub(super) const PICTURES: &[Picture] = &[
    picture(
        "slow/near-miss",
        "Healthy: random reads of a spinning disk",
        "A band from 3 to 20 ms: each read needs a seek and on average half a revolution. Wide, \
         but with an upper edge.",
    ),
    picture(
        "stall/near-miss",
        "Healthy: flash with bursts",
        "Columns at regular intervals that end below a millisecond: a burst is served at once.",
    ),
    picture(
        "cap/near-miss",
        "Healthy: a network volume below its limit",
        "A thin band near 0.8 ms, the round trip.",
    ),
    picture(
        "retry/near-miss",
        "Healthy: a disk read from end to end",
        "One line: every read of 128 KiB takes 2 ms, the command and a fifth of a revolution.",
    ),
    picture(
        "retry/7200",
        "Faulty: a disk that retries sectors",
        "The line of the healthy disk, and above it others, each one revolution (8.33 ms) higher \
         and about a third as bright. In the intensity map the upper lines are the bright ones: \
         that is where the time goes. Seeks and queues never make lines at equal distances.",
    ),
    picture(
        "slow/platter",
        "Faulty: the first disk, four times slower",
        "The same band, two octaves higher, although the load leaves the disk idle half of the \
         time. The shape alone shows nothing; the low load does.",
    ),
    picture(
        "missed-revolution/7200",
        "Healthy disk: synchronous writes one after the other",
        "One line again, but at a whole revolution: each write comes just after its sector has \
         passed. With retries the lowest line is the brightest and lies at 2 ms.",
    ),
    picture(
        "saturated/platter",
        "Healthy disk: saturation",
        "The band of the healthy disk, raised by queueing: twelve requests are always in flight, \
         so each waits for about eleven others.",
    ),
    picture(
        "batch/platter",
        "Healthy disk: batches",
        "Columns, not lines: in each batch latency climbs from the lowest row to the highest, \
         because the last of sixteen requests waits for fifteen. Between the batches there is \
         nothing.",
    ),
    picture(
        "stall/flash",
        "Faulty: a disk that freezes",
        "A quiet line near the bottom and, at regular intervals, columns up to half a second: a \
         request that arrives during a freeze waits for its end. Few in the frequency map, \
         everything in the intensity map: tail latency.",
    ),
    picture(
        "cap/iops",
        "Throttled: a volume at its limit",
        "One straight line at depth over limit: every request takes 32 ms because 16 in flight \
         share 500 a second. Nothing physical is that regular.",
    ),
    picture(
        "burst-credit/ends",
        "Throttled: burst credits that end",
        "Two straight lines and a step between them: before it the volume spends its credits, \
         after it it delivers its baseline.",
    ),
    picture(
        "peers/one-faulty",
        "Faulty: one disk of eight",
        "Alone it is a slow disk. Its seven peers do the same work four times faster, which proves \
         the fault.",
    ),
    picture(
        "cliff/flash",
        "Faulty: flash with a full write cache",
        "A line with a step. The load is the same on both sides; before the step writes go to the \
         fast cells, after it they do not.",
    ),
    picture(
        "thermal/flash",
        "Faulty: flash that throttles because of heat",
        "Steps up and down without a change in the load: while it is hot everything takes longer, \
         reads as well as writes.",
    ),
    picture(
        "shingled/scattered",
        "Faulty: random writes to a shingled disk",
        "Fast at first, while writes go to the reserved zone. When that is full each write waits \
         until a whole band is read and written.",
    ),
    picture(
        "periodic/flash",
        "Faulty: firmware with a timer",
        "Lines at equal distances, as with retries, but 5 ms apart: that would be 12,000 \
         revolutions a minute, and this device has no platter.",
    ),
    picture(
        "wake/platter",
        "Faulty or asleep: a disk that wakes up",
        "The band of the healthy disk, and now and then one request at half a second: always the \
         first after a pause.",
    ),
    picture(
        "media/eio",
        "Faulty: unreadable sectors",
        "A line that breaks off: at the bad sectors each read takes 0.4 s and fails.",
    ),
];

/// The text above the pictures.
pub(super) fn beginning(seed: u64) -> String {
    format!(
        "# Gallery: healthy and faulty disks\n\n\
         A heat map of latency: time on the horizontal axis, latency on the vertical one. The \
         upper map is\n\
         coloured by the number of I/Os, the lower one by the time that they waited; `iowhy map` \
         draws such\n\
         a map and `iowhy hist` the histogram. Below each picture is the verdict, expected or \
         not.\n\n\
         Every picture is a model of a disk with a known fault in virtual time; `rig gallery` \
         (seed {seed})\n\
         writes this page and gives the same result each time. Its scenario runs behind a real \
         block layer\n\
         with `sudo rig scenarios --only NAME --keep here` ([results](results/scenarios.md)). \
         After the\n\
         pictures: published measurements, read again.\n"
    )
}

/// One picture with its words.
pub(super) fn part(
    picture: &Picture,
    scenario: &WrittenScenario,
    name: &str,
    verdict: &str,
) -> String {
    let Picture { title, .. } = picture;
    let look = wrapped(picture.look);
    // The headline, the confidence and the numbers it rests on.
    let shown = ["▌", "  confidence", "  because"];
    let mut keep = false;
    let verdict: Vec<&str> = verdict
        .lines()
        .filter(|line| {
            if !line.starts_with("    ") {
                keep = shown.iter().any(|label| line.starts_with(label));
            }
            keep
        })
        .collect();
    let verdict = verdict.join("\n");
    format!(
        "\n## {title}\n\n{look}\n\n![Heat maps](gallery/{name}.png)\n\n```\n{}\n```\n\n{}",
        verdict.trim_end(),
        command(scenario)
    )
}

/// Text in lines of no more than 100 letters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let long = |line: &&mut String| line.chars().count() + word.chars().count() >= 100;
        if lines.last_mut().as_ref().is_none_or(long) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// How to make it, live.
fn command(scenario: &WrittenScenario) -> String {
    let faults: Vec<String> =
        scenario.faults.iter().map(|fault| format!(" --fault {fault}")).collect();
    let loads = scenario.loads.join("`, `");
    let beside = match scenario.beside {
        (0, _) => String::new(),
        (n, true) => format!(" and {n} more disks like it"),
        (n, false) => format!(" and {n} healthy disks (`--peers {n}`)"),
    };
    let text = format!(
        "Scenario `{}`: `--model {}{}`{beside}, load `{loads}`.",
        scenario.name,
        scenario.model,
        faults.concat(),
    );
    wrapped(&text) + "\n"
}
