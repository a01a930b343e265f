import type { AclToken, AclTokenStub } from '@reeve/contract'
import { tokenHash } from '../../acl/index.ts'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { aclTokenStub, aclTokenView, type AclTokenRow } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Accessor ID and policy name of requests without a token. */
export const ANONYMOUS = 'anonymous'

/** Returns the token with its secret, for its holder and management. */
export function tokenWithSecret(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), context.sealer.open(row.SealedSecret))
}

/** Returns the token as it appears in lists. */
export function tokenStub(context: WorkloadContext, row: AclTokenRow): AclTokenStub {
  return aclTokenStub(withRoleNames(context, row))
}

/** Returns the object that filters are evaluated on: the token without its secret. */
export function tokenFilterView(context: WorkloadContext, row: AclTokenRow): AclToken {
  return aclTokenView(withRoleNames(context, row), '')
}

/**
 * Adds the names of roles. Links are stored by ID, so a role may be renamed; deleted roles are
 * omitted.
 */
function withRoleNames({ store }: WorkloadContext, row: AclTokenRow): AclTokenRow {
  if (row.Roles === null || row.Roles.length === 0) return row
  const Roles = row.Roles.flatMap(({ ID }) => {
    const role = store.tables.acl_roles.find(ID)
    return role === undefined ? [] : [{ ID, Name: role.Name }]
  })
  return { ...row, Roles }
}

const ANONYMOUS_PERMISSIONS = {
  Name: 'Anonymous Token',
  Type: 'client',
  Policies: [ANONYMOUS],
  Roles: null,
  Global: false,
} as const

/** The token of requests without a token. It is never stored. */
export const ANONYMOUS_TOKEN: AclToken = {
  ...ANONYMOUS_PERMISSIONS,
  AccessorID: ANONYMOUS,
  SecretID: '',
  Hash: tokenHash(ANONYMOUS_PERMISSIONS),
  CreateTime: ZERO_TIME,
  ExpirationTime: null,
  ExpirationTTL: '',
  CreateIndex: 0,
  ModifyIndex: 0,
}
