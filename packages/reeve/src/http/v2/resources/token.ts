import type { v2 } from '@reeve/contract'
import type { MadeToken } from '../../../governance/index.ts'
import type { ApiTokenRow } from '../../../model/index.ts'
import { optionalTime, timeText, toOne } from './links.ts'

/** The answer to create, the only one with the secret. */
export function createdTokenResource({ token, secret }: MadeToken): v2.CreatedAuthenticationToken {
  return members(token, secret)
}

export function tokenResource(token: ApiTokenRow): v2.AuthenticationToken {
  return members(token, null)
}

function members<T extends string | null>(row: ApiTokenRow, token: T) {
  return {
    id: row.id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': timeText(row.createdMs),
      'last-used-at': optionalTime(row.lastUsedMs),
      description: row.description,
      token,
      'expired-at': optionalTime(row.expiresMs),
    },
    relationships: {
      'created-by': toOne('users', row.createdById),
      ...(row.kind === 'team' ? { team: toOne('teams', row.ownerId) } : {}),
    },
  } as const
}
