import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type OrganizationRow } from '../model/index.ts'
import { normalizeName } from '../state/index.ts'
import { findCaller, type GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import { findOrganization } from './standing.ts'

/**
 * Returns the organization if the caller may read its audit trail: its owners, its organization
 * token, and audit trail tokens.
 */
export function findAuditableOrganization(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<OrganizationRow, GovernanceRefusal> {
  if (caller.kind === 'audit-trails') {
    const tokenOrganization = context.store.tables.organizations.find(caller.organizationId)
    const isNamed =
      tokenOrganization !== undefined &&
      normalizeName(tokenOrganization.name) === normalizeName(organizationName)
    return isNamed ? ok(tokenOrganization) : err(NOT_FOUND)
  }
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  return found.value.role.isOwner ? ok(found.value.organization) : err(NOT_FOUND)
}

/** Reader of an organization's events with the organization token. */
export interface EventStreamClient {
  readonly organizationId: string
  readonly tokenId: string
  /** Expiry of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}

/** Returns the reader for the secret of an organization token; undefined for any other secret. */
export function findEventStreamClient(
  context: GovernanceContext,
  secret: string,
): EventStreamClient | undefined {
  const caller = findCaller(context, secret)
  if (caller?.kind !== 'organization') return undefined
  const { organizationId, tokenId } = caller
  const expiresMs = context.store.tables.api_tokens.find(tokenId)?.expiresMs ?? undefined
  return { organizationId, tokenId, expiresMs }
}
