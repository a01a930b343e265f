import type { v2 } from '@reeve/contract'
import type { AttributeProblem, VariableFields } from '../../model/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { keyProblem } from './variable-keys.ts'

/** Common parts of workspace variables and variable set variables. */

type NewVariable = v2.WorkspaceVariableCreateRequest['data']['attributes']
type ChangedVariable = NonNullable<v2.WorkspaceVariableUpdateRequest['data']['attributes']>

/**
 * Returns the fields of a new variable. A missing value is empty. A sensitive value is encrypted
 * immediately.
 */
export function newVariableFields(
  { sealer, ids, clock }: GovernanceContext,
  organizationId: string,
  { key, value, description, category, hcl = false, sensitive = false }: NewVariable,
): VariableFields {
  return {
    id: newId(ids, 'vars'),
    organizationId,
    key,
    value: sensitive ? sealer.seal(value ?? '') : (value ?? ''),
    description: description || null,
    category,
    hcl,
    sensitive,
    versionId: ids.uuid(),
    createdMs: clock.nowMs(),
  }
}

/** Applies a request to a variable; its version is unchanged. */
export function applyVariableAttributes<V extends VariableFields>(
  { sealer }: GovernanceContext,
  before: V,
  { key, value, description, category, hcl, sensitive = false }: ChangedVariable,
): V {
  const isSensitive = before.sensitive || sensitive
  const isSame = value === undefined && before.sensitive === isSensitive
  const text = value === undefined ? before.value : (value ?? '')
  return {
    ...before,
    key: key ?? before.key,
    // A plain value is encrypted with the first change that marks it sensitive.
    value: isSame ? before.value : isSensitive ? sealer.seal(text) : text,
    description: description === undefined ? before.description : description || null,
    category: category ?? before.category,
    hcl: hcl ?? before.hcl,
    sensitive: isSensitive,
  }
}

/**
 * Returns problems that the schema cannot express: the syntax of the key in its category, and
 * duplicates.
 */
export function keyProblems(
  { id, key, category }: Pick<VariableFields, 'id' | 'key' | 'category'>,
  existingId: string | undefined,
): readonly AttributeProblem[] {
  const pointer = '/data/attributes/key'
  const isTaken = existingId !== undefined && existingId !== id
  const detail = isTaken ? 'Key has already been taken' : keyProblem(category, key)
  return detail === undefined ? [] : [{ pointer, detail }]
}

/** A sensitive variable stays sensitive and keeps its key. */
export function sensitiveProblems(
  before: VariableFields,
  { key, sensitive }: ChangedVariable,
): readonly AttributeProblem[] {
  if (!before.sensitive) return []
  const isRenamed = key !== undefined && key !== before.key
  return [
    ...(isRenamed
      ? [
          {
            pointer: '/data/attributes/key',
            detail: 'Key of a sensitive variable cannot be changed',
          },
        ]
      : []),
    ...(sensitive === false
      ? [{ pointer: '/data/attributes/sensitive', detail: 'Sensitive cannot be turned off' }]
      : []),
  ]
}
