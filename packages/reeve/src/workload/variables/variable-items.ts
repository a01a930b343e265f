import type { VariableRow } from '../../model/index.ts'
import type { Sealer } from '../sealer.ts'

/** Named texts, which only exist in the clear while a request is answered. */
export type VariableItems = Readonly<Record<string, string>>

export function sealItems(sealer: Sealer, items: VariableItems): string {
  return sealer.seal(JSON.stringify(items))
}

/** Throws a Fault when the key is another one than that which sealed them. */
export function openItems(sealer: Sealer, { SealedItems }: VariableRow): VariableItems {
  // Sealed by sealItems, and a seal that was tampered with does not open.
  return JSON.parse(sealer.open(SealedItems)) as VariableItems
}
