import type { CryptoHost, HostKey } from '@reeve/kit/crypto-host.ts'
import { jwksOf, publicKeyFromJwk, type SharedKey } from './jwk.ts'
import { publicKeyOf, readable } from './keys.ts'
import { readPem } from '@reeve/kit/pem.ts'
import type { Token } from './token.ts'
import { readSingleDer } from '@reeve/kit/der.ts'
import { readCertificate } from './x509.ts'
import { parseHclJson } from '../value/json.ts'
import type { Value } from '../value/value.ts'
import { CERTIFICATES_MAX } from '../builtins/limits.ts'

export interface VerificationKey {
  readonly key: HostKey | SharedKey
  readonly id?: string
  /** The only algorithm it is for. */
  readonly algorithm?: string
}

/** A certificate or a public key in PEM, or a JWK or a set of them; or what is wrong. */
export function readVerificationKeys(
  crypto: CryptoHost,
  text: string,
): readonly VerificationKey[] | string {
  if (text.includes('-----BEGIN')) return keysInPem(crypto, text)
  const json = parseHclJson(text)
  if (!json.ok) return `failed to parse a JWK key (set): ${json.error}`
  const keys: VerificationKey[] = []
  for (const jwk of jwksOf(json.value).slice(0, CERTIFICATES_MAX)) {
    const key = publicKeyFromJwk(crypto, jwk)
    if (key === undefined) continue
    const [id, algorithm] = [jwk.get('kid'), jwk.get('alg')]
    keys.push({
      key,
      ...(typeof id === 'string' ? { id } : {}),
      ...(typeof algorithm === 'string' ? { algorithm } : {}),
    })
  }
  return keys.length === 0 ? 'failed to parse a JWK key (set): it has no usable key' : keys
}

function keysInPem(crypto: CryptoHost, text: string): readonly VerificationKey[] | string {
  const [block] = readPem(text)
  if (block === undefined) return 'failed to extract a Key from the PEM certificate'
  if (block.rest.trim() !== '') return 'extra data after a PEM certificate block'
  if (block.label === 'CERTIFICATE') {
    const certificate = readCertificate(readSingleDer(block.bytes))
    if (certificate === undefined)
      return 'failed to parse a PEM certificate: x509: malformed certificate'
    const key = readable(crypto, { form: 'spki', der: certificate.keyInfo.encoded })
    return key === undefined
      ? 'failed to parse a PEM certificate: its key is of an unknown kind'
      : [{ key }]
  }
  if (block.label !== 'PUBLIC KEY' && block.label !== 'RSA PUBLIC KEY')
    return 'failed to extract a Key from the PEM certificate'
  const key = publicKeyOf(crypto, block)
  return key === undefined ? 'failed to parse a PEM public key' : [{ key }]
}

function isKeyUsable({ algorithm }: VerificationKey, wanted: Value | undefined): boolean {
  return algorithm === undefined || algorithm === wanted
}

/** The key that the token names, if it is there; else all that say nothing against it. */
export function chooseKeys(
  keys: readonly VerificationKey[],
  { header }: Token,
): readonly VerificationKey[] {
  const id = header.get('kid')
  const named = id === undefined ? undefined : keys.find((one) => one.id === id)
  if (named !== undefined) return [named]
  return keys.filter((one) => isKeyUsable(one, header.get('alg')))
}
