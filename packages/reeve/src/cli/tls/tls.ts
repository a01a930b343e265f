import { X509Certificate } from 'node:crypto'
import { chmod, lstat, rename, rm, writeFile } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { parseAddress } from '@reeve/kit/ip-address.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, systemErrorReason, UsageError } from '../errors.ts'
import { readFileOrStdin } from '../input.ts'
import { DAY_MS, renderNonEmptyFields } from '../output/format.ts'
import { formatNextSteps, describeWriteError } from '../write-example.ts'
import {
  Authority,
  CERTIFICATE_BYTES_MAX,
  createAuthority,
  type CertificateRequest,
  type IssuedCertificate,
  type KeyUsage,
  type Validity,
  OID,
} from './issue-certificate.ts'

const CA_FILE = 'reeve-ca'
const DAYS_MAX = 36_500
/** Tolerated clock skew between machines. */
const BACKDATED_MS = 5 * 60 * 1_000

/** `tls ca create` */
export async function runTlsCaCreate(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const name = args[0] ?? CA_FILE
  const commonName = flags.string('common-name') ?? 'Reeve CA'
  const { length } = Array.from(commonName)
  if (length === 0 || length > COMMON_NAME_CHARS_MAX)
    throw new UsageError(`--common-name has 1 to ${COMMON_NAME_CHARS_MAX} characters.`)
  const issued = createAuthority(commonName, parseValidity(invocation, 1_825))
  await writeCertificateFiles(invocation, name, issued)
  const given = name === CA_FILE ? '' : ` --ca ${name}.pem --ca-key ${name}.key`
  const next = [
    `reeve tls cert create --server --ip 10.0.0.1${given}`,
    `reeve tls cert create --node${given}`,
  ]
  invocation.output.printLine(formatNextSteps(next))
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
export async function runTlsCertCreate(invocation: CommandContext): Promise<number> {
  const { args, host, output, settings } = invocation
  const role = parseRole(invocation)
  const region = settings.region ?? 'global'
  const request = certificateRequest(invocation, role, region)
  const authority = await readAuthority(invocation)
  const end = authority.certificate.validToDate.getTime()
  const { fromMs, toMs } = request.validity
  if (end <= host.nowMs())
    throw new CommandError(
      `The certificate of the authority expired at ${new Date(end).toISOString()}.`,
      {
        hint: 'Create a new one with "reeve tls ca create", or name another one with --ca and --ca-key.',
      },
    )
  if (toMs > end)
    output.printNotice(`Valid until ${new Date(end).toISOString()}, as the authority is.`)
  const validity = { fromMs, toMs: Math.min(toMs, end) }
  const issued = issue(authority, { ...request, validity })
  await writeCertificateFiles(invocation, args[0] ?? defaultName(role, region), issued)
  return EXIT_CODES.ok
}

function parseRole({ flags }: CommandContext): Role {
  const [role, ...more] = ROLES.filter((one) => flags.has(one))
  if (role !== undefined && more.length === 0) return role
  throw new UsageError('choose exactly one role: --server, --node or --cli.')
}

function defaultName(role: Role, region: string): string {
  return role === 'cli' ? 'cli' : `${role === 'server' ? 'server' : 'client'}-${region}`
}

/** The names that agents of the region require come first. */
function certificateRequest(
  invocation: CommandContext,
  role: Role,
  region: string,
): CertificateRequest {
  const { flags } = invocation
  const requiredNames = {
    server: [`server.${region}.reeve`, 'localhost'],
    node: [`client.${region}.reeve`],
    cli: [],
  }[role]
  const dnsNames = [...requiredNames, ...flags.strings('dns')].map((name) => name.toLowerCase())
  const invalid = dnsNames.find((name) => !DNS_NAME.test(name) || name.length > DNS_CHARS_MAX)
  if (invalid !== undefined)
    throw new UsageError(
      `"${invalid}" is not a valid DNS name. Use letters, digits and hyphens, such as reeve.example.com.`,
    )
  const addresses = [...(role === 'server' ? ['127.0.0.1'] : []), ...flags.strings('ip')]
  const invalidAddress = addresses.find((address) => parseAddress(address) === undefined)
  if (invalidAddress !== undefined)
    throw new UsageError(`--ip needs an IP address, not "${invalidAddress}".`)
  return {
    // A long region may exceed the limit. Agents read only the alternative names.
    name: Array.from(requiredNames[0] ?? basename(invocation.args[0] ?? 'cli'))
      .slice(0, COMMON_NAME_CHARS_MAX)
      .join(''),
    dnsNames: [...new Set(dnsNames)],
    addresses: [...new Set(addresses)],
    usages: USAGES[role],
    validity: parseValidity(invocation, 365),
  }
}

/** A wildcard may stand for the first label. */
const DNS_NAME =
  /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/
const DNS_CHARS_MAX = 253
/** RFC 5280, appendix A: ub-common-name. */
const COMMON_NAME_CHARS_MAX = 64

function parseValidity({ flags, host }: CommandContext, daysByDefault: number): Validity {
  const days = flags.integer('days') ?? daysByDefault
  if (days < 1 || days > DAYS_MAX) throw new UsageError(`--days is between 1 and ${DAYS_MAX}.`)
  const nowMs = host.nowMs()
  return { fromMs: nowMs - BACKDATED_MS, toMs: nowMs + days * DAY_MS }
}

async function readAuthority(invocation: CommandContext): Promise<Authority> {
  const { flags } = invocation
  const [file, keyFile] = [
    flags.string('ca') ?? `${CA_FILE}.pem`,
    flags.string('ca-key') ?? `${CA_FILE}.key`,
  ]
  const [certificate, key] = [
    await readPemFile(invocation, file),
    await readPemFile(invocation, keyFile),
  ]
  try {
    return new Authority(certificate, key)
  } catch (thrown) {
    throw new CommandError(`${file} and ${keyFile}: ${systemErrorReason(thrown)}.`)
  }
}

function issue(authority: Authority, request: CertificateRequest): IssuedCertificate {
  try {
    return authority.issue(request)
  } catch (thrown) {
    throw new CommandError(`The certificate cannot be issued: ${systemErrorReason(thrown)}.`)
  }
}

async function readPemFile(invocation: CommandContext, file: string): Promise<string> {
  const unreadable = (thrown: unknown): CommandError =>
    new CommandError(`"${file}" cannot be read: ${systemErrorReason(thrown)}.`, {
      hint: 'Name the files of the authority with --ca and --ca-key, or create one with "reeve tls ca create".',
    })
  const bytes = await readFileOrStdin(invocation, file, {
    bytesMax: CERTIFICATE_BYTES_MAX,
    onReadError: unreadable,
  })
  return new TextDecoder().decode(bytes)
}

/** Writes both files or neither. */
async function writeCertificateFiles(
  invocation: CommandContext,
  name: string,
  issued: IssuedCertificate,
): Promise<void> {
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
        throw describeWriteError(one.file, thrown)
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
  output.printLine(`${name}.pem and ${name}.key written.`)
}

/** Throws if the path is a directory, or exists and is not to be replaced. */
async function checkReplaceable(path: string, isForced: boolean): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!isForced) throw Object.assign(new Error('the file exists'), { code: 'EEXIST' })
  if (found.isDirectory()) throw new Error('it is a directory')
}

