/** Serializes JSON data. Integers beyond the range of doubles keep all digits. */
export function stringifyExact(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExact(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${JSON.stringify(key)}:${stringifyExact(item)}`)
  return `{${members.join(',')}}`
}
