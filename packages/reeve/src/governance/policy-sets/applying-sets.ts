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
  /** What an `opa` policy is asked. */
  readonly query: string | null
  readonly level: v2.EnforcementLevel
  readonly description: string | null
  /** Names the code: give it to `readPolicyCode`. Equal hashes are equal texts. */
  readonly codeHash: string
  /** What the policy is given: the set's parameters, and in a version its own values. */
  readonly params: PlainObject
}

/** A policy set that applies to a subject, with everything that is needed to ask it. */
export interface AppliedSet {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly kind: v2.PolicyKind
  readonly overridable: boolean
  readonly params: PlainObject
  /** Values of sensitive parameters: nobody is shown them. */
  readonly secrets: readonly PlainObject[string][]
  /** By name. */
  readonly policies: readonly AppliedPolicy[]
}

/** What is read to find sets; sensitive parameters are opened for policies alone. */
export interface PolicySource {
  readonly store: Pick<Store, 'tables'>
  readonly sealer: Pick<SecretKeeper, 'open'>
}

/** Whether any set could apply to anything. Costs nothing, for where there are no policies. */
export function hasPolicies(tables: Tables): boolean {
  return tables.policy_sets.size > 0
}

/**
 * The sets that guard job submissions in a namespace, by name: those that name it, and those of the
 * project that it belongs to. A namespace in no project is in no organization, so no global set
 * reaches it; of one that was given to an organization no other has a say.
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

/** The sets that guard runs in a workspace, by name. */
export function setsForWorkspace(source: PolicySource, workspaceId: string): readonly AppliedSet[] {
  const { tables } = source.store
  const workspace = tables.workspaces.find(workspaceId)
  if (workspace === undefined) return []
  const { organizationId, projectId } = workspace
  const tags = workspaceEffectiveTags(tables, workspace).map(({ binding }) => binding)
  const place = { organizationId, projectId, workspaceId, tags }
  return applied(source, place, membersOf(tables, 'workspaces', workspaceId))
}

/** Whether the organization of a set wants to be told why its policies are passed over. */
export function needsOverrideComment(tables: Tables, setId: string): boolean {
  const set = tables.policy_sets.find(setId)
  if (set === undefined) return false
  return tables.organizations.find(set.organizationId)?.requireOverrideComment ?? false
}

/** Where something is that sets can apply to. */
interface Place {
  readonly organizationId: string
  readonly projectId: string
  readonly workspaceId: string | undefined
  /** Its effective bindings. */
  readonly tags: readonly TagBindingRow[]
}

/**
 * Included and not excluded. Looked up from the place, so that it costs what applies and not what
 * there is; only the sets of an organization that go by tags are all asked.
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

/** Exclusions win over every form of inclusion. */
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

/** Without a value a selector takes the key with any value. */
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

/** A set as it would apply, wherever it does. */
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
  // What is set over the API is nearer than what the archive says.
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

/** A policy whose code was never uploaded has no rule yet, so it is not asked. */
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
  // It was stored as JSON, which holds nothing but plain data.
  return data as PlainObject
}

/** The text of a policy, by the hash that its set gives; undefined when nobody has it any more. */
export async function readPolicyCode(
  store: Pick<Store, 'readBlob' | 'settled'>,
  codeHash: string,
): Promise<string | undefined> {
  // Rows are there a little before the blobs that they name.
  await store.settled()
  const bytes = await store.readBlob(policyCodeKey(codeHash))
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
}
