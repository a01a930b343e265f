import type { HostUser, TaskLaunch } from '../../agent/index.ts'
import { extraHostLines, hostsFileContent, resolvConfContent } from '../resolver-files.ts'
import type { CgroupSpec } from './cgroup.ts'

/** Specification of a task for the helper (native/PROTOCOL.md, section 2). */
export interface TaskSpec extends CgroupSpec {
  readonly v: 1
  readonly id: string
  readonly name: string
  readonly exitFile: string
  readonly handleFile: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly user: string
  /** Supplementary groups; undefined: those in the account files of the host. */
  readonly groups?: readonly number[]
  readonly denyUsers?: readonly string[]
  readonly caps?: readonly string[]
  readonly noNewPrivs?: boolean
  readonly seccomp?: boolean
  readonly isolate?: IsolateSpec
  readonly netns?: string
  readonly oomScoreAdj?: number
  readonly umask?: number
  readonly logs?: {
    readonly stdout: string
    readonly stderr: string
    readonly maxBytes: number
    readonly maxFiles: number
  }
}

interface IsolateSpec {
  readonly root: string
  readonly hostname: string
  readonly pidNamespace: boolean
  readonly ipcNamespace: boolean
  readonly entries: readonly RootfsEntry[]
}

/** The part of a spec that drivers set. */
export type TaskSpecInput = Omit<
  TaskSpec,
  'v' | 'id' | 'name' | 'exitFile' | 'handleFile' | 'logs'
> & {
  readonly launch: TaskLaunch
}

export function buildTaskSpec(
  input: TaskSpecInput,
  files: { readonly exitFile: string; readonly handleFile: string },
): TaskSpec {
  const { launch, ...specFields } = input
  const { handle, logs } = launch
  return {
    v: 1,
    id: handle.id,
    name: handle.task,
    ...files,
    ...specFields,
    ...(logs === undefined
      ? {}
      : {
          logs: {
            stdout: logs.stdoutPrefix,
            stderr: logs.stderrPrefix,
            maxBytes: logs.maxFileBytes,
            maxFiles: logs.maxFiles,
          },
        }),
  }
}

/**
 * OOM score adjustment of a task: tasks do not inherit the protection that an agent has from its
 * systemd unit, and are never less protected than tasks of an agent without one. Undefined: that of
 * the agent.
 */
export function oomScoreAdjOf(
  requested: number | undefined,
  agentScore: number,
): number | undefined {
  return requested ?? (agentScore < 0 ? 0 : undefined)
}

/** An entry of the root file system (native/PROTOCOL.md, section 4). */
type RootfsEntry = Readonly<Record<string, unknown>> & { readonly kind: string }

/** Contents of host files from which files of the task are generated. */
export interface HostFiles {
  readonly hostname: string
  readonly hosts: string
  readonly resolvConf: string
}

interface RootfsInput {
  readonly launch: TaskLaunch
  readonly user: HostUser
  readonly hostFiles: HostFiles
  /**
   * Host paths that the operator configured instead of the default ones: host path to path in the
   * root.
   */
  readonly chrootEnv: Readonly<Record<string, string>> | undefined
}

const FILE_MODE = 0o644
const GENERATED_FILE_CHARS_MAX = 60 * 1024

/** Directories of programs and libraries, which may be links into `/usr`. */
const MIRRORED_DIRS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Files in `/etc` that tasks may see; others may be confidential. */
const ETC_PATHS = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/nsswitch.conf',
  '/etc/services',
  '/etc/protocols',
  '/etc/mime.types',
]

/**
 * Trusted certificates and OpenSSL settings in the locations of the distributions, with the targets
 * of links. Private keys are in the same directories (`/etc/ssl/private`, `/etc/pki/tls/private`,
 * `/etc/pki/nssdb`), so only these parts are mounted.
 */