/** Certificates with fewer days left are shown as a warning. */
const DAYS_LEFT_FEW = 14

const INFO_USAGES: Readonly<Record<string, string>> = {
  [OID.serverAuth]: 'serverAuth',
  [OID.clientAuth]: 'clientAuth',
}

/** `tls info` */
export async function runTlsInfo(invocation: CommandContext): Promise<number> {
  const { args, flags, host, output } = invocation
  const certificate = await readCertificate(invocation, args[0] ?? '')
  const ca = flags.string('ca')
  const authority = ca === undefined ? undefined : await readCertificate(invocation, ca)
  const info = certificateInfo(certificate, host.nowMs(), authority)
  output.print(info, () => {
    const tone = !info.Valid ? 'bad' : info.DaysLeft < DAYS_LEFT_FEW ? 'warning' : 'good'
    return renderNonEmptyFields([
      ['Subject', info.Subject],
      ['Issuer', info.Issuer],
      ['Authority', info.Authority ? 'yes' : 'no'],
      ['Names', info.Names.join(', ')],
      ['Usages', info.Usages.join(', ')],
      ['Role', info.Roles.join(', ')],
      ['Key', info.Key],
      ['Valid from', info.ValidFrom],
      ['Valid until', output.paint(tone, `${info.ValidTo} (${daysText(info.DaysLeft)})`)],
      ['Fingerprint', info.Fingerprint],
      ['Signed by --ca', info.Signed === undefined ? '' : info.Signed ? 'yes' : 'no'],
    ])
  })
  return info.Valid && info.Signed !== false ? EXIT_CODES.ok : EXIT_CODES.failed
}

async function readCertificate(invocation: CommandContext, file: string): Promise<X509Certificate> {
  const bytes = await readFileOrStdin(invocation, file, { bytesMax: CERTIFICATE_BYTES_MAX })
  try {
    return new X509Certificate(bytes)
  } catch (thrown) {
    throw new CommandError(`"${file}" holds no certificate: ${systemErrorReason(thrown)}.`, {
      hint: 'Name a file with a PEM block "CERTIFICATE"; the first one is shown.',
    })
  }
}

function certificateInfo(
  certificate: X509Certificate,
  nowMs: number,
  authority: X509Certificate | undefined,
) {
  const { validFromDate, validToDate, keyUsage, subjectAltName = '' } = certificate
  const names = subjectAltName === '' ? [] : subjectAltName.split(', ')
  return {
    Subject: oneLine(certificate.subject),
    Issuer: oneLine(certificate.issuer),
    Authority: certificate.ca,
    Names: names,
    Usages: (keyUsage ?? []).map((id) => INFO_USAGES[id] ?? id),
    Roles: certificateRoles(names),
    Key: formatKey(certificate),
    ValidFrom: validFromDate.toISOString(),
    ValidTo: validToDate.toISOString(),
    DaysLeft: Math.floor((validToDate.getTime() - nowMs) / DAY_MS),
    Valid: validFromDate.getTime() <= nowMs && nowMs < validToDate.getTime(),
    Fingerprint: certificate.fingerprint256,
    ...(authority !== undefined && { Signed: isSignedBy(certificate, authority) }),
  }
}

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

/** Returns the roles that agents derive from the names. */
function certificateRoles(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const [, role, region] = /^DNS:(server|client)\.(.+)\.reeve$/.exec(name) ?? []
    if (region === undefined) return []
    return [`${role === 'server' ? 'server' : 'node'} in region ${region}`]
  })
}

function formatKey({ publicKey }: X509Certificate): string {
  const { asymmetricKeyType: type = '', asymmetricKeyDetails: details } = publicKey
  const size = details?.namedCurve ?? details?.modulusLength
  return size === undefined ? type : `${type} ${size}`
}

/** Node prints one name component per line. */
function oneLine(name: string): string {
  return name.trim().replaceAll('\n', ', ')
}

function daysText(days: number): string {
  if (days < 0) return 'expired'
  return `${days} ${days === 1 ? 'day' : 'days'} left`
}
