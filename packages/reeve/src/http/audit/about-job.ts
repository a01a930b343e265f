import { fieldOf, textOf } from '../json-field.ts'
import type { AuditedWrite } from './audit-log.ts'

/** Of a write that changed nothing, no row tells which job it was about: its body does. */
export function aboutJob(write: AuditedWrite, body: unknown): AuditedWrite {
  const job = fieldOf(body, 'Job')
  const id = textOf(fieldOf(job, 'ID'))
  if (id === '') return write
  const namespace = textOf(fieldOf(job, 'Namespace')) || write.namespace
  return { ...write, namespace, named: [...write.named, id] }
}
