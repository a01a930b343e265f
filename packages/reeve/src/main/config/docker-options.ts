import { isLoopback } from './address.ts'
import { constant, option } from './option.ts'
import { duration, stringMatching, path, bool, listOf, mapOf } from './option-types.ts'

const HOUR_MS = 3_600_000

const credentialHelper = stringMatching(
  'the name after `docker-credential-`, such as "ecr-login"',
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
)
const namePattern = stringMatching(
  'a name, in which `*` stands for any characters',
  /^[A-Za-z0-9._*-]{1,64}$/,
)
const logDriver = stringMatching('the name of a log driver', /^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$/)
const runtime = stringMatching('the name of a runtime', /^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$/)
const logOptions = mapOf({
  name: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  value: /^[^\p{Cc}]{0,4096}$/u,
  rule: 'names are those of the log driver',
})

const selinuxLabel = stringMatching('"z" or "Z"', /^[zZ]$/)

const imageName = stringMatching(
  'the name of an image, such as "registry.example/pause:3.9"',
  /^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,511}$/,
)

const noNames: readonly string[] = []
const noLogOptions: Readonly<Record<string, string>> = {}
const runtimes: readonly string[] = ['runc', 'nvidia']
const labels = 'job_id, job_name, task_group_name, task_name, namespace, node_id, node_name, '

