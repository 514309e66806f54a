//! GlusterFS client log: servers that do not respond.
//!
//! ## Reads
//! `server 10.0.0.7:49152 has not responded in the last 42 seconds, disconnecting.` of
//! `rpc_clnt_ping_timer_expired`, and connections that were refused or timed out
//! (`socket_connect_finish`). Both become `kernel.log.remote` of the server, as the same of NFS in
//! the kernel's log.
//!
//! ## How to capture
//! `/var/log/glusterfs/MOUNT-POINT.log` of a client, `journalctl -t MOUNT-POINT`.
//!
//! ## Versions
//! GlusterFS 3.4 to 11.
//!
//! ## Caveats
//! I/O waits for `network.ping-timeout` (42 s by default) until the client gives a server up; a
//! replica serves after that. Whether the server or the network failed is not known to the client.
//! Other lines of the log are ignored.
//!
//! ## Not in this output
//! Latencies (`gluster volume profile`), the server's own log and disks.

use iowhy_model::{Message, MessageKind};

use crate::drive::log_events::LogEvents;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<GlusterLog>(
    "GlusterFS client log: servers that do not respond",
    Level::E,
    &["rpc_clnt_ping_timer_expired", "socket_connect_finish"],
    |line| silent(line).is_some(),
)
.resumed();

/// The time of a message, the message, and the server that does not respond.
fn silent(line: &str) -> Option<(&str, &str, &str)> {
    let of = |words: &str| line.contains(words);
    let (front, server) = if of("rpc_clnt_ping_timer_expired] ") && of(" has not responded in ") {
        line.split_once(": server ")?
    } else if of("socket_connect_finish] ") && of(" failed (") {
        line.split_once(": connection to ")?
    } else {
        return None;
    };
    // `[2017-05-20 13:04:17.335765] C [rpc-clnt-ping.c:160:rpc_clnt_ping_timer_expired]
    // 0-v-client-0`
    let (front, _) = front.rsplit_once("] ")?;
    let (stamp, _) = front.rsplit_once(" [")?;
    let (stamp, message) = (stamp.rsplit_once('[')?.1, line.get(front.len() + 2..)?);
    let stamp = stamp.split(']').next()?;
    let server = server.split(|c: char| c.is_whitespace()).next()?;
    let sound = server.contains(|c: char| c.is_ascii_alphanumeric());
    sound.then_some((stamp, message, server))
}

#[derive(Default)]
struct GlusterLog {
    events: LogEvents,
}

impl Reader for GlusterLog {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((stamp, message, server)) = silent(line) else { return Step::NotMine };
        self.events.line(stamp);
        let event = Message::new(stamp, message);
        self.events.add(MessageKind::Remote, server, event, sink.here(), sink);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.events.close(sink);
    }
}
