import { constant, computed, option } from './option.ts'
import { duration, stringMatching, path, bool, integer, listOf, mapOf } from './option-types.ts'

/** Default capabilities of containers, the same as those of container engines. */
const DEFAULT_CAPABILITIES: readonly string[] = [
  'audit_write',
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
]

/**
 * Capabilities that isolated tasks do not get by default, because they see files of the host:
 * `dac_override` can read files of other users, and results of `mknod` and `setfcap` outlive the
 * mounts that make them harmless (decision 0068).
 */
const EXCLUDED_EXEC_CAPABILITIES: ReadonlySet<string> = new Set([
  'dac_override',
  'mknod',
  'setfcap',
])
export const DEFAULT_EXEC_CAPABILITIES: readonly string[] = DEFAULT_CAPABILITIES.filter(
  (name) => !EXCLUDED_EXEC_CAPABILITIES.has(name),
)

const DEFAULT_DENIED_USERS: readonly string[] = ['root', '0']

/** Groups whose members can read secrets of the machine or become root without another password. */
export const DEFAULT_DENIED_GROUPS: readonly string[] = [
  'root',
  '0',
  'adm',
  'admin',
  'disk',
  'docker',
  'incus',
  'incus-admin',
  'kmem',
  'kvm',
  'libvirt',
  'lxd',
  'mem',
  'podman',
  'shadow',
  'ssl-cert',
  'staff',
  'sudo',
  'systemd-journal',
  'wheel',
]

/** Process limit of a task, which protects against fork bombs. */
const PIDS_MAX = 4_096

const capability = stringMatching(
  'the name of a capability, or `all`',
  /^(?:cap_)?[a-z][a-z_]{1,31}$/i,
)
const user = stringMatching('the name or number of a user', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/)
const group = stringMatching('the name or number of a group', /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/)
const engineEndpoint = stringMatching(
  '`unix://` and an absolute path, or `tcp://host:port`',
  /^(?:unix:\/\/\/\S{1,200}|tcp:\/\/(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:]{2,39}\]):[0-9]{1,5})$/,
)
const MINUTE_MS = 60_000
const gcTime = duration({ msMin: 1_000, msMax: 366 * 24 * 60 * MINUTE_MS })
const pids = integer({ min: 1, max: 4_194_304 })
const paths = mapOf({
  name: /^\/[^\p{Cc}]{0,4095}$/u,
  value: /^\/[^\p{Cc}]{0,4095}$/u,
  rule: 'both are absolute paths: of the machine, and of the task',
})

const noGroups: readonly string[] = []
const noPaths: Readonly<Record<string, string>> = {}
const capsText = 'what ordinary programs need of root, without the network and the machine'