const TLS_PATHS = [
  '/etc/ssl/certs',
  '/etc/ssl/cert.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/openssl.cnf',
  // Red Hat: /etc/ssl/certs is a link to here.
  '/etc/pki/tls/certs',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/openssl.cnf',
  '/etc/pki/tls/openssl.d',
  '/etc/pki/tls/ct_log_list.cnf',
  '/etc/pki/ca-trust/extracted',
  '/etc/pki/java',
  // Arch and SUSE: the targets of links in /etc/ssl.
  '/etc/ca-certificates/extracted',
  '/var/lib/ca-certificates',
]

/** Returns the entries of the root file system of an isolated task. */
export function rootfsEntries(input: RootfsInput): readonly RootfsEntry[] {
  const { launch, chrootEnv } = input
  const { taskDir, allocDir, localDir, secretsDir, mounts } = launch
  const hostEntries: readonly RootfsEntry[] =
    chrootEnv === undefined
      ? [
          { kind: 'bind', from: '/usr', to: '/usr', readOnly: true },
          ...[...MIRRORED_DIRS, ...ETC_PATHS, ...TLS_PATHS].map((path) => {
            return { kind: 'mirror', path }
          }),
        ]
      : Object.entries(chrootEnv).map(([from, to]) => {
          return { kind: 'bind', from, to, readOnly: true, optional: true }
        })
  return [
    ...hostEntries,
    ...generatedFiles(input),
    { kind: 'proc' },
    { kind: 'dev' },
    { kind: 'bind', from: `${taskDir}/tmp`, to: '/tmp' },
    { kind: 'bind', from: localDir, to: '/local' },
    { kind: 'bind', from: allocDir, to: '/alloc' },
    // Read-only: tasks must not change their logs.
    { kind: 'bind', from: `${allocDir}/logs`, to: '/alloc/logs', readOnly: true },
    { kind: 'bind', from: secretsDir, to: '/secrets', noExec: true },
    ...mounts.map(({ hostPath, taskPath, readOnly, propagation }) => {
      const bind = { kind: 'bind', from: hostPath, to: taskPath, readOnly }
      return propagation === undefined
        ? bind
        : { ...bind, propagation: propagation === 'bidirectional' ? 'shared' : 'slave' }
    }),
  ]
}

function generatedFiles({ launch, user, hostFiles }: RootfsInput): readonly RootfsEntry[] {
  const hostname = effectiveHostname(launch, hostFiles)
  const file = (to: string, content: string): RootfsEntry => {
    return {
      kind: 'file',
      to,
      content: content.slice(0, GENERATED_FILE_CHARS_MAX),
      mode: FILE_MODE,
    }
  }
  const isRoot = user.uid === 0
  const passwdEntry = isRoot
    ? ''
    : `${accountName(user)}:x:${user.uid}:${user.gid}::/local:/bin/sh\n`
  const groupEntry = isRoot ? '' : `${accountName(user)}:x:${user.gid}:\n`
  return [
    file('/etc/passwd', `root:x:0:0:root:/root:/bin/sh\n${passwdEntry}`),
    file('/etc/group', `root:x:0:\n${groupEntry}`),
    file('/etc/hostname', `${hostname}\n`),
    file('/etc/hosts', taskHostsFile(launch, hostname, hostFiles)),
    file('/etc/resolv.conf', taskResolvConf(launch, hostFiles)),
  ]
}

export function effectiveHostname(launch: TaskLaunch, hostFiles: HostFiles): string {
  return launch.network.hostname === '' ? hostFiles.hostname : launch.network.hostname
}

/** Returns a name for `/etc/passwd`. A user in the form `uid:gid` has none on the host. */
function accountName({ name, uid }: HostUser): string {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/.test(name) ? name : `user${uid}`
}

function taskHostsFile({ network }: TaskLaunch, hostname: string, hostFiles: HostFiles): string {
  const usesHostNetwork = network.namespacePath === undefined && network.mode === 'host'
  if (!usesHostNetwork) return hostsFileContent(hostname, network)
  return ensureNewline(hostFiles.hosts) + extraHostLines(network)
}

function taskResolvConf({ network: { dns } }: TaskLaunch, hostFiles: HostFiles): string {
  return dns === undefined ? ensureNewline(hostFiles.resolvConf) : resolvConfContent(dns)
}

function ensureNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
