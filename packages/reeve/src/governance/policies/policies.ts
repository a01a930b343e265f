import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isEqual,
  type AttributeProblem,
  type GovernanceRefusal,
  type PolicySetRow,
  type RunPolicyRow,
} from '../../model/index.ts'
import {
  normalizeName,
  put,
  remove,
  scopedKey,
  type Change,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicy, findPolicyOrganization, type VisiblePolicy } from './find-policy.ts'
import { refreshDiagnostics } from './policy-code.ts'

/** Creates the record only; its code is uploaded separately. */
export async function createPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.RunPolicyCreateRequest['data']
  },
): Promise<Result<VisiblePolicy, GovernanceRefusal>> {
  const { organizationName, data } = request
  const found = findPolicyOrganization(context, caller, { organizationName, right: 'update' })
  if (!found.ok) return found
  const { attributes } = data
  const { id: organizationId } = found.value.organization
  const { name, kind = 'native' } = attributes
  const level = requestedLevel(attributes)
  const sets = resolveSets(context.store.tables, {
    organizationId,
    kind,
    ids: (data.relationships?.['policy-sets']?.data ?? []).map(({ id }) => id),
  })
  const problems = [
    ...nameProblems(context.store.tables, organizationId, name),
    ...requiredQueryProblems(attributes),
    ...levelProblems(level),
    ...sets.problems,
  ]
  if (problems.length > 0 || !level.ok || level.value === undefined)
    return err({ code: 'invalid', problems })
  const nowMs = context.clock.nowMs()
  const policy: RunPolicyRow = {
    id: newId(context.ids, 'policies'),
    organizationId,
    name,
    description: attributes.description || null,
    kind,
    // The query of a native policy is ignored.
    query: kind === 'opa' ? (attributes.query ?? null) : null,
    enforcementLevel: level.value,
    createdMs: nowMs,
    updatedMs: null,
    code: null,
  }
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [policy.id],
    changes: [put('run_policies', policy), ...addToSetsChanges(sets.rows, policy.id, nowMs)],
  })
  return ok({ ...found.value, policy })
}

type NewAttributes = v2.RunPolicyCreateRequest['data']['attributes']

function requestedLevel({ name, kind = 'native', enforce, ...rest }: NewAttributes) {
  return resolveEnforcementLevel({ name, kind, enforce, level: rest['enforcement-level'] })
}

/** Returns the problems of a new policy that can be found although other attributes are invalid. */
export function draftPolicyProblems(
  attributes: Partial<NewAttributes>,
  isValid: (...names: readonly (keyof NewAttributes)[]) => boolean,
): readonly AttributeProblem[] {
  // The file name that a path is compared with is derived from the name.
  const draft = { ...attributes, name: attributes.name ?? '' }
  const isFileKnown = attributes.enforce === undefined || isValid('name')
  const canCheckLevel = isValid('kind', 'enforcement-level', 'enforce') && isFileKnown
  return [
    ...(isValid('kind', 'query') ? requiredQueryProblems(draft) : []),
    ...(canCheckLevel ? levelProblems(requestedLevel(draft)) : []),
  ]
}

function requiredQueryProblems({ kind, query }: NewAttributes): readonly AttributeProblem[] {
  return kind === 'opa' ? queryProblems(query ?? '') : []
}

function nameProblems(
  tables: Tables,
  organizationId: string,
  name: string,
): readonly AttributeProblem[] {
  const isTaken =
    tables.run_policies.countByIndex('name', scopedKey(organizationId, normalizeName(name))) > 0
  return isTaken
    ? [{ pointer: '/data/attributes/name', detail: 'Name has already been taken' }]
    : []
}

function queryProblems(query: string): readonly AttributeProblem[] {
  return query.trim() === ''
    ? [{ pointer: '/data/attributes/query', detail: "Query can't be blank" }]
    : []
}

function levelProblems(
  level: ReturnType<typeof resolveEnforcementLevel>,
): readonly AttributeProblem[] {
  if (!level.ok) return [level.error]
  if (level.value !== undefined) return []
  const pointer = '/data/attributes/enforcement-level'
  return [{ pointer, detail: "Enforcement level can't be blank" }]
}

interface PolicySetRefs {
  readonly organizationId: string
  readonly kind: v2.PolicyKind
  readonly ids: readonly string[]
}