/** Settings of the drivers. */
export const driverOptions = {
  rawExec: option({
    kind: bool,
    file: ['plugin', 'raw_exec', 'config', 'enabled'],
    environment: 'REEVE_RAW_EXEC',
    byDefault: computed('`false`; `true` with `--dev`', ({ dev }) => dev),
    help: 'Whether tasks may run as plain processes, without isolation from this machine.',
    read: (config) => config.client.rawExec,
  }),
  exec: option({
    kind: bool,
    file: ['plugin', 'exec', 'config', 'enabled'],
    environment: 'REEVE_EXEC',
    byDefault: constant(true, '`true`'),
    help: 'Whether tasks may run as isolated processes, where the agent is root and the machine can.',
    read: (config) => config.client.exec.enabled,
  }),
  execCaps: option({
    kind: listOf(capability),
    file: ['plugin', 'exec', 'config', 'allow_caps'],
    byDefault: constant(
      DEFAULT_EXEC_CAPABILITIES,
      DEFAULT_EXEC_CAPABILITIES.map((name) => `\`${name}\``).join(', '),
    ),
    help: 'Capabilities that isolated tasks may ask for; `all` is any. Without asking they have none.',
    read: (config) => config.client.exec.allowCaps,
  }),
  execDeniedUsers: option({
    kind: listOf(user),
    file: ['plugin', 'exec', 'config', 'denied_users'],
    byDefault: constant(DEFAULT_DENIED_USERS, '`root`, `0`'),
    help: 'Users that no isolated task runs as.',
    read: (config) => config.client.exec.denyUsers,
  }),
  execDeniedGroups: option({
    kind: listOf(group),
    file: ['plugin', 'exec', 'config', 'denied_groups'],
    byDefault: constant(
      DEFAULT_DENIED_GROUPS,
      DEFAULT_DENIED_GROUPS.map((name) => `\`${name}\``).join(', '),
    ),
    help:
      'Groups that no isolated task has, unless it runs as root: dropped from the supplementary ' +
      'groups of its user, refused as its primary group. Group 0 is always one of them.',
    read: (config) => config.client.exec.denyGroups,
  }),
  execAllowedGroups: option({
    kind: listOf(group),
    file: ['plugin', 'exec', 'config', 'allow_groups'],
    byDefault: constant(noGroups, 'none'),
    help:
      'Groups that any isolated task may name in `user = "uid:gid"`, beyond those that the ' +
      'machine gives the user; `all` is any that is not denied.',
    read: (config) => config.client.exec.allowGroups,
  }),
  execDefaultUser: option({
    kind: user,
    file: ['plugin', 'exec', 'config', 'default_user'],
    byDefault: constant('nobody', '`nobody`'),
    help: 'Who an isolated task runs as that does not say.',
    read: (config) => config.client.exec.defaultUser,
  }),
  execHostNamespaces: option({
    kind: bool,
    file: ['plugin', 'exec', 'config', 'allow_host_namespaces'],
    byDefault: constant(false, '`false`'),
    help: 'Whether isolated tasks may share the processes or memory segments of the machine.',
    read: (config) => config.client.exec.allowHostNamespaces,
  }),
  execCpuHardLimit: option({
    kind: bool,
    file: ['plugin', 'exec', 'config', 'cpu_hard_limit'],
    byDefault: constant(false, '`false`'),
    help: 'Whether a task’s share of the processors is also its limit, and not only its weight.',
    read: (config) => config.client.exec.isCpuHard,
  }),
  execPids: option({
    kind: pids,
    file: ['plugin', 'exec', 'config', 'pids_limit'],
    byDefault: constant(PIDS_MAX, `\`${PIDS_MAX}\``),
    help: 'How many processes and threads an isolated task may have at once.',
    read: (config) => config.client.exec.pidsMax,
  }),
  chrootEnv: option({
    kind: paths,
    file: ['client', 'chroot_env'],
    byDefault: constant(noPaths, 'programs, libraries and a few files of `/etc`'),
    help: 'What isolated tasks see of the machine, read-only, in place of the usual.',
    read: (config) => config.client.exec.chrootEnv,
  }),
  docker: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'enabled'],
    environment: 'REEVE_DOCKER',
    byDefault: constant(true, '`true`'),
    help: 'Whether tasks may run in containers, where an engine answers.',
    read: (config) => config.client.docker.enabled,
  }),
  dockerEndpoint: option({
    kind: engineEndpoint,
    file: ['plugin', 'docker', 'config', 'endpoint'],
    environment: 'REEVE_DOCKER_ENDPOINT',
    byDefault: constant('unix:///var/run/docker.sock', '`unix:///var/run/docker.sock`'),
    help:
      'Where the container engine of this machine listens: `unix://` and a path, or `tcp://` with ' +
      '`config.tls` (loopback also without).',
    read: (config) => config.client.docker.endpoint,
  }),
  dockerAuth: option({
    kind: path,
    file: ['plugin', 'docker', 'config', 'auth', 'config'],
    byDefault: constant(undefined, 'none'),
    help:
      'A file with logins by registry, in the form that the engine’s own client writes: `auths`, ' +
      '`credHelpers` and `credsStore` are read.',
    read: (config) => config.client.docker.authFile,
  }),
  dockerPrivileged: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'allow_privileged'],
    byDefault: constant(false, '`false`'),
    help: 'Whether containers may be privileged, have devices, or switch protections off.',
    read: (config) => config.client.docker.policy.allowPrivileged,
  }),
  dockerVolumes: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'volumes', 'enabled'],
    byDefault: constant(false, '`false`'),
    help: 'Whether containers may mount paths outside their allocation and volumes of the engine.',
    read: (config) => config.client.docker.policy.allowVolumes,
  }),
  dockerHostNamespaces: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'allow_host_namespaces'],
    byDefault: constant(false, '`false`'),
    help:
      'Whether containers may join the processes or the like of the machine, or the network of ' +
      'another container.',
    read: (config) => config.client.docker.policy.allowHostNamespaces,
  }),
  dockerCaps: option({
    kind: listOf(capability),
    file: ['plugin', 'docker', 'config', 'allow_caps'],
    byDefault: constant(DEFAULT_CAPABILITIES, capsText),
    help: 'Capabilities that containers may have; `all` is any.',
    read: (config) => config.client.docker.policy.allowCaps,
  }),
  dockerPids: option({
    kind: integer({ min: 0, max: 4_194_304 }),
    file: ['plugin', 'docker', 'config', 'pids_limit'],
    byDefault: constant(PIDS_MAX, `\`${PIDS_MAX}\``),
    help:
      'How many processes and threads a container has at most; a task may ask for fewer. `0` is ' +
      'any number.',
    read: (config) => config.client.docker.policy.pidsMax,
  }),
  dockerGcImage: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'gc', 'image'],
    byDefault: constant(true, '`true`'),
    help:
      'Whether images that tasks ran from are removed from the engine when no allocation of the ' +
      'node needs them any more.',
    read: (config) => config.client.docker.gc.removesImages,
  }),
  dockerGcImageDelay: option({
    kind: gcTime,
    file: ['plugin', 'docker', 'config', 'gc', 'image_delay'],
    byDefault: constant(3 * MINUTE_MS, '`3m`'),
    help: 'How long such an image is kept for a task that may need it again.',
    read: (config) => config.client.docker.gc.imageDelayMs,
  }),
  dockerGcContainer: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'gc', 'container'],
    byDefault: constant(true, '`true`'),
    help: 'Whether the container of a task is removed when the task has ended.',
    read: (config) => config.client.docker.gc.removesContainers,
  }),
  dockerDangling: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'gc', 'dangling_containers', 'enabled'],
    byDefault: constant(true, '`true`'),
    help: 'Whether containers of this agent that no allocation knows are ended and removed.',
    read: (config) => config.client.docker.gc.dangling.isEnabled,
  }),
  dockerDanglingDryRun: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'gc', 'dangling_containers', 'dry_run'],
    byDefault: constant(false, '`false`'),
    help: 'Only names such containers in the log of the agent.',
    read: (config) => config.client.docker.gc.dangling.isDryRun,
  }),
  dockerDanglingPeriod: option({
    kind: gcTime,
    file: ['plugin', 'docker', 'config', 'gc', 'dangling_containers', 'period'],
    byDefault: constant(5 * MINUTE_MS, '`5m`'),
    help: 'How often such containers are looked for.',
    read: (config) => config.client.docker.gc.dangling.periodMs,
  }),
  dockerDanglingGrace: option({
    kind: gcTime,
    file: ['plugin', 'docker', 'config', 'gc', 'dangling_containers', 'creation_grace'],
    byDefault: constant(5 * MINUTE_MS, '`5m`'),
    help: 'Containers younger than this are left alone.',
    read: (config) => config.client.docker.gc.dangling.graceMs,
  }),
}
