import type { v2 } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { PolicySetRow, TagBindingRow } from '../../model/index.ts'
import type { PlainObject } from '../../policy/index.ts'
import {
  broadSetGroup,
  policyCodeKey,
  policySetMemberGroup,
  scopedKey,
  type Store,
  type Tables,
} from '../../state/index.ts'
import { tagsOf, workspaceEffectiveTags } from '../projects/tags.ts'
import { parameterValue } from './parameter-value.ts'
import type { SecretKeeper } from '../context.ts'

/** A policy of a set that applies. */
export interface AppliedPolicy {
  readonly id: string
  readonly name: string
  readonly kind: v2.PolicyKind
  /** Query of an `opa` policy. */
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  readonly description: string | null
  /** Hash of the code, for `readPolicyCode`. Equal hashes mean equal texts. */
  readonly codeHash: string
  /** Parameters of the set, which override the values in its version. */
  readonly params: PlainObject
}

/** A policy set that applies to a subject, with everything needed to evaluate it. */
export interface AppliedSet {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly kind: v2.PolicyKind
  readonly overridable: boolean
  readonly params: PlainObject
  /** Values of sensitive parameters, which must be redacted in outputs. */
  readonly secrets: readonly PlainObject[string][]
  /** Sorted by name. */
  readonly policies: readonly AppliedPolicy[]
}

/** Dependencies of the search for sets; sensitive parameters are decrypted only for evaluation. */
export interface PolicySource {
  readonly store: Pick<Store, 'tables'>
  readonly sealer: Pick<SecretKeeper, 'open'>
}

/** Reports whether any policy set exists. Fast path for installations without policies. */
export function hasPolicies(tables: Tables): boolean {
  return tables.policy_sets.size > 0
}

/**
 * Returns the sets that apply to job submissions in a namespace, by name: sets attached to it or to
 * its project. A namespace without a project belongs to no organization, so no global set applies;
 * a namespace of an organization is not subject to sets of others.
 */
export function setsForNamespace(source: PolicySource, namespace: string): readonly AppliedSet[] {
  const { tables } = source.store
  const owner = tables.project_namespaces.find(namespace)
  const direct = membersOf(tables, 'namespaces', namespace).filter(
    ({ organizationId }) => (owner?.organizationId ?? organizationId) === organizationId,
  )
  const place =
    owner === undefined
      ? undefined
      : { ...owner, workspaceId: undefined, tags: tagsOf(tables, owner.projectId) }
  return applied(source, place, direct)
}

/** Returns the sets that apply to runs in a workspace, by name. */
export function setsForWorkspace(source: PolicySource, workspaceId: string): readonly AppliedSet[] {
  const { tables } = source.store
  const workspace = tables.workspaces.find(workspaceId)
  if (workspace === undefined) return []
  const { organizationId, projectId } = workspace
  const tags = workspaceEffectiveTags(tables, workspace).map(({ binding }) => binding)
  const place = { organizationId, projectId, workspaceId, tags }
  return applied(source, place, membersOf(tables, 'workspaces', workspaceId))
}

/** Reports whether the organization of a set requires a comment for overrides. */
export function needsOverrideComment(tables: Tables, setId: string): boolean {
  const set = tables.policy_sets.find(setId)
  if (set === undefined) return false
  return tables.organizations.find(set.organizationId)?.requireOverrideComment ?? false
}

/** Location of a subject to which sets can apply. */
interface Place {
  readonly organizationId: string
  readonly projectId: string
  readonly workspaceId: string | undefined
  /** Its effective tag bindings. */
  readonly tags: readonly TagBindingRow[]
}

/**
 * Returns sets that include the place and do not exclude it. They are looked up from the place, so
 * the cost depends on the result; only sets with tag selectors are all checked.
 */
function applied(
  source: PolicySource,
  place: Place | undefined,
  direct: readonly PolicySetRow[],
): readonly AppliedSet[] {
  const { tables } = source.store
  const found = new Map(direct.map((set) => [set.id, set]))
  if (place !== undefined) {
    for (const set of membersOf(tables, 'projects', place.projectId)) found.set(set.id, set)
    for (const set of broadSets(tables, place, 'global')) found.set(set.id, set)
    for (const set of broadSets(tables, place, 'tag'))
      if (matches(set, place.tags, false)) found.set(set.id, set)
  }
  return [...found.values()]
    .filter((set) => place === undefined || !isExcluded(tables, set, place))
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.id, b.id))
    .map((set) => appliedSet(source, set))
}