/** Resolves the policy sets of a new policy, and returns their problems. */
function resolveSets(tables: Tables, { organizationId, kind, ids }: PolicySetRefs) {
  const rows = new Map<string, PolicySetRow>()
  const problems: AttributeProblem[] = []
  ids.forEach((id, i) => {
    const set = tables.policy_sets.find(id)
    const pointer = `/data/relationships/policy-sets/data/${i}`
    if (set === undefined || set.organizationId !== organizationId)
      problems.push({ pointer, detail: `Policy set ${id} does not exist` })
    else if (set.kind !== kind)
      problems.push({ pointer, detail: `Policy set ${id} holds policies of the kind ${set.kind}` })
    else if (set.currentVersionId !== null)
      problems.push({ pointer, detail: `Policy set ${id} is versioned` })
    else rows.set(id, set)
  })
  return { rows: [...rows.values()], problems }
}

function addToSetsChanges(
  sets: readonly PolicySetRow[],
  memberId: string,
  updatedMs: number,
): readonly Change[] {
  return sets.flatMap((set) => {
    const { id: policySetId, organizationId } = set
    const member = { policySetId, organizationId, relation: 'policies', memberId } as const
    return [put('policy_set_members', member), put('policy_sets', { ...set, updatedMs })]
  })
}

/** Updates a policy. Name and kind are immutable; code is changed by an upload. */
export async function updatePolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly policyId: string; readonly data: v2.RunPolicyUpdateRequest['data'] },
): Promise<Result<VisiblePolicy, GovernanceRefusal>> {
  const lookup = { policyId: request.policyId, right: 'update' } as const
  const first = findPolicy(context, caller, lookup)
  if (!first.ok) return first
  const { attributes = {} } = request.data
  const checked = withAttributes(first.value.policy, attributes)
  if (!checked.ok) return checked
  const code = await refreshDiagnostics(context, first.value.policy, checked.value)
  // The record may have been changed while the code was read.
  const found = findPolicy(context, caller, lookup)
  if (!found.ok) return found
  const { policy: before, organization } = found.value
  const changed = withAttributes(before, attributes)
  if (!changed.ok) return changed
  const isSameCode = code?.id === before.code?.id
  const policy = { ...changed.value, code: isSameCode ? code : before.code }
  if (isEqual(before, policy)) return found
  const written = { ...policy, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [before.id],
    changes: [put('run_policies', written)],
  })
  return ok({ ...found.value, policy: written })
}

/** Applies a PATCH to the record; omitted attributes are unchanged. */
function withAttributes(
  before: RunPolicyRow,
  attributes: NonNullable<v2.RunPolicyUpdateRequest['data']['attributes']>,
): Result<RunPolicyRow, GovernanceRefusal> {
  const { name, kind } = before
  const { description, query } = attributes
  const hasNewQuery = kind === 'opa' && query !== undefined
  const level = resolveEnforcementLevel({
    name,
    kind,
    level: attributes['enforcement-level'],
    enforce: attributes.enforce,
  })
  const problems = [
    ...immutableProblems(before, attributes),
    ...(hasNewQuery ? queryProblems(query ?? '') : []),
    ...(level.ok ? [] : [level.error]),
  ]
  if (problems.length > 0 || !level.ok) return err({ code: 'invalid', problems })
  return ok({
    ...before,
    description: description === undefined ? before.description : description || null,
    query: hasNewQuery ? query : before.query,
    enforcementLevel: level.value ?? before.enforcementLevel,
  })
}

/** The current value is accepted, any other is rejected. */
function immutableProblems(
  before: RunPolicyRow,
  { name, kind }: { readonly name?: string; readonly kind?: string },
): readonly AttributeProblem[] {
  const isRenamed = name !== undefined && name !== before.name
  const isKindChanged = kind !== undefined && kind !== before.kind
  return [
    ...(isRenamed ? [{ pointer: '/data/attributes/name', detail: 'Name cannot be changed' }] : []),
    ...(isKindChanged
      ? [{ pointer: '/data/attributes/kind', detail: 'Kind cannot be changed' }]
      : []),
  ]
}

/** Deletes a policy and removes it from its sets, which remain. */
export async function deletePolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  policyId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findPolicy(context, caller, { policyId, right: 'update' })
  if (!found.ok) return found
  const { tables } = context.store
  const members = tables.policy_set_members.keysByIndex('member', scopedKey('policies', policyId))
  const codes = tables.policy_codes.keysByIndex('owner', policyId)
  await commitWrite(context, {
    caller,
    organizationId: found.value.organization.id,
    affectedIds: [policyId],
    changes: [
      ...[...members].map((key) => remove('policy_set_members', key)),
      ...[...codes].map((key) => remove('policy_codes', key)),
      remove('run_policies', policyId),
    ],
  })
  return ok(undefined)
}

