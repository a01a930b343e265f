import type { CallContext } from '../builtins/builtin.ts'
import { sameBytes, toBigInt, toBytes, joinBytes } from '../../../kit/bytes.ts'
import { signEcdsa, verifyEcdsa } from './ecdsa.ts'
import { signEd25519, verifyEd25519 } from './ed25519.ts'
import { hmac, SHA256, SHA384, SHA512, type Hash } from './hash.ts'
import type { SharedKey } from './jwk.ts'
import type { PrivateKey, PublicKey } from './keys.ts'
import { signPkcs1, signPss, verifyPkcs1, verifyPss, type SignedMessage } from './rsa.ts'

export interface Algorithm {
  readonly name: string
  readonly kind: 'hmac' | 'pkcs1' | 'pss' | 'ecdsa' | 'eddsa'
  readonly hash: Hash
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

/** A signature takes some milliseconds of arithmetic with long numbers. */
const SIGNATURE_STEPS = 20_000

/** Whether the key made the signature; a key of another kind did not. */
export function verifySignature(
  context: CallContext,
  { algorithm, key }: { readonly algorithm: Algorithm; readonly key: PublicKey | SharedKey },
  signed: SignedMessage,
): boolean {
  context.charge(SIGNATURE_STEPS)
  const { kind, hash } = algorithm
  const { message, signature } = signed
  switch (key.type) {
    case 'oct':
      return kind === 'hmac' && sameBytes(hmac(hash, key.bytes, message), signature)
    case 'rsa':
      if (kind === 'pkcs1') return verifyPkcs1(key, hash, signed)
      return kind === 'pss' && verifyPss(key, hash, signed)
    case 'ec': {
      const { size } = key.curve
      if (kind !== 'ecdsa' || signature.length !== size * 2) return false
      const r = toBigInt(signature.subarray(0, size))
      const s = toBigInt(signature.subarray(size))
      return verifyEcdsa(key, hash.digest(message), { r, s })
    }
    case 'ed25519':
      return kind === 'eddsa' && verifyEd25519(key, message, signature)
  }
}

/** Nothing when the key is of another kind or too short. */
export function makeSignature(
  context: CallContext,
  { algorithm, key }: { readonly algorithm: Algorithm; readonly key: PrivateKey | SharedKey },
  message: Uint8Array,
): Uint8Array | undefined {
  context.charge(SIGNATURE_STEPS * 4)
  const { kind, hash } = algorithm
  switch (key.type) {
    case 'oct':
      return kind === 'hmac' ? hmac(hash, key.bytes, message) : undefined
    case 'rsa':
      if (kind === 'pkcs1') return signPkcs1(key, hash, message)
      return kind === 'pss'
        ? signPss(key, hash, { message, salt: saltOf(context, hash) })
        : undefined
    case 'ec': {
      if (kind !== 'ecdsa') return undefined
      const { r, s } = signEcdsa(key, hash, message)
      return joinBytes(toBytes(r, key.curve.size), toBytes(s, key.curve.size))
    }
    case 'ed25519':
      return kind === 'eddsa' ? signEd25519(key, message) : undefined
  }
}

/** A salt need not be secret, only different. */
function saltOf(context: CallContext, { size }: Hash): Uint8Array {
  return Uint8Array.from({ length: size }, () => Math.floor(context.random() * 256))
}
