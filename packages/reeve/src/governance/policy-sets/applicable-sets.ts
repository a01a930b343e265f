import type { v2 } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, type PolicySetRow, type TagBindingRow } from '../../model/index.ts'
import type { JsonObject } from '../../policy/index.ts'
import {
  unattachedSetKey,
  policyCodeBlobKey,
  policySetMemberIndexKey,
  scopedKey,
  type Store,
  type Tables,
} from '../../state/index.ts'
import { ownTags, workspaceEffectiveTags } from '../tags/tags.ts'
import type { Sealer } from '../context.ts'

/** A policy of a set that applies. */
export interface ApplicablePolicy {
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
  readonly params: JsonObject
}

/** A policy set that applies to a subject, with everything needed to evaluate it. */
export interface ApplicablePolicySet {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  readonly kind: v2.PolicyKind
  readonly overridable: boolean
  readonly params: JsonObject
  /** Values of sensitive parameters, which must be redacted in outputs. */
  readonly secrets: readonly JsonObject[string][]
  /** Sorted by name. */
  readonly policies: readonly ApplicablePolicy[]
}

/** Dependencies of the search for sets; sensitive parameters are decrypted only for evaluation. */
interface PolicySetReader {
  readonly store: Pick<Store, 'tables'>
  readonly sealer: Pick<Sealer, 'open'>
}

/** Reports whether any policy set exists. Fast path for installations without policies. */
export function hasPolicySets(tables: Tables): boolean {
  return tables.policy_sets.size > 0
}

/**
 * Returns the sets that apply to job submissions in a namespace, by name: sets attached to it or to
 * its project. A namespace without a project belongs to no organization, so no global set applies;
 * a namespace of an organization is not subject to sets of others.
 */
export function setsForNamespace(
  source: PolicySetReader,
  namespace: string,
): readonly ApplicablePolicySet[] {
  const { tables } = source.store
  const owner = tables.project_namespaces.find(namespace)
  const attached = setsWithMember(tables, 'namespaces', namespace).filter(
    ({ organizationId }) => (owner?.organizationId ?? organizationId) === organizationId,
  )
  const target =
    owner === undefined
      ? undefined
      : { ...owner, workspaceId: undefined, tags: ownTags(tables, owner.projectId) }
  return applicableSets(source, target, attached)
}

/** Returns the sets that apply to runs in a workspace, by name. */
export function setsForWorkspace(
  source: PolicySetReader,
  workspaceId: string,
): readonly ApplicablePolicySet[] {
  const { tables } = source.store
  const workspace = tables.workspaces.find(workspaceId)
  if (workspace === undefined) return []
  const { organizationId, projectId } = workspace
  const tags = workspaceEffectiveTags(tables, workspace).map(({ binding }) => binding)
  const target = { organizationId, projectId, workspaceId, tags }
  return applicableSets(source, target, setsWithMember(tables, 'workspaces', workspaceId))
}

/** Reports whether the organization of a set requires a comment for overrides. */
export function needsOverrideComment(tables: Tables, setId: string): boolean {
  const set = tables.policy_sets.find(setId)
  if (set === undefined) return false
  return tables.organizations.find(set.organizationId)?.requireOverrideComment ?? false
}

