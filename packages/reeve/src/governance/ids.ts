import { v2 } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'

/** Returns an ID: the prefix of the type and 16 random base58 characters. */
export function newId(ids: IdSource, type: v2.PrefixedType): string {
  return `${v2.ID_PREFIXES[type]}-${idSuffixFromUuid(ids.uuid())}`
}

/** Returns a secret of the form `<14 characters>.rv1.<64 characters>`, with 468 random bits. */
export function newSecret(ids: IdSource): string {
  const randomPart = (): string => idSuffixFromUuid(ids.uuid())
  return `${randomPart().slice(0, SECRET_HEAD_CHARS)}.rv1.${randomPart()}${randomPart()}${randomPart()}${randomPart()}`
}

const SECRET_HEAD_CHARS = 14

/** Converts a UUID to 16 base58 characters; equal UUIDs give equal results. */
export function idSuffixFromUuid(uuid: string): string {
  const base = BigInt(v2.ID_ALPHABET.length)
  let remaining = BigInt(`0x${uuid.replaceAll('-', '')}`)
  let suffix = ''
  for (let i = 0; i < v2.ID_SUFFIX_LENGTH; i++) {
    suffix += v2.ID_ALPHABET.charAt(Number(remaining % base))
    remaining /= base
  }
  return suffix
}

/** Returns the random part of an ID, for IDs that are derived from it. */
export function idSuffixOf(id: string): string {
  return id.slice(id.indexOf('-') + 1)
}
