import { test } from 'node:test'
import fc from 'fast-check'
import { nodeCrypto } from '@reeve/kit/test/node-crypto.ts'
import { isWellFormed, readDer } from '@reeve/kit/der.ts'
import { privateKeyOf, publicKeyOf } from '../crypto/keys.ts'
import { readCertificate, readCertificateRequest } from '../crypto/x509.ts'
import { certificateValue } from '../crypto/x509-value.ts'

const bytes = fc.uint8Array({ maxLength: 200 })
/** Sequences in sequences, so that readers get further than the first byte. */
const nested = fc
  .array(fc.tuple(fc.constantFrom(0x30, 0x31, 0xa0, 0xa3, 2, 3, 4, 6, 0x17), bytes))
  .map((items) => {
    const content = items.flatMap(([tag, inner]) => [
      tag,
      Math.min(inner.length, 127),
      ...inner.subarray(0, 127),
    ])
    return Uint8Array.of(0x30, 0x82, content.length >> 8, content.length & 0xff, ...content)
  })

test('no bytes make the readers of keys and certificates throw', () => {
  fc.assert(
    fc.property(fc.oneof(bytes, nested), (input) => {
      for (const item of readDer(input) ?? []) {
        isWellFormed(item)
        const certificate = readCertificate(item)
        if (certificate !== undefined) certificateValue(certificate)
      }
      readCertificateRequest(input)
      for (const label of ['PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY'])
        privateKeyOf(nodeCrypto, { label, bytes: input, rest: '' })
      for (const label of ['PUBLIC KEY', 'RSA PUBLIC KEY'])
        publicKeyOf(nodeCrypto, { label, bytes: input, rest: '' })
    }),
  )
})
