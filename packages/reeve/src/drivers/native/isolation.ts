import type { HostUser, TaskLaunch } from '../../agent/index.ts'
import { hostLines, hostsText, resolvText } from '../settings/name-files.ts'

/** native/PROTOCOL.md, section 4. */
export type RootEntry = Readonly<Record<string, unknown>> & { readonly kind: string }

/** Texts of the machine that go into files of the task. */
export interface HostTexts {
  readonly hostname: string
  readonly hosts: string
  readonly resolvConf: string
}

interface RootInput {
  readonly launch: TaskLaunch
  readonly user: HostUser
  readonly host: HostTexts
  /** What operators show tasks in place of the usual parts of the machine: host path to path. */
  readonly chrootEnv: Readonly<Record<string, string>> | undefined
}

const READABLE = 0o644
const FILE_BYTES_MAX = 60 * 1024

/** Programs and libraries: as the machine has them, which may be links into `/usr`. */
const MIRRORED = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Never all of `/etc`: it holds what is not the task's business. */
const ETC = [
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
 * The certificates that TLS clients trust and the settings of OpenSSL, where distributions keep
 * them, with the targets of their links. Only these parts: private keys lie beside them, such as
 * `/etc/ssl/private`, `/etc/pki/tls/private` and `/etc/pki/nssdb`.
 */
const TLS = [
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

/** The root of an isolated task, part by part. */
export function rootEntries(input: RootInput): readonly RootEntry[] {
  const { launch, chrootEnv } = input
  const { taskDir, allocDir, localDir, secretsDir, mounts } = launch
  const machine: readonly RootEntry[] =
    chrootEnv === undefined
      ? [
          { kind: 'bind', from: '/usr', to: '/usr', readOnly: true },
          ...[...MIRRORED, ...ETC, ...TLS].map((path) => {
            return { kind: 'mirror', path }
          }),
        ]
      : Object.entries(chrootEnv).map(([from, to]) => {
          return { kind: 'bind', from, to, readOnly: true, optional: true }
        })
  return [
    ...machine,
    ...generatedFiles(input),
    { kind: 'proc' },
    { kind: 'dev' },
    { kind: 'bind', from: `${taskDir}/tmp`, to: '/tmp' },
    { kind: 'bind', from: localDir, to: '/local' },
    { kind: 'bind', from: allocDir, to: '/alloc' },
    // What the task has said cannot be unsaid.
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

function generatedFiles({ launch, user, host }: RootInput): readonly RootEntry[] {
  const hostname = hostnameOf(launch, host)
  const file = (to: string, content: string): RootEntry => {
    return { kind: 'file', to, content: content.slice(0, FILE_BYTES_MAX), mode: READABLE }
  }
  const isRoot = user.uid === 0
  const own = isRoot ? '' : `${accountName(user)}:x:${user.uid}:${user.gid}::/local:/bin/sh\n`
  const group = isRoot ? '' : `${accountName(user)}:x:${user.gid}:\n`
  return [
    file('/etc/passwd', `root:x:0:0:root:/root:/bin/sh\n${own}`),
    file('/etc/group', `root:x:0:\n${group}`),
    file('/etc/hostname', `${hostname}\n`),
    file('/etc/hosts', hostsFile(launch, hostname, host)),
    file('/etc/resolv.conf', resolvFile(launch, host)),
  ]
}

export function hostnameOf(launch: TaskLaunch, host: HostTexts): string {
  return launch.network.hostname === '' ? host.hostname : launch.network.hostname
}

/** `uid:gid` is no name that a list of accounts can hold. */
function accountName({ name, uid }: HostUser): string {
  return /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/.test(name) ? name : `user${uid}`
}

function hostsFile({ network }: TaskLaunch, hostname: string, host: HostTexts): string {
  const isOfMachine = network.namespacePath === undefined && network.mode === 'host'
  if (!isOfMachine) return hostsText(hostname, network)
  return ensureNewline(host.hosts) + hostLines(network)
}

function resolvFile({ network: { dns } }: TaskLaunch, host: HostTexts): string {
  return dns === undefined ? ensureNewline(host.resolvConf) : resolvText(dns)
}

function ensureNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
