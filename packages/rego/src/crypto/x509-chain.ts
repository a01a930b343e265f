import type { CallContext } from '../builtins/builtin.ts'
import { constantTimeEqual } from '@reeve/kit/bytes.ts'
import type { SignatureScheme } from '@reeve/kit/crypto-host.ts'
import { SIGNATURE_STEPS } from './signature.ts'
import type { Certificate } from './x509.ts'
import { basicConstraints, keyUsage } from './x509-value.ts'

const SIGNATURES: ReadonlyMap<string, SignatureScheme> = new Map<string, SignatureScheme>([
  ['1.2.840.113549.1.1.5', { kind: 'pkcs1', hash: 'sha1' }],
  ['1.2.840.113549.1.1.11', { kind: 'pkcs1', hash: 'sha256' }],
  ['1.2.840.113549.1.1.12', { kind: 'pkcs1', hash: 'sha384' }],
  ['1.2.840.113549.1.1.13', { kind: 'pkcs1', hash: 'sha512' }],
  ['1.2.840.10045.4.3.2', { kind: 'ecdsa', hash: 'sha256', encoding: 'der' }],
  ['1.2.840.10045.4.3.3', { kind: 'ecdsa', hash: 'sha384', encoding: 'der' }],
  ['1.2.840.10045.4.3.4', { kind: 'ecdsa', hash: 'sha512', encoding: 'der' }],
  ['1.3.101.112', { kind: 'eddsa', hash: 'sha512' }],
])

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
  if (!constantTimeEqual(child.issuer.whole, parent.subject.whole)) return false
  context.charge(SIGNATURE_STEPS)
  const scheme = SIGNATURES.get(child.signatureOid)
  if (scheme === undefined) return false
  const key = { form: 'spki', der: parent.keyInfo.encoded } as const
  return context.crypto.verify(key, scheme, { message: child.body, signature: child.signature })
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
