import { formatAddress } from '@reeve/kit/ip-address.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'
import { bytesToBigInt } from '@reeve/kit/bytes.ts'
import {
  bitStringOf,
  integerOf,
  sequenceItems,
  oidOf,
  readSingleDer,
  DER_TAG,
  type DerItem,
} from '@reeve/kit/der.ts'
import type { Extension } from './x509.ts'

/** RFC 5280, section 4.2.1; readers give undefined when the extension is not there. */
function find(extensions: readonly Extension[], oid: string): DerItem | undefined {
  const extension = extensions.find((one) => one.oid === oid)
  return extension === undefined ? undefined : readSingleDer(extension.value)
}

export interface BasicConstraints {
  readonly isCa: boolean
  readonly pathLengthMax: number | undefined
}

export function basicConstraints(extensions: readonly Extension[]): BasicConstraints | undefined {
  const item = find(extensions, '2.5.29.19')
  if (item === undefined) return undefined
  const items = sequenceItems(item)
  const isCa = items[0]?.tag === DER_TAG.boolean && items[0].content[0] === 0xff
  const length = integerOf(items.find(({ tag }) => tag === DER_TAG.integer))
  return { isCa, pathLengthMax: length === undefined ? undefined : Number(length) }
}

/** Bit 0 is for signatures, bit 5 for signing certificates. */
export function keyUsage(extensions: readonly Extension[]): number | undefined {
  const bytes = bitStringOf(find(extensions, '2.5.29.15'))
  if (bytes === undefined) return undefined
  let usage = 0
  for (let bit = 0; bit < 9; bit++) {
    const isSet = ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0
    if (isSet) usage |= 1 << bit
  }
  return usage
}

export function extendedKeyUsages(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.37')).flatMap((item) => oidOf(item) ?? [])
}

export function subjectKeyId(extensions: readonly Extension[]): Uint8Array | undefined {
  const item = find(extensions, '2.5.29.14')
  return item?.tag === DER_TAG.octets ? item.content : undefined
}

export function authorityKeyId(extensions: readonly Extension[]): Uint8Array | undefined {
  return sequenceItems(find(extensions, '2.5.29.35')).find(({ tag }) => tag === 0x80)?.content
}

export interface AlternativeNames {
  readonly dns: readonly string[]
  readonly emails: readonly string[]
  readonly addresses: readonly string[]
  readonly uris: readonly string[]
}

const NAME_TAGS = { emails: 0x81, dns: 0x82, uris: 0x86, addresses: 0x87 } as const

export function alternativeNames(extensions: readonly Extension[]): AlternativeNames {
  const items = sequenceItems(find(extensions, '2.5.29.17'))
  const texts = (wanted: number) =>
    items.filter(({ tag }) => tag === wanted).map(({ content }) => decodeUtf8Lossy(content))
  return {
    dns: texts(NAME_TAGS.dns),
    emails: texts(NAME_TAGS.emails),
    uris: texts(NAME_TAGS.uris),
    addresses: items
      .filter(({ tag }) => tag === NAME_TAGS.addresses)
      .flatMap(({ content }) => addressText(content)),
  }
}

function addressText(bytes: Uint8Array): readonly string[] {
  if (bytes.length === 4) return [formatAddress(bytesToBigInt(bytes), 32)]
  return bytes.length === 16 ? [formatAddress(bytesToBigInt(bytes), 128)] : []
}

/** Where more about the issuer is: by method, OCSP or the certificate of the issuer. */
export function authorityAccess(
  extensions: readonly Extension[],
  method: string,
): readonly string[] {
  return sequenceItems(find(extensions, '1.3.6.1.5.5.7.1.1')).flatMap((item) => {
    const [type, location] = sequenceItems(item)
    return oidOf(type) === method && location?.tag === NAME_TAGS.uris
      ? [decodeUtf8Lossy(location.content)]
      : []
  })
}

export function revocationLists(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.31')).flatMap((point) => {
    const full = sequenceItems(sequenceItems(point).find(({ tag }) => tag === 0xa0)).find(
      ({ tag }) => tag === 0xa0,
    )
    return sequenceItems(full)
      .filter(({ tag }) => tag === NAME_TAGS.uris)
      .map(({ content }) => decodeUtf8Lossy(content))
  })
}

export function policyIdentifiers(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.32')).flatMap(
    (item) => oidOf(sequenceItems(item)[0]) ?? [],
  )
}
