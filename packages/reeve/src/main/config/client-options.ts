import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isObject, toBool, type Value } from '@reeve/hcl'
import type { HostVolumeConfig } from './agent-config.ts'
import { computed, constant, option, type OptionType } from './option.ts'
import { stringAcceptedBy, duration, stringMatching, path, bool, integer } from './option-types.ts'

type HostVolumes = Readonly<Record<string, HostVolumeConfig>>

const VOLUMES_MAX = 256
const VOLUMES_RULE =
  `at most ${VOLUMES_MAX} blocks \`host_volume "name" { path = "/srv/data" }\`, each with an ` +
  'absolute path and, if it may only be read, `read_only = true`'

/** A name may end with an index such as `[0]`: a job may request one volume per allocation. */
const VOLUME_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(?:\[\d{1,6}\])?$/

const hostVolumes: OptionType<HostVolumes> = {
  name: 'labelled blocks',
  flag: 'once',
  isMap: true,
  isLabelled: true,
  isSecret: false,
  fromValue: (value) => {
    const pairs = isObject(value) ? Object.entries(value) : undefined
    if (pairs === undefined || pairs.length > VOLUMES_MAX) return err(VOLUMES_RULE)
    const volumes: [string, HostVolumeConfig][] = []
    for (const [name, fields] of pairs) {
      const volume = VOLUME_NAME.test(name) ? readVolume(fields) : undefined
      if (volume === undefined)
        return err(`${VOLUMES_RULE} (look at ${JSON.stringify(name.slice(0, 64))})`)
      volumes.push([name, volume])
    }
    return ok(Object.fromEntries(volumes))
  },
  fromString: () => err(`${VOLUMES_RULE}, which only a file can hold`),
  merge: (lower, higher) => ({ ...lower, ...higher }),
  toJson: (value) =>
    Object.fromEntries(
      Object.entries(value).map(([name, volume]) => [
        name,
        { path: volume.path, read_only: volume.readOnly },
      ]),
    ),
}

function readVolume(fields: Value): HostVolumeConfig | undefined {
  if (!isObject(fields)) return undefined
  const { path: where = null, read_only: readOnly = null, ...others } = fields
  const place: Result<string, string> = path.fromValue(where)
  const isReadOnly = readOnly === null ? false : toBool(readOnly)
  if (!place.ok || isReadOnly === undefined || Object.keys(others).length > 0) return undefined
  return { path: place.value, readOnly: isReadOnly }
}

const percent = integer({ min: 1, max: 100 })
const bridgeName = stringMatching(
  'the name of a network device: 1 to 15 letters, digits, "_" and "-", the first a letter',
  /^[A-Za-z][A-Za-z0-9_-]{0,14}$/,
)
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const subnet = stringMatching(
  'a network of IPv4 addresses such as "172.30.64.0/20", from /8 to /28',
  new RegExp(`^${OCTET}(?:\\.${OCTET}){3}/(?:[89]|1\\d|2[0-8])$`),
)

const DIRECTORIES_MAX = 16
const searchPath = stringAcceptedBy(
  `at most ${DIRECTORIES_MAX} absolute paths separated by colons, such as "/opt/cni/bin"`,
  (text) => {
    const parts = text.split(':')
    return parts.length <= DIRECTORIES_MAX && parts.every((part) => /^\/[^\0]*$/.test(part))
  },
)

const noVolumes: HostVolumes = {}

