import type { Rights } from '../session/rights.ts'
import { firstReason, needs, needsManagement, type Verdict } from './verdict.ts'

/** What may be done with tokens, policies, roles and namespaces: mostly by management only. */
export const accessCan = {
  write: (rights: Rights): Verdict => needsManagement(rights),
  /** Create and update. */
  writeNamespace: (rights: Rights): Verdict => needsManagement(rights),
  /** Delete. */
  deleteNamespace: (name: string, rights: Rights): Verdict =>
    firstReason(
      name === 'default' && 'The namespace "default" is always there.',
      needsManagement(rights),
    ),
  /** Removing the registration of an instance that is gone. */
  deleteRegistration: (namespace: string, rights: Rights): Verdict =>
    needs(rights, namespace, 'submit-job', 'delete-service-registration'),
} as const
