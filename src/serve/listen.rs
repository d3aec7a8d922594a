//! Where the interface listens: the socket of the folder, or of the user's runtime folder where the path would be
//! too long for the system, and TCP where asked for.

use std::fs::{self, DirBuilder};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;

use super::accept::{self, Allowed};
use super::announce::Announced;
use super::guard::Rules;
use super::token::Token;
use super::{Api, Options, ServeError};
use crate::engine::door::Door;
use crate::store::folder::StateFolder;

/// The longest path of a socket that every system takes.
const LONGEST: usize = 100;

/// Folders for what lives only while somebody is logged in.
#[derive(Debug, Clone, Default)]
pub struct Runtime {
    /// `$XDG_RUNTIME_DIR`
    pub user: Option<PathBuf>,
    /// The temporary folder; in it one of the user's own is made.
    pub temp: Option<PathBuf>,
}

impl Runtime {
    /// Returns what this process's environment says.
    pub fn of_this_process() -> Self {
        let user = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
        Self { user, temp: Some(std::env::temp_dir()) }
    }
}

/// Returns where the socket of a folder is to be, and makes the folder that it needs.
pub fn socket_place(folder: &StateFolder, runtime: &Runtime) -> Result<PathBuf, ServeError> {
    let near = folder.engine_sock();
    if near.as_os_str().len() <= LONGEST {
        return Ok(near);
    }
    let uid = rustix::process::getuid().as_raw();
    let name = format!("{}.sock", short_name(&folder.root));
    let user =
        runtime.user.as_ref().filter(|user| is_own(user, uid).is_ok()).map(|user| user.join("quarterdeck"));
    let temp = runtime.temp.as_ref().map(|temp| temp.join(format!("quarterdeck-{uid}")));
    let mut why = "the path of the state folder is too long, and there is no other place".to_owned();
    for place in [user, temp].into_iter().flatten() {
        let socket = place.join(&name);
        if socket.as_os_str().len() > LONGEST {
            why = format!("{} is too long as well", socket.display());
            continue;
        }
        match make_own(&place, uid) {
            Ok(()) => return Ok(socket),
            Err(error) => why = format!("{} cannot be used: {error}", place.display()),
        }
    }
    Err(ServeError::NoPlace(why))
}

/// Sixteen digits that stand for a path, the same every time (FNV-1a).
pub fn short_name(path: &Path) -> String {
    format!("{:016x}", super::routes::digest(&[path.as_os_str().as_encoded_bytes()]))
}

fn make_own(place: &Path, uid: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => is_own(place, uid),
    }
}

/// Checks that a folder is this user's alone: in a shared place somebody else could have made it.
fn is_own(place: &Path, uid: u32) -> io::Result<()> {
    let found = fs::symlink_metadata(place)?;
    if found.is_dir() && found.uid() == uid && is_private(&found) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is not this user's alone"))
}

/// Returns whether nobody else may use a file or folder.
pub(super) fn is_private(found: &fs::Metadata) -> bool {
    const OTHERS: u32 = 0o077;
    found.permissions().mode() & OTHERS == 0
}

/// Listens wherever is asked for, until `closed` ends. A socket that cannot be made is no reason not to run; an
/// address that was asked for is.
pub(super) async fn open(
    door: &Door,
    options: &Options,
    closed: watch::Receiver<()>,
) -> Result<Announced, ServeError> {
    let tcp = match options.listen {
        Some(address) => Some(bind_tcp(address, options).await?),
        None => None,
    };
    let mut rules = Rules::socket_only();
    let address = tcp.as_ref().and_then(|tcp| tcp.local_addr().ok());
    if let Some(address) = address {
        let (hosts, origins) = (options.hosts.clone(), options.origins.clone());
        rules = rules.and_tcp(Token::of(door.folder())?, address, hosts, origins);
    }
    let api = Api::new(door.clone(), options, rules);
    let mut announced = Announced::this_process(api.0.version.epoch);
    let router = api.router();
    match socket_place(door.folder(), &options.runtime).and_then(|path| Ok((bind_socket(&path)?, path))) {
        Ok((socket, path)) => {
            tokio::spawn(accept::serve(socket, Allowed::SOCKET, router.clone(), closed.clone()));
            announced.socket = Some(path);
        }
        Err(error) => announced.trouble = Some(error.to_string()),
    }
    if let Some(tcp) = tcp {
        tokio::spawn(accept::serve(tcp, Allowed::TCP, router, closed));
        announced.tcp = address;
    }
    Ok(announced)
}

async fn bind_tcp(address: SocketAddr, options: &Options) -> Result<TcpListener, ServeError> {
    if !address.ip().is_loopback() && !options.allow_remote {
        return Err(ServeError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address, source })
}

fn bind_socket(path: &Path) -> Result<UnixListener, ServeError> {
    let failed = |source| ServeError::Socket { path: path.to_owned(), source };
    // This engine has the folder's lock: what is left there belonged to one that is gone.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let socket = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_path_is_in_the_folder_and_a_long_one_in_the_users_runtime_folder() {
        let temp = tempfile::tempdir().unwrap();
        let short = StateFolder::at("/p/.quarterdeck");
        assert_eq!(socket_place(&short, &Runtime::default()).unwrap(), short.engine_sock());
        let long = StateFolder::at(Path::new("/").join("x".repeat(120)));
        assert!(matches!(socket_place(&long, &Runtime::default()), Err(ServeError::NoPlace(_))));
        let mine = temp.path().join("mine");
        DirBuilder::new().mode(0o700).create(&mine).unwrap();
        let runtime = Runtime { user: Some(mine.clone()), temp: Some(temp.path().to_owned()) };
        let placed = socket_place(&long, &runtime).unwrap();
        assert!(placed.starts_with(mine.join("quarterdeck")), "{}", placed.display());
        assert_eq!(socket_place(&long, &runtime).unwrap(), placed, "the same every time");
        let other = StateFolder::at(Path::new("/").join("y".repeat(120)));
        assert_ne!(socket_place(&other, &runtime).unwrap(), placed);
    }

    #[test]
    fn a_place_that_others_can_enter_is_not_used() {
        let temp = tempfile::tempdir().unwrap();
        let long = StateFolder::at(Path::new("/").join("x".repeat(120)));
        let open = temp.path().join("open");
        DirBuilder::new().mode(0o700).create(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        let runtime = Runtime { user: Some(open), temp: Some(temp.path().to_owned()) };
        let placed = socket_place(&long, &runtime).unwrap();
        let own = placed.parent().unwrap();
        assert!(own.file_name().unwrap().to_string_lossy().starts_with("quarterdeck-"), "{}", own.display());
        assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(own, fs::Permissions::from_mode(0o755)).unwrap();
        let refused = socket_place(&long, &runtime).unwrap_err().to_string();
        assert!(refused.contains("not this user's alone"), "{refused}");
    }
}
