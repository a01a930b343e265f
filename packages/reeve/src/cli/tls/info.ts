import { X509Certificate } from 'node:crypto'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { readFileOrStdin } from '../input.ts'
import { renderNonEmptyFields } from '../output/known-fields.ts'
import { DAY_MS } from '../output/time.ts'
import { systemErrorReason } from '../reason.ts'
import { CERTIFICATE_BYTES_MAX, OID } from './issue-certificate.ts'

/** Certificates with fewer days left are shown as a warning. */
const DAYS_LEFT_FEW = 14

const USAGES: Readonly<Record<string, string>> = {
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
    Usages: (keyUsage ?? []).map((id) => USAGES[id] ?? id),
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
