import { formatMegabytes } from '../../parts/bytes.ts'
import type { Dimension } from '../../paths.ts'

/** Formats an amount of memory or CPU. */
export function formatAmount(value: number, dimension: Dimension): string {
  return dimension === 'memory' ? formatMegabytes(value) : `${Math.round(value)} MHz`
}