/** Settings of the docker driver, except the permissions of containers. */
export const dockerOptions = {
  dockerTlsCa: option({
    kind: path,
    file: ['plugin', 'docker', 'config', 'tls', 'ca'],
    byDefault: constant(undefined, 'none'),
    help: 'The authority that signed the certificate of an engine at `tcp://`, as PEM.',
    read: (config) => config.client.docker.tls.caFile,
  }),
  dockerTlsCert: option({
    kind: path,
    file: ['plugin', 'docker', 'config', 'tls', 'cert'],
    byDefault: constant(undefined, 'none'),
    help: 'The certificate that the agent shows to an engine at `tcp://`, as PEM.',
    read: (config) => config.client.docker.tls.certFile,
  }),
  dockerTlsKey: option({
    kind: path,
    file: ['plugin', 'docker', 'config', 'tls', 'key'],
    byDefault: constant(undefined, 'none'),
    help: 'The private key of that certificate, as PEM.',
    read: (config) => config.client.docker.tls.keyFile,
  }),
  dockerAuthHelper: option({
    kind: credentialHelper,
    file: ['plugin', 'docker', 'config', 'auth', 'helper'],
    byDefault: constant(undefined, 'none'),
    help:
      'A credential helper for registries that `auth.config` has no login for: ' +
      '`docker-credential-<helper> get` is run, with the PATH of the agent.',
    read: (config) => config.client.docker.settings.authHelper || undefined,
  }),
  dockerPullActivity: option({
    kind: duration({ msMin: 1_000, msMax: 24 * HOUR_MS }),
    file: ['plugin', 'docker', 'config', 'pull_activity_timeout'],
    byDefault: constant(2 * 60_000, '`2m`'),
    help: 'Time without progress after which a pull is aborted.',
    read: (config) => config.client.docker.settings.pullActivityMs,
  }),
  dockerExtraLabels: option({
    kind: listOf(namePattern),
    file: ['plugin', 'docker', 'config', 'extra_labels'],
    byDefault: constant(noNames, 'none'),
    help:
      'Labels of each container beside `reeve.alloc` and `reeve.task`, each with the prefix ' +
      `\`reeve.\`: ${labels}short_alloc_id; \`*\` stands for any characters.`,
    read: (config) => config.client.docker.settings.extraLabels,
  }),
  dockerLogDriver: option({
    kind: logDriver,
    file: ['plugin', 'docker', 'config', 'logging', 'type'],
    byDefault: constant(undefined, '`json-file`, bounded in size'),
    help: 'The log driver of containers whose task has no `logging` block.',
    read: (config) => config.client.docker.settings.logging?.type,
  }),
  dockerLogOptions: option({
    kind: logOptions,
    file: ['plugin', 'docker', 'config', 'logging', 'config'],
    byDefault: constant(noLogOptions, 'none'),
    help: 'Options of that log driver.',
    read: (config) => config.client.docker.settings.logging?.config,
  }),
  dockerNoLogs: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'disable_log_collection'],
    byDefault: constant(false, '`false`'),
    help:
      'Whether the output of containers stays with the engine, for a collector of the node: ' +
      '`alloc logs` then has none of it.',
    read: (config) => !config.client.docker.settings.collectsLogs,
  }),
  dockerHostNetwork: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'allow_host_network'],
    byDefault: constant(true, '`true`'),
    help: 'Whether containers may use `network_mode = "host"`, the network that `exec` tasks have.',
    read: (config) => config.client.docker.settings.allowHostNetwork,
  }),
  dockerRuntimes: option({
    kind: listOf(namePattern),
    file: ['plugin', 'docker', 'config', 'allow_runtimes'],
    byDefault: constant(runtimes, '`runc`, `nvidia`'),
    help: 'Runtimes that tasks may name; `*` stands for any characters.',
    read: (config) => config.client.docker.settings.allowRuntimes,
  }),
  dockerNvidiaRuntime: option({
    kind: runtime,
    file: ['plugin', 'docker', 'config', 'nvidia_runtime'],
    byDefault: constant('nvidia', '`nvidia`'),
    help: 'The runtime of tasks whose environment has `NVIDIA_VISIBLE_DEVICES`.',
    read: (config) => config.client.docker.settings.nvidiaRuntime,
  }),
  dockerNoNewPrivileges: option({
    kind: bool,
    file: ['plugin', 'docker', 'config', 'no_new_privileges'],
    byDefault: constant(true, '`true`'),
    help:
      'Whether setuid programs in containers gain no rights; `false` lets `sudo` and the like ' +
      'work in images that need them.',
    read: (config) => config.client.docker.settings.noNewPrivileges,
  }),
  dockerSelinuxLabel: option({
    kind: selinuxLabel,
    file: ['plugin', 'docker', 'config', 'volumes', 'selinuxlabel'],
    byDefault: constant(undefined, 'none'),
    help:
      'How the files of allocations are labelled for containers on a machine with SELinux: `z` ' +
      'for all containers, `Z` for each alone.',
    read: (config) => config.client.docker.settings.selinuxLabel || undefined,
  }),
  dockerInfraImage: option({
    kind: imageName,
    file: ['plugin', 'docker', 'config', 'infra_image'],
    byDefault: constant(undefined, 'one that the agent makes, without a registry'),
    help:
      'The image of pause containers, through which engines that join no network namespace by ' +
      'its path reach the network of an allocation. The program that runs in it is the agent’s: ' +
      'any image will do, for engines that accept images of some registries only.',
    read: (config) => config.client.docker.settings.infraImage || undefined,
  }),
  dockerInfraPull: option({
    kind: duration({ msMin: 1_000, msMax: 24 * HOUR_MS }),
    file: ['plugin', 'docker', 'config', 'infra_image_pull_timeout'],
    byDefault: constant(5 * 60_000, '`5m`'),
    help: 'How long a pull of `infra_image` may take.',
    read: (config) => config.client.docker.settings.infraPullTimeoutMs,
  }),
}

/** The TCP endpoint of the engine; undefined for a Unix socket. */
export function tcpEndpoint(
  endpoint: string,
): { readonly host: string; readonly port: number } | undefined {
  const url = endpoint.startsWith('tcp://') ? URL.parse(endpoint) : null
  if (url === null) return undefined
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) }
}

/** Why the engine endpoint is invalid; undefined if it is valid. */
export function dockerEndpointProblem(endpoint: string, hasTls: boolean): string | undefined {
  const tcp = tcpEndpoint(endpoint)
  if (tcp === undefined) {
    return hasTls
      ? 'is a socket, but config.tls is for an engine at tcp://. Leave it out.'
      : undefined
  }
  if (hasTls || isLoopback(tcp.host)) return undefined
  return (
    `is ${endpoint} without config.tls: anybody who can connect to it has root access. Add tls { ca, cert, key }, ` +
    'or use the socket of an engine on this machine.'
  )
}
