import { certificateErrorText, isUntrusted } from '@reeve/kit/certificate-error.ts'
import { errorMessage } from '@reeve/kit/fault.ts'

/**
 * Describes why a server of another region did not respond and what to check: Node's errors name
 * neither the server nor the setting.
 */
export function describeConnectionError(
  thrown: unknown,
  { address, hasAnswered }: { readonly address: string; readonly hasAnswered: boolean },
): string {
  const { protocol, host } = new URL(address)
  const code = errorCodeOf(thrown)
  const isSecure = protocol === 'https:'
  if (isUntrusted(code) || CERTIFICATE_CODES.has(code))
    return `the certificate of ${host} ${certificateErrorText(code, 'tls.ca_file', 'serverAuth')}`
  if (CLIENT_CERTIFICATE_REJECTED.has(code))
    return `${host} does not accept the certificate of this server`
  if (isSecure && PROTOCOL_MISMATCH.has(code)) return `${host} does not speak HTTPS`
  const text = errorMessage(thrown)
  if (code !== 'ECONNRESET') return text
  if (hasAnswered) return `${host} hung up`
  // A server that rejects a handshake, or a TLS port that gets a plain request, sends no reason.
  const hint = isSecure
    ? 'it may not accept the certificate of this server'
    : 'if it speaks HTTPS, its address begins with https://'
  return `${host} hung up; ${hint}`
}

function errorCodeOf(thrown: unknown): string {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' ? code : ''
}

const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'INVALID_PURPOSE',
])

const CLIENT_CERTIFICATE_REJECTED: ReadonlySet<string> = new Set([
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
])

const PROTOCOL_MISMATCH: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
])
