import { chmod, lstat, rename, rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { parseAddress } from '@reeve/kit/ip-address.ts'
import type { Invocation } from '../command.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { fileBytes } from '../input.ts'
import { DAY_MS } from '../output/time.ts'
import { reasonOf } from '../reason.ts'
import { nextSteps, unwritable } from '../spec-file/write-example.ts'
import {
  Authority,
  CERTIFICATE_BYTES_MAX,
  createAuthority,
  type CertificateRequest,
  type Issued,
  type KeyUsage,
  type Validity,
} from './issue-certificate.ts'

const CA_FILE = 'reeve-ca'
const DAYS_MAX = 36_500
/** Tolerated clock skew between machines. */
const BACKDATED_MS = 5 * 60 * 1_000

/** `tls ca create` */
export async function runTlsCaCreate(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation
  const name = args[0] ?? CA_FILE
  const commonName = flags.text('common-name') ?? 'Reeve CA'
  const { length } = Array.from(commonName)
  if (length === 0 || length > COMMON_NAME_CHARS_MAX)
    throw new UsageError(`--common-name has 1 to ${COMMON_NAME_CHARS_MAX} characters.`)
  const issued = createAuthority(commonName, validityOf(invocation, 1_825))
  await save(invocation, name, issued)
  const given = name === CA_FILE ? '' : ` --ca ${name}.pem --ca-key ${name}.key`
  const next = [
    `reeve tls cert create --server --ip 10.0.0.1${given}`,
    `reeve tls cert create --node${given}`,
  ]
  invocation.output.say(nextSteps(next))
  return EXIT_CODES.ok
}

const ROLES = ['server', 'node', 'cli'] as const
type Role = (typeof ROLES)[number]

/** Servers dial each other: they are clients too. */
const USAGES: Readonly<Record<Role, readonly KeyUsage[]>> = {
  server: ['serverAuth', 'clientAuth'],
  node: ['clientAuth'],
  cli: ['clientAuth'],
}

/** `tls cert create` */
export async function runTlsCertCreate(invocation: Invocation): Promise<number> {
  const { args, host, output, settings } = invocation
  const role = roleOf(invocation)
  const region = settings.region ?? 'global'
  const request = requestOf(invocation, role, region)
  const authority = await readAuthority(invocation)
  const end = authority.certificate.validToDate.getTime()
  const { fromMs, toMs } = request.validity
  if (end <= host.nowMs())
    throw new CommandFailure(
      `The certificate of the authority expired at ${new Date(end).toISOString()}.`,
      {
        hint: 'Create a new one with "reeve tls ca create", or name another one with --ca and --ca-key.',
      },
    )
  if (toMs > end) output.note(`Valid until ${new Date(end).toISOString()}, as the authority is.`)
  const validity = { fromMs, toMs: Math.min(toMs, end) }
  const issued = issue(authority, { ...request, validity })
  await save(invocation, args[0] ?? defaultName(role, region), issued)
  return EXIT_CODES.ok
}

function roleOf({ flags }: Invocation): Role {
  const [role, ...more] = ROLES.filter((one) => flags.has(one))
  if (role !== undefined && more.length === 0) return role
  throw new UsageError('choose exactly one role: --server, --node or --cli.')
}

function defaultName(role: Role, region: string): string {
  return role === 'cli' ? 'cli' : `${role === 'server' ? 'server' : 'client'}-${region}`
}

/** The names that agents of the region require come first. */
function requestOf(invocation: Invocation, role: Role, region: string): CertificateRequest {
  const { flags } = invocation
  const own = {
    server: [`server.${region}.reeve`, 'localhost'],
    node: [`client.${region}.reeve`],
    cli: [],
  }[role]
  const dnsNames = [...own, ...flags.texts('dns')].map((name) => name.toLowerCase())
  const invalid = dnsNames.find((name) => !DNS_NAME.test(name) || name.length > DNS_CHARS_MAX)
  if (invalid !== undefined)
    throw new UsageError(
      `"${invalid}" is not a valid DNS name. Use letters, digits and hyphens, such as reeve.example.com.`,
    )
  const addresses = [...(role === 'server' ? ['127.0.0.1'] : []), ...flags.texts('ip')]
  const noAddress = addresses.find((address) => parseAddress(address) === undefined)
  if (noAddress !== undefined) throw new UsageError(`--ip needs an IP address, not "${noAddress}".`)
  return {
    // A long region may exceed the limit. Agents read only the alternative names.
    name: Array.from(own[0] ?? basename(invocation.args[0] ?? 'cli'))
      .slice(0, COMMON_NAME_CHARS_MAX)
      .join(''),
    dnsNames: [...new Set(dnsNames)],
    addresses: [...new Set(addresses)],
    usages: USAGES[role],
    validity: validityOf(invocation, 365),
  }
}

/** A wildcard may stand for the first label. */
const DNS_NAME =
  /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const DNS_CHARS_MAX = 253
/** RFC 5280, appendix A: ub-common-name. */
const COMMON_NAME_CHARS_MAX = 64

function validityOf({ flags, host }: Invocation, daysByDefault: number): Validity {
  const days = flags.whole('days') ?? daysByDefault
  if (days < 1 || days > DAYS_MAX) throw new UsageError(`--days is between 1 and ${DAYS_MAX}.`)
  const nowMs = host.nowMs()
  return { fromMs: nowMs - BACKDATED_MS, toMs: nowMs + days * DAY_MS }
}

async function readAuthority(invocation: Invocation): Promise<Authority> {
  const { flags } = invocation
  const [file, keyFile] = [
    flags.text('ca') ?? `${CA_FILE}.pem`,
    flags.text('ca-key') ?? `${CA_FILE}.key`,
  ]
  const [certificate, key] = [await textOf(invocation, file), await textOf(invocation, keyFile)]
  try {
    return new Authority(certificate, key)
  } catch (thrown) {
    throw new CommandFailure(`${file} and ${keyFile}: ${reasonOf(thrown)}.`)
  }
}

function issue(authority: Authority, request: CertificateRequest): Issued {
  try {
    return authority.issue(request)
  } catch (thrown) {
    throw new CommandFailure(`The certificate cannot be issued: ${reasonOf(thrown)}.`)
  }
}

async function textOf(invocation: Invocation, file: string): Promise<string> {
  const unreadable = (thrown: unknown): CommandFailure =>
    new CommandFailure(`"${file}" cannot be read: ${reasonOf(thrown)}.`, {
      hint: 'Name the files of the authority with --ca and --ca-key, or create one with "reeve tls ca create".',
    })
  const bytes = await fileBytes(invocation, file, { bytesMax: CERTIFICATE_BYTES_MAX, unreadable })
  return new TextDecoder().decode(bytes)
}

/** Writes both files or neither. */
async function save(invocation: Invocation, name: string, issued: Issued): Promise<void> {
  const { flags, host, output } = invocation
  // The certificate comes first: a failure in between must not cost the key of an authority.
  const files = [
    { file: `${name}.pem`, text: issued.certificate, mode: 0o644 },
    { file: `${name}.key`, text: issued.key, mode: 0o600 },
  ].map((one) => {
    const path = resolve(host.directory, one.file)
    return { ...one, path, draft: `${path}.${process.pid}.new` }
  })
  const each = async (act: (one: (typeof files)[number]) => Promise<void>): Promise<void> => {
    for (const one of files)
      try {
        await act(one)
      } catch (thrown) {
        throw unwritable(one.file, thrown)
      }
  }
  try {
    await each(async ({ path }) => await checkReplaceable(path, flags.has('force')))
    await each(async ({ draft, text, mode }) => {
      await writeFile(draft, text, { mode })
      // A draft that existed already keeps its mode.
      await chmod(draft, mode)
    })
    await each(async ({ draft, path }) => await rename(draft, path))
  } finally {
    await Promise.all(files.map(({ draft }) => rm(draft, { force: true })))
  }
  output.say(`${name}.pem and ${name}.key written.`)
}

/** Throws if the path is a directory, or exists and is not to be replaced. */
async function checkReplaceable(path: string, isForced: boolean): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!isForced) throw Object.assign(new Error('the file exists'), { code: 'EEXIST' })
  if (found.isDirectory()) throw new Error('it is a directory')
}