/** Location of a subject to which sets can apply. */
interface PolicyTarget {
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
function applicableSets(
  source: PolicySetReader,
  target: PolicyTarget | undefined,
  attached: readonly PolicySetRow[],
): readonly ApplicablePolicySet[] {
  const { tables } = source.store
  const setsById = new Map(attached.map((set) => [set.id, set]))
  if (target !== undefined) {
    for (const set of setsWithMember(tables, 'projects', target.projectId))
      setsById.set(set.id, set)
    for (const set of organizationWideSets(tables, target, 'global')) setsById.set(set.id, set)
    for (const set of organizationWideSets(tables, target, 'tag'))
      if (matchesTags(set, target.tags, false)) setsById.set(set.id, set)
  }
  return [...setsById.values()]
    .filter((set) => target === undefined || !isExcluded(tables, set, target))
    .toSorted((a, b) => compareText(a.name, b.name) || compareText(a.id, b.id))
    .map((set) => toApplicableSet(source, set))
}

function setsWithMember(
  tables: Tables,
  relation: 'namespaces' | 'projects' | 'workspaces',
  memberId: string,
): readonly PolicySetRow[] {
  return tables.policy_set_members
    .rowsByIndex('member', scopedKey(relation, memberId))
    .map(({ policySetId }) => tables.policy_sets.get(policySetId))
}

function organizationWideSets(
  tables: Tables,
  { organizationId }: PolicyTarget,
  scope: 'global' | 'tag',
): readonly PolicySetRow[] {
  return tables.policy_sets.rowsByIndex('broad', unattachedSetKey(organizationId, scope))
}

/** Exclusions take precedence over every form of inclusion. */
function isExcluded(tables: Tables, set: PolicySetRow, target: PolicyTarget): boolean {
  const has = (relation: 'workspace-exclusions' | 'project-exclusions', id: string): boolean =>
    tables.policy_set_members.has(`${policySetMemberIndexKey(set.id, relation)}!${id}`)
  const { workspaceId } = target
  return (
    (workspaceId !== undefined && has('workspace-exclusions', workspaceId)) ||
    has('project-exclusions', target.projectId) ||
    matchesTags(set, target.tags, true)
  )
}

/** A selector without a value matches any value of the key. */
function matchesTags(
  set: PolicySetRow,
  tags: readonly TagBindingRow[],
  isExclude: boolean,
): boolean {
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
export function toApplicableSet(
  { store, sealer }: PolicySetReader,
  set: PolicySetRow,
): ApplicablePolicySet {
  const { tables } = store
  const parameters = tables.policy_set_parameters.rowsByIndex('set', set.id).map((row) => ({
    ...row,
    value: parseParameterValue(row.sensitive ? sealer.open(row.value) : row.value),
  }))
  const parameterValues = Object.fromEntries(parameters.map(({ key, value }) => [key, value]))
  const { id, organizationId, name, description, kind } = set
  const common = {
    id,
    organizationId,
    name,
    description,
    kind,
    overridable: set.overridable === true,
    secrets: parameters.filter(({ sensitive }) => sensitive).map(({ value }) => value),
  }
  const version =
    set.currentVersionId === null ? undefined : tables.policy_set_versions.get(set.currentVersionId)
  if (version === undefined)
    return {
      ...common,
      params: parameterValues,
      policies: policiesFromRecords(tables, set, parameterValues),
    }
  // Parameters set over the API override those in the archive.
  const params = { ...asJsonObject(version.params), ...parameterValues }
  const policies = version.policies.map((policy): ApplicablePolicy => ({
    id: `${version.id}/${policy.name}`,
    name: policy.name,
    kind,
    query: policy.query,
    level: policy.enforcementLevel,
    description: policy.description,
    codeHash: policy.sha256,
    params: { ...params, ...asJsonObject(policy.params) },
  }))
  return { ...common, params, policies }
}

/** A policy without uploaded code has no rules, so it is not evaluated. */
function policiesFromRecords(
  tables: Tables,
  set: PolicySetRow,
  params: JsonObject,
): readonly ApplicablePolicy[] {
  return tables.policy_set_members
    .rowsByIndex('relation', policySetMemberIndexKey(set.id, 'policies'))
    .map(({ memberId }) => tables.run_policies.get(memberId))
    .flatMap(({ id, name, kind, query, enforcementLevel: level, description, code }) =>
      code === null
        ? []
        : [{ id, name, kind, query, level, description, codeHash: code.sha256, params }],
    )
    .toSorted((a, b) => compareText(a.name, b.name))
}

function asJsonObject(data: Readonly<Record<string, unknown>>): JsonObject {
  // Stored as JSON, so it is plain data.
  return data as JsonObject
}

/** Returns the code of a policy by the hash in its set; undefined if it was deleted. */
export async function readPolicyCode(
  store: Pick<Store, 'readBlob' | 'whenDurable'>,
  codeHash: string,
): Promise<string | undefined> {
  // Rows become visible slightly before their blobs are durable.
  await store.whenDurable()
  const bytes = await store.readBlob(policyCodeBlobKey(codeHash))
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
}

type ParameterValue = JsonObject[string]

/** Returns the JSON value of a text, or the text itself if it is not JSON. */
function parseParameterValue(text: string): ParameterValue {
  try {
    // JSON values are plain data.
    const value = JSON.parse(text) as ParameterValue
    return isShallow(value) ? value : text
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return text
    throw thrown
  }
}

/** Limits the depth, because policies may traverse the value recursively. */
function isShallow(value: ParameterValue): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax) return false
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return true
}
