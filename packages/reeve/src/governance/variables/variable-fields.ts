import type { v2 } from '@reeve/contract'
import type { AttributeProblem, VariableFields } from '../../model/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { keyProblem } from './variable-keys.ts'

/** What is the same for variables of workspaces and of variable sets. */

type NewVariable = v2.WorkspaceVariableCreateRequest['data']['attributes']
type ChangedVariable = NonNullable<v2.WorkspaceVariableUpdateRequest['data']['attributes']>

/** A missing value is an empty one. A sensitive one is sealed at once. */
export function newFields(
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

/** The variable with what a request says of it; its version stays. */
export function changedFields<V extends VariableFields>(
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
    // A value that was open until now is sealed with the first change that says so.
    value: isSame ? before.value : isSensitive ? sealer.seal(text) : text,
    description: description === undefined ? before.description : description || null,
    category: category ?? before.category,
    hcl: hcl ?? before.hcl,
    sensitive: isSensitive,
  }
}

/** What the schema cannot say: the form of the key by its category, and that it is free. */
export function keyProblems(
  { id, key, category }: Pick<VariableFields, 'id' | 'key' | 'category'>,
  takenBy: string | undefined,
): readonly AttributeProblem[] {
  const pointer = '/data/attributes/key'
  const isTaken = takenBy !== undefined && takenBy !== id
  const detail = isTaken ? 'Key has already been taken' : keyProblem(category, key)
  return detail === undefined ? [] : [{ pointer, detail }]
}

/** What is sensitive stays so, under the same key. */
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
