import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AttributeProblem, PolicySetRow } from '../../model/index.ts'
import { normalizeName, scopedKey, type Tables } from '../../state/index.ts'
import { normalizeSelectors, scopingTypeOf, selectorProblems } from './tag-selectors.ts'

export type SetAttributes = NonNullable<v2.PolicySetUpdateRequest['data']['attributes']>

/** Default tool version of a set. */
const TOOL_VERSION_DEFAULT = 'latest'

/**
 * Applies the attributes of a request to a set; omitted ones are unchanged. Returns all violations
 * on failure.
 */
export function withAttributes(
  tables: Tables,
  before: PolicySetRow,
  attributes: SetAttributes,
): Result<PolicySetRow, readonly AttributeProblem[]> {
  const set = mergeAttributes(before, attributes)
  const problems = [
    ...nameProblems(tables, set),
    ...kindProblems(before, attributes),
    ...selectorProblems(set, attributes['tag-selectors'] ?? [], '/data/attributes/tag-selectors'),
  ]
  return problems.length > 0 ? err(problems) : ok(set)
}

function mergeAttributes(before: PolicySetRow, attributes: SetAttributes): PolicySetRow {
  const { name, description } = attributes
  const { kind } = before
  const global = attributes.global ?? before.global
  const agentEnabled = attributes['agent-enabled'] ?? before.agentEnabled
  const requestedSelectors = attributes['tag-selectors']
  const selectors =
    requestedSelectors === undefined ? before.tagSelectors : normalizeSelectors(requestedSelectors)
  // Setting `global` removes tag selectors, unless the request contains some.
  const becomesGlobal = global && !before.global && requestedSelectors === undefined
  const tagSelectors = becomesGlobal ? selectors.filter((one) => one['is-exclude']) : selectors
  const path = attributes['policies-path']
  return {
    ...before,
    name: name ?? before.name,
    description: description === undefined ? before.description : description || null,
    global,
    agentEnabled,
    ...toolSettings({ ...before, kind, agentEnabled }, attributes),
    policiesPath: path === undefined ? before.policiesPath : path || null,
    policyUpdatePatterns: attributes['policy-update-patterns'] ?? before.policyUpdatePatterns,
    tagSelectors,
    scopingType: scopingTypeOf(tagSelectors),
  }
}

/**
 * `overridable` and the tool version do not apply to a native set that no agent evaluates. Existing
 * clients send a version nevertheless, which is ignored.
 */
function toolSettings(
  { kind, agentEnabled, overridable, policyToolVersion }: PolicySetRow,
  attributes: SetAttributes,
): Pick<PolicySetRow, 'overridable' | 'policyToolVersion'> {
  if (kind === 'native' && !agentEnabled) return { overridable: null, policyToolVersion: null }
  const override = attributes.overridable
  const version = attributes['policy-tool-version']
  return {
    overridable: (override === undefined ? overridable : override) ?? false,
    policyToolVersion:
      (version === undefined ? policyToolVersion : version) || TOOL_VERSION_DEFAULT,
  }
}

function nameProblems(
  tables: Tables,
  { id, organizationId, name }: PolicySetRow,
): readonly AttributeProblem[] {
  const [existingId] = tables.policy_sets.keysByIndex(
    'name',
    scopedKey(organizationId, normalizeName(name)),
  )
  return existingId === undefined || existingId === id
    ? []
    : [{ pointer: '/data/attributes/name', detail: 'Name has already been taken' }]
}

function kindProblems(before: PolicySetRow, { kind }: SetAttributes): readonly AttributeProblem[] {
  return kind === undefined || kind === before.kind
    ? []
    : [{ pointer: '/data/attributes/kind', detail: 'Kind cannot be changed' }]
}
