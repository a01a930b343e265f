import { createHash } from 'node:crypto'
import type { ServiceRegistration } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { refusal, type Refusal } from '../../model/index.ts'

const FORM: Refusal = refusal(
  'invalid-input',
  "Parameter for choose must be in form '<number>|<key>'",
)

/**
 * `<n>|<key>` keeps n instances, the same for one key as long as they are there. Rendezvous
 * hashing: an instance that comes or goes moves only the keys that it takes or had.
 */
export function chosenFew(
  text: string,
): Result<(found: readonly ServiceRegistration[]) => readonly ServiceRegistration[], Refusal> {
  const [number = '', key = '', ...rest] = text.split('|')
  const count = Number(number)
  const isCount = /^\d+$/.test(number) && Number.isSafeInteger(count) && count > 0
  if (!isCount || key === '' || rest.length > 0) return err(FORM)
  return ok((found) =>
    found
      .map((one) => ({ one, weight: weightOf(key, one) }))
      .toSorted((a, b) => compareText(b.weight, a.weight) || compareText(a.one.ID, b.one.ID))
      .slice(0, count)
      .map(({ one }) => one),
  )
}

function weightOf(key: string, { ID }: ServiceRegistration): string {
  return createHash('sha256').update(`${key}\0${ID}`).digest('hex')
}
