import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type OrganizationRow } from '../model/index.ts'
import { foldName } from '../state/index.ts'
import { findCaller, type GovernanceCaller } from './caller.ts'
import type { GovernanceContext } from './context.ts'
import { findSeat } from './standing.ts'

/**
 * The organization, for somebody who may read its audit trail: its owners, its own token, and a
 * token that is for nothing else.
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

/** Who follows an organization's events with its own token. */
export interface StreamReader {
  readonly organizationId: string
  readonly tokenId: string
  /** When the token ends; undefined when it never does. */
  readonly expiresMs: number | undefined
}

/** The organization whose own token this secret is; undefined for any other secret. */
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