function membersOf(
  tables: Tables,
  relation: 'namespaces' | 'projects' | 'workspaces',
  memberId: string,
): readonly PolicySetRow[] {
  return tables.policy_set_members
    .rowsIn('member', scopedKey(relation, memberId))
    .map(({ policySetId }) => tables.policy_sets.get(policySetId))
}

function broadSets(
  tables: Tables,
  { organizationId }: Place,
  scope: 'global' | 'tag',
): readonly PolicySetRow[] {
  return tables.policy_sets.rowsIn('broad', broadSetGroup(organizationId, scope))
}

/** Exclusions take precedence over every form of inclusion. */
function isExcluded(tables: Tables, set: PolicySetRow, place: Place): boolean {
  const has = (relation: 'workspace-exclusions' | 'project-exclusions', id: string): boolean =>
    tables.policy_set_members.has(`${policySetMemberGroup(set.id, relation)}!${id}`)
  const { workspaceId } = place
  return (
    (workspaceId !== undefined && has('workspace-exclusions', workspaceId)) ||
    has('project-exclusions', place.projectId) ||
    matches(set, place.tags, true)
  )
}

/** A selector without a value matches any value of the key. */
function matches(set: PolicySetRow, tags: readonly TagBindingRow[], isExclude: boolean): boolean {
  return set.tagSelectors.some(
    (selector) =>
      selector['is-exclude'] === isExclude &&
      tags.some(
        ({ key, value }) =>
          key === selector['tag-key'] &&
          (selector['tag-value'] === null || value === selector['tag-value']),
      ),
  )
}

/** Returns a set in the form in which it applies to any subject. */
export function appliedSet({ store, sealer }: PolicySource, set: PolicySetRow): AppliedSet {
  const { tables } = store
  const own = tables.policy_set_parameters.rowsIn('set', set.id).map((row) => ({
    ...row,
    value: parameterValue(row.sensitive ? sealer.open(row.value) : row.value),
  }))
  const given = Object.fromEntries(own.map(({ key, value }) => [key, value]))
  const { id, organizationId, name, description, kind } = set
  const known = {
    id,
    organizationId,
    name,
    description,
    kind,
    overridable: set.overridable === true,
    secrets: own.filter(({ sensitive }) => sensitive).map(({ value }) => value),
  }
  const version =
    set.currentVersionId === null ? undefined : tables.policy_set_versions.get(set.currentVersionId)
  if (version === undefined)
    return { ...known, params: given, policies: recordedPolicies(tables, set, given) }
  // Parameters set over the API override those in the archive.
  const params = { ...plainObject(version.params), ...given }
  const policies = version.policies.map((policy): AppliedPolicy => ({
    id: `${version.id}/${policy.name}`,
    name: policy.name,
    kind,
    query: policy.query,
    level: policy.enforcementLevel,
    description: policy.description,
    codeHash: policy.sha256,
    params: { ...params, ...plainObject(policy.params) },
  }))
  return { ...known, params, policies }
}

/** A policy without uploaded code has no rules, so it is not evaluated. */
function recordedPolicies(
  tables: Tables,
  set: PolicySetRow,
  params: PlainObject,
): readonly AppliedPolicy[] {
  return tables.policy_set_members
    .rowsIn('relation', policySetMemberGroup(set.id, 'policies'))
    .map(({ memberId }) => tables.run_policies.get(memberId))
    .flatMap(({ id, name, kind, query, enforcementLevel: level, description, code }) =>
      code === null
        ? []
        : [{ id, name, kind, query, level, description, codeHash: code.sha256, params }],
    )
    .toSorted((a, b) => compareText(a.name, b.name))
}

function plainObject(data: Readonly<Record<string, unknown>>): PlainObject {
  // Stored as JSON, so it is plain data.
  return data as PlainObject
}

/** Returns the code of a policy by the hash in its set; undefined if it was deleted. */
export async function readPolicyCode(
  store: Pick<Store, 'readBlob' | 'settled'>,
  codeHash: string,
): Promise<string | undefined> {
  // Rows become visible slightly before their blobs are durable.
  await store.settled()
  const bytes = await store.readBlob(policyCodeKey(codeHash))
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
}