interface PolicySearch {
  readonly organizationName: string
  /** Substring of the name. */
  readonly nameContains?: string | undefined
  readonly kind?: v2.PolicyKind | undefined
  readonly sort: (typeof v2.POLICY_SORTS)[number]
  readonly offset: number
  readonly limit: number
}

interface PolicyPage {
  readonly policies: readonly VisiblePolicy[]
  readonly total: number
}

export function listPolicies(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, nameContains, kind, sort, offset, limit }: PolicySearch,
): Result<PolicyPage, GovernanceRefusal> {
  const lookup = findPolicyOrganization(context, caller, { organizationName, right: 'read' })
  if (!lookup.ok) return lookup
  const { run_policies: policies } = context.store.tables
  const { id: scope } = lookup.value.organization
  const { lists } = context
  const sortsByUpdate = sort === 'updated-at' || sort === '-updated-at'
  const page = (sortsByUpdate ? lists.policiesByUpdate : lists.policies).page({
    scope,
    order: sort.startsWith('-') ? '-name' : 'name',
    search: nameContains,
    restrictTo:
      kind === undefined
        ? undefined
        : new Set(policies.keysByIndex('kind', scopedKey(scope, kind))),
    skip: offset,
    take: limit,
  })
  return ok({
    policies: page.keys.map((key) => ({ ...lookup.value, policy: policies.get(key) })),
    total: page.total,
  })
}

/** Enforcement level in a request; `enforce` is the deprecated form. */
export interface EnforcementInput {
  readonly name: string
  readonly kind: v2.PolicyKind
  /** As given; the valid levels depend on the kind. */
  readonly level: string | undefined
  readonly enforce: readonly EnforceEntry[] | undefined
}

interface EnforceEntry {
  readonly path?: string | null
  readonly mode: string
}

/** Level for `enforce` entries whose path is not the policy's file. */
const OTHER_FILE_LEVELS = {
  native: 'hard-mandatory',
  opa: 'advisory',
} as const satisfies Record<v2.PolicyKind, v2.EnforcementLevel>

export function policyFileName({ name, kind }: Pick<EnforcementInput, 'name' | 'kind'>): string {
  return `${name}${v2.POLICY_FILE_SUFFIXES[kind]}`
}

/** Returns the requested enforcement level; undefined if the request has none. */
export function resolveEnforcementLevel(
  request: EnforcementInput,
): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  const { kind, level } = request
  const pointer = '/data/attributes/enforcement-level'
  if (level !== undefined && !isAllowedLevel(kind, level))
    return err({ pointer, detail: `Enforcement level must be one of ${allowedLevelsText(kind)}` })
  const fromEnforce = levelFromEnforce(request)
  if (!fromEnforce.ok || fromEnforce.value === undefined)
    return fromEnforce.ok ? ok(level) : fromEnforce
  if (level === undefined || level === fromEnforce.value) return fromEnforce
  return err({ pointer, detail: `Enforcement level is ${level}, but enforce says otherwise` })
}

/** Returns the first entry; additional entries are tolerated, and an empty list means none. */
function levelFromEnforce({
  name,
  kind,
  enforce = [],
}: EnforcementInput): Result<v2.EnforcementLevel | undefined, AttributeProblem> {
  if (enforce.length === 0) return ok(undefined)
  const file = policyFileName({ name, kind })
  const at = enforce.findIndex(({ path }) => path === file)
  const mode = enforce[at]?.mode
  // The mode is ignored because it applies to another file.
  if (mode === undefined) return ok(OTHER_FILE_LEVELS[kind])
  if (isAllowedLevel(kind, mode)) return ok(mode)
  const pointer = `/data/attributes/enforce/${at}/mode`
  return err({ pointer, detail: `Mode must be one of ${allowedLevelsText(kind)}` })
}

function isAllowedLevel(kind: v2.PolicyKind, level: string): level is v2.EnforcementLevel {
  const levels: readonly string[] = v2.ENFORCEMENT_LEVELS[kind]
  return levels.includes(level)
}

function allowedLevelsText(kind: v2.PolicyKind): string {
  return v2.ENFORCEMENT_LEVELS[kind].join(', ')
}
