import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type OrganizationRow } from '../model/index.ts'
import { foldName } from '../state/index.ts'
import { findCaller, type GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import { findSeat } from './standing.ts'

/**
 * Returns the organization if the caller may read its audit trail: its owners, its organization
 * token, and audit trail tokens.
 */
export function findAuditSeat(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<OrganizationRow, GovernanceRefusal> {
  if (caller.kind === 'audit-trails') {
    const own = context.store.tables.organizations.find(caller.organizationId)
    const isNamed = own !== undefined && foldName(own.name) === foldName(organizationName)
    return isNamed ? ok(own) : err(UNSEEN)
  }
  const seat = findSeat(context, caller, organizationName)
  if (!seat.ok) return seat
  return seat.value.standing.isOwner ? ok(seat.value.organization) : err(UNSEEN)
}

/** Reader of an organization's events with the organization token. */
export interface StreamReader {
  readonly organizationId: string
  readonly tokenId: string
  /** Expiry of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}

/** Returns the reader for the secret of an organization token; undefined for any other secret. */
export function findStreamReader(
  context: GovernanceContext,
  secret: string,
): StreamReader | undefined {
  const caller = findCaller(context, secret)
  if (caller?.kind !== 'organization') return undefined
  const { organizationId, tokenId } = caller
  const expiresMs = context.store.tables.api_tokens.find(tokenId)?.expiresMs ?? undefined
  return { organizationId, tokenId, expiresMs }
}
