"""Images without a Docker daemon: the steps of a Dockerfile, done one by one in clean roots.

``python:X-slim`` is a new Debian with a copy of the Python that runs this and its own pip; Beam's
image is Beam's program that starts workers, built from its Go module. All else is what the
Dockerfile says. Needs root, debootstrap, unshare, Go, and a network.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

DEBIAN = "trixie"
LIBRARIES = "ca-certificates,netbase,tzdata,libbz2-1.0,libffi8,liblzma5,libncursesw6,libreadline8t64,libsqlite3-0,libssl3t64,libuuid1,zlib1g"  # noqa: E501
TOOLS = ("debootstrap", "unshare", "chroot", "go")
BOOT = "github.com/apache/beam/sdks/v2/python/container"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
NETWORK = re.compile(r"PIP_(CERT|INDEX_URL)|(HTTPS?|NO)_PROXY", re.IGNORECASE)
"""What is to be known of the network here: `docker build` gets it by --build-arg."""
INSIDE = """
root=$1 folder=$2 user=$3; shift 3
mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do mkdir -p "$root$2"; mount --rbind "$1" "$root$2"; shift 2; done; shift
exec chroot --userspec="$user" "$root" /usr/bin/env -i -C "$folder" "$@"
"""


@dataclass(frozen=True)
class Image:
    """A folder that is the root of processes, and what they get."""

    root: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"
    entrypoint: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    user: str = "0:0"

    def command(
        self, *command: object, binds: Mapping[Path, str] | None = None, **environment: str
    ) -> list[str]:
        """Return the command line that runs a command in the image.

        The command is the first process of a PID namespace.
        """
        given = {"PATH": os.defpath, "HOME": "/root"} | {**self.environment} | environment
        mounted = [str(part) for pair in (binds or {}).items() for part in pair]
        unshare = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", INSIDE)
        variables = (f"{name}={value}" for name, value in given.items())
        inside = ("sh", str(self.root), self.folder, self.user, *mounted, "--", *variables)
        return [*unshare, *inside, *map(str, command)]

    def path(self, inside: str) -> Path:
        """Return where a path of the image lies outside of it."""
        return self.root / str(Path(self.folder, inside)).lstrip("/")


def build(source: Path, folder: Path, arguments: Mapping[str, str]) -> Image:
    """Do what the Dockerfile of a folder says; gives the last stage.

    Raises ``CalledProcessError`` where a step fails, ``ValueError`` for a step that is not known.
    """
    stages: dict[str, Image] = {}
    known: dict[str, str] = {}  # arguments before the first stage
    scope = known
    image = None
    for keyword, rest in _instructions((source / "Dockerfile").read_text("utf-8")):
        if keyword == "ARG":
            name, _, default = rest.partition("=")
            scope[name] = arguments.get(name, default or known.get(name, ""))
            continue
        if keyword == "FROM":
            base, _, name = _filled(rest, known).partition(" AS ")
            image, scope = _base(base, folder / (name or "image")), {}
            stages[name] = image
            continue
        assert image is not None
        image = _step(image, keyword, rest, source=source, stages=stages, scope=scope)
        stages[[*stages][-1]] = image
    return stages[""]


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    for line in filter(None, map(str.strip, lines)):
        keyword, _, rest = line.partition(" ")
        yield keyword, rest


def _filled(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], text)


def _step(
    image: Image,
    keyword: str,
    rest: str,
    *,
    source: Path,
    stages: Mapping[str, Image],
    scope: Mapping[str, str],
) -> Image:
    match keyword:
        case "ENV":
            pairs = (pair.split("=", 1) for pair in shlex.split(rest))
            return replace(image, environment={**image.environment, **dict(pairs)})
        case "WORKDIR":
            image.path(rest).mkdir(parents=True, exist_ok=True)
            return replace(image, folder=rest)
        case "USER":
            return replace(image, user=rest)
        case "ENTRYPOINT":
            return replace(image, entrypoint=tuple(json.loads(rest)))
        case "HEALTHCHECK":
            return replace(image, health=tuple(json.loads(rest.partition("CMD ")[2])))
        case "COPY":
            _copy(image, _filled(rest, scope).split(), source, stages)
            return image
        case "RUN":
            _run(image, rest, stages, scope)
            return image
    raise ValueError(f"{keyword}: no such step is known here.")


def _copy(image: Image, words: list[str], source: Path, stages: Mapping[str, Image]) -> None:
    """Copy files, of another stage or of what .dockerignore lets in."""
    *names, target = words
    allowed = [
        line for line in (source / ".dockerignore").read_text("utf-8").split() if line != "*"
    ]
    outside = [line.removeprefix("**/") for line in allowed if not line.startswith("!")]
    if names[0].startswith("--from="):
        stage = stages[names.pop(0).removeprefix("--from=")]
        found = [stage.path(name) for name in names]
    else:
        for name in names:
            if not any(fnmatch(name, line.removeprefix("!")) for line in allowed):
                raise FileNotFoundError(f"{name}: .dockerignore does not let it in.")
        found = [source / name for name in names]
    into = image.path(target)
    for path in found:
        if path.is_dir():
            ignore = shutil.ignore_patterns(*outside)
            shutil.copytree(path, into, ignore=ignore, dirs_exist_ok=True, symlinks=True)
        else:
            file = into / path.name if target.endswith("/") else into
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, file)


def _run(image: Image, rest: str, stages: Mapping[str, Image], scope: Mapping[str, str]) -> None:
    binds = {}
    while rest.startswith("--mount="):
        option, _, rest = rest.partition(" ")
        mount = dict(pair.split("=") for pair in option.removeprefix("--mount=").split(","))
        if mount["type"] != "bind":
            raise ValueError(f"{option}: only binds are known here.")
        binds[stages[mount["from"]].path(mount["source"])] = mount["target"]
        rest = rest.lstrip()
    network = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    command = image.command("/bin/sh", "-c", rest, binds=binds, **network, **scope)
    subprocess.run(command, check=True)


# --- what registries have: the first line of a stage


def _base(name: str, root: Path) -> Image:
    name = re.sub("@sha256:[0-9a-f]{64}$", "", name)
    if found := re.fullmatch(r"apache/beam_python[\d.]+_sdk:([\d.]+)", name):
        return _beam(root, found[1])
    if name == f"python:{sys.version_info.major}.{sys.version_info.minor}-slim":
        return _slim(root)
    raise ValueError(f"{name}: no such image is known here.")


def _beam(root: Path, version: str) -> Image:
    program = root / "opt/apache/beam/boot"
    program.parent.mkdir(parents=True)
    settings = os.environ | {"GOBIN": str(root), "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    subprocess.run(
        [_tool("go"), "install", f"{BOOT}@v{version}"], cwd=root, env=settings, check=True
    )
    (root / "container").rename(program)
    return Image(root)


def _slim(root: Path) -> Image:
    options = ("--variant=minbase", f"--include={LIBRARIES}", DEBIAN, str(root))
    subprocess.run([_tool("debootstrap"), *options], check=True, stdout=subprocess.DEVNULL)
    for file in ("/etc/resolv.conf", "/etc/hosts", BUNDLE):  # the network here
        shutil.copy(file, root / file[1:])
    local, name = root / "usr/local", f"python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.copy(os.path.realpath(sys._base_executable), local / "bin" / name)
    for link in ("python", "python3"):
        (local / "bin" / link).symlink_to(name)
    ignore = shutil.ignore_patterns(
        "site-packages", "dist-packages", "__pycache__", "test", "tests", "idle_test"
    )
    shutil.copytree(sysconfig.get_path("stdlib"), local / "lib" / name, ignore=ignore)
    shared = Path(str(sysconfig.get_config_var("LIBDIR")))
    for library in shared.glob(f"lib{name}.so*"):
        shutil.copy(library, local / "lib", follow_symlinks=False)
    image = Image(root, {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"})
    subprocess.run(image.command("ldconfig"), check=True)
    subprocess.run(image.command("python", "-m", "ensurepip", "--default-pip"), check=True)
    return image


def _tool(name: str) -> str:
    return str(shutil.which(name))


def missing() -> Sequence[str]:
    """List the tools that are missing; ``root`` stands for its rights."""
    found = [tool for tool in TOOLS if shutil.which(tool) is None]
    return found if os.geteuid() == 0 else ["root", *found]
