import type { HostKey, SignatureScheme, SignedMessage } from '@reeve/kit/crypto-host.ts'
import { constantTimeEqual } from '@reeve/kit/bytes.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { hmac, SHA256, SHA384, SHA512, type Hash } from '@reeve/kit/hash.ts'
import type { SharedKey } from './keys.ts'

export interface Algorithm {
  readonly name: string
  readonly kind: 'hmac' | SignatureScheme['kind']
  readonly hash: Hash & { readonly name: SignatureScheme['hash'] }
}

const HASHES = [
  ['256', SHA256],
  ['384', SHA384],
  ['512', SHA512],
] as const
const KINDS = [
  ['HS', 'hmac'],
  ['RS', 'pkcs1'],
  ['PS', 'pss'],
  ['ES', 'ecdsa'],
] as const

/** RFC 7518, section 3.1, and RFC 8037. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map<string, Algorithm>([
  ...KINDS.flatMap(([prefix, kind]) =>
    HASHES.map(([bits, hash]): [string, Algorithm] => [
      `${prefix}${bits}`,
      { name: `${prefix}${bits}`, kind, hash },
    ]),
  ),
  ['EdDSA', { name: 'EdDSA', kind: 'eddsa', hash: SHA512 }],
])

/** Steps charged for one signature, which takes up to some milliseconds. */
export const SIGNATURE_STEPS = 20_000

/** Whether the key made the signature; a key of another kind did not. */
export function verifySignature(
  context: CallContext,
  { algorithm, key }: { readonly algorithm: Algorithm; readonly key: HostKey | SharedKey },
  signed: SignedMessage,
): boolean {
  context.charge(SIGNATURE_STEPS)
  const { kind, hash } = algorithm
  if (key.form === 'oct')
    return (
      kind === 'hmac' && constantTimeEqual(hmac(hash, key.bytes, signed.message), signed.signature)
    )
  return kind !== 'hmac' && context.crypto.verify(key, { kind, hash: hash.name }, signed)
}

/** Undefined when the key is of another kind or too short. */
export function makeSignature(
  context: CallContext,
  { algorithm, key }: { readonly algorithm: Algorithm; readonly key: HostKey | SharedKey },
  message: Uint8Array,
): Uint8Array | undefined {
  context.charge(SIGNATURE_STEPS * 4)
  const { kind, hash } = algorithm
  if (key.form === 'oct') return kind === 'hmac' ? hmac(hash, key.bytes, message) : undefined
  return kind === 'hmac' ? undefined : context.crypto.sign(key, { kind, hash: hash.name }, message)
}
