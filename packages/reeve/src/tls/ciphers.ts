import { getCiphers } from 'node:tls'

export const TLS_VERSIONS = ['tls12', 'tls13'] as const
export type TlsVersion = (typeof TLS_VERSIONS)[number]

/** Names of the versions in Node's TLS options. */
export const NODE_TLS_VERSIONS = {
  tls12: 'TLSv1.2',
  tls13: 'TLSv1.3',
} as const satisfies Record<TlsVersion, string>

/**
 * Forward secrecy and authenticated encryption only: the suites with CBC or SHA-1 that the runtime
 * also offers for TLS 1.2 have known weaknesses, and no supported client needs them.
 */
export const DEFAULT_CIPHER_SUITES: readonly string[] = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
]

/** Reports whether the TLS library has this suite, named as by `openssl ciphers`. */
export function isCipherSuite(name: string): boolean {
  // The runtime lists names in lower case, and takes them in upper case only.
  return name === name.toUpperCase() && getCiphers().includes(name.toLowerCase())
}
