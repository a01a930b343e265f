/**
 * Signatures in the format of minisign, with Node's own cryptography: Ed25519 over the BLAKE2b-512
 * of the file. They can be verified with the minisign program.
 */
import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import * as fs from 'node:fs'

/** A private Ed25519 key in PEM (`openssl genpkey -algorithm ed25519`). */
export function readKey(file: string): KeyObject {
  const key = createPrivateKey(fs.readFileSync(file))
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(
      `${file} holds a key of type ${key.asymmetricKeyType ?? '?'}; Ed25519 is wanted.`,
    )
  return key
}

const RAW_PUBLIC_BYTES = 32

function publicBytes(key: KeyObject): Buffer {
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return der.subarray(der.length - RAW_PUBLIC_BYTES)
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha256').update(publicBytes(key)).digest().subarray(0, 8)
}

/** One line, as `minisign -P` takes it. */
export function publicKeyLine(key: KeyObject): string {
  return Buffer.concat([Buffer.from('Ed'), keyId(key), publicBytes(key)]).toString('base64')
}

export function signatureText(key: KeyObject, data: Buffer, comment: string): string {
  const hash = createHash('blake2b512').update(data).digest()
  const signature = sign(null, hash, key)
  const line = Buffer.concat([Buffer.from('ED'), keyId(key), signature]).toString('base64')
  const trusted = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key)
  return `untrusted comment: signature of a Reeve release
${line}
trusted comment: ${comment}
${trusted.toString('base64')}
`
}
