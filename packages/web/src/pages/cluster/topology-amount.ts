import { megabytesText } from '../../parts/bytes.ts'
import type { Dimension } from '../../paths.ts'

/** So much memory or CPU, in words. */
export function amountText(value: number, by: Dimension): string {
  return by === 'memory' ? megabytesText(value) : `${Math.round(value)} MHz`
}
