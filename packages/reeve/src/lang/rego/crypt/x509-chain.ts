import type { CallContext } from '../builtins/builtin.ts'
import { sameBytes } from '../../../kit/bytes.ts'
import { integerOf, itemsOf, readOne } from '../../../kit/der.ts'
import { verifyEcdsa } from './ecdsa.ts'
import { verifyEd25519 } from './ed25519.ts'
import { SHA1, SHA256, SHA384, SHA512, type Hash } from './hash.ts'
import type { PublicKey } from './keys.ts'
import { verifyPkcs1 } from './rsa.ts'
import type { Certificate } from './x509.ts'
import { basicConstraints, keyUsage } from './x509-extensions.ts'

interface SignatureKind {
  readonly kind: 'rsa' | 'ec' | 'ed25519'
  readonly hash: Hash
}

const SIGNATURES: ReadonlyMap<string, SignatureKind> = new Map<string, SignatureKind>([
  ['1.2.840.113549.1.1.5', { kind: 'rsa', hash: SHA1 }],
  ['1.2.840.113549.1.1.11', { kind: 'rsa', hash: SHA256 }],
  ['1.2.840.113549.1.1.12', { kind: 'rsa', hash: SHA384 }],
  ['1.2.840.113549.1.1.13', { kind: 'rsa', hash: SHA512 }],
  ['1.2.840.10045.4.3.2', { kind: 'ec', hash: SHA256 }],
  ['1.2.840.10045.4.3.3', { kind: 'ec', hash: SHA384 }],
  ['1.2.840.10045.4.3.4', { kind: 'ec', hash: SHA512 }],
  ['1.3.101.112', { kind: 'ed25519', hash: SHA512 }],
])

const SIGNATURE_STEPS = 20_000
const KEY_CERT_SIGN = 1 << 5

/** Extensions whose meaning is checked here; any other critical one makes a chain invalid. */
const KNOWN_EXTENSIONS: ReadonlySet<string> = new Set([
  '2.5.29.14',
  '2.5.29.15',
  '2.5.29.17',
  '2.5.29.19',
  '2.5.29.35',
  '2.5.29.37',
])

export interface ChainRequest {
  /** From the root to the leaf; those in between in any order. */
  readonly certificates: readonly Certificate[]
  readonly nowSeconds: number
}

/** The certificates from the leaf to the root, when each is signed by the next; else nothing. */
export function verifyChain(
  context: CallContext,
  { certificates, nowSeconds }: ChainRequest,
): readonly Certificate[] | undefined {
  const [root, ...others] = certificates
  const leaf = others.pop()
  if (root === undefined || leaf === undefined) return undefined
  const chain = [leaf]
  const left = new Set(others)
  let current = leaf
  while (!isIssuedBy(context, current, root)) {
    const found = [...left].find((one) => isIssuedBy(context, current, one))
    if (found === undefined) return undefined
    left.delete(found)
    chain.push(found)
    current = found
  }
  chain.push(root)
  return chain.every((one, at) => isFit(one, { depth: at, nowSeconds })) ? chain : undefined
}

function isIssuedBy(context: CallContext, child: Certificate, parent: Certificate): boolean {
  if (!sameBytes(child.issuer.whole, parent.subject.whole)) return false
  context.charge(SIGNATURE_STEPS)
  return parent.key !== undefined && isSignedBy(parent.key, child)
}

function isSignedBy(
  key: PublicKey,
  { body, signature, signatureOid }: Pick<Certificate, 'body' | 'signature' | 'signatureOid'>,
): boolean {
  const how = SIGNATURES.get(signatureOid)
  if (how === undefined || how.kind !== key.type) return false
  switch (key.type) {
    case 'rsa':
      return verifyPkcs1(key, how.hash, { message: body, signature })
    case 'ec': {
      const [r, s] = itemsOf(readOne(signature)).map(integerOf)
      return r !== undefined && s !== undefined && verifyEcdsa(key, how.hash.digest(body), { r, s })
    }
    case 'ed25519':
      return verifyEd25519(key, body, signature)
  }
}

/** Valid now, and above the leaf allowed to sign others, not too many of them. */
function isFit(
  certificate: Certificate,
  { depth, nowSeconds }: { readonly depth: number; readonly nowSeconds: number },
): boolean {
  if (nowSeconds < certificate.notBefore || nowSeconds > certificate.notAfter) return false
  if (
    certificate.extensions.some(({ oid, isCritical }) => isCritical && !KNOWN_EXTENSIONS.has(oid))
  )
    return false
  if (depth === 0) return true
  const constraints = basicConstraints(certificate.extensions)
  const usage = keyUsage(certificate.extensions)
  if (constraints?.isCa !== true) return false
  if (usage !== undefined && (usage & KEY_CERT_SIGN) === 0) return false
  return constraints.pathLengthMax === undefined || depth - 1 <= constraints.pathLengthMax
}
