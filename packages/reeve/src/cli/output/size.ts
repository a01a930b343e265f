const STEP = 1024
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `1.5 MiB`. */
export function formatSize(bytes: number): string {
  const unit = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1)
  const amount = bytes / STEP ** unit
  return `${unit === 0 ? amount : amount.toFixed(1)} ${UNITS[unit] ?? ''}`
}
