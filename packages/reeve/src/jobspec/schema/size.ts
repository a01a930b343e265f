const PREFIXES = 'KMGTP'

/**
 * The bytes of a size such as `10GiB`, `500 MB` or `4096`: units with `i` are powers of 1024, those
 * without are powers of 1000. Undefined for other text and for sizes beyond exact numbers.
 */
export function byteSize(text: string): number | undefined {
  const [, amount, prefix = '', binary] =
    /^\s*(\d+(?:\.\d+)?)\s*(?:([KMGTP])(i)?)?B?\s*$/i.exec(text) ?? []
  if (amount === undefined) return undefined
  const step = binary === undefined ? 1000 : 1024
  const bytes = Number(amount) * step ** exponentOf(prefix)
  const whole = Math.round(bytes)
  return Number.isSafeInteger(whole) && (prefix !== '' || whole === bytes) ? whole : undefined
}

function exponentOf(prefix: string): number {
  return prefix === '' ? 0 : PREFIXES.indexOf(prefix.toUpperCase()) + 1
}
