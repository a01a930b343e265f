import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type PolicySetParameterRow,
} from '../../model/index.ts'
import { compareCreation, put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicySet, type PolicyRight, type VisiblePolicySet } from '../policies/find-policy.ts'

interface ParameterRef {
  readonly policySetId: string
  readonly parameterId: string
}

interface VisibleParameter extends VisiblePolicySet {
  readonly parameter: PolicySetParameterRow
}

/** All parameters of a set, oldest first. */
export function listParameters(
  tables: Tables,
  policySetId: string,
): readonly PolicySetParameterRow[] {
  const { policy_set_parameters: parameters } = tables
  return [...parameters.keysByIndex('set', policySetId)]
    .map((key) => ({ key, createIndex: parameters.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => parameters.get(key))
}

export function findParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { policySetId, parameterId, right }: ParameterRef & { readonly right: PolicyRight },
): Result<VisibleParameter, GovernanceRefusal> {
  const found = findPolicySet(context, caller, { policySetId, right })
  if (!found.ok) return found
  const parameter = context.store.tables.policy_set_parameters.find(parameterId)
  if (parameter === undefined || parameter.policySetId !== policySetId) return err(NOT_FOUND)
  return ok({ ...found.value, parameter })
}

/** Creates a parameter. A missing value is empty. A sensitive value is encrypted immediately. */
export async function createParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly policySetId: string
    readonly data: v2.PolicySetParameterCreateRequest['data']
  },
): Promise<Result<VisibleParameter, GovernanceRefusal>> {
  const { policySetId, data } = request
  const found = findPolicySet(context, caller, { policySetId, right: 'update' })
  if (!found.ok) return found
  const { tables } = context.store
  const { key, value, sensitive = false } = data.attributes
  const existingId = duplicateKeyProblems(tables, { policySetId, key })
  if (existingId.length > 0) return err({ code: 'invalid', problems: existingId })
  if (tables.policy_set_parameters.countByIndex('set', policySetId) >= v2.POLICY_SET_PARAMETERS_MAX)
    return err(
      invalidAttribute('/data', `A set has at most ${v2.POLICY_SET_PARAMETERS_MAX} parameters`),
    )
  const { organization } = found.value
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
    caller,
    organizationId: organization.id,
    affectedIds: [policySetId],
    changes: [put('policy_set_parameters', parameter)],
  })
  return ok({ ...found.value, parameter })
}

function duplicateKeyProblems(
  tables: Tables,
  { policySetId, key, id }: { policySetId: string; key: string; id?: string },
): readonly AttributeProblem[] {
  const [existingId] = tables.policy_set_parameters.keysByIndex('key', scopedKey(policySetId, key))
  return existingId === undefined || existingId === id
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
  request: ParameterRef & { readonly data: v2.PolicySetParameterUpdateRequest['data'] },
): Promise<Result<VisibleParameter, GovernanceRefusal>> {
  const found = findParameter(context, caller, { ...request, right: 'update' })
  if (!found.ok) return found
  const { parameter: before, organization } = found.value
  const { attributes = {} } = request.data
  const parameter = applyAttributes(context, before, attributes)
  const problems = duplicateKeyProblems(context.store.tables, parameter)
  if (problems.length > 0) return err({ code: 'invalid', problems })
  await commitWrite(context, {
    caller,
    organizationId: organization.id,
    affectedIds: [before.policySetId],
    changes: isEqual(before, parameter) ? [] : [put('policy_set_parameters', parameter)],
  })
  return ok({ ...found.value, parameter })
}

function applyAttributes(
  { sealer }: GovernanceContext,
  before: PolicySetParameterRow,
  {
    key,
    value,
    sensitive = false,
  }: NonNullable<v2.PolicySetParameterUpdateRequest['data']['attributes']>,
): PolicySetParameterRow {
  const isSensitive = before.sensitive || sensitive
  const isSameValue = value === undefined && before.sensitive === isSensitive
  const openStored = (): string => (before.sensitive ? sealer.open(before.value) : before.value)
  const newText = (): string => (value === undefined ? openStored() : (value ?? ''))
  return {
    ...before,
    key: key ?? before.key,
    value: isSameValue ? before.value : isSensitive ? sealer.seal(newText()) : newText(),
    sensitive: isSensitive,
  }
}

export async function deleteParameter(
  context: GovernanceContext,
  caller: GovernanceCaller,
  ref: ParameterRef,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findParameter(context, caller, { ...ref, right: 'update' })
  if (!found.ok) return found
  await commitWrite(context, {
    caller,
    organizationId: found.value.organization.id,
    affectedIds: [ref.policySetId],
    changes: [remove('policy_set_parameters', ref.parameterId)],
  })
  return ok(undefined)
}
