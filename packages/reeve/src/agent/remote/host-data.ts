import { open, statfs } from 'node:fs/promises'
import { networkInterfaces, release, type, version, machine } from 'node:os'
import type { HostData } from '@reeve/contract'
import { errorCode } from '../store/state-file.ts'

/** Bytes of one text file: more than any resolver configuration has. */
const FILE_BYTES_MAX = 16 * 1024
/** Names and addresses that are listed. */
const VARIABLES_MAX = 500
const ADDRESSES_MAX = 500
const BYTES_PER_MB = 1024 * 1024

const REDACTED = '<redacted>'

/**
 * Environment variables whose values are shown. Any other name may hold a secret: passwords are put
 * into variables of every name.
 */
const SHOWN_VARIABLES = new Set([
  'HOME',
  'HOSTNAME',
  'LANG',
  'LC_ALL',
  'LOGNAME',
  'NODE_VERSION',
  'NO_COLOR',
  'PATH',
  'PWD',
  'REEVE_CONFIG',
  'REEVE_DATA_DIR',
  'REEVE_LOG_LEVEL',
  'REEVE_REGION',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
])

type Environment = Readonly<Record<string, string | undefined>>

/** Data of this machine for diagnosis; `directory` is where the agent keeps its data. */
export async function readHostData(
  directory: string,
  environment: Environment = process.env,
): Promise<HostData> {
  const [ResolvConf, Hosts, ...disks] = await Promise.all([
    readFileStart('/etc/resolv.conf'),
    readFileStart('/etc/hosts'),
    ...['/', directory].map(fileSystemUsage),
  ])
  return {
    OS: `${type()} ${release()} ${version()} ${machine()}`,
    Network: networkAddresses(),
    ResolvConf,
    Hosts,
    Environment: redactedEnvironment(environment),
    Disk: Object.fromEntries(disks.flat()),
  }
}

export function redactedEnvironment(environment: Environment): HostData['Environment'] {
  const names = Object.keys(environment).toSorted().slice(0, VARIABLES_MAX)
  return Object.fromEntries(
    names.map((name) => [name, SHOWN_VARIABLES.has(name) ? (environment[name] ?? '') : REDACTED]),
  )
}

function networkAddresses(): HostData['Network'] {
  const found = Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    list.map(({ address, netmask, family, mac }) => {
      return { interface: name, address, netmask, family, mac }
    }),
  )
  return found.slice(0, ADDRESSES_MAX)
}

async function fileSystemUsage(path: string): Promise<[string, HostData['Disk'][string]][]> {
  try {
    const { bsize, blocks, bfree } = await statfs(path)
    const megabytes = (count: number): number => Math.floor((count * bsize) / BYTES_PER_MB)
    return [[path, { DiskMB: megabytes(blocks), UsedMB: megabytes(blocks - bfree) }]]
  } catch (thrown) {
    if (errorCode(thrown) === undefined) throw thrown
    return []
  }
}

/** The beginning of a text file; empty where it cannot be read. */
async function readFileStart(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r')
    const { bytesRead, buffer } = await file.read(
      Buffer.alloc(FILE_BYTES_MAX),
      0,
      FILE_BYTES_MAX,
      0,
    )
    return buffer.toString('utf8', 0, bytesRead)
  } catch (thrown) {
    if (errorCode(thrown) === undefined) throw thrown
    return ''
  }
}
