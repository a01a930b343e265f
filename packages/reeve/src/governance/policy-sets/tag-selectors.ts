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
export function normalizeSelectors(requested: NewSelectors): readonly v2.TagSelector[] {
  const selectors = requested.map((one) => ({
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
  requested: NewSelectors,
  pointer: string,
): readonly AttributeProblem[] {
  if (!set.global || requested.every((one) => one['is-exclude'] === true)) return []
  return [{ pointer, detail: 'Tag selectors of a global set can only exclude' }]
}

interface ScopingCheck {
  readonly pointer: string
  /** Relationships that the same request replaces, whose current members are ignored. */
  readonly replaced: ReadonlySet<PolicySetRelation>
}

/** A set with project or workspace attachments cannot have tag selectors too. */
export function scopingConflicts(
  tables: Tables,
  set: PolicySetRow,
  { pointer, replaced }: ScopingCheck,
): readonly AttributeProblem[] {
  // A global set has no attachments, or loses them with this request.
  if (set.global || set.tagSelectors.length === 0) return []
  const hasAttachments = ATTACHMENTS.some(
    (relation) => !replaced.has(relation) && countMembers(tables, set.id, relation) > 0,
  )
  const detail = 'Tag selectors cannot be given: the set names where it applies'
  return hasAttachments ? [{ pointer, detail }] : []
}

const NO_REPLACED_RELATIONS: ScopingCheck = { pointer: '/data', replaced: new Set() }

/** Returns the scoping of a set: by tags if it has selectors. */
export function scopingTypeOf(selectors: readonly v2.TagSelector[]): PolicySetRow['scopingType'] {
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
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { set, organization } = found.value
  const requested = normalizeSelectors(request.selectors)
  const keys = new Set(requested.map(selectorKey))
  const remaining = set.tagSelectors.filter((one) => !keys.has(selectorKey(one)))
  const existingKeys = new Set(set.tagSelectors.map(selectorKey))
  const added = requested.filter((one) => !existingKeys.has(selectorKey(one)))
  const tagSelectors = isRemoval ? remaining : [...set.tagSelectors, ...added]
  const after: PolicySetRow = { ...set, tagSelectors, scopingType: scopingTypeOf(tagSelectors) }
  const problems = isRemoval
    ? []
    : [
        ...selectorProblems(set, requested, '/data'),
        ...scopingConflicts(context.store.tables, after, NO_REPLACED_RELATIONS),
        ...countProblems(tagSelectors.length),
      ]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const isSame = tagSelectors.length === set.tagSelectors.length
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    affectedIds: [set.id],
    changes: isSame ? [] : [put('policy_sets', { ...after, updatedMs: context.clock.nowMs() })],
  })
  return ok(undefined)
}

function countProblems(count: number): readonly AttributeProblem[] {
  if (count <= v2.TAG_SELECTORS_MAX) return []
  const detail = `Tag selectors are too many (maximum is ${v2.TAG_SELECTORS_MAX})`
  return [{ pointer: '/data', detail }]
}
