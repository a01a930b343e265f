const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Formats a size with up to three digits: `640 B`, `1.5 KiB`, `12 GiB`. */
export function formatBytes(bytes: number): string {
  let value = Math.max(0, bytes)
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit += 1
  }
  const digits = unit === 0 || value >= 100 || Number.isInteger(value) ? 0 : 1
  return `${value.toFixed(digits)} ${UNITS[unit] ?? 'B'}`
}

/** Formats a size that the API counts in megabytes. */
export function formatMegabytes(megabytes: number): string {
  return formatBytes(megabytes * 1024 * 1024)
}