/** Settings of a node: volumes, networks, artifacts and garbage collection. */
export const clientOptions = {
  hostVolumes: option({
    kind: hostVolumes,
    file: ['client', 'host_volume'],
    byDefault: constant(noVolumes, 'none'),
    help:
      'A directory of the machine that jobs may mount, by the label of its block: `path`, and ' +
      '`read_only` (default `false`).',
    read: (config) => config.client.hostVolumes,
  }),
  volumesDirectory: option({
    kind: path,
    file: ['client', 'host_volumes_dir'],
    byDefault: constant(undefined, '`client/volumes` below `data_dir`'),
    help: 'Directory in which dynamic host volumes are created.',
    read: (config) => config.client.volumesDirectory,
  }),
  volumePluginDirectory: option({
    kind: path,
    file: ['client', 'host_volume_plugin_dir'],
    byDefault: constant(undefined, '`client/volume-plugins` below `data_dir`'),
    help: 'Directory of volume plugins. Every executable in it is a plugin with the name of its file.',
    read: (config) => config.client.volumePluginDirectory,
  }),
  fileArtifacts: option({
    kind: bool,
    file: ['client', 'artifact', 'allow_files'],
    byDefault: constant(false, '`false`'),
    help: 'Whether artifacts may be files of the machine: every job could then read what the agent can.',
    read: (config) => config.client.artifacts.allowsFiles,
  }),
  localArtifacts: option({
    kind: bool,
    file: ['client', 'artifact', 'allow_local'],
    environment: 'REEVE_ARTIFACT_ALLOW_LOCAL',
    byDefault: computed('`false`; `true` with `--dev`', ({ dev }) => dev),
    help:
      'Whether artifacts may be fetched from loopback, link-local (with the metadata services of ' +
      'clouds) and unspecified addresses, directly, by a name or by a redirect.',
    read: (config) => config.client.artifacts.allowsLocal,
  }),
  artifactTimeout: option({
    kind: duration({ msMin: 1_000, msMax: 24 * 3_600_000 }),
    file: ['client', 'artifact', 'timeout'],
    environment: 'REEVE_ARTIFACT_TIMEOUT',
    byDefault: constant(30 * 60_000, '`30m`'),
    help: 'How long one artifact may take to be downloaded and unpacked.',
    read: (config) => config.client.artifacts.timeoutMs,
  }),
  artifactEntries: option({
    kind: integer({ min: 1, max: 10_000_000 }),
    file: ['client', 'artifact', 'max_entries'],
    environment: 'REEVE_ARTIFACT_MAX_ENTRIES',
    byDefault: constant(65_536, '`65536`'),
    help: 'Files, directories and links that one artifact may hold.',
    read: (config) => config.client.artifacts.entriesMax,
  }),
  secretsInMemory: option({
    kind: bool,
    file: ['client', 'secrets_in_memory'],
    environment: 'REEVE_SECRETS_IN_MEMORY',
    byDefault: computed('`true`; `false` with `--dev`', ({ dev }) => !dev),
    help:
      'Whether the `secrets` of tasks are kept in memory and never on the disk; only where the ' +
      'agent is root and may mount.',
    read: (config) => config.client.secretsInMemory,
  }),
  killTimeoutMax: option({
    kind: duration({ msMin: 1_000, msMax: 24 * 3_600_000 }),
    file: ['client', 'max_kill_timeout'],
    environment: 'REEVE_MAX_KILL_TIMEOUT',
    byDefault: constant(30_000, '`30s`'),
    help: 'The longest that a task may ask for between its kill signal and the forced end.',
    read: (config) => config.client.killTimeoutMsMax,
  }),
  bridgeName: option({
    kind: bridgeName,
    file: ['client', 'bridge_network_name'],
    byDefault: constant('reeve0', '`reeve0`'),
    help: 'The device that joins the networks of allocations in the mode `bridge`.',
    read: (config) => config.client.bridge.name,
  }),
  bridgeSubnet: option({
    kind: subnet,
    file: ['client', 'bridge_network_subnet'],
    byDefault: constant('172.30.64.0/20', '`172.30.64.0/20`'),
    help: 'Their addresses; the first is the machine’s own.',
    read: (config) => config.client.bridge.subnet,
  }),
  bridgeHairpin: option({
    kind: bool,
    file: ['client', 'bridge_network_hairpin_mode'],
    byDefault: constant(false, '`false`'),
    help: 'Whether an allocation reaches itself through its own ports of the machine.',
    read: (config) => config.client.bridge.hairpin,
  }),
  cniConfigDirectory: option({
    kind: path,
    file: ['client', 'cni_config_dir'],
    byDefault: constant('/opt/cni/config', '`/opt/cni/config`'),
    help: 'The directory with the configuration files of networks in the modes `cni/NAME`.',
    read: (config) => config.client.cni.configDirectory,
  }),
  cniPath: option({
    kind: searchPath,
    file: ['client', 'cni_path'],
    byDefault: constant('/opt/cni/bin', '`/opt/cni/bin`'),
    help: 'The directories with their plug-ins, separated by colons.',
    read: (config) => config.client.cni.pluginDirectories.join(':'),
  }),
  garbageInterval: option({
    kind: duration({ msMin: 1_000, msMax: 24 * 3_600_000 }),
    file: ['client', 'gc_interval'],
    byDefault: constant(60_000, '`1m`'),
    help: 'How often the node looks whether directories of ended allocations have to go.',
    read: (config) => config.client.gc.intervalMs,
  }),
  garbageDisk: option({
    kind: percent,
    file: ['client', 'gc_disk_usage_threshold'],
    byDefault: constant(80, '`80`'),
    help: 'They go, the oldest first, when more than this percentage of the disk is taken,',
    read: (config) => config.client.gc.diskPercent,
  }),
  garbageInodes: option({
    kind: percent,
    file: ['client', 'gc_inode_usage_threshold'],
    byDefault: constant(70, '`70`'),
    help: 'or of its inodes,',
    read: (config) => config.client.gc.inodePercent,
  }),
  garbageAllocations: option({
    kind: integer({ min: 1, max: 100_000 }),
    file: ['client', 'gc_max_allocs'],
    byDefault: constant(50, '`50`'),
    help: 'or when the node has more ended allocations than this; those that run do not count.',
    read: (config) => config.client.gc.allocationsMax,
  }),
  garbageAtOnce: option({
    kind: integer({ min: 1, max: 64 }),
    file: ['client', 'gc_parallel_destroys'],
    byDefault: constant(2, '`2`'),
    help: 'How many are removed at once.',
    read: (config) => config.client.gc.parallelDestroys,
  }),
}
