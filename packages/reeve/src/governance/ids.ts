import { v2 } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'

/** The prefix of the type, then 16 random characters of base58. */
export function newId(ids: IdSource, type: v2.PrefixedType): string {
  return `${v2.ID_PREFIXES[type]}-${suffixOf(ids.uuid())}`
}

/** `<14 characters>.rv1.<64 characters>`; 468 random bits in all. */
export function newSecret(ids: IdSource): string {
  const part = (): string => suffixOf(ids.uuid())
  return `${part().slice(0, SECRET_HEAD_CHARS)}.rv1.${part()}${part()}${part()}${part()}`
}

const SECRET_HEAD_CHARS = 14

/** 16 characters that are the same for the same UUID. */
export function suffixOf(uuid: string): string {
  const base = BigInt(v2.ID_ALPHABET.length)
  let rest = BigInt(`0x${uuid.replaceAll('-', '')}`)
  let suffix = ''
  for (let i = 0; i < v2.ID_SUFFIX_LENGTH; i++) {
    suffix += v2.ID_ALPHABET.charAt(Number(rest % base))
    rest /= base
  }
  return suffix
}

/** The random part of an identifier, for another one that stands for the same thing. */
export function suffixPart(id: string): string {
  return id.slice(id.indexOf('-') + 1)
}
