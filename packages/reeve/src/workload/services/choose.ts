import { createHash } from 'node:crypto'
import type { ServiceRegistration } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { refusal, type Refusal } from '../../model/index.ts'

const INVALID_CHOOSE: Refusal = refusal(
  'invalid-input',
  "Parameter for choose must be in form '<number>|<key>'",
)

/**
 * Parses `<n>|<key>`: selects n instances, the same ones for a key while they exist. Uses
 * rendezvous hashing: adding or removing an instance moves only the keys assigned to it.
 */
export function rendezvousSelect(
  text: string,
): Result<
  (registrations: readonly ServiceRegistration[]) => readonly ServiceRegistration[],
  Refusal
> {
  const [number = '', key = '', ...rest] = text.split('|')
  const count = Number(number)
  const isCount = /^\d+$/.test(number) && Number.isSafeInteger(count) && count > 0
  if (!isCount || key === '' || rest.length > 0) return err(INVALID_CHOOSE)
  return ok((registrations) =>
    registrations
      .map((registration) => ({ one: registration, weight: rendezvousWeight(key, registration) }))
      .toSorted((a, b) => compareText(b.weight, a.weight) || compareText(a.one.ID, b.one.ID))
      .slice(0, count)
      .map(({ one: registration }) => registration),
  )
}

function rendezvousWeight(key: string, { ID }: ServiceRegistration): string {
  return createHash('sha256').update(`${key}\0${ID}`).digest('hex')
}
