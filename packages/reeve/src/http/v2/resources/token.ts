import type { v2 } from '@reeve/contract'
import type { CreatedToken } from '../../../governance/index.ts'
import type { ApiTokenRow } from '../../../model/index.ts'
import { formatOptionalTime, formatTime, toOne } from './links.ts'

/** Returns a new token with its secret, which no other response contains. */
export function createdTokenResource({
  token,
  secret,
}: CreatedToken): v2.CreatedAuthenticationToken {
  return tokenDocument(token, secret)
}

export function tokenResource(token: ApiTokenRow): v2.AuthenticationToken {
  return tokenDocument(token, null)
}

function tokenDocument<T extends string | null>(row: ApiTokenRow, token: T) {
  return {
    id: row.id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': formatTime(row.createdMs),
      'last-used-at': formatOptionalTime(row.lastUsedMs),
      description: row.description,
      token,
      'expired-at': formatOptionalTime(row.expiresMs),
    },
    relationships: {
      'created-by': toOne('users', row.createdById),
      ...(row.kind === 'team' ? { team: toOne('teams', row.ownerId) } : {}),
    },
  } as const
}
