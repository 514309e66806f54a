//! Documents that are known by their first bytes and are not read, and what to do instead: the
//! error names both.

/// What a document is, and how it becomes one that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported {
    begins: &'static [u8],
    pub(crate) what: &'static str,
    pub(crate) instead: &'static str,
}

const KNOWN: [Unsupported; 10] = [
    Unsupported {
        begins: b"PAR1",
        what: "a Parquet file",
        instead: "iowhy writes Parquet but does not read it; use the original capture, or a CSV: \
                  `duckdb -csv -c \"from 'FILE'\"`",
    },
    // `struct file_magic` of sysstat's sa.h, in either byte order.
    Unsupported { begins: b"\x96\xd5\x75\x21", what: SYSSTAT, instead: SYSSTAT_INSTEAD },
    Unsupported { begins: b"\xd5\x96\x21\x75", what: SYSSTAT, instead: SYSSTAT_INSTEAD },
    // `MYMAGIC` of atop's rawlog.h, in either byte order.
    Unsupported { begins: b"\xef\xbe\xed\xfe", what: ATOP, instead: ATOP_INSTEAD },
    Unsupported { begins: b"\xfe\xed\xbe\xef", what: ATOP, instead: ATOP_INSTEAD },
    Unsupported {
        begins: b"PERFILE2",
        what: "perf's binary file",
        instead: "convert it to text on the machine that wrote it: `perf script -i FILE > \
                  FILE.txt`",
    },
    Unsupported {
        begins: b"\x17\x08\x44tracing",
        what: "trace-cmd's binary file",
        instead: "convert it to text on the machine that wrote it: `trace-cmd report FILE > \
                  FILE.txt`",
    },
    Unsupported { begins: b"\x7fELF", what: "a program", instead: "run it, and use its output" },
    Unsupported { begins: b"\x89PNG\r\n", what: "a picture", instead: TEXT_INSTEAD },
    Unsupported { begins: b"%PDF-", what: "a PDF document", instead: TEXT_INSTEAD },
];

const SYSSTAT: &str = "sysstat's binary daily file";
const SYSSTAT_INSTEAD: &str =
    "convert it to text on the machine that wrote it: `sadf -d FILE -- -dp`, or `sar -dp -f FILE`";
const ATOP: &str = "atop's binary log";
const ATOP_INSTEAD: &str = "convert it to text on the machine that wrote it: `atop -r FILE -P \
                            DSK,LVM,MDD,CPU`";
const TEXT_INSTEAD: &str = "use the listing as text";

impl Unsupported {
    /// Whether no text begins so: listings that stand in it are parts of something else.
    pub(crate) fn is_no_text(&self) -> bool {
        self.begins.iter().any(|byte| !(b' '..=b'~').contains(byte) && !byte.is_ascii_whitespace())
    }
}

/// What begins with these bytes, if it is known.
pub(crate) fn unsupported(bytes: &[u8]) -> Option<Unsupported> {
    KNOWN.into_iter().find(|known| bytes.starts_with(known.begins))
}

#[cfg(test)]
mod tests {
    use iowhy_model::Recording;

    use crate::{Error, scan};

    #[test]
    fn a_document_that_is_not_read_is_named() {
        let was_reported = |bytes: &[u8]| {
            let error = scan("x", &mut &bytes[..], None, &mut Recording::new());
            error.err().map(|error| (error.to_string(), error.hint()))
        };
        let (reported, hint) = was_reported(b"PAR1\x15\x04\x15\n\0\0PAR1").unwrap();
        assert_eq!(reported, "`x` is a Parquet file, which is not supported");
        assert!(hint.contains("duckdb"), "{hint}");
        let (reported, _) = was_reported(b"\x96\xd5\x75\x21\x0c\x06\x01\0").unwrap();
        assert_eq!(reported, "`x` is sysstat's binary daily file, which is not supported");
        assert!(
            was_reported(b"\x7fELF\x02\x01\x01\0fio: read: IOPS=1")
                .unwrap()
                .0
                .contains("a program")
        );
        // A program that prints listings holds pieces of them.
        let program = b"\x7fELF\x02\x01\x01\0\n  read: IOPS=%s, BW=%s\n    lat (usec): min=3, max=9, avg=4.1\n";
        assert!(was_reported(program).unwrap().0.contains("a program"));
        let error = scan("x", &mut &b"PAR 1 of 2\n"[..], None, &mut Recording::new());
        assert!(matches!(error, Err(Error::Nothing { .. })));
    }
}
