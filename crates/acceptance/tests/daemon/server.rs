//! A slapd of ours for one test: its folder, its process, and raw connections to it.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::{fs::symlink, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use ironbark_testkit::Flavor;
use tempfile::TempDir;

/// A folder with a link named slapd and a configuration.
pub(crate) struct Place {
    folder: TempDir,
}

/// A server in the foreground, stopped on drop.
pub(crate) struct Running {
    pub(crate) place: Place,
    child: Child,
}

impl Place {
    /// `settings` come before `database monitor`.
    pub(crate) fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        symlink(Flavor::Ironbark.program().unwrap(), folder.path().join("slapd")).unwrap();
        let place = Self { folder };
        let pid = place.path("pid").display().to_string();
        fs::write(
            place.path("slapd.conf"),
            format!("pidfile {pid}\n{settings}\ndatabase monitor\n"),
        )
        .unwrap();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The URL of a socket in the folder.
    pub(crate) fn local_url(&self) -> String {
        format!(
            "ldapi://{}/",
            self.path("ldapi").display().to_string().replace('/', "%2F")
        )
    }

    /// slapd with the configuration, some URLs, and no syslog.
    pub(crate) fn slapd(&self, urls: &str) -> Command {
        let mut command = Command::new(self.path("slapd"));
        command
            .current_dir(self.folder.path())
            .args(["-s0", "-f", "slapd.conf", "-h", urls]);
        command.stdin(Stdio::null());
        command
    }

    /// The process number that the server has written.
    pub(crate) fn pid(&self) -> u32 {
        fs::read_to_string(self.path("pid")).unwrap().trim().parse().unwrap()
    }
}

impl Running {
    /// Starts a server with `-d 256`, listening on a local socket and on a TCP port that the system chooses.
    pub(crate) fn start(settings: &str) -> Self {
        let place = Place::new(settings);
        let log = fs::File::create(place.path("log")).unwrap();
        let urls = format!("ldap://127.0.0.1:0/ {}", place.local_url());
        let child = place.slapd(&urls).args(["-d", "256"]).stderr(log).spawn().unwrap();
        let mut running = Self { place, child };
        running.wait_for_line("slapd starting");
        running
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.place.path("log")).unwrap()
    }

    /// Waits until the log has a line that contains `text`.
    pub(crate) fn wait_for_line(&mut self, text: &str) -> String {
        wait_until(|| {
            let log = self.log();
            let line = log.lines().find(|line| line.contains(text)).map(str::to_owned);
            if line.is_none()
                && let Some(status) = self.child.try_wait().unwrap()
            {
                panic!("slapd ended with {status} before it said {text:?}:\n{log}");
            }
            line
        })
        .unwrap_or_else(|| panic!("slapd did not say {text:?}:\n{}", self.log()))
    }

    pub(crate) fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.place.path("ldapi")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A TCP connection. The port is the one that cn=Monitor shows; the log has it in the first ACCEPT line.
    pub(crate) fn connect_tcp(&self) -> TcpStream {
        let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
        let inodes = socket_inodes(self.child.id());
        let port = sockets
            .lines()
            .skip(1)
            .find_map(|line| {
                let mut columns = line.split_whitespace().skip(1);
                let (local, state) = (columns.next()?, columns.nth(1)?);
                let inode = columns.nth(5)?;
                (state == "0A" && inodes.iter().any(|own| own == inode))
                    .then(|| u16::from_str_radix(local.rsplit(':').next()?, 16).ok())
                    .flatten()
            })
            .unwrap();
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Waits for the end. Returns the exit status.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        wait_until(|| self.child.try_wait().unwrap())
            .unwrap_or_else(|| panic!("slapd goes on:\n{}", self.log()))
            .code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sockets of a process, as /proc/net names them.
fn socket_inodes(pid: u32) -> Vec<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    links
        .filter_map(|link| {
            let target = fs::read_link(link.ok()?.path()).ok()?;
            let text = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned();
            Some(text)
        })
        .collect()
}

pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

/// Runs a command that is expected to end soon.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asks repeatedly, for as long as a slow machine may need.
pub(crate) fn wait_until<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..PATIENCE.as_millis() / 10 {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    None
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// A search for the root DSE.
pub(crate) fn search(id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![0x30, 0x26, 0x02, 0x02, high, low, 0x63, 0x20];
    message.extend([
        0x04, 0, 0x0a, 1, 0, 0x0a, 1, 0, 0x02, 1, 0, 0x02, 1, 0, 0x01, 1, 0, 0x87, 0x0b,
    ]);
    message.extend(b"objectClass");
    message.extend([0x30, 0]);
    message
}

/// A search for the whole schema.
pub(crate) fn search_subschema(id: u16) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![0x30, 0x35, 0x02, 0x02, high, low, 0x63, 0x2f, 0x04, 12];
    message.extend(b"cn=Subschema");
    message.extend([0x0a, 1, 0, 0x0a, 1, 0, 0x02, 1, 0, 0x02, 1, 0, 0x01, 1, 0, 0x87, 0x0b]);
    message.extend(b"objectClass");
    message.extend([0x30, 3, 0x04, 1, b'+']);
    message
}

/// Reads one whole message: its ID and the tag of its operation. `None` at the end of the stream.
pub(crate) fn read_message(stream: &mut impl Read) -> Option<(u16, u8)> {
    let mut header = [0; 2];
    match stream.read(&mut header[..1]).unwrap() {
        0 => return None,
        _ => stream.read_exact(&mut header[1..]).unwrap(),
    }
    assert_eq!(header[0], 0x30);
    let mut length = usize::from(header[1]);
    if length >= 0x80 {
        let mut long = vec![0; length - 0x80];
        stream.read_exact(&mut long).unwrap();
        length = long.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    let id_length = usize::from(body[1]);
    let id = body[2..2 + id_length]
        .iter()
        .fold(0, |id: u16, byte| id << 8 | u16::from(*byte));
    Some((id, body[2 + id_length]))
}

/// Reads to the end; the OID of the notice of disconnection must be in what came.
pub(crate) fn read_notice(stream: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let oid = b"1.3.6.1.4.1.1466.20036";
    assert!(bytes.windows(oid.len()).any(|part| part == oid), "{bytes:?}");
    bytes
}

pub(crate) fn write(stream: &mut impl Write, bytes: &[u8]) {
    stream.write_all(bytes).unwrap();
}

/// How long a test waits for expected events.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
pub(crate) const SEARCH_DONE: u8 = 0x65;
