/**
 * Describes why a certificate was rejected, from the TLS library's error code. The text follows
 * "the certificate of X". `authorities` is the file of trusted authorities, `usage` the required
 * extended key usage.
 */
export function certificateErrorText(
  code: string,
  authorities: string,
  usage: 'serverAuth' | 'clientAuth',
): string {
  if (isUntrusted(code)) return `is not signed by an authority of ${authorities}`
  switch (code) {
    case 'INVALID_PURPOSE':
      return `has an extended key usage without ${usage}`
    case 'CERT_HAS_EXPIRED':
      return 'has expired'
    case 'CERT_NOT_YET_VALID':
      return 'is not valid yet'
    default:
      return `is rejected: ${code}`
  }
}

/** Whether no trusted authority has signed the certificate. */
export function isUntrusted(code: string): boolean {
  return UNTRUSTED.has(code)
}

const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])
