import { certificateErrorText, isUntrusted } from '@reeve/kit/certificate-error.ts'
import { errorMessage } from '@reeve/kit/fault.ts'

/**
 * Why a server of another region gave no answer, in words that say what to look at: those of the
 * runtime name neither the server nor the setting.
 */
export function whyUnreached(
  thrown: unknown,
  { address, hasAnswered }: { readonly address: string; readonly hasAnswered: boolean },
): string {
  const { protocol, host } = new URL(address)
  const code = codeOf(thrown)
  const isSecure = protocol === 'https:'
  if (isUntrusted(code) || CERTIFICATE_CODES.has(code))
    return `the certificate of ${host} ${certificateErrorText(code, 'tls.ca_file', 'serverAuth')}`
  if (NOT_ACCEPTED.has(code)) return `${host} does not accept the certificate of this server`
  if (isSecure && SPEAKS_OTHERWISE.has(code)) return `${host} does not speak HTTPS`
  const text = errorMessage(thrown)
  if (code !== 'ECONNRESET') return text
  if (hasAnswered) return `${host} hung up`
  // A server that ends a handshake, or a plain request to a port that is encrypted, says no more.
  const hint = isSecure
    ? 'it may not accept the certificate of this server'
    : 'if it speaks HTTPS, its address begins with https://'
  return `${host} hung up; ${hint}`
}

function codeOf(thrown: unknown): string {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return typeof code === 'string' ? code : ''
}

const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'INVALID_PURPOSE',
])

const NOT_ACCEPTED: ReadonlySet<string> = new Set([
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
])

const SPEAKS_OTHERWISE: ReadonlySet<string> = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
])
