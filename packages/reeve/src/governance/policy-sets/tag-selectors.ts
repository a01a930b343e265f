import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  AttributeProblem,
  GovernanceRefusal,
  PolicySetRelation,
  PolicySetRow,
} from '../../model/index.ts'
import { put, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicySet } from './find-policy-set.ts'
import { ATTACHMENTS, countMembers } from './set-members.ts'

type NewSelectors = readonly v2.NewTagSelector[]

/** Returns distinct selectors with defaults for omitted members. */
export function normalSelectors(given: NewSelectors): readonly v2.TagSelector[] {
  const selectors = given.map((one) => ({
    'tag-key': one['tag-key'],
    'tag-value': one['tag-value'] ?? null,
    'is-exclude': one['is-exclude'] ?? false,
  }))
  return [...new Map(selectors.map((one) => [selectorKey(one), one])).values()]
}

function selectorKey(selector: v2.TagSelector): string {
  return JSON.stringify([selector['tag-key'], selector['tag-value'], selector['is-exclude']])
}

/** A global set applies everywhere, so its selectors can only exclude. */
export function selectorProblems(
  set: Pick<PolicySetRow, 'global'>,
  given: NewSelectors,
  pointer: string,
): readonly AttributeProblem[] {
  if (!set.global || given.every((one) => one['is-exclude'] === true)) return []
  return [{ pointer, detail: 'Tag selectors of a global set can only exclude' }]
}

interface MixedCheck {
  readonly pointer: string
  /** Relationships that the same request replaces, whose current members are ignored. */
  readonly replaced: ReadonlySet<PolicySetRelation>
}

/** A set with project or workspace attachments cannot have tag selectors too. */
export function mixedProblems(
  tables: Tables,
  set: PolicySetRow,
  { pointer, replaced }: MixedCheck,
): readonly AttributeProblem[] {
  // A global set has no attachments, or loses them with this request.
  if (set.global || set.tagSelectors.length === 0) return []
  const isMixed = ATTACHMENTS.some(
    (relation) => !replaced.has(relation) && countMembers(tables, set.id, relation) > 0,
  )
  const detail = 'Tag selectors cannot be given: the set names where it applies'
  return isMixed ? [{ pointer, detail }] : []
}

const MIXED_HERE: MixedCheck = { pointer: '/data', replaced: new Set() }

/** Returns the scoping of a set: by tags if it has selectors. */
export function scopingOf(selectors: readonly v2.TagSelector[]): PolicySetRow['scopingType'] {
  return selectors.length > 0 ? 'tag' : 'explicit'
}

/** Adds or removes tag selectors of a set. */
export async function changeTagSelectors(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly policySetId: string
    readonly selectors: NewSelectors
    readonly isRemoval: boolean
  },
): Promise<Result<void, GovernanceRefusal>> {
  const { policySetId, isRemoval } = request
  const seen = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!seen.ok) return seen
  const { set, organization } = seen.value
  const named = normalSelectors(request.selectors)
  const keys = new Set(named.map(selectorKey))
  const kept = set.tagSelectors.filter((one) => !keys.has(selectorKey(one)))
  const known = new Set(set.tagSelectors.map(selectorKey))
  const added = named.filter((one) => !known.has(selectorKey(one)))
  const tagSelectors = isRemoval ? kept : [...set.tagSelectors, ...added]
  const after: PolicySetRow = { ...set, tagSelectors, scopingType: scopingOf(tagSelectors) }
  const problems = isRemoval
    ? []
    : [
        ...selectorProblems(set, named, '/data'),
        ...mixedProblems(context.store.tables, after, MIXED_HERE),
        ...countProblems(tagSelectors.length),
      ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const isSame = tagSelectors.length === set.tagSelectors.length
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    subjects: [set.id],
    changes: isSame ? [] : [put('policy_sets', { ...after, updatedMs: context.clock.nowMs() })],
  })
  return ok(undefined)
}

function countProblems(count: number): readonly AttributeProblem[] {
  if (count <= v2.TAG_SELECTORS_MAX) return []
  const detail = `Tag selectors are too many (maximum is ${v2.TAG_SELECTORS_MAX})`
  return [{ pointer: '/data', detail }]
}
