import { rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { parseAddress } from '@reeve/kit/ip-address.ts'
import type { Invocation } from '../command.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { fileBytes } from '../input.ts'
import { reasonOf } from '../reason.ts'
import {
  Authority,
  createAuthority,
  type CertificateRequest,
  type Issued,
  type KeyUsage,
  type Validity,
} from './issue-certificate.ts'

const CA_FILE = 'reeve-ca'
const DAYS_MAX = 36_500
const DAY_MS = 24 * 60 * 60 * 1_000
/** Clocks of other machines may be behind. */
const BACKDATED_MS = 5 * 60 * 1_000
const FILE_BYTES_MAX = 1024 * 1024

/** `tls ca create` */
export async function runTlsCaCreate(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation
  const name = args[0] ?? CA_FILE
  const commonName = flags.text('common-name') ?? 'Reeve CA'
  const issued = createAuthority(commonName, validityOf(invocation, 1_825))
  await save(invocation, name, issued)
  const given = name === CA_FILE ? '' : ` --ca ${name}.pem --ca-key ${name}.key`
  sayNext(invocation, [
    `reeve tls cert create --server --ip 10.0.0.1${given}`,
    `reeve tls cert create --node${given}`,
  ])
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
  const { args, output, settings } = invocation
  const role = roleOf(invocation)
  const region = settings.region ?? 'global'
  const request = requestOf(invocation, role, region)
  const authority = await readAuthority(invocation)
  const end = authority.certificate.validToDate.getTime()
  const { toMs } = request.validity
  if (toMs > end) output.note(`Valid until ${new Date(end).toISOString()}, as the authority is.`)
  const validity = { ...request.validity, toMs: Math.min(toMs, end) }
  const issued = issue(authority, { ...request, validity })
  await save(invocation, args[0] ?? defaultName(role, region), issued)
  return EXIT_CODES.ok
}

function roleOf({ flags }: Invocation): Role {
  const [role, ...more] = ROLES.filter((one) => flags.has(one))
  if (role !== undefined && more.length === 0) return role
  throw new UsageError('name one role: --server, --node or --cli.')
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
  if (invalid !== undefined) throw new UsageError(`"${invalid}" is no DNS name.`)
  const addresses = [...(role === 'server' ? ['127.0.0.1'] : []), ...flags.texts('ip')]
  const noAddress = addresses.find((address) => parseAddress(address) === undefined)
  if (noAddress !== undefined) throw new UsageError(`--ip needs an IP address, not "${noAddress}".`)
  return {
    // The names are long where the region is; agents read the alternative names.
    name:
      role === 'cli'
        ? basename(invocation.args[0] ?? 'cli').slice(0, COMMON_NAME_CHARS_MAX)
        : (own[0] ?? '').slice(0, COMMON_NAME_CHARS_MAX),
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
  const bytes = await fileBytes(invocation, file, { bytesMax: FILE_BYTES_MAX, unreadable })
  return new TextDecoder().decode(bytes)
}

/** Both files, or none: a key without its certificate would only be in the way. */
async function save(invocation: Invocation, name: string, issued: Issued): Promise<void> {
  const { flags, host, output } = invocation
  const files = [
    { file: `${name}.key`, text: issued.key, mode: 0o600 },
    { file: `${name}.pem`, text: issued.certificate, mode: 0o644 },
  ]
  const written: string[] = []
  for (const { file, text, mode } of files) {
    const path = resolve(host.directory, file)
    try {
      if (flags.has('force')) await rm(path, { force: true })
      await writeFile(path, text, { flag: 'wx', mode })
      written.push(path)
    } catch (thrown) {
      await Promise.all(written.map((one) => rm(one, { force: true })))
      throw unwritable(file, thrown)
    }
  }
  output.say(`${name}.pem and ${name}.key written.`)
}

function unwritable(file: string, thrown: unknown): CommandFailure {
  const exists = thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST'
  if (!exists) return new CommandFailure(`${file} cannot be written: ${reasonOf(thrown)}.`)
  return new CommandFailure(`${file} already exists.`, {
    hint: 'Name other files, or use --force to overwrite it.',
  })
}

function sayNext({ output }: Invocation, lines: readonly string[]): void {
  output.say(`Next:\n\n${lines.map((line) => `  ${line}\n`).join('')}`)
}
