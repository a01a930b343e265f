import type { Rights } from '../session/rights.ts'
import { firstReason, needs, needsManagement, type Verdict } from './verdict.ts'

/** What may be done with tokens, policies, roles and namespaces: mostly by management only. */
export const accessCan = {
  /** Spec W: ACL tokens, policies and roles, create, update and delete. */
  write: (rights: Rights): Verdict => needsManagement(rights),
  /** Reference §8.4: create and update. */
  writeNamespace: (rights: Rights): Verdict => needsManagement(rights),
  /** Reference §8.4: delete. */
  deleteNamespace: (name: string, rights: Rights): Verdict =>
    firstReason(
      name === 'default' && 'The namespace "default" is always there.',
      needsManagement(rights),
    ),
  /** Reference §8.8: removing the registration of an instance that is gone. */
  deleteRegistration: (namespace: string, rights: Rights): Verdict =>
    needs(rights, namespace, 'submit-job', 'delete-service-registration'),
} as const
