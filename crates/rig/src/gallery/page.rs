//! The page: what hangs in it, in which order, and what to look at.

use iowhy_lab::written::WrittenScenario;

/// A picture of the gallery.
pub struct Picture {
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

/// All pictures, the good beside the bad.
pub const PICTURES: &[Picture] = &[
    picture(
        "retry/near-miss",
        "Good: a disk read from end to end",
        "One line. Every read of 128 KiB takes the 2 ms that a fifth of a revolution and the command take. Nothing above it, nothing in the intensity map that is not in the frequency map.",
    ),
    picture(
        "retry/7200",
        "Bad: a dusty disk that reads sectors twice",
        "The good line is still there, and above it stand others, each one revolution (8.33 ms) higher and about a third as bright. In the intensity map the upper lines are the bright ones: that is where the time goes. Seeks or queues never make lines at equal distance.",
    ),
    picture(
        "slow/near-miss",
        "Good: a disk that looks here and there",
        "A band from 3 to 20 ms: each read costs a seek and on average half a revolution. Wide, but with an upper edge; a turning disk looks like this when it is well.",
    ),
    picture(
        "slow/platter",
        "Bad: the same disk, four times slower",
        "The same band, two octaves up, under a load that leaves the disk idle half of the time. Its shape says nothing; that so little is asked of it does.",
    ),
    picture(
        "missed-revolution/7200",
        "Healthy disk, bad habit: synchronous writes one behind the other",
        "One line again, but at a whole revolution: each write comes just after its sector has passed. The disk is well. Compare with the dusty disk: there the lowest line is the brightest and lies at 2 ms.",
    ),
    picture(
        "saturated/platter",
        "Healthy disk, too much load",
        "The band of the healthy disk, lifted by the queue: twelve are always in flight, so each waits for about eleven others. Latency is depth over rate, and the disk does all it can.",
    ),
    picture(
        "batch/platter",
        "Healthy disk, load in batches",
        "Columns, not lines: with each batch latency climbs from the lowest row to the highest, because the last of sixteen waits for fifteen. Between the batches there is nothing.",
    ),
    picture(
        "large/platter",
        "Healthy disk, large requests",
        "One line at 8.7 ms: so long it takes to move a megabyte under the head. Per byte the disk is fast.",
    ),
    picture(
        "stall/flash",
        "Bad: a disk that freezes",
        "A quiet line near the bottom and, at even distance in time, single columns that reach half a second: whoever comes during a freeze waits for its end, and whoever comes early waits longest. Few in the frequency map, everything in the intensity map.",
    ),
    picture(
        "stall/near-miss",
        "Good: flash with bursts",
        "Columns at even distance in time as well, but they end below a millisecond: a burst is served at once.",
    ),
    picture(
        "cap/iops",
        "The size of what was bought: a volume at its limit",
        "One dead straight line at depth over limit. Nothing physical is that regular: every request takes 32 ms because 16 in flight share 500 a second.",
    ),
    picture(
        "cap/near-miss",
        "Good: the same kind of volume, below its limit",
        "A thin band near 0.8 ms: the way there and back.",
    ),
    picture(
        "burst-credit/ends",
        "The size of what was bought: credits that end",
        "Two straight lines and a step between them. Left of it the volume spends its credits, right of it it gives what was paid for.",
    ),
    picture(
        "peers/one-faulty",
        "Bad: one disk of eight",
        "Seen alone: a slow disk. Its seven neighbours do the same work four times quicker, and that is the proof.",
    ),
    picture(
        "cleaning/flash",
        "Bad: flash that cleans while it is written",
        "Reads wait behind the cleaning of blocks: the low line of quick reads, and a cloud two octaves and more above it, there only because somebody writes.",
    ),
    picture(
        "cliff/flash",
        "Bad: flash whose quick cells are full",
        "A line with a step in it. The load is the same on both sides; left of the step writes go to quick cells, right of it they take the slow way.",
    ),
    picture(
        "thermal/flash",
        "Bad: flash that is too hot",
        "Steps up and down again, with no change in the load: each time it is hot, everything takes longer, reads as well as writes.",
    ),
    picture(
        "shingled/scattered",
        "Bad: scattered writes on a shingled disk",
        "Quick at first, while writes go to the stretch that is kept for them. When that is full each write waits for a band to be read and written whole.",
    ),
    picture(
        "recovery/flash",
        "Bad: a disk that rescues sectors",
        "A quiet line, and far above it single requests that all took the same time: not a tail but a time limit.",
    ),
    picture(
        "periodic/flash",
        "Bad: firmware that answers on ticks",
        "Lines at equal distance, like the dusty disk, but 5 ms apart: that would be 12,000 revolutions a minute, at which no disk spins, and this one has no platter.",
    ),
    picture(
        "wake/platter",
        "Bad, or just asleep: a disk that has to wake",
        "The band of the healthy disk, and now and then one request at half a second: always the first after a pause.",
    ),
    picture(
        "media/eio",
        "Bad: sectors that cannot be read",
        "A line that breaks off: where the bad stretch is, each read takes 0.4 s and fails.",
    ),
];

/// What stands above the pictures.
pub fn beginning(seed: u64) -> String {
    format!(
        "# What good and bad look like\n\n\
         A heat map of latency: time runs to the right, latency upwards; the upper map is coloured by the number of\n\
         I/Os, the lower one by the time that was waited in them. Good and bad disks can be told apart by eye, once one\n\
         has seen a few of each. Here they are: first what the picture shows, then the histogram, then what `iowhy why`\n\
         says of it, then how to make it.\n\n\
         Every picture is a model of a disk with a known fault, played in virtual time; this page is written by\n\
         `rig gallery` (seed {seed}) and comes out the same each time. The same disks live, behind the kernel's own block\n\
         layer, are the scenarios of [results/scenarios](results/scenarios.md). Where the verdict is not what it should be, that is left standing.\n"
    )
}

/// One picture with its words.
pub fn part(
    picture: &Picture,
    scenario: &WrittenScenario,
    name: &str,
    histogram: &str,
    verdict: &str,
) -> String {
    let Picture { title, .. } = picture;
    let look = wrapped(picture.look);
    // The reasoning behind it fills a screen; what matters stands before it.
    let verdict: Vec<&str> = verdict.lines().take_while(|line| *line != "Evidence").collect();
    let verdict = verdict.join("\n");
    let histogram: Vec<&str> =
        histogram.lines().take_while(|line| !line.starts_with("  lost")).collect();
    let histogram = histogram.join("\n");
    format!(
        "\n## {title}\n\n{look}\n\n![{title}](gallery/{name}.png)\n\n```\n{}\n```\n\n```\n{}\n```\n\n{}",
        histogram.trim_end(),
        verdict.trim_end(),
        command(scenario)
    )
}

/// Text in lines of no more than 110 letters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let long = |line: &&mut String| line.chars().count() + word.chars().count() > 110;
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
    format!(
        "The disk: `rig disk --model {}{}`{beside}; the load: `{loads}`.\n\
         Live, and judged: `sudo rig scenarios --only {} --keep here`.\n",
        scenario.model,
        faults.concat(),
        scenario.name
    )
}
