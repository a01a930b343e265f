import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type PolicySetParameterRow,
} from '../../model/index.ts'
import { compareCreation, put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { PolicyRight } from '../policies/find-policy.ts'
import { findPolicySet, type SeenPolicySet } from './find-policy-set.ts'

export interface ParameterPath {
  readonly policySetId: string
  readonly parameterId: string
}

export interface SeenParameter extends SeenPolicySet {
  readonly parameter: PolicySetParameterRow
}

/** All parameters of a set, oldest first. */
export function setParameters(
  tables: Tables,
  policySetId: string,
): readonly PolicySetParameterRow[] {
  const { policy_set_parameters: parameters } = tables
  return [...parameters.keysIn('set', policySetId)]
    .map((key) => ({ key, createIndex: parameters.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => parameters.get(key))
}

export function findParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policySetId, parameterId, right }: ParameterPath & { readonly right: PolicyRight },
): Result<SeenParameter, GovernanceRefusal> {
  const seen = findPolicySet(context, caller, { policySetId, right })
  if (!seen.ok) return seen
  const parameter = context.store.tables.policy_set_parameters.find(parameterId)
  if (parameter === undefined || parameter.policySetId !== policySetId) return err(UNSEEN)
  return ok({ ...seen.value, parameter })
}

/** Creates a parameter. A missing value is empty. A sensitive value is encrypted immediately. */
export async function createParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly policySetId: string
    readonly data: v2.PolicySetParameterCreateRequest['data']
  },
): Promise<Result<SeenParameter, GovernanceRefusal>> {
  const { policySetId, data } = request
  const seen = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!seen.ok) return seen
  const { tables } = context.store
  const { key, value, sensitive = false } = data.attributes
  const taken = takenProblems(tables, { policySetId, key })
  if (taken.length > 0) return err({ code: 'invalid', problems: taken })
  if (tables.policy_set_parameters.countIn('set', policySetId) >= v2.POLICY_SET_PARAMETERS_MAX)
    return err(invalid('/data', `A set has at most ${v2.POLICY_SET_PARAMETERS_MAX} parameters`))
  const { organization } = seen.value
  const parameter: PolicySetParameterRow = {
    id: newId(context.ids, 'vars'),
    organizationId: organization.id,
    policySetId,
    key,
    value: sensitive ? context.sealer.seal(value ?? '') : (value ?? ''),
    sensitive,
    createdMs: context.clock.nowMs(),
  }
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    subjects: [policySetId],
    changes: [put('policy_set_parameters', parameter)],
  })
  return ok({ ...seen.value, parameter })
}

function takenProblems(
  tables: Tables,
  { policySetId, key, id }: { policySetId: string; key: string; id?: string },
): readonly AttributeProblem[] {
  const [taken] = tables.policy_set_parameters.keysIn('key', scopedKey(policySetId, key))
  return taken === undefined || taken === id
    ? []
    : [{ pointer: '/data/attributes/key', detail: 'Key has already been taken' }]
}

/**
 * Updates a parameter. A sensitive parameter stays sensitive; other changes of such a request still
 * apply.
 */
export async function updateParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: ParameterPath & { readonly data: v2.PolicySetParameterUpdateRequest['data'] },
): Promise<Result<SeenParameter, GovernanceRefusal>> {
  const seen = findParameter(context, caller, { ...request, right: 'update' })
  if (!seen.ok) return seen
  const { parameter: before, organization } = seen.value
  const { attributes = {} } = request.data
  const parameter = changed(context, before, attributes)
  const problems = takenProblems(context.store.tables, parameter)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: organization.id,
    subjects: [before.policySetId],
    changes: isEqual(before, parameter) ? [] : [put('policy_set_parameters', parameter)],
  })
  return ok({ ...seen.value, parameter })
}

function changed(
  { sealer }: GovernanceContext,
  before: PolicySetParameterRow,
  {
    key,
    value,
    sensitive = false,
  }: NonNullable<v2.PolicySetParameterUpdateRequest['data']['attributes']>,
): PolicySetParameterRow {
  const isSensitive = before.sensitive || sensitive
  const known = value === undefined && before.sensitive === isSensitive
  const open = (): string => (before.sensitive ? sealer.open(before.value) : before.value)
  const text = (): string => (value === undefined ? open() : (value ?? ''))
  return {
    ...before,
    key: key ?? before.key,
    value: known ? before.value : isSensitive ? sealer.seal(text()) : text(),
    sensitive: isSensitive,
  }
}

export async function deleteParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  path: ParameterPath,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findParameter(context, caller, { ...path, right: 'update' })
  if (!seen.ok) return seen
  await commitWrite(context, {
    action: 'PolicySetUpdated',
    caller,
    organizationId: seen.value.organization.id,
    subjects: [path.policySetId],
    changes: [remove('policy_set_parameters', path.parameterId)],
  })
  return ok(undefined)
}
