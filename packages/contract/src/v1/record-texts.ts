import type { ServiceChecks } from './service-registration.ts'
import type { JobSubmitter } from './version-origin.ts'

/*
 * Texts about parts of records, apart from the schemas: commands and pages that print them do not
 * load the schemas, which takes a command a tenth of its processor time.
 */

/** The checks of an instance in words, as `1 of 2 passing`; empty without checks. */
export function checksText(checks: ServiceChecks | undefined): string {
  if (checks === undefined) return ''
  const { Passing, Failing, Pending } = checks
  return `${Passing} of ${Passing + Failing + Pending} passing`
}

interface VersionOrigin {
  readonly SubmittedBy?: JobSubmitter
  readonly Origin?: string
}

/** Formats the submitter and origin of a version, such as `by ada (cli)`; empty if unknown. */
export function originText({ SubmittedBy, Origin = '' }: VersionOrigin): string {
  if (SubmittedBy === undefined) return Origin
  const who = `by ${SubmittedBy.Name || SubmittedBy.ID}`
  return Origin === '' ? who : `${who} (${Origin})`
}

/** Splits the `Warnings` of a plan; omits denials, which are shown with their rule and line. */
export function planWarnings(text: string): readonly string[] {
  const [head = '', ...items] = text.split(/^\s*\* /m)
  const all = items.length === 0 ? [head] : items
  return all
    .map((item) => item.trim())
    .filter((item) => item !== '' && !item.startsWith(DENIAL_PREFIX))
}

const DENIAL_PREFIX = 'would be denied: '
