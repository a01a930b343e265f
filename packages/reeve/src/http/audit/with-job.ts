import type { AuditEntry } from '../../state/index.ts'
import { fieldOf, textOf } from '../json-field.ts'

/** Adds the job that the body names: no row names it when a rejected request changed nothing. */
export function withJobFromBody(entry: AuditEntry, body: unknown): AuditEntry {
  const job = fieldOf(body, 'Job')
  const id = textOf(fieldOf(job, 'ID'))
  if (id === '') return entry
  const namespace = textOf(fieldOf(job, 'Namespace')) || entry.namespace
  return { ...entry, namespace, pathResources: [...entry.pathResources, id] }
}
