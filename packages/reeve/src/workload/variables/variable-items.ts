import type { VariableRow } from '../../model/index.ts'
import type { Sealer } from '../sealer.ts'

/** Decrypted items of a variable, which exist only while a request is handled. */
export type VariableItems = Readonly<Record<string, string>>

export function sealItems(sealer: Sealer, items: VariableItems): string {
  return sealer.seal(JSON.stringify(items))
}

/** Throws a Fault if the items were sealed with another key. */
export function openItems(sealer: Sealer, { SealedItems }: VariableRow): VariableItems {
  // Sealed by `sealItems`; `open` rejects tampered data.
  return JSON.parse(sealer.open(SealedItems)) as VariableItems
}
